package measure

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// Curve is how a figure grows with a size. Both axes are logarithmic: what grows as its work does is a straight line
// of slope 1.
type Curve struct {
	Title string
	// X and Y name the axes.
	X, Y  string
	Lines []Line
}

// Line is one contestant's part of a Curve.
type Line struct {
	Name string
	// Points by growing X; all coordinates are positive.
	Points []Point
}

// Point is a size and its figure.
type Point struct{ X, Y float64 }

// The drawing's measures, in pixels.
const (
	curveWidth  = 560
	curveHeight = 240
	curveMargin = 56
)

// markdown writes the numbers as a table and the lines as a drawing.
func (c Curve) markdown(w io.Writer) {
	sizes := c.sizes()
	head, rule := []string{c.X}, []string{"---"}
	for _, x := range sizes {
		head, rule = append(head, size(x)), append(rule, "--:")
	}
	fmt.Fprintf(w, "\n%s (%s)\n\n", c.Title, c.Y)
	line(w, head)
	line(w, rule)
	for _, l := range c.Lines {
		cells := []string{l.Name}
		for _, x := range sizes {
			cells = append(cells, l.at(x))
		}
		line(w, cells)
	}
	fmt.Fprintf(w, "\n%s\n", c.svg())
}

// sizes are all lines' X, sorted, each once.
func (c Curve) sizes() []float64 {
	var all []float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			all = append(all, p.X)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// size is a point of the X axis: whole numbers are written as such.
func size(x float64) string {
	if x == math.Trunc(x) {
		return thousands(int64(x))
	}
	return number(x)
}

func (l Line) at(x float64) string {
	for _, p := range l.Points {
		if p.X == x {
			return number(p.Y)
		}
	}
	return "–"
}

// svg is the drawing, in one line: a page shows it in place.
func (c Curve) svg() string {
	lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range c.Lines {
		for _, p := range l.Points {
			lowX, highX = min(lowX, p.X), max(highX, p.X)
			lowY, highY = min(lowY, p.Y), max(highY, p.Y)
		}
	}
	if highX == 0 || highY == 0 {
		return ""
	}
	place := func(v, low, high, length float64) float64 {
		if high <= low {
			return length / 2
		}
		return length * math.Log(v/low) / math.Log(high/low)
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" aria-label="%s" font-family="sans-serif" font-size="11">`,
		curveWidth, curveHeight, curveWidth, html.EscapeString(c.Title))
	fmt.Fprintf(&svg, `<path d="M%d 16V%dH%d" fill="none" stroke="gray"/>`, curveMargin, curveHeight-36, curveWidth-curveMargin)
	label := func(x, y float64, anchor, text string) {
		fmt.Fprintf(&svg, `<text x="%.0f" y="%.0f" text-anchor="%s" fill="gray">%s</text>`, x, y, anchor, html.EscapeString(text))
	}
	label(curveMargin-6, 20, "end", number(highY))
	label(curveMargin-6, curveHeight-40, "end", number(lowY))
	label(curveMargin, curveHeight-20, "middle", size(lowX))
	label(curveWidth-curveMargin, curveHeight-20, "middle", size(highX))
	label(curveWidth/2, curveHeight-6, "middle", c.X)
	for i, l := range c.Lines {
		colour := fmt.Sprintf("hsl(%d 65%% 45%%)", (210+i*80)%360)
		points := make([]string, len(l.Points))
		for n, p := range l.Points {
			x := curveMargin + place(p.X, lowX, highX, curveWidth-2*curveMargin)
			y := curveHeight - 40 - place(p.Y, lowY, highY, curveHeight-60)
			points[n] = fmt.Sprintf("%.0f,%.0f", x, y)
		}
		fmt.Fprintf(&svg, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.Join(points, " "), colour)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" fill="%s">%s</text>`, curveMargin+12, 16+14*i, colour, html.EscapeString(l.Name))
	}
	svg.WriteString("</svg>")
	return svg.String()
}
