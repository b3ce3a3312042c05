package certificates

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/messagetest"
)

// messages are all that is told of certificates: see testdata/messages.golden.
var messages = messagetest.New("etcd-operator of certificates",
	messagetest.Variable{Matches: regexp.MustCompile(`(\*\.)?\bx(-client)?\.[a-z0-9-]+\.svc[a-z.]*`), As: "<host>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\bx-[a-z0-9-]+`), As: "<name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`(Secret|Certificate) [a-z]\b`), As: "$1 <name>"},
	messagetest.Variable{Matches: regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), As: "<time>"},
)

func TestMain(m *testing.M) { os.Exit(messages.Check(apiservertest.Main(m))) }

// Whatever can be told is in the golden file, where it is read. Errors are for the log.
func TestEveryTextIsInTheGoldenFile(t *testing.T) {
	messagetest.Complete(t, "make a key: ", "draw a serial number: ", "sign a certificate: ", "encode a key: ", "digital signature",
		"read Pods: ", "list the metadata of Pods: ", "read Pod ", "read EtcdCluster: ", "read Certificate ", "has changed since it was read")
}

// decided is decide, for tests: it notes what is said. Names and times of a real API server
// differ from run to run, so only the shape of a message is kept.
func (in *input) decided() (outcome, error) {
	out, err := in.decide()
	out.state.noted()
	for _, w := range out.writes {
		messages.NoteShape("Event "+w.told.Reason, w.told.Message)
	}
	for _, r := range out.requests {
		messages.NoteShape("Event "+r.told.Reason, r.told.Message)
	}
	return out, err
}

// noted notes what is said of a State.
func (s State) noted() State {
	if s.TLS.Problem != "" {
		reason := string(s.TLS.Problem)
		for problem := range strings.SplitSeq(s.TLS.Message, "; ") {
			messages.NoteShape("CertificatesReady=False "+reason, problem)
		}
	}
	for _, e := range s.Told {
		messages.NoteShape("Event "+e.Reason, e.Message)
	}
	return s
}
