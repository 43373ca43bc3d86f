package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"berth.example/e2e"
)

// journal is the name of the threads of the worker pool, which in these runs only write a recording to its files.
const journal = "worker"

// compareRecording runs berth with and without --record, in turn and each first equally often, and prints the cost of
// recording: the CPU time of complete processes, including all threads and the reading of the cluster, and of each
// thread. The median is used, so that a disturbed run does not count. Differences of complete processes are mostly noise;
// shares within one process are not: that of the thread that writes, and that of recordAgain.
func compareRecording(ctx context.Context, c *e2e.Cluster, candidate scheduler, todo work) error {
	todo.rounds = 0
	bench := filepath.Join(filepath.Dir(candidate.argv[0]), "tests/bench/bench")
	if _, err := os.Stat(bench); err != nil {
		return fmt.Errorf("the program of make bench is needed beside berth, to measure what recording costs: %w", err)
	}
	var plain, recorded []result
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
			again := candidate
			again.flags = flags
			r, err := measure(ctx, c, again, todo)
			if err != nil {
				return err
			}
			if flags == nil {
				plain = append(plain, *r)
			} else {
				if r.threads[journal] == 0 {
					return fmt.Errorf("no thread of berth is called %q", journal)
				}
				if r.again, err = recordAgain(bench, dir); err != nil {
					return err
				}
				recorded = append(recorded, *r)
				bytes = sizeOf(dir)
			}
		}
	}
	printRecording(plain, recorded, bytes, todo)
	return nil
}

func printRecording(plain, recorded []result, bytes int64, todo work) {
	each := func(d time.Duration) string {
		return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000/float64(todo.pods))
	}
	total := func(r result) time.Duration { return r.total.Round(time.Millisecond) }
	a, b := all(plain, total), all(recorded, total)
	fmt.Printf("\n%d pods on %d nodes, the median of %d runs each\n", todo.pods, todo.nodes, todo.record)
	row := "%-16s %14s %14s %14s   %s\n"
	fmt.Printf(row, "", "CPU/pod", "CPU total", "recorded", "each run")
	fmt.Printf(row, plain[0].name, each(median(a)), median(a).Round(time.Millisecond), "", fmt.Sprint(a))
	fmt.Printf(row, "with --record", each(median(b)), median(b).Round(time.Millisecond), fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)), fmt.Sprint(b))
	fmt.Printf("the difference is %.1f %% of the CPU time\n", 100*(median(b).Seconds()/median(a).Seconds()-1))

	fmt.Printf("\n%-16s %14s %14s   when all pods are bound\n", "thread", "CPU/pod", "with --record")
	for _, name := range slices.Sorted(maps.Keys(recorded[0].threads)) {
		of := func(r result) time.Duration { return r.threads[name] }
		fmt.Printf("%-16s %14s %14s\n", name, each(median(all(plain, of))), each(median(all(recorded, of))))
	}
	shares("the thread that writes takes", recorded, func(r result) float64 {
		var sum time.Duration
		for _, d := range r.threads {
			sum += d
		}
		return r.threads[journal].Seconds() / sum.Seconds()
	})
	shares("that, and recording the same once more on the other threads, takes", recorded, func(r result) float64 {
		return (r.threads[journal] + r.again).Seconds() / r.total.Seconds()
	})
}

// shares prints the minimum and the maximum share of CPU time in its process.
func shares(what string, results []result, of func(result) float64) {
	var sorted []float64
	for _, r := range results {
		sorted = append(sorted, 100*of(r))
	}
	slices.Sort(sorted)
	fmt.Printf("%s %.2f %% to %.2f %% of the CPU time of its process\n", what, sorted[0], sorted[len(sorted)-1])
}

// recordAgain is the CPU time of recording the contents of a folder once more, on the I/O and core threads, without other
// work. It is measured directly, not as a difference, so it has little noise.
func recordAgain(bench, dir string) (time.Duration, error) {
	out, err := exec.Command(bench, "--recorded", dir).Output()
	if err != nil {
		return 0, fmt.Errorf("%s --recorded: %w", bench, err)
	}
	fmt.Print(string(out))
	var entries, decisions, bytes int
	var threads float64
	_, err = fmt.Sscanf(string(out), "recording %d entries, %d decisions, %d bytes costs %f ms on threads that are there anyway",
		&entries, &decisions, &bytes, &threads)
	return time.Duration(threads * float64(time.Millisecond)), err
}

func all(results []result, of func(result) time.Duration) (times []time.Duration) {
	for _, r := range results {
		times = append(times, of(r))
	}
	return times
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
