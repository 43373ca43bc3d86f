package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Short leases, so that the tests need not wait long; but long enough that a busy machine that stalls for seconds does not
// lose the lease.
const leaseTime = 5 * time.Second

var electing = []string{"--leader-elect=true", "--leader-elect-lease-duration", leaseTime.String(),
	"--leader-elect-renew-deadline", "4s", "--leader-elect-retry-period", "500ms"}

// holder is the leader according to the default lease; "" if there is none.
func (e *env) holder() string {
	e.Helper()
	lease, err := e.c.Admin.CoordinationV1().Leases("kube-system").Get(e.ctx, "kube-scheduler", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	e.must(err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// led waits until the leader is another one than before. The lease is polled, not watched.
func (e *env) led(before string) string {
	e.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now := e.holder(); now != "" && now != before {
			return now
		}
	}
	e.Fatalf("no scheduler replaced %q within %v", before, patience)
	return ""
}

// noLease removes the default lease that other tests left.
func (e *env) noLease() {
	e.Helper()
	err := e.c.Admin.CoordinationV1().Leases("kube-system").Delete(e.ctx, "kube-scheduler", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		e.Fatal(err)
	}
}

// election starts with no lease and two schedulers, of which the first leads.
func election(t *testing.T) (e *env, first, second *Proc) {
	e = shared(t)
	e.noLease()
	e.create(NewNode("node-0"))
	first = e.startAt("first", e.c.Addr(), electing...)
	e.led("")
	second = e.startAt("second", e.c.Addr(), electing...)
	e.create(NewPod("one"))
	e.bound("one")
	return e, first, second
}

// A leader that crashes is replaced when its lease has expired; one that is terminated releases the lease.
func TestLeaderIsReplaced(t *testing.T) {
	e, first, second := election(t)
	leader := e.holder()
	first.Kill()
	began := time.Now()
	e.create(NewPod("two"))
	e.bound("two")
	t.Logf("followed after %v", time.Since(began).Round(time.Millisecond))
	if now := e.holder(); now == leader || now == "" {
		t.Errorf("%q leads after the end of %q", now, leader)
	}
	e.running(second)

	third := e.startAt("third", e.c.Addr(), electing...)
	leader = e.holder()
	took, err := second.Terminate(patience)
	e.must(err)
	if second.Exit() != "exit status 0" {
		t.Errorf("a terminated leader ended with %s", second.Exit())
	}
	if e.holder() == leader {
		t.Errorf("the lease was not given back; the end took %v", took)
	}
	e.create(NewPod("three"))
	e.bound("three")
	e.running(third)
	e.blameless()
}

// A leader that was stopped for longer than its lease no longer leads: it ends without writing.
func TestStoppedLeaderIsReplaced(t *testing.T) {
	e, first, second := election(t)
	leader := e.holder()
	first.Pause()
	e.create(NewPod("two"))
	e.bound("two")
	e.led(leader)
	first.Resume()
	select {
	case <-first.Done():
	case <-time.After(patience):
		t.Errorf("who lost the lease goes on")
	}
	if first.Exit() != "exit status 1" {
		t.Errorf("who lost the lease left with %s", first.Exit())
	}
	first.byUs.Store(true) // expected: the rest of the test does not depend on it
	e.create(NewPod("three"))
	e.bound("three")
	e.running(second)
	e.blameless()
}

// A leader was stopped and replaced, and its successor has released the lease: the first does not know what the second did,
// and does not continue. kube-scheduler does.
func TestStoppedLeaderDoesNotReturn(t *testing.T) {
	e, first, second := election(t)
	e.berthOnly("kube-scheduler takes the lease again and goes on with what it knew before")
	leader := e.holder()
	first.Pause()
	e.led(leader)
	e.create(NewPod("two", Requests("cpu", "3")))
	e.bound("two")
	_, err := second.Terminate(patience)
	e.must(err)
	if now := e.holder(); now != "" {
		t.Fatalf("the lease was not given back: %q", now)
	}
	first.byUs.Store(true)
	first.Resume()
	select {
	case <-first.Done():
	case <-time.After(patience):
		t.Fatalf("who lost the lease goes on")
	}
	if first.Exit() != "exit status 1" {
		t.Errorf("who lost the lease left with %s", first.Exit())
	}
	if now := e.holder(); now != "" {
		t.Errorf("who lost the lease took it again: %q", now)
	}
	third := e.startAt("third", e.c.Addr(), electing...)
	e.create(NewPod("three"))
	e.bound("three")
	e.running(third)
	e.blameless()
}

// lease reads a Lease, which must exist.
func (e *env) lease(namespace, name string) *coordinationv1.Lease {
	e.Helper()
	lease, err := e.c.Admin.CoordinationV1().Leases(namespace).Get(e.ctx, name, metav1.GetOptions{})
	e.must(err)
	return lease
}

// Fields that other clients set in the Lease stay when it is acquired, renewed or released: labels, annotations, owners, and
// the fields of coordinated leader election. The holder's fields are as client-go writes them.
func TestLeaseKeepsFieldsOfOthers(t *testing.T) {
	e := private(t, Options{Audit: true, Flags: []string{"--feature-gates", "CoordinatedLeaderElection=true",
		"--runtime-config", "coordination.k8s.io/v1beta1=true"}})
	e.create(NewNode("node-0"))
	holder, preferred, strategy, transitions, seconds := "ghost", "somebody", coordinationv1.OldestEmulationVersion, int32(7), int32(1)
	long := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	theirs, err := e.c.Admin.CoordinationV1().Leases("kube-system").Create(e.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-scheduler", Labels: map[string]string{"team": "a"},
			Annotations:     map[string]string{"example.com/ping": "2026-01-01T00:00:00Z", "example.com/expiry": "never"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u-1"}}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
			AcquireTime: &long, RenewTime: &long, Strategy: &strategy, PreferredHolder: &preferred}}, metav1.CreateOptions{})
	e.must(err)
	if theirs.Spec.Strategy == nil || theirs.Spec.PreferredHolder == nil {
		t.Fatal("the API server does not keep the fields of coordinated leader election itself")
	}
	check := func(what string, want int32, duration int32) *coordinationv1.Lease {
		t.Helper()
		l := e.lease("kube-system", "kube-scheduler")
		same := equality.Semantic.DeepEqual
		if !same(l.Labels, theirs.Labels) || !same(l.Annotations, theirs.Annotations) || !same(l.OwnerReferences, theirs.OwnerReferences) {
			t.Errorf("%s: the metadata has changed: %+v", what, l.ObjectMeta)
		}
		if e.sched == "berth" && (!same(l.Spec.Strategy, &strategy) || !same(l.Spec.PreferredHolder, &preferred)) {
			t.Errorf("%s: the fields of coordinated leader election have changed: %+v", what, l.Spec)
		}
		if *l.Spec.LeaseTransitions != want || *l.Spec.LeaseDurationSeconds != duration {
			t.Errorf("%s: %d transitions and %d seconds, want %d and %d", what, *l.Spec.LeaseTransitions,
				*l.Spec.LeaseDurationSeconds, want, duration)
		}
		return l
	}
	for i := range int32(2) {
		p := e.startAt("scheduler", e.c.Addr(), electing...)
		who := e.led(holder)
		taken := check("taken", transitions+1+i, int32(leaseTime/time.Second))
		var renewed *coordinationv1.Lease
		e.must(e.insistOn(func() error {
			if renewed = e.lease("kube-system", "kube-scheduler"); !renewed.Spec.RenewTime.After(taken.Spec.RenewTime.Time) {
				return errNotYet
			}
			return nil
		}))
		check("renewed", transitions+1+i, int32(leaseTime/time.Second))
		if !renewed.Spec.AcquireTime.Equal(taken.Spec.AcquireTime) || *renewed.Spec.HolderIdentity != who {
			t.Errorf("a renewal is a new term: %+v, then %+v", taken.Spec, renewed.Spec)
		}
		_, err := p.Terminate(patience)
		e.must(err)
		free := check("given back", transitions+1+i, 1)
		if *free.Spec.HolderIdentity != "" || !free.Spec.AcquireTime.Equal(free.Spec.RenewTime) {
			t.Errorf("given back as %+v", free.Spec)
		}
	}
}

var errNotYet = errors.New("not yet")

// Another name and namespace for the Lease; the default one has no holder then. Other kinds of locks are rejected.
func TestLeaseElsewhere(t *testing.T) {
	e := shared(t)
	ours := metav1.ObjectMeta{Name: "elsewhere", Namespace: "default"}
	_, err := e.c.Admin.RbacV1().Roles("default").Create(e.ctx, &rbacv1.Role{ObjectMeta: ours, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"}}}},
		metav1.CreateOptions{})
	e.must(err)
	_, err = e.c.Admin.RbacV1().RoleBindings("default").Create(e.ctx, &rbacv1.RoleBinding{ObjectMeta: ours,
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: schedulerUser}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: ours.Name}}, metav1.CreateOptions{})
	e.must(err)
	e.noLease()
	e.create(NewNode("node-0"), NewPod("web"))
	e.must(e.c.awaitRight(e.ctx, authorizationv1.SubjectAccessReviewSpec{User: schedulerUser,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Verb: "update",
			Namespace: "default", Name: "mine"}}))
	p := e.startAt("scheduler", e.c.Addr(), append([]string{"--leader-elect-resource-name", "mine",
		"--leader-elect-resource-namespace", "default", "--leader-elect-resource-lock", "leases"}, electing...)...)
	e.bound("web")
	lease := e.lease("default", "mine")
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || *lease.Spec.LeaseTransitions != 0 {
		t.Errorf("the lease is %+v", lease.Spec)
	}
	host, id, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if len(id) != 36 || host == "" {
		t.Errorf("the holder is %q, want HOST_UUID", *lease.Spec.HolderIdentity)
	}
	if now := e.holder(); now != "" {
		t.Errorf("the stock lease is held by %q", now)
	}
	e.running(p)

	bad, err := e.c.StartScheduler(e.file("bad"), e.c.Addr(), e.argv, append([]string{"--leader-elect-resource-lock", "endpoints"}, electing...)...)
	e.must(err)
	select {
	case <-bad.Done():
	case <-time.After(patience):
		bad.Kill()
		t.Fatal("a lock that is none is not refused")
	}
	if text := bad.Tail(20); bad.Exit() == "exit status 0" || !strings.Contains(text, "leases") {
		t.Errorf("a lock that is none: %s, %s", bad.Exit(), text)
	}
}

// A ready standby stays ready when it becomes the leader, although it lists the cluster again before it decides: a probe
// must not restart it then.
func TestStandbyStaysReady(t *testing.T) {
	e := shared(t)
	e.noLease()
	e.create(NewNode("node-0"))
	first := e.startAt("first", e.c.Addr(), electing...)
	leader := e.led("")
	_, port := e.serving(electing...)
	_, err := first.Terminate(patience)
	e.must(err)
	e.create(NewPod("one"))
	var since time.Time // when it became the leader
	for requests := 0; since.IsZero() || time.Since(since) < 200*time.Millisecond; requests++ {
		status, text := e.ask(port, "GET", "/readyz?verbose", "", "")
		if status != 200 {
			t.Fatalf("a standby that was ready answers %d after %d times 200: %s", status, requests, text)
		}
		if now := e.holder(); since.IsZero() && now != "" && now != leader {
			since = time.Now()
		}
	}
	e.bound("one")
	e.blameless()
}
