package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// request is a line of the API server's audit log.
type request struct {
	Verb           string
	RequestURI     string
	ResponseStatus struct{ Code int }
}

// requests reads what the scheduler asked of the API server so far.
func (e *env) requests() (all []request) {
	e.Helper()
	f, err := os.Open(e.c.path("audit.log"))
	e.must(err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		e.must(json.Unmarshal(lines.Bytes(), &r))
		all = append(all, r)
	}
	return all
}

// Tests run in the order of their files' names, and this one's is the last: nothing that the scheduler did in any test on
// the shared cluster was refused by RBAC.
func TestNothingWasForbidden(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("web"))
	e.start()
	e.bound("web")
	all := e.requests()
	if len(all) == 0 {
		t.Fatal("the audit log has nothing of the scheduler")
	}
	seen := map[string]bool{}
	for _, r := range all {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if line := r.Verb + " " + path; r.ResponseStatus.Code == 403 && !seen[line] {
			seen[line] = true
			t.Errorf("forbidden: %s", line)
		}
	}
}
