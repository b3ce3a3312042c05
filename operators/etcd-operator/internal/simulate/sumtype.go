package simulate

import (
	// The linter that misses actions in a switch knows those of packages that are imported
	// directly, and not by the aliases in package plan.
	_ "github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
)
