-- The programme: every showing that starts at or after $1, in order. Prices are those of its
-- categories, in the order of lists; the layout's seats are read apart, once for each version.
SELECT s.id,
       f.title AS film_title,
       a.name AS auditorium_name,
       c.name AS cinema_name,
       c.time_zone,
       c.currency,
       s.layout,
       s.layout_version,
       s.starts_at,
       s.opens_at,
       s.closes_at,
       s.cancelled,
       array_agg(p.category ORDER BY k.place, k.id) AS categories,
       array_agg(k.name ORDER BY k.place, k.id) AS category_names,
       array_agg(p.amount ORDER BY k.place, k.id) AS amounts
FROM showings s
JOIN films f ON f.id = s.film
JOIN layouts l ON l.id = s.layout AND l.version = s.layout_version
JOIN auditoriums a ON a.id = l.auditorium
JOIN cinemas c ON c.id = a.cinema
JOIN prices p ON p.showing = s.id
JOIN categories k ON k.id = p.category
WHERE s.starts_at >= $1
GROUP BY s.id, f.id, a.id, c.id
ORDER BY s.starts_at, a.name, s.id
