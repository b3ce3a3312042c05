// Package version knows of which version a program is. A release stamps it in by the linker, with
// [LinkerFlag]; it is the same in each program of ours, in their metrics and in the plugin.
//
// It imports only the standard library, so that the smallest agent can have it.
package version

import (
	"fmt"
	"io"
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

// IsRelease reports whether the version was stamped in.
func IsRelease() bool { return stamped != "" }

// Asked reports whether args, which are without the program's name, ask for the version and
// nothing else. Then it writes "PROGRAM VERSION" as a line to w.
func Asked(program string, args []string, w io.Writer) bool {
	if len(args) != 1 || args[0] != "--version" && args[0] != "-version" {
		return false
	}
	_, _ = fmt.Fprintln(w, program, Number()) // nowhere else to complain
	return true
}
