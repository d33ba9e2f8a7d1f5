-- The index row of booking $1, and its latest event.
SELECT b.id, b.stream, b.session, b.held, b.state, b.seats, b.address, b.deadline, b.seq,
       e.stream, e.seq, e.id, e.entity, e.prev, e.type, e.data, e.deadline, e.at
FROM bookings b JOIN events e ON e.stream = b.stream AND e.seq = b.seq
WHERE b.id = $1
