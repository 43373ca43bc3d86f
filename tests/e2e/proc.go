package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Proc is a child process in its own process group, killed by the kernel if this process ends first.
type Proc struct {
	Name string
	Log  string // the file that holds its output
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
	byUs atomic.Bool   // Kill or Terminate was called
}

// The kernel kills a child together with the thread that started it, so one thread that never ends starts all.
var launcher = sync.OnceValue(func() chan func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// launch starts argv in dir. Output is appended to log, so that a restarted part continues in the same file.
func launch(dir, log string, argv ...string) (*Proc, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &Proc{Name: filepath.Base(argv[0]), Log: log, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	launcher() <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s does not start: %w", p.Name, err)
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Alive reports whether the process still runs (a paused one does).
func (p *Proc) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Done is closed when the process has ended.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Stopped reports whether the test ended the process.
func (p *Proc) Stopped() bool { return p.byUs.Load() }

// Exit describes how the process ended: "exit status 1", "signal: killed".
func (p *Proc) Exit() string {
	<-p.done
	return p.cmd.ProcessState.String()
}

func (p *Proc) signal(s syscall.Signal) {
	if p.Alive() {
		syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Kill ends the process at once, as a crash would.
func (p *Proc) Kill() {
	p.byUs.Store(true)
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Terminate sends SIGTERM and returns the time until the end; the process is killed after limit.
func (p *Proc) Terminate(limit time.Duration) (time.Duration, error) {
	began := time.Now()
	p.byUs.Store(true)
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return time.Since(began), nil
	case <-time.After(limit):
		p.Kill()
		return limit, fmt.Errorf("%s did not end within %v of SIGTERM", p.Name, limit)
	}
}

// Pause stops the process with SIGSTOP, and returns once all its threads stand still: until the kernel has run the one that
// takes the signal, the others go on. Resume continues it.
func (p *Proc) Pause() {
	p.signal(syscall.SIGSTOP)
	for p.Alive() && !p.stopped() {
		time.Sleep(time.Millisecond)
	}
}

func (p *Proc) Resume() { p.signal(syscall.SIGCONT) }

// stopped is whether every thread is in the state T.
func (p *Proc) stopped() bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		if err == nil && !bytes.HasPrefix(rest, []byte("T")) {
			return false
		}
	}
	return len(stats) > 0
}

// Tail is the end of the output, at most n lines, each truncated.
func (p *Proc) Tail(n int) string {
	b, _ := os.ReadFile(p.Log)
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), 400)]
	}
	return string(bytes.Join(lines, []byte("\n")))
}

// Usage is what a process has used so far.
type Usage struct {
	CPU     time.Duration // user and system
	PeakMiB float64       // the largest resident set
	MiB     float64       // the resident set now; 0 once it has ended
}

// Usage reads /proc; once the process has ended, what the kernel reported at its end.
func (p *Proc) Usage() Usage {
	if !p.Alive() {
		state := p.cmd.ProcessState
		peak := state.SysUsage().(*syscall.Rusage).Maxrss
		return Usage{CPU: state.UserTime() + state.SystemTime(), PeakMiB: float64(peak) / 1024}
	}
	var u Usage
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	stat, _ := os.ReadFile(dir + "stat")
	// The name in parentheses may hold spaces; user and system ticks are the 12th and 13th field after it.
	if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 12 {
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		u.CPU = time.Duration(user+system) * 10 * time.Millisecond
	}
	status, _ := os.ReadFile(dir + "status")
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmHWM:":
			u.PeakMiB = kib / 1024
		case "VmRSS:":
			u.MiB = kib / 1024
		}
	}
	return u
}
