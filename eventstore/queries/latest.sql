-- The latest event of each of the entities $2 of stream $1 that has one. Along an entity's chain prev
-- grows as seq does, and (stream, entity, prev) is what has an index.
SELECT e.stream, e.seq, e.id, e.entity, e.prev, e.type, e.data, e.deadline, e.at
FROM unnest($2::text[]) AS wanted (entity)
CROSS JOIN LATERAL (
    SELECT * FROM events WHERE stream = $1 AND entity = wanted.entity ORDER BY prev DESC LIMIT 1
) AS e
ORDER BY e.seq
