// Package s3 keeps snapshots in S3 and in stores that speak its protocol.
//
// Only what every such store can do is relied on: requests carry no checksum but the
// signature's sha256 of the body, unless the settings or the store ask for one; objects are deleted one by one (a batch needs a
// checksum that stores disagree on), and what some stores lack (tags, conditional
// writes, a list of uploads) is done where they have it.
package s3
