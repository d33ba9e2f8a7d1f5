-- Reads a secret that all replicas share.
-- $1 its name.
SELECT key
  FROM site_keys
 WHERE name = $1
