-- Holds past their deadline in open streams, the longest overdue first, at most $1.
SELECT b.id, b.stream, b.session, b.held, b.state, b.seats, b.address, b.deadline, b.seq
FROM bookings b JOIN streams s ON s.id = b.stream AND s.open
WHERE b.held AND b.deadline <= clock_timestamp()
ORDER BY b.deadline LIMIT $1
