-- What every rival keeps: a row a seat, a row a booking. Room is left on the pages of seats, and no index mentions what
-- changes, so that every update stays on its page.
CREATE TABLE IF NOT EXISTS seats (
    showing    uuid        NOT NULL,
    seat       text        NOT NULL,
    status     text        NOT NULL DEFAULT 'available',
    booking    uuid,
    held_until timestamptz,
    version    integer     NOT NULL DEFAULT 0,
    PRIMARY KEY (showing, seat)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS bookings (
    id         uuid        PRIMARY KEY,
    showing    uuid        NOT NULL,
    session    uuid        NOT NULL,
    seats      text[]      NOT NULL,
    state      text        NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);
