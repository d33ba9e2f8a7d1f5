-- What is recorded of command ($1, $2).
SELECT session, key, route, body, booking, status, stream, seq, at
FROM commands WHERE session = $1 AND key = $2
