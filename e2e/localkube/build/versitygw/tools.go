//go:build tools

// Package tools pins the S3 server that localkube builds into this module's go.mod; it is never compiled.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
