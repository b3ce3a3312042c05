package crdtest

import (
	"os"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// repoRoot is the root of the repository, seen from this package.
const repoRoot = "../../../.."

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }
