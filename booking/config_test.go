package booking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c := Config{}.WithDefaults()
	require.NoError(t, c.Validate())
	require.Equal(t, 10*time.Minute, c.HoldFor)
	require.Equal(t, 10, c.MaxSeats)
	require.Equal(t, 5*time.Second, c.LockFor)
	require.Equal(t, 2*time.Second, c.InFlightWait)
	require.Zero(t, c.MaxSeatsPerAddress)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]Config{
		"HoldFor":            {HoldFor: -time.Second},
		"MaxSeats":           {MaxSeats: 1001},
		"LockFor":            {LockFor: time.Hour},
		"DoubtFor":           {DoubtFor: time.Minute},
		"InFlightWait":       {InFlightWait: time.Hour},
		"MaxSeatsPerAddress": {MaxSeatsPerAddress: -1},
	} {
		_, err := NewService(c, nil, nil, nil, nil)
		require.ErrorContains(t, err, field)
	}
}
