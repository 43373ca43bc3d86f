package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// parsedLine is a line of a log, whatever its format.
type parsedLine struct {
	severity byte // 'I', 'W', 'E'
	msg      string
	keys     []string
	values   map[string]string
	file     string
	v        int
	text     string
}

// add puts a value into the line. A key that caller and callee both log occurs twice; and loggers have a name in
// Go.
func (l *parsedLine) add(key, value string) {
	if key == "logger" || slices.Contains(l.keys, key) {
		return
	}
	l.keys = append(l.keys, key)
	l.values[key] = value
}

var klogHeader = regexp.MustCompile(`^([IWEF])(\d{2})(\d{2}) (\d{2}:\d{2}:\d{2}\.\d{6}) +(\d+) ([^ :\]]+):(\d+)\] (.*)$`)

// readText reads klog's text format: a header, a quoted message, and key=value pairs; a value of several lines is
// between =< and >.
func readText(text string) (all []parsedLine, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "Trace[") {
			continue // a trace of kube-scheduler in several lines
		}
		match := klogHeader.FindStringSubmatch(lines[i])
		if match == nil {
			return nil, fmt.Errorf("line %d has no header: %s", i+1, lines[i])
		}
		line := parsedLine{severity: match[1][0], file: match[6], values: map[string]string{}, text: lines[i]}
		rest := match[8]
		if !strings.HasPrefix(rest, `"`) {
			line.msg = rest // not structured
			all = append(all, line)
			continue
		}
		if line.msg, rest, err = takeQuoted(rest); err != nil {
			return nil, fmt.Errorf("line %d: %w: %s", i+1, err, lines[i])
		}
		for rest != "" {
			key, after, ok := strings.Cut(strings.TrimPrefix(rest, " "), "=")
			if !ok || key == "" || strings.Contains(key, `"`) { // kube-scheduler has keys with spaces
				return nil, fmt.Errorf("line %d: no key=value at %q: %s", i+1, rest, lines[i])
			}
			var value string
			switch {
			case after == "<":
				for i++; i < len(lines) && strings.HasPrefix(lines[i], "\t"); i++ {
					value += lines[i][1:] + "\n"
				}
				if i == len(lines) || !strings.HasPrefix(lines[i], " >") {
					return nil, fmt.Errorf("line %d: a block without end", i+1)
				}
				after = lines[i][2:]
			case strings.HasPrefix(after, `"`):
				if value, after, err = takeQuoted(after); err != nil {
					return nil, fmt.Errorf("line %d: %w: %s", i+1, err, lines[i])
				}
			case strings.HasPrefix(after, "{") || strings.HasPrefix(after, "["):
				decoder := json.NewDecoder(strings.NewReader(after))
				var any any
				if decoder.Decode(&any) == nil {
					value, after = after[:decoder.InputOffset()], after[decoder.InputOffset():]
				} else {
					value, after = after, ""
				}
			default:
				value, after, _ = strings.Cut(after, " ")
				if after != "" {
					after = " " + after
				}
			}
			line.add(key, value)
			rest = after
		}
		all = append(all, line)
	}
	return all, nil
}

func takeQuoted(text string) (value, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("no quoted text at %q", text)
	}
	value, err = strconv.Unquote(quoted)
	return value, text[len(quoted):], err
}

// readJSON reads the format of --logging-format=json: an object per line.
func readJSON(text string) (all []parsedLine, err error) {
	for i, one := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		decoder := json.NewDecoder(strings.NewReader(one))
		line := parsedLine{severity: 'I', values: map[string]string{}, text: one}
		if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
			return nil, fmt.Errorf("line %d is no object: %s", i+1, one)
		}
		hasV, hasTime := false, false
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, fmt.Errorf("line %d: %w: %s", i+1, err, one)
			}
			var value json.RawMessage
			if err := decoder.Decode(&value); err != nil {
				return nil, fmt.Errorf("line %d: %w: %s", i+1, err, one)
			}
			switch name := key.(string); name {
			case "ts":
				ms, err := strconv.ParseFloat(string(value), 64)
				if hasTime = err == nil && time.Since(time.UnixMilli(int64(ms))).Abs() < time.Hour; !hasTime {
					return nil, fmt.Errorf("line %d: ts is no time of today in milliseconds: %s", i+1, one)
				}
			case "caller":
				if err := json.Unmarshal(value, &line.file); err != nil || !regexp.MustCompile(`^[^/]+/[^/]+:\d+$`).MatchString(line.file) {
					return nil, fmt.Errorf("line %d: caller is not folder/file:line: %s", i+1, one)
				}
			case "msg":
				if err := json.Unmarshal(value, &line.msg); err != nil {
					return nil, fmt.Errorf("line %d: %w: %s", i+1, err, one)
				}
			case "v":
				if line.v, err = strconv.Atoi(string(value)); err != nil {
					return nil, fmt.Errorf("line %d: %w: %s", i+1, err, one)
				}
				hasV = true
			default:
				line.add(name, string(value))
			}
		}
		if !hasTime || line.file == "" {
			return nil, fmt.Errorf("line %d lacks ts or caller: %s", i+1, one)
		}
		if !hasV {
			line.severity = 'E'
		}
		all = append(all, line)
	}
	return all, nil
}

// Messages that both log for the same work, with the same keys, from the given verbosity on.
var mainEvents = []string{
	"Successfully bound pod to node",
	"Unable to schedule pod; no fit; waiting",
	"Attempting to acquire leader lease...",
	"Successfully acquired lease",
	"Attempting to schedule pod",
	"Requested to terminate, exiting",
	"Starting Kubernetes Scheduler",
	"Attempting to bind pod to node",
}

// logsOf is a scheduler's log of a small work, from its start to its end.
func logsOf(t *testing.T, name string, argv []string, flags ...string) (text, stdout string) {
	t.Run(name, func(t *testing.T) {
		e := shared(t)
		e.create(NewNode("node-0"))
		conf := e.c.path(e.file("logs") + ".conf")
		out := e.c.path(e.file("logs") + ".out")
		e.must(e.c.WriteKubeconfig(e.file("logs")+".conf", e.c.Addr(), Credentials{"token": schedulerToken}))
		// Standard output goes to its own file.
		all := append([]string{"/bin/sh", "-c", `out=$1; shift; exec "$@" >"$out"`, "sh", out}, argv...)
		all = append(all, "--kubeconfig", conf, "--secure-port=0", "--leader-elect-resource-name", "logs-of-"+name)
		p, err := launch(e.c.Dir, e.c.path(e.file("logs")+".log"), append(all, flags...)...)
		e.must(err)
		p.Name = name
		e.procs = append(e.procs, p)
		e.create(NewPod("web", hostPort(8080)))
		e.bound("web")
		e.create(NewPod("big", Requests("cpu", "100")))
		e.pod("big", "is refused", func(p *v1.Pod) bool { return scheduled(p) != nil })
		e.remove("web")
		e.gone("web")
		e.create(NewPod("next", hostPort(8080))) // which is bound once the scheduler knows that the first is gone
		e.bound("next")
		e.event("big", "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu. "+notHelpful(1))
		if _, err := p.Terminate(patience); err != nil {
			t.Error(err)
		}
		if p.Exit() != "exit status 0" {
			t.Errorf("%s of %s with a lease: %s", "SIGTERM", name, p.Exit())
		}
		b, err := os.ReadFile(p.Log)
		e.must(err)
		text = string(b)
		b, err = os.ReadFile(out)
		e.must(err)
		stdout = string(b)
	})
	return text, stdout
}

// A pipeline for kube-scheduler's logs reads berth's: the same parser accepts every line of both, and the main events have
// the same messages and keys.
func TestLogsAreTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	for _, row := range []struct {
		format string
		read   func(string) ([]parsedLine, error)
	}{{"text", readText}, {"json", readJSON}} {
		t.Run(row.format, func(t *testing.T) {
			flags := []string{"--v=5", "--logging-format=" + row.format}
			wantText, wantOut := logsOf(t, "reference", reference, flags...)
			gotText, gotOut := logsOf(t, "berth", berth, flags...)
			if t.Failed() {
				return
			}
			if wantOut != gotOut {
				t.Errorf("standard output has %q, want %q", firstLines(gotOut, 3), firstLines(wantOut, 3))
			}
			// Go's own unformatted messages, such as for broken pipes, do not occur here.
			want, err := row.read(wantText)
			if err != nil {
				t.Fatalf("this is not how kube-scheduler's log is read: %v", err)
			}
			got, err := row.read(gotText)
			if err != nil {
				t.Fatalf("berth's log: %v", err)
			}
			compareEvents(t, want, got)
		})
	}
}

func compareEvents(t *testing.T, want, got []parsedLine) {
	t.Helper()
	find := func(all []parsedLine, msg string) *parsedLine {
		for i := range all {
			if all[i].msg == msg {
				return &all[i]
			}
		}
		return nil
	}
	for _, msg := range mainEvents {
		w, g := find(want, msg), find(got, msg)
		if w == nil {
			t.Errorf("kube-scheduler says nothing of %q", msg)
			continue
		}
		if g == nil {
			t.Errorf("berth says nothing of %q", msg)
			continue
		}
		if !slices.Equal(w.keys, g.keys) || w.severity != g.severity || w.v != g.v {
			t.Errorf("%q: berth has\n%s\nand kube-scheduler\n%s", msg, g.text, w.text)
		}
		for _, key := range []string{"pod", "node", "err", "lock"} {
			a, b := strings.ReplaceAll(w.values[key], "reference", "berth"), g.values[key]
			if a != b && key != "err" {
				t.Errorf("%q: %s is %s, want %s", msg, key, b, a)
			}
		}
	}
}

// --vmodule raises the verbosity of single files; split streams separate errors from the rest.
func TestLogFlagsAreTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	t.Run("vmodule", func(t *testing.T) {
		text, _ := logsOf(t, "reference", reference, "--vmodule=schedule_one=4,eventhandlers=9")
		if !strings.Contains(text, "Attempting to schedule pod") {
			t.Errorf("kube-scheduler does not obey --vmodule")
		}
		quiet, _ := logsOf(t, "quiet", berth)
		if strings.Contains(quiet, "Attempting to schedule pod") {
			t.Fatalf("berth logs too much by default")
		}
		one := regexp.MustCompile(` (\S+)\.c:\d+\] "Attempting to schedule pod"`)
		loud, _ := logsOf(t, "loud", berth, "--v=4")
		match := one.FindStringSubmatch(loud)
		if match == nil {
			t.Fatalf("with --v=4 there is no such line:\n%s", loud)
		}
		some, _ := logsOf(t, "some", berth, "--vmodule="+match[1]+"=4")
		if !strings.Contains(some, "Attempting to schedule pod") {
			t.Errorf("berth does not obey --vmodule=%s=4", match[1])
		}
	})
	for _, format := range []string{"text", "json"} {
		t.Run("split "+format, func(t *testing.T) {
			flags := []string{"--logging-format=" + format, "--log-" + format + "-split-stream", "--feature-gates=LoggingAlphaOptions=true", "--v=3"}
			_, want := logsOf(t, "reference", reference, flags...)
			errs, got := logsOf(t, "berth", berth, flags...)
			read := readText
			if format == "json" {
				read = readJSON
			}
			if want == "" || got == "" {
				t.Fatalf("nothing on standard output: kube-scheduler %d bytes, berth %d", len(want), len(got))
			}
			for _, text := range []string{want, got} {
				lines, err := read(text)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range lines {
					if line.severity == 'E' {
						t.Errorf("an error on standard output: %s", line.text)
					}
				}
			}
			if errs != "" {
				lines, err := read(errs)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range lines {
					if line.severity == 'I' {
						t.Errorf("no error on standard error: %s", line.text)
					}
				}
			}
		})
	}
}
