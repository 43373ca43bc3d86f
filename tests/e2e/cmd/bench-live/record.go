package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"berth.example/e2e"
)

// compareRecording lets berth do the work with and without --record, in turn and each as often the first, and prints what
// recording costs: the CPU time of whole processes, all threads and the reading of the cluster included. A run that was
// disturbed counts as one of many: the median decides.
func compareRecording(ctx context.Context, c *e2e.Cluster, who contender, todo work) error {
	todo.rounds = 0
	var plain, recorded []time.Duration
	var bytes int64
	for round := range todo.record {
		dir, err := os.MkdirTemp("", "bench-live-record-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		both := [][]string{nil, {"--record", dir}}
		if round%2 == 1 {
			slices.Reverse(both)
		}
		for _, flags := range both {
			again := who
			again.flags = flags
			r, err := measure(ctx, c, again, todo)
			if err != nil {
				return err
			}
			if flags == nil {
				plain = append(plain, r.whole.Round(time.Millisecond))
			} else {
				recorded = append(recorded, r.whole.Round(time.Millisecond))
				bytes = sizeOf(dir)
			}
		}
	}
	a, b := median(plain), median(recorded)
	fmt.Printf("\n%d pods on %d nodes, the median of %d runs each\n", todo.pods, todo.nodes, todo.record)
	row := "%-16s %14s %14s %14s   %s\n"
	fmt.Printf(row, "", "CPU/pod", "CPU total", "recorded", "each run")
	each := func(d time.Duration) string {
		return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000/float64(todo.pods))
	}
	fmt.Printf(row, who.name, each(a), a.Round(time.Millisecond), "", fmt.Sprint(plain))
	fmt.Printf(row, "with --record", each(b), b.Round(time.Millisecond), fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)), fmt.Sprint(recorded))
	fmt.Printf("recording costs %.1f %% of the CPU time\n", 100*(b.Seconds()/a.Seconds()-1))
	return nil
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}

func sizeOf(dir string) (sum int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
