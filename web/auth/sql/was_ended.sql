-- Finds the session that this very request ended earlier.
-- $1 SHA-256 of the token, $2 the Idempotency-Key.
SELECT id
  FROM sessions
 WHERE token_hash = $1
   AND ended_key = $2
