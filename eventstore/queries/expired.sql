-- Holds past their deadline in the streams $1, the longest overdue first, at most $2.
SELECT b.id, b.stream, b.session, b.held, b.state, b.seats, b.address, b.deadline, b.seq
FROM bookings b
WHERE b.held AND b.deadline <= clock_timestamp() AND b.stream = ANY ($1::uuid[])
ORDER BY b.deadline LIMIT $2
