package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/monitoring"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

const (
	// prometheusInterval is how often Prometheus collects metrics and evaluates rules: often, so that
	// a test does not wait for that.
	prometheusInterval = "5s"
	// proxyTimeout bounds one request of the proxy's caller for its header.
	proxyTimeout = 10 * time.Second
)

// Prometheus is a real Prometheus, on the machine of the test. It finds the Pods of one namespace as
// the PodMonitors in deploy/monitoring say, reaches them through the API server, and evaluates the
// alerts that are shipped.
type Prometheus struct {
	url     string
	process *exec.Cmd
	proxy   *http.Server
	log     bytes.Buffer
}

// StartPrometheus starts one that keeps its files in a folder, with all alerts.
func (e *Env) StartPrometheus(ctx context.Context, dir, namespace string) (*Prometheus, error) {
	program := filepath.Join(e.Root, "bin", "prometheus")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("prometheus is missing: run \"make bin/prometheus\": %w", err)
	}
	rules, err := monitoring.RuleFile(e.Root)
	if err != nil {
		return nil, err
	}
	p := &Prometheus{}
	through, err := p.serveProxy(ctx, e.Config)
	if err != nil {
		return nil, err
	}
	config, err := prometheusConfig(e.Root, namespace, through)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "rules.yaml"), rules, 0o600), os.WriteFile(filepath.Join(dir, "prometheus.yaml"), config, 0o600))
	}
	if err == nil {
		err = p.run(ctx, program, dir)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// run starts the program.
func (p *Prometheus) run(ctx context.Context, program, dir string) error {
	addresses, err := etcdtest.PickAddrs(1)
	if err != nil {
		return err
	}
	p.url = "http://" + addresses[0]
	process := command(ctx, dir, nil, program, "--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address="+addresses[0], "--log.level=warn")
	process.Stdout, process.Stderr = &p.log, &p.log
	if err := process.Start(); err != nil {
		return err
	}
	p.process = process
	return nil
}

// Stop ends it. Its error has what Prometheus has logged, if it did not end as it should.
func (p *Prometheus) Stop() error {
	err := p.proxy.Close()
	if p.process == nil {
		return err
	}
	if ended := errors.Join(p.process.Process.Signal(os.Interrupt), p.process.Wait()); ended != nil {
		err = errors.Join(err, fmt.Errorf("stop Prometheus: %w: %s", ended, p.log.String()))
	}
	return err
}

// serveProxy passes requests on to the API server, with our credentials, and returns its address:
// Prometheus needs none of them.
func (p *Prometheus) serveProxy(ctx context.Context, config *rest.Config) (string, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	pass := &httputil.ReverseProxy{
		Transport:     transport,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		FlushInterval: -1, // watches
	}
	p.proxy = &http.Server{Handler: pass, ReadHeaderTimeout: proxyTimeout}
	go func() { _ = p.proxy.Serve(listener) }() // until it is closed
	return listener.Addr().String(), nil
}

// prometheusConfig is what the Prometheus operator makes of our PodMonitors, for one namespace, and
// with the addresses of Pods behind the API server's proxy.
func prometheusConfig(root, namespace, through string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, monitoring.Folder, "pod-monitors.yaml"))
	if err != nil {
		return nil, err
	}
	var jobs []any
	for one := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var m monitoringv1.PodMonitor
		if err := yaml.UnmarshalStrict(one, &m); err != nil {
			return nil, err
		}
		for _, endpoint := range m.Spec.PodMetricsEndpoints {
			jobs = append(jobs, map[string]any{
				"job_name": m.Name, "honor_labels": endpoint.HonorLabels, "metrics_path": endpoint.Path,
				"kubernetes_sd_configs": []any{map[string]any{
					"role": "pod", "api_server": "http://" + through, "namespaces": map[string]any{"names": []string{namespace}},
				}},
				"relabel_configs":        append(relabelings(&m, &endpoint), behind(through, endpoint.Path)...),
				"metric_relabel_configs": metricRelabelings(&endpoint),
			})
		}
	}
	return yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": prometheusInterval, "evaluation_interval": prometheusInterval},
		"rule_files":     []string{"rules.yaml"},
		"scrape_configs": jobs,
	})
}

// Labels of a Pod during discovery.
const (
	podNamespace  = "__meta_kubernetes_namespace"
	podName       = "__meta_kubernetes_pod_name"
	podPortName   = "__meta_kubernetes_pod_container_port_name"
	podPortNumber = "__meta_kubernetes_pod_container_port_number"
)

// podLabel is a label of a Pod there.
func podLabel(name string) string {
	return "__meta_kubernetes_pod_label_" + strings.NewReplacer(".", "_", "/", "_", "-", "_").Replace(name)
}

// relabelings are those of the Prometheus operator, and then the PodMonitor's own.
func relabelings(m *monitoringv1.PodMonitor, endpoint *monitoringv1.PodMetricsEndpoint) []any {
	keep := func(label, value string) any {
		return map[string]any{"action": "keep", "source_labels": []string{label}, "regex": value}
	}
	set := func(target string, sources ...string) any {
		return map[string]any{"source_labels": sources, "target_label": target}
	}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(m.Spec.Selector.MatchLabels)) {
		all = append(all, keep(podLabel(name), m.Spec.Selector.MatchLabels[name]))
	}
	all = append(all, keep(podPortName, *endpoint.Port), set("namespace", podNamespace), set("pod", podName), set("job", podLabel(m.Spec.JobLabel)))
	for _, r := range endpoint.RelabelConfigs {
		var sources []string
		for _, s := range r.SourceLabels {
			sources = append(sources, string(s))
		}
		all = append(all, set(r.TargetLabel, sources...))
	}
	return all
}

// metricRelabelings returns the metricRelabelings of the PodMonitor.
func metricRelabelings(endpoint *monitoringv1.PodMetricsEndpoint) []any {
	var all []any
	for _, r := range endpoint.MetricRelabelConfigs {
		one := map[string]any{"regex": r.Regex}
		if r.Action != "" {
			one["action"] = r.Action
		}
		if r.TargetLabel != "" {
			one["source_labels"], one["target_label"] = r.SourceLabels, r.TargetLabel
		}
		all = append(all, one)
	}
	return all
}

// behind are the relabelings by which a Pod is asked through the API server.
func behind(through, path string) []any {
	return []any{
		map[string]any{"target_label": "__address__", "replacement": through},
		map[string]any{
			"source_labels": []string{podNamespace, podName, podPortNumber}, "regex": "(.+);(.+);(.+)", "target_label": "__metrics_path__",
			"replacement": "/api/v1/namespaces/$1/pods/$2:$3/proxy" + path,
		},
	}
}

// Alert is one that is pending or fires.
type Alert struct {
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"`
}

// Active are the alerts that fire now, and those that will if what they are about lasts (pending).
func (p *Prometheus) Active(ctx context.Context) ([]Alert, error) {
	var answer struct{ Alerts []Alert }
	err := p.ask(ctx, "/api/v1/alerts", &answer)
	return answer.Alerts, err
}

// Firing are those of [Prometheus.Active] that fire.
func (p *Prometheus) Firing(ctx context.Context) ([]Alert, error) {
	all, err := p.Active(ctx)
	return slices.DeleteFunc(all, func(a Alert) bool { return a.State != "firing" }), err
}

// Count is how many series a query has now.
func (p *Prometheus) Count(ctx context.Context, query string) (int, error) {
	var answer struct{ Result []json.RawMessage }
	err := p.ask(ctx, "/api/v1/query?query="+url.QueryEscape(query), &answer)
	return len(answer.Result), err
}

// Labels are the names of the labels that the series of these metrics have had, by metric.
func (p *Prometheus) Labels(ctx context.Context, metrics []string) (map[string]map[string]bool, error) {
	const name = "__name__"
	var series []map[string]string
	selector := fmt.Sprintf("{%s=~%q}", name, strings.Join(metrics, "|"))
	err := p.ask(ctx, "/api/v1/series?match[]="+url.QueryEscape(selector), &series)
	all := map[string]map[string]bool{}
	for _, one := range series {
		labels := all[one[name]]
		if labels == nil {
			labels = map[string]bool{}
			all[one[name]] = labels
		}
		for label := range one {
			labels[label] = true
		}
	}
	return all, err
}

// ask asks Prometheus' API.
func (p *Prometheus) ask(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, response.Status, text)
	}
	return json.Unmarshal(text, &struct{ Data any }{into})
}
