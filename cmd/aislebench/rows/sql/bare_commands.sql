-- Many commands in one statement: sessions ($1), keys ($2), bookings ($3), streams ($4), seqs ($5).
INSERT INTO bare_commands (session, key, route, body, booking, status, stream, seq, at)
SELECT session, key, 'POST /api/v1/showings/{id}/bookings', sha256('{}'), booking, 201, stream, seq, clock_timestamp()
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::bigint[]) AS c (session, key, booking, stream, seq)
