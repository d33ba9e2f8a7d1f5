-- Follower $1's cursors in log $2 for those of the streams $3 that have one.
SELECT stream, seq, event FROM cursors WHERE follower = $1 AND log = $2 AND stream = ANY ($3::uuid[])
