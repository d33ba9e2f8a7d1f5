package realtime

import (
	"slices"

	"github.com/google/uuid"
)

// refusal is why a socket is not taken.
type refusal int

const (
	refusedNot refusal = iota
	refusedNotRunning
	refusedFull
	refusedAddress
)

// reserve takes a place for a socket before its upgrade, so that limits hold for those under way
// too. admit or giveUp must follow.
func (h *Hub) reserve(client Client) refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.state != stateRunning:
		return refusedNotRunning
	case h.taken >= h.cfg.MaxSockets:
		return refusedFull
	case h.countsAddress(client) && h.addresses[client.Address] >= h.cfg.MaxSocketsPerAddress:
		return refusedAddress
	}
	h.taken++
	if h.countsAddress(client) {
		h.addresses[client.Address]++
	}
	h.readers.Add(1)
	return refusedNot
}

func (h *Hub) countsAddress(client Client) bool {
	return h.cfg.MaxSocketsPerAddress > 0 && client.Address != ""
}

// giveUp returns the place of a socket whose upgrade failed, before or after it was admitted.
func (h *Hub) giveUp(client Client, c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c != nil {
		h.forgetLocked(c)
	}
	h.freeLocked(client)
}

func (h *Hub) freeLocked(client Client) {
	h.taken--
	if h.countsAddress(client) {
		h.addresses[client.Address]--
		if h.addresses[client.Address] == 0 {
			delete(h.addresses, client.Address)
		}
	}
	h.readers.Done()
}

// pickShard deals sockets out to the writers in turn.
func (h *Hub) pickShard() *shard {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nextShard++
	return h.shards[h.nextShard%len(h.shards)]
}

// admit makes a socket one of the hub's. If the hub began to drain meanwhile it says
// goodbye at once.
func (h *Hub) admit(c *conn) {
	h.mu.Lock()
	h.conns[c] = struct{}{}
	if c.client.Session != uuid.Nil {
		h.sessions[c.client.Session] = append(h.sessions[c.client.Session], c)
	}
	draining := h.state == stateDraining
	h.mu.Unlock()
	if draining {
		c.close(byeDraining(jitter(minSpread)))
	}
}

// release forgets a socket that is gone. Its reader calls it last.
func (h *Hub) release(c *conn) {
	c.mu.Lock()
	reason := c.reason
	c.mu.Unlock()
	h.cfg.Metrics.Closed(reason)
	if c.client.Closed != nil {
		c.client.Closed()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetLocked(c)
	h.freeLocked(c.client)
}

func (h *Hub) forgetLocked(c *conn) {
	delete(h.conns, c)
	session := c.client.Session
	if session == uuid.Nil {
		return
	}
	left := slices.DeleteFunc(h.sessions[session], func(other *conn) bool { return other == c })
	if len(left) == 0 {
		delete(h.sessions, session)
		return
	}
	h.sessions[session] = left
}
