package plant

// guard lets an append pass whatever event of a seat or booking it follows: neither append_batch looks, nor does the
// table refuse a second event after the same one. Two replicas whose maps lag then both hold a seat, unless Redis'
// locks happen to be in the way; and both sell it.
//
// The table keeps an index for the look-ups, as whoever drops a constraint would.
func guard() Plant {
	return Plant{
		Name: "guard",
		What: "the log takes an event whatever the seat's latest event is",
		changes: []change{
			{
				file: "eventstore/migrations/00001_log.sql",
				old:  "    CONSTRAINT events_guard UNIQUE (stream, entity, prev),\n",
				new:  "",
			},
			{
				file: "eventstore/migrations/00001_log.sql",
				old:  "-- The first outcome of each command, for its retries.\n",
				new:  "CREATE INDEX events_guard ON events (stream, entity, prev);\n",
			},
			{
				file: "eventstore/functions/append_batch.sql",
				old:  "WHERE verdicts[e.request] = '' AND CASE",
				new:  "WHERE false AND CASE",
			},
		},
	}
}
