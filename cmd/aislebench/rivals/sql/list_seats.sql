-- All seats of a showing ($1) as buyers see them.
SELECT seat, CASE WHEN status = 'held' AND held_until <= clock_timestamp() THEN 'available' ELSE status END
FROM seats WHERE showing = $1
