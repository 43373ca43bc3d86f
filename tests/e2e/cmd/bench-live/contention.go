package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth.example/e2e"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A full cluster: pods of equal priority wait, pods of high priority preempt, and places become free at a steady rate.
const (
	fullNodes     = 200
	podsPerNode   = 4
	waitingPods   = 500
	freedEvery    = 100 * time.Millisecond
	contendedFor  = 30 * time.Second
	kubeletTakes  = time.Second // until a pod that is being deleted has left its node
	kubeletPeriod = 50 * time.Millisecond
)

// contended is what a scheduler used and wrote in that time.
type contended struct {
	name     string
	cpu      time.Duration
	bound    int
	requests map[string]int // by verb and subresource
	again    int            // victims that were deleted more than once
}

// compareContention runs each scheduler on a full cluster, with and without pods that preempt.
func compareContention(ctx context.Context, contenders []scheduler, preemptors int) error {
	var results []contended
	for _, candidate := range contenders {
		for _, count := range []int{preemptors, 0} {
			r, err := contend(ctx, candidate, count)
			if err != nil {
				return err
			}
			results = append(results, *r)
		}
	}
	fmt.Printf("\n%d full nodes, %d waiting pods, a place is freed every %v, for %v\n", fullNodes, waitingPods, freedEvery, contendedFor)
	fmt.Printf("%-36s %8s %8s %10s %10s %10s %8s\n", "", "CPU", "bound", "bindings", "patches", "deletions", "twice")
	for _, r := range results {
		fmt.Printf("%-36s %8s %8d %10d %10d %10d %8d\n", r.name, r.cpu.Round(10*time.Millisecond), r.bound,
			r.requests["create binding"], r.requests["patch status"], r.requests["delete "], r.again)
	}
	return nil
}

func contend(ctx context.Context, candidate scheduler, preemptors int) (*contended, error) {
	c, err := e2e.Start(ctx, e2e.Options{Audit: true})
	if err != nil {
		return nil, err
	}
	defer c.Remove()
	defer c.Stop()
	if err := fill(ctx, c); err != nil {
		return nil, err
	}
	o, err := c.Observe(ctx)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	p, err := c.StartScheduler("contention", c.Addr(), candidate.argv,
		append([]string{"--kube-api-qps", "10000", "--kube-api-burst", "10000"}, candidate.flags...)...)
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	waiting := func() int { return len(o.Pods(func(s *e2e.Seen) bool { return s.Node == "" && refused(s) })) }
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := o.Await(limited, func() bool { return waiting() == waitingPods }); err != nil {
		return nil, fmt.Errorf("%s: the pods were not refused: %w", candidate.name, err)
	}
	before, cpu, bound := countRequests(c), p.Usage().CPU, o.Bound()
	if err := createPods(ctx, c, "high", preemptors, func(p *v1.Pod) { p.Spec.PriorityClassName = "high" }); err != nil {
		return nil, err
	}
	leave(ctx, c, o)
	r := &contended{name: candidate.name, cpu: p.Usage().CPU - cpu, bound: o.Bound() - bound, requests: countRequests(c)}
	for what, n := range before {
		r.requests[what] -= n
	}
	r.again = r.requests["again"]
	if preemptors > 0 {
		r.name += fmt.Sprintf(", %d pods preempt", preemptors)
	}
	return r, nil
}

func fill(ctx context.Context, c *e2e.Cluster) error {
	high := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
	if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(ctx, high, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := e2e.CreateAll(ctx, e2e.Nodes("node", fullNodes), func(ctx context.Context, n *v1.Node) error {
		_, err := c.Admin.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	for i := range podsPerNode {
		at := 0
		if err := createPods(ctx, c, fmt.Sprintf("filler-%d", i), fullNodes, func(p *v1.Pod) {
			p.Spec.NodeName = fmt.Sprintf("node-%d", at)
			at++
		}); err != nil {
			return err
		}
	}
	return createPods(ctx, c, "waiting", waitingPods, func(*v1.Pod) {})
}

func createPods(ctx context.Context, c *e2e.Cluster, prefix string, count int, mod e2e.PodMod) error {
	var all []*v1.Pod
	grace := int64(30)
	for i := range count {
		all = append(all, e2e.NewPod(fmt.Sprintf("%s-%d", prefix, i), e2e.Requests("cpu", "1"), mod,
			func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &grace }))
	}
	return e2e.CreateAll(ctx, all, func(ctx context.Context, p *v1.Pod) error {
		_, err := c.Admin.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
}

// leave frees places at a steady rate, and removes pods that are being deleted after a while, as kubelets do.
func leave(ctx context.Context, c *e2e.Cluster, o *e2e.Observer) {
	now, next := int64(0), 0
	due := map[types.UID]time.Time{}
	remove := func(name string) {
		c.Admin.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	}
	began, freed := time.Now(), time.Now()
	for ctx.Err() == nil && time.Since(began) < contendedFor {
		for ; time.Since(freed) >= freedEvery; freed = freed.Add(freedEvery) {
			remove(fmt.Sprintf("filler-%d-%d", next%podsPerNode, next/podsPerNode%fullNodes))
			next++
		}
		for _, s := range o.Pods(func(s *e2e.Seen) bool { return !s.Gone && s.Pod.DeletionTimestamp != nil }) {
			if t, ok := due[s.Pod.UID]; !ok {
				due[s.Pod.UID] = time.Now().Add(kubeletTakes)
			} else if time.Now().After(t) {
				remove(s.Pod.Name)
			}
		}
		time.Sleep(kubeletPeriod)
	}
}

// countRequests counts the scheduler's requests for pods in the audit log; "again" are deletions of the same pod.
func countRequests(c *e2e.Cluster) map[string]int {
	counts, deleted := map[string]int{}, map[string]bool{}
	f, err := os.Open(filepath.Join(c.Dir, "audit.log"))
	if err != nil {
		return counts
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Verb      string
			ObjectRef struct{ Resource, Subresource, Name string }
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.ObjectRef.Resource != "pods" {
			continue
		}
		counts[line.Verb+" "+line.ObjectRef.Subresource]++
		if strings.HasPrefix(line.Verb, "delete") {
			if deleted[line.ObjectRef.Name] {
				counts["again"]++
			}
			deleted[line.ObjectRef.Name] = true
		}
	}
	return counts
}
