package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// fast lifts the client's limits, so that a burst is bound as fast as it can be.
var fast = []string{"--kube-api-qps", "1000", "--kube-api-burst", "1000"}

// load creates pods in the background at a rate, and continues when the API server is down. It is only a few pods ahead of
// the test, so that there is always work left for the scheduler.
type load struct {
	*env
	done  chan struct{}
	count int
	most  atomic.Int64 // the number of pods allowed so far
	err   error
}

func (e *env) load(count, perSecond int, mods ...PodMod) *load {
	l := &load{env: e, done: make(chan struct{}), count: count}
	go func() {
		defer close(l.done)
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for i := 0; i < count && e.ctx.Err() == nil; {
			if <-tick.C; int64(i) >= l.most.Load() {
				continue
			}
			pod := NewPod(fmt.Sprintf("pod-%d", i), append([]PodMod{Requests("cpu", "100m", "memory", "64Mi")}, mods...)...)
			if l.err = e.insist(pod); l.err != nil {
				return
			}
			i++
		}
	}()
	return l
}

// insist creates an object with retries.
func (e *env) insist(obj runtime.Object) error {
	return e.insistOn(func() error {
		try, stop := context.WithTimeout(e.ctx, 3*time.Second)
		defer stop()
		if err := createOne(try, e.c, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
}

// insistOn retries until success or a timeout.
func (e *env) insistOn(do func() error) error {
	for end := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		err := do()
		if err == nil || e.ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// finished waits until the load is created and bound to the last pod.
func (l *load) finished() {
	e := l.env
	e.Helper()
	l.most.Store(int64(l.count))
	<-l.done
	e.must(l.err)
	if err := e.within(2*patience, func() bool { return e.o.Bound() >= l.count }); err != nil {
		var pending []string
		for _, s := range e.o.Pods(func(s *Seen) bool { return s.Node == "" && !s.Gone }) {
			pending = append(pending, s.Pod.Name)
		}
		slices.Sort(pending)
		if len(pending) == 0 {
			e.Fatalf("%d of %d pods were bound (%v), and none is pending", e.o.Bound(), l.count, err)
		}
		e.Fatalf("%d of %d pods were bound (%v); pending: %s\n%s", e.o.Bound(), l.count, err,
			strings.Join(pending, " "), e.describe(pending[0]))
	}
}

// boundOnce fails if the API server has accepted two bindings for a pod. It may count none: a killed client does not wait
// for the response, and then a successful binding is logged as aborted.
func (e *env) boundOnce(since int, l *load) {
	e.Helper()
	accepted := map[string]int{}
	all, err := e.c.requests()
	e.must(err)
	for _, r := range all[since:] {
		uri, _, _ := strings.Cut(r.RequestURI, "?")
		if pod, ok := strings.CutSuffix(uri, "/binding"); ok && r.Verb == "create" && r.ResponseStatus.Code < 300 {
			accepted[path.Base(pod)]++
		}
	}
	for i := range l.count {
		if name := fmt.Sprintf("pod-%d", i); accepted[name] > 1 {
			e.Errorf("%d bindings of %s were accepted", accepted[name], name)
		}
	}
}

// progress waits for a number of further bindings.
func (l *load) progress(more int) {
	l.Helper()
	goal := min(l.o.Bound()+more, l.count)
	l.most.Store(int64(goal + l.count/20))
	l.await(fmt.Sprintf("%d more pods are bound", more), func() bool { return l.o.Bound() >= goal })
}

// recovers injects a fault and prints the time from its end until the next binding. berth should recover within a second;
// a busy machine gets three, and two more attempts.
func (l *load) recovers(what string, strike func()) {
	l.Helper()
	for attempt := 1; ; attempt++ {
		l.progress(50)
		strike()
		began := time.Now()
		l.progress(1)
		took := time.Since(began)
		fmt.Printf("%s: the next binding came after %v (%s)\n", what, took.Round(time.Millisecond), l.sched)
		if l.sched != "berth" || took <= 3*time.Second {
			return
		}
		if attempt == 3 {
			l.Errorf("%s: the next binding came after %v, and no sooner in two attempts before", what, took)
			return
		}
	}
}

// known reports a consequence of a lost response. The reference treats a binding whose response was lost as failed, and
// frees resources and devices of the pod. That is known, and is an error only for other schedulers.
func (e *env) known(format string, args ...any) {
	e.Helper()
	if e.sched == "kube-scheduler" {
		e.Logf("known of kube-scheduler: "+format, args...)
		return
	}
	e.Errorf(format, args...)
}

// faultless fails for violations that must not happen even if responses were lost.
func (e *env) faultless() {
	e.Helper()
	for _, wrong := range e.o.Wrongs() {
		if wrong.Kind == Overcommitted {
			e.known("%s: %s", wrong.Kind, wrong.Text)
		} else {
			e.Errorf("%s: %s", wrong.Kind, wrong.Text)
		}
	}
}

// tight is a cluster with just enough capacity for count pods of a load.
func (e *env) tight(count int) {
	e.Helper()
	e.create(objects(Nodes("node", (count+19)/20, Allocatable("cpu", "2"))...)...)
}

// Killed repeatedly during a burst: the next scheduler continues, and no pod is bound twice.
func TestSchedulerIsKilledInABurst(t *testing.T) {
	e := shared(t)
	before, err := e.c.requests()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	e.tight(600)
	p := e.start(fast...)
	l := e.load(600, 100)
	for range 5 {
		l.progress(60)
		p.Kill()
		p = e.start(fast...)
	}
	l.finished()
	e.boundOnce(len(before), l)
	e.faultless()
	e.running(p)
}

func TestSchedulerIsPausedInABurst(t *testing.T) {
	e := shared(t)
	e.tight(300)
	p := e.start(fast...)
	l := e.load(300, 100)
	l.recovers("scheduler paused for 3 s", func() {
		p.Pause()
		time.Sleep(3 * time.Second) // the duration of the fault
		p.Resume()
	})
	l.finished()
	e.faultless()
	e.running(p)
}

func TestAPIServerIsRestarted(t *testing.T) {
	e := private(t, Options{Audit: true})
	e.tight(600)
	p := e.start(fast...)
	l := e.load(600, 100)
	for range 2 {
		l.recovers("API server restarted", func() {
			e.c.KillAPI()
			e.must(e.c.RestartAPI(e.ctx))
		})
	}
	l.finished()
	e.faultless()
	e.running(p)
}

func TestAPIServerIsPaused(t *testing.T) {
	e := private(t, Options{Audit: true})
	e.tight(600)
	p := e.start(fast...)
	l := e.load(600, 100)
	pauses := []time.Duration{2 * time.Second, 8 * time.Second}
	if testing.Short() {
		pauses = pauses[:1]
	}
	for _, pause := range pauses {
		l.recovers(fmt.Sprintf("API server paused for %v", pause), func() {
			e.c.PauseAPI()
			time.Sleep(pause)
			e.c.ResumeAPI()
		})
	}
	l.finished()
	e.faultless()
	e.running(p)
}

// The network between scheduler and API server is cut, or swallows everything for a while.
func TestPartition(t *testing.T) {
	e := shared(t)
	relay, err := NewRelay(e.c.Addr())
	e.must(err)
	t.Cleanup(relay.Close)
	e.tight(600)
	p := e.startAt("scheduler", relay.Addr, fast...)
	l := e.load(600, 100)
	pause := 5 * time.Second
	if testing.Short() {
		pause = 2 * time.Second
	}
	l.recovers("connections cut", relay.Cut)
	l.recovers(fmt.Sprintf("connections held back for %v", pause), func() {
		relay.Hold()
		time.Sleep(pause)
		relay.Heal()
	})
	l.recovers(fmt.Sprintf("connections held back for %v, then cut", pause), func() {
		relay.Hold()
		time.Sleep(pause)
		relay.Cut()
	})
	l.finished()
	e.faultless()
	e.running(p)
}

// Requests arrive, responses are lost: pods that were bound anyway use resources, which no other pod gets.
func TestBerthDoesNotOvercommitAfterLostResponses(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler takes a binding whose answer was lost for one that failed, and gives the room away again")
	relay, err := NewRelay(e.c.Addr())
	e.must(err)
	t.Cleanup(relay.Close)
	e.tight(400)
	p := e.startAt("scheduler", relay.Addr, fast...)
	l := e.load(400, 100)
	for range 8 {
		l.progress(20)
		relay.HoldAnswers()
		time.Sleep(200 * time.Millisecond) // the duration of the fault
		relay.Cut()
	}
	l.finished()
	e.blameless()
	e.running(p)
}

// Two schedulers with different names: each schedules its own pods.
func TestTwoSchedulersSideBySide(t *testing.T) {
	e := shared(t)
	e.create(objects(Nodes("node", 10)...)...)
	first := e.startAt("first", e.c.Addr())
	second := e.startAt("second", e.c.Addr(), e.config("second", "profiles: [{schedulerName: second-scheduler}]\n")...)
	e.create(NewPod("warm-1"), NewPod("warm-2", of("second-scheduler")))
	e.bound("warm-1")
	e.bound("warm-2")
	var pods []runtime.Object
	for i := range 100 {
		pods = append(pods, NewPod(fmt.Sprintf("one-%d", i), Requests("cpu", "10m")),
			NewPod(fmt.Sprintf("two-%d", i), Requests("cpu", "10m"), of("second-scheduler")))
	}
	e.createAll(pods)
	e.await("all are bound", func() bool { return e.o.Bound() == len(pods)+2 })
	for _, obj := range pods {
		pod := obj.(*v1.Pod)
		want := pod.Spec.SchedulerName
		if want == "" {
			want = "default-scheduler"
		}
		node := e.o.Pod(key(pod.Name)).Node
		event := e.event(pod.Name, "Scheduled", fmt.Sprintf("Successfully assigned default/%s to %s", pod.Name, node))
		if event.ReportingController != want {
			t.Errorf("%s was scheduled by %s, want %s", pod.Name, event.ReportingController, want)
		}
	}
	first.Kill()
	e.create(NewPod("orphan"), NewPod("cared-for", of("second-scheduler")))
	e.bound("cared-for")
	if s := e.o.Pod(key("orphan")); s.Node != "" {
		t.Errorf("a pod of the scheduler that is gone was bound to %s", s.Node)
	}
	e.blameless()
	e.running(second)
}

func of(scheduler string) PodMod { return func(p *v1.Pod) { p.Spec.SchedulerName = scheduler } }
