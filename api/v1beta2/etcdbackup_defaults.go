package v1beta2

import (
	"strings"
	"time"
)

// Repeated says whether backups are made repeatedly, rather than once.
func (s *BackupSpec) Repeated() bool {
	return s.Schedule() != "" || s.Interval() > 0
}

// Schedule is the cron expression, or "".
func (s *BackupSpec) Schedule() string {
	if s.BackupPolicy == nil {
		return ""
	}
	return strings.TrimSpace(s.BackupPolicy.Schedule)
}

// Interval is the time from one backup to the next, or 0.
func (s *BackupSpec) Interval() time.Duration {
	if s.BackupPolicy == nil {
		return 0
	}
	return seconds(s.BackupPolicy.BackupIntervalInSecond)
}

// Timeout is how long one backup may take, or 0 for as long as it makes progress.
func (s *BackupSpec) Timeout() time.Duration {
	if s.BackupPolicy == nil {
		return 0
	}
	return seconds(s.BackupPolicy.TimeoutInSecond)
}

// DefaultArchiveInterval is BackupArchive.Interval where it is not set.
const DefaultArchiveInterval = 10 * time.Second

// ArchiveInterval is within what time a change is recorded; 0: none is.
func (s *BackupSpec) ArchiveInterval() time.Duration {
	switch {
	case s.Archive == nil || !s.Repeated():
		return 0
	case s.Archive.Interval == nil:
		return DefaultArchiveInterval
	}
	return s.Archive.Interval.Duration
}

// MaxBackups is how many backups of a repeated one are kept, or 0 for all.
func (s *BackupSpec) MaxBackups() int {
	if s.BackupPolicy == nil || !s.Repeated() {
		return 0
	}
	return s.BackupPolicy.MaxBackups
}

// MinBackups is how many backups of each cluster are kept at least.
func (s *BackupSpec) MinBackups() int {
	if s.BackupPolicy == nil {
		return 1
	}
	return max(s.BackupPolicy.MinBackups, 1)
}

// MaxAge is how long backups of a repeated one are kept, or 0 for ever.
func (s *BackupSpec) MaxAge() time.Duration {
	if s.BackupPolicy == nil || s.BackupPolicy.MaxAge == nil || !s.Repeated() {
		return 0
	}
	return s.BackupPolicy.MaxAge.Duration
}

// Concurrency is BackupPolicy.ConcurrencyPolicy, or ForbidConcurrent.
func (s *BackupSpec) Concurrency() ConcurrencyPolicy {
	if s.BackupPolicy == nil || s.BackupPolicy.ConcurrencyPolicy == "" {
		return ForbidConcurrent
	}
	return s.BackupPolicy.ConcurrencyPolicy
}

// StartingDeadline is how late a repeated backup may start; ok is false if it may
// however late it is.
func (s *BackupSpec) StartingDeadline() (deadline time.Duration, ok bool) {
	if s.BackupPolicy == nil || s.BackupPolicy.StartingDeadlineSeconds == nil {
		return 0, false
	}
	return seconds(*s.BackupPolicy.StartingDeadlineSeconds), true
}

// Overwrites says whether a one-shot backup replaces what lies at its path.
func (s *BackupSpec) Overwrites() bool {
	return s.Overwrite == nil || *s.Overwrite
}

// OverwritesAlways says whether backups of other clusters, newer ones and unknown ones may
// be replaced and deleted.
func (s *BackupSpec) OverwritesAlways() bool {
	return s.OverwritePolicy == OverwriteAlways
}

// Packing is Compression, or "" if there is none.
func (s *BackupSpec) Packing() Compression {
	if s.Compression == CompressionNone {
		return ""
	}
	return s.Compression
}

// DefaultVerificationTimeout is BackupVerification.TimeoutInSecond where it is not set.
const DefaultVerificationTimeout = 3600

// VerificationSchedule is the cron expression by which backups are verified, or "".
func (s *BackupSpec) VerificationSchedule() string {
	if s.Verification == nil {
		return ""
	}
	return strings.TrimSpace(s.Verification.Schedule)
}
