-- The seats ($2) of a showing ($1) that the booking ($3) has are sold.
UPDATE seats SET status = 'sold', held_until = NULL, version = version + 1
WHERE showing = $1 AND seat = ANY ($2) AND booking = $3
