package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
	"github.com/aislehq/aisle/realtime/realtimetest"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// cinema is a box office of several servers at known ports.
type cinema struct {
	*running
	data   string
	public []string // addresses, by number from 1 on; the first is empty
	ops    []string
}

func openCinema(t *testing.T, servers, ports int, settings ...string) *cinema {
	t.Helper()
	port := freePorts(t, ports, 2*servers)
	at := func(n int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+n)) }
	c := &cinema{data: stacktest.Dir(t), public: []string{""}, ops: []string{""}}
	for n := range servers {
		c.public, c.ops = append(c.public, at(n)), append(c.ops, at(servers+n))
	}
	c.running = launchWith(t, settings, "up", "--demo", "--data="+c.data, "--replicas="+strconv.Itoa(servers),
		"--listen="+at(0), "--ops-listen="+at(servers))
	for n := range servers {
		c.url(t)
		ready(t, c.ops[n+1])
	}
	return c
}

// customer is a new one, at that server.
func (c *cinema) customer(t *testing.T, server int) *customer {
	t.Helper()
	return newCustomer(t, "http://"+c.public[server])
}

// watch opens a live socket at that server and waits for its map.
func (c *cinema) watch(ctx context.Context, t *testing.T, server int, showing uuid.UUID) *realtimetest.Client {
	t.Helper()
	client, err := realtimetest.Dial(ctx, "ws://"+c.public[server]+"/api/v1/live", realtimetest.Options{})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.NoError(t, client.Subscribe(showing))
	_, err = client.WaitMap(ctx, showing, func(realtimetest.Map) bool { return true })
	require.NoError(t, err)
	return client
}

func (c *cinema) signal(t *testing.T, server int, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(children(t, c.data)[strconv.Itoa(server)], sig))
}

// leader waits until one of these servers says that it leads.
func (c *cinema) leader(t *testing.T, among ...int) int {
	t.Helper()
	found := 0
	require.Eventually(t, func() bool {
		for _, n := range among {
			if leads(t, c.ops[n]) {
				found = n
				return true
			}
		}
		return false
	}, patience, 50*time.Millisecond, "nobody leads")
	return found
}

func leads(t *testing.T, ops string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ops+"/metrics", http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if lines.Text() == "aisle_leader 1" {
			return true
		}
	}
	return false
}

// The leader is killed outright, and then its successor: customers of the other servers buy on, see each other's
// seats turn while nobody leads and after, and the server that was killed comes back with every sale.
func TestKillingTheLeaderLosesNothing(t *testing.T) {
	t.Parallel()
	c := openCinema(t, 3, 13000, "AISLE_LEADER_TTL=2s")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	showing := uuid.MustParse(c.customer(t, 1).showing())
	var sold []string
	for round := 1; round <= 2; round++ {
		victim := c.leader(t, 1, 2, 3)
		here, there := victim%3+1, (victim+1)%3+1
		watcher, buyer := c.watch(ctx, t, there, showing), c.customer(t, here)
		buy := func(seat string) {
			t.Helper()
			buyer.buy(showing.String(), seat)
			sold = append(sold, seat)
			_, err := watcher.WaitMap(ctx, showing, func(m realtimetest.Map) bool { return m.Seats[seat] == "sold" })
			require.NoError(t, err)
		}

		c.signal(t, victim, syscall.SIGKILL)
		buy("A" + strconv.Itoa(round))
		c.leader(t, here, there)
		buy("B" + strconv.Itoa(round))

		assert.Zero(t, watcher.Gaps())
		assert.Equal(t, "http://"+c.public[victim], c.url(t), "it is started again")
		back := c.customer(t, victim)
		for _, seat := range sold {
			assert.Equal(t, "sold", back.status(showing.String(), seat), seat)
		}
	}
	c.terminate(t)
}

// A server is stopped past a hold's end with the customer's confirmation in its hands, and a rival buys the seat at
// another one. When the server goes on it sells nothing.
func TestAServerStoppedPastAHoldSellsNothing(t *testing.T) {
	t.Parallel()
	c := openCinema(t, 2, 16000, "AISLE_HOLD_FOR=5s")
	anna, rival := c.customer(t, 1), c.customer(t, 2)
	showing := anna.showing()
	held, _ := anna.call(http.MethodPost, "/showings/"+showing+"/bookings", map[string]any{"seats": []string{"F7"}})["id"].(string)

	c.signal(t, 1, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(children(t, c.data)["1"], syscall.SIGCONT) })
	late := make(chan answer, 1)
	go func() { late <- anna.try(http.MethodPost, "/bookings/"+held+"/confirm", "") }()
	var taken answer
	require.Eventually(t, func() bool {
		taken = rival.try(http.MethodPost, "/showings/"+showing+"/bookings", `{"seats":["F7"]}`)
		return taken.status == http.StatusCreated
	}, patience, 100*time.Millisecond, "the seat is not on sale again")
	rivals, _ := taken.body["id"].(string)
	sold := rival.try(http.MethodPost, "/bookings/"+rivals+"/confirm", "")
	require.Equal(t, http.StatusOK, sold.status, sold.body)
	c.signal(t, 1, syscall.SIGCONT)

	refused := <-late
	assert.Equal(t, http.StatusGone, refused.status, refused.body)
	assert.Equal(t, "/problems/hold-expired", refused.body["type"])
	assert.Equal(t, "expired", anna.call(http.MethodGet, "/bookings/"+held, nil)["state"])
	for server := range 2 {
		visitor := c.customer(t, server+1)
		require.Eventually(t, func() bool { return visitor.status(showing, "F7") == "sold" }, patience, 50*time.Millisecond)
	}
	c.terminate(t)
}

// answer is what came back; status 0 says that nothing did.
type answer struct {
	status int
	body   map[string]any
}

// try sends a command with a key of its own, whatever comes of it.
func (c *customer) try(method, path, body string) answer {
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Idempotency-Key", uuid.NewString())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode}
	if json.NewDecoder(res.Body).Decode(&a.body) != nil {
		a.body = nil
	}
	return a
}
