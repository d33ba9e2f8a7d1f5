package plant

// epoch lets a leader write whose term is over: the projector's scripts order the writes of one term, and don't look
// at the terms of others; the refresh signs with whatever epoch it is given. What such a leader sent long ago, and
// arrives after its successor's writes, then goes out to everyone once more, and the snapshot goes back.
//
// An older seq of another term has to pass, too: by itself that refusal hides a late write to every showing that has
// sold anything since.
func epoch() Plant {
	return Plant{
		Name: "epoch",
		What: "the projector's scripts take writes of a term that is over",
		changes: []change{
			{
				file: "booking/seatmap/write.lua",
				old:  "if stored_epoch then\n",
				new:  "if stored_epoch == epoch then\n",
			},
			{
				file: "booking/seatmap/refresh.lua",
				old:  "if stored_epoch and stored_epoch > tonumber(ARGV[2]) then\n  return 'epoch'\nend\n",
				new:  "",
			},
			{
				file: "booking/seatmap/refresh.lua",
				old:  "if stored_epoch < tonumber(ARGV[2]) then",
				new:  "if stored_epoch ~= tonumber(ARGV[2]) then",
			},
		},
	}
}
