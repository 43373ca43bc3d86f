// churn lets client-go's informers and a controller work against `berth cluster` while objects come, change and go and
// connections are cut, and compares at intervals what they know with what is there.
//
//	writers ─────────────────────────▶ berth cluster ◀── lists, for comparison
//	informers, controller, ledgers ──▶ relay ──▶ ┘
//
// At each interval the writers pause. Then all of this must come true:
//   - the store of each informer equals a fresh list;
//   - each ledger, a watch that resumes where it was cut, has seen every write that was acknowledged, each once, in the
//     order of revisions;
//   - the controller has made what it is to make, and what belongs to deleted objects is gone;
//   - Deployments have their replicas, and pods run.
//
// A line of figures is printed each time: among them the memory of berth, which must not grow for ever.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"berth.example/e2e"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

type settings struct {
	duration, interval, patience time.Duration
	cut                          time.Duration // mean time between two cuts
	writers, nodes               int
	rate                         int // writes per second, all together
	data, keep                   bool
}

func main() {
	var s settings
	flag.DurationVar(&s.duration, "duration", time.Minute, "how long")
	flag.DurationVar(&s.interval, "interval", 20*time.Second, "how often everything is compared")
	flag.DurationVar(&s.patience, "patience", 5*time.Minute, "how long it may take until everything agrees")
	flag.DurationVar(&s.cut, "cut", 3*time.Second, "how often connections are cut, on average")
	flag.IntVar(&s.writers, "writers", 8, "how many clients write")
	flag.IntVar(&s.rate, "rate", 200, "how many writes per second they make together; 0: as many as they can")
	flag.IntVar(&s.nodes, "nodes", 10, "how many nodes there are")
	flag.BoolVar(&s.data, "data", false, "keep the objects in a database")
	flag.BoolVar(&s.keep, "keep", false, "keep the folder with the log")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "churn:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "berth-churn-")
	if err != nil {
		return err
	}
	flags := []string{"--nodes", fmt.Sprint(s.nodes)}
	if s.data {
		flags = append(flags, "--data", dir+"/cluster.db")
	}
	cluster, err := e2e.StartEmbedded(ctx, dir, flags...)
	if err != nil {
		return err
	}
	defer cluster.Kill()
	err = churn(ctx, s, cluster)
	if err == nil && !s.keep {
		return os.RemoveAll(dir)
	}
	fmt.Println("the log is in", dir)
	return err
}

func churn(ctx context.Context, s settings, cluster *e2e.Embedded) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	direct, err := kubernetes.NewForConfig(cluster.Rest)
	if err != nil {
		return err
	}
	relay, err := e2e.NewRelay(cluster.Rest.Host[len("https://"):])
	if err != nil {
		return err
	}
	defer relay.Close()
	through := rest.CopyConfig(cluster.Rest)
	through.Host = "https://" + relay.Addr
	c := &checker{s: s, cluster: cluster, api: direct, began: time.Now()}
	if err := c.watch(ctx, through); err != nil {
		return err
	}
	w := newWriters(ctx, s, direct)
	go func() {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(rand.ExpFloat64() * float64(s.cut))):
				relay.Cut()
				c.cuts.Add(1)
			}
		}
	}()
	c.printHead()
	for round := 0; time.Since(c.began) < s.duration && ctx.Err() == nil; round++ {
		if err := w.run(s.interval); err != nil {
			return err
		}
		if err := c.compare(ctx, w); err != nil {
			return err
		}
		if err := direct.CoreV1().Events(metav1.NamespaceAll).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("deleting events: %w", err)
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return c.judge()
}
