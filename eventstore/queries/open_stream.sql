-- Makes stream $1 with its event 1, of id $2, entity $3, type $4 and data $5.
SELECT open_stream($1, $2, $3, $4, $5)
