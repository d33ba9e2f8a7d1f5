-- Locks a session's ($2) booking ($1), and says what confirming it takes.
SELECT showing, seats, state = 'held' AND expires_at > clock_timestamp()
FROM bookings WHERE id = $1 AND session = $2 FOR UPDATE
