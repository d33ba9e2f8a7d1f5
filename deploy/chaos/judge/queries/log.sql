-- The id of this history of the log, as the last server that asked left it.
SELECT id FROM log
