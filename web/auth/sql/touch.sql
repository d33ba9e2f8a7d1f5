-- Notes that a session was used, so that it lives on.
-- $1 id, $2 how long it lives unused (interval).
UPDATE sessions
   SET seen_at = clock_timestamp(), expires_at = clock_timestamp() + $2::interval
 WHERE id = $1
   AND ended_at IS NULL
