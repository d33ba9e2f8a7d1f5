package catalogue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/booking"
	"github.com/aislehq/aisle/booking/catalogue"
)

func TestATrialHouseIsMadeOnceAndSells(t *testing.T) {
	t.Parallel()
	pool, store := open(t)
	now := time.Now().UTC()
	house := catalogue.TrialHouse{Showings: 3, Rows: 28, SeatsPerRow: 2}
	created, err := house.Make(t.Context(), pool, store, now)
	require.NoError(t, err)
	require.True(t, created)
	c := load(t, pool)
	list := c.List(time.Time{}, time.Time{})
	require.Len(t, list, 3)
	for _, showing := range list {
		require.Equal(t, "Trial House", showing.CinemaName)
		require.Equal(t, 56, showing.Total)
		require.Equal(t, catalogue.SalesOpen, showing.SalesState(now))
		require.Equal(t, catalogue.SalesOpen, showing.SalesState(now.AddDate(0, 0, 29)))
		events, err := store.Read(t.Context(), showing.ID, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 1, "its stream is open")
	}
	seats, ok := c.Seats(list[0].ID)
	require.True(t, ok)
	require.Equal(t, []booking.Seat{"A1", "A2", "B1"}, seats[:3])
	require.Equal(t, []booking.Seat{"Z1", "Z2", "AA1", "AA2", "AB1", "AB2"}, seats[50:])
	offer, ok := c.Offer(list[0].ID)
	require.True(t, ok)
	require.Equal(t, booking.Money{Amount: 2000, Currency: "EUR"}, offer.Price([]booking.Seat{"A1", "AB2"}))

	created, err = house.Make(t.Context(), pool, store, now.AddDate(0, 0, 3))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, list, load(t, pool).List(time.Time{}, time.Time{}), "a repeat changes nothing")

	house.SeatsPerRow = 3
	created, err = house.Make(t.Context(), pool, store, now)
	require.NoError(t, err)
	require.True(t, created, "houses of different sizes stand side by side")
	require.Len(t, load(t, pool).List(time.Time{}, time.Time{}), 6)
}

func TestATrialHouseHasBounds(t *testing.T) {
	t.Parallel()
	for want, house := range map[string]catalogue.TrialHouse{
		"catalogue: a trial house of 0 showings, must be 1 – 5000":      {Rows: 1, SeatsPerRow: 1},
		"catalogue: a trial house of 5001 showings, must be 1 – 5000":   {Showings: 5001, Rows: 1, SeatsPerRow: 1},
		"catalogue: a trial house of 201 rows, must be 1 – 200":         {Showings: 1, Rows: 201, SeatsPerRow: 1},
		"catalogue: a trial house of -1 seats per row, must be 1 – 200": {Showings: 1, Rows: 1, SeatsPerRow: -1},
	} {
		_, err := house.Make(t.Context(), nil, nil, time.Now())
		require.EqualError(t, err, want)
	}
}
