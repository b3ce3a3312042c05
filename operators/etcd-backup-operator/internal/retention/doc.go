// Package retention names the snapshots of a repeated backup, and says which older
// ones are to be deleted after a new one is stored.
//
// A name is the backup's path, the source's revision and the time at which the
// backup was due: <path>_v<revision>_<2006-01-02-15:04:05>, in UTC. Only a name of
// exactly this form, under exactly this path, is ever up for deletion, so that a
// neighbour's snapshots (those of path a_v1_b beside those of a), a copy that
// somebody made by hand and a file with a suffix are safe. Compression shows in an
// object's metadata and in its first bytes, not in its name.
//
// Age and order follow from the time in the name alone. The revision says nothing of
// them: a cluster that was made anew or restored starts at a low one again.
package retention
