package e2e

import (
	"strings"
	"testing"
)

// lists counts the answered lists of objects that a scheduler watches, by path. An API server that has just started, and
// does not know its roles yet, refuses streams and lists.
func (e *env) lists() map[string]int {
	all, err := e.c.requests()
	e.must(err)
	counts := map[string]int{}
	for _, r := range all {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if r.Verb == "list" && r.ResponseStatus.Code == 200 && !strings.Contains(path, "/namespaces/") { // in one namespace: of authentication
			counts[path]++
		}
	}
	return counts
}

// Objects come as the beginning of a watch, at the start and after a restart of the API server: nothing is listed.
func TestObjectsAreStreamed(t *testing.T) {
	e := private(t, Options{Audit: true})
	e.create(NewNode("node-0"), NewPod("before"))
	p := e.start()
	e.bound("before")
	e.c.KillAPI()
	e.must(e.c.RestartAPI(e.ctx))
	e.must(e.insist(NewPod("after")))
	e.bound("after")
	for path, count := range e.lists() {
		t.Errorf("%d lists of %s", count, path)
	}
	e.running(p)
}

// Where the API server does not stream objects, they are listed.
func TestObjectsAreListedWhereTheyCannotBeStreamed(t *testing.T) {
	e := private(t, Options{Audit: true, Flags: []string{"--feature-gates=WatchList=false"}})
	e.create(NewNode("node-0"), NewPod("web"))
	p := e.start()
	e.bound("web")
	if counts := e.lists(); counts["/api/v1/nodes"] == 0 || counts["/api/v1/pods"] == 0 {
		t.Errorf("the lists were %v", counts)
	}
	e.running(p)
}
