package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/etcd-operators/etcd-operators/e2e/git"
	stamp "github.com/etcd-operators/etcd-operators/shared/version"
)

// commit is what a release is built from.
type commit struct {
	hash string
	// time is when it was committed, in UTC: the release's "now".
	time time.Time
	// changes are what CHANGELOG.md tells of the version, in Markdown.
	changes string
	// entries are its changes, one by one.
	entries []change
}

// checkVersion refuses what no release is called.
func checkVersion(version string) error {
	without, begins := strings.CutPrefix(version, "v")
	switch parsed, err := semver.StrictNewVersion(without); {
	case version == "":
		return errors.New("no version: set VERSION, as in make release VERSION=1.2.3")
	case err == nil && begins:
		return fmt.Errorf("version %q begins with v: set VERSION=%s; the tag gets the v", version, without)
	case err != nil:
		return fmt.Errorf("version %q is no semantic version (https://semver.org): set VERSION to MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1", version)
	case parsed.Metadata() != "":
		return fmt.Errorf("version %q has build metadata, which the tag of an image cannot have: leave out +%s", version, parsed.Metadata())
	case !stamp.IsReleaseTag("v" + version):
		return fmt.Errorf("version %q has the pre-release %q: use alpha.N, beta.N or rc.N, as in 1.2.3-rc.1", version, parsed.Prerelease())
	}
	return nil
}

// inspect reads what is checked out, and refuses a checkout with changes.
func inspect(ctx context.Context, root, version string) (*commit, error) {
	status, err := git.Run(ctx, root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if len(status) > 0 {
		return nil, fmt.Errorf("the checkout has changes that are in no commit; commit them, or put them aside by git stash --include-untracked:\n%s", bytes.TrimRight(status, "\n"))
	}
	described, err := git.Run(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(string(described)), " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of commit %s: %w", hash, err)
	}
	changelog, err := git.Run(ctx, root, "show", hash+":CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	changes, err := changesOf(string(changelog), version)
	if err != nil {
		return nil, err
	}
	entries, err := parseChanges(changes)
	return &commit{hash: hash, time: time.Unix(at, 0).UTC(), changes: changes, entries: entries}, err
}

// heading begins the section of a version in the changelog, as Keep a Changelog has it.
var heading = regexp.MustCompile(`(?m)^## \[([^\]]+)\](?: - (\S+))?[ \t]*$`)

// definition defines the link of a heading; they stand at the end of the changelog.
var definition = regexp.MustCompile(`(?m)^\[[^\]]+\]: \S+\n?`)

// changesOf cuts the section of a version out of the changelog.
func changesOf(changelog, version string) (string, error) {
	all := heading.FindAllStringSubmatchIndex(changelog, -1)
	for i, at := range all {
		if changelog[at[2]:at[3]] != version {
			continue
		}
		date := ""
		if at[4] >= 0 {
			date = changelog[at[4]:at[5]]
		}
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return "", fmt.Errorf("CHANGELOG.md has no date for version %s: write ## [%s] - YYYY-MM-DD, and commit it", version, version)
		}
		end := len(changelog)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		if text := strings.TrimSpace(definition.ReplaceAllString(changelog[at[1]:end], "")); text != "" {
			return text + "\n", nil
		}
		return "", fmt.Errorf("CHANGELOG.md has nothing below ## [%s]: say what changes for users, and commit it", version)
	}
	return "", fmt.Errorf("CHANGELOG.md has no section for version %s: rename ## [Unreleased] to ## [%s] - YYYY-MM-DD, begin a new Unreleased above it, and commit it", version, version)
}

// export writes the files of the commit to the source folder.
func (b *build) export(ctx context.Context) error {
	return git.Export(ctx, b.Root, b.hash, b.source)
}
