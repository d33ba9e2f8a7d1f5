-- Starts a session.
-- $1 id, $2 SHA-256 of the token, $3 how long it lives unused (interval).
INSERT INTO sessions (id, token_hash, expires_at)
VALUES ($1, $2, clock_timestamp() + $3::interval)
