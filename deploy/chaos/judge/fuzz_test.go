package judge

import (
	"testing"

	"github.com/google/uuid"
)

func FuzzDecodeDelta(f *testing.F) {
	f.Add(`{"log":"k3f9","epoch":7,"prev":0,"seq":1,"events":[{"stream":"00000000-0000-0000-0000-000000000000","seq":1}]}`)
	f.Add(`{"log":"k3f9","epoch":7,"prev":3,"seq":900}`)
	f.Add(`{"prev":-1}`)
	f.Fuzz(func(t *testing.T, payload string) {
		d, err := decodeDelta(uuid.Nil, payload)
		if err == nil && (d.Log == "" || d.Prev < 0 || d.Seq <= d.Prev) {
			t.Errorf("%q makes %+v", payload, d)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add("7", "0", "k3f9", "1", `{"seq":1,"event":"00000000-0000-0000-0000-000000000000","seats":{"A1":{"status":"held"}}}`)
	f.Add("", "x", "", "-1", `[]`)
	f.Fuzz(func(t *testing.T, epoch, round, log, seq, state string) {
		s, err := decodeSnapshot(map[string]string{
			"format": "1", "epoch": epoch, "round": round, "log": log, "seq": seq, "state": state, "taken": "1", "event": uuid.Nil.String(),
		})
		if err == nil && (s.log == "" || s.seq < 1) {
			t.Errorf("makes %+v", s)
		}
	})
}
