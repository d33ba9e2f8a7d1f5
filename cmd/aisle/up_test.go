package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aislehq/aisle/deploy/localstack/stacktest"
)

// up starts a box office of the test's own, on any free ports.
func up(t *testing.T, data string, more ...string) *running {
	t.Helper()
	return launch(t, append([]string{"up", "--demo", "--data=" + data, "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"}, more...)...)
}

// customer talks to one server's public API.
type customer struct {
	t     *testing.T
	url   string
	token string
}

func newCustomer(t *testing.T, url string) *customer {
	t.Helper()
	c := &customer{t: t, url: url}
	c.token, _ = c.call(http.MethodPost, "/sessions", nil)["token"].(string)
	require.NotEmpty(t, c.token)
	return c
}

func (c *customer) call(method, path string, body any) map[string]any {
	c.t.Helper()
	var sent bytes.Buffer
	if body != nil {
		require.NoError(c.t, json.NewEncoder(&sent).Encode(body))
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/api/v1"+path, &sent)
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
		req.Header.Set("Idempotency-Key", uuid.NewString())
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	require.Less(c.t, res.StatusCode, 300, string(got))
	var decoded map[string]any
	require.NoError(c.t, json.Unmarshal(got, &decoded))
	return decoded
}

// showing is one that is open for sale.
func (c *customer) showing() string {
	c.t.Helper()
	list, _ := c.call(http.MethodGet, "/showings", nil)["showings"].([]any)
	for _, s := range list {
		showing, _ := s.(map[string]any)
		sales, _ := showing["sales"].(map[string]any)
		if id, ok := showing["id"].(string); ok && sales["state"] == "open" {
			return id
		}
	}
	require.Fail(c.t, "nothing is on sale")
	return ""
}

func (c *customer) buy(showing, seat string) {
	c.t.Helper()
	booking := c.call(http.MethodPost, "/showings/"+showing+"/bookings", map[string]any{"seats": []string{seat}})
	id, _ := booking["id"].(string)
	confirmed := c.call(http.MethodPost, "/bookings/"+id+"/confirm", nil)
	assert.Equal(c.t, "confirmed", confirmed["state"])
}

// status is a seat's, as anyone sees it.
func (c *customer) status(showing, seat string) any {
	c.t.Helper()
	seats, _ := c.call(http.MethodGet, "/showings/"+showing+"/seats", nil)["seats"].(map[string]any)
	return seats[seat]
}

// children are the process numbers of the servers, by their number.
func children(t *testing.T, data string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "children.json"))
	require.NoError(t, err)
	var written map[string]struct {
		PID int `json:"pid"`
	}
	require.NoError(t, json.Unmarshal(b, &written))
	pids := map[string]int{}
	for number, c := range written {
		pids[number] = c.PID
	}
	return pids
}

func TestASaleSurvivesARestart(t *testing.T) {
	t.Parallel()
	data := stacktest.Dir(t)
	first := up(t, data)
	buyer := newCustomer(t, first.url(t))
	showing := buyer.showing()
	buyer.buy(showing, "F7")
	first.terminate(t)

	second := up(t, data)
	visitor := newCustomer(t, second.url(t))
	assert.Equal(t, "sold", visitor.status(showing, "F7"))
	visitor.buy(showing, "F8")
	second.terminate(t)
}

func TestASupervisorKilledWithKill9StartsAgain(t *testing.T) {
	t.Parallel()
	data := stacktest.Dir(t)
	first := up(t, data, "--replicas=2")
	buyer := newCustomer(t, first.url(t))
	first.url(t)
	showing := buyer.showing()
	buyer.buy(showing, "F7")
	before := children(t, data)
	require.Len(t, before, 2)
	// One of them is stopped, and does not hear the kernel's word that its parent is dead.
	require.NoError(t, syscall.Kill(before["2"], syscall.SIGSTOP))
	first.kill(t)

	second := up(t, data, "--replicas=2")
	visitor := newCustomer(t, second.url(t))
	assert.Equal(t, "sold", visitor.status(showing, "F7"))
	for _, pid := range before {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "a server of the killed run is left")
	}
	visitor.buy(showing, "F8")
	second.terminate(t)
}

func TestAKilledServerIsStartedAgainOnItsPort(t *testing.T) {
	t.Parallel()
	data := stacktest.Dir(t)
	port := freePorts(t, 10000, 6)
	address := func(n int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+n)) }
	office := launch(t, "up", "--demo", "--data="+data, "--replicas=3", "--listen="+address(0), "--ops-listen="+address(3))
	urls := []string{office.url(t), office.url(t), office.url(t)}
	assert.ElementsMatch(t, []string{"http://" + address(0), "http://" + address(1), "http://" + address(2)}, urls)
	ready(t, address(3))
	ready(t, address(5))

	require.NoError(t, syscall.Kill(children(t, data)["2"], syscall.SIGKILL))
	others := newCustomer(t, "http://"+address(2))
	showing := others.showing()
	others.buy(showing, "F7")
	assert.Equal(t, "http://"+address(1), office.url(t))
	assert.Equal(t, "sold", newCustomer(t, "http://"+address(1)).status(showing, "F7"))
	office.terminate(t)
}

func TestTwoSupervisorsCanNotShareADirectory(t *testing.T) {
	t.Parallel()
	data := stacktest.Dir(t)
	first := up(t, data)
	before := newCustomer(t, first.url(t))
	_, stderr, code := finish(t, "up", "--data="+data, "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "in use by another process")
	before.showing() // the first one's server was left alone
	first.terminate(t)
}

func TestATakenPortEndsTheSupervisorAndItsStores(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	squatter, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, squatter.Close()) })
	data := stacktest.Dir(t)
	_, stderr, code := finish(t, "up", "--data="+data, "--listen="+squatter.Addr().String(), "--ops-listen=127.0.0.1:0")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "can't listen on "+squatter.Addr().String()+" (--listen)")
	assert.NoFileExists(t, filepath.Join(data, "postgres", "postmaster.pid"))
}

func TestAWrongSettingOfTheServersEndsTheSupervisorWithCode2(t *testing.T) {
	t.Parallel()
	r := launchWith(t, []string{"AISLE_HOLD_FOR=soon"}, "up", "--data="+stacktest.Dir(t), "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0")
	select {
	case err := <-r.ended:
		require.Error(t, err)
		assert.Equal(t, 2, r.cmd.ProcessState.ExitCode())
		assert.Contains(t, r.stderr.String(), "--hold-for")
	case <-time.After(time.Minute):
		require.Fail(t, "it does not end")
	}
}

// ready waits until a server says that it is.
func ready(t *testing.T, opsAddress string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+opsAddress+"/readyz", http.NoBody)
		require.NoError(c, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(c, err)
		defer res.Body.Close()
		assert.Equal(c, http.StatusOK, res.StatusCode)
	}, 30*time.Second, 50*time.Millisecond)
}

// freePorts finds n free ports in a row from there on, or a bit further: each test has a range of its own, below
// the ports that the kernel gives to outgoing connections.
func freePorts(t *testing.T, from, n int) int {
	t.Helper()
	var lc net.ListenConfig
	for first := from + os.Getpid()%2000; first < from+2900; first++ {
		free := 0
		for free < n {
			l, err := lc.Listen(t.Context(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+free)))
			if err != nil {
				break
			}
			require.NoError(t, l.Close())
			free++
		}
		if free == n {
			return first
		}
	}
	require.Fail(t, "no free ports")
	return 0
}
