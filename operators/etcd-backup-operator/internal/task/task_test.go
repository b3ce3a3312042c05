package task

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
	"github.com/etcd-operators/etcd-operators/shared/roundtriptest/agents"
)

func TestRoundTrips(t *testing.T) {
	roundtriptest.Check(t, agents.Task[Task])
	roundtriptest.Check(t, agents.Result(t, func(r *Result) *agent.Failure { return r.Failure }))
	roundtriptest.Check(t, roundtriptest.JSON[ArchiveProgress])
}
