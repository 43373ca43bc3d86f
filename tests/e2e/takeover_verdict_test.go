package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The checks of a contest (takeover_test.go).

func kindOf(who string) string { return who[:strings.LastIndexByte(who, '-')] }

// blame reports a violation by berth; one by kube-scheduler is only noted.
func (c *contest) blame(who, format string, args ...any) {
	c.Helper()
	text := fmt.Sprintf(format, args...)
	if kindOf(who) == "kube-scheduler" {
		c.known = append(c.known, text)
		return
	}
	c.fail("%s", text)
}

// judge checks everything since its last call.
func (c *contest) judge(n int, way string) {
	c.Helper()
	c.known = c.known[:0]
	before := c.failures
	all := c.terms()
	c.l.mu.Lock()
	bindings, writes, lists := slices.Clone(c.l.bindings), slices.Clone(c.l.writes), slices.Clone(c.l.lists)
	c.l.mu.Unlock()
	c.judgeTerms(all, bindings, writes)
	c.judgeViews(all, bindings, lists)
	c.judgePods(all, bindings)
	if c.failures > before {
		c.Fatalf("that was in round %d: %s", n, way)
	}
}

// A leader's writes are received between its own first write of the Lease and the next one's, and done before the next one
// binds. A binding that the network held back may be received later if the API server dropped it: its connection was reset
// at the renew deadline.
func (c *contest) judgeTerms(all []term, bindings, writes []deed) {
	c.Helper()
	at, next, follows := map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	for i, t := range all {
		at[t.who] = t.first.received
		if i+1 < len(all) {
			next[t.who] = all[i+1].first.received
		}
	}
	firsts := map[string]time.Time{}
	for _, d := range bindings {
		if first, ok := firsts[d.who]; !ok || d.received.Before(first) {
			firsts[d.who] = d.received
		}
	}
	for i := range all[:len(all)-1] {
		if first, ok := firsts[all[i+1].who]; ok {
			follows[all[i].who] = first
		}
	}
	for i, d := range slices.Concat(bindings, writes) {
		begin, led := at[d.who]
		end, isOver := next[d.who]
		first, followed := follows[d.who]
		switch {
		case !led || d.received.Before(begin):
			c.blame(d.who, "%s wrote %s without the Lease (code %d)", d.who, d.pod, d.code)
		case isOver && d.received.After(end) && !(i < len(bindings) && c.wasDropped(d, bindings)):
			c.blame(d.who, "%s wrote %s %v after the next one had the Lease (code %d)", d.who, d.pod, d.received.Sub(end), d.code)
		case followed && d.done.After(first) && d.accepted():
			c.blame(d.who, "%s was at %s until %v after the next one had begun", d.who, d.pod, d.done.Sub(first))
		}
	}
}

// wasDropped is whether a binding whose client has gone has bound nothing: its pod waits, or another binding was accepted. The
// API server answers 504 to the client of a connection that was reset.
func (c *contest) wasDropped(d deed, bindings []deed) bool {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	return d.maybe() && (c.r.where[d.pod] == "" ||
		slices.ContainsFunc(bindings, func(other deed) bool { return other.pod == d.pod && other.accepted() }))
}

// Between the Lease and its first binding, a new leader has listed everything that leaders write, or had it streamed.
func (c *contest) judgeViews(all []term, bindings, lists []deed) {
	c.Helper()
	for _, t := range all {
		first := slices.IndexFunc(bindings, func(d deed) bool { return d.who == t.who })
		if first < 0 || kindOf(t.who) == "kube-scheduler" {
			continue
		}
		for _, kind := range []string{"pods", "persistentvolumes", "persistentvolumeclaims", "resourceclaims"} {
			if !slices.ContainsFunc(lists, func(d deed) bool {
				return d.who == t.who && d.pod == kind && d.received.After(t.first.received) && !d.done.After(bindings[first].received)
			}) {
				c.fail("%s bound %s before it had read the %s anew", t.who, bindings[first].pod, kind)
			}
		}
	}
}

// A pod is bound once, and no node is overcommitted.
func (c *contest) judgePods(all []term, bindings []deed) {
	c.Helper()
	began := map[string]time.Time{}
	for _, t := range all {
		began[t.who] = t.first.received
	}
	yes, perhaps := map[string]deed{}, map[string]deed{}
	for _, d := range bindings {
		if d.accepted() {
			if other, twice := yes[d.pod]; twice {
				c.fail("%s was bound by %s and by %s", d.pod, other.who, d.who)
			}
			yes[d.pod] = d
		} else if d.maybe() {
			perhaps[d.pod] = d
		}
	}
	binder := func(pod string) deed {
		if d, ok := yes[pod]; ok {
			return d
		}
		return perhaps[pod]
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	for _, move := range c.r.moved {
		c.fail("a pod moved: %s", move)
	}
	for _, f := range c.r.throngs {
		last := binder(f.last)
		guilty := last.who
		if guilty == "" {
			continue // its line has not been read yet
		}
		for _, pod := range f.pods {
			// Bound concurrently with the new leader, which could not know it.
			if d := binder(pod); d.who != "" && kindOf(d.who) == "kube-scheduler" && d.done.After(began[last.who]) {
				guilty = d.who
			}
		}
		c.blame(guilty, "%s holds %dm of %dm with %s, bound by %s", f.node, f.used, nodeMilli, f.last, last.who)
	}
}
