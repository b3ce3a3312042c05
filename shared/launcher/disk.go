package launcher

import (
	"bytes"
	"context"
	"os"
	"time"
)

// disk is the [Host] of a Pod: its files, its clock and its network.
type disk struct{ Options }

func (disk) Now() time.Time { return time.Now() }

func (d disk) PodUID() string {
	if d.PodUIDFile == "" {
		return ""
	}
	uid, err := os.ReadFile(d.PodUIDFile)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(uid))
}

func (d disk) HasWAL() (bool, error)         { return HasWAL(d.DataDir) }
func (d disk) Owner() (*Owner, error)        { return readOwner(d.DataDir) }
func (d disk) Mark(whose Owner) error        { return writeOwner(d.DataDir, whose) }
func (d disk) Used() (int64, error)          { return readUsed(d.UsedFile) }
func (d disk) RecordUse(attempt int64) error { return writeUsed(d.UsedFile, attempt) }

func (d disk) StartPermit() (*StartPermit, error) { return readStartPermit(d.PermitFile) }

func (d disk) SetRemnantsAside() (kept string, err error) {
	remnants, err := hasRemnants(d.DataDir)
	if err != nil || !remnants {
		return "", err
	}
	return setRemnantsAside(d.DataDir)
}

func (d disk) Serves(ctx context.Context, peerURL string) bool {
	return answers(ctx, peerURL, peerTLS(d.Command))
}

func (d disk) MemberLists(ctx context.Context, peerURLs []string) map[string][]Entry {
	return memberLists(ctx, peerURLs, peerTLS(d.Command))
}
