-- The log's tables once more, with all their indexes, and without anything that guards them.
CREATE TABLE bare_events (LIKE events INCLUDING ALL);
CREATE TABLE bare_bookings (LIKE bookings INCLUDING ALL);
CREATE TABLE bare_commands (LIKE commands INCLUDING ALL);
