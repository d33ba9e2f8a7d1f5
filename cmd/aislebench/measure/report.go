package measure

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Report is what one row of the benchmark found.
type Report struct {
	// Title names the row; About says what was measured, and how the contestants were tuned.
	Title, About string
	Tables       []Table
	Curves       []Curve
}

// Table sets contestants side by side.
type Table struct {
	Title   string
	Columns []Column
	Results []Result
	// Main is the figure whose noise is shown.
	Main   Figure
	Ratios []Ratio
}

// Column shows one figure.
type Column struct {
	Title  string
	Figure Figure
	Unit   Unit
}

// Unit says how a figure is written.
type Unit int

// The units.
const (
	// Number is written with three significant digits.
	Number Unit = iota
	// Seconds are written as a duration.
	Seconds
	// Cores are written with two decimals.
	Cores
)

// Write is the figure as text; a dash when the sample has none.
func (c Column) Write(s Sample) string {
	v, ok := s[c.Figure]
	if !ok {
		return "–"
	}
	switch c.Unit {
	case Seconds:
		return duration(v)
	case Cores:
		return fmt.Sprintf("%.2f", v)
	default:
		return number(v)
	}
}

func number(v float64) string {
	switch {
	case v >= 100:
		return thousands(int64(v + 0.5))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%.1f µs", d.Seconds()*1e6)
	}
}

// Ratio is a comparison and what is wanted of it.
type Ratio struct {
	// Claim says what is compared, such as "bookings/s against FOR UPDATE".
	Claim string
	Value float64
	// Goal is the bound: Value must be at least that, or at most when AtMost is set. 0: none is set.
	Goal   float64
	AtMost bool
}

// Met says whether the goal is reached; a ratio without a goal always is.
func (r Ratio) Met() bool {
	switch {
	case r.Goal == 0:
		return true
	case r.AtMost:
		return r.Value <= r.Goal
	default:
		return r.Value >= r.Goal
	}
}

func (r Ratio) goal() string {
	switch {
	case r.Goal == 0:
		return "–"
	case r.AtMost:
		return fmt.Sprintf("≤ %.3g", r.Goal)
	default:
		return fmt.Sprintf("≥ %.3g", r.Goal)
	}
}

func (r Ratio) verdict() string {
	switch {
	case r.Goal == 0:
		return ""
	case r.Met():
		return "met"
	default:
		return "**not met**"
	}
}

// Against compares a figure of two results: how many times the second's the first's is. 0 when either lacks it.
func Against(a, b Result, figure Figure) float64 {
	if b.Median[figure] == 0 {
		return 0
	}
	return a.Median[figure] / b.Median[figure]
}

// Markdown writes the report as a section of a page.
func (r Report) Markdown(w io.Writer) {
	fmt.Fprintf(w, "## %s\n\n%s\n", r.Title, r.About)
	for _, t := range r.Tables {
		t.markdown(w)
	}
	for _, c := range r.Curves {
		c.markdown(w)
	}
}

func (t Table) markdown(w io.Writer) {
	if t.Title != "" {
		fmt.Fprintf(w, "\n%s\n", t.Title)
	}
	head, rule := []string{""}, []string{"---"}
	for _, c := range t.Columns {
		head, rule = append(head, c.Title), append(rule, "--:")
	}
	head, rule = append(head, "noise"), append(rule, "--:")
	fmt.Fprint(w, "\n")
	line(w, head)
	line(w, rule)
	for _, result := range t.Results {
		cells := []string{result.Name}
		for _, c := range t.Columns {
			cells = append(cells, c.Write(result.Median))
		}
		line(w, append(cells, fmt.Sprintf("%.0f %%", 100*result.Noise[t.Main])))
	}
	if len(t.Ratios) == 0 {
		return
	}
	fmt.Fprint(w, "\n")
	line(w, []string{"ratio", "here", "goal", ""})
	line(w, []string{"---", "--:", "--:", "---"})
	for _, ratio := range t.Ratios {
		line(w, []string{ratio.Claim, fmt.Sprintf("%.3g", ratio.Value), ratio.goal(), ratio.verdict()})
	}
}

func line(w io.Writer, cells []string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}
