package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/aislehq/aisle/deploy/chaos/plant"
	"github.com/aislehq/aisle/deploy/chaos/scenario"
)

//go:embed proof.md.tmpl
var proof string

type tableCommand struct {
	Results string `default:"bin/chaos-results.jsonl" help:"File with the reports." type:"existingfile"`
	Out     string `default:"docs/proof.md" help:"File to write."`
}

// Run is the command; kong calls it.
func (c *tableCommand) Run() error {
	reports, err := load(c.Results)
	if err != nil {
		return err
	}
	text, err := render(reports, time.Now())
	if err != nil {
		return err
	}
	return os.WriteFile(c.Out, text, 0o644) //nolint:gosec // a page for everyone
}

// add puts a report at the end of a file of results.
func add(path string, r scenario.Report) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as the rest of bin
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the same
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// load reads the reports of a file.
func load(path string) ([]scenario.Report, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there are no results yet: 'chaos run' makes them", path)
	}
	if err != nil {
		return nil, err
	}
	var reports []scenario.Report
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r scenario.Report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		reports = append(reports, r)
	}
	return reports, lines.Err()
}

// row is one scenario's line of the table.
type row struct {
	Name, What, Row       string
	Runs, Failed          int
	Operations, Sales     int
	Unknown, Events       int
	RightAfter            time.Duration
	Before, During, After float64
	Lasted                time.Duration
	Seeds                 string
	Marks                 []string
}

// planted is one planted bug's line.
type planted struct {
	Name, What, Scenario, By string
	Seed                     uint64
}

// fault is one run in which an invariant was broken.
type fault struct {
	Name, Detail string
	Seed         uint64
}

type page struct {
	Date, Machine string
	Invariants    []string
	Rows, Gone    []row
	Plants        []planted
	Broken        []fault
	Runs, Failed  int
	Operations    int
	Sales, Cores  int
}

// render writes the page: nothing in it but what the reports say.
func render(reports []scenario.Report, now time.Time) ([]byte, error) {
	p := page{Date: now.UTC().Format(time.DateOnly), Machine: machine(), Cores: runtime.NumCPU(), Invariants: scenario.Invariants()}
	for _, s := range scenario.All() {
		of := slices.DeleteFunc(slices.Clone(reports), func(r scenario.Report) bool { return r.Scenario != s.Name || r.Plant != "" })
		if len(of) == 0 {
			continue
		}
		one := summarise(s, of)
		p.Rows = append(p.Rows, one)
		if one.Row != "" {
			p.Gone = append(p.Gone, one)
		}
		p.Runs, p.Failed, p.Operations, p.Sales = p.Runs+one.Runs, p.Failed+one.Failed, p.Operations+one.Operations, p.Sales+one.Sales
	}
	for _, r := range reports {
		if r.Plant == "" && !r.OK() {
			p.Broken = append(p.Broken, fault{Name: r.Scenario, Seed: r.Seed, Detail: r.Violations[0].Invariant + ": " + r.Violations[0].Detail})
		}
		if r.Plant != "" {
			p.Plants = append(p.Plants, planted{Name: r.Plant, What: what(r.Plant), Scenario: r.Scenario, By: broken(r), Seed: r.Seed})
		}
	}
	var text bytes.Buffer
	parsed, err := template.New("proof").Parse(proof)
	if err != nil {
		return nil, err
	}
	err = parsed.Execute(&text, p)
	return text.Bytes(), err
}

func summarise(s scenario.Scenario, of []scenario.Report) row {
	one := row{Name: s.Name, What: s.What, Row: s.Row, Runs: len(of)}
	seeds := make([]string, 0, len(of))
	for _, r := range of {
		one.Operations, one.Sales, one.Unknown, one.Events = one.Operations+r.Operations, one.Sales+r.Sales, one.Unknown+r.Unknown, one.Events+r.Events
		one.RightAfter = max(one.RightAfter, r.RightAfter)
		one.Lasted = max(one.Lasted, r.Lasted)
		if !r.OK() {
			one.Failed++
		}
		seeds = append(seeds, strconv.FormatUint(r.Seed, 10))
	}
	one.Seeds = strings.Join(seeds, " ")
	one.Before = median(of, func(r scenario.Report) float64 { return r.Before })
	one.During = median(of, func(r scenario.Report) float64 { return r.During })
	one.After = median(of, func(r scenario.Report) float64 { return r.After })
	for _, invariant := range scenario.Invariants() {
		held := 0
		for _, r := range of {
			if !r.Broken(invariant) {
				held++
			}
		}
		mark := "✓"
		if held < len(of) {
			mark = fmt.Sprintf("**%d/%d**", held, len(of))
		}
		one.Marks = append(one.Marks, mark)
	}
	return one
}

func median(of []scenario.Report, value func(scenario.Report) float64) float64 {
	sorted := slices.SortedFunc(slices.Values(of), func(a, b scenario.Report) int { return cmp.Compare(value(a), value(b)) })
	return value(sorted[len(sorted)/2])
}

// broken names the invariants that a run broke, each once.
func broken(r scenario.Report) string {
	var names []string
	for _, v := range r.Violations {
		if !slices.Contains(names, v.Invariant) {
			names = append(names, v.Invariant)
		}
	}
	if len(names) == 0 {
		return "not in this run"
	}
	return strings.Join(names, ", ")
}

// what a planted bug is.
func what(name string) string {
	for _, p := range plant.All() {
		if p.Name == name {
			return p.What
		}
	}
	return ""
}

func machine() string {
	return fmt.Sprintf("%d cores, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
