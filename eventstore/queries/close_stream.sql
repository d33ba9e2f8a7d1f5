-- Takes stream $1 off the list of open ones.
SELECT close_stream($1)
