-- A showing ($1 id, $2 film, $3 its title, $4 layout, $5 version, $6 starts, $7 opens, $8 closes, $9 cancelled)
-- with what each category costs ($10, $11). The film may be there already.
WITH film AS (
    INSERT INTO films (id, title) VALUES ($2, $3)
    ON CONFLICT (id) DO NOTHING
), showing AS (
    INSERT INTO showings (id, film, layout, layout_version, starts_at, opens_at, closes_at, cancelled)
    VALUES ($1, $2, $4, $5, $6, $7, $8, $9)
)
INSERT INTO prices (showing, category, amount)
SELECT $1, price.category, price.amount
FROM unnest($10::uuid[], $11::bigint[]) AS price (category, amount)
