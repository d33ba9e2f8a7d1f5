-- A hold: id ($1), showing ($2), session ($3), seats ($4), and how long it lasts ($5).
INSERT INTO bookings (id, showing, session, seats, state, expires_at)
VALUES ($1, $2, $3, $4, 'held', clock_timestamp() + $5::interval)
