-- Gives seats ($2) of a showing ($1) that are free to a booking ($3) for $4. Fewer rows than seats: one wasn't free.
UPDATE seats SET status = 'held', booking = $3, held_until = clock_timestamp() + $4::interval, version = version + 1
WHERE showing = $1 AND seat = ANY ($2)
AND (status = 'available' OR (status = 'held' AND held_until <= clock_timestamp()))
