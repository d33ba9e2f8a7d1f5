-- Where those of the streams $1 that exist end, open or not; one row without a stream when none does.
WITH log AS MATERIALIZED (SELECT log_id() AS id, clock_timestamp() AS now)
SELECT log.id, log.now, s.id, s.head, s.event FROM log LEFT JOIN streams s ON s.id = ANY ($1::uuid[])
