-- Each showing's head, as its row says.
SELECT id, head, event FROM streams ORDER BY id
