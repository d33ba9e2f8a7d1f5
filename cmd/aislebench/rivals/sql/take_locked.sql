-- Gives seats ($2) of a showing ($1) that this transaction has locked and found free to a booking ($3) for $4.
UPDATE seats SET status = 'held', booking = $3, held_until = clock_timestamp() + $4::interval, version = version + 1
WHERE showing = $1 AND seat = ANY ($2)
