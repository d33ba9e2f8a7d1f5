package eventstore

import "embed"

// appendStatement is the prepared name of appendSQL on each connection.
const appendStatement = "aisle_append_batch"

// Migrations are the tables of the whole product, for goose. Migrate applies them.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// functions are the database functions of the log, one a file; Migrate puts each in place when its text has
// changed.
//
//go:embed functions/*.sql
var functions embed.FS

var (
	//go:embed queries/append.sql
	appendSQL string
	//go:embed queries/recall.sql
	recallSQL string
	//go:embed queries/read.sql
	readSQL string
	//go:embed queries/heads.sql
	headsSQL string
	//go:embed queries/heads_open.sql
	headsOpenSQL string
	//go:embed queries/latest.sql
	latestSQL string
	//go:embed queries/latest_at.sql
	latestAtSQL string
	//go:embed queries/booking.sql
	bookingSQL string
	//go:embed queries/bookings_of.sql
	bookingsOfSQL string
	//go:embed queries/expired.sql
	expiredSQL string
	//go:embed queries/expired_open.sql
	expiredOpenSQL string
	//go:embed queries/recorded.sql
	recordedSQL string
	//go:embed queries/open_stream.sql
	openStreamSQL string
	//go:embed queries/close_stream.sql
	closeStreamSQL string
	//go:embed queries/durability.sql
	durabilitySQL string
	//go:embed queries/schema_version.sql
	schemaVersionSQL string
	//go:embed queries/lock_schema.sql
	lockSchemaSQL string
	//go:embed queries/function_hash.sql
	functionHashSQL string
	//go:embed queries/load_cursors.sql
	loadCursorsSQL string
	//go:embed queries/save_cursors.sql
	saveCursorsSQL string
)
