package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var coordinating = append([]string{"--feature-gates=CoordinatedLeaderElection=true"}, electing...)

// coordinated is a cluster whose API server assigns the lease.
func coordinated(t *testing.T) *env {
	e := private(t, Options{Flags: []string{"--feature-gates", "CoordinatedLeaderElection=true",
		"--runtime-config", "coordination.k8s.io/v1beta1=true"}})
	e.create(NewNode("node-0"))
	return e
}

// starts runs a scheduler that is not necessarily the one under test.
func (e *env) starts(name string, argv []string, flags ...string) *Proc {
	e.Helper()
	p, err := e.c.StartScheduler(e.file(name), e.c.Addr(), argv, flags...)
	e.must(err)
	e.procs = append(e.procs, p)
	return p
}

// candidates are all candidates, by name.
func (e *env) candidates() map[string]coordinationv1beta1.LeaseCandidateSpec {
	e.Helper()
	list, err := e.c.Admin.CoordinationV1beta1().LeaseCandidates("kube-system").List(e.ctx, metav1.ListOptions{})
	e.must(err)
	all := map[string]coordinationv1beta1.LeaseCandidateSpec{}
	for _, c := range list.Items {
		all[c.Name] = c.Spec
	}
	return all
}

// bothElectors are the schedulers with the command that starts each of them, without a version to emulate.
func bothElectors(t *testing.T) map[string][]string {
	reference, berth := bothCommands(t)
	berth = slices.DeleteFunc(slices.Clone(berth), func(arg string) bool { return strings.HasPrefix(arg, "--emulated-version") })
	return map[string][]string{"kube-scheduler": reference, "berth": berth}
}

// A scheduler of either kind leads when the API server names it, and is replaced when it ends. The candidates are alike.
func TestCoordinatedElection(t *testing.T) {
	electors := bothElectors(t)
	e := coordinated(t)
	release := "--emulated-version=" + Release()
	specs := map[string]coordinationv1beta1.LeaseCandidateSpec{}
	procs := map[string]*Proc{}
	for _, name := range []string{"berth", "kube-scheduler"} {
		known := e.candidates()
		procs[name] = e.starts(name, electors[name], append([]string{release}, coordinating...)...)
		e.eventually(name+" is a candidate", func() error {
			for id, spec := range e.candidates() {
				if _, was := known[id]; !was {
					specs[name] = spec
					return nil
				}
			}
			return errNotYet
		})
		// Of two candidates that were created in the same second the API server prefers now one, now the other.
		begun := time.Now()
		e.eventually("the second is over", func() error {
			if time.Now().Unix() > begun.Unix()+1 {
				return nil
			}
			return errNotYet
		})
	}
	if got, want := specs["berth"], specs["kube-scheduler"]; got.LeaseName != want.LeaseName || got.Strategy != want.Strategy ||
		got.BinaryVersion != want.BinaryVersion || got.EmulationVersion != want.EmulationVersion {
		t.Errorf("berth's candidate is %+v, kube-scheduler's %+v", got, want)
	}
	for i := range 2 {
		leader := e.led("")
		pod := fmt.Sprint("pod-", i)
		e.create(NewPod(pod))
		e.bound(pod)
		lease := e.lease("kube-system", "kube-scheduler")
		if lease.Spec.Strategy == nil || *lease.Spec.Strategy != coordinationv1.OldestEmulationVersion ||
			*lease.Spec.LeaseDurationSeconds != int32(leaseTime/time.Second) || *lease.Spec.HolderIdentity != leader {
			t.Errorf("the lease of %s is %+v", leader, lease.Spec)
		}
		if i == 0 { // the leader ends: the other one follows
			for name, p := range procs {
				if strings.Contains(p.Tail(1000), "Successfully acquired lease") {
					t.Logf("%s leads first", name)
					_, err := p.Terminate(patience)
					e.must(err)
					break // by now the other one may lead
				}
			}
			e.led(leader)
		}
	}
	e.blameless()
}

// A leader whose term the API server ends gives the lease back, and ends with an error; the preferred scheduler follows.
func TestCoordinatedTermsEnd(t *testing.T) {
	if Release() != DefaultRelease {
		t.Skip("berth emulates no release before " + Release())
	}
	electors := bothElectors(t)
	for _, pair := range [][2]string{{"berth", "berth"}, {"berth", "kube-scheduler"}, {"kube-scheduler", "berth"}} {
		t.Run(pair[0]+" then "+pair[1], func(t *testing.T) {
			e := coordinated(t)
			first := e.starts("first", electors[pair[0]], append([]string{"--emulated-version=1.37"}, coordinating...)...)
			before := e.led("")
			e.create(NewPod("one"))
			e.bound("one")
			second := e.starts("second", electors[pair[1]], append([]string{"--emulated-version=1.36"}, coordinating...)...)
			e.eventually("the first one ends", func() error {
				if first.Alive() {
					return errNotYet
				}
				return nil
			})
			if !strings.Contains(first.Tail(20), "Leaderelection lost") || first.Exit() != "exit status 1" {
				t.Errorf("%s ended with %s: %s", pair[0], first.Exit(), first.Tail(20))
			}
			e.procs = slices.DeleteFunc(e.procs, func(p *Proc) bool { return p == first }) // it has ended as it shall
			e.led(before)
			e.create(NewPod("two"))
			e.bound("two")
			e.running(second)
			e.blameless()
		})
	}
}

// The page of readiness tells of the candidate, as kube-scheduler's does.
func TestCoordinatedReadiness(t *testing.T) {
	e := coordinated(t)
	_, port := e.serving(coordinating...)
	_, text := e.ask(port, "GET", "/readyz?verbose", adminToken, "")
	if !strings.Contains(text, "[+]sched-handler-sync ok\n[+]informer-sync ok\n") {
		t.Errorf("/readyz: %s", text)
	}
}
