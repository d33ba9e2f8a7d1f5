-- Many events in one statement: streams ($1), seqs ($2), ids ($3), entities ($4), types ($5), bodies ($6).
INSERT INTO bare_events (stream, seq, id, entity, prev, type, data, at)
SELECT stream, seq, id, entity, 0, type, data::json, clock_timestamp()
FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[]) AS e (stream, seq, id, entity, type, data)
