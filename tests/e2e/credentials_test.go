package e2e

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// startAs runs the scheduler under test with credentials other than the usual token.
func (e *env) startAs(name string, user Credentials, flags ...string) *Proc {
	e.Helper()
	p, err := e.c.StartSchedulerAs(user, e.file(name), e.c.Addr(), e.argv, flags...)
	e.must(err)
	e.procs = append(e.procs, p)
	return p
}

// write puts a file into the cluster's folder atomically, as with a mounted secret, and returns its path.
func (e *env) write(name, text string, mode os.FileMode) string {
	e.Helper()
	path := e.c.path(e.file(name))
	e.must(os.WriteFile(path+".new", []byte(text), mode))
	e.must(os.Rename(path+".new", path))
	return path
}

// program makes credentials from a program that prints the contents of a file.
func (e *env) program(name, answer string) Credentials {
	e.Helper()
	script := `#!/bin/sh
# A credential plugin: it gets a request, and the arguments and variables of the kubeconfig.
[ -n "$KUBERNETES_EXEC_INFO" ] && [ "$1" = --answer ] && [ "$FLAVOUR" = vanilla ] || exit 1
echo once >> "$0.runs"
exec cat "$2"
`
	return Credentials{"exec": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
		"command": e.write(name, script, 0o755), "args": []string{"--answer", answer},
		"env": []map[string]string{{"name": "FLAVOUR", "value": "vanilla"}}}}
}

// answer is the output of such a program.
func answer(status map[string]string) string {
	b, _ := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})
	return string(b)
}

// A token from a file that ends with a newline.
func TestTokenFile(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("web"))
	e.startAs("scheduler", Credentials{"tokenFile": e.write("token", schedulerToken+"\n", 0o600)})
	e.boundTo("web", "node-0")
}

// A certificate from files, from the kubeconfig itself (as kubeadm writes it), or from a program.
func TestClientCertificate(t *testing.T) {
	rows := []struct {
		name string
		user func(e *env, certificate, key []byte) Credentials
	}{
		{"files", func(e *env, certificate, key []byte) Credentials {
			return Credentials{"client-certificate": e.write("crt", string(certificate), 0o600),
				"client-key": e.write("key", string(key), 0o600)}
		}},
		{"data", func(e *env, certificate, key []byte) Credentials {
			return Credentials{"client-certificate-data": certificate, "client-key-data": key}
		}},
		{"program", func(e *env, certificate, key []byte) Credentials {
			status := map[string]string{"clientCertificateData": string(certificate), "clientKeyData": string(key)}
			return e.program("plugin", e.write("answer", answer(status), 0o600))
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := shared(t)
			certificate, key, err := e.c.authority.issue(schedulerUser)
			e.must(err)
			e.create(NewNode("node-0"), NewPod("web"))
			e.startAs("scheduler", row.user(e, certificate, key))
			e.boundTo("web", "node-0")
			e.event("web", "Scheduled", "Successfully assigned default/web to node-0")
		})
	}
}

// A token that is no longer valid is replaced by the program's current one.
func TestProgramGivesAnotherToken(t *testing.T) {
	e := shared(t)
	given := e.write("answer", answer(map[string]string{"token": e.c.RotatingToken()}), 0o600)
	plugin := e.program("plugin", given)
	e.create(NewNode("node-0"))
	p := e.startAs("scheduler", plugin)
	e.rotate(func(token string) { e.write("answer", answer(map[string]string{"token": token}), 0o600) })
	e.running(p)
	runs, err := os.ReadFile(plugin["exec"].(map[string]any)["command"].(string) + ".runs")
	e.must(err)
	if count := len(runs) / len("once\n"); count < 2 || count > 100 {
		t.Errorf("the program was run %d times for two tokens", count)
	}
}

// ... or by the one in the file.
func TestBerthReadsItsTokenFileAgain(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler looks at the file once a minute, even if its token is refused")
	file := e.write("token", e.c.RotatingToken()+"\n", 0o600)
	e.create(NewNode("node-0"))
	p := e.startAs("scheduler", Credentials{"tokenFile": file})
	e.rotate(func(token string) { e.write("token", token+"\n", 0o600) })
	e.running(p)
}

// rotate lets the scheduler bind a pod before and after the API server switches to another token.
func (e *env) rotate(write func(token string)) {
	e.Helper()
	e.create(NewPod("before"))
	e.bound("before")
	e.must(e.c.RotateToken(e.ctx))
	write(e.c.RotatingToken())
	e.create(NewPod("after"))
	e.bound("after")
}

// A scheduler that starts with a wrong token waits for a valid one, and does not end.
func TestBerthWaitsForTheRightToken(t *testing.T) {
	e := shared(t)
	e.berthOnly("kube-scheduler looks at the file once a minute, even if its token is refused")
	file := e.write("token", "wrong", 0o600)
	e.create(NewNode("node-0"), NewPod("web"))
	p := e.startAs("scheduler", Credentials{"tokenFile": file})
	time.Sleep(time.Second) // time for a fault to show; there is no event to wait for
	e.running(p)
	if s := e.o.Pod(key("web")); s.Node != "" {
		t.Fatalf("bound to %s with a wrong token", s.Node)
	}
	e.write("token", schedulerToken, 0o600)
	e.boundTo("web", "node-0")
}
