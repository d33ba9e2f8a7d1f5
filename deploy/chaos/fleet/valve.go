package fleet

import (
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

const valveType = "aisle_valve"

// greetings are the pieces of data at the start of a connection that CutReplies leaves alone: a store's first
// answers are about names and passwords, and a pool that can never connect again is another fault.
const greetings = 6

// flow is what a valve does with what comes.
type flow struct {
	shut  bool // end the connection
	hang  bool // wait for another flow
	delay time.Duration
}

// valve is a toxic that stays in its place in a link for good, one instance for all its connections, and is turned
// while data pass. (Adding and removing toxics waits for each connection, and for ever for one whose reader has been
// stopped.) The zero value is open.
type valve struct {
	mu      sync.Mutex
	now     flow
	turned  chan struct{} // closed at the next turn; nil while nobody waits
	cutting int           // replies that are still to be cut
}

// GetBufferSize is how many pieces of data may wait at a slow valve: they wait together, not one after the other.
func (*valve) GetBufferSize() int { return 1024 }

// Pipe passes one direction of one connection.
func (v *valve) Pipe(stub *toxics.ToxicStub) {
	for seen := 1; ; seen++ {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
			if !v.admit(c) || (seen > greetings && v.cut()) || !v.send(stub, c) {
				stub.Close()
				drain(stub.Input)
				return
			}
		}
	}
}

// drain takes the rest, so that whoever writes to a closed connection finds its end.
func drain(input <-chan *stream.StreamChunk) {
	for range input {
		continue
	}
}

// admit waits for as long as the valve's flow wants; false: end the connection.
func (v *valve) admit(c *stream.StreamChunk) bool {
	for {
		now, turned := v.flow()
		wait := now.delay - time.Since(c.Timestamp)
		switch {
		case now.shut:
			return false
		case now.hang:
			<-turned
		case wait <= 0:
			return true
		default:
			late := time.NewTimer(wait)
			select {
			case <-late.C:
			case <-turned:
				late.Stop()
			}
		}
	}
}

// send waits for the reader, who may be gone for good; false: the valve was shut meanwhile.
func (v *valve) send(stub *toxics.ToxicStub, c *stream.StreamChunk) bool {
	for {
		now, turned := v.flow()
		if now.shut {
			return false
		}
		select {
		case stub.Output <- c:
			return true
		case <-turned:
		}
	}
}

func (v *valve) flow() (now flow, turned <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.turned == nil {
		v.turned = make(chan struct{})
	}
	return v.now, v.turned
}

// turn sets the flow, for what is on its way, too.
func (v *valve) turn(to flow) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = to
	if v.turned != nil {
		close(v.turned)
		v.turned = nil
	}
}

func (v *valve) cutNext(n int) (left int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	left, v.cutting = v.cutting, n
	return left
}

// cut says whether this reply is one to be cut.
func (v *valve) cut() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cutting <= 0 {
		return false
	}
	v.cutting--
	return true
}
