package agent

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// forgetInit lets go of the pages of the program's own file that only its start has
// touched. That is most of them: the operator, whose program this is, registers all
// types of Kubernetes, some 40 MiB of code and tables, and the agent uses none of it.
// What is used after all is mapped again from the page cache.
//
// It is only done to mappings that can't be written and of which no page differs from
// the file, so that nothing is lost. Where it can't be done, the process is larger.
func forgetInit() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	var start, end uintptr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 6 && strings.Contains(fields[0], "-"):
			start, end = 0, 0
			if fields[5] == program && strings.HasPrefix(fields[1], "r-") {
				start, end = addresses(fields[0])
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && end > start:
			// Only advice: it may be refused.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
		}
	}
}

// addresses reads a range as smaps has it; 0, 0 if it is none.
func addresses(field string) (start, end uintptr) {
	from, to, _ := strings.Cut(field, "-")
	a, errA := strconv.ParseUint(from, 16, 64)
	b, errB := strconv.ParseUint(to, 16, 64)
	if errA != nil || errB != nil {
		return 0, 0
	}
	return uintptr(a), uintptr(b)
}
