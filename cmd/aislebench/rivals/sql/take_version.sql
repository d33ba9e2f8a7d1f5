-- Gives seats ($2) of a showing ($1) to a booking ($4) for $5, those that still have the version that was read ($3) and
-- are free. Fewer rows than seats: someone was faster.
UPDATE seats SET status = 'held', booking = $4, held_until = clock_timestamp() + $5::interval, version = seats.version + 1
FROM unnest($2::text[], $3::integer[]) AS wanted (seat, version)
WHERE seats.showing = $1 AND seats.seat = wanted.seat AND seats.version = wanted.version
AND (seats.status = 'available' OR (seats.status = 'held' AND seats.held_until <= clock_timestamp()))
