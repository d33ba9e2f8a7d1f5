-- recall(streams, sessions, keys) → the recorded commands among (sessions[i], keys[i]).
--
-- For an append whose answer was lost. Taking the streams' rows first, in append_batch's order, waits
-- for a server process that is still at work on the lost append (lock_timeout bounds the wait);
-- the second statement's snapshot then sees what that one committed.
CREATE OR REPLACE FUNCTION recall(
    r_stream  uuid[],
    r_session uuid[],
    r_key     text[]
) RETURNS SETOF commands
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM FROM streams WHERE id = ANY (r_stream) ORDER BY id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT c.* FROM unnest(r_session, r_key) AS r (session, key)
        JOIN commands c ON c.session = r.session AND c.key = r.key;
END
$$;
