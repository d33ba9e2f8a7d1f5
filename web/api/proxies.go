package api

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
)

// proxies are the networks whose word about a client is believed.
type proxies []netip.Prefix

// middleware finds the client's address, for client below.
func (p proxies) middleware() func(http.Handler) http.Handler {
	if len(p) == 0 {
		return middleware.ClientIPFromRemoteAddr
	}
	networks := make([]string, len(p))
	for i, network := range p {
		networks[i] = network.String()
	}
	return middleware.ClientIPFromXFF(networks...)
}

// client is the client's address and whether it came by TLS.
func (p proxies) client(r *http.Request) (address netip.Addr, https bool) {
	https = r.TLS != nil
	if p.trusts(r) {
		// The proxy next to us speaks last: what stands before was sent by others.
		values := strings.Split(strings.Join(r.Header.Values("X-Forwarded-Proto"), ","), ",")
		if proto := strings.TrimSpace(values[len(values)-1]); proto != "" {
			https = strings.EqualFold(proto, "https")
		}
	}
	return middleware.GetClientIPAddr(r.Context()), https
}

func (p proxies) trusts(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	address := peer.Addr().Unmap().WithZone("")
	for _, network := range p {
		if network.Contains(address) {
			return true
		}
	}
	return false
}
