package fleet

// clockVariable says to a shifted binary how far ahead its clock is, like 30s or -1h.
const clockVariable = "AISLE_CLOCK_AHEAD"
