package plant

// gap lets a live map take a delta that doesn't follow what it has: nobody looks at the numbers in between. When a
// message was lost, the map goes on with the next one, has the right seq from then on, and never learns of the seats
// that it missed, for as long as they don't change again.
func gap() Plant {
	return Plant{
		Name: "gap",
		What: "a live map takes a delta whatever the seq before it",
		changes: []change{
			{
				file: "booking/seatmap/show.go",
				old:  "if e.Seq > s.state.Seq+1 {",
				new:  "if false {",
			},
			{
				file: "booking/state.go",
				old:  "if e.Seq != s.Seq+1 {",
				new:  "if false {",
			},
		},
	}
}
