-- close_stream(stream) → boolean: takes a stream off the list that followers follow; false when there
-- is none. An append to it puts it back, so that no event is ever missed.
CREATE OR REPLACE FUNCTION close_stream(old_stream uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE streams SET open = false WHERE id = old_stream;
    RETURN FOUND;
END
$$;
