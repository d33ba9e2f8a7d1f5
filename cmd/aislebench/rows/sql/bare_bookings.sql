-- Many holds in one statement: ids ($1), streams ($2), sessions ($3), seqs ($4).
INSERT INTO bare_bookings (id, stream, session, held, state, seats, address, deadline, seq, changed)
SELECT id, stream, session, true, 'held', 2, '', clock_timestamp() + interval '10 minutes', seq, clock_timestamp()
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[]) AS b (id, stream, session, seq)
