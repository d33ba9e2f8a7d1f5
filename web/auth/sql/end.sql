-- Ends the session of a token. Guards that it ends once: the first key to end it is the one that stays.
-- $1 SHA-256 of the token, $2 the Idempotency-Key of the request that ends it.
   UPDATE sessions
      SET ended_at = clock_timestamp(), ended_key = $2
    WHERE token_hash = $1
      AND ended_at IS NULL
      AND expires_at > clock_timestamp()
RETURNING id
