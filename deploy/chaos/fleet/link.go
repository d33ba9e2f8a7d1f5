package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Link is the way of one replica to one store: a proxy that can be cut, hung, delayed, or made to lose replies. Its
// methods may be called from several goroutines.
type Link struct {
	proxy    *toxiproxy.Proxy
	up, down *valve
}

// newLink opens a way from an address of ours, host:port, to a store's.
func newLink(server *toxiproxy.ApiServer, name, listen, store string) (*Link, error) {
	toxics.Register(valveType, new(valve)) // the same one each time
	l := &Link{proxy: toxiproxy.NewProxy(server, name, listen, store)}
	var err error
	if l.up, err = addValve(l.proxy, "upstream"); err != nil {
		return nil, err
	}
	if l.down, err = addValve(l.proxy, "downstream"); err != nil {
		return nil, err
	}
	if err := l.proxy.Start(); err != nil {
		return nil, fmt.Errorf("fleet: link %s: %w", name, err)
	}
	return l, nil
}

func addValve(proxy *toxiproxy.Proxy, stream string) (*valve, error) {
	description, err := json.Marshal(map[string]any{"type": valveType, "stream": stream, "toxicity": 1})
	if err != nil {
		return nil, fmt.Errorf("fleet: link %s: %w", proxy.Name, err)
	}
	wrapper, err := proxy.Toxics.AddToxicJson(strings.NewReader(string(description)))
	if err != nil {
		return nil, fmt.Errorf("fleet: link %s: %w", proxy.Name, err)
	}
	v, ok := wrapper.Toxic.(*valve)
	if !ok {
		return nil, fmt.Errorf("fleet: link %s: %s is someone else's", proxy.Name, valveType)
	}
	return v, nil
}

// Cut closes all connections and refuses new ones.
func (l *Link) Cut() {
	l.up.turn(flow{shut: true})
	l.down.turn(flow{shut: true})
	l.proxy.Stop()
}

// Hang lets connections be made, and keeps what is sent, in both directions, until Mend: as on a line that loses
// packets, it arrives late, after whoever sent it has given up.
func (l *Link) Hang() {
	l.up.turn(flow{hang: true})
	l.down.turn(flow{hang: true})
}

// Delay holds up requests and replies by so much each, from now on.
func (l *Link) Delay(up, down time.Duration) {
	l.up.turn(flow{delay: up})
	l.down.turn(flow{delay: down})
}

// CutReplies lets the next n replies, on connections that are past their greetings, not arrive: the store has seen
// the request, and the connection is closed. It returns what is left of an earlier number.
func (l *Link) CutReplies(n int) (left int) { return l.down.cutNext(n) }

// Mend makes the link whole again. What Hang has kept is delivered.
func (l *Link) Mend() error {
	l.up.turn(flow{})
	l.down.turn(flow{})
	l.down.cutNext(0)
	if err := l.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		return fmt.Errorf("fleet: mend link %s: %w", l.proxy.Name, err)
	}
	return nil
}
