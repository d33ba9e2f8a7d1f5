-- Removes sessions that expired, or that ended long enough ago that nobody retries the request that ended
-- them. A limited number at a time, so that it never holds anyone up.
-- $1 how long an ended one stays (interval), $2 most rows.
DELETE FROM sessions
 WHERE id IN (
           SELECT id
             FROM sessions
            WHERE expires_at < clock_timestamp()
               OR ended_at < clock_timestamp() - $1::interval
            LIMIT $2
              FOR UPDATE SKIP LOCKED)
