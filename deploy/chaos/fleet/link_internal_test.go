package fleet

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// patience is what a test gives to something that should happen at once.
const patience = 10 * time.Second

// echo is a store that answers each line with the same, and counts them.
type echo struct {
	address string
	seen    chan string
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	e := &echo{address: l.Addr().String(), seen: make(chan string, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go e.serve(conn)
		}
	}()
	return e
}

func (e *echo) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		e.seen <- lines.Text()
		if _, err := io.WriteString(conn, lines.Text()+"\n"); err != nil {
			return
		}
	}
}

func openLink(t *testing.T, store string) *Link {
	t.Helper()
	free := &ports{taken: map[int]bool{}}
	listen, err := free.pick(t.Context(), "127.0.0.1")
	require.NoError(t, err)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l, err := newLink(server, "test", listen, store)
	require.NoError(t, err)
	t.Cleanup(l.Cut)
	return l
}

// line is a connection of a client.
type line struct {
	net.Conn

	from *bufio.Reader
}

func dial(ctx context.Context, l *Link) (*line, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", l.proxy.Listen)
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn, from: bufio.NewReader(conn)}, nil
}

func openLine(t *testing.T, l *Link) *line {
	t.Helper()
	c, err := dial(t.Context(), l)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a word and waits for it to come back.
func (c *line) ask(word string, within time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, word+"\n"); err != nil {
		return err
	}
	answer, err := c.from.ReadString('\n')
	if err == nil && answer != word+"\n" {
		return errors.New("someone else's answer: " + answer)
	}
	return err
}

func TestACutLinkRefusesUntilItIsMended(t *testing.T) {
	t.Parallel()
	l := openLink(t, newEcho(t).address)
	c := openLine(t, l)
	require.NoError(t, c.ask("before", patience))

	l.Cut()
	require.Error(t, c.ask("during", patience))
	require.NotErrorIs(t, c.ask("during", patience), os.ErrDeadlineExceeded)
	_, err := dial(t.Context(), l)
	require.ErrorContains(t, err, "refused")

	require.NoError(t, l.Mend())
	require.NoError(t, openLine(t, l).ask("after", patience))
	require.NoError(t, l.Mend(), "mending what is whole is no error")
}

func TestAHungLinkDeliversLate(t *testing.T) {
	t.Parallel()
	store := newEcho(t)
	l := openLink(t, store.address)
	c := openLine(t, l)
	require.NoError(t, c.ask("before", patience))
	require.Equal(t, "before", <-store.seen)

	l.Hang()
	require.ErrorIs(t, c.ask("late", 50*time.Millisecond), os.ErrDeadlineExceeded)
	require.ErrorIs(t, openLine(t, l).ask("new", 50*time.Millisecond), os.ErrDeadlineExceeded)
	require.Empty(t, store.seen)
	require.NoError(t, c.Close(), "the client gives up; what it sent is on its way all the same")

	require.NoError(t, l.Mend())
	require.ElementsMatch(t, []string{"late", "new"}, []string{<-store.seen, <-store.seen})
}

func TestACutReplyFollowsAServedRequest(t *testing.T) {
	t.Parallel()
	store := newEcho(t)
	l := openLink(t, store.address)
	c := openLine(t, l)
	l.CutReplies(1)
	for _, word := range []string{"1", "2", "3", "4", "5", "6"} {
		require.NoError(t, c.ask(word, patience), "a connection's greetings are spared")
		<-store.seen
	}
	require.ErrorIs(t, c.ask("lost", patience), io.EOF)
	require.Equal(t, "lost", <-store.seen)
	require.Zero(t, l.CutReplies(0))
	require.NoError(t, openLine(t, l).ask("after", patience))
}

func TestADelayHoldsUpEachWay(t *testing.T) {
	t.Parallel()
	l := openLink(t, newEcho(t).address)
	c := openLine(t, l)
	l.Delay(60*time.Millisecond, 40*time.Millisecond)
	began := time.Now()
	require.NoError(t, c.ask("slow", patience))
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.NoError(t, l.Mend())
	require.NoError(t, c.ask("fast", patience))
}
