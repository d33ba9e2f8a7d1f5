-- One call a step: the whole transaction in the server, one round trip.

-- Takes all the seats, which must be in order, or none; says whether it did.
CREATE OR REPLACE FUNCTION hold_seats(p_showing uuid, p_seats text[], p_session uuid, p_booking uuid, p_span interval)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    free integer;
BEGIN
    SELECT count(*) FILTER (WHERE s.ok) INTO free FROM (
        SELECT status = 'available' OR (status = 'held' AND held_until <= clock_timestamp()) AS ok
        FROM seats WHERE showing = p_showing AND seat = ANY (p_seats) ORDER BY seat FOR UPDATE) AS s;
    IF free < cardinality(p_seats) THEN
        RETURN false;
    END IF;
    UPDATE seats SET status = 'held', booking = p_booking, held_until = clock_timestamp() + p_span, version = version + 1
    WHERE showing = p_showing AND seat = ANY (p_seats);
    INSERT INTO bookings (id, showing, session, seats, state, expires_at)
    VALUES (p_booking, p_showing, p_session, p_seats, 'held', clock_timestamp() + p_span);
    RETURN true;
END
$$;

-- Sells the hold's seats; says whether it did.
CREATE OR REPLACE FUNCTION confirm_hold(p_booking uuid, p_session uuid)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    b record;
BEGIN
    UPDATE bookings SET state = 'confirmed'
    WHERE id = p_booking AND session = p_session AND state = 'held' AND expires_at > clock_timestamp()
    RETURNING showing, seats INTO b;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE seats SET status = 'sold', held_until = NULL, version = version + 1
    WHERE showing = b.showing AND seat = ANY (b.seats) AND booking = p_booking;
    RETURN true;
END
$$;
