-- Waits until nobody else migrates the current schema, and names it. The lock lasts as long as the session.
SELECT current_schema()
FROM (SELECT pg_advisory_lock(hashtextextended('aisle migration of ' || current_schema(), 0))) AS locked
