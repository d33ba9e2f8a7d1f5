-- The seats of one version of a layout ($1, $2), in the layout's order.
SELECT seat, row, number, x, y, category, kind
FROM layout_seats
WHERE layout = $1 AND version = $2
ORDER BY place
