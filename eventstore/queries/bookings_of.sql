-- The index rows of session $1 with their latest events, the last changed first, at most $2.
SELECT b.id, b.stream, b.session, b.held, b.state, b.seats, b.address, b.deadline, b.seq,
       e.stream, e.seq, e.id, e.entity, e.prev, e.type, e.data, e.deadline, e.at
FROM bookings b JOIN events e ON e.stream = b.stream AND e.seq = b.seq
WHERE b.session = $1
ORDER BY b.changed DESC, b.seq DESC LIMIT $2
