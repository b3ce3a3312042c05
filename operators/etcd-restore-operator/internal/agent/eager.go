package agent

import (
	"os"
	"syscall"
)

const (
	// eagerEvery is after how many bytes the disk is told to begin.
	eagerEvery = 16 << 20
	// syncWrite is SYNC_FILE_RANGE_WRITE of sync_file_range(2): begin, and do not wait.
	syncWrite = 2
)

// eager writes to a file that is synced later, and has the disk begin at once: else the system keeps
// gigabytes in memory until it has to wait for all of them. It is for one writer.
type eager struct {
	file           *os.File
	begun, written int64
}

// Write implements io.Writer.
func (e *eager) Write(p []byte) (int, error) {
	n, err := e.file.Write(p)
	if e.written += int64(n); err != nil || e.written-e.begun < eagerEvery {
		return n, err
	}
	// A file system that knows no such request has it all to do at the sync.
	_ = syscall.SyncFileRange(int(e.file.Fd()), e.begun, e.written-e.begun, syncWrite)
	e.begun = e.written
	return n, nil
}
