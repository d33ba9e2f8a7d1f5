-- The role that the servers connect as: made when it is missing, and given a new password. What it may do is
-- granted by the migration, not here.
--
-- Settings of the transaction:
--   aisle.role      its name
--   aisle.password  its new password
DO $$
DECLARE
    role text := current_setting('aisle.role');
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
        EXECUTE format('CREATE ROLE %I', role);
    END IF;
    EXECUTE format('ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD %L',
        role, current_setting('aisle.password'));
END
$$
