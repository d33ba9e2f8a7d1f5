-- The recorded commands among ($2[i], $3[i]), after whoever still holds one of the streams $1.
SELECT session, key, route, body, booking, status, stream, seq, at FROM recall($1, $2, $3)
