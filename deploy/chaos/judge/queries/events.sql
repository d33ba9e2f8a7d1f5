-- Every event, in the order in which it counts.
SELECT stream, seq, id, entity, prev, type, data::text, deadline, at FROM events ORDER BY stream, seq
