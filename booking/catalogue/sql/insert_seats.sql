-- The seats of a version of a layout ($1, $2), their places in the order given.
INSERT INTO layout_seats (layout, version, place, seat, row, number, x, y, category, kind)
SELECT $1, $2, s.n - 1, s.seat, s.row, s.number, s.x, s.y, s.category, s.kind
FROM unnest($3::text[], $4::text[], $5::text[], $6::float8[], $7::float8[], $8::uuid[], $9::text[])
    WITH ORDINALITY AS s (seat, row, number, x, y, category, kind, n)
