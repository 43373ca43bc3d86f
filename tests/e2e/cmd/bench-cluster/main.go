// bench-cluster measures `berth cluster` with many fake nodes and pods: how fast pods get from their creation to Running,
// how long a list and the beginning of a watch take, and what memory and CPU time that costs. With -real it measures the
// same for etcd, kube-apiserver, kube-scheduler and kwok afterwards.
//
// Pods are created by -clients connections at once, without limits of the client. A pod counts as Running when a watch
// says so.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"berth.example/e2e"
	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

type settings struct {
	nodes, pods, clients int
	limit                time.Duration
	real, alone, data    bool
}

// stack is what is measured: processes, and how to reach the API server.
type stack struct {
	name  string
	procs func() []*e2e.Proc
	rest  *rest.Config
	stop  func()
}

type result struct {
	name            string
	nodes           time.Duration // until all nodes were there
	created         time.Duration // until the last creation was acknowledged
	running         time.Duration // from the first creation until the last pod ran
	list, watchList time.Duration // of all pods
	deleted         time.Duration // until the last pod was gone
	peakMiB         float64       // sum over the processes
	cpu             time.Duration // likewise
	watches         int           // of pods that it took to see all of it
	parts           string
}

func main() {
	var s settings
	flag.IntVar(&s.nodes, "nodes", 5000, "number of nodes")
	flag.IntVar(&s.pods, "pods", 50000, "number of pods")
	flag.IntVar(&s.clients, "clients", 16, "how many connections create pods at once")
	flag.DurationVar(&s.limit, "limit", 30*time.Minute, "how long one of them may take")
	flag.BoolVar(&s.real, "real", false, "also measure the real parts")
	flag.BoolVar(&s.alone, "alone", false, "with -real: only the real parts")
	flag.BoolVar(&s.data, "data", false, "berth cluster keeps the objects in a database")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench-cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	var starts []func(context.Context, settings) (*stack, time.Duration, error)
	if !s.alone {
		starts = append(starts, startEmbedded)
	}
	if s.real {
		starts = append(starts, startReal)
	}
	var results []*result
	for _, start := range starts {
		r, err := measure(ctx, s, start)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	print(results, s)
	return nil
}

func startEmbedded(ctx context.Context, s settings) (*stack, time.Duration, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	flags := []string{"--nodes", fmt.Sprint(s.nodes)}
	if s.data {
		flags = append(flags, "--data", dir+"/cluster.db")
	}
	cluster, err := e2e.StartEmbedded(ctx, dir, flags...)
	if err != nil {
		return nil, 0, err
	}
	return &stack{
		name: "berth cluster", rest: cluster.Rest,
		procs: func() []*e2e.Proc { return []*e2e.Proc{cluster.Proc} },
		stop:  func() { cluster.Kill(); os.RemoveAll(dir) },
	}, time.Since(began), nil
}

// startReal starts the real parts, and creates nodes like those of berth cluster.
func startReal(ctx context.Context, s settings) (*stack, time.Duration, error) {
	c, err := e2e.Start(ctx, e2e.Options{Kwok: true})
	if err != nil {
		return nil, 0, err
	}
	stop := func() { c.Stop(); c.Remove() }
	argv, err := e2e.ReferenceCommand()
	if err == nil {
		_, err = c.StartScheduler("kube-scheduler", c.Addr(), argv, "--kube-api-qps", "5000", "--kube-api-burst", "10000")
	}
	began := time.Now()
	if err == nil {
		err = e2e.CreateAll(ctx, e2e.Nodes("node", s.nodes, e2e.Allocatable("cpu", "16", "memory", "64Gi")), func(ctx context.Context, n *v1.Node) error {
			_, err := c.Admin.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
			return err
		})
	}
	if err != nil {
		stop()
		return nil, 0, err
	}
	return &stack{name: "real parts", rest: c.Rest, procs: c.Procs, stop: stop}, time.Since(began), nil
}

// feed follows the pods: how many run, and how many are left. A watch that the server ends, as kube-apiserver does when a
// client is slow, is followed by a list and another one.
type feed struct {
	mu              sync.Mutex
	running, exists map[string]bool
	changed         chan struct{}
	watches         int // how many it took
}

func (f *feed) note(pod *v1.Pod, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gone {
		delete(f.exists, pod.Name)
		return
	}
	f.exists[pod.Name] = true
	if pod.Status.Phase == v1.PodRunning {
		f.running[pod.Name] = true
	}
}

func (f *feed) signal() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// follow is a list, and a watch until it ends.
func (f *feed) follow(ctx context.Context, pods corev1.PodInterface) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.exists = map[string]bool{}
	f.watches++
	f.mu.Unlock()
	for i := range list.Items {
		f.note(&list.Items[i], false)
	}
	f.signal()
	w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if pod, ok := event.Object.(*v1.Pod); ok {
			f.note(pod, event.Type == watch.Deleted)
		}
		f.signal()
	}
	return nil
}

func (f *feed) run(ctx context.Context, pods corev1.PodInterface) {
	for ctx.Err() == nil {
		if err := f.follow(ctx, pods); err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (f *feed) await(ctx context.Context, what string, done func() bool) error {
	tick := time.NewTicker(20 * time.Second)
	defer tick.Stop()
	for {
		f.mu.Lock()
		ready, running, exists := done(), len(f.running), len(f.exists)
		f.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-f.changed:
		case <-tick.C:
			fmt.Printf("  %s: %d exist, %d have run\n", what, exists, running)
		case <-ctx.Done():
			return fmt.Errorf("%s: %d pods exist, %d have run: %w", what, exists, running, ctx.Err())
		}
	}
}

func measure(ctx context.Context, s settings, start func(context.Context, settings) (*stack, time.Duration, error)) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	on, nodes, err := start(ctx, s)
	if err != nil {
		return nil, err
	}
	defer on.stop()
	r := &result{name: on.name, nodes: nodes}
	fmt.Printf("%s: %d nodes after %v\n", on.name, s.nodes, nodes.Round(10*time.Millisecond))
	api, err := kubernetes.NewForConfig(on.rest)
	if err != nil {
		return nil, err
	}
	pods := api.CoreV1().Pods(metav1.NamespaceDefault)
	f := &feed{running: map[string]bool{}, exists: map[string]bool{}, changed: make(chan struct{}, 1)}
	go f.run(ctx, pods)
	began := time.Now()
	if err := createPods(ctx, s, on.rest); err != nil {
		return nil, err
	}
	r.created = time.Since(began)
	fmt.Printf("%s: %d pods created after %v\n", on.name, s.pods, r.created.Round(10*time.Millisecond))
	if err := f.await(ctx, "starting", func() bool { return len(f.running) == s.pods }); err != nil {
		return nil, err
	}
	r.running = time.Since(began)
	fmt.Printf("%s: all run after %v\n", on.name, r.running.Round(10*time.Millisecond))
	if err := r.read(ctx, api, s); err != nil {
		return nil, err
	}
	began = time.Now()
	// A request that takes too long is ended by kube-apiserver, and asked again.
	none := int64(0)
	for ctx.Err() == nil {
		if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{}); err == nil {
			break
		}
	}
	if err := f.await(ctx, "deleting", func() bool { return len(f.exists) == 0 }); err != nil {
		return nil, err
	}
	r.deleted, r.watches = time.Since(began), f.watches
	for _, p := range on.procs() {
		usage := p.Usage()
		r.peakMiB += usage.PeakMiB
		r.cpu += usage.CPU
		r.parts += fmt.Sprintf(" %s %.0f MiB %v,", p.Name, usage.PeakMiB, usage.CPU.Round(100*time.Millisecond))
	}
	return r, nil
}

func createPods(ctx context.Context, s settings, config *rest.Config) error {
	names := make(chan string)
	group, ctx := errgroup.WithContext(ctx)
	for range s.clients {
		// Clients share a connection unless they dial in ways of their own.
		own := rest.CopyConfig(config)
		own.Dial = (&net.Dialer{Timeout: time.Minute}).DialContext
		api, err := kubernetes.NewForConfig(own)
		if err != nil {
			return err
		}
		group.Go(func() error {
			for name := range names {
				pod := e2e.NewPod(name, e2e.Requests("cpu", "100m", "memory", "200Mi"))
				if _, err := api.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(names)
		for i := range s.pods {
			select {
			case names <- fmt.Sprintf("pod-%d", i):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// read measures a list of all pods, and a watch that begins with all of them.
func (r *result) read(ctx context.Context, api kubernetes.Interface, s settings) error {
	began := time.Now()
	list, err := api.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) != s.pods {
		return fmt.Errorf("a list has %d pods of %d", len(list.Items), s.pods)
	}
	r.list = time.Since(began)
	began = time.Now()
	initial := true
	w, err := api.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{SendInitialEvents: &initial,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer w.Stop()
	count := 0
	for event := range w.ResultChan() {
		if event.Type == watch.Bookmark {
			break
		}
		count++
	}
	if count < s.pods {
		return fmt.Errorf("a watch began with %d pods of %d", count, s.pods)
	}
	r.watchList = time.Since(began)
	return nil
}

func print(results []*result, s settings) {
	fmt.Printf("\n%d nodes, %d pods, %d clients\n", s.nodes, s.pods, s.clients)
	row := "%-14s %9s %10s %10s %12s %9s %11s %9s %12s %10s\n"
	fmt.Printf(row, "", "nodes", "created", "running", "running/s", "list", "watch list", "deleted", "peak memory", "CPU time")
	for _, r := range results {
		short := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
		fmt.Printf(row, r.name, short(r.nodes), short(r.created), short(r.running), fmt.Sprintf("%.0f", float64(s.pods)/r.running.Seconds()),
			short(r.list), short(r.watchList), short(r.deleted), fmt.Sprintf("%.0f MiB", r.peakMiB), short(r.cpu))
	}
	for _, r := range results {
		fmt.Printf("%s:%s; %d watches of pods\n", r.name, r.parts[:len(r.parts)-1], r.watches)
	}
}
