// Package version knows of which version a program is. A release stamps it in by the linker, with
// [LinkerFlag]; it is the same in each program of ours, in their metrics and in the plugin.
//
// It imports only the standard library, so that the smallest agent can have it.
package version

import (
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
)

// stamped is set by the linker.
var stamped string

// LinkerFlag is the flag of go build's -ldflags that stamps a version, such as v1.2.3.
func LinkerFlag(version string) string {
	return "-X=github.com/etcd-operators/etcd-operators/shared/version.stamped=" + version
}

// Number is the version that the build stamped in, such as v1.2.3. Without a stamp it is that of
// the main module, which is (devel) in a build from a checkout.
func Number() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// releaseTag is what releases are called: a semantic version, with a pre-release of few names, so
// that what git describe makes of a later commit is not taken for one.
var releaseTag = regexp.MustCompile(`^v(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-(alpha|beta|rc)\.(0|[1-9][0-9]*))?$`)

// IsReleaseTag reports whether a release can be called so, such as v1.2.3 or v1.2.3-rc.1.
func IsReleaseTag(tag string) bool { return releaseTag.MatchString(tag) }

// Release is the tag of the release that this program is of; empty: it is another build.
func Release() string {
	if IsReleaseTag(stamped) {
		return stamped
	}
	return ""
}

// Asked reports whether args, which are without the program's name, ask for the version and
// nothing else. Then it writes "PROGRAM VERSION" as a line to w.
func Asked(program string, args []string, w io.Writer) bool {
	if len(args) != 1 || args[0] != "--version" && args[0] != "-version" {
		return false
	}
	_, _ = fmt.Fprintln(w, program, Number()) // nowhere else to complain
	return true
}
