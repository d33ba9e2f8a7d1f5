-- Puts all seats ($2) of the showings ($1) on sale.
INSERT INTO seats (showing, seat)
SELECT showing, seat FROM unnest($1::uuid[]) AS showing CROSS JOIN unnest($2::text[]) AS seat
