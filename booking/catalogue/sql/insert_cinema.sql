-- A cinema, or nothing when it is there already: the row count says which.
INSERT INTO cinemas (id, name, time_zone, currency)
VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO NOTHING
