package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/<pid>/stat: USER_HZ is 100 on every Linux that Go runs on.
const tick = time.Second / 100

// CPU is processor time used so far, by whom.
type CPU struct {
	// Self is this process: the load, and whatever runs in process.
	Self time.Duration
	// Server is the servers that this process started.
	Server time.Duration
	// Postgres is the postmaster, all its backends and workers, those that ended included.
	Postgres time.Duration
	// Redis is redis-server.
	Redis time.Duration
}

// Since is what was used since an earlier reading.
func (c CPU) Since(before CPU) CPU {
	return CPU{
		Self: c.Self - before.Self, Server: c.Server - before.Server,
		Postgres: c.Postgres - before.Postgres, Redis: c.Redis - before.Redis,
	}
}

// ReadCPU reads the processor time of this process and of those below it.
func ReadCPU() (CPU, error) {
	all, err := processes()
	if err != nil {
		return CPU{}, err
	}
	self := os.Getpid()
	total := CPU{Self: all[self].own}
	for pid, p := range all {
		if pid == self || !below(all, pid, self) {
			continue
		}
		switch p.name {
		case "postgres":
			total.Postgres += p.own
			if all[p.parent].name != "postgres" {
				total.Postgres += p.ended // backends that are gone, as the postmaster has waited for them
			}
		case "redis-server":
			total.Redis += p.own
		default:
			total.Server += p.own
		}
	}
	return total, nil
}

// ProcessCPU is the processor time that one process has used so far.
func ProcessCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	p, err := parseStat(string(text))
	return p.own, err
}

// process is one line of the process table.
type process struct {
	name   string
	parent int
	// own is its processor time, ended that of its children that it has waited for.
	own, ended time.Duration
}

// below says whether a process descends from another.
func below(all map[int]process, pid, ancestor int) bool {
	for range len(all) {
		p, ok := all[pid]
		if !ok {
			return false
		}
		if p.parent == ancestor {
			return true
		}
		pid = p.parent
	}
	return false
}

func processes() (map[int]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	all := make(map[int]process, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		if p, err := parseStat(string(text)); err == nil {
			all[pid] = p
		}
	}
	return all, nil
}

// parseStat reads /proc/<pid>/stat. The name is in parentheses and may hold anything, parentheses included.
func parseStat(text string) (process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("measure: no name in %q", text)
	}
	// Counted from the state, which is field 3 of proc(5): parent 4, utime 14, stime 15, cutime 16, cstime 17.
	fields := strings.Fields(text[end+1:])
	if len(fields) < 15 {
		return process{}, fmt.Errorf("measure: %d fields in %q", len(fields), text)
	}
	var numbers [5]int64
	for i, field := range []int{1, 11, 12, 13, 14} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return process{}, fmt.Errorf("measure: %w", err)
		}
		numbers[i] = n
	}
	return process{
		name: text[open+1 : end], parent: int(numbers[0]),
		own: time.Duration(numbers[1]+numbers[2]) * tick, ended: time.Duration(numbers[3]+numbers[4]) * tick,
	}, nil
}
