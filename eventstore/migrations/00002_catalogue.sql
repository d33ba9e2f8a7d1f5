-- What can be sold: cinemas, their auditoriums and layouts, films, and showings with their prices.
--
-- What it guards:
--   * A layout's version is frozen from the moment that a showing uses it: layout_seats_are_frozen.
--     A changed hall is a new version, and the showings on sale keep theirs.
--   * A showing keeps its layout, and its prices never change: showings_keep_their_layout, prices_are_final.
--   * A seat of a layout has a category of the layout's own cinema only by the loader's care; a showing
--     without a price for one of its categories isn't loaded.

-- +goose Up

CREATE TABLE cinemas (
    id        uuid PRIMARY KEY,
    name      text NOT NULL CHECK (name <> ''),
    -- IANA, such as Europe/Berlin: what its clocks show.
    time_zone text NOT NULL CHECK (time_zone <> ''),
    -- ISO 4217: all its prices are in it.
    currency  text NOT NULL CHECK (currency ~ '^[A-Z]{3}$')
);

CREATE TABLE auditoriums (
    id     uuid PRIMARY KEY,
    cinema uuid NOT NULL REFERENCES cinemas,
    name   text NOT NULL CHECK (name <> '')
);

-- What seats are priced by, such as Premium.
CREATE TABLE categories (
    id     uuid    PRIMARY KEY,
    cinema uuid    NOT NULL REFERENCES cinemas,
    name   text    NOT NULL CHECK (name <> ''),
    -- Where it stands in lists, from 0.
    place  integer NOT NULL CHECK (place >= 0)
);

CREATE TABLE layouts (
    id         uuid    NOT NULL,
    version    integer NOT NULL CHECK (version > 0),
    auditorium uuid    NOT NULL REFERENCES auditoriums,
    PRIMARY KEY (id, version)
);

CREATE TABLE layout_seats (
    layout   uuid    NOT NULL,
    version  integer NOT NULL,
    -- Its rank in the layout, from 0: row by row from the screen, each from the left.
    place    integer NOT NULL CHECK (place >= 0),
    seat     text    NOT NULL CHECK (length(seat) BETWEEN 1 AND 16 AND seat NOT IN ('#', '*')),
    row      text    NOT NULL,
    number   text    NOT NULL,
    -- The seat's middle, in seat pitches: 1 is the way from one seat to its neighbour. x grows to the
    -- right as seen from the seats, y away from the screen.
    x        double precision NOT NULL,
    y        double precision NOT NULL,
    category uuid    NOT NULL REFERENCES categories,
    kind     text    NOT NULL CHECK (kind IN ('standard', 'wheelchair', 'companion', 'sofa')),
    PRIMARY KEY (layout, version, seat),
    UNIQUE (layout, version, place),
    FOREIGN KEY (layout, version) REFERENCES layouts
);

CREATE TABLE films (
    id    uuid PRIMARY KEY,
    title text NOT NULL CHECK (title <> '')
);

CREATE TABLE showings (
    id             uuid        PRIMARY KEY,
    film           uuid        NOT NULL REFERENCES films,
    layout         uuid        NOT NULL,
    layout_version integer     NOT NULL,
    starts_at      timestamptz NOT NULL,
    -- The sales window: from opens_at until just before closes_at.
    opens_at       timestamptz NOT NULL,
    closes_at      timestamptz NOT NULL CHECK (closes_at > opens_at),
    cancelled      boolean     NOT NULL DEFAULT false,
    FOREIGN KEY (layout, layout_version) REFERENCES layouts
);

CREATE INDEX showings_starts_at ON showings (starts_at);
CREATE INDEX showings_layout ON showings (layout, layout_version);

-- What a seat of a category costs at a showing, in the minor unit of the cinema's currency.
CREATE TABLE prices (
    showing  uuid   NOT NULL REFERENCES showings,
    category uuid   NOT NULL REFERENCES categories,
    amount   bigint NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (showing, category)
);

-- +goose StatementBegin
CREATE FUNCTION layout_seats_are_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND EXISTS (
        SELECT FROM showings s WHERE s.layout = OLD.layout AND s.layout_version = OLD.version)
    OR TG_OP <> 'DELETE' AND EXISTS (
        SELECT FROM showings s WHERE s.layout = NEW.layout AND s.layout_version = NEW.version) THEN
        RAISE EXCEPTION 'the layout is in use: % refused, make a new version', TG_OP
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;

CREATE FUNCTION showings_keep_their_layout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a showing keeps its layout' USING ERRCODE = 'restrict_violation';
END
$$;

CREATE FUNCTION prices_are_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'prices are final: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER layout_seats_are_frozen BEFORE INSERT OR UPDATE OR DELETE ON layout_seats
    FOR EACH ROW EXECUTE FUNCTION layout_seats_are_frozen();

CREATE TRIGGER showings_keep_their_layout BEFORE UPDATE ON showings FOR EACH ROW
    WHEN (NEW.layout <> OLD.layout OR NEW.layout_version <> OLD.layout_version)
    EXECUTE FUNCTION showings_keep_their_layout();

CREATE TRIGGER prices_are_final BEFORE UPDATE OR DELETE ON prices
    FOR EACH ROW EXECUTE FUNCTION prices_are_final();

-- +goose Down

DROP TABLE prices, showings, films, layout_seats, layouts, categories, auditoriums, cinemas;
DROP FUNCTION layout_seats_are_frozen(), showings_keep_their_layout(), prices_are_final();
