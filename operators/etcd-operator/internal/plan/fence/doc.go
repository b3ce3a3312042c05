// Package fence has the rules by which a cluster is not touched at all: it is deleted, paused,
// not ours, or left to a restore (S12).
package fence
