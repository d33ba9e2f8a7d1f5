-- Categories of a cinema ($1), their places in the order given; those that are there stay as they are.
INSERT INTO categories (id, cinema, name, place)
SELECT category.id, $1, category.name, category.n - 1
FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS category (id, name, n)
ON CONFLICT (id) DO NOTHING
