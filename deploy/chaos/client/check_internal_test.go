package client

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	var (
		showing = uuid.MustParse("00000000-0000-7000-8000-000000000001")
		id      = uuid.MustParse("00000000-0000-7000-8000-000000000002")
		end     = time.Date(2030, 1, 1, 20, 0, 0, 0, time.UTC)
		held    = Booking{ID: id, Showing: showing, State: "held", Seats: []string{"A1", "A2"}, ExpiresAt: end, Seq: 7}
		with    = func(change func(*Booking)) *Booking {
			b := held
			b.Seq = 8
			change(&b)
			return &b
		}
		same = with(func(*Booking) {})
	)
	tests := []struct {
		name   string
		kind   history.Kind
		seats  []string
		answer Answer
		wrong  string // part of what is said; "": the answer is right
	}{
		{"hold", history.Hold, []string{"A2", "A1"}, Answer{Status: 201, Booking: same}, ""},
		{"hold with another status", history.Hold, []string{"A1", "A2"}, Answer{Status: 200, Booking: same}, "status 200"},
		{"hold of fewer seats", history.Hold, []string{"A1", "A2", "A3"}, Answer{Status: 201, Booking: same}, "asked for"},
		{"hold of other seats", history.Hold, []string{"A1", "A3"}, Answer{Status: 201, Booking: same}, "asked for"},
		{
			"hold of a seat twice", history.Hold,
			[]string{"A1", "A2"},
			Answer{Status: 201, Booking: with(func(b *Booking) { b.Seats = []string{"A1", "A2", "A2"} })},
			"asked for",
		},
		{
			"hold at another showing", history.Hold,
			[]string{"A1", "A2"},
			Answer{Status: 201, Booking: with(func(b *Booking) { b.Showing = id })},
			"another showing",
		},
		{
			"hold without an end", history.Hold,
			[]string{"A1", "A2"},
			Answer{Status: 201, Booking: with(func(b *Booking) { b.ExpiresAt = time.Time{} })},
			"for ever",
		},
		{"hold that has run out", history.Hold, []string{"A1"}, Answer{Status: 410, Problem: "hold-expired"}, "new hold"},
		{"hold of taken seats", history.Hold, []string{"A1"}, Answer{Status: 409, Problem: "seats-unavailable", Conflicts: map[string]string{"A1": "sold"}}, ""},
		{"conflict elsewhere", history.Hold, []string{"A1"}, Answer{Status: 409, Problem: "seats-unavailable", Conflicts: map[string]string{"A2": "sold"}}, "not asked for"},
		{"conflict nowhere", history.Hold, []string{"A1"}, Answer{Status: 409, Problem: "seats-unavailable"}, "no seat"},
		{"the session's only hold", history.Hold, []string{"A1"}, Answer{Status: 409, Problem: "booking-exists"}, "can't be right"},
		{"a seat of the layout", history.Hold, []string{"A1"}, Answer{Status: 422, Problem: "unknown-seat"}, "can't be right"},
		{"a known session", history.Hold, []string{"A1"}, Answer{Status: 401, Problem: "unauthenticated"}, "can't be right"},
		{"sales end", history.Hold, []string{"A1"}, Answer{Status: 409, Problem: "sales-closed"}, ""},
		{"a store is gone", history.Hold, []string{"A1"}, Answer{Status: 503, Problem: "unavailable"}, ""},

		{"add", history.Add, []string{"A3"}, Answer{Status: 200, Booking: with(func(b *Booking) { b.Seats = []string{"A1", "A2", "A3"} })}, ""},
		{"add that loses a seat", history.Add, []string{"A3"}, Answer{Status: 200, Booking: with(func(b *Booking) { b.Seats = []string{"A1", "A3"} })}, "asked for"},
		{
			"add that lengthens the hold", history.Add, []string{"A3"}, Answer{Status: 200, Booking: with(func(b *Booking) {
				b.Seats, b.ExpiresAt = []string{"A1", "A2", "A3"}, end.Add(time.Second)
			})}, "moved the hold's end",
		},
		{"add to a booking that is known", history.Add, []string{"A3"}, Answer{Status: 404, Problem: "not-found"}, "can't be right"},
		{"add too late", history.Add, []string{"A3"}, Answer{Status: 410, Problem: "hold-expired"}, ""},

		{"give back", history.GiveBack, []string{"A1"}, Answer{Status: 200, Booking: with(func(b *Booking) { b.Seats = []string{"A2"} })}, ""},
		{"give back that keeps it", history.GiveBack, []string{"A1"}, Answer{Status: 200, Booking: same}, "asked for"},
		{
			"give back for which a seat must be free", history.GiveBack,
			[]string{"A1"},
			Answer{Status: 409, Problem: "seats-unavailable", Conflicts: map[string]string{"A1": "sold"}},
			"no free seat",
		},

		{"confirm", history.Confirm, held.Seats, Answer{Status: 200, Booking: with(func(b *Booking) { b.State, b.ExpiresAt = "confirmed", time.Time{} })}, ""},
		{"confirm that confirms nothing", history.Confirm, held.Seats, Answer{Status: 200, Booking: same}, "asked for"},
		{
			"confirm of another booking", history.Confirm, held.Seats,
			Answer{Status: 200, Booking: with(func(b *Booking) { b.State, b.ID = "confirmed", showing })},
			"another booking",
		},
		{
			"confirm without a trace in the log", history.Confirm, held.Seats,
			Answer{Status: 200, Booking: with(func(b *Booking) { b.State, b.Seq = "confirmed", 7 })},
			"seq 7",
		},
		{"confirm of what is held", history.Confirm, held.Seats, Answer{Status: 409, Problem: "booking-not-held", State: "released"}, "can't be right"},
		{"confirm too late", history.Confirm, held.Seats, Answer{Status: 410, Problem: "hold-expired"}, ""},

		{"release", history.Release, held.Seats, Answer{Status: 204}, ""},
		{"release with another status", history.Release, held.Seats, Answer{Status: 200, Booking: same}, "status 200"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := held
			if test.kind == history.Hold {
				before = Booking{}
			}
			err := check(Command{Kind: test.kind, Showing: showing, Booking: before.ID, Seats: test.seats}, before, test.answer)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
		})
	}
}

func TestGivingBackTheLastSeatReleases(t *testing.T) {
	t.Parallel()
	before := Booking{ID: uuid.New(), State: "held", Seats: []string{"A1"}, Seq: 1}
	c := Command{Kind: history.GiveBack, Booking: before.ID, Seats: []string{"A1"}}
	require.NoError(t, check(c, before, Answer{Status: 200, Booking: &Booking{ID: before.ID, State: "released", Seq: 2}}))
	require.Error(t, check(c, before, Answer{Status: 200, Booking: &Booking{ID: before.ID, State: "held", Seq: 2}}))
}
