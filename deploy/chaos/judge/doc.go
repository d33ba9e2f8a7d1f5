// Package judge says whether a run of the servers kept their promises. It knows nothing of the servers' code.
package judge
