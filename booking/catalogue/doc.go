// Package catalogue knows what can be sold: the cinema, its auditoriums and layouts, the films, and the
// showings with their prices and sales windows.
//
// The database's tables are the truth; a Catalogue answers from memory and reads them again every few
// seconds. What it serves is at most that old.
//
// # Invariants
//
//   - A showing's layout and prices never change: the database refuses it. So a layout is read once, and
//     seats and prices that a command was judged by are those that its customer saw.
//   - A showing that can't be sold rightly (a seat without a price, an unknown time zone) is left out,
//     and the log says why. The others are served.
//   - What one call returns is of one reading of the tables.
//
// # What a failure does
//
// While PostgreSQL is gone, the last reading stays: showings can be looked at, and nothing can be sold
// anyway. A replica that never read the tables has an empty programme.
package catalogue
