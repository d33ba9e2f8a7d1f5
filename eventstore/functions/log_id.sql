-- log_id() → text: the id of this history of the log, renewed when it was restored from a backup.
--
-- Guards: a snapshot, an ETag, a cursor or a browser that remembers (log, seq) never continues on
-- another history in which the same seq is another event.
--
-- The fingerprint is what a backup does not bring along: the cluster's system identifier, its
-- timeline (a point-in-time recovery and a fail-over each begin a new one), the database's and the
-- events table's oid (a dump gets new ones). Copying back the files of a stopped server keeps all of
-- them; a Follower notices that by its cursor. An owner who may not call pg_control_system (some
-- managed servers) goes without the system identifier.
--
-- 1 read the fingerprint of the place where the log is now
-- 2 if it is the stored one, which is nearly always: that log's id
-- 3 otherwise a new id; of several callers at once the row's lock lets one win
CREATE OR REPLACE FUNCTION log_id() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    here    text;
    current text;
BEGIN
    BEGIN
        here := (SELECT system_identifier::text FROM pg_control_system());
    EXCEPTION WHEN insufficient_privilege THEN
        here := '-';
    END;
    here := concat_ws('/', here,
        substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
        (SELECT oid FROM pg_database WHERE datname = current_database()),
        'events'::regclass::oid);

    SELECT l.id INTO current FROM log l WHERE l.fingerprint = here;
    IF FOUND THEN
        RETURN current;
    END IF;

    INSERT INTO log AS l (id, fingerprint)
    VALUES (substr(md5(gen_random_uuid()::text), 1, 12), here)
    ON CONFLICT (single) DO UPDATE
        SET id = excluded.id, fingerprint = excluded.fingerprint, since = excluded.since
        WHERE l.fingerprint <> excluded.fingerprint;
    RETURN (SELECT l.id FROM log l);
END
$$;
