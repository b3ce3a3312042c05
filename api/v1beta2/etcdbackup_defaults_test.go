package v1beta2

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBackupDefaults(t *testing.T) {
	no, minute := false, int64(60)
	week := &metav1.Duration{Duration: 168 * time.Hour}
	type values struct {
		Repeated    bool
		Schedule    string
		Interval    time.Duration
		Timeout     time.Duration
		MaxBackups  int
		MinBackups  int
		MaxAge      time.Duration
		Concurrency ConcurrencyPolicy
		Deadline    time.Duration
		HasDeadline bool
		Overwrites  bool
		Always      bool
		Packing     Compression
	}
	cases := map[string]struct {
		reason string
		spec   BackupSpec
		want   values
	}{
		"omitted": {
			reason: "what the documentation calls defaults",
			want:   values{Concurrency: ForbidConcurrent, Overwrites: true, MinBackups: 1},
		},
		"empty policy": {
			reason: "an empty policy says as little as none",
			spec:   BackupSpec{BackupPolicy: &BackupPolicy{}, Compression: CompressionNone},
			want:   values{Concurrency: ForbidConcurrent, Overwrites: true, MinBackups: 1},
		},
		"interval": {
			reason: "what is written goes before every default",
			spec: BackupSpec{
				BackupPolicy: &BackupPolicy{BackupIntervalInSecond: 125, TimeoutInSecond: 600, MaxBackups: 4, MinBackups: 3, MaxAge: week, ConcurrencyPolicy: AllowConcurrent, StartingDeadlineSeconds: &minute},
				Overwrite:    &no, OverwritePolicy: OverwriteAlways, Compression: CompressionZstd,
			},
			want: values{
				Repeated: true, Interval: 125 * time.Second, Timeout: 10 * time.Minute, MaxBackups: 4, MinBackups: 3, Always: true, MaxAge: 168 * time.Hour,
				Concurrency: AllowConcurrent, Deadline: time.Minute, HasDeadline: true, Packing: CompressionZstd,
			},
		},
		"schedule": {
			reason: "blanks around an expression mean nothing",
			spec:   BackupSpec{BackupPolicy: &BackupPolicy{Schedule: " @daily "}},
			want:   values{Repeated: true, Schedule: "@daily", Concurrency: ForbidConcurrent, Overwrites: true, MinBackups: 1},
		},
		"once, with retention": {
			reason: "one backup at exactly its path has no older ones, and a neighbour's are not its own",
			spec:   BackupSpec{BackupPolicy: &BackupPolicy{MaxBackups: 4, MaxAge: week}},
			want:   values{Concurrency: ForbidConcurrent, Overwrites: true, MinBackups: 1},
		},
		"out of range": {
			reason: "an object that is older than our CRD may hold anything, and nothing may overflow",
			spec:   BackupSpec{BackupPolicy: &BackupPolicy{BackupIntervalInSecond: -5, TimeoutInSecond: 1<<63 - 1}},
			want:   values{Timeout: time.Duration(maxSeconds) * time.Second, Concurrency: ForbidConcurrent, Overwrites: true, MinBackups: 1},
		},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			s := tc.spec
			deadline, has := s.StartingDeadline()
			got := values{
				s.Repeated(), s.Schedule(), s.Interval(), s.Timeout(), s.MaxBackups(), s.MinBackups(), s.MaxAge(),
				s.Concurrency(), deadline, has, s.Overwrites(), s.OverwritesAlways(), s.Packing(),
			}
			if got != tc.want {
				t.Errorf("got  %+v\nwant %+v: %s", got, tc.want, tc.reason)
			}
		})
	}
}
