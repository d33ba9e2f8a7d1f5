package judge

import "github.com/google/uuid"

// Looks is how many looks have found the showing's snapshot since the last Reset.
func (o *Observer) Looks(showing uuid.UUID) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.showing(showing).looks
}
