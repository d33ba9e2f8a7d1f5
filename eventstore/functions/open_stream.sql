-- open_stream(stream, id, entity, type, data) → boolean: makes a stream with its event 1.
--
-- Guards: a stream is never without its first event, and opening it again changes nothing (false).
CREATE OR REPLACE FUNCTION open_stream(
    new_stream uuid,
    new_id     uuid,
    new_entity text,
    new_type   text,
    new_data   text
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO streams (id, head, event) VALUES (new_stream, 1, new_id) ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO events (stream, seq, id, entity, prev, type, data, at)
    VALUES (new_stream, 1, new_id, new_entity, 0, new_type, new_data::json, clock_timestamp());
    RETURN true;
END
$$;
