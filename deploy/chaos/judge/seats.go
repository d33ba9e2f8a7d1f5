package judge

import (
	"time"

	"github.com/aislehq/aisle/deploy/chaos/history"
)

// Seats judges what clients were told, by itself.
func Seats(ops []history.Op, holdFor time.Duration) []Violation { return nil }
