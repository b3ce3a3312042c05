// Package gcs is a bucket of Google Cloud Storage as an [objectstore.Store].
//
// It is reached by Google's JSON API. A large object is sent in the chunks of a resumable
// upload: it appears with the last one, or not at all. An upload that fails is cancelled, and
// Google forgets those that nobody could cancel after a week.
//
// An object's ETag is its generation, which every write changes.
package gcs
