package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// member is a node of a Cluster as it sees itself.
type member struct {
	id, address string
	primary     bool
	epoch       int64
	slots       [][2]int // ranges, ends included
}

// askMember asks a node for the line about itself in CLUSTER NODES.
func askMember(ctx context.Context, address string) (member, error) {
	client := connect(address)
	defer func() { _ = client.Close() }()
	text, err := client.ClusterNodes(ctx).Result()
	if err != nil {
		return member{}, err
	}
	for line := range strings.Lines(text) {
		if m, ok := parseMember(line); ok {
			m.address = address
			return m, nil
		}
	}
	return member{}, fmt.Errorf("the node at %s does not know itself", address)
}

// parseMember reads a line of CLUSTER NODES; false where it is about another node, or no such line.
//
//	ID ADDRESS FLAGS PRIMARY PING PONG EPOCH LINK SLOT…
func parseMember(line string) (member, bool) {
	const flags, epoch, slots = 2, 6, 8
	fields := strings.Fields(line)
	if len(fields) < slots || !strings.Contains(fields[flags], "myself") {
		return member{}, false
	}
	m := member{id: fields[0], primary: strings.Contains(fields[flags], "master")}
	var err error
	if m.epoch, err = strconv.ParseInt(fields[epoch], 10, 64); err != nil {
		return member{}, false
	}
	for _, text := range fields[slots:] {
		first, last, ranged := strings.Cut(text, "-")
		if !ranged {
			last = first
		}
		from, fromErr := strconv.Atoi(first)
		to, toErr := strconv.Atoi(last)
		if fromErr == nil && toErr == nil { // else a slot on its way, [93-<-ID]
			m.slots = append(m.slots, [2]int{from, to})
		}
	}
	return m, true
}

func (m member) has(slot int) bool {
	for _, r := range m.slots {
		if slot >= r[0] && slot <= r[1] {
			return true
		}
	}
	return false
}
