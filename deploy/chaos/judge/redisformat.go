package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// snapshotFormat is the format of a snapshot that can be judged.
const snapshotFormat = "1"

func snapshotKey(prefix string, showing uuid.UUID) string {
	return prefix + "{" + showing.String() + "}:snapshot"
}

// deltaPattern matches the channels of all showings' deltas.
func deltaPattern(prefix string) string { return literal(prefix) + "{*}:delta" }

// snapshotPattern matches the keys of all showings' snapshots.
func snapshotPattern(prefix string) string { return literal(prefix) + "{*}:snapshot" }

// literal is a text as a pattern that matches nothing else.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// showingOf is the showing that a key or channel is about.
func showingOf(prefix, name, kind string) (uuid.UUID, bool) {
	id, ok := strings.CutPrefix(name, prefix+"{")
	if !ok {
		return uuid.Nil, false
	}
	if id, ok = strings.CutSuffix(id, "}:"+kind); !ok {
		return uuid.Nil, false
	}
	showing, err := uuid.Parse(id)
	return showing, err == nil
}

// delta is a published message, its events by their places only.
type delta struct {
	Log    string `json:"log"`
	Epoch  int64  `json:"epoch"`
	Prev   int64  `json:"prev"`
	Seq    int64  `json:"seq"`
	Events []struct {
		Stream uuid.UUID `json:"stream"`
		Seq    int64     `json:"seq"`
	} `json:"events"`
}

// decodeDelta reads a message, whose events, if it carries them, are prev+1 … seq of the showing.
func decodeDelta(showing uuid.UUID, payload string) (delta, error) {
	var d delta
	if err := json.Unmarshal([]byte(payload), &d); err != nil {
		return delta{}, err
	}
	if d.Log == "" || d.Prev < 0 || d.Seq <= d.Prev {
		return delta{}, errors.New("fields make no sense")
	}
	if len(d.Events) > 0 && int64(len(d.Events)) != d.Seq-d.Prev {
		return delta{}, fmt.Errorf("%d events are not those after %d up to %d", len(d.Events), d.Prev, d.Seq)
	}
	for i, e := range d.Events {
		if e.Stream != showing || e.Seq != d.Prev+int64(i)+1 {
			return delta{}, fmt.Errorf("event %d of %s is out of place", e.Seq, e.Stream)
		}
	}
	return d, nil
}

// snapshotFields are those of a snapshot's hash that say where it stands.
func snapshotFields() []string { return []string{"epoch", "round", "log", "seq"} }

// standing is where a snapshot stands.
type standing struct {
	epoch, round int64
	log          string
	seq          int64
}

func (s standing) String() string {
	return fmt.Sprintf("seq %d of log %s (epoch %d, round %d)", s.seq, s.log, s.epoch, s.round)
}

func decodeStanding(fields map[string]string) (standing, error) {
	s := standing{log: fields["log"]}
	var errs [3]error
	s.epoch, errs[0] = strconv.ParseInt(fields["epoch"], 10, 64)
	s.round, errs[1] = strconv.ParseInt(fields["round"], 10, 64)
	s.seq, errs[2] = strconv.ParseInt(fields["seq"], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return standing{}, err
	}
	if s.log == "" || s.seq < 1 {
		return standing{}, errors.New("fields make no sense")
	}
	return s, nil
}

// snapshot is a whole one.
type snapshot struct {
	standing
	event uuid.UUID
	taken int
	// statuses are those of the seats that ever changed.
	statuses map[string]string
}

func decodeSnapshot(fields map[string]string) (snapshot, error) {
	if fields["format"] != snapshotFormat {
		return snapshot{}, fmt.Errorf("format %q", fields["format"])
	}
	at, err := decodeStanding(fields)
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{standing: at, statuses: map[string]string{}}
	if s.event, err = uuid.Parse(fields["event"]); err != nil {
		return snapshot{}, err
	}
	if s.taken, err = strconv.Atoi(fields["taken"]); err != nil {
		return snapshot{}, err
	}
	var state struct {
		Seq   int64     `json:"seq"`
		Event uuid.UUID `json:"event"`
		Seats map[string]struct {
			Status string `json:"status"`
		} `json:"seats"`
	}
	if err := json.Unmarshal([]byte(fields["state"]), &state); err != nil {
		return snapshot{}, err
	}
	if state.Seq != s.seq || state.Event != s.event {
		return snapshot{}, fmt.Errorf("the state is of seq %d, event %s, the header of %d, %s", state.Seq, state.Event, s.seq, s.event)
	}
	for name, seat := range state.Seats {
		s.statuses[name] = seat.Status
	}
	return s, nil
}
