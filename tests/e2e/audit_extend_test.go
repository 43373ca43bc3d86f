package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
)

// Whatever message a third-party plugin returns, the pod's condition has a text that the API server accepts, and the
// scheduler continues.
func TestPluginWithOddMessages(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewNode("node-1"))
	x := e.with(t, "../plugins/mistakes.c", "Mistakes", "")
	unexplained := "refused by plugin Mistakes, which does not say why"
	said := map[string]string{
		"filter-silent":    "0/2 nodes are available: 2 " + unexplained + ". " + noVictims(2),
		"filter-latin":     "0/2 nodes are available: 2 the caf\ufffd is closed. " + noVictims(2),
		"pre-bind-silent":  `running PreBind plugin "Mistakes": failed, and does not say why`,
		"pre-bind-refuses": unexplained,
	}
	for mistake := range said {
		e.create(NewPod(mistake, labels("mistake", mistake)))
	}
	for mistake, message := range said {
		e.pod(mistake, "is told: "+message, func(p *v1.Pod) bool {
			c := scheduled(p)
			return c != nil && c.Message == message
		})
		e.event(mistake, "FailedScheduling", message)
	}
	// A message that is too long for an object is truncated between two characters.
	for mistake, least := range map[string]int{"filter-long": 512<<10 - 8, "filter-cut": 2000} {
		e.create(NewPod(mistake, labels("mistake", mistake)))
		pod := e.pod(mistake, "is refused", func(p *v1.Pod) bool { return scheduled(p) != nil })
		if message := scheduled(pod).Message; len(message) < least || strings.Contains(message, "\ufffd") {
			t.Errorf("%s: a message of %d bytes that ends with %q", mistake, len(message), message[len(message)-10:])
		}
		e.await(mistake+" has an event", func() bool { return len(e.o.Events(key(mistake))) > 0 }, mistake)
		note := e.o.Events(key(mistake))[0].Note
		if len(note) < 1016 || len(note) > 1024 || !strings.HasSuffix(note, "é ...") || !utf8.ValidString(note) {
			t.Errorf("%s: a note of %d bytes that ends with %q", mistake, len(note), note[len(note)-10:])
		}
	}
	// A gate that fails does not block other pods; it is logged, as the pod has no condition yet.
	e.create(NewPod("gated", labels("mistake", "pre-enqueue-silent")), NewPod("free"))
	e.bound("free")
	x.says(`"Unexpected error running PreEnqueue plugin" err="failed, and does not say why" pod="default/gated" plugin="Mistakes"`)
	e.running(x.proc)
}

// PreBind of a deleted pod may end at any time, and with any state.
func TestPluginIsLate(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"))
	x := e.with(t, "../plugins/late.c", "Late", "")
	for _, how := range []string{"leaves", "changes"} {
		e.create(NewPod(how, labels("late", how)))
		x.says("begins " + how)
		e.remove(how)
		x.says("ends " + how)
		x.once("unreserve " + how)
	}
	e.create(NewPod("next"))
	e.bound("next")
	if testing.Short() {
		return
	}
	// One that never ends is abandoned.
	e.create(NewPod("never", labels("late", "never")))
	x.says("begins never")
	if _, err := x.proc.Terminate(20 * time.Second); err != nil || x.proc.Exit() != "exit status 0" {
		t.Errorf("ended with %s, %v", x.proc.Exit(), err)
	}
	x.says("A plugin is still busy with a pod that was given up")
}

// A plugin without data is released, too: it may have a thread.
func TestPluginWithoutASelfIsReleased(t *testing.T) {
	e := shared(t)
	e.create(NewNode("node-0"), NewPod("web"))
	x := e.with(t, "../plugins/late.c", "Selfless", "")
	e.bound("web")
	_, err := x.proc.Terminate(patience)
	e.must(err)
	x.once("selfless is released, of nothing")
}

func raw(text string) map[string]string { return map[string]string{"filter": text} }

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// Responses of a server, a proxy or a faulty program. Go's client and decoder define the outcome.
var oddAnswers = map[string]*extenderCase{
	"code-201":         {config: filterNames, verbs: filters(201, `{"NodeNames":["@B"]}`)},
	"code-299":         {config: filterNames, verbs: filters(299, `{"NodeNames":["@B"]}`)},
	"code-304":         {config: filterNames, verbs: filters(304, ``)},
	"code-429":         {config: filterNames, verbs: filters(429, `{"NodeNames":["@B"]}`)},
	"code-503":         {config: filterNames, verbs: filters(503, `{"NodeNames":["@B"]}`)},
	"chunked":          {config: filterNames, raw: raw(okHead + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"Err\r\n10\r\nor\":\"in chunks\"}\r\n0\r\n\r\n")},
	"chunked-trailer":  {config: filterNames, raw: raw(okHead + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n15;a=b\r\n{\"Error\":\"in chunks\"}\r\n0\r\nX: y\r\n\r\n")},
	"chunked-cut":      {words: true, config: filterNames, raw: raw(okHead + "Transfer-Encoding: chunked\r\n\r\n15\r\n{\"Error\":\"in")},
	"chunked-badly":    {words: true, config: filterNames, raw: raw(okHead + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n")},
	"continue":         {config: filterNames, raw: raw("HTTP/1.1 100 Continue\r\n\r\n" + okHead + "Content-Length: 17\r\n\r\n{\"Error\":\"later\"}")},
	"early-hints":      {config: filterNames, raw: raw("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + okHead + "Content-Length: 17\r\n\r\n{\"Error\":\"later\"}")},
	"too-long":         {config: filterNames, raw: raw(okHead + "Content-Length: 17\r\n\r\n{\"Error\":\"short\"}{\"Error\":\"more\"}")},
	"bad-length":       {words: true, config: filterNames, raw: raw(okHead + "Content-Length: many\r\n\r\n{\"Error\":\"short\"}")},
	"bad-status":       {words: true, config: filterNames, raw: raw("HTTP/1.1 abc OK\r\n\r\n{}")},
	"gzip-cut":         {words: true, config: filterNames, raw: raw(okHead + "Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xaa\x56")},
	"gzip-none":        {words: true, config: filterNames, raw: raw(okHead + "Content-Encoding: gzip\r\nContent-Length: 17\r\n\r\n{\"Error\":\"short\"}")},
	"bom":              {config: filterNames, verbs: filters(200, "\ufeff{\"Error\":\"x\"}")},
	"deep":             {config: filterNames, verbs: filters(200, `{"x":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`,"Error":"deep"}`)},
	"too-deep":         {words: true, config: filterNames, verbs: filters(200, strings.Repeat("[", 20000)+strings.Repeat("]", 20000))},
	"half-a-character": {config: filterNames, verbs: filters(200, `{"Error":"caf\udce9 \ud800 \ud83d\ude00"}`)},
	"failed-both-ways": {config: filterNames, verbs: filters(200, `{"NodeNames":["@A"],"FailedNodes":{"@A":"x"},"FailedAndUnresolvableNodes":{"@A":"z"}}`)},
	"null-items":       {config: filterNodes, verbs: filters(200, `{"Nodes":{"items":null}}`)},
	"null-name":        {config: filterNames, verbs: filters(200, `{"NodeNames":["@B",null]}`)},
	"both-kinds":       {config: filterNames, verbs: filters(200, `{"NodeNames":["@B"],"Nodes":{"items":[{"metadata":{"name":"@A"}}]}}`)},
	"both-kinds-nodes": {config: filterNodes, verbs: filters(200, `{"NodeNames":["@B"],"Nodes":{"items":[{"metadata":{"name":"@A"}}]}}`)},
	"unresolvable":     {config: "preemptVerb: preempt, " + filterNames, full: true, verbs: filters(200, `{"FailedAndUnresolvableNodes":{"@A":"no","@B":"no"}}`)},
	"score-null":       {tie: true, config: scoreNames, verbs: scores(200, `null`)},
	"score-nulls":      {tie: true, config: scoreNames, verbs: scores(200, `[null,null]`)},
	"score-text":       {tie: true, config: scoreNames, verbs: scores(200, `[{"Host":"@B","Score":"9"}]`)},
	"score-exponent":   {tie: true, config: scoreNames, verbs: scores(200, `[{"Host":"@B","Score":1e1}]`)},
	"score-overflow":   {tie: true, config: scoreNames, verbs: scores(200, `[{"Host":"@B","Score":9223372036854775808}]`)},
	"evict-503":        {config: preemptNames, full: true, verbs: evicts(503, `{"NodeNameToMetaVictims":{"@A":{"Pods":[]}}}`)},
	"evict-twice":      {config: preemptNames, full: true, verbs: verbs{"preempt": evictTwice}},
}

// evictTwice names each victim of one of the nodes twice.
func evictTwice(w http.ResponseWriter, request map[string]json.RawMessage) {
	var victims map[string]struct{ Pods []struct{ UID string } }
	json.Unmarshal(request["NodeNameToMetaVictims"], &victims)
	maps.DeleteFunc(victims, func(node string, _ struct{ Pods []struct{ UID string } }) bool { return strings.HasSuffix(node, "-a") })
	for node, list := range victims {
		list.Pods = append(list.Pods, list.Pods...)
		victims[node] = list
	}
	json.NewEncoder(w).Encode(map[string]any{"NodeNameToMetaVictims": victims})
}

// moves redirects a request to another address.
func moves(code int, where string) func(http.ResponseWriter, map[string]json.RawMessage) {
	return func(w http.ResponseWriter, _ map[string]json.RawMessage) {
		w.Header().Set("Location", where)
		w.WriteHeader(code)
		io.WriteString(w, `{"Error":"this is not the place"}`)
	}
}

// movedAnswers are those of extenders that redirect to a server which reports the request it received.
func movedAnswers(there string) map[string]*extenderCase {
	cases := map[string]*extenderCase{
		"moved-nowhere":   {words: true, config: filterNames, verbs: verbs{"filter": moves(302, "")}},
		"moved-badly":     {words: true, config: filterNames, verbs: verbs{"filter": moves(302, "http://a b/")}},
		"moved-away":      {words: true, config: filterNames, verbs: verbs{"filter": moves(307, "http://127.0.0.1:1/x")}},
		"moved-in-circle": {words: true, config: filterNames, verbs: verbs{"filter": moves(307, "/moved-in-circle/filter")}},
		"bind-moved":      {config: "bindVerb: bind, httpTimeout: 1s", single: true, binds: true, verbs: verbs{"bind": moves(307, there)}},
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		cases[fmt.Sprint("moved-", code)] = &extenderCase{config: filterNames, verbs: verbs{"filter": moves(code, there)}}
	}
	return cases
}

// Odd or redirected responses of extenders have the same outcome as with kube-scheduler.
func TestOddExtendersAsWithTheReference(t *testing.T) {
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		fmt.Fprintf(w, `{"Error":"%s with a body: %v"}`, request.Method, len(body) > 0)
	}))
	defer there.Close()
	cases := maps.Clone(oddAnswers)
	maps.Copy(cases, movedAnswers(there.URL))
	compareExtenders(t, cases)
}
