package lock

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Whatever a script, or something that answers in its place, returns: an error that callers know, or a lock.
func FuzzDecode(f *testing.F) {
	f.Add("held", int64(1), "", byte(0))
	f.Add("taken", int64(1), "A1,6b0ae3f5-7d3c-4f43-9f3a-0d3b5a0f8f10", byte(9))
	f.Add("taken", int64(1), "A1,6b0ae3f5-7d3c-4f43-9f3a-0d3b5a0f8f10,A2,nobody", byte(9))
	f.Add("locked", int64(1), "6b0ae3f5-7d3c-4f43-9f3a-0d3b5a0f8f10", byte(9))
	f.Add("nested", int64(1), "A1", byte(9))
	f.Add("lost", int64(1), "A1", byte(1))
	f.Add("released", int64(-1), "A1,", byte(2))
	f.Fuzz(func(t *testing.T, verdict string, token int64, rest string, odd byte) {
		reply := []any{verdict, token}
		if rest != "" {
			for part := range strings.SplitSeq(rest, ",") {
				reply = append(reply, part)
			}
		}
		if i := int(odd); i < len(reply) {
			reply[i] = []any{nil, int64(odd), verdict}[i%3]
		}
		held, err := decodeAcquire(reply)
		checkDecoded(t, held, err, ErrShowingLocked, ErrTooManyNested, ErrUnavailable)
		var taken *TakenError
		if errors.As(err, &taken) && (taken.Token < 0 || len(taken.Holders) == 0 || len(taken.Holders) > (len(reply)-2)/2) {
			t.Fatalf("%v was read as %+v", reply, taken)
		}
		held, err = decodeRenew(reply)
		checkDecoded(t, held, err, ErrNotHeld, ErrUnavailable)
		if err = decodeRelease(reply); err != nil {
			checkDecoded(t, Held{}, err, ErrNotHeld, ErrUnavailable)
		}
	})
}

func checkDecoded(t *testing.T, held Held, err error, known ...error) {
	t.Helper()
	if err == nil {
		if held.Token < 0 {
			t.Fatalf("a lock with the token %d", held.Token)
		}
		return
	}
	if held != (Held{}) {
		t.Fatalf("%v, and yet %+v", err, held)
	}
	if len(err.Error()) > 4096 && errors.Is(err, ErrUnavailable) {
		t.Fatalf("an error of %d bytes", len(err.Error()))
	}
	if _, ok := errors.AsType[*TakenError](err); ok {
		return
	}
	for _, k := range known {
		if errors.Is(err, k) {
			return
		}
	}
	t.Fatalf("nobody expects %v", err)
}

// Whatever URL an operator gives, and wherever its password ends up, the error that refuses it does not tell it.
func FuzzParseURL(f *testing.F) {
	const password = "p4ssw0rd"
	for _, scheme := range []string{"redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "rediss+cluster", "http", ""} {
		f.Add(scheme, "ann:", "", "h:1,[::1]", "/m/1?x=y")
		f.Add(scheme, "", "/", "h", "")
		f.Add(scheme, ":%", "%zz", "]:%", "//")
		f.Add(scheme, "a:?db=", "#", "@@", "?sentinel_password=x")
	}
	f.Fuzz(func(t *testing.T, scheme, before, after, hosts, rest string) {
		dial, err := parseURL(scheme + "://" + before + password + after + "@" + hosts + rest)
		if (dial == nil) == (err == nil) {
			t.Fatalf("a client %v and the error %v", dial != nil, err)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Fatalf("%q tells the password", err)
		}
	})
}

// What is let through as seats can stand in a showing's hash beside the bookkeeping, each once.
func FuzzCheckSeats(f *testing.F) {
	f.Add("A1,A2")
	f.Add("A1,A1")
	f.Add("#")
	f.Add("*")
	f.Add("*,A1")
	f.Add(strings.Repeat("A", 65))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		seats := strings.Split(text, ",")
		if err := checkSeats(uuid.New(), uuid.New(), seats); err != nil {
			if !errors.Is(err, ErrInvalidRequest) {
				t.Fatal(err)
			}
			return
		}
		seen := map[string]bool{}
		for _, seat := range seats {
			if seen[seat] || seat == "" || seat == bookkeeping || len(seat) > maxSeatBytes || (seat == WholeShowing && len(seats) > 1) {
				t.Fatalf("%q was let through among %q", seat, seats)
			}
			seen[seat] = true
		}
		if len(seats) > MaxSeats {
			t.Fatalf("%d seats were let through", len(seats))
		}
	})
}
