-- The seats ($2) of a showing ($1) with their versions, and whether they are free.
SELECT seat, version, status = 'available' OR (status = 'held' AND held_until <= clock_timestamp())
FROM seats WHERE showing = $1 AND seat = ANY ($2) ORDER BY seat
