-- Keeps follower $1's cursors in log $2: stream $3[i] has come to seq $4[i], which is event $5[i].
INSERT INTO cursors (follower, log, stream, seq, event)
SELECT $1, $2, c.stream, c.seq, c.event
FROM unnest($3::uuid[], $4::bigint[], $5::uuid[]) AS c (stream, seq, event)
ORDER BY c.stream
ON CONFLICT (follower, stream) DO UPDATE SET log = excluded.log, seq = excluded.seq, event = excluded.event
