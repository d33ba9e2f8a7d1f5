-- The booking ($1) is sold.
UPDATE bookings SET state = 'confirmed' WHERE id = $1
