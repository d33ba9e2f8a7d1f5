-- The log: streams of events, and what is written with them in the same transaction.
--
-- What it guards:
--   * PRIMARY KEY (stream, seq): a place in a stream is given out once.
--   * UNIQUE (stream, entity, prev): no two events follow the same event of a thing. This stands
--     behind the check in append_batch and is the last reason why a seat can't be sold twice.
--   * bookings_one_hold: a session has one hold a stream.
--   * events_are_final: nobody rewrites the past, the tables' owner included.
-- The tables have no foreign keys: the functions are their only writers and hold the stream's row,
-- and a check for each event would cost more than the event.

-- +goose Up

-- One row: which history this is. See functions/log_id.sql.
CREATE TABLE log (
    single      boolean     PRIMARY KEY DEFAULT true CHECK (single),
    id          text        NOT NULL,
    fingerprint text        NOT NULL,
    since       timestamptz NOT NULL DEFAULT now()
);

-- A row is rewritten with every append to its stream: room is left on the page so that this stays
-- a heap-only update, and no index mentions the head.
CREATE TABLE streams (
    id    uuid    PRIMARY KEY,
    head  bigint  NOT NULL,
    event uuid    NOT NULL,
    open  boolean NOT NULL DEFAULT true
) WITH (fillfactor = 40);

CREATE INDEX streams_open ON streams (id) WHERE open;

-- The body is json, not jsonb: what Append was given is what Read returns, byte for byte.
CREATE TABLE events (
    stream   uuid        NOT NULL,
    seq      bigint      NOT NULL,
    id       uuid        NOT NULL,
    entity   text        NOT NULL,
    prev     bigint      NOT NULL,
    type     text        NOT NULL,
    data     json        NOT NULL,
    deadline timestamptz,
    at       timestamptz NOT NULL,
    PRIMARY KEY (stream, seq),
    CONSTRAINT events_guard UNIQUE (stream, entity, prev),
    CHECK (prev >= 0 AND prev < seq)
);

-- +goose StatementBegin
CREATE FUNCTION events_are_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are final: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER events_are_final BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_are_final();

-- The first outcome of each command, for its retries.
CREATE TABLE commands (
    session uuid        NOT NULL,
    key     text        NOT NULL,
    route   text        NOT NULL,
    body    bytea       NOT NULL,
    booking uuid        NOT NULL,
    status  integer     NOT NULL,
    stream  uuid        NOT NULL,
    seq     bigint      NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (session, key)
);

-- The booking index: one row a booking, as of its latest event.
CREATE TABLE bookings (
    id       uuid    PRIMARY KEY,
    stream   uuid    NOT NULL,
    session  uuid    NOT NULL,
    held     boolean NOT NULL,
    state    text    NOT NULL,
    seats    integer NOT NULL,
    address  text    NOT NULL,
    deadline timestamptz,
    seq      bigint  NOT NULL,
    changed  timestamptz NOT NULL
) WITH (fillfactor = 80);

-- Also what looks for holds past their deadline: there are never more holds than people at the seat maps, so
-- that reading them all costs less than an index on the deadline would cost each hold.
CREATE UNIQUE INDEX bookings_one_hold ON bookings (stream, session) WHERE held;
CREATE INDEX bookings_address ON bookings (address) WHERE held AND address <> '';
CREATE INDEX bookings_session ON bookings (session, changed DESC);

-- How far each follower without a place of its own has come.
CREATE TABLE cursors (
    follower text   NOT NULL,
    stream   uuid   NOT NULL,
    log      text   NOT NULL,
    seq      bigint NOT NULL,
    event    uuid   NOT NULL,
    PRIMARY KEY (follower, stream)
) WITH (fillfactor = 80);

-- +goose Down

DROP TABLE cursors, bookings, commands, events, streams, log;
DROP FUNCTION events_are_final();
