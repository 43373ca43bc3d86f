package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// family is one metric of a page of metrics, with all its labels.
type family struct {
	name, kind, help string
	labels           string            // names of the labels of its first value, without le
	bounds           string            // of its buckets
	values           map[string]string // by name and labels
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// readMetrics reads the text format, as far as Kubernetes uses it.
func readMetrics(text string) (map[string]*family, error) {
	all := map[string]*family{}
	var at *family
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			at = &family{name: name, help: help, values: map[string]string{}}
			all[name] = at
		} else if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if at == nil || at.name != name {
				return nil, fmt.Errorf("a type without help: %s", line)
			}
			at.kind = kind
		} else if line != "" {
			match := sampleLine.FindStringSubmatch(line)
			if match == nil || at == nil || !strings.HasPrefix(match[1], at.name) {
				return nil, fmt.Errorf("this is no metric of its family: %s", line)
			}
			at.add(match[1], match[2], match[3])
		}
	}
	return all, nil
}

func (f *family) add(name, labels, value string) {
	var names []string
	bound := ""
	for _, pair := range labelPair.FindAllStringSubmatch(labels, -1) {
		if pair[1] == "le" {
			bound = pair[2]
		} else {
			names = append(names, pair[1])
		}
	}
	sort.Strings(names)
	if f.labels == "" {
		f.labels = strings.Join(names, " ")
	}
	if bound != "" {
		if !strings.Contains(" "+f.bounds, " "+bound+" ") {
			f.bounds += bound + " "
		}
		return
	}
	if !strings.HasSuffix(name, "_sum") {
		f.values[name+"{"+labels+"}"] = value
	}
}

// Families of the reference without a counterpart, by prefix.
var leftOut = map[string]string{
	"go_":                               "there is no Go runtime",
	"rest_client_transport_":            "how client-go caches its connections",
	"scheduler_batch_":                  "there is no opportunistic batching: deciding one pod alone is quicker than its hint",
	"scheduler_get_node_hint_":          "likewise",
	"scheduler_store_schedule_results_": "likewise",
	"scheduler_plugin_execution_":       "a sample of a tenth of the cycles: it may be empty in either",
	"scheduler_queueing_hint_":          "called at other times: for a pod in flight at once, there when it is requeued",
	"scheduler_inflight_events":         "a gauge of moments",
}

func isLeftOut(name string) bool {
	for prefix := range leftOut {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Families whose values (of histograms: the counts) are the same after the same work.
var sameValues = []string{
	"scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds",
	"scheduler_scheduling_algorithm_duration_seconds", "scheduler_queue_incoming_pods_total",
	"scheduler_framework_extension_point_duration_seconds", "scheduler_event_handling_duration_seconds",
	"scheduler_plugin_evaluation_total", "scheduler_pod_scheduling_attempts", "scheduler_pod_scheduling_sli_duration_seconds",
	"scheduler_preemption_attempts_total", "scheduler_preemption_victims", "scheduler_pending_pods", "scheduler_cache_size",
	"scheduler_preemption_goroutines_execution_total", "scheduler_preemption_goroutines_duration_seconds",
	"scheduler_pod_scheduled_after_flush_total", "version_info", "disabled_metrics_total", "hidden_metrics_total",
	"rest_client_exec_plugin_ttl_seconds", "kubernetes_feature_enabled", "leader_election_master_status",
	"scheduler_queue_incoming_entities_total", "scheduler_queued_entities",
	"scheduler_async_api_call_execution_total", "scheduler_async_api_call_execution_duration_seconds", "scheduler_pending_async_api_calls",
}

// Values that differ, and why.
var otherValues = map[string]string{
	`extension_point="Sign"`: "signatures of pods are for opportunistic batching",
}

func isOther(value string) bool {
	for text := range otherValues {
		if strings.Contains(value, text) {
			return true
		}
	}
	return false
}

var scraper = &http.Client{
	Timeout:   patience,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

func (e *env) scrape(port int) (map[string]*family, string) {
	e.Helper()
	request, err := http.NewRequest("GET", fmt.Sprintf("https://127.0.0.1:%d/metrics", port), nil)
	e.must(err)
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := scraper.Do(request)
	e.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	e.must(err)
	if response.StatusCode != http.StatusOK {
		e.Fatalf("/metrics: status %d: %.200s", response.StatusCode, body)
	}
	all, err := readMetrics(string(body))
	e.must(err)
	return all, string(body)
}

// smallWork is the same for every scheduler: each step ends before the next begins, and random choices do not affect it.
func (e *env) smallWork(port int) {
	e.Helper()
	for _, name := range []string{"node-0", "node-1", "node-2"} {
		e.create(NewPod("on-"+name, Requests("cpu", "3"), pinned(name), priority("low"), grace(0)))
		e.boundTo("on-"+name, name)
	}
	e.create(NewPod("free", Requests("cpu", "100m"), priority("high")))
	e.bound("free")
	e.create(NewPod("big", Requests("cpu", "100")))
	e.waits("big", "0/3 nodes are available: 3 Insufficient cpu. "+notHelpful(3))
	e.remove("big")
	e.gone("big")
	e.create(NewPod("gated", gates("example.com/a"), Requests("cpu", "100m"), priority("high")))
	// The API server reports it at once; the scheduler must know it as well.
	e.shows(port, map[string]float64{`scheduler_pending_pods{queue="gated"}`: 1})
	e.patchPod("gated", `{"spec":{"schedulingGates":null}}`)
	e.bound("gated")
	e.create(NewPod("vip", Requests("cpu", "3"), pinned("node-1"), priority("high")))
	e.gone("on-node-1")
	e.boundTo("vip", "node-1")
	e.create(NewPod("still-gated", gates("example.com/a")), NewPod("too-big", Requests("cpu", "200")))
	e.waits("too-big", "0/3 nodes are available: 3 Insufficient cpu. "+notHelpful(3))
	// Some numbers are published now and then: the reference's of its cache and of its plugins, of which PostFilter was the
	// last, for the third unschedulable pod; berth's of its queue.
	e.shows(port, map[string]float64{`scheduler_cache_size{type="nodes"}`: 3, `scheduler_cache_size{type="pods"}`: 5,
		`scheduler_cache_size{type="assumed_pods"}`: 0, `scheduler_pending_pods{queue="unschedulable"}`: 1,
		`scheduler_pending_pods{queue="gated"}`:                                                   1,
		`scheduler_framework_extension_point_duration_seconds_count{extension_point="PostFilter"`: 3})
}

// shows waits until the page of metrics has these values; only the first label needs to be named.
func (e *env) shows(port int, want map[string]float64) {
	e.Helper()
	e.eventually(fmt.Sprintf("/metrics shows %v", want), func() error {
		page, _ := e.scrape(port)
		for name, value := range want {
			sum := 0.0
			for _, family := range page {
				for key, text := range family.values {
					if strings.HasPrefix(key, name) {
						number, err := strconv.ParseFloat(text, 64)
						if err != nil {
							return err
						}
						sum += number
					}
				}
			}
			if sum != value {
				return fmt.Errorf("%s is %v", name, sum)
			}
		}
		return nil
	})
}

// metricsOf is a scheduler's metrics page after the small work.
func metricsOf(t *testing.T, name string, argv []string, flags ...string) (page map[string]*family) {
	t.Run(name, func(t *testing.T) {
		e := shared(t)
		e.argv = argv
		ports, err := freePorts(1)
		e.must(err)
		conf := e.c.path(e.file("scheduler") + ".conf")
		e.create(objects(Nodes("node", 3)...)...)
		e.start(append([]string{"--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf,
			"--authorization-kubeconfig", conf, "--leader-elect=true", "--leader-elect-resource-name", "metrics-of-" + name}, flags...)...)
		e.smallWork(ports[0])
		if slices.Contains(flags, countsCalls) { // what a request has done is seen before its answer is counted
			e.shows(ports[0], map[string]float64{`scheduler_async_api_call_execution_total{call_type="pod_status_patch"`: 3})
		}
		var text string
		page, text = e.scrape(ports[0])
		if dir := os.Getenv("E2E_METRICS"); dir != "" { // for promtool and other readers
			e.must(os.WriteFile(dir+"/"+name+".txt", []byte(text), 0o644))
		}
	})
	return page
}

// A dashboard or an alert that was written for kube-scheduler works: the same families with the same types, labels, buckets
// and explanations, and after the same work the same numbers.
func TestMetricsAreTheReference(t *testing.T) { compareMetrics(t) }

// With the gate, requests about pods are counted as well.
const countsCalls = "--feature-gates=SchedulerAsyncAPICalls=true"

func TestMetricsOfAPICallsAreTheReference(t *testing.T) {
	compareMetrics(t, countsCalls)
}

func compareMetrics(t *testing.T, flags ...string) {
	t.Helper()
	reference, err := ReferenceCommand()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(reference[0]); err != nil {
		t.Skip("kube-scheduler was not built: tests/e2e/parts/build kube-scheduler")
	}
	name, argv, err := UnderTest()
	if err != nil {
		t.Fatal(err)
	}
	want := metricsOf(t, "reference", reference, flags...)
	got := metricsOf(t, name, argv, flags...)
	if t.Failed() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] == nil {
			if !isLeftOut(name) {
				t.Errorf("%s is missing", name)
			}
			continue
		}
		sameFamily(t, want[name], got[name])
	}
	for name := range got { // names with berth_ are additional
		if want[name] == nil && !isLeftOut(name) && !strings.HasPrefix(name, "berth_") {
			t.Errorf("%s is not one of the reference's", name)
		}
	}
	for _, name := range sameValues {
		if want[name] != nil && got[name] != nil {
			compareValues(t, want[name], got[name])
		}
	}
}

func sameFamily(t *testing.T, want, got *family) {
	for _, part := range []struct{ what, want, got string }{
		{"help", want.help, got.help}, {"type", want.kind, got.kind},
		{"labels", want.labels, got.labels}, {"buckets", want.bounds, got.bounds},
	} {
		if part.want != part.got {
			t.Errorf("%s: %s are %q, want %q", want.name, part.what, part.got, part.want)
		}
	}
}

func compareValues(t *testing.T, want, got *family) {
	for _, key := range slices.Sorted(maps.Keys(want.values)) {
		if want.values[key] != got.values[key] && !isOther(key) {
			t.Errorf("%s is %q, want %q", key, got.values[key], want.values[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got.values)) {
		if _, known := want.values[key]; !known {
			t.Errorf("%s is %q, and the reference has none", key, got.values[key])
		}
	}
}
