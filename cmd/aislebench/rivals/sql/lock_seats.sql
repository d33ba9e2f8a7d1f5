-- Locks the seats ($2) of a showing ($1), always in the same order, and says which of them are free.
SELECT status = 'available' OR (status = 'held' AND held_until <= clock_timestamp())
FROM seats WHERE showing = $1 AND seat = ANY ($2) ORDER BY seat FOR UPDATE
