package charts

import (
	"os"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// original is the chart that has the templates, which the charts of the other operators link to.
const original = "etcd-operator"

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }
