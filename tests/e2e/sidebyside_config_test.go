package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Configurations, without their first two lines. The kubeconfig is an unused one, unless they name another.
var configurations = map[string]string{
	"nothing": "",
	"name":    "profiles: [{schedulerName: mine}]\n",
	"several profiles": `profiles:
- schedulerName: one
- schedulerName: two
  percentageOfNodesToScore: 30
- schedulerName: three
  plugins: {score: {disabled: [{name: '*'}]}}
`,
	"multiPoint": `profiles:
- plugins:
    multiPoint:
      disabled: [{name: ImageLocality}, {name: TaintToleration}]
      enabled: [{name: NodeAffinity, weight: 7}, {name: TaintToleration, weight: 1}]
`,
	"all disabled, some enabled": `profiles:
- plugins:
    multiPoint:
      disabled: [{name: '*'}]
      enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodeResourcesFit}]
`,
	"points override multiPoint": `profiles:
- plugins:
    multiPoint: {enabled: [{name: NodeResourcesFit, weight: 3}]}
    score: {enabled: [{name: NodeResourcesFit, weight: 9}], disabled: [{name: PodTopologySpread}]}
    filter: {disabled: [{name: NodeUnschedulable}]}
    postFilter: {disabled: [{name: '*'}]}
    preScore: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}]}
    reserve: {disabled: [{name: VolumeBinding}], enabled: [{name: VolumeBinding}]}
`,
	"leader election": `leaderElection: {leaderElect: false, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 5s, resourceName: a, resourceNamespace: b}
`,
	"numbers": `parallelism: 1
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 3
podMaxBackoffSeconds: 3
delayCacheUntilActive: true
enableProfiling: false
enableContentionProfiling: false
`,
	"client connection":    "clientConnection: {kubeconfig: kubeconfig, qps: 12.5, burst: 20, acceptContentTypes: application/json, contentType: application/json}\n",
	"no limit of requests": "clientConnection: {kubeconfig: kubeconfig, qps: -1, burst: 0}\n",
	"fit": `profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      ignoredResources: [example.com/a]
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 2}, {name: nvidia.com/gpu, weight: 100}]}
`,
	"ratio": `profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: memory, weight: 1}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 50, score: 3}, {utilization: 100, score: 0}]}
`,
	"balanced": `profiles:
- pluginConfig:
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu, weight: 1}, {name: example.com/fpga, weight: 1}]}
`,
	"affinity": `profiles:
- pluginConfig:
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 100, ignorePreferredTermsOfExistingPods: true}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: pool, operator: In, values: [a, b]}, {key: count, operator: Gt, values: ["3"]}]
            matchFields: [{key: metadata.name, operator: NotIn, values: [x]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 5, preference: {matchExpressions: [{key: zone, operator: Exists}]}}
`,
	"spread": `profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}
`,
	"spread by the system": "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: System}}]}]\n",
	"volumes": `profiles:
- pluginConfig:
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 30}
`,
	"preemption": "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 50, minCandidateNodesAbsolute: 1}}]}]\n",
	"devices":    "profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 30s}}]}]\n",
	"args of others": `profiles:
- pluginConfig:
  - {name: Strange, args: {a: 1, b: [x, {y: null}]}}
`,
	"extender": `extenders:
- urlPrefix: http://127.0.0.1:1/a
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  bindVerb: bind
  weight: 5
  httpTimeout: 1.5s
  nodeCacheCapable: true
  ignorable: true
  managedResources: [{name: example.com/foo, ignoredByScheduler: true}, {name: example.com/bar}]
- urlPrefix: https://127.0.0.1:1/b
  filterVerb: filter
  enableHTTPS: true
  tlsConfig: {insecure: true, serverName: name}
`,
	"two documents": "---\nkind: other\n",
	"many words": "profiles: [{schedulerName: \"" + strings.Repeat("many words in a name, ", 12) + "\"}, {schedulerName: " +
		strings.Repeat("plain words ", 20) + "}, {schedulerName: \"tab\\t" + strings.Repeat("and words ", 20) + "\"}]\n",
	"names by default": "leaderElection: {resourceName: '', resourceNamespace: ''}\n",
	"texts": `leaderElection: {resourceName: "yes", resourceNamespace: "1e3"}
profiles:
- schedulerName: "null"
- schedulerName: "a: b # c"
- schedulerName: "ü"
- schedulerName: '0x1F'
- schedulerName: "2026-11-15"
- schedulerName: "~"
`,
	"long text": "profiles: [{schedulerName: " + strings.Repeat("one-long-word-", 20) + "}]\n",
}

const configHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// withClient adds clientConnection to a configuration without one.
func withClient(text string) string {
	if !strings.Contains(text, "clientConnection:") {
		text = "clientConnection: {kubeconfig: kubeconfig}\n" + text
	}
	return configHead + text
}

// roundTrip gives a file to both, then the output of each to the other; all outputs are the same.
func (p *pair) roundTrip(what, file string, flags ...string) {
	p.Helper()
	reference, berth := p.dry(append(flags, "--config="+file)...)
	if reference.code != 0 || berth.code != 0 {
		p.Errorf("%s is not accepted:\nkube-scheduler: %v\nberth: %v", what, reference, berth)
		return
	}
	if reference.stdout != berth.stdout {
		p.Errorf("%s: the written configurations differ: %s", what, difference(reference.stdout, berth.stdout))
		return
	}
	again := p.file("again.yaml", berth.stdout)
	second, own := p.dry(append(flags, "--config="+again)...)
	if second.code != 0 || own.code != 0 {
		p.Errorf("%s: what was written is not accepted:\nkube-scheduler: %v\nberth: %v", what, second, own)
	} else if second.stdout != berth.stdout || own.stdout != berth.stdout {
		p.Errorf("%s: the second writing is another: kube-scheduler: %s; berth: %s", what,
			difference(berth.stdout, second.stdout), difference(berth.stdout, own.stdout))
	}
}

// The output of --write-config-to is the same to the byte, and each accepts the other's.
func TestWrittenConfigurationsAreTheReference(t *testing.T) {
	p := sideBySide(t)
	for what, text := range configurations {
		p.roundTrip(what, p.file("config.yaml", withClient(text)))
	}
	// The files of the unit tests.
	files, err := filepath.Glob("../unit/config/data/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the unit tests: %v", err)
	}
	for _, name := range files {
		if strings.Contains(name, ".written-") && !strings.Contains(name, ".written-"+Release()) {
			continue // of another release
		}
		if testing.Short() && !strings.Contains(name, "/args.") && !strings.Contains(name, "/points.") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p.roundTrip(name, p.file("config.yaml", string(text)), "--master=https://127.0.0.1:1")
	}
}

// A file and flags together: those of leader election win, deprecated ones are ignored.
func TestFilesAndFlagsCombineAsInTheReference(t *testing.T) {
	p := sideBySide(t)
	file := p.file("config.yaml", withClient(`leaderElection: {leaderElect: true, leaseDuration: 40s, renewDeadline: 30s, retryPeriod: 4s, resourceName: file}
enableProfiling: true
enableContentionProfiling: false
`))
	for _, flags := range []string{
		"",
		"--leader-elect=false",
		"--leader-elect",
		"--leader-elect-lease-duration=50s --leader-elect-retry-period=1s",
		"--leader-elect-renew-deadline=12s --leader-elect-resource-name=flag --leader-elect-resource-namespace=flag",
		"--profiling=false --contention-profiling",
		"--kube-api-qps=1 --kube-api-burst=2 --kube-api-content-type=application/json",
		"--kubeconfig=/nowhere",
		"--master=https://127.0.0.1:9",
		"--pod-max-in-unschedulable-pods-duration=1m",
		"--feature-gates=SchedulerQueueingHints=true --v=5 --logging-format=json",
		"--bind-address=127.0.0.1 --authorization-always-allow-paths=/a",
		"--leader-elect-lease-duration=20s", // less than the file's renewDeadline
		"--leader-elect-resource-lock=endpoints",
		"--leader-elect=false --leader-elect-resource-lock=endpoints",
	} {
		with, both := p.dry(append(strings.Fields(flags), "--config="+file)...)
		p.agree("the file and "+flags, with.code == 0, with, both)
		if !strings.Contains(flags, "/nowhere") {
			without, alone := p.dry(strings.Fields(flags)...)
			if without.code == 0 && alone.code != 0 && strings.Contains(flags, "-duration=20s") {
				continue // reported earlier than by the reference
			}
			p.agree("no file and "+flags, without.code == 0, without, alone)
		}
	}
}

// Wrong configurations, and the field in berth's error.
var wrongConfigurations = []struct{ what, text, field string }{
	{"unknown field", "paralelism: 3\n", "paralelism"},
	{"twice", "parallelism: 3\nparallelism: 4\n", "parallelism"},
	{"text for a number", "parallelism: many\n", "parallelism"},
	{"fraction", "parallelism: 1.5\n", "parallelism"},
	{"too small", "parallelism: 0\n", "parallelism"},
	{"too large", "parallelism: 3000000000\n", "parallelism"},
	{"percentage", "percentageOfNodesToScore: 101\n", "percentageOfNodesToScore"},
	{"percentage of a profile", "profiles: [{percentageOfNodesToScore: -1}]\n", "profiles[0].percentageOfNodesToScore"},
	{"backoff", "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4\n", "podMaxBackoffSeconds"},
	{"no backoff", "podInitialBackoffSeconds: 0\n", "podInitialBackoffSeconds"},
	{"list for a struct", "leaderElection: []\n", "leaderElection"},
	{"lease", "leaderElection: {leaderElect: true, leaseDuration: 5s}\n", "leaderElection.leaseDuration"},
	{"lock", "leaderElection: {leaderElect: true, resourceLock: endpoints}\n", "leaderElection.resourceLock"},
	{"duration", "leaderElection: {leaseDuration: 15}\n", "leaderElection.leaseDuration"},
	{"burst", "clientConnection: {kubeconfig: kubeconfig, burst: -1}\n", "clientConnection.burst"},
	{"two of a name", "profiles: [{schedulerName: a}, {schedulerName: a}]\n", "profiles[1].schedulerName"},
	{"no name", "profiles: [{schedulerName: a}, {}]\n", "profiles[1].schedulerName"},
	{"other queue sort", "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {disabled: [{name: '*'}]}}}]\n", "queueSort"},
	{"no queue sort", "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}]}}}]\n", "queue sort"},
	{"no binder", "profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]\n", "bind"},
	{"unknown plugin", "profiles: [{plugins: {filter: {enabled: [{name: NoSuch}]}}}]\n", "NoSuch"},
	{"unknown plugin everywhere", "profiles: [{plugins: {multiPoint: {enabled: [{name: NoSuch}]}}}]\n", "NoSuch"},
	{"plugin at another point", "profiles: [{plugins: {permit: {enabled: [{name: NodeName}]}}}]\n", "NodeName"},
	{"plugin twice", "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}]\n", "NodeName"},
	{"args twice", "profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]\n", "profiles[0].pluginConfig[1]"},
	{"args unknown", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {weight: 1}}]}]\n", "weight"},
	{"args out of range", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]\n", "hardPodAffinityWeight"},
	{"args of another kind", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs}}]}]\n", "args"},
	{"fit without type", "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Other}}}]}]\n", "scoringStrategy.type"},
	{"fit without weight", "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}]}}}]}]\n", "weight"},
	{"shape", "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: []}}}}]}]\n", "shape"},
	{"shape backwards", "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 50, score: 1}, {utilization: 10, score: 2}]}}]}]\n", "shape"},
	{"spread", "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}]}]\n", "maxSkew"},
	{"spread twice", "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}]}]\n", "default"},
	{"selector", "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}}]}]\n", "operator"},
	{"preemption", "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 200}}]}]\n", "minCandidateNodesPercentage"},
	{"volumes", "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}]}]\n", "bindTimeoutSeconds"},
	{"extender without weight", "extenders: [{urlPrefix: 'http://a', prioritizeVerb: p}]\n", "extenders[0].weight"},
	{"two extenders bind", "extenders: [{urlPrefix: 'http://a', bindVerb: b}, {urlPrefix: 'http://b', bindVerb: b}]\n", "extenders"},
	{"resource of an extender", "extenders: [{urlPrefix: 'http://a', filterVerb: f, managedResources: [{name: kubernetes.io/a}]}]\n", "managedResources[0].name"},
	{"base64", "extenders: [{urlPrefix: 'http://a', filterVerb: f, tlsConfig: {caData: '!'}}]\n", "caData"},
	{"an old field", "algorithmSource: {provider: DefaultProvider}\n", "algorithmSource"},
	{"shape without its gate", "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 0}]}}]}]\n", "shape"},
	{"tabs", "leaderElection:\n\tleaderElect: true\n", ""},
}

// The last release for which that is wrong.
var lastWrong = map[string]string{"shape without its gate": "1.36"}

// Wrong documents.
var wrongFiles = map[string]string{
	"empty":          "",
	"no object":      "- a\n",
	"no version":     "kind: KubeSchedulerConfiguration\n",
	"no kind":        "apiVersion: kubescheduler.config.k8s.io/v1\n",
	"other kind":     "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs\n",
	"other group":    "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n",
	"old version":    "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n",
	"future version": "apiVersion: kubescheduler.config.k8s.io/v2\nkind: KubeSchedulerConfiguration\n",
	"binary":         "\x00\x01\x02",
}

// Both reject errors; berth reports file, line and field.
func TestWrongConfigurationsAreRefusedByBoth(t *testing.T) {
	p := sideBySide(t)
	where := regexp.MustCompile(`^berth: (\S+config\.yaml):\d+:\d+: `)
	for _, row := range wrongConfigurations {
		if last := lastWrong[row.what]; last != "" && last != Release() {
			continue
		}
		file := p.file("config.yaml", withClient(row.text))
		reference, berth := p.dry("--config=" + file)
		p.agree(row.what, false, reference, berth)
		if !where.MatchString(berth.stderr) || !strings.Contains(berth.stderr, row.field) {
			t.Errorf("%s: this names no place, or not the field %s: %s", row.what, row.field, berth.stderr)
		}
	}
	for what, text := range wrongFiles {
		reference, berth := p.dry("--config=" + p.file("config.yaml", text))
		p.agree(what, false, reference, berth)
	}
}

// Random configurations: both have the same result.
func TestRandomConfigurationsAreTheReference(t *testing.T) {
	p := sideBySide(t)
	count := 150
	if testing.Short() {
		count = 8
	}
	accepted := 0
	for seed := range count {
		text := randomConfiguration(rand.New(rand.NewPCG(uint64(seed), 36)))
		file := p.file("config.yaml", withClient(text))
		reference, berth := p.dry("--config=" + file)
		if (reference.code == 0) != (berth.code == 0) || reference.stdout != berth.stdout {
			t.Errorf("seed %d: %s\nkube-scheduler: %v\nberth: %v\n%s", seed, difference(reference.stdout, berth.stdout),
				reference, berth, text)
		}
		if reference.code == 0 {
			accepted++
			second, _ := p.dry("--config=" + p.file("again.yaml", berth.stdout))
			if second.stdout != berth.stdout {
				t.Errorf("seed %d: kube-scheduler does not write berth's the same again: %s\n%s", seed,
					difference(berth.stdout, second.stdout), text)
			}
		}
	}
	if accepted < count/4 {
		t.Errorf("of %d configurations only %d were accepted: the others show little", count, accepted)
	}
}

var (
	somePlugins = []string{"NodeAffinity", "NodeResourcesFit", "ImageLocality", "TaintToleration", "PodTopologySpread",
		"InterPodAffinity", "VolumeBinding", "NodeResourcesBalancedAllocation", "DefaultPreemption", "NodePorts", "*"}
	somePoints = []string{"multiPoint", "filter", "score", "preFilter", "preScore", "reserve", "postFilter"}
	someArgs   = []string{
		"{name: InterPodAffinity, args: {hardPodAffinityWeight: %d}}",
		"{name: DefaultPreemption, args: {minCandidateNodesAbsolute: %d, minCandidateNodesPercentage: 10}}",
		"{name: VolumeBinding, args: {bindTimeoutSeconds: %d}}",
		"{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: %d}]}}}",
		"{name: NodeResourcesBalancedAllocation, args: {resources: [{name: memory, weight: %d}]}}",
		"{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: %d, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}}",
		"{name: DynamicResources, args: {filterTimeout: %ds}}",
	}
)

func randomConfiguration(r *rand.Rand) string {
	var b strings.Builder
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for _, field := range []string{"parallelism", "percentageOfNodesToScore", "podInitialBackoffSeconds"} {
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "%s: %d\n", field, r.IntN(12))
		}
	}
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "leaderElection: {leaseDuration: %ds, resourceName: n%d}\n", 9+r.IntN(20), r.IntN(3))
	}
	b.WriteString("profiles:\n")
	for i := range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "- schedulerName: s%d\n  plugins:\n", i)
		for _, at := range r.Perm(len(somePoints))[:r.IntN(3)] {
			fmt.Fprintf(&b, "    %s:\n", somePoints[at])
			for _, list := range []string{"enabled", "disabled"} {
				fmt.Fprintf(&b, "      %s:\n", list)
				for range r.IntN(3) {
					name := pick(somePlugins)
					if list == "enabled" && (name == "*" || r.IntN(2) == 0) {
						name = "NodeResourcesFit"
					}
					if list == "disabled" && name == "*" && somePoints[at] == "multiPoint" {
						name = "NodePorts"
					}
					fmt.Fprintf(&b, "      - {name: '%s', weight: %d}\n", name, r.IntN(4))
				}
			}
		}
		b.WriteString("  pluginConfig:\n")
		for _, at := range r.Perm(len(someArgs))[:r.IntN(3)] {
			fmt.Fprintf(&b, "  - "+someArgs[at]+"\n", r.IntN(102))
		}
	}
	return b.String()
}
