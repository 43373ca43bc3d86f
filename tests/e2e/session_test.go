package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What differs from run to run.
var sessionMasks = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000`), "TIME"},
	{regexp.MustCompile(`("?)resourceVersion("?): "\d+"`), "VERSION"},
	{regexp.MustCompile(`Resource Version: +\d+`), "VERSION"},
	{regexp.MustCompile(`\b(\d+[dhm])?\d+[dhms]\b`), "AGE"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "ADDRESS"},
	{regexp.MustCompile(`https://127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(` +`), " "},
}

// The output of a command, both streams and the exit code, masked; and whether it succeeded.
func sessionRun(ctx context.Context, kubectl, conf, line string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kubectl, append([]string{"--kubeconfig", conf}, strings.Split(line, " ")...)...)
	cmd.Dir = "session"
	cmd.Env = append(os.Environ(), "KUBE_EDITOR=sed -i s/hello/edited/", "KUBECTL_EXTERNAL_DIFF=diff -u -N --label=a --label=b")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	end := "ok"
	err := cmd.Run()
	if err != nil {
		end = err.Error()
	}
	text := stdout.String() + "\nstderr: " + stderr.String() + "\n" + end
	for _, mask := range sessionMasks {
		text = mask.pattern.ReplaceAllString(text, mask.text)
	}
	return text, err == nil
}

type sessionCommand struct {
	line    string
	differs bool // "~ ": it is known to differ
	waits   bool // "? ": it is repeated until it succeeds, and not compared
}

func sessionLines(t *testing.T, name string) (lines []string) {
	text, err := os.ReadFile(filepath.Join("session", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// The commands of session/commands.txt; "@each KIND/NAME..." stands for the commands of session/each.txt for each object.
func sessionCommands(t *testing.T) (commands []sessionCommand) {
	each := sessionLines(t, "each.txt")
	for _, line := range sessionLines(t, "commands.txt") {
		if objects, is := strings.CutPrefix(line, "@each "); is {
			for _, object := range strings.Fields(objects) {
				kind, name, _ := strings.Cut(object, "/")
				for _, line := range each {
					commands = append(commands, sessionCommand{line: strings.NewReplacer("KIND", kind, "NAME", name).Replace(line)})
				}
			}
			continue
		}
		command := sessionCommand{line: line}
		command.line, command.differs = strings.CutPrefix(command.line, "~ ")
		command.line, command.waits = strings.CutPrefix(command.line, "? ")
		commands = append(commands, command)
	}
	return commands
}

// Runs the command until it succeeds.
func sessionWait(ctx context.Context, t *testing.T, kubectl, conf, line string) {
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		text, ok := sessionRun(ctx, kubectl, conf, line)
		if ok {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("kubectl %s does not succeed with %s:\n%s", line, conf, text)
		}
	}
}

// `berth cluster` without nodes and controllers, which the real API server does not have either; returns its kubeconfig.
func sessionCluster(t *testing.T) string {
	berth, err := filepath.Abs(os.Getenv("BERTH"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "kubeconfig")
	proc, err := launch(dir, filepath.Join(dir, "log"), berth, "cluster", "--nodes", "0", "--no-controllers", "--kubeconfig", conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.Kill() })
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(50 * time.Millisecond) {
		if log, _ := os.ReadFile(filepath.Join(dir, "log")); strings.Contains(string(log), "is ready") {
			return conf
		}
	}
	t.Fatal("berth cluster does not start")
	return ""
}

// The same commands of a kubectl on the real API server and on the embedded one. Both have one home for what kubectl
// keeps about servers, which it keeps by their addresses.
func compareSession(t *testing.T, part string) {
	if testing.Short() || sanitized() {
		t.Skip("takes minutes, and the outputs are the same in every build")
	}
	ctx := context.Background()
	real, err := Start(ctx, Options{Flags: []string{"--feature-gates", "GenericWorkload=true", "--runtime-config", "scheduling.k8s.io/v1beta1=true"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { real.Stop(); real.Remove() })
	kubectl := real.part(part)
	if _, err := os.Stat(kubectl); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	conf := sessionCluster(t)
	commands := sessionCommands(t)
	for _, command := range commands {
		if command.waits {
			sessionWait(ctx, t, kubectl, real.path("admin.conf"), command.line)
			sessionWait(ctx, t, kubectl, conf, command.line)
			continue
		}
		want, _ := sessionRun(ctx, kubectl, real.path("admin.conf"), command.line)
		got, _ := sessionRun(ctx, kubectl, conf, command.line)
		if want != got && !command.differs {
			t.Errorf("kubectl %s\n--- kube-apiserver\n%s\n--- berth\n%s", command.line, want, got)
		}
	}
	if len(commands) < 400 {
		t.Errorf("%d commands", len(commands))
	}
}

func TestKubectlSession(t *testing.T) { compareSession(t, "kubectl") }

// A kubectl of some years ago asks in other ways: for discovery one group at a time, for OpenAPI version 2.
func TestKubectlSessionOld(t *testing.T) { compareSession(t, "kubectl-old") }
