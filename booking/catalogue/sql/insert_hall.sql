-- An auditorium ($1–$3) and a version of its layout ($4, $5); either may be there already.
WITH auditorium AS (
    INSERT INTO auditoriums (id, cinema, name) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO NOTHING
)
INSERT INTO layouts (id, version, auditorium) VALUES ($4, $5, $1)
