package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Anything in place of the file: the scheduler continues, reports it, and applies the next valid file.
func TestReloadOfNoFile(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	path := e.c.path(e.file("scheduler") + ".yaml")
	other := e.c.path(e.file("other"))
	r := reloadable(e, "podMaxBackoffSeconds: 21\n")
	for i, c := range []struct {
		what, want string
		put        func() error
	}{
		{"a folder", "is not a regular file", func() error { return os.Mkdir(path, 0o755) }},
		{"a link to nowhere", "No such file or directory", func() error { return os.Symlink(other, path) }},
		{"a link to itself", "Too many levels of symbolic links", func() error { return os.Symlink(path, path) }},
		{"a pipe", "is not a regular file", func() error { return syscall.Mkfifo(path, 0o644) }},
		{"nothing", "No such file or directory", func() error { return nil }},
	} {
		t.Log(c.what)
		e.must(os.Remove(path))
		e.must(c.put())
		r.hangup()
		r.became("refused", i+1)
		r.said("Configuration refused, nothing changes", c.want)
		pod := fmt.Sprintf("pod-%d", i)
		e.create(NewPod(pod))
		e.bound(pod)
		os.Remove(path)
		// The same as before is no change, and another is one.
		r.write("podMaxBackoffSeconds: 21\n")
		r.hangup()
		r.became("unchanged", i+1)
		if r.metric("berth_config_last_reload_success") != 1 {
			e.Error("the metric does not say that it is what it was")
		}
	}
	if got := r.came("applied"); got != 0 {
		e.Errorf("%d changes were applied", got)
	}
	r.change("podMaxBackoffSeconds: 22\n")
	if got := r.configz().PodMaxBackoffSeconds; got != 22 {
		e.Errorf("/configz shows %d", got)
	}
}

// Back and forth, faster than the file is read.
func TestReloadInARow(t *testing.T) {
	e := shared(t)
	r := reloadable(e, "podMaxBackoffSeconds: 21\n")
	for range 3 {
		for _, seconds := range []int{22, 21} {
			r.change(fmt.Sprintf("podMaxBackoffSeconds: %d\n", seconds))
			if got := r.configz().PodMaxBackoffSeconds; got != seconds {
				e.Errorf("/configz shows %d, want %d", got, seconds)
			}
		}
	}
	path := e.c.path(e.file("scheduler") + ".yaml")
	text, err := os.ReadFile(path)
	e.must(err)
	for seconds := 30; seconds <= 60; seconds++ { // at once, and each of them whole
		next := strings.Replace(string(text), "Seconds: 21", fmt.Sprintf("Seconds: %d", seconds), 1)
		e.must(os.WriteFile(path+".new", []byte(next), 0o644))
		e.must(os.Rename(path+".new", path))
		r.hangup()
	}
	r.soon("the last one counts", func() bool { return r.configz().PodMaxBackoffSeconds == 60 })
	for _, seconds := range []int{70, 60} { // without a signal: there is no change to see
		r.write(fmt.Sprintf("podMaxBackoffSeconds: %d\n", seconds))
	}
	r.write("podMaxBackoffSeconds: 61\n")
	r.write("podMaxBackoffSeconds: 62\n")
	r.soon("the last one counts", func() bool { return r.configz().PodMaxBackoffSeconds == 62 })
	if refused := r.came("refused"); refused != 0 {
		e.Errorf("%d files were refused", refused)
	}
}

// A pod that waits for the Permit of a plugin that the new configuration does not have keeps waiting, and is decided by
// the new one afterwards.
func TestReloadWithoutThePluginThatHolds(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	r := reloadable(e, "profiles:\n"+everywhere("default-scheduler", ""), "--plugin", e.buildPlugin())
	for _, name := range []string{"late", "deleted"} {
		e.create(NewPod(name, labels("test/permit", "hold")))
		r.said("permit " + name + ",")
	}
	r.change("")
	e.create(NewPod("after", labels("test/permit", "hold"))) // without effect now
	e.bound("after")
	for _, name := range []string{"late", "deleted"} {
		if node := e.o.Pod(key(name)).Pod.Spec.NodeName; node != "" {
			e.Errorf("%s did not wait, and is on %s", name, node)
		}
	}
	e.remove("deleted")
	r.said("unreserve deleted")
	if !testing.Short() { // the plugin's patience is a minute
		start := time.Now()
		for e.o.Pod(key("late")).Pod.Spec.NodeName == "" && time.Since(start) < 2*time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		e.bound("late")
		r.said("unreserve late")
		r.said("release")
	}
	e.running(r.p)
	e.blameless()
	if _, err := r.p.Terminate(patience); err != nil || r.p.Exit() != "exit status 0" {
		e.Errorf("it ended with %s: %v", r.p.Exit(), err)
	}
}
