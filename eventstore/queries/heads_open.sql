-- Where all open streams end; one row without a stream when there is none.
WITH log AS MATERIALIZED (SELECT log_id() AS id, clock_timestamp() AS now)
SELECT log.id, log.now, s.id, s.head, s.event FROM log LEFT JOIN streams s ON s.open
