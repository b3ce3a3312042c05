package act

import (
	"os"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }
