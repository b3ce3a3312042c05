package act_test

import (
	"os"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/apiservertest"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }

func TestX(t *testing.T) { apiservertest.Namespace(t) }
