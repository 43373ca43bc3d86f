package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Makes everything read-only, checks that, drops all privileges, and runs the remaining arguments.
const powerless = `
awk '{ print $5 }' /proc/self/mountinfo | sort -r | while read -r place; do
    case $place in /proc* | /sys* | /dev*) ;; *) mount -o remount,bind,ro "$place" 2>/dev/null ;; esac
done
for place in / /tmp /var/tmp /run "$1"; do
    if [ -d "$place" ] && touch "$place/.berth-e2e" 2>/dev/null; then
        echo "cannot be made read-only: $place" >&2
        exit 77
    fi
done
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
`

// As the user nobody, without capabilities, on a read-only file system: it schedules, serves, keeps its lease, and ends
// with status 0.
func TestRunsWithoutPrivileges(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give up root's rights")
	}
	for _, tool := range []string{"unshare", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s here", tool)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace can be made here: %s", out)
	}
	out, err := exec.Command("unshare", "--mount", "--", "sh", "-c", powerless, "sh", t.TempDir(), "true").CombinedOutput()
	if err != nil { // where mounts are forbidden nevertheless, or setpriv does not know all of this kernel's capabilities
		t.Skipf("the rights cannot be given up here: %v: %s", err, out)
	}
	e := shared(t)
	e.berthOnly("is not about it")
	// What the user nobody may read: the program and the kubeconfig.
	dir, err := os.MkdirTemp("", "berth-e2e-nobody-")
	e.must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	e.must(os.Chmod(dir, 0o755))
	program, err := os.ReadFile(e.argv[0])
	e.must(err)
	e.must(os.WriteFile(dir+"/berth", program, 0o755))
	authority, err := os.ReadFile(e.c.path("certs/apiserver.crt"))
	e.must(err)
	e.must(os.WriteFile(dir+"/ca.crt", authority, 0o644))
	e.must(os.WriteFile(dir+"/kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: "https://%s", certificate-authority: ca.crt}}]
users: [{name: e2e, user: {token: %s}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
current-context: e2e
`, e.c.Addr(), schedulerToken), 0o644))
	ports, err := freePorts(1)
	e.must(err)
	conf := dir + "/kubeconfig"
	p, err := launch(dir, e.c.path(e.file("scheduler")+".log"), slices.Concat(
		[]string{"unshare", "--mount", "--", "sh", "-c", powerless, "sh", dir, dir + "/berth"}, e.argv[1:],
		[]string{"--kubeconfig", conf, "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf,
			"--leader-elect-resource-name=without-privileges", "--bind-address=127.0.0.1", "--secure-port", fmt.Sprint(ports[0])})...)
	e.must(err)
	p.Name = "scheduler"
	e.procs = append(e.procs, p)
	e.create(NewNode("node-0"), NewPod("web"))
	e.boundTo("web", "node-0")

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	e.must(err)
	for _, line := range []string{`Name:\s+berth`, `Uid:\s+65534\s+65534\s+65534\s+65534`, `Gid:\s+65534\s+65534\s+65534\s+65534`,
		`Groups:\s*`, `NoNewPrivs:\s+1`, `CapInh:\s+0+`, `CapPrm:\s+0+`, `CapEff:\s+0+`, `CapBnd:\s+0+`} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).Match(status) {
			t.Errorf("the process is not so powerless: no %s in\n%s", line, status)
		}
	}
	w := &twins{env: e, ports: [2]int{ports[0], ports[0]}, names: [2]string{"none", "none"}}
	for path, who := range map[string]caller{"/healthz": {}, "/readyz": {}, "/metrics": {token: adminToken}} {
		if answer, err := w.ask(0, who, "GET", path); err != nil || answer.status != 200 {
			t.Errorf("%s: status %d (%v)", path, answer.status, err)
		}
	}
	if _, err := p.Terminate(patience); err != nil || p.Exit() != "exit status 0" {
		t.Errorf("after SIGTERM: %s (%v)", p.Exit(), err)
	}
	lease, err := e.c.Admin.CoordinationV1().Leases("kube-system").Get(e.ctx, "without-privileges", metav1.GetOptions{})
	e.must(err)
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the lease was not given back: %s holds it", *holder)
	}
}

// secretive makes a pod with a secret in every field that can have one.
func secretive(name string, secret func(where string) string) *v1.Pod {
	pod := NewPod(name)
	pod.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"env":"` + secret("applied") + `"}`}
	get := &v1.HTTPGetAction{Port: intstr.FromInt32(80), Path: "/" + secret("path"),
		HTTPHeaders: []v1.HTTPHeader{{Name: "Authorization", Value: secret("header")}}}
	run := &v1.ExecAction{Command: []string{"sh", "-c", secret("exec")}}
	c := &pod.Spec.Containers[0]
	c.Env = []v1.EnvVar{{Name: "PASSWORD", Value: secret("env")}}
	c.Command, c.Args = []string{secret("command")}, []string{secret("args")}
	c.LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: get}}
	c.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: run}}
	c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{secret("lifecycle")}}}}
	first := *c.DeepCopy()
	first.Name, first.LivenessProbe, first.ReadinessProbe, first.Lifecycle = "first", nil, nil, nil
	first.Env = []v1.EnvVar{{Name: "PASSWORD", Value: secret("init-env")}}
	pod.Spec.InitContainers = []v1.Container{first}
	return pod
}

// No output has a secret: neither the log at its highest verbosity, nor a recording, a snapshot, a metric or a page; not of
// pods, nor of clients, nor of the scheduler itself.
func TestNoSecretIsWrittenDown(t *testing.T) {
	e := shared(t)
	e.berthOnly("is not about it")
	var secrets []string
	secret := func(where string) string {
		text := "e2e-secret-" + where + "-7f3a91"
		secrets = append(secrets, text)
		return text
	}
	e.create(NewNode("node-0"))
	ports, err := freePorts(1)
	e.must(err)
	record := t.TempDir()
	conf := e.c.path(e.file("scheduler") + ".conf")
	p := e.start("--v=10", "--record", record, "--secure-port", fmt.Sprint(ports[0]), "--bind-address=127.0.0.1",
		"--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	e.create(secretive("bound", secret))
	e.bound("bound")
	waiting := secretive("waiting", secret)
	waiting.Spec.NodeSelector = map[string]string{"nowhere": "yes"}
	e.create(waiting)
	e.event("waiting", "FailedScheduling",
		"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "+notHelpful(1))

	pages := map[string]string{}
	w := &twins{env: e, ports: [2]int{ports[0], ports[0]}, names: [2]string{"none", "none"}}
	w.eventually("it serves", func() error { _, err := w.ask(0, caller{}, "GET", "/healthz"); return err })
	for i, who := range []caller{{token: adminToken}, {token: secret("caller")}, {header: map[string][]string{"Authorization": {"Basic " + secret("basic")}}}} {
		for _, path := range []string{"/metrics", "/metrics/resources", "/configz", "/flagz", "/statusz", "/debug/berth/queue", "/debug/berth/waiting", "/healthz?verbose"} {
			answer, err := w.ask(0, who, "GET", path)
			e.must(err)
			pages[fmt.Sprintf("%s for caller %d", path, i)] = answer.body
		}
	}
	secrets = append(secrets, schedulerToken, adminToken)
	e.must(e.c.WriteKubeconfig(e.file("snapshot")+".conf", e.c.Addr(), Credentials{"token": schedulerToken}))
	snapshot := run(t, e.c.Dir, e.argv[0], "snapshot", "--kubeconfig", e.c.path(e.file("snapshot")+".conf"))
	if snapshot.code != 0 || !strings.Contains(snapshot.stdout, "waiting") {
		t.Errorf("there is no snapshot: %v", snapshot)
	}
	pages["the snapshot"], pages["what the snapshot says"] = snapshot.stdout, snapshot.stderr
	explained := run(t, e.c.Dir, e.argv[0], "queue", "--kubeconfig", conf)
	pages["queue"] = explained.stdout + explained.stderr
	if _, err := p.Terminate(patience); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(p.Log)
	e.must(err)
	pages["the log"] = string(log)
	recorded := 0
	e.must(filepath.WalkDir(record, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		pages["the recording "+filepath.Base(path)] = string(text)
		recorded += strings.Count(string(text), "waiting")
		return err
	}))
	if recorded == 0 {
		t.Error("the recording has no pod to be read, so that a search in it shows nothing")
	}
	if !strings.Contains(pages["the log"], "default/waiting") {
		t.Error("the log has nothing of the pod")
	}
	for name, text := range pages {
		for _, one := range secrets {
			if at := strings.Index(text, one); at >= 0 {
				t.Errorf("%s holds %s: ...%q...", name, one, text[max(0, at-150):min(len(text), at+80)])
			}
		}
	}
}
