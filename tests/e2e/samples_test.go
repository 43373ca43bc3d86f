package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// metricsServer is a small metrics-server: it serves metrics.k8s.io, to which the API server forwards requests.
type metricsServer struct {
	mu    sync.Mutex
	cores map[string]string // by node
	asked int               // lists of nodes
}

func (s *metricsServer) set(cores map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cores = cores
}

func (s *metricsServer) lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *metricsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const version = "metrics.k8s.io/v1beta1"
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	answer := map[string]any{"apiVersion": version, "metadata": map[string]any{}}
	switch r.URL.Path {
	case "/apis/" + version:
		answer = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []any{
			map[string]any{"name": "nodes", "namespaced": false, "kind": "NodeMetrics", "verbs": []string{"get", "list"}}}}
	case "/apis/" + version + "/nodes":
		s.asked++
		for name, cores := range s.cores {
			items = append(items, map[string]any{"metadata": map[string]any{"name": name}, "window": "10s",
				"timestamp": time.Now().UTC().Format(time.RFC3339), "usage": map[string]any{"cpu": cores, "memory": "1Gi"}})
		}
		answer["kind"], answer["items"] = "NodeMetricsList", items
	case "/apis/" + version + "/pods":
		answer["kind"], answer["items"] = "PodMetricsList", items
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// aggregate makes the API server forward requests for metrics.k8s.io. Without a network of services, a service that is an
// external name leads to this machine.
func aggregate(e *env, server *httptest.Server) {
	e.Helper()
	address, err := url.Parse(server.URL)
	e.must(err)
	_, text, err := net.SplitHostPort(address.Host)
	e.must(err)
	port, err := strconv.ParseInt(text, 10, 64)
	e.must(err)
	e.apply([]*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "metrics-server", "namespace": "kube-system"},
			"spec":     map[string]any{"type": "ExternalName", "externalName": "localhost", "ports": []any{map[string]any{"port": port}}}}},
		{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
			"metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
			"spec": map[string]any{"group": "metrics.k8s.io", "version": "v1beta1", "insecureSkipTLSVerify": true,
				"groupPriorityMinimum": int64(100), "versionPriority": int64(100),
				"service": map[string]any{"name": "metrics-server", "namespace": "kube-system", "port": port}}}},
	})
}

// Samples come through the API server's aggregation layer, with the rights of deploy/samples: pods follow the real use.
func TestBerthSamplesOfMetricsServer(t *testing.T) {
	e := private(t, Options{})
	e.berthOnly("kube-scheduler knows no real use")
	e.apply(base(e, "samples"))
	metrics := &metricsServer{cores: map[string]string{"node-0": "3900m", "node-1": "100m", "node-2": "3900m"}}
	server := httptest.NewTLSServer(metrics)
	t.Cleanup(server.Close)
	aggregate(e, server)
	for i := range 3 {
		e.create(NewNode(fmt.Sprint("node-", i)))
	}
	e.start(append(e.config("scheduler", `
profiles:
- plugins: {score: {enabled: [{name: LoadBalancingPlugin, weight: 100}]}}
`), "--samples-interval", "100ms")...)
	// The answer to the last but one request has arrived.
	fetched := func() {
		begun := metrics.lists()
		e.becomes("samples are fetched", func() bool { return metrics.lists() >= begun+2 })
	}
	fetched()
	e.create(NewPod("first", Requests("cpu", "10m")))
	e.boundTo("first", "node-1")
	metrics.set(map[string]string{"node-0": "3900m", "node-1": "3900m", "node-2": "100m"})
	fetched()
	e.create(NewPod("second", Requests("cpu", "10m")))
	e.boundTo("second", "node-2")
}
