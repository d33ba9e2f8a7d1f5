-- The events of stream $1 after seq $2, in order, at most $3.
SELECT stream, seq, id, entity, prev, type, data, deadline, at
FROM events WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3
