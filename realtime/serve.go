package realtime

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

// Subprotocol is the protocol's name and version, as the handshake agrees on it.
const Subprotocol = "aisle.v1"

// Serve makes a WebSocket of a request, or answers with application/problem+json: 403 for an Origin
// that is not allowed, 400, 405 or 426 for what is no handshake of this protocol, 503 while the hub
// does not run or is full, 429 where the client's address holds as many sockets as it may.
//
// It returns when the upgrade is done; the socket is the hub's from then on, and client.Closed tells
// when it is gone. A request without an Origin (see HasOrigin) is taken, and client.Session must not
// come from its cookies.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, client Client) {
	if !h.mayAsk(w, r) {
		return
	}
	switch h.reserve(client) {
	case refusedNot:
	case refusedNotRunning:
		h.refuse(w, reasonDraining, unavailable("This server is shutting down or starting: try again."))
		return
	case refusedFull:
		h.refuse(w, "full", unavailable("This server holds as many connections as it may: try again."))
		return
	case refusedAddress:
		h.refuse(w, "address", problem{
			slug: "rate-limited", title: "Too many connections", status: http.StatusTooManyRequests,
			detail: "Your address holds as many connections as it may.", retryAfter: 5,
		})
		return
	}

	hijacked := &hijacker{ResponseWriter: w, hub: h, client: client}
	ws, err := h.upgrader.Upgrade(hijacked, r, nil)
	if err != nil {
		h.giveUp(client, hijacked.conn)
		h.cfg.Metrics.Refused("handshake")
		return // Upgrade has answered, or there is nobody left to answer.
	}
	h.cfg.Metrics.Opened()
	hijacked.conn.open(ws)
	go hijacked.conn.await()
}

// mayAsk answers requests that no state of the hub could make good.
func (h *Hub) mayAsk(w http.ResponseWriter, r *http.Request) bool {
	if HasOrigin(r) && !h.cfg.CheckOrigin(r) {
		h.refuse(w, "origin", problem{
			slug: "origin-refused", title: "Origin not allowed", status: http.StatusForbidden,
			detail: "Pages of this origin may not connect.",
		})
		return false
	}
	if r.Method == http.MethodGet && !websocket.IsWebSocketUpgrade(r) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		h.refuse(w, "handshake", problem{
			slug: "upgrade-required", title: "WebSocket only", status: http.StatusUpgradeRequired,
			detail: "This address speaks WebSocket, subprotocol " + Subprotocol + ".",
		})
		return false
	}
	// A client that names no protocol gets this one; one that names only others would misunderstand.
	if offered := websocket.Subprotocols(r); len(offered) > 0 && !slices.Contains(offered, Subprotocol) {
		h.refuse(w, "handshake", problem{
			slug: "malformed", title: "Unknown subprotocol", status: http.StatusBadRequest,
			detail: "This server speaks " + Subprotocol + ".",
		})
		return false
	}
	return true
}

func (h *Hub) refuse(w http.ResponseWriter, reason string, p problem) {
	h.cfg.Metrics.Refused(reason)
	p.write(w)
}

// newUpgrader leaves compression off: a compressed message may be a thousand times larger than what
// the read limit sees of it, deltas are too short to gain, and every socket would keep a window of
// its own. Its write buffers come from a pool, which stays empty since the hub's writers write.
func (h *Hub) newUpgrader() websocket.Upgrader {
	return websocket.Upgrader{
		HandshakeTimeout: h.cfg.HandshakeTimeout,
		WriteBufferPool:  &sync.Pool{},
		Subprotocols:     []string{Subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true }, // Judged before.
		Error:            handshakeError,
	}
}

func handshakeError(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	detail := strings.TrimPrefix(reason.Error(), "websocket: ")
	if status >= http.StatusInternalServerError {
		detail = "The connection can't be made a WebSocket." // What the server is made of is nobody's business.
	}
	problem{slug: "malformed", title: http.StatusText(status), status: status, detail: detail}.write(w)
}

// problem is an RFC 9457 answer.
type problem struct {
	slug, title string
	status      int
	detail      string
	retryAfter  int
}

func unavailable(detail string) problem {
	return problem{slug: "unavailable", title: "Unavailable", status: http.StatusServiceUnavailable, detail: detail, retryAfter: 2}
}

func (p problem) write(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.status)
	_, _ = w.Write(encode(struct { // Whoever asked may be gone.
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"/problems/" + p.slug, p.title, p.status, p.detail}))
}

// hijacker takes over the connection beneath any middleware, puts a wire around it and exchanges the
// server's read buffer, 4 KiB, for a small one. It makes the socket one of the hub's before the
// client is answered: whoever has been answered is known, and misses nothing.
type hijacker struct {
	http.ResponseWriter
	hub    *Hub
	client Client
	conn   *conn
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	under, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w, buffer := &wire{Conn: under}, rw.Reader
	if rw.Reader.Buffered() == 0 { // Otherwise the upgrade fails: the client spoke too soon.
		buffer = bufio.NewReaderSize(w, readBufferSize)
	}
	h.conn = newConn(h.hub, h.client, w, buffer, h.hub.pickShard())
	h.hub.admit(h.conn)
	return w, bufio.NewReadWriter(buffer, rw.Writer), nil
}
