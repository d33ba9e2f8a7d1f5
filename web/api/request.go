package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"

	"github.com/google/uuid"

	"github.com/aislehq/aisle/booking"
)

type requestKey struct{}

// request is what is found out about a request on its way in. One goroutine at a time has it.
type request struct {
	// id finds the request in the log.
	id string
	// address is the client's; invalid when a trusted proxy sent something unreadable.
	address netip.Addr
	// https says that the client came by TLS, to us or to a trusted proxy.
	https bool
	// token is what the session was found by, and session its id; zero without one.
	token   string
	session uuid.UUID
	// key, route and body make a command.
	key   string
	route string
	body  [sha256.Size]byte
}

// requestOf is the request's; a fresh one outside of a request.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

func withRequest(r *http.Request, info *request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, info))
}

// command is what booking is told about the request.
func (s *server) command(ctx context.Context) booking.Command {
	r := requestOf(ctx)
	return booking.Command{
		Session: r.session, Key: r.key, Route: r.route, Body: r.body, Address: s.addressHash(r.address),
	}
}

// addressHash is what is kept of a client's network address: nothing unless there is a key, nothing for
// loopback, and for IPv6 the network of one line (/64), not each of its addresses.
func (s *server) addressHash(address netip.Addr) string {
	if len(s.cfg.AddressKey) == 0 || !limitable(address) {
		return ""
	}
	mac := hmac.New(sha256.New, s.cfg.AddressKey)
	_, _ = mac.Write([]byte(line(address)))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// limitable says whether limits per address apply.
func limitable(address netip.Addr) bool { return address.IsValid() && !address.IsLoopback() }

// line names the line behind an address: an IPv4 address, or an IPv6 /64.
func line(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, err := address.Prefix(64)
	if err != nil {
		return address.String()
	}
	return network.String()
}
