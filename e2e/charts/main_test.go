package charts

import (
	"flag"
	"os"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }
