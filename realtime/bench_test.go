package realtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/aislehq/aisle/realtime"
)

// One change to a hall of 240 seats, from the map to the last of 1,000 sockets.
func BenchmarkBroadcastTo1000(b *testing.B) {
	const sockets = 1000
	done := make(chan int, 1)
	h := open(b, realtime.Config{Metrics: realtime.Metrics{Broadcast: func(_ time.Duration, n int) {
		if n == sockets {
			done <- n
		}
	}}})
	s := h.add(240)
	b.Cleanup(crowdOf(b, h, s, sockets))
	require.Eventually(b, func() bool { return h.counts.of(h.counts.frames, "snapshot") == sockets }, time.Minute, time.Millisecond)
	select { // Had all joined in one step, that was a broadcast too.
	case <-done:
	default:
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.change([]string{"held", "available"}[i%2], "S7")
		<-done
	}
}

// What an idle socket that watches one showing takes of memory: heap and stacks as the runtime
// counts them, and all of it as the system does. Its clients are in a process of their own.
func BenchmarkIdleSocketMemory(b *testing.B) {
	const sockets = 5000
	for b.Loop() {
		h := open(b, realtime.Config{})
		s := h.add(240)
		heap, stacks, resident := memory(b)
		leave := crowdOf(b, h, s, sockets)
		require.Eventually(b, func() bool { return h.counts.of(h.counts.frames, "snapshot") == sockets }, time.Minute, time.Millisecond)
		heapThen, stacksThen, residentThen := memory(b)
		b.ReportMetric(float64(heapThen-heap)/sockets, "heap-B/socket")
		b.ReportMetric(float64(stacksThen-stacks)/sockets, "stack-B/socket")
		b.ReportMetric(float64(residentThen-resident)/sockets, "resident-B/socket")
		leave()
		h.stop()
	}
}

// memory is heap in use, stacks, and the resident set, in bytes.
func memory(b *testing.B) (heap, stacks, resident int64) {
	b.Helper()
	debug.FreeOSMemory() // What the handshakes left behind is not what an idle socket takes.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(b, err)
	var size, pages int64
	_, err = fmt.Sscan(string(statm), &size, &pages)
	require.NoError(b, err)
	return int64(m.HeapInuse), int64(m.StackInuse), pages * int64(os.Getpagesize())
}

// crowdVariable makes the test's program a crowd of clients: "host:port sockets showing".
const crowdVariable = "AISLE_TEST_CROWD"

// crowdOf starts clients in a process of their own, each watching the showing, and returns when
// all are connected. The function it returns ends them.
func crowdOf(b *testing.B, h *house, s *source, sockets int) func() {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", crowdVariable, strings.TrimPrefix(h.url, "ws://"), sockets, s.showing))
	cmd.Stderr = os.Stderr
	stay, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	require.Equal(b, "here\n", line)
	return func() {
		_ = stay.Close()
		_ = cmd.Wait()
	}
}

// crowd is what the test's program does as a crowd. It reads everything it is sent, until its
// standard input ends.
func crowd(what string) int {
	var address, showing string
	var sockets int
	if _, err := fmt.Sscan(what, &address, &sockets, &showing); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	conns := make([]net.Conn, sockets)
	var dials errgroup.Group
	dials.SetLimit(32)
	for i := range conns {
		dials.Go(func() error {
			c, err := joinCrowd(address, showing)
			conns[i] = c
			return err
		})
	}
	if err := dials.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, c := range conns {
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
	fmt.Fprintln(os.Stdout, "here")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func joinCrowd(address, showing string) (net.Conn, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"aisle.v1"}, ReadBufferSize: 256, WriteBufferSize: 256}
	ws, resp, err := dialer.Dial("ws://"+address, nil)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.New(resp.Status)
	}
	return ws.NetConn(), ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"type":"subscribe","showing":%q}`, showing))
}
