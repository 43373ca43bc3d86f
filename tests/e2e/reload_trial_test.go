package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// initActions is a configuration in which the plugin of tests/plugins/init_actions.c has these arguments.
func initActions(args string) string {
	return fmt.Sprintf("profiles:\n- plugins: {multiPoint: {enabled: [{name: InitActions}]}}\n  pluginConfig: [{name: InitActions, args: {%s}}]\n", args)
}

// children are the child processes that a process has not reaped.
func (r *reloaded) children() (pids []int) {
	r.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", r.p.cmd.Process.Pid))
	r.must(err)
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(text)) {
			var pid int
			fmt.Sscan(field, &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// If a plugin crashes with the arguments of a new file, the file is rejected, and the scheduler continues.
func TestReloadTriesPlugins(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	plugin := e.build("../plugins/init_actions.c", "InitActions")
	path := e.c.path(e.file("scheduler") + ".yaml")
	r := reloadable(e, initActions("refuses: node-1"), "--plugin", plugin)
	who := path + ": " + plugin + `: plugin "InitActions" `
	for i, wrong := range []struct{ does, want string }{
		{"crash", who + "crashed in init() (Segmentation fault)"},
		{"abort", who + "crashed in init() (Aborted)"},
		{"exit", who + "crashed in init(): it ended the process with status "},
		{"fail", path + `: initializing plugin "InitActions": init fails on request`},
	} {
		r.write(initActions("refuses: node-0, does: " + wrong.does))
		if i > 0 { // the first is noticed without a signal
			r.hangup()
		}
		r.became("refused", i+1)
		r.said("Configuration refused, nothing changes", strings.ReplaceAll(wrong.want, `"`, `\"`))
		r.told("default", "Namespace", "kube-system", "ConfigReloadFailed", wrong.want)
		if r.metric("berth_config_last_reload_success") != 0 {
			e.Error("the metric says that all is well")
		}
		pod := "pod-" + wrong.does
		e.create(NewPod(pod))
		e.boundTo(pod, "node-0")
	}
	r.change(initActions("refuses: node-0"))
	e.create(NewPod("after"))
	e.boundTo("after", "node-1")
	// A deleted plugin cannot be tried, and is not needed if no profile has it.
	e.must(os.Rename(plugin, plugin+".away"))
	r.write(initActions("refuses: node-1"))
	r.hangup()
	r.became("refused", 5)
	r.said("Configuration refused, nothing changes", plugin+": cannot be read: No such file or directory")
	r.change("")
	e.must(os.Rename(plugin+".away", plugin))
	r.change(initActions("refuses: node-1"))
	e.create(NewPod("last"))
	e.boundTo("last", "node-0")
	if left := r.children(); len(left) > 0 {
		e.Errorf("processes are left: %v", left)
	}
	e.blameless()
}

// The bytes that were read are applied, even if the file changes before the plugins were tried.
func TestReloadTriesWhatWasRead(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	folder := e.c.path(e.file("plugins"))
	e.must(os.Mkdir(folder, 0o755))
	e.must(os.Link(e.build("../plugins/init_actions.c", "InitActions"), filepath.Join(folder, "init_actions.so")))
	r := reloadable(e, initActions("refuses: node-1"), "--plugin-dir", folder)
	e.must(os.WriteFile(filepath.Join(folder, "late.so"), nil, 0o644)) // a plugin that was not loaded is ignored
	for i, does := range []string{"crash", "exit"} {
		r.write(initActions("does: " + does))
		r.hangup()
		r.soon("the trial, or its end", func() bool {
			return len(r.children()) > 0 || r.came("refused") > i
		})
		r.change(initActions(fmt.Sprintf("refuses: node-%d", i)))
		r.became("refused", i+1)
		pod := fmt.Sprintf("pod-%d", i)
		e.create(NewPod(pod))
		e.boundTo(pod, fmt.Sprintf("node-%d", 1-i))
	}
}

// While a plugin hangs in its trial, everything else continues; and SIGTERM does not wait for it.
func TestReloadTrialHangs(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	path := e.c.path(e.file("scheduler") + ".yaml")
	r := reloadable(e, initActions("refuses: node-1"), "--plugin", e.build("../plugins/init_actions.c", "InitActions"))
	hangs := func() int {
		r.write(initActions("refuses: node-0, does: hang"))
		r.hangup()
		r.soon("there is a trial", func() bool { return len(r.children()) == 1 })
		return r.children()[0]
	}
	gone := func(pid int) {
		e.Helper()
		for start := time.Now(); time.Since(start) < patience; time.Sleep(10 * time.Millisecond) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || strings.Contains(string(stat), ") Z ") { // or it was not reaped yet
				return
			}
		}
		e.Errorf("the trial %d is still there", pid)
	}
	if !testing.Short() { // takes as long as a plugin is waited for
		trial := hangs()
		for i := 0; r.came("refused") == 0; i++ {
			pod := fmt.Sprintf("meanwhile-%d", i)
			e.create(NewPod(pod))
			e.boundTo(pod, "node-0")
			r.hangup()
			if r.get("/healthz") != "ok" {
				e.Error("it is not healthy")
			}
			time.Sleep(time.Second)
		}
		r.said("Configuration refused, nothing changes", path, `plugin \"InitActions\" hung in init(): it did not come back within 20 seconds`)
		r.told("default", "Namespace", "kube-system", "ConfigReloadFailed", "hung in init()")
		gone(trial)
	}
	// The trial process has no open descriptors of the scheduler, and signals to one process do not end the other.
	trial := hangs()
	r.soon("the trial has nothing open", func() bool {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", trial))
		e.must(err)
		for _, fd := range fds {
			target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", trial, fd.Name()))
			if target != "/dev/null" && !strings.HasPrefix(target, "pipe:") {
				return false
			}
		}
		return len(fds) > 0
	})
	e.must(syscall.Kill(trial, syscall.SIGHUP))
	e.must(syscall.Kill(trial, syscall.SIGUSR2))
	e.create(NewPod("before"))
	e.boundTo("before", "node-0")
	if len(r.children()) != 1 {
		e.Error("the trial ended too early")
	}
	began := time.Now()
	if _, err := r.p.Terminate(patience); err != nil || r.p.Exit() != "exit status 0" || time.Since(began) > 10*time.Second {
		e.Errorf("it ended with %s after %s: %v", r.p.Exit(), time.Since(began), err)
	}
	gone(trial)
	if text, _ := exec.Command("grep", "-c", "trial was stopped", r.p.Log).Output(); strings.TrimSpace(string(text)) != "0" {
		e.Error("the end is taken for a refusal")
	}
	// Nor does it outlive a killed scheduler.
	r = reloadable(e, initActions("refuses: node-1"), "--plugin", e.build("../plugins/init_actions.c", "InitActions"))
	trial = hangs()
	r.p.Kill()
	gone(trial)
}

// The metrics page can be parsed whatever names a plugin chooses.
func TestPluginMetrics(t *testing.T) {
	e := shared(t)
	r := reloadable(e, initActions("metric: scheduler_pending_pods, label: mine"), "--plugin", e.build("../plugins/init_actions.c", "InitActions"))
	r.said("A plugin does not get a metric", `plugin="InitActions" metric="scheduler_pending_pods" reason="berth has a metric of that name"`)
	r.said("metric scheduler_pending_pods: none")
	r.change(initActions(`metric: init_actions_total, label: "a\"b\\c\nd"`))
	r.said("metric init_actions_total: there it is")
	page := r.get("/metrics")
	if !strings.Contains(page, "# TYPE init_actions_total counter\n"+`init_actions_total{label="a\"b\\c\nd"} 1`+"\n") {
		e.Error("the plugin's own is not there")
	}
	families := map[string]int{}
	for line := range strings.Lines(page) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if families[name]++; families[name] > 1 {
				e.Errorf("%s is there twice", name)
			}
		}
	}
	if dir := os.Getenv("E2E_METRICS"); dir != "" { // for promtool and other readers
		e.must(os.WriteFile(dir+"/plugin.txt", []byte(page), 0o644))
	}
}
