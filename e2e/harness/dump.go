package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// dumpTimeout bounds the gathering of all that is known about a failure.
	dumpTimeout = time.Minute
	// operatorTail is how many lines of the operator's log are shown at once; all
	// of it is in a file.
	operatorTail = 30
	// operatorPods select the Pods of every operator.
	operatorPods = labelName + " in (" + OperatorName + "," + BackupOperatorName + "," + RestoreOperatorName + ")"
	// conditions is what kubectl prints of objects that have conditions.
	conditions = `{range .status.conditions[*]}{"  "}{.type}{"="}{.status}{" "}{.reason}{": "}{.message}{"\n"}{end}`
)

// Dump gathers what there is to know about a namespace in which something went
// wrong: a summary to read, and every log and object in files under dir.
func (e *Env) Dump(namespace, dir string) string {
	ctx, cancel := context.WithTimeout(context.Background(), dumpTimeout)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err.Error()
	}
	var out strings.Builder
	section := func(title, file string, args ...string) string {
		text, err := e.Kubectl.Run(ctx, args...)
		if err != nil {
			text += err.Error()
		}
		_ = os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644) // the summary is what matters
		fmt.Fprintf(&out, "--- %s\n", title)
		return text
	}
	out.WriteString(section("EtcdClusters", "etcd.txt", "-n", namespace, "get", "etcd", "-o", "wide"))
	out.WriteString(section("conditions", "conditions.txt", "-n", namespace, "get", "etcd", "-o",
		`jsonpath={range .items[*]}{.metadata.name}{" members "}{.status.members}{" TLS "}{.status.tls}{"\n"}`+conditions+`{end}`))
	out.WriteString(section("EtcdBackups", "etcdbk.txt", "-n", namespace, "get", "etcdbk", "-o", "wide", "--ignore-not-found"))
	out.WriteString(section("conditions of EtcdBackups", "etcdbk-conditions.txt", "-n", namespace, "get", "etcdbk", "-o",
		`jsonpath={range .items[*]}{.metadata.name}{"\n"}`+conditions+`{end}`))
	out.WriteString(section("EtcdRestores", "etcdrs.txt", "-n", namespace, "get", "etcdrs", "-o", "wide", "--ignore-not-found"))
	out.WriteString(section("conditions of EtcdRestores", "etcdrs-conditions.txt", "-n", namespace, "get", "etcdrs", "-o",
		`jsonpath={range .items[*]}{.metadata.name}{" waits for "}{.status.waitingFor}{"\n"}`+conditions+`{end}`))
	out.WriteString(section("Pods", "pods.txt", "-n", namespace, "get", "pods", "-o", "wide", "-L", "etcd_role"))
	out.WriteString(section("nodes", "nodes.txt", "get", "nodes"))
	out.WriteString(tail(section("events", "events.txt", "-n", namespace, "get", "events", "--sort-by=.lastTimestamp"), 2*operatorTail))
	for line := range strings.Lines(tail(section("the operators' log", "operator.log", "-n", namespace, "logs", "-l", operatorPods, "--tail=-1", "--prefix"), operatorTail)) {
		out.WriteString(readable(line))
	}
	section("everything is in "+dir, "objects.yaml", "-n", namespace, "get", "etcd,etcdbk,etcdrs,jobs,cronjobs,pods,pvc,services,pdb,endpointslices,deployments", "-o", "yaml")
	// What Secrets hold is left out.
	section("Secrets are in "+dir, "secrets.txt", "-n", namespace, "get", "secrets", "-o",
		`jsonpath={range .items[*]}{.metadata.name}{" "}{.type}{" "}{.metadata.resourceVersion}{" "}{.metadata.annotations}{"\n"}{end}`)
	if text, err := e.Kubectl.Run(ctx, "-n", namespace, "get", "certificates.cert-manager.io,certificaterequests.cert-manager.io,issuers.cert-manager.io", "-o", "yaml"); err == nil {
		_ = os.WriteFile(filepath.Join(dir, "cert-manager.yaml"), []byte(text), 0o644)
	}
	e.dumpPods(ctx, namespace, dir)
	return out.String()
}

// dumpPods writes the logs of every container, and of its run before, to files.
func (e *Env) dumpPods(ctx context.Context, namespace, dir string) {
	var pods corev1.PodList
	if err := e.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return
	}
	for i := range pods.Items {
		name := pods.Items[i].Name
		for file, args := range map[string][]string{
			name + ".log":          {"--all-containers"},
			name + ".previous.log": {"--previous"},
		} {
			text, err := e.Kubectl.Run(ctx, append([]string{"-n", namespace, "logs", name}, args...)...)
			if err == nil {
				_ = os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
			}
		}
	}
}

func tail(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}

// readable is a line of an operator's log without its JSON; in the file it is whole.
func readable(line string) string {
	_, record, _ := strings.Cut(line, "] ")
	var fields struct {
		TS, Level, ControllerKind, Name, Msg, Error string
	}
	if err := json.Unmarshal([]byte(record), &fields); err != nil {
		return line
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s: %s %s", fields.TS, fields.Level, fields.ControllerKind, fields.Name, fields.Msg, fields.Error)) + "\n"
}

// SaveOperatorLog writes the operator's log to a file, for whoever wants to know
// where the time went.
func (e *Env) SaveOperatorLog(ctx context.Context, namespace, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := e.Kubectl.Run(ctx, "-n", namespace, "logs", "-l", operatorPods, "--tail=-1", "--prefix")
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
