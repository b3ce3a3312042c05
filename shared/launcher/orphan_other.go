//go:build !linux

package launcher

import "syscall"

// endsWithParent does nothing where there is no such signal: the launcher runs in Pods, on
// Linux. Elsewhere only what it tells of itself is read, by kubectl etcd.
func endsWithParent() *syscall.SysProcAttr { return nil }
