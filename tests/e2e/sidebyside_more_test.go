package e2e

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metric families about clients, by prefix.
var callerFamilies = []string{"authenti", "authori", "apiserver_", "aggregator_", "workqueue_"}

// Their numbers grow equally with the same clients.
var callerCounts = []string{"authenticated_user_requests", "authentication_attempts", "authorization_attempts_total",
	"apiserver_delegated_authn_request_total", "apiserver_delegated_authz_request_total",
	"authentication_token_cache_request_total", "authentication_token_cache_fetch_total",
	"authentication_duration_seconds", "authorization_duration_seconds", "apiserver_client_certificate_expiration_seconds"}

// Authentication of clients is counted as in kube-scheduler.
func TestCallersAreCountedAsInTheReference(t *testing.T) {
	// Reviews are cached for longer than this test takes, so that a slow machine needs no more of them.
	w := startTwins(t, "--authentication-token-webhook-cache-ttl=10m", "--authorization-webhook-cache-authorized-ttl=10m",
		"--authorization-webhook-cache-unauthorized-ttl=10m")
	callers := w.callers()
	var before, after [2]map[string]*family
	for i, name := range w.names {
		w.eventually(name+" knows the cluster's authority", func() error {
			answer, err := w.ask(i, callers[5], "GET", "/metrics")
			if err == nil && answer.status != 200 {
				err = fmt.Errorf("status %d: %s", answer.status, answer.body)
			}
			return err
		})
		// Before it knew the authority, a client with a certificate was anonymous. Whether that happened is a matter of
		// time: the review of it is in both caches.
		_, err := w.ask(i, callers[0], "GET", "/metrics")
		w.must(err)
		before[i], _ = w.scrape(w.ports[i])
		for _, who := range callers {
			for _, path := range []string{"/metrics", "/healthz", "/configz"} {
				_, err := w.ask(i, who, "GET", path)
				w.must(err)
			}
		}
		after[i], _ = w.scrape(w.ports[i])
	}
	for _, name := range slices.Sorted(maps.Keys(after[0])) {
		if !slices.ContainsFunc(callerFamilies, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		if after[1][name] == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		sameFamily(t, after[0][name], after[1][name])
	}
	growth := func(which int, name string) map[string]float64 {
		grown := map[string]float64{}
		for key, value := range after[which][name].values {
			now, err := strconv.ParseFloat(value, 64)
			w.must(err)
			was := 0.0
			if f := before[which][name]; f != nil && f.values[key] != "" {
				was, err = strconv.ParseFloat(f.values[key], 64)
				w.must(err)
			}
			if now > was {
				grown[key] = now - was
			}
		}
		return grown
	}
	for _, name := range callerCounts {
		if after[0][name] == nil || after[1][name] == nil {
			t.Errorf("%s is not there to be compared", name)
			continue
		}
		if want, got := growth(0, name), growth(1, name); !maps.Equal(want, got) || len(want) == 0 {
			t.Errorf("%s grew by %v, want %v", name, got, want)
		}
	}
}

// The SLI metrics page has the same families; the number of checks differs.
func TestHealthMetricsAreTheReference(t *testing.T) {
	w := startTwins(t)
	var pages [2]map[string]*family
	for i := range w.names {
		answer, err := w.ask(i, caller{token: adminToken}, "GET", "/metrics/slis")
		w.must(err)
		pages[i], err = readMetrics(answer.body)
		w.must(err)
	}
	for name, want := range pages[0] {
		if got := pages[1][name]; got == nil {
			t.Errorf("%s is missing", name)
		} else {
			sameFamily(t, want, got)
		}
	}
}

// The password of an extender's URL is in no condition, event, log, page or recording.
func TestPasswordsInURLsAreHidden(t *testing.T) {
	e := shared(t)
	e.berthOnly("writes them into its log and its /configz")
	const secret = "e2e-url-password"
	ports, err := freePorts(2)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	record := t.TempDir()
	e.create(NewNode("node-0"))
	certificate, key := pemPair(t, "extender")
	file := e.write("config.yaml", fmt.Sprintf(`%sclientConnection: {kubeconfig: %q}
leaderElection: {leaderElect: false}
extenders:
- {urlPrefix: "http://me:%s@127.0.0.1:%d/a", filterVerb: filter, enableHTTPS: false}
- {urlPrefix: "https://127.0.0.1:%d/b", filterVerb: filter, ignorable: true, tlsConfig: {insecure: true, certData: %q, keyData: %q}}
`, configHead, conf, secret, ports[1], ports[1], base64Of(certificate), base64Of(key)), 0o600)
	p := e.start("--config", file, "--v=10", "--record", record, "--bind-address=127.0.0.1", "--secure-port", fmt.Sprint(ports[0]),
		"--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	e.create(NewPod("web"))
	want := fmt.Sprintf(`Post "http://me:***@127.0.0.1:%d/a/filter": `, ports[1])
	pod := e.pod("web", "is refused with the URL", func(p *v1.Pod) bool {
		c := scheduled(p)
		return c != nil && strings.HasPrefix(c.Message, want)
	})
	w := &twins{env: e, ports: [2]int{ports[0], ports[0]}, names: [2]string{"none", "none"}}
	texts := map[string]string{"the pod": pod.String()}
	for _, path := range []string{"/configz", "/metrics", "/flagz", "/debug/berth/queue", "/debug/berth/explain?pod=default/web"} {
		answer, err := w.ask(0, caller{token: adminToken}, "GET", path)
		e.must(err)
		texts[path] = answer.body
	}
	if !strings.Contains(texts["/configz"], `"urlPrefix":"http://me:***@127.0.0.1:`) || !strings.Contains(texts["/configz"], `"keyData":"REDACTED"`) {
		t.Errorf("/configz is %s", texts["/configz"])
	}
	events, err := e.c.Admin.EventsV1().Events("default").List(e.ctx, metav1.ListOptions{})
	e.must(err)
	texts["the events"] = events.String()
	if _, err := p.Terminate(patience); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(p.Log)
	e.must(err)
	texts["the log"] = string(log)
	if !strings.Contains(texts["the log"], "me:***@") {
		t.Error("the log has nothing of the extender")
	}
	e.must(filepath.WalkDir(record, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var text []byte
			text, err = os.ReadFile(path)
			texts["the recording "+filepath.Base(path)] = string(text)
		}
		return err
	}))
	for name, text := range texts {
		for _, one := range []string{secret, base64Of(key)} {
			if at := strings.Index(text, one); at >= 0 {
				t.Errorf("%s holds %s: ...%q...", name, one, text[max(0, at-100):min(len(text), at+60)])
			}
		}
	}
}

// A fatal error is a line of the log: a JSON log is JSON to the end.
func TestTheEndIsALineOfTheLog(t *testing.T) {
	reference, berth := bothCommands(t)
	e := shared(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	e.must(err)
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.must(e.c.WriteKubeconfig(e.file("scheduler")+".conf", e.c.Addr(), Credentials{"token": schedulerToken}))
	broken := e.write("broken.yaml", configHead+"parallelism: many\n", 0o600)
	for _, row := range []struct {
		what  string
		code  int // of kube-scheduler it is always 1
		flags []string
	}{
		{"a port that is taken", 1, []string{"--kubeconfig", conf, "--bind-address=127.0.0.1", "--secure-port", port}},
		{"a wrong configuration", 2, []string{"--config", broken, "--secure-port=0"}},
		{"no token", 2, []string{"--kubeconfig", e.write("none.conf", `{"apiVersion": "v1", "kind": "Config", "current-context": "a",
"clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "a", "user": {"tokenFile": "/nowhere"}}],
"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}`, 0o600), "--secure-port=0"}},
	} {
		for i, argv := range [][]string{reference, berth} {
			r := run(t, e.c.Dir, slices.Concat(argv, row.flags, []string{"--logging-format=json", "--leader-elect=false"})...)
			lines, err := readJSON(r.stderr)
			if err != nil {
				t.Errorf("%s, %s: %v", row.what, argv[0], err)
				continue
			}
			last := lines[len(lines)-1]
			if last.msg != "command failed" || last.severity != 'E' || last.values["err"] == "" {
				t.Errorf("%s, %s: the last line is %s", row.what, argv[0], last.text)
			}
			if want := []int{1, row.code}[i]; r.code != want {
				t.Errorf("%s, %s: exit code %d, want %d", row.what, argv[0], r.code, want)
			}
		}
	}
}

// Messages about the place of a pod and about received objects, from verbosity 3 to 5.
var eventsInDetail = []string{
	"Add event for node", "Add event for unscheduled pod", "Delete event for unscheduled pod", "Add event for scheduled pod",
	"Delete event for scheduled pod", "Pod moved to an internal scheduling queue", "Updating pod condition and nominated node name",
}

func TestDetailedLogsAreTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	wantText, _ := logsOf(t, "reference", reference, "--v=5")
	gotText, _ := logsOf(t, "berth", berth, "--v=5")
	if t.Failed() {
		return
	}
	want, err := readText(wantText)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readText(gotText)
	if err != nil {
		t.Fatal(err)
	}
	// In the order of time, each with its first line: which pod, why, and where to.
	first := func(all []parsedLine, msg string) string {
		for _, line := range all {
			if line.msg == msg {
				return fmt.Sprint(line.keys, line.values)
			}
		}
		return "nothing"
	}
	for _, msg := range eventsInDetail {
		if a, b := first(want, msg), first(got, msg); a != b || a == "nothing" {
			t.Errorf("%q has %s, want %s", msg, b, a)
		}
	}
	moves := func(all []parsedLine, failed bool) (found []string) {
		for _, line := range all {
			pod := line.values["pod"] + line.values["entity"] // since 1.37 an entity moves, but for one that failed
			if strings.Contains(line.msg, " moved to an internal scheduling queue") && pod == "default/big" &&
				(line.values["event"] == "ScheduleAttemptFailure") == failed {
				found = append(found, fmt.Sprint(line.msg, line.keys, line.values))
			}
		}
		return found
	}
	for _, failed := range []bool{false, true} {
		if a, b := moves(want, failed), moves(got, failed); len(a) == 0 || len(b) == 0 || a[0] != b[0] {
			t.Errorf("the pod moved so: %q, want %q", b, a)
		}
	}
}

// Every field of --version=raw exists, so that parsers find them.
func TestRawVersionHasAllFields(t *testing.T) {
	p := sideBySide(t)
	reference, berth := p.both("--version=raw")
	fields := func(text string) (names []string) {
		for _, match := range regexp.MustCompile(`(\w+):"`).FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
		return names
	}
	if want, got := fields(reference.stdout), fields(berth.stdout); !slices.Equal(want, got) || len(want) < 10 {
		t.Errorf("fields are %q, want %q", got, want)
	}
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
