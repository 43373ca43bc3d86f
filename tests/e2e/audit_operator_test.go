package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What operators see of a preemption, of a pod whose claim is missing, and of a node that is deleted before its pods: log
// lines at the usual verbosity, and metrics.
var (
	troubleLines = []string{
		"Added node to NodeTree", "Removed node from NodeTree", "Successfully bound pod to node",
		"the target node for the preemption is determined", "Start the preemption asynchronously",
		"Preemptor Pod preempted victim Pod", "Async Preemption finished completely",
		"No preemption candidate is found; preemption is not helpful for scheduling",
		"Status after running PostFilter plugins for pod", "Unable to schedule pod; no fit; waiting",
	}
	troubleNumbers = []string{
		"scheduler_preemption_attempts_total", "scheduler_preemption_victims", "scheduler_cache_size",
		"scheduler_schedule_attempts_total",
	}
)

// linesOf are the log lines with these messages, with keys and values, sorted.
func linesOf(t *testing.T, log string, words ...string) (found []string) {
	t.Helper()
	all, err := readText(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range all {
		if !slices.Contains(words, line.msg) {
			continue
		}
		text := fmt.Sprintf("%c %s", line.severity, line.msg)
		for _, key := range line.keys {
			text += fmt.Sprintf(" %s=%q", key, line.values[key])
		}
		found = append(found, text)
	}
	slices.Sort(found)
	return found
}

func troubleOf(t *testing.T, name string, argv []string) (page map[string]*family, lines []string) {
	t.Run(name, func(t *testing.T) {
		e := shared(t)
		e.argv = argv
		ports, err := freePorts(1)
		e.must(err)
		conf := e.c.path(e.file("scheduler") + ".conf")
		zone := NewNode("node-1")
		zone.Labels["topology.kubernetes.io/zone"] = "z"
		e.create(NewNode("node-0"), zone)
		before := 0 // the file may have lines of an earlier run
		if log, err := os.ReadFile(e.c.path(e.file("scheduler") + ".log")); err == nil {
			before = len(log)
		}
		p := e.start("--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf, "-v=2")
		e.create(NewPod("low", Requests("cpu", "3"), pinned("node-0"), priority("low"), grace(0)))
		e.boundTo("low", "node-0")
		vip := NewPod("vip", Requests("cpu", "3"), pinned("node-0"), priority("high"))
		e.create(vip)
		e.boundTo("vip", "node-0")
		// A pod without a grace period is gone before the response to its deletion.
		e.event("low", "Preempted", fmt.Sprintf("Preempted by pod %s on node node-0", e.o.Pod(key("vip")).Pod.UID))
		e.create(NewPod("lost", claim("not-there")))
		e.waits("lost", `0/2 nodes are available: persistentvolumeclaim "not-there" not found. not found`)
		e.create(NewPod("big", Requests("cpu", "100")))
		e.waits("big", "0/2 nodes are available: 2 Insufficient cpu. "+notHelpful(2))
		// No waiting pod is left that another node would requeue.
		for _, name := range []string{"lost", "big"} {
			e.remove(name)
			e.gone(name)
		}
		e.shows(ports[0], map[string]float64{"scheduler_pending_pods": 0})
		e.must(e.c.Admin.CoreV1().Nodes().Delete(e.ctx, "node-0", metav1.DeleteOptions{}))
		e.create(NewNode("node-2"))
		// Pods and nodes come by watches of their own: a pod that is seen before its node would wait, and a line would say so.
		e.shows(ports[0], map[string]float64{`scheduler_cache_size{type="nodes"}`: 3})
		e.create(NewPod("last", pinned("node-2")))
		e.boundTo("last", "node-2") // so the deletion of the node before it was seen
		e.shows(ports[0], map[string]float64{`scheduler_cache_size{type="nodes"}`: 3, `scheduler_cache_size{type="pods"}`: 2,
			`scheduler_cache_size{type="assumed_pods"}`: 0})
		page, _ = e.scrape(ports[0])
		if _, err := p.Terminate(patience); err != nil {
			t.Error(err)
		}
		log, err := os.ReadFile(p.Log)
		e.must(err)
		lines = linesOf(t, string(log)[before:], troubleLines...)
	})
	return page, lines
}

func TestTroubleIsReportedAsByTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	wantPage, wantLines := troubleOf(t, "reference", reference)
	gotPage, gotLines := troubleOf(t, "berth", berth)
	if t.Failed() {
		return
	}
	for _, name := range troubleNumbers {
		if wantPage[name] == nil || gotPage[name] == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		compareValues(t, wantPage[name], gotPage[name])
	}
	for _, words := range troubleLines {
		if !slices.ContainsFunc(wantLines, func(line string) bool { return strings.Contains(line, words) }) {
			t.Errorf("kube-scheduler says nothing of %q", words)
		}
	}
	if !slices.Equal(wantLines, gotLines) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(gotLines, "\n"), strings.Join(wantLines, "\n"))
	}
}

// statusless is an account with a scheduler's rights, except for the status of pods.
func (e *env) statusless() string {
	e.Helper()
	const name = "statusless"
	var rules []rbacv1.PolicyRule
	for _, stock := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		role, err := e.c.Admin.RbacV1().ClusterRoles().Get(e.ctx, stock, metav1.GetOptions{})
		e.must(err)
		for _, rule := range role.Rules {
			if !slices.Contains(rule.Resources, "pods/status") {
				rules = append(rules, rule)
			}
		}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "e2e-" + name}}
	if _, err := e.c.Admin.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
	if _, err := e.c.Admin.RbacV1().ClusterRoleBindings().Create(e.ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
	for _, right := range stockRights[:2] {
		e.must(e.c.awaitRight(e.ctx, authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:default:" + name, ResourceAttributes: &right}))
	}
	return e.account(name)
}

// A scheduler that may not write the condition of a waiting pod logs that.
func TestRefusedStatusIsLogged(t *testing.T) {
	reference, berth := bothCommands(t)
	told := map[string][]string{}
	for name, argv := range map[string][]string{"reference": reference, "berth": berth} {
		t.Run(name, func(t *testing.T) {
			e := shared(t)
			e.argv = argv
			e.create(NewNode("node-0"))
			p := e.startAs("scheduler", Credentials{"token": e.statusless()})
			e.create(NewPod("big", Requests("cpu", "100")))
			e.event("big", "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu. "+notHelpful(1))
			e.eventually("the log tells of the status", func() error {
				log, err := os.ReadFile(p.Log)
				e.must(err)
				if told[name] = linesOf(t, string(log), "Error updating pod"); len(told[name]) == 0 {
					return fmt.Errorf("it does not")
				}
				return nil
			})
		})
	}
	if want, got := told["reference"], told["berth"]; !t.Failed() && want[0] != got[0] {
		t.Errorf("the log has %s, want %s", got[0], want[0])
	}
}

// stoppedLeading are the identities with an event that they stopped leading.
func (e *env) stoppedLeading() map[string]bool {
	e.Helper()
	events, err := e.c.Admin.CoreV1().Events("kube-system").List(e.ctx, metav1.ListOptions{})
	e.must(err)
	who := map[string]bool{}
	for _, event := range events.Items {
		if name, ok := strings.CutSuffix(event.Message, " stopped leading"); ok && event.Reason == "LeaderElection" {
			who[name] = true
		}
	}
	return who
}

// A scheduler that loses its lease writes an event before it ends; one that releases it does not, so that an alert means a problem.
func TestLostLeadIsAnEvent(t *testing.T) {
	e := shared(t)
	e.noLease()
	p := e.startAt("loser", e.c.Addr(), electing...)
	loser := e.led("")
	lease := e.lease("kube-system", "kube-scheduler")
	thief := "thief"
	for {
		lease.Spec.HolderIdentity = &thief
		_, err := e.c.Admin.CoordinationV1().Leases("kube-system").Update(e.ctx, lease, metav1.UpdateOptions{})
		if err == nil {
			break
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		lease = e.lease("kube-system", "kube-scheduler") // the lease was renewed meanwhile
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("%s goes on without a lease", loser)
	}
	if p.Exit() != "exit status 1" {
		t.Errorf("it ended with %s", p.Exit())
	}
	if e.sched == "berth" && !e.stoppedLeading()[loser] { // the reference tries to, and may end before that
		t.Errorf("%s lost the lead, and there is no event; only of %v", loser, slices.Collect(maps.Keys(e.stoppedLeading())))
	}
	e.noLease()
	p = e.startAt("leaver", e.c.Addr(), electing...)
	leaver := e.led(thief)
	if _, err := p.Terminate(patience); err != nil {
		t.Fatal(err)
	}
	if p.Exit() != "exit status 0" || e.stoppedLeading()[leaver] {
		t.Errorf("%s was terminated: %s, stopped leading: %v", leaver, p.Exit(), e.stoppedLeading()[leaver])
	}
}
