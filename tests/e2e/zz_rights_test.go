package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// request is a line of the API server's audit log.
type request struct {
	Verb                     string
	RequestURI               string
	RequestReceivedTimestamp time.Time
	ResponseStatus           struct{ Code int }
}

// requests reads the scheduler's requests to the API server so far.
func (c *Cluster) requests() (all []request, err error) {
	f, err := os.Open(c.path("audit.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		// The API server may be killed in the middle of a line, and continue in the same line.
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			all = append(all, r)
		}
	}
	return all, lines.Err()
}

// noneForbidden fails if RBAC rejected a request.
func noneForbidden(t *testing.T, c *Cluster) {
	t.Helper()
	all, err := c.requests()
	if err != nil || len(all) == 0 {
		t.Errorf("the audit log has nothing of the scheduler (%v)", err)
	}
	seen := map[string]bool{}
	for _, r := range all {
		starting := slices.ContainsFunc(c.away, func(s span) bool {
			return r.RequestReceivedTimestamp.After(s.from) && r.RequestReceivedTimestamp.Before(s.to)
		})
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if Release() != DefaultRelease && strings.HasSuffix(path, "/devicetaintrules") {
			continue // tests that start a scheduler of the newer release: its kind is not in this server's role
		}
		if line := r.Verb + " " + path; r.ResponseStatus.Code == 403 && !starting && !seen[line] {
			seen[line] = true
			t.Errorf("forbidden: %s", line)
		}
	}
}

// Tests run in the order of their files' names, and this one's is the last: RBAC rejected no request of the scheduler in
// any test on the shared cluster. The log of a private cluster is checked when it ends.
func TestNothingWasForbidden(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("web"))
	e.start()
	e.bound("web")
	noneForbidden(t, e.c)
}
