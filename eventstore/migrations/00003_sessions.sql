-- Sessions: who a request speaks for. They are no part of the log; losing this table logs everybody out
-- and loses no sale. A token is never kept, only its SHA-256, so that a stolen copy of the table opens nothing.

-- +goose Up
CREATE TABLE sessions (
    id         uuid        PRIMARY KEY,
    token_hash bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Moved forward now and then while the session is used; see touch.sql beside the Go code.
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    -- An ended session stays a while, with the Idempotency-Key that ended it, so that a retry finds its outcome.
    ended_at   timestamptz,
    ended_key  text CHECK (length(ended_key) BETWEEN 1 AND 255),
    CHECK ((ended_at IS NULL) = (ended_key IS NULL))
);

CREATE INDEX sessions_expires_at ON sessions (expires_at);

-- Secrets that all replicas of one site share. 'address' keys the hash under which a client's network
-- address is kept beside its holds.
CREATE TABLE site_keys (
    name text  PRIMARY KEY,
    key  bytea NOT NULL CHECK (octet_length(key) = 32)
);

INSERT INTO site_keys (name, key)
VALUES ('address', sha256((gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text)::bytea));

-- +goose Down
DROP TABLE site_keys;
DROP TABLE sessions;
