package launcher

import "syscall"

// endsWithParent has a process killed when the thread that has started it ends.
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
