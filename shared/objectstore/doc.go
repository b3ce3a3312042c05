// Package objectstore keeps snapshots in S3 and in stores that speak its protocol.
//
// [Store.Put] streams: an object of any size up to [MaxSize] passes through a few
// buffers, is complete or isn't there, and replaces what lies at its key only when
// it is complete. [Store.Get] reads one, and goes on where it was when the
// connection breaks. No transfer hangs: one that makes no progress for a while is cut
// and tried again.
//
// What the store or the network refuse comes as an [*Error] with a [Reason], in words
// for the person who can mend it; errors.Is takes the reasons as targets.
//
// Only what every such store can do is relied on: requests carry no checksum but the
// signature's sha256 of the body, unless the settings or the store ask for one; objects are deleted one by one (a batch needs a
// checksum that stores disagree on), and what some stores lack (tags, conditional
// writes, a list of uploads) is done where they have it.
package objectstore
