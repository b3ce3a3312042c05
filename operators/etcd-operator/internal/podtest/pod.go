package podtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/agent"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// hostsEnv makes the test's own program a member's launcher; it names the file with
// the names that the member can look up.
const hostsEnv = "PODTEST_HOSTS"

// BecomeLauncher is the first thing that TestMain calls: a program that was started
// as a container of a Pod goes on as its launcher and does not return.
func BecomeLauncher() {
	hosts := os.Getenv(hostsEnv)
	if hosts == "" {
		return
	}
	// In a mount namespace of its own.
	if err := syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		fmt.Fprintf(os.Stderr, "let the member look up names: %v\n", err)
		os.Exit(1)
	}
	if os.Getenv(agentEnv) != "" {
		os.Exit(agent.Main(context.Background()))
	}
	os.Exit(launcher.Main(os.Args[1:], os.Stderr))
}

// stopPatience is how long a container may take to end; etcd takes no time.
const stopPatience = 20 * time.Second

// pod is a Pod that runs, with one container.
type pod struct {
	name, ip   string
	home, data string
	hosts      string
	etcd       map[string]string
	image      string
	container  corev1.Container
	// init is what the agent in its init container is to do, which has not done it yet;
	// nil if there is none. survivorPermit is its Pod's permit when it was made.
	init           *task.Task
	survivorPermit string
	// secrets are those that it mounts, mounted is when they were brought up to date last.
	secrets []secret
	mounted time.Time
	// restarts counts the containers that were started.
	restarts    int
	startPermit string
	// began is when the container was started last, ended when it was seen to have ended;
	// failures counts how often it ended soon, one time after the other.
	began, endedAt time.Time
	failures       int
	// begun is when the container was started last, exit how the one before it ended.
	// crashes counts those that ended by themselves since the Pod was ready.
	begun   metav1.Time
	exit    *corev1.ContainerStateTerminated
	crashes int

	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
	// logged is how much of the output was there when the container was started last.
	logged int
}

// start starts the container, or starts it again. Its command is the Pod's own, but
// for where its files are and where it listens.
func (p *pod) start() error {
	p.noteExit()
	etcd := p.etcd[p.version()]
	if etcd == "" {
		p.cmd = nil // its image can't be pulled
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := p.runInit(self); err != nil {
		return err
	}
	here := strings.NewReplacer(append(p.places(),
		member.DataDir, filepath.Join(p.data, "data"),
		"/etc/etcd-launcher/", filepath.Join(p.home, "permit")+"/",
		"/run/etcd-launcher/", filepath.Join(p.home, "used")+"/",
		"0.0.0.0:", p.ip+":",
		"--listen=:", "--listen="+p.ip+":",
	)...)
	var args []string
	for _, a := range append(p.container.Command[1:], p.container.Args...) {
		args = append(args, here.Replace(a))
	}
	p.cmd, p.done = exec.Command(self, args...), make(chan struct{})
	p.cmd.Env = append(os.Environ(), hostsEnv+"="+p.hosts, "PATH="+etcd+":"+os.Getenv("PATH"))
	for _, e := range p.container.Env {
		p.cmd.Env = append(p.cmd.Env, e.Name+"="+e.Value)
	}
	p.cmd.Stdout, p.cmd.Stderr, p.logged = p, p, len(p.output())
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Unshareflags: syscall.CLONE_NEWNS}
	if err := p.cmd.Start(); err != nil {
		close(p.done)
		p.cmd = nil
		return fmt.Errorf("run a member, with a mount namespace of its own, as only root may: %w", err)
	}
	p.restarts++
	p.began, p.endedAt = time.Now(), time.Time{}
	p.begun = metav1.Now().Rfc3339Copy()
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // how it ended shows in its output
		close(done)
	}(p.cmd, p.done)
	return nil
}

// maxMessage is how much of a container's log a kubelet keeps as its termination message
// (TerminationMessageFallbackToLogsOnError).
const maxMessage = 2048

// noteExit notes how the container ended that is to be started again.
func (p *pod) noteExit() {
	if p.cmd == nil || p.cmd.ProcessState == nil {
		return
	}
	log := p.output()[p.logged:]
	p.exit = &corev1.ContainerStateTerminated{ExitCode: int32(p.cmd.ProcessState.ExitCode()), Reason: "Error", Message: log[max(0, len(log)-maxMessage):]}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.exit.ExitCode = 128 + int32(status.Signal())
		return
	}
	p.crashes++
}

// agentEnv makes the test's own program the agent of a survivor's seed.
const agentEnv = "PODTEST_AGENT"

// runInit runs the agent in the init container, if there is one, until it is done.
func (p *pod) runInit(self string) error {
	if p.init == nil {
		return nil
	}
	t := *p.init
	t.DataDir, t.PermitFile = filepath.Join(p.data, "data"), filepath.Join(p.home, "survivor-permit")
	t.TLSDir = p.place(t.TLSDir)
	content, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.PermitFile, []byte(p.survivorPermit), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), hostsEnv+"="+p.hosts, agentEnv+"=1", task.Env+"="+string(content), agent.ResultFileEnv+"="+filepath.Join(p.home, "result"))
	cmd.Stdout, cmd.Stderr = p, p
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the agent of Pod %s: %w", p.name, err)
	}
	p.init = nil
	return nil
}

// version is what the tag of its image names.
func (p *pod) version() string { return p.image[strings.LastIndex(p.image, ":v")+2:] }

// status is what a kubelet says of the container.
func (p *pod) status() corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: p.container.Name, Image: p.image, ImageID: p.image}
	if p.restarts > 0 {
		s.ContainerID = fmt.Sprintf("process://%d", p.restarts)
		s.RestartCount = int32(p.restarts - 1)
		s.LastTerminationState.Terminated = p.exit
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: p.begun}
	}
	if p.etcd[p.version()] == "" {
		s.State.Running = nil
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image: " + p.image}
	}
	if p.failures > 1 {
		s.State.Running = nil
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off restarting failed container"}
	}
	return s
}

// writePermit writes what the downward API shows of the annotation.
func (p *pod) writePermit(annotation string) {
	if annotation == p.startPermit {
		return
	}
	file := filepath.Join(p.home, "permit", "permit")
	if os.WriteFile(file+".new", []byte(annotation), 0o600) == nil && os.Rename(file+".new", file) == nil {
		p.startPermit = annotation
	}
}

const (
	// shortLife is the time within which a container that ends has failed.
	shortLife = time.Second
	// backOff is the pause before it is started again, but for the first time.
	backOff = 500 * time.Millisecond
)

// backsOff reports whether a container that has ended is not to be started yet.
func (p *pod) backsOff() bool {
	if p.endedAt.IsZero() {
		p.endedAt = time.Now()
		if p.failures++; p.endedAt.Sub(p.began) > shortLife {
			p.failures = 0
		}
	}
	return p.failures > 1 && time.Since(p.endedAt) < backOff
}

func (p *pod) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *pod) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.done
}

func (p *pod) terminate() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended
	select {
	case <-p.done:
	case <-time.After(stopPatience):
		p.kill()
	}
}

// Write takes the container's output.
func (p *pod) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *pod) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}
