package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pair is the real kube-scheduler and berth, side by side on the command line, without a cluster.
type pair struct {
	*testing.T
	dir              string
	reference, berth []string
}

// sideBySide skips if there is no reference to compare with.
func sideBySide(t *testing.T) *pair {
	t.Helper()
	reference, berth := bothCommands(t)
	p := &pair{t, t.TempDir(), reference, berth}
	p.file("kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: nobody, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
current-context: nobody
`)
	return p
}

func bothCommands(t *testing.T) (reference, berth []string) {
	t.Helper()
	name, berth, err := UnderTest()
	if err != nil {
		t.Fatal(err)
	}
	if name == "kube-scheduler" {
		t.Skip("compares another scheduler with it")
	}
	if reference, err = ReferenceCommand(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(reference[0]); err != nil {
		t.Fatalf("there is no kube-scheduler to compare with (tests/e2e/parts/build kube-scheduler): %v", err)
	}
	return reference, berth
}

// path is of a file in the folder of the test; file writes one.
func (p *pair) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pair) file(name, text string) string {
	p.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	return p.path(name)
}

// ran is how a command ended.
type ran struct {
	code           int
	stdout, stderr string
}

func (r ran) String() string {
	return fmt.Sprintf("exit code %d\n%s", r.code, firstLines(r.stderr, 5))
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}

// run waits for a command to end. A command that does not end has accepted its flags: its code is -1.
func run(t *testing.T, dir string, argv ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// both runs the same command line with both, at the same time.
func (p *pair) both(flags ...string) (reference, berth ran) {
	p.Helper()
	var wait sync.WaitGroup
	wait.Go(func() { reference = run(p.T, p.dir, slices.Concat(p.reference, flags)...) })
	berth = run(p.T, p.dir, slices.Concat(p.berth, flags)...)
	wait.Wait()
	return reference, berth
}

// dry returns the effective configuration of both; "" from one that rejected the flags.
func (p *pair) dry(flags ...string) (reference, berth ran) {
	p.Helper()
	one := func(argv []string, file string) ran {
		os.Remove(file)
		// The given flags come last, so that they win.
		all := slices.Concat(argv, []string{"--kubeconfig=kubeconfig", "--secure-port=0", "--write-config-to=" + file}, flags)
		r := run(p.T, p.dir, all...)
		text, _ := os.ReadFile(file)
		if (r.code == 0) != (len(text) > 0) {
			p.Errorf("%q wrote %d bytes: %v", flags, len(text), r)
		}
		r.stdout = string(text)
		return r
	}
	dir, err := os.MkdirTemp(p.dir, "")
	if err != nil {
		p.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() { reference = one(p.reference, filepath.Join(dir, "reference.yaml")) })
	berth = one(p.berth, filepath.Join(dir, "berth.yaml"))
	wait.Wait()
	return reference, berth
}

// helpFlag is a flag as a page of help shows it.
type helpFlag struct {
	group, letter, name, kind, standard string
	deprecated, alpha                   bool
	options                             []string // what the lines below it list
}

var (
	helpGroup  = regexp.MustCompile(`^(\S.*) flags:$`)
	helpLine   = regexp.MustCompile(`^  (?:(-\w), |    )--([a-z0-9-]+)(?: (\S+))?   +(.*)$`)
	helpBare   = regexp.MustCompile(`^  (?:(-\w), |    )--([a-z0-9-]+) (\S.*?)   +(.*)$`)
	helpValue  = regexp.MustCompile(`\(default (.*)\)$`)
	helpOption = regexp.MustCompile(`^ {20,}((?:kube:)?[A-Z]\w+=.*)$`)
)

// readHelp reads a page of help: flags by name, and the groups in their order.
func readHelp(page string) (flags map[string]*helpFlag, groups []string) {
	flags = map[string]*helpFlag{}
	group := ""
	var at *helpFlag
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if match := helpGroup.FindStringSubmatch(line); match != nil {
			group, groups = match[1], append(groups, match[1])
			continue
		}
		match := helpLine.FindStringSubmatch(line)
		if match == nil {
			match = helpBare.FindStringSubmatch(line)
		}
		if match == nil {
			if option := helpOption.FindStringSubmatch(line); option != nil && at != nil {
				at.options = append(at.options, option[1])
			}
			continue
		}
		at = &helpFlag{group: group, letter: match[1], name: match[2], kind: match[3]}
		if value := helpValue.FindStringSubmatch(match[4]); value != nil {
			at.standard = value[1]
		}
		at.deprecated, at.alpha = strings.HasPrefix(match[4], "DEPRECATED: "), strings.HasPrefix(match[4], "[Alpha] ")
		flags[at.name] = at
	}
	return flags, groups
}

// The same flags in the same groups, with the same types, defaults and warnings; only the group Berth is more.
func TestHelpIsTheReference(t *testing.T) {
	p := sideBySide(t)
	reference, berth := p.both("--help")
	if reference.code != 0 || berth.code != 0 || reference.stderr != "" || berth.stderr != "" {
		t.Fatalf("--help ended so:\nkube-scheduler: %v\nberth: %v", reference, berth)
	}
	want, wantGroups := readHelp(reference.stdout)
	got, gotGroups := readHelp(berth.stdout)
	if len(want) < 60 || len(want["feature-gates"].options) < 100 || want["v"].letter != "-v" || !want["profiling"].deprecated {
		t.Fatalf("this is not how the reference's page is read: %d flags", len(want))
	}
	gotGroups = slices.DeleteFunc(gotGroups, func(name string) bool { return name == "Berth" })
	if !slices.Equal(wantGroups, gotGroups) {
		t.Errorf("groups are %q, want %q", gotGroups, wantGroups)
	}
	for name, w := range want {
		g := got[name]
		if g == nil {
			t.Errorf("--%s is missing", name)
			continue
		}
		if !slices.Equal(w.options, g.options) {
			t.Errorf("--%s: options are %q, want %q", name, g.options, w.options)
		}
		a, b := *w, *g
		a.options, b.options = nil, nil
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
			t.Errorf("--%s is %+v, want %+v", name, b, a)
		}
	}
	for name, g := range got {
		if want[name] == nil && g.group != "Berth" {
			t.Errorf("--%s is not one of the reference's and stands in the group %s", name, g.group)
		}
	}
}

// Values of every flag: good are accepted by both, and bad rejected by both. @x is a file of the test's folder.
var flagValues = []struct {
	name      string
	good, bad []string
	late      []string // bad, but the reference reports it only when it runs
	with      []string // more flags that the good ones need
}{
	{name: "config", good: []string{"@config.yaml"}, bad: []string{"@missing", "@broken.yaml"}},
	{name: "master", good: []string{"https://127.0.0.1:6443", "127.0.0.1:8080", ""}},
	{name: "write-config-to", bad: []string{"@missing/file"}},
	{name: "bind-address", good: []string{"127.0.0.1", "::", "0.0.0.0", "::1"}, bad: []string{"localhost", "1.2.3", "x"}},
	{name: "cert-dir", good: []string{"@certs"}},
	{name: "disable-http2-serving", good: []string{"true", "false", "1", "T"}, bad: []string{"yes", "2", ""}},
	{name: "http2-max-streams-per-connection", good: []string{"0", "250", "0x10"}, bad: []string{"many", "1.5"}},
	{name: "permit-address-sharing", good: []string{"true", "FALSE"}, bad: []string{"on"}},
	{name: "permit-port-sharing", good: []string{"true", "f"}, bad: []string{"off"}},
	{name: "secure-port", good: []string{"0"}, bad: []string{"-1", "65536", "https", ""}},
	{name: "tls-cert-file", good: []string{"@server.crt"}, with: []string{"--tls-private-key-file=@server.key"}},
	{name: "tls-private-key-file", good: []string{"@server.key"}, with: []string{"--tls-cert-file=@server.crt"}},
	{name: "tls-cipher-suites", good: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA"}},
	{name: "tls-curve-preferences", good: []string{"29", "23,24,25", "4588"}, bad: []string{"x25519", "2147483648", "23;24"}},
	{name: "tls-min-version", good: []string{"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13", ""}},
	{name: "tls-sni-cert-key", good: []string{"@server.crt,@server.key", "@server.crt,@server.key:*.example.com,example.com"},
		bad: []string{"@server.crt", "a,b,c", ""}},
	{name: "authentication-kubeconfig", good: []string{"@kubeconfig"}},
	{name: "authentication-skip-lookup", good: []string{"true", "false"}, bad: []string{"maybe"}},
	{name: "authentication-token-webhook-cache-ttl", good: []string{"1m", "0", "1h2m3.5s"}, bad: []string{"10", "fast"}},
	{name: "authentication-tolerate-lookup-failure", good: []string{"false"}, bad: []string{"-"}},
	{name: "client-ca-file", good: []string{"@ca.crt"}},
	{name: "requestheader-allowed-names", good: []string{"a,b", "front-proxy-client"}, bad: []string{" "}},
	{name: "requestheader-client-ca-file", good: []string{"@ca.crt"}},
	{name: "requestheader-extra-headers-prefix", good: []string{"X-Remote-Extra-", "x-other-"}, bad: []string{" "}},
	{name: "requestheader-group-headers", good: []string{"X-Remote-Group,X-Group"}, bad: []string{" "}},
	{name: "requestheader-uid-headers", good: []string{"X-Remote-Uid"}, bad: []string{"X-Other-Uid"}},
	{name: "requestheader-username-headers", good: []string{"X-Remote-User", "x-user"}, bad: []string{" "}},
	{name: "authorization-always-allow-paths", good: []string{"/healthz,/metrics", "/debug/*", "healthz"}},
	{name: "authorization-kubeconfig", good: []string{"@kubeconfig"}},
	{name: "authorization-webhook-cache-authorized-ttl", good: []string{"5m", "0s"}, bad: []string{"5"}},
	{name: "authorization-webhook-cache-unauthorized-ttl", good: []string{"1500ms"}, bad: []string{"1d"}},
	{name: "contention-profiling", good: []string{"false"}, bad: []string{"none"}},
	{name: "kube-api-burst", good: []string{"1", "2147483647"}, bad: []string{"-1", "0", "2147483648", "1e3"}},
	{name: "kube-api-content-type", good: []string{"application/json"}},
	{name: "kube-api-qps", good: []string{"0.5", "1e3", "-1"}, bad: []string{"fifty", "1e99"}},
	{name: "kubeconfig", good: []string{"@kubeconfig"}, bad: []string{"@missing", "@broken.yaml"}},
	{name: "pod-max-in-unschedulable-pods-duration", good: []string{"30s", "0"}, bad: []string{"30"}},
	{name: "profiling", good: []string{"false"}, bad: []string{"cpu"}},
	{name: "leader-elect", good: []string{"false", "true"}, bad: []string{"me"}},
	{name: "leader-elect-lease-duration", good: []string{"1m", "11s"}, bad: []string{"15"}, late: []string{"10s", "5s", "0", "-1s"}},
	{name: "leader-elect-renew-deadline", good: []string{"5s", "14s"}, bad: []string{"10"}, late: []string{"15s", "2s", "0s", "-1s"}},
	{name: "leader-elect-resource-lock", good: []string{"leases"}, bad: []string{"endpoints", "configmaps", "endpointsleases", ""}},
	{name: "leader-elect-resource-name", good: []string{"other"}},
	{name: "leader-elect-resource-namespace", good: []string{"default"}},
	{name: "leader-elect-retry-period", good: []string{"1s", "100ms"}, bad: []string{"2"}, late: []string{"20s", "0", "9s", "-1s"}},
	{name: "emulated-version", good: []string{Release(), "kube=" + Release()}, bad: []string{Earlier(4), "1.38", "2.0", "latest", "other=" + Release()}},
	{name: "feature-gates", good: []string{"AllAlpha=false", "kube:SchedulerAsyncPreemption=true", "DynamicResourceAllocation=true"},
		bad: []string{"NoSuchGate=true", "GenericWorkload", "GenericWorkload=maybe", "other:GenericWorkload=true"}},
	{name: "min-compatibility-version", good: []string{Earlier(1), "kube=" + Earlier(2)}, bad: []string{Earlier(-1), "1.20", "x"}},
	{name: "allow-metric-labels", good: []string{"scheduler_pending_pods,queue='active,gated'"}, bad: []string{"a", "metric=v"}},
	{name: "allow-metric-labels-manifest", good: []string{"@allow.yaml"}},
	{name: "disabled-metrics", good: []string{"scheduler_pending_pods", "a,b"}, bad: []string{"1", "not a name"}},
	{name: "show-hidden-metrics-for-version", good: []string{Earlier(1), ""}, bad: []string{Earlier(2), Release(), "v" + Earlier(1), "x"}},
	{name: "log-flush-frequency", good: []string{"1s", "1m"}, bad: []string{"often", "5", "0", "-1s"}},
	{name: "log-json-info-buffer-size", good: []string{"0", "64Ki"}, bad: []string{"big"}, with: []string{"--feature-gates=LoggingAlphaOptions=true"}},
	{name: "log-json-split-stream", good: []string{"true"}, bad: []string{"both"}, with: []string{"--feature-gates=LoggingAlphaOptions=true"}},
	{name: "log-text-info-buffer-size", good: []string{"1M"}, bad: []string{"1 M"}, with: []string{"--feature-gates=LoggingAlphaOptions=true"}},
	{name: "log-text-split-stream", good: []string{"true"}, bad: []string{"2"}, with: []string{"--feature-gates=LoggingAlphaOptions=true"}},
	{name: "logging-format", good: []string{"text", "json"}, bad: []string{"xml", "JSON"}},
	{name: "v", good: []string{"0", "4", "10"}, bad: []string{"-1", "high", "1.5", "2147483648"}},
	{name: "vmodule", good: []string{"a=1", "core*=3,queue=2", ""}, bad: []string{"a", "a=x", "a=-1"}},
}

// Combinations that one flag alone does not show: words of the command line, and whether they are accepted.
var flagLines = []struct {
	line string
	good bool
}{
	{"--leader_elect=false", true},
	{"--leader-elect --v 3", true},
	{"-v3", true},
	{"-v 3", true},
	{"-v=3", true},
	{"--v=3 --v=4", true},
	{"--leader-elect false", false},
	{"pod", false},
	{"-- --v", false},
	{"-x", false},
	{"---v=3", false},
	{"--=3", false},
	{"--v", false},
	{"--config=", true},
	{"--no-such-flag", false},
	{"--log-json-split-stream", false},
	{"--log-text-split-stream", false},
	{"--logging-format=json --vmodule=a=1", false},
	{"--logging-format=json --feature-gates=LoggingBetaOptions=false", false},
	{"--tls-cipher-suites=TLS_NONE --secure-port=0", true}, // not checked
	{"--tls-min-version=VersionSSL3", true},
	{"--tls-cipher-suites=TLS_NONE --secure-port=1", false},
	{"--tls-min-version=VersionSSL3 --secure-port=1", false},
	{"--tls-cert-file=@missing --tls-private-key-file=@missing --secure-port=1", false},
	{"--tls-cert-file=@server.crt --secure-port=1", false},
	{"--tls-cert-file=@server.crt --tls-private-key-file=@other.key --secure-port=1", false},
	{"--client-ca-file=@missing --secure-port=1", false},
	{"--authentication-kubeconfig=@missing --secure-port=1", false},
	{"--authorization-kubeconfig=@missing --secure-port=1", false},
	{"--http2-max-streams-per-connection=-1", true},
	{"--tls-curve-preferences=99 --secure-port=1", false},
	{"--tls-curve-preferences=23,23 --secure-port=1", false},
	{"--requestheader-uid-headers=X-Remote-Uid --feature-gates=RemoteRequestHeaderUID=false", false},
	{"--leader-elect=false --leader-elect-resource-lock=endpoints", true},
	{"--leader-elect=false --leader-elect-renew-deadline=1h", true},
	{"--feature-gates=GenericWorkload=true --feature-gates=GenericWorkload=false", true},
	{"--feature-gates=kube:GenericWorkload=true,GenericWorkload=true", false},
	{"--feature-gates=GangScheduling=true", false},
	{"--feature-gates=ComponentFlagz=false,ComponentStatusz=false", true},
	{"--version=v9.9.9", false},
	{"--allow-metric-labels-manifest=@missing", false},
	{"--allow-metric-labels-manifest=@nested.yaml", false},
	{"--tls-curve-preferences=99", true},
	{"--tls-cert-file=@server.crt", true},
}

// prepare writes what the tables name.
func (p *pair) prepare() {
	p.Helper()
	a, err := newAuthority()
	if err != nil {
		p.Fatal(err)
	}
	p.file("ca.crt", string(a.certificate))
	for _, name := range []string{"server", "other"} {
		certificate, key, err := a.issue(name)
		if err != nil {
			p.Fatal(err)
		}
		p.file(name+".crt", string(certificate))
		p.file(name+".key", string(key))
	}
	p.file("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nclientConnection: {kubeconfig: kubeconfig}\n")
	p.file("broken.yaml", "a: [1\n")
	p.file("allow.yaml", "\"scheduler_pending_pods,queue\": \"active\"\n")
	p.file("nested.yaml", "allowListMapping:\n  \"scheduler_pending_pods,queue\": \"active\"\n")
}

// named puts the folder in front of the files.
func (p *pair) named(text string) string { return strings.ReplaceAll(text, "@", p.dir+"/") }

func (p *pair) agree(what string, good bool, reference, berth ran) {
	p.Helper()
	if (reference.code == 0) != good {
		p.Errorf("%s: this table is wrong about kube-scheduler: %v", what, reference)
	}
	if (berth.code == 0) != (reference.code == 0) {
		p.Errorf("%s:\nkube-scheduler: %v\nberth: %v", what, reference, berth)
	}
	if berth.code > 2 || berth.code < 0 {
		p.Errorf("%s: berth ended with code %d", what, berth.code)
	}
	if !good && (berth.stderr == "" || strings.Count(berth.stderr, "\n") > 2) {
		p.Errorf("%s: berth did not say in a sentence what is wrong, but:\n%s", what, berth.stderr)
	}
	if good && reference.stdout != berth.stdout {
		p.Errorf("%s: the configurations differ:\n%s", what, difference(reference.stdout, berth.stdout))
	}
}

// difference shows the first line in which two texts differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("line %d: got %q, want the end", i+1, b[i])
		case i >= len(b):
			return fmt.Sprintf("line %d: got the end, want %q", i+1, a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("line %d: got %q, want %q", i+1, b[i], a[i])
		}
	}
	return "in nothing"
}

// Every flag accepts and rejects the same values, and they give the same configuration.
func TestFlagValuesAreTheReference(t *testing.T) {
	p := sideBySide(t)
	p.prepare()
	page, _ := p.both("--help")
	known, _ := readHelp(page.stdout)
	for _, row := range flagValues {
		if known[row.name] == nil {
			t.Errorf("--%s is not one of the reference's", row.name)
		}
		delete(known, row.name)
		if row.name == "emulated-version" && Release() != DefaultRelease {
			continue // the command line has it already
		}
		var with []string
		for _, flag := range row.with {
			with = append(with, p.named(flag))
		}
		good, bad := row.good, row.bad
		if testing.Short() {
			good, bad = good[:min(1, len(good))], bad[:min(1, len(bad))]
		}
		for _, value := range good {
			flag := "--" + row.name + "=" + p.named(value)
			reference, berth := p.dry(append(with, flag)...)
			p.agree(flag, true, reference, berth)
		}
		for _, value := range bad {
			flag := "--" + row.name + "=" + p.named(value)
			reference, berth := p.dry(append(with, flag)...)
			p.agree(flag, false, reference, berth)
		}
	}
	delete(known, "help")
	delete(known, "version")
	for name := range known {
		t.Errorf("no value of --%s is tried", name)
	}
}

func TestCommandLinesAreTheReference(t *testing.T) {
	p := sideBySide(t)
	p.prepare()
	for _, row := range flagLines {
		reference, berth := p.dry(strings.Fields(p.named(row.line))...)
		p.agree(row.line, row.good, reference, berth)
	}
}

// --version can be parsed by scripts for the reference.
func TestVersionIsTheReference(t *testing.T) {
	p := sideBySide(t)
	minor := strings.TrimPrefix(Release(), "1.")
	for _, row := range []struct{ flag, pattern string }{
		{"--version", `^Kubernetes v1\.` + minor + `\.\d+(\+\S+)?\n$`},
		{"--version=true", `^Kubernetes v1\.` + minor + `\.\d+(\+\S+)?\n$`},
		{"--version=raw", `^version\.Info\{Major:"1", Minor:"` + minor + `", .*GitVersion:"v1\.` + minor + `\..*\}\n$`},
		{"--version=nonsense", `^$`},
	} {
		reference, berth := p.both(row.flag)
		for name, r := range map[string]ran{"kube-scheduler": reference, "berth": berth} {
			if !regexp.MustCompile(row.pattern).MatchString(r.stdout) {
				t.Errorf("%s of %s printed %q, want %s", row.flag, name, r.stdout, row.pattern)
			}
		}
		if (reference.code == 0) != (berth.code == 0) {
			t.Errorf("%s:\nkube-scheduler: %v\nberth: %v", row.flag, reference, berth)
		}
	}
}

// Flags of earlier releases give an error with advice; the reference only reports them as unknown.
func TestRemovedFlagsAreExplained(t *testing.T) {
	p := sideBySide(t)
	for _, flag := range []string{"port=10251", "address=0.0.0.0", "insecure-port=0", "insecure-bind-address=::1",
		"algorithm-provider=DefaultProvider", "policy-config-file=x", "policy-configmap=x",
		"policy-configmap-namespace=kube-system", "use-legacy-policy-config", "scheduler-name=mine",
		"hard-pod-affinity-symmetric-weight=1", "failure-domains=x", "lock-object-name=x", "lock-object-namespace=x",
		"experimental-logging-sanitization", "logtostderr", "alsologtostderr", "stderrthreshold=2", "log-dir=/tmp",
		"log-file=x", "log-file-max-size=1", "log-backtrace-at=x:1", "add-dir-header", "skip-headers",
		"skip-log-headers", "one-output",
	} {
		name, _, _ := strings.Cut(flag, "=")
		reference, berth := p.both("--" + flag)
		if reference.code == 0 {
			t.Errorf("kube-scheduler knows --%s", flag)
		}
		if berth.code != 2 || strings.Count(berth.stderr, "\n") != 1 || !strings.Contains(berth.stderr, "--"+name) {
			t.Errorf("--%s: %v", flag, berth)
		}
	}
}

// Times of leader election that cannot work: kube-scheduler reports it once it runs, berth at once, and neither schedules.
func TestLateRefusalsAreTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	e := shared(t)
	for _, row := range flagValues {
		for i, value := range row.late {
			if testing.Short() && i > 0 {
				break
			}
			for _, argv := range [][]string{reference, berth} {
				flag := "--" + row.name + "=" + value
				p, err := e.c.StartScheduler(e.file("late"), e.c.Addr(), argv, "--leader-elect=true", flag)
				e.must(err)
				e.eventually(filepath.Base(argv[0])+" refuses "+flag, func() error {
					if p.Alive() {
						return errors.New("it runs")
					}
					return nil
				})
				if code := p.cmd.ProcessState.ExitCode(); code != 1 && code != 2 {
					t.Errorf("%s with %s: %s\n%s", argv[0], flag, p.Exit(), p.Tail(3))
				}
			}
		}
	}
}

// Gates: both accept the default value of each. Otherwise berth applies the value or reports that it does not support it,
// and rejects nothing without a reason.
func TestFeatureGatesAreTheReference(t *testing.T) {
	p := sideBySide(t)
	page, _ := p.both("--help")
	known, _ := readHelp(page.stdout)
	var defaults, opposites []string
	for _, option := range known["feature-gates"].options {
		match := regexp.MustCompile(`^kube:(\w+)=true\|false \((\w+) - default=(true|false)\)(?:, or .* if --min-compatibility-version>=1\.\d+)?$`).FindStringSubmatch(option)
		if match == nil {
			t.Fatalf("this is no gate: %s", option)
		}
		defaults = append(defaults, match[1]+"="+match[3])
		opposites = append(opposites, match[1]+"="+map[string]string{"true": "false", "false": "true"}[match[3]])
	}
	reference, berth := p.dry("--feature-gates=" + strings.Join(defaults, ","))
	p.agree("all gates as they are", true, reference, berth)
	obeyed := 0
	for i, gate := range opposites {
		if testing.Short() && i%8 != 0 {
			continue
		}
		reference, berth := p.dry("--feature-gates=" + gate)
		switch {
		case berth.code == 0 && reference.code == 0:
			obeyed++
		case berth.code == 0:
			t.Errorf("%s: only kube-scheduler refuses: %v", gate, reference)
		case reference.code == 0 && !strings.Contains(berth.stderr, "berth does not support that"):
			t.Errorf("%s: only berth refuses: %v", gate, berth)
		}
	}
	if obeyed == 0 {
		t.Error("no gate can be switched")
	}
}
