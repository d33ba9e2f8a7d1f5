package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/aislehq/aisle/cmd/aislebench/measure"
)

// write is the whole page.
func (p *page) write(w io.Writer) {
	fmt.Fprintf(w, `# How fast

This page is written by `+"`make bench`"+` (`+"`make bench-short`"+` takes under three minutes and writes nothing). It measures Aisle against what a
cinema would use instead, all of it in [cmd/aislebench](../cmd/aislebench), and against what the machine can do at most. The contestants of a row take turns, round by
round: one warm-up, then %d that count, and each figure is their median. The noise is how far the rounds lie apart. On a shared
machine absolute figures drift from hour to hour; the ratios hold.

| | |
| --- | --- |
| date | %s |
| machine | %s |
| stores | %s |
| built with | %s |
| goals met | %s |

`,
		p.command.Measured, time.Now().UTC().Format("2006-01-02 15:04 UTC"), measure.Machine(), p.versions, runtime.Version(), p.score())
	for _, report := range p.reports {
		report.Markdown(w)
		fmt.Fprintln(w)
	}
}

// score counts the ratios that have a goal, and names those that miss it.
func (p *page) score() string {
	met, all := 0, 0
	var missed []string
	for _, report := range p.reports {
		for _, table := range report.Tables {
			for _, ratio := range table.Ratios {
				if ratio.Goal == 0 {
					continue
				}
				all++
				if ratio.Met() {
					met++
				} else {
					missed = append(missed, fmt.Sprintf("%s (%.3g)", ratio.Claim, ratio.Value))
				}
			}
		}
	}
	text := fmt.Sprintf("%d of %d", met, all)
	if len(missed) > 0 {
		text += "; missed: " + strings.Join(missed, ", ")
	}
	return text
}
