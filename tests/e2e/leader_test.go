package e2e

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Leases that pass soon, so that the tests need not wait for long.
const leaseTime = 3 * time.Second

var electing = []string{"--leader-elect=true", "--leader-elect-lease-duration", leaseTime.String(),
	"--leader-elect-renew-deadline", "2s", "--leader-elect-retry-period", "500ms"}

// holder is who leads according to the stock lease; "" if nobody does.
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

// led waits until somebody other than before leads. The lease is not watched, so it is asked for again and again.
func (e *env) led(before string) string {
	e.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now := e.holder(); now != "" && now != before {
			return now
		}
	}
	e.Fatalf("nobody followed %q within %v", before, patience)
	return ""
}

// election starts with no lease and two schedulers, of which the first leads.
func election(t *testing.T) (e *env, first, second *Proc) {
	e = shared(t)
	leases := e.c.Admin.CoordinationV1().Leases("kube-system")
	if err := leases.Delete(e.ctx, "kube-scheduler", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	e.create(NewNode("node-0"))
	first = e.startAt("first", e.c.Addr(), electing...)
	e.led("")
	second = e.startAt("second", e.c.Addr(), electing...)
	e.create(NewPod("one"))
	e.bound("one")
	return e, first, second
}

// A leader that crashes is followed when its lease has passed; one that is asked to end gives the lease back.
func TestLeaderIsFollowed(t *testing.T) {
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
	took, err := second.Terminate(10 * time.Second)
	e.must(err)
	if second.Exit() != "exit status 0" {
		t.Errorf("a leader that was asked to end left with %s", second.Exit())
	}
	if e.holder() == leader {
		t.Errorf("the lease was not given back; the end took %v", took)
	}
	e.create(NewPod("three"))
	e.bound("three")
	e.running(third)
	e.blameless()
}

// A leader that was stopped for longer than its lease leads no more: it ends, and does no harm before.
func TestStoppedLeaderIsFollowed(t *testing.T) {
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
	first.byUs.Store(true) // as expected: the rest of the test does not depend on it
	e.create(NewPod("three"))
	e.bound("three")
	e.running(second)
	e.blameless()
}
