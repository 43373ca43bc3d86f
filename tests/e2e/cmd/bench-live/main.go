// bench-live runs schedulers on the same work with the same API server, one after the other, and prints the cost:
// CPU time per pod, peak memory and bindings per second, read from /proc and from a watch; and then, on an
// idle cluster, the time from an event that makes a pod fit to the pod's binding.
//
// The pods exist before a scheduler starts, so that it never waits for them. Its cost before the first binding (reading
// the cluster) is listed separately.
//
// With -record it compares berth with itself instead: the cost of recording. With -contention it compares the cost of
// a full cluster in which pods wait and preempt.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"berth.example/e2e"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

type scheduler struct {
	name  string
	argv  []string
	flags []string
}

type result struct {
	scheduler
	ready    time.Duration // from the start of the process to the first binding
	took     time.Duration // from there to the last
	readyCPU time.Duration
	e2e.Usage
	total     time.Duration            // CPU time of the process from its start to its end
	threads   map[string]time.Duration // CPU time by thread, when all pods were bound
	again     time.Duration            // CPU time of recording the same once more, without the thread that writes
	wrongs    []e2e.Wrong
	latencies map[string][]time.Duration // by waker, sorted
}

// work is the work of each scheduler.
type work struct {
	nodes, pods, rounds int
	limit               time.Duration
	record              int
	contention          int
	alone               bool
}

func main() {
	var todo work
	flag.IntVar(&todo.nodes, "nodes", 5000, "number of nodes")
	flag.IntVar(&todo.pods, "pods", 5000, "number of pods")
	flag.IntVar(&todo.rounds, "rounds", 20, "how many times each latency is measured")
	flag.DurationVar(&todo.limit, "limit", 10*time.Minute, "how long a scheduler may take")
	flag.IntVar(&todo.record, "record", 0, "compare berth with and without --record, so many times each, and nothing else")
	flag.IntVar(&todo.contention, "contention", 0, "compare the cost of a full cluster where so many pods preempt, and nothing else")
	flag.BoolVar(&todo.alone, "alone", false, "with -contention: without kube-scheduler")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, todo); err != nil {
		fmt.Fprintln(os.Stderr, "bench-live:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, todo work) error {
	reference, err := e2e.ReferenceCommand()
	if err != nil {
		return err
	}
	contenders := []scheduler{{name: "kube-scheduler", argv: reference}}
	name, argv, err := e2e.UnderTest()
	if err != nil {
		return err
	}
	if name != "kube-scheduler" {
		contenders = append(contenders, scheduler{name: name, argv: argv})
	}
	if todo.contention > 0 && todo.alone {
		contenders = contenders[len(contenders)-1:]
	}
	if todo.contention > 0 {
		return compareContention(ctx, contenders, todo.contention)
	}
	c, err := e2e.Start(ctx, e2e.Options{})
	if err != nil {
		return err
	}
	defer c.Remove()
	defer c.Stop()
	fmt.Printf("creating %d nodes ...\n", todo.nodes)
	if err := e2e.CreateAll(ctx, e2e.Nodes("node", todo.nodes), func(ctx context.Context, n *v1.Node) error {
		_, err := c.Admin.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	if todo.record > 0 {
		return compareRecording(ctx, c, scheduler{name: name, argv: argv}, todo)
	}
	var results []result
	for _, candidate := range contenders {
		r, err := measure(ctx, c, candidate, todo)
		if err != nil {
			fmt.Printf("%s: %v\n", candidate.name, err)
			continue
		}
		results = append(results, *r)
	}
	print(results, todo)
	if len(results) < len(contenders) {
		return fmt.Errorf("%d of %d schedulers did the work", len(results), len(contenders))
	}
	return nil
}

// measure creates the pods, lets a scheduler bind them all, measures latencies, and deletes the pods.
func measure(ctx context.Context, c *e2e.Cluster, candidate scheduler, todo work) (*result, error) {
	pods := todo.pods
	fmt.Printf("%s: creating %d pods ...\n", candidate.name, pods)
	var all []*v1.Pod
	for i := range pods {
		all = append(all, e2e.NewPod(fmt.Sprintf("pod-%d", i), e2e.Requests("cpu", "100m", "memory", "200Mi")))
	}
	api := c.Admin.CoreV1().Pods(metav1.NamespaceDefault)
	if err := e2e.CreateAll(ctx, all, func(ctx context.Context, p *v1.Pod) error {
		_, err := api.Create(ctx, p, metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	now := int64(0)
	defer api.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	o, err := c.Observe(ctx)
	if err != nil {
		return nil, err
	}
	defer o.Close()

	fmt.Printf("%s: scheduling ...\n", candidate.name)
	began := time.Now()
	p, err := c.StartScheduler("bench-"+candidate.name, c.Addr(), candidate.argv,
		append([]string{"--kube-api-qps", "10000", "--kube-api-burst", "10000"}, candidate.flags...)...)
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(ctx, todo.limit)
	defer cancel()
	go func() {
		select {
		case <-p.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	r := &result{scheduler: candidate}
	if err := o.Await(ctx, func() bool { return o.Bound() > 0 }); err == nil {
		r.ready, r.readyCPU = time.Since(began), p.Usage().CPU
		err = o.Await(ctx, func() bool { return o.Bound() == pods })
	}
	r.took, r.Usage, r.wrongs = time.Since(began)-r.ready, p.Usage(), o.Wrongs()
	if bound := o.Bound(); bound < pods {
		return nil, fmt.Errorf("%d of %d pods were bound when it ended, or after %v:\n%s", bound, pods, todo.limit, p.Tail(5))
	}
	if todo.record > 0 {
		if r.threads, err = threadTimes(candidate.argv[0]); err != nil {
			return nil, err
		}
	}
	if todo.rounds > 0 {
		fmt.Printf("%s: waking pods ...\n", candidate.name)
		l := &lab{ctx, c, o}
		if r.latencies, err = l.latencies(todo.rounds); err != nil {
			return nil, err
		}
	}
	if _, err := p.Terminate(time.Minute); err != nil {
		return nil, err
	}
	r.total = p.Usage().CPU
	for _, wrong := range r.wrongs {
		fmt.Printf("%s: %s: %s\n", candidate.name, wrong.Kind, wrong.Text)
	}
	return r, nil
}

func print(results []result, todo work) {
	nodes, pods := todo.nodes, todo.pods
	fmt.Printf("\n%d pods on %d nodes, one API server\n", pods, nodes)
	row := "%-16s %14s %14s %12s %12s %12s %10s\n"
	fmt.Printf(row, "", "CPU/pod", "CPU/pod all", "CPU total", "peak memory", "first bound", "pods/s")
	for _, r := range results {
		each := func(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Microseconds())/float64(pods)) }
		fmt.Printf(row, r.name, each(r.CPU-r.readyCPU), each(r.CPU), r.CPU.Round(10*time.Millisecond),
			fmt.Sprintf("%.0f MiB", r.PeakMiB), r.ready.Round(time.Millisecond), fmt.Sprintf("%.0f", float64(pods-1)/r.took.Seconds()))
	}
	fmt.Println("CPU/pod is from the first binding on; CPU/pod all counts the reading of the cluster too.")
	if len(results) == 2 {
		a, b := results[0], results[1]
		fmt.Printf("%s uses %.1f %% of the CPU time, %.1f %% of the memory, and binds %.2f times as fast\n", b.name,
			100*b.CPU.Seconds()/a.CPU.Seconds(), 100*b.PeakMiB/a.PeakMiB, a.took.Seconds()/b.took.Seconds())
	}
	printLatencies(results)
}
