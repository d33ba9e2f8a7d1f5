-- Finds the session of a token, if it has neither ended nor expired, and says whether its use is due to be noted.
-- $1 SHA-256 of the token, $2 how long ago its use may have been noted (interval).
SELECT id, seen_at < clock_timestamp() - $2::interval
  FROM sessions
 WHERE token_hash = $1
   AND ended_at IS NULL
   AND expires_at > clock_timestamp()
