-- The comment of the function $1 of this schema; '' when there is none.
SELECT coalesce(obj_description(to_regproc($1), 'pg_proc'), '')
