package catalogue

import _ "embed"

var (
	//go:embed sql/showings.sql
	showingsSQL string
	//go:embed sql/layout_seats.sql
	layoutSeatsSQL string
	//go:embed sql/insert_cinema.sql
	insertCinemaSQL string
	//go:embed sql/insert_hall.sql
	insertHallSQL string
	//go:embed sql/insert_categories.sql
	insertCategoriesSQL string
	//go:embed sql/insert_seats.sql
	insertSeatsSQL string
	//go:embed sql/insert_showing.sql
	insertShowingSQL string
)
