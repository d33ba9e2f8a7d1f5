// Package coord is how the replicas know of each other, through etcd.
package coord
