package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/realtime"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

// A hub behind a server, and a client that watches a showing while one of its seats changes.
func ExampleHub() {
	halls := newCinema() // The maps to show.
	hall := halls.add(2)

	hub, err := realtime.NewHub(realtime.Config{}, halls)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	ended := make(chan error)
	go func() { ended <- hub.Run(ctx) }()
	<-hub.Ready()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := uuid.Nil // From a Bearer token, or, where realtime.HasOrigin(r), from the cookie.
		hub.Serve(w, r, realtime.Client{Session: session, Address: r.RemoteAddr})
	}))
	defer server.Close()

	client, err := realtimetest.Dial(ctx, "ws"+strings.TrimPrefix(server.URL, "http"), realtimetest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = client.Subscribe(hall.showing)
	_, _ = client.WaitSeq(ctx, hall.showing, 1)
	seq := hall.change("held", "S1")
	m, _ := client.WaitSeq(ctx, hall.showing, seq)
	fmt.Println(m.Seq, m.Seats)

	end() // Drains: every client is told when to come back.
	bye, _, _ := client.WaitBye(context.Background())
	fmt.Println(bye.Reason, bye.RetryAfter)
	fmt.Println(<-ended)

	// Output:
	// 2 map[S0:available S1:held]
	// draining 1s
	// <nil>
}
