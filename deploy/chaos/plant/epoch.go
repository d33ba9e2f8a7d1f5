package plant

// epoch lets a leader write whose term is over: the projector's scripts don't compare its epoch with the one that is
// stored, and the refresh signs with whatever epoch it is given. What such a leader sent long ago, and arrives after
// its successor's writes, then goes out to everyone again, and the snapshot says the old epoch.
func epoch() Plant {
	return Plant{
		Name: "epoch",
		What: "the projector's scripts take writes of any term, also of one that is over",
		changes: []change{
			{
				file: "booking/seatmap/write.lua",
				old:  "if stored_epoch > epoch or (stored_epoch == epoch and stored_round > round) then",
				new:  "if stored_epoch == epoch and stored_round > round then",
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
