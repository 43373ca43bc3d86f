package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"berth.example/e2e"
)

// compareRecording lets berth do the work with and without --record, in turn, and prints what recording costs: the CPU
// time of whole processes, all threads and the reading of the cluster included.
func compareRecording(ctx context.Context, c *e2e.Cluster, who contender, todo work) error {
	todo.rounds = 0
	var plain, recorded []time.Duration
	var bytes int64
	for range todo.record {
		dir, err := os.MkdirTemp("", "bench-live-record-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for _, flags := range [][]string{nil, {"--record", dir}} {
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
	a, b := mean(plain), mean(recorded)
	fmt.Printf("\n%d pods on %d nodes, the average of %d runs each\n", todo.pods, todo.nodes, todo.record)
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

func mean(all []time.Duration) (sum time.Duration) {
	for _, one := range all {
		sum += one
	}
	return sum / time.Duration(len(all))
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
