package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// threadTimes is the CPU time of the threads of a child of this process, in nanoseconds, summed by
// name. The child is the one that runs the binary.
func threadTimes(binary string) (map[string]time.Duration, error) {
	want, err := filepath.EvalSymlinks(binary)
	if err != nil {
		return nil, err
	}
	children, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for _, pid := range strings.Fields(string(text)) {
			if exe, _ := os.Readlink("/proc/" + pid + "/exe"); exe == want {
				return timesOf(pid), nil
			}
		}
	}
	return nil, fmt.Errorf("no child runs %s", binary)
}

func timesOf(pid string) map[string]time.Duration {
	times := map[string]time.Duration{}
	threads, _ := filepath.Glob("/proc/" + pid + "/task/*")
	for _, dir := range threads {
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		stat, _ := os.ReadFile(filepath.Join(dir, "schedstat")) // the first number
		if f := strings.Fields(string(stat)); len(f) > 0 {
			ns, _ := strconv.ParseInt(f[0], 10, 64)
			times[strings.TrimSpace(string(name))] += time.Duration(ns)
		}
	}
	return times
}
