-- The latest event of entity $2 of stream $1 with seq at most $3.
SELECT stream, seq, id, entity, prev, type, data, deadline, at
FROM events WHERE stream = $1 AND entity = $2 AND seq <= $3 ORDER BY prev DESC LIMIT 1
