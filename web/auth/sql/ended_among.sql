-- Says which of the given sessions are over: ended, expired or gone.
-- $1 ids (uuid[]).
SELECT watched.id
  FROM unnest($1::uuid[]) AS watched (id)
 WHERE NOT EXISTS (
           SELECT FROM sessions
            WHERE sessions.id = watched.id
              AND ended_at IS NULL
              AND expires_at > clock_timestamp())
