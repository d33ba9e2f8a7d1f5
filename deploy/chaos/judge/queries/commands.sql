-- The outcome of each command, by the client's session and Idempotency-Key.
SELECT session, key, booking, status, stream, seq FROM commands ORDER BY stream, seq
