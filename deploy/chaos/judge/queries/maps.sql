-- What every watcher must show: each showing's head and the seats that ever changed, as of their latest
-- event. One row a seat; a showing without any seat's event has one row whose seat is ''.
--
-- It trusts no index of the log: the latest event is the one with the highest seq.
SELECT s.id, s.head, s.event, s.open, coalesce(e.seat, ''), coalesce(e.status, '')
FROM streams s
LEFT JOIN (
    SELECT DISTINCT ON (stream, entity) stream, substr(entity, 6) AS seat, data ->> 'current' AS status
    FROM events
    WHERE entity LIKE 'seat:%'
    ORDER BY stream, entity, seq DESC
) AS e ON e.stream = s.id
