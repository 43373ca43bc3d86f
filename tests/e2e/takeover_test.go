package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Takeovers under load. Two schedulers share a Lease while pods come and go, beyond the capacity of the cluster; repeatedly
// the leader is killed, stopped, cut off or terminated, the other one takes over, and the first is replaced.
//
// Every scheduler has a certificate with its own group, so that the audit log names the client of each request. Checks: a
// pod is bound once; no node is ever overcommitted; no write of a leader reaches the API server once another holds the
// Lease; a new leader lists pods, volumes and claims before it binds any; the Lease changes hands within the time of leader
// election, and counts its transitions.
//
// If one of the two is kube-scheduler, only berth is checked: kube-scheduler keeps binding for a moment after it was
// stopped for longer than its lease, and frees the resources of a binding whose response was lost.
//
//	E2E_TAKEOVERS  how many [50; with -short 3], of each direction where the two are not the same
//	E2E_SEED       of the faults and their times [random; it is printed]
//	E2E_FAULT      the name of one of the faults: no others

// The times of these elections: a standby checks every 1 to 2.2 retry periods. It may see the last renewal that late, waits
// for the duration of the lease from then on, and checks again that late.
const (
	takeoverLease   = 4 * time.Second
	takeoverRenew   = 3 * time.Second
	takeoverRetry   = 500 * time.Millisecond
	takeoverPromise = takeoverLease + 2*takeoverRetry*22/10
	takeoverMargin  = 3 * time.Second // of a busy machine
)

var takeoverFlags = append([]string{"--leader-elect=true", "--leader-elect-lease-duration", takeoverLease.String(),
	"--leader-elect-renew-deadline", takeoverRenew.String(), "--leader-elect-retry-period", takeoverRetry.String(), "-v", "2"}, fast...)

// ---- the contest ----

// contender is a scheduler that leads or stands by.
type contender struct {
	name, kind string
	proc       *Proc
	relay      *Relay
}

// term is the time of one leader: from its first write of the Lease to the next leader's.
type term struct {
	who         string
	first, last deed
}

type contest struct {
	*env
	rng      *mathrand.Rand
	l        *ledger
	r        *usage
	live     []*contender
	count    map[string]int // of contenders by kind
	took     map[string][]time.Duration
	failures int
	known    []string // violations by kube-scheduler

	load    sync.WaitGroup
	ending  context.CancelFunc // of the creation of pods
	created int                // by one goroutine, read when it has ended
}

// certify makes credentials of the scheduler's user with a group that names the contender.
func (c *Cluster) certify(name string) (Credentials, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:  pkix.Name{CommonName: schedulerUser, Organization: []string{"contender:" + name}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: c.authority.signed.NotBefore, NotAfter: c.authority.signed.NotAfter}
	der, err := x509.CreateCertificate(rand.Reader, template, c.authority.signed, &key.PublicKey, c.authority.key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	return Credentials{
		"client-certificate-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"client-key-data":         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})}, err
}

// enter starts a contender behind its own relay.
func (c *contest) enter(kind string) *contender {
	c.Helper()
	c.count[kind]++
	p := &contender{name: fmt.Sprintf("%s-%d", kind, c.count[kind]), kind: kind}
	argv := c.argv
	var err error
	if kind == "kube-scheduler" {
		argv, err = ReferenceCommand()
		c.must(err)
	}
	user, err := c.c.certify(p.name)
	c.must(err)
	p.relay, err = NewRelay(c.c.Addr())
	c.must(err)
	c.Cleanup(p.relay.Close)
	p.proc, err = c.c.StartSchedulerAs(user, c.file(p.name), p.relay.Addr, argv, takeoverFlags...)
	c.must(err)
	c.live = append(c.live, p)
	return p
}

func (c *contest) leave(p *contender) {
	c.live = slices.DeleteFunc(c.live, func(other *contender) bool { return other == p })
	p.relay.Close()
}

// fail reports a violation and continues the contest.
func (c *contest) fail(format string, args ...any) {
	c.Helper()
	if c.failures++; c.failures <= 20 {
		c.Errorf(format, args...)
	}
}

// until waits for a condition of the ledger or the usage.
func (c *contest) until(limit time.Duration, what string, done func() bool) {
	c.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			var states []string
			for _, p := range c.live {
				states = append(states, fmt.Sprintf("%s alive %v", p.name, p.proc.Alive()))
			}
			c.Fatalf("this did not happen within %v: %s (%s; %d pods wait)", limit, what, strings.Join(states, ", "),
				len(c.r.unbound()))
		}
	}
}

func (c *contest) terms() []term {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	var all []term
	for _, d := range c.l.leases {
		if n := len(all); n > 0 && all[n-1].who == d.who {
			all[n-1].last = d
		} else {
			all = append(all, term{d.who, d, d})
		}
	}
	return all
}

func (c *contest) bindingsOf(p *contender) (n int) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	for i := range c.l.bindings {
		if c.l.bindings[i].who == p.name && c.l.bindings[i].accepted() {
			n++
		}
	}
	return n
}

func (c *contest) looksOf(p *contender) int {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.l.looks[p.name]
}

// pods are created as long as not too many wait, and deleted when they have been bound for a while.
func (c *contest) begin(rng *mathrand.Rand) {
	const most, waitingMost, perSecond = 30, 60, 60
	c.create(objects(Nodes("node", most, Allocatable("cpu", fmt.Sprintf("%dm", nodeMilli)))...)...)
	pods, now := c.c.Admin.CoreV1().Pods("default"), int64(0)
	c.r = &usage{nodes: map[string]map[string]int64{}, where: map[string]string{}}
	c.r.onBound = func(name string) {
		life := 500*time.Millisecond + time.Duration(mathrand.Int64N(int64(2*time.Second)))
		time.AfterFunc(life, func() {
			for c.ctx.Err() == nil {
				err := pods.Delete(c.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
				if err == nil || apierrors.IsNotFound(err) {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	f := &feed{known: map[types.UID]runtime.Object{}, apply: c.r.apply,
		list:  func(o metav1.ListOptions) (runtime.Object, error) { return pods.List(c.ctx, o) },
		watch: func(o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(c.ctx, o) }}
	c.must(f.sync())
	go f.run(c.ctx)

	ctx, ending := context.WithCancel(c.ctx)
	c.ending = ending
	c.load.Go(func() {
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			c.r.mu.Lock()
			waiting := c.r.waiting
			c.r.mu.Unlock()
			if waiting >= waitingMost {
				continue
			}
			size := []string{"100m", "200m", "300m", "500m"}[rng.IntN(4)]
			if err := c.insist(NewPod(fmt.Sprintf("pod-%d", c.created), Requests("cpu", size))); err != nil {
				if ctx.Err() == nil {
					c.Errorf("pods cannot be created: %v", err)
				}
				return
			}
			c.created++
		}
	})
}

// ---- faults ----

// fault injects a fault into a leader. It returns a function to call once another one leads, and the additional time that
// this may take.
type fault struct {
	name   string
	exits  string // how the leader ends
	extra  time.Duration
	strike func(c *contest, leader *contender) (after func())
}

var takeoverFaults = []fault{
	{"SIGKILL", "signal: killed", 0, func(c *contest, p *contender) func() {
		p.proc.Kill()
		return func() {}
	}},
	{"SIGSTOP", "exit status 1", 0, func(c *contest, p *contender) func() {
		p.proc.Pause()
		return func() {
			time.Sleep(time.Duration(c.rng.Int64N(int64(2 * time.Second)))) // the duration of the fault
			p.proc.Resume()
		}
	}},
	{"partition", "exit status 1", 0, func(c *contest, p *contender) func() {
		p.relay.Hold()
		return p.relay.Cut
	}},
	// What it sent arrives when another leads, unless it has taken it back.
	{"held back", "exit status 1", 0, func(c *contest, p *contender) func() {
		p.relay.Hold()
		return p.relay.Heal
	}},
	// Its writes arrive, including renewals of the Lease, but the responses are lost.
	{"answers lost", "exit status 1", takeoverRenew, func(c *contest, p *contender) func() {
		p.relay.HoldAnswers()
		return p.relay.Cut
	}},
	{"SIGTERM", "exit status 0", 0, func(c *contest, p *contender) func() {
		go p.proc.Terminate(patience)
		return func() {}
	}},
}

// round injects a fault into the leader, waits until the other one leads, and replaces the first.
func (c *contest) round(n int, f fault) {
	c.Helper()
	c.until(patience, "somebody leads", func() bool { return len(c.terms()) > 0 })
	before := c.terms()
	who := before[len(before)-1].who
	i := slices.IndexFunc(c.live, func(p *contender) bool { return p.name == who })
	if i < 0 {
		c.Fatalf("%s leads, and should be gone", who)
	}
	leader, standby := c.live[i], c.live[1-i]
	c.until(patience, standby.name+" looks at the Lease", func() bool { return c.looksOf(standby) >= 2 })
	enough := c.bindingsOf(leader) + c.rng.IntN(60)
	c.until(2*patience, leader.name+" binds", func() bool { return c.bindingsOf(leader) > enough })
	time.Sleep(time.Duration(c.rng.Int64N(int64(2 * takeoverRetry)))) // at any point between two renewals

	struck := time.Now()
	after := f.strike(c, leader)
	limit := takeoverPromise + f.extra + takeoverMargin
	var next term
	c.until(limit+patience, standby.name+" leads", func() bool {
		all := c.terms()
		next = all[len(all)-1]
		return next.who != who
	})
	took := next.first.done.Sub(struck)
	way := leader.kind + " → " + standby.kind + ", " + f.name
	c.took[way] = append(c.took[way], took)
	if took > limit {
		c.fail("round %d, %s: the Lease changed hands after %v", n, way, took)
	}
	if next.who != standby.name || len(c.terms()) != len(before)+1 {
		c.fail("round %d, %s: the Lease went to %s and on", n, way, next.who)
	}
	after()
	c.ended(n, way, leader, f)
	c.transitions(n, way, len(before))
	c.leave(leader)
	c.enter(leader.kind)
	c.judge(n, way)
}

func (c *contest) ended(n int, way string, p *contender, f fault) {
	c.Helper()
	select {
	case <-p.proc.Done():
		if p.proc.Exit() != f.exits {
			c.fail("round %d, %s: the leader ended with %s, want %s", n, way, p.proc.Exit(), f.exits)
		}
	case <-time.After(patience):
		c.fail("round %d, %s: who lost the Lease goes on", n, way)
		p.proc.Kill()
	}
}

// transitions: the first leader created the Lease, and each later one has incremented the count.
func (c *contest) transitions(n int, way string, want int) {
	c.Helper()
	lease, err := c.c.Admin.CoordinationV1().Leases("kube-system").Get(c.ctx, "kube-scheduler", metav1.GetOptions{})
	c.must(err)
	if got := *lease.Spec.LeaseTransitions; got != int32(want) {
		c.fail("round %d, %s: the Lease counts %d transitions, want %d", n, way, got, want)
	}
}

// ---- the end ----

// finish lets all pods be bound, and counts them.
func (c *contest) finish() {
	c.Helper()
	c.ending()
	c.load.Wait()
	c.until(2*patience, "every pod is bound", func() bool { return len(c.r.unbound()) == 0 })
	accepted, maybe := map[string]bool{}, map[string]bool{}
	c.until(patience, "the audit log tells of every pod", func() bool {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		for i := range c.l.bindings {
			d := &c.l.bindings[i]
			accepted[d.pod], maybe[d.pod] = accepted[d.pod] || d.accepted(), maybe[d.pod] || d.maybe()
		}
		for i := range c.created {
			if name := fmt.Sprintf("pod-%d", i); !accepted[name] && !maybe[name] {
				return false
			}
		}
		return true
	})
	broken := 0
	for i := range c.created {
		name := fmt.Sprintf("pod-%d", i)
		switch {
		case c.r.where[name] == "":
			c.fail("%s was lost", name)
		case !accepted[name]:
			broken++
		}
	}
	c.judge(len(c.terms())-1, "after the last")
	fmt.Printf("%d pods were bound once each; of %d, the binder was gone before it was told\n", c.created, broken)
}

func (c *contest) report() {
	for _, way := range slices.Sorted(maps.Keys(c.took)) {
		times := slices.Sorted(slices.Values(c.took[way]))
		round := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
		fmt.Printf("%-45s %3d take-overs: min %v, median %v, max %v\n", way, len(times), round(times[0]),
			round(times[len(times)/2]), round(times[len(times)-1]))
	}
	late, full := 0, 0
	for _, text := range c.known {
		if strings.Contains(text, " holds ") {
			full++
		} else {
			late++
		}
	}
	if late+full > 0 {
		fmt.Printf("known of kube-scheduler: %d writes beside the next leader, %d nodes that it overcommitted\n", late, full)
	}
}

func takeoverCount() int {
	if n, err := strconv.Atoi(os.Getenv("E2E_TAKEOVERS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return 3
	}
	return 50
}

func takeovers(t *testing.T, count int, kinds ...string) {
	seed, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano() % 1000000)
	}
	if name, _, _ := UnderTest(); name == "kube-scheduler" {
		t.Skip("it is berth that is judged here")
	}
	fmt.Printf("%s: %d take-overs, E2E_SEED=%d\n", t.Name(), count, seed)
	e := private(t, Options{Audit: true})
	e.o.Close() // the contest has its own watches
	c := &contest{env: e, rng: mathrand.New(mathrand.NewPCG(seed, 1)), count: map[string]int{},
		took: map[string][]time.Duration{}, l: follow(e.ctx, e.c.path("audit.log"))}
	t.Cleanup(func() {
		c.ending()
		c.load.Wait()
		c.l.close()
	})
	c.begin(mathrand.New(mathrand.NewPCG(seed, 2)))
	for _, kind := range kinds {
		c.enter(kind)
	}
	t.Cleanup(c.report)
	only := os.Getenv("E2E_FAULT")
	faults := slices.DeleteFunc(slices.Clone(takeoverFaults), func(f fault) bool { return only != "" && f.name != only })
	if len(faults) == 0 {
		t.Fatalf("there is no fault %q", only)
	}
	// Each fault equally often, for each kind of leader, in random order.
	bags := map[string][]fault{}
	for n := range count {
		c.until(patience, "somebody leads", func() bool { return len(c.terms()) > 0 })
		all := c.terms()
		kind := kindOf(all[len(all)-1].who)
		if len(bags[kind]) == 0 {
			bags[kind] = faultsOf(kind, faults)
			c.rng.Shuffle(len(bags[kind]), func(i, j int) { bags[kind][i], bags[kind][j] = bags[kind][j], bags[kind][i] })
		}
		f := bags[kind][0]
		bags[kind] = bags[kind][1:]
		c.round(n, f)
	}
	c.finish()
}

// A kube-scheduler that was held back or stopped may give up a Lease that is not its own any more: it reads the Lease of the
// next leader, and writes it without a holder. The next leader's writes until it sees that cannot be judged.
func faultsOf(kind string, faults []fault) []fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return kind == "kube-scheduler" && (f.name == "held back" || f.name == "SIGSTOP") && len(faults) > 1
	})
}

func TestTakeovers(t *testing.T) { takeovers(t, takeoverCount(), "berth", "berth") }

// The two take over from each other, in both directions.
func TestTakeoversBetweenBerthAndKubeScheduler(t *testing.T) {
	reference, err := ReferenceCommand()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(reference[0]); err != nil {
		t.Skip("kube-scheduler is not among the parts: tests/e2e/parts/build kube-scheduler")
	}
	takeovers(t, 2*takeoverCount(), "berth", "kube-scheduler")
}
