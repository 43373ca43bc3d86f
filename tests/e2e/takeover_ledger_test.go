package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The records of a contest (takeover_test.go): requests from the API server's audit log, pods from a watch.

// deed is a request of a contender, as the audit log has it.
type deed struct {
	who            string
	pod            string // its pod; of a list, the kind of objects
	received, done time.Time
	code           int
}

// accepted: it was done, and the client got the response. maybe: unknown, since the client did not wait.
func (d *deed) accepted() bool { return d.code >= 200 && d.code < 300 }
func (d *deed) maybe() bool    { return d.code == 0 || d.code == 499 || d.code >= 500 }

// ledger follows the audit log.
type ledger struct {
	path string
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	bindings []deed
	writes   []deed // all others that a leader alone may send
	lists    []deed // accepted; also streams that begin with all objects
	leases   []deed // writes of the Lease, accepted
	looks    map[string]int
}

func follow(ctx context.Context, path string) *ledger {
	ctx, stop := context.WithCancel(ctx)
	l := &ledger{path: path, stop: stop, looks: map[string]int{}}
	l.done.Go(func() { l.run(ctx) })
	return l
}

func (l *ledger) close() {
	l.stop()
	l.done.Wait()
}

// run reads lines as they are written. The API server rotates a large file.
func (l *ledger) run(ctx context.Context) {
	var f *os.File
	var lines *bufio.Reader
	var line []byte
	for ctx.Err() == nil {
		if f == nil {
			var err error
			if f, err = os.Open(l.path); err != nil {
				f = nil
				time.Sleep(10 * time.Millisecond)
				continue
			}
			lines, line = bufio.NewReaderSize(f, 1<<20), nil
		}
		piece, err := lines.ReadBytes('\n')
		line = append(line, piece...)
		if err == nil {
			l.take(line)
			line = line[:0]
			continue
		}
		mine, _ := f.Stat()
		if now, err := os.Stat(l.path); err == nil && !os.SameFile(mine, now) {
			if rest, _ := io.ReadAll(lines); len(rest) > 0 {
				for _, one := range bytes.SplitAfter(append(line, rest...), []byte("\n")) {
					l.take(one)
				}
			}
			f.Close()
			f = nil
			continue
		}
		time.Sleep(5 * time.Millisecond)
	}
	if f != nil {
		f.Close()
	}
}

func (l *ledger) take(line []byte) {
	var r struct {
		Verb       string
		Stage      string
		RequestURI string
		User       struct{ Groups []string }
		ObjectRef  struct{ Resource, Subresource, Name string }

		ResponseStatus                           struct{ Code int }
		RequestReceivedTimestamp, StageTimestamp time.Time
	}
	if json.Unmarshal(line, &r) != nil {
		return
	}
	d := deed{pod: r.ObjectRef.Name, received: r.RequestReceivedTimestamp, done: r.StageTimestamp, code: r.ResponseStatus.Code}
	for _, group := range r.User.Groups {
		if name, ok := strings.CutPrefix(group, "contender:"); ok {
			d.who = name
		}
	}
	// A stream of all objects; the log has when it began, and at its very end when it ended.
	streams := r.Verb == "watch" && strings.Contains(r.RequestURI, "sendInitialEvents=true")
	changes := slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case d.who == "" || r.ObjectRef.Resource == "events":
	case r.ObjectRef.Resource == "leases" && changes && d.accepted():
		l.leases = append(l.leases, d)
	case r.ObjectRef.Resource == "leases":
		l.looks[d.who]++
	case r.ObjectRef.Subresource == "binding" && changes:
		l.bindings = append(l.bindings, d)
	case changes:
		l.writes = append(l.writes, d)
	case (r.Verb == "list" || streams && r.Stage == "ResponseStarted") && d.accepted():
		d.pod = r.ObjectRef.Resource
		l.lists = append(l.lists, d)
	}
}

// ---- the pods ----

// throng is an overcommitted node: its pods, and the last one.
type throng struct {
	node, last string
	pods       []string
	used       int64
}

// usage replays a watch of all pods, in the order of their changes.
type usage struct {
	onBound func(pod string)

	mu      sync.Mutex
	nodes   map[string]map[string]int64 // the CPU of each pod of a node, in thousandths
	where   map[string]string           // "" while a pod waits; kept after its deletion
	waiting int
	throngs []throng
	moved   []string
}

const nodeMilli = 1000

func (r *usage) apply(obj runtime.Object, gone bool) {
	pod := obj.(*v1.Pod)
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.where[pod.Name]
	node := pod.Spec.NodeName
	if !known && node == "" && !gone {
		r.waiting++
	}
	r.where[pod.Name] = node
	switch {
	case before != "" && before != node:
		r.moved = append(r.moved, fmt.Sprintf("%s from %s to %q", pod.Name, before, node))
	case before == "" && node != "":
		if known {
			r.waiting--
		}
		r.settle(pod, node)
		r.onBound(pod.Name)
	}
	if gone {
		delete(r.nodes[node], pod.Name)
	}
}

func (r *usage) settle(pod *v1.Pod, node string) {
	if r.nodes[node] == nil {
		r.nodes[node] = map[string]int64{}
	}
	r.nodes[node][pod.Name] = pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	f := throng{node: node, last: pod.Name}
	for name, amount := range r.nodes[node] {
		f.used += amount
		f.pods = append(f.pods, name)
	}
	if f.used > nodeMilli {
		r.throngs = append(r.throngs, f)
	}
}

func (r *usage) unbound() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, node := range r.where {
		if node == "" {
			names = append(names, name)
		}
	}
	return names
}
