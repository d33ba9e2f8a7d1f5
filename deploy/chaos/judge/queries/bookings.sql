-- The index of bookings: each as of its latest event.
SELECT id, stream, session, held, state, seats, deadline, seq FROM bookings ORDER BY id
