package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A recorder is an extender that records requests to the byte, and replies as the case in the path says: /CASE/VERB.
type recorder struct {
	lock  sync.Mutex
	first map[string]arrival // by path: the first request
	cases map[string]*extenderCase
	plain *httptest.Server
	tls   *httptest.Server
}

type arrival struct {
	line    string // method, path, protocol
	headers []string
	body    []byte
}

// An extenderCase is an extender for one pod only, which fits only two nodes, CASE-a and CASE-b.
type extenderCase struct {
	config string // more fields of the extender
	verbs  map[string]func(w http.ResponseWriter, request map[string]json.RawMessage)
	raw    map[string]string // by verb: bytes to write to the connection instead
	prefix string            // in place of the usual one
	pod    []PodMod
	nodes  []NodeMod
	full   bool // the nodes are full of pods with lower priority, CASE-low-a and CASE-low-b
	single bool // one node only
	tie    bool // both nodes are equal
	words  bool // both fail, with different texts
	binds  bool // shares an extender with all that bind
	long   bool
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	var headers []string
	for name, values := range request.Header {
		headers = append(headers, fmt.Sprintf("%s: %s", name, strings.Join(values, ", ")))
	}
	headers = slices.DeleteFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Content-Length: ") })
	headers = append(headers, "Host: "+request.Host, fmt.Sprintf("length %v", request.ContentLength == int64(len(body))))
	sort.Strings(headers)
	r.lock.Lock()
	what := request.URL.Path
	if strings.HasSuffix(what, "/bind") {
		what += string(regexp.MustCompile(`"PodName":"[^"]*"`).Find(body))
	}
	if _, seen := r.first[what]; !seen {
		r.first[what] = arrival{request.Method + " " + request.RequestURI + " " + request.Proto, headers, body}
	}
	c := r.cases[parts[0]]
	r.lock.Unlock()
	verb := parts[len(parts)-1]
	if verb == "bind" {
		var args struct{ PodName string }
		json.Unmarshal(body, &args)
		c = r.cases[args.PodName]
	}
	if c == nil {
		http.NotFound(w, request)
		return
	}
	if raw := c.raw[verb]; raw != "" {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			if raw != closed {
				io.WriteString(conn, raw)
			}
			conn.Close()
		}
		return
	}
	var args map[string]json.RawMessage
	json.Unmarshal(body, &args)
	if answer := c.verbs[verb]; answer != nil {
		answer(w, args)
	} else {
		fair(w, args)
	}
}

// fair accepts everything.
func fair(w http.ResponseWriter, request map[string]json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]json.RawMessage{"NodeNames": request["NodeNames"], "Nodes": request["Nodes"]})
}

// says is a response with a code and a text, in which A and B are replaced by the names of the case's nodes.
func says(code int, text string) func(http.ResponseWriter, map[string]json.RawMessage) {
	return func(w http.ResponseWriter, request map[string]json.RawMessage) {
		var pod struct{ Metadata struct{ Name string } }
		json.Unmarshal(request["Pod"], &pod)
		name := pod.Metadata.Name
		if name == "" {
			json.Unmarshal(request["PodName"], &name)
		}
		w.WriteHeader(code)
		io.WriteString(w, strings.NewReplacer("@A", name+"-a", "@B", name+"-b").Replace(text))
	}
}

// slowly takes longer than the timeout, which is long enough for a busy machine.
func slowly(w http.ResponseWriter, _ map[string]json.RawMessage) { time.Sleep(6 * time.Second) }

func packed(w http.ResponseWriter, request map[string]json.RawMessage) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	json.NewEncoder(z).Encode(map[string]json.RawMessage{"NodeNames": request["NodeNames"]})
	z.Close()
}

type verbs = map[string]func(http.ResponseWriter, map[string]json.RawMessage)

func filters(code int, text string) verbs { return verbs{"filter": says(code, text)} }
func scores(code int, text string) verbs  { return verbs{"prioritize": says(code, text)} }
func evicts(code int, text string) verbs  { return verbs{"preempt": says(code, text)} }
func binds(code int, text string) verbs   { return verbs{"bind": says(code, text)} }

const closed = "nothing"

const (
	filterNames  = "filterVerb: filter, nodeCacheCapable: true"
	filterNodes  = "filterVerb: filter"
	scoreNames   = "prioritizeVerb: prioritize, weight: 3, nodeCacheCapable: true"
	preemptNames = "preemptVerb: preempt, nodeCacheCapable: true"
	ignored      = ", ignorable: true"
)

var extenderCases = map[string]*extenderCase{
	"fair-names":          {tie: true, config: filterNames, pod: []PodMod{rich}, nodes: []NodeMod{wealthy}},
	"fair-nodes":          {tie: true, config: filterNodes, pod: []PodMod{rich}, nodes: []NodeMod{wealthy}},
	"slashes":             {tie: true, config: filterNames, prefix: "http://PLAIN/slashes///"},
	"deep":                {tie: true, config: filterNames, prefix: "http://PLAIN/deep/a/b%20c/?x=1"},
	"code-500":            {config: filterNames, verbs: filters(500, "oh no")},
	"code-404":            {config: filterNames, verbs: filters(404, "oh no")},
	"code-204":            {config: filterNames, verbs: filters(204, "")},
	"code-500-ignored":    {tie: true, config: filterNames + ignored, verbs: filters(500, "oh no")},
	"error":               {config: filterNames, verbs: filters(200, `{"Error":"out of order"}`)},
	"error-small":         {config: filterNames, verbs: filters(200, `{"error":"out of order"}`)},
	"error-and-nodes":     {config: filterNames, verbs: filters(200, `{"Error":"out of order","NodeNames":["@A"]}`)},
	"error-lines":         {config: filterNames, verbs: filters(200, `{"Error":"two\nlines \"quoted\" <&> é"}`)},
	"error-ignored":       {tie: true, config: filterNames + ignored, verbs: filters(200, `{"Error":"out of order"}`)},
	"html":                {config: filterNames, verbs: filters(200, "<html>It works!</html>")},
	"cut":                 {config: filterNames, verbs: filters(200, `{"NodeNames":["@A"`)},
	"cut-in-text":         {config: filterNames, verbs: filters(200, `{"NodeNames":["@A`)},
	"empty":               {config: filterNames, verbs: filters(200, "")},
	"blank":               {config: filterNames, verbs: filters(200, " \n")},
	"null":                {config: filterNames, verbs: filters(200, "null")},
	"list":                {config: filterNames, verbs: filters(200, "[]")},
	"text":                {config: filterNames, verbs: filters(200, `"text"`)},
	"number":              {config: filterNames, verbs: filters(200, `5`)},
	"comma":               {config: filterNames, verbs: filters(200, `{"NodeNames":["@A",]}`)},
	"no-quote":            {config: filterNames, verbs: filters(200, `{NodeNames:[]}`)},
	"no-colon":            {config: filterNames, verbs: filters(200, `{"NodeNames" "@A"}`)},
	"bad-literal":         {config: filterNames, verbs: filters(200, `{"Error":nul}`)},
	"bad-escape":          {config: filterNames, verbs: filters(200, `{"Error":"\q"}`)},
	"bad-control":         {config: filterNames, verbs: filters(200, "{\"Error\":\"a\nb\"}")},
	"bad-number":          {config: filterNames, verbs: filters(200, `{"x":01}`)},
	"names-number":        {config: filterNames, verbs: filters(200, `{"NodeNames":5}`)},
	"names-numbers":       {config: filterNames, verbs: filters(200, `{"NodeNames":["@A",5]}`)},
	"names-object":        {config: filterNames, verbs: filters(200, `{"NodeNames":{"a":1}}`)},
	"nodes-number":        {config: filterNodes, verbs: filters(200, `{"Nodes":5}`)},
	"nodes-items-number":  {config: filterNodes, verbs: filters(200, `{"Nodes":{"items":5}}`)},
	"nodes-item-number":   {config: filterNodes, verbs: filters(200, `{"Nodes":{"items":[5]}}`)},
	"nodes-name-number":   {config: filterNodes, verbs: filters(200, `{"Nodes":{"items":[{"metadata":{"name":5}}]}}`)},
	"failed-list":         {config: filterNames, verbs: filters(200, `{"FailedNodes":[]}`)},
	"failed-number":       {config: filterNames, verbs: filters(200, `{"FailedNodes":{"@A":7}}`)},
	"error-number":        {config: filterNames, verbs: filters(200, `{"Error":7}`)},
	"trailing":            {config: filterNames, verbs: filters(200, `{"NodeNames":["@A"]} and more`)},
	"one":                 {config: filterNames, verbs: filters(200, `{"NodeNames":["@B"]}`)},
	"small-names":         {config: filterNames, verbs: filters(200, `{"nodenames":["@B"]}`)},
	"unknown-fields":      {config: filterNames, verbs: filters(200, `{"NodeNames":["@B"],"other":{"a":[1,2]}}`)},
	"twice-the-field":     {config: filterNames, verbs: filters(200, `{"NodeNames":["@A"],"NodeNames":["@B"]}`)},
	"unknown-node":        {config: filterNames, verbs: filters(200, `{"NodeNames":["nowhere"]}`)},
	"other-node":          {config: filterNames, verbs: filters(200, `{"NodeNames":["one-a"]}`)},
	"same-node-twice":     {config: filterNames, verbs: filters(200, `{"NodeNames":["@B","@B"]}`)},
	"no-names":            {config: filterNames, verbs: filters(200, `{"NodeNames":[]}`)},
	"null-names":          {config: filterNames, verbs: filters(200, `{"NodeNames":null}`)},
	"nothing":             {config: filterNames, verbs: filters(200, `{}`)},
	"nodes-for-names":     {config: filterNames, verbs: filters(200, `{"Nodes":{"items":[{"metadata":{"name":"@B"}}]}}`)},
	"names-for-nodes":     {config: filterNodes, verbs: filters(200, `{"NodeNames":["@B"]}`)},
	"failed-both":         {config: filterNames, verbs: filters(200, `{"FailedNodes":{"@A":"no license","@B":"no license"}}`)},
	"failed-differently":  {config: filterNames, verbs: filters(200, `{"FailedNodes":{"@A":"no license"},"FailedAndUnresolvableNodes":{"@B":"too old"}}`)},
	"failed-in-both":      {config: filterNames, verbs: filters(200, `{"FailedNodes":{"@A":"x","@B":"x"},"FailedAndUnresolvableNodes":{"@A":"y","@B":"y"}}`)},
	"failed-and-passed":   {tie: true, config: filterNames, verbs: filters(200, `{"NodeNames":["@B"],"FailedNodes":{"@B":"x"}}`)},
	"failed-silently":     {config: filterNames, verbs: filters(200, `{"FailedNodes":{"@A":"","@B":""}}`)},
	"failed-one-silently": {config: filterNames, verbs: filters(200, `{"FailedNodes":{"@A":"no license"}}`)},
	"gzip":                {tie: true, config: filterNames, verbs: verbs{"filter": packed}},
	"late":                {config: filterNames + ", httpTimeout: 5s", verbs: verbs{"filter": slowly}, long: true},
	"late-ignored":        {tie: true, config: filterNames + ", httpTimeout: 5s" + ignored, verbs: verbs{"filter": slowly}, long: true},
	"hangs-up":            {words: true, config: filterNames, raw: map[string]string{"filter": " "}},
	"no-http":             {words: true, config: filterNames, raw: map[string]string{"filter": "hello there\r\n\r\n"}},
	"short-body":          {config: filterNames, raw: map[string]string{"filter": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"}},
	"short-json":          {config: filterNames, raw: map[string]string{"filter": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"NodeNames\":"}},
	"no-length":           {config: filterNames, raw: map[string]string{"filter": "HTTP/1.0 200 OK\r\n\r\n{\"Error\":\"old\"}"}},
	"refused":             {config: filterNames, prefix: "http://127.0.0.1:1/refused"},
	"no-host":             {words: true, config: filterNames, prefix: "http://no-such-host.invalid/x"},
	"no-scheme":           {words: true, config: filterNames, prefix: "PLAIN/x"},
	"other-scheme":        {words: true, config: filterNames, prefix: "ftp://127.0.0.1/x"},
	"bad-url":             {words: true, config: filterNames, prefix: "http://a b/x"},
	"https-to-http":       {config: filterNames, prefix: "https://PLAIN/x"},
	"http-to-https":       {config: filterNames, prefix: "http://SECURE/http-to-https"},
	"https":               {tie: true, config: filterNames + ", enableHTTPS: true", prefix: "https://SECURE/https"},
	"https-no-flag":       {config: filterNames, prefix: "https://SECURE/https-no-flag"},
	"https-ca":            {tie: true, config: filterNames + ", enableHTTPS: true, tlsConfig: {caFile: CAFILE}", prefix: "https://SECURE/https-ca"},
	"https-ca-data":       {tie: true, config: filterNames + ", tlsConfig: {caData: CADATA}", prefix: "https://SECURE/https-ca-data"},
	"https-other-ca":      {config: filterNames + ", tlsConfig: {caData: OTHERDATA}", prefix: "https://SECURE/https-other-ca"},
	"https-name":          {tie: true, config: filterNames + ", tlsConfig: {caData: CADATA, serverName: example.com}", prefix: "https://SECURE/https-name"},
	"https-wrong-name":    {words: true, config: filterNames + ", tlsConfig: {caData: CADATA, serverName: wrong.name}", prefix: "https://SECURE/https-wrong-name"},
	"https-insecure":      {tie: true, config: filterNames + ", tlsConfig: {insecure: true}", prefix: "https://SECURE/https-insecure"},
	"https-client":        {tie: true, config: filterNames + ", tlsConfig: {caData: CADATA, certData: CERTDATA, keyData: KEYDATA}", prefix: "https://SECURE/https-client"},
	"https-client-files":  {tie: true, config: filterNames + ", tlsConfig: {caFile: CAFILE, certFile: CERTFILE, keyFile: KEYFILE}", prefix: "https://SECURE/https-client-files"},

	"score":          {config: scoreNames, verbs: scores(200, `[{"Host":"@A","Score":1},{"Host":"@B","Score":9}]`)},
	"score-small":    {config: scoreNames, verbs: scores(200, `[{"host":"@A","score":1},{"host":"@B","score":9}]`)},
	"score-nodes":    {config: "prioritizeVerb: prioritize, weight: 3", verbs: scores(200, `[{"Host":"@A","Score":1},{"Host":"@B","Score":9}]`)},
	"score-large":    {config: scoreNames, verbs: scores(200, `[{"Host":"@A","Score":10},{"Host":"@B","Score":1000}]`)},
	"score-negative": {config: scoreNames, verbs: scores(200, `[{"Host":"@A","Score":-1000},{"Host":"@B","Score":0}]`)},
	"score-unknown":  {config: scoreNames, verbs: scores(200, `[{"Host":"nowhere","Score":10},{"Host":"@B","Score":9}]`)},
	"score-twice":    {config: scoreNames, verbs: scores(200, `[{"Host":"@A","Score":7},{"Host":"@B","Score":4},{"Host":"@B","Score":4}]`)},
	"score-fraction": {tie: true, config: scoreNames, verbs: scores(200, `[{"Host":"@B","Score":9.5}]`)},
	"score-500":      {tie: true, config: scoreNames, verbs: scores(500, ``)},
	"score-html":     {tie: true, config: scoreNames, verbs: scores(200, `<html>`)},
	"score-object":   {tie: true, config: scoreNames, verbs: scores(200, `{"Error":"x"}`)},
	"score-one-node": {config: scoreNames, single: true},
	"score-wraps":    {config: scoreNames, verbs: scores(200, `[{"Host":"@A","Score":9223372036854775807},{"Host":"@B","Score":1}]`)},

	"evict-one-number":   {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":5}}`)},
	"evict-pods-number":  {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"Pods":5}}}`)},
	"evict-pod-number":   {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"Pods":[5]}}}`)},
	"evict-uid-number":   {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"Pods":[{"UID":true}]}}}`)},
	"evict-pdb-text":     {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"NumPDBViolations":"x"}}}`)},
	"nodes-meta-number":  {config: filterNodes, verbs: filters(200, `{"Nodes":{"items":[{"metadata":5}]}}`)},
	"latin":              {config: filterNames, verbs: filters(200, "{\"Error\":\"caf\xe9\"}")},
	"big-number":         {config: filterNames, verbs: filters(200, `{"x":1e999,"Error":"e"}`)},
	"zero":               {config: filterNames, verbs: filters(200, "\x00")},
	"high":               {config: filterNames, verbs: filters(200, "\xe9")},
	"apostrophe":         {config: filterNames, verbs: filters(200, "{'a'}")},
	"fraction":           {config: filterNames, verbs: filters(200, `{"x":1.x}`)},
	"exponent":           {config: filterNames, verbs: filters(200, `{"x":1e}`)},
	"hexadecimal":        {config: filterNames, verbs: filters(200, `{"x":"\u12g4"}`)},
	"minus":              {config: filterNames, verbs: filters(200, `-x`)},
	"array-after":        {config: filterNames, verbs: filters(200, `{"x":[1 2]}`)},
	"closes":             {config: filterNames, raw: map[string]string{"filter": closed}},
	"evict":              {config: preemptNames, full: true, verbs: verbs{"preempt": spare("a")}},
	"evict-nodes":        {config: "preemptVerb: preempt", full: true, verbs: verbs{"preempt": spare("a")}},
	"evict-500":          {config: preemptNames, full: true, verbs: evicts(500, "")},
	"evict-500-ignored":  {tie: true, config: preemptNames + ignored, full: true, verbs: evicts(500, "")},
	"evict-none":         {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{}}`)},
	"evict-empty":        {config: preemptNames, full: true, verbs: evicts(200, `{}`)},
	"evict-html":         {config: preemptNames, full: true, verbs: evicts(200, `<html>`)},
	"evict-unknown-node": {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"nowhere":{"Pods":[]}}}`)},
	"evict-unknown-pod":  {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"Pods":[{"UID":"1234"}]}}}`)},
	"evict-nobody":       {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"Pods":[]}}}`)},
	"evict-pods-null":    {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":{"@A":{"Pods":null,"NumPDBViolations":3}}}`)},
	"evict-as-objects":   {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToVictims":{"@A":{"Pods":[]}}}`)},
	"evict-number":       {config: preemptNames, full: true, verbs: evicts(200, `{"NodeNameToMetaVictims":5}`)},
	"evict-filter":       {config: preemptNames + ", filterVerb: filter", full: true, verbs: verbs{"preempt": spare("b")}},

	"bind":               {config: "bindVerb: bind, httpTimeout: 5s", single: true, binds: true, verbs: binds(200, `{"Error":"not today"}`)},
	"bind-500":           {config: "bindVerb: bind, httpTimeout: 5s", single: true, binds: true, verbs: binds(500, ``)},
	"bind-html":          {config: "bindVerb: bind, httpTimeout: 5s", single: true, binds: true, verbs: binds(200, `<html>`)},
	"bind-empty":         {config: "bindVerb: bind, httpTimeout: 5s", single: true, binds: true, verbs: binds(200, ``)},
	"bind-list":          {config: "bindVerb: bind, httpTimeout: 5s", single: true, binds: true, verbs: binds(200, `[]`)},
	"bind-late":          {config: "bindVerb: bind, httpTimeout: 5s", single: true, binds: true, verbs: verbs{"bind": slowly}, long: true},
	"bind-ignored":       {config: "bindVerb: bind, httpTimeout: 5s" + ignored, single: true, binds: true, verbs: binds(500, ``)},
	"bind-error-ignored": {config: "bindVerb: bind, httpTimeout: 5s" + ignored, single: true, binds: true, verbs: binds(200, `{"Error":"not today"}`)},
}

// spare returns all candidates but one.
func spare(suffix string) func(http.ResponseWriter, map[string]json.RawMessage) {
	return func(w http.ResponseWriter, request map[string]json.RawMessage) {
		victims := map[string]json.RawMessage{}
		var meta map[string]json.RawMessage
		var whole map[string]struct {
			Pods             []struct{ Metadata struct{ UID string } }
			NumPDBViolations int
		}
		json.Unmarshal(request["NodeNameToMetaVictims"], &meta)
		json.Unmarshal(request["NodeNameToVictims"], &whole)
		for node, list := range meta {
			victims[node] = list
		}
		for node, list := range whole {
			var uids []string
			for _, pod := range list.Pods {
				uids = append(uids, fmt.Sprintf(`{"UID":%q}`, pod.Metadata.UID))
			}
			victims[node] = json.RawMessage(fmt.Sprintf(`{"Pods":[%s]}`, strings.Join(uids, ",")))
		}
		for node := range victims {
			if strings.HasSuffix(node, "-"+suffix) {
				delete(victims, node)
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"NodeNameToMetaVictims": victims})
	}
}

// rich and wealthy objects have many kinds of fields.
func rich(p *v1.Pod) {
	yes, grace := true, int64(7)
	p.Annotations = map[string]string{"note": "<&>\u2028é\x7f", "empty": ""}
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: &yes, FSGroup: &grace}
	p.Spec.HostAliases = []v1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a", "b"}}}
	p.Spec.Tolerations = []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists, TolerationSeconds: &grace, Effect: v1.TaintEffectNoExecute}}
	p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "w", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "p", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}}}}}}}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "kubernetes.io/hostname",
		WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: byApp("x")}}
	c := &p.Spec.Containers[0]
	c.Env = []v1.EnvVar{{Name: "A", Value: "b"}, {Name: "N", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
	c.Ports = []v1.ContainerPort{{ContainerPort: 80, Name: "http"}}
	c.Command = []string{"sh", "-c", "exit"}
	c.LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 7}
	c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 3}}}
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1"}}
}

func wealthy(n *v1.Node) {
	n.Annotations = map[string]string{"note": "<&>é"}
	n.Spec.PodCIDR = "10.1.0.0/24"
	n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}}
	n.Status.NodeInfo.KubeletVersion = "v1.36.4"
	n.Status.Images = []v1.ContainerImage{{Names: []string{"a:1", "b:2"}, SizeBytes: 12345}}
	n.Spec.Taints = []v1.Taint{{Key: "soft", Value: "v", Effect: v1.TaintEffectPreferNoSchedule}}
}

func newRecorder(t *testing.T, cases map[string]*extenderCase) *recorder {
	r := &recorder{cases: cases}
	r.plain = httptest.NewServer(r)
	r.tls = httptest.NewUnstartedServer(r)
	r.tls.EnableHTTP2 = true
	r.tls.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	quiet := log.New(io.Discard, "", 0)
	r.plain.Config.ErrorLog, r.tls.Config.ErrorLog = quiet, quiet
	r.tls.StartTLS()
	t.Cleanup(r.plain.Close)
	t.Cleanup(r.tls.Close)
	return r
}

func (r *recorder) reset() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.first = map[string]arrival{}
}

func (r *recorder) take() map[string]arrival {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.first
}

// extenders is the configuration of all cases.
func (r *recorder) extenders(e *env) string {
	plain, secure := r.plain.Listener.Addr().String(), r.tls.Listener.Addr().String()
	ca := pemOf(r.tls.Certificate())
	cert, private, err := e.c.authority.issue("extender-client")
	e.must(err)
	files := map[string][]byte{"CAFILE": ca, "CERTFILE": cert, "KEYFILE": private}
	pairs := []string{"PLAIN", plain, "SECURE", secure}
	for name, data := range files {
		path := e.c.path("extender-" + name)
		e.must(os.WriteFile(path, data, 0o600))
		pairs = append(pairs, name, path, strings.Replace(name, "FILE", "DATA", 1), base64.StdEncoding.EncodeToString(data))
	}
	var b strings.Builder
	b.WriteString("extenders:\n")
	var binders []string
	var binder string // at most one
	for _, name := range sortedKeys(r.cases) {
		c := r.cases[name]
		if c.binds {
			binders = append(binders, fmt.Sprintf("{name: example.com/%s, ignoredByScheduler: true}", name))
			binder = c.config
			continue
		}
		prefix := c.prefix
		if prefix == "" {
			prefix = "http://PLAIN/" + name
		}
		fmt.Fprintf(&b, "- {urlPrefix: '%s', %s, managedResources: [{name: example.com/%s, ignoredByScheduler: true}]}\n",
			prefix, c.config, name)
	}
	if binder != "" {
		fmt.Fprintf(&b, "- {urlPrefix: 'http://PLAIN/binder', %s, managedResources: [%s]}\n", binder, strings.Join(binders, ", "))
	}
	return strings.NewReplacer(append([]string{"OTHERDATA", base64.StdEncoding.EncodeToString(e.c.authority.certificate)}, pairs...)...).Replace(b.String())
}

func sortedKeys[T any](m map[string]T) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func pemOf(c *x509.Certificate) []byte {
	return []byte("-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(c.Raw) + "\n-----END CERTIFICATE-----\n")
}

// objects creates the nodes and pods of a case.
func (c *extenderCase) objects(e *env, name string) {
	suffixes := []string{"a", "b"}
	if c.single {
		suffixes = suffixes[:1]
	}
	for _, suffix := range suffixes {
		e.create(NewNode(name+"-"+suffix, append(c.nodes, nodeLabel("case", name))...))
		if c.full {
			e.create(NewPod(name+"-low-"+suffix, onNode(name+"-"+suffix), Requests("cpu", "4"), priority("low"), grace(0)))
		}
	}
	mods := append([]PodMod{selector("case", name)}, c.pod...)
	if c.full {
		mods = append(mods, Requests("cpu", "4", "example.com/"+name, "1"), priority("high"))
	} else {
		mods = append(mods, Requests("example.com/"+name, "1"))
	}
	e.create(NewPod(name, mods...))
}

// outcome is the visible result of the pod's first attempt.
func (e *env) outcome(name string) string {
	var text string
	e.pod(name, "has an outcome", func(p *v1.Pod) bool {
		if p.Spec.NodeName != "" {
			text = "bound to " + p.Spec.NodeName
			return true
		}
		c := scheduled(p)
		if c == nil {
			return false
		}
		text = fmt.Sprintf("%s: %s", c.Reason, c.Message)
		return p.Status.NominatedNodeName == "" // otherwise it gets it in a moment
	})
	e.await(name+" has an event", func() bool { return len(e.o.Events(key(name))) > 0 }, name)
	return text
}

func (e *env) runCases(r *recorder, argv []string, who string) (map[string]string, map[string]arrival) {
	r.reset()
	flags := e.config(who, "podInitialBackoffSeconds: 30\npodMaxBackoffSeconds: 30\n"+r.extenders(e))
	for _, name := range sortedKeys(r.cases) {
		r.cases[name].objects(e, name)
	}
	p, err := e.c.StartScheduler(e.file(who), e.c.Addr(), argv, append(flags, "-v", "5")...)
	e.must(err)
	e.procs = append(e.procs, p)
	outcomes := map[string]string{}
	for _, name := range sortedKeys(r.cases) {
		outcomes[name] = e.outcome(name)
		for _, event := range e.o.Events(key(name)) {
			outcomes[name] += fmt.Sprintf(" [%s %s %s: %s]", event.Type, event.Reason, event.Action, event.Note)
			break
		}
	}
	p.Kill()
	return outcomes, r.take()
}

// berth leaves out managedFields of a node.
var managed = regexp.MustCompile(`,"managedFields":\[.*?"subresource":"status"\}\]|,"managedFields":\[.*?\}\]`)

// User-Agent and Accept may differ.
var own = regexp.MustCompile(`(?m)^(User-Agent: berth/.*|User-Agent: Go-http-client.*|Accept: \*/\*)\n`)

var escaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028")

var changing = regexp.MustCompile(`"(uid|UID|PodUID|resourceVersion|creationTimestamp|lastTransitionTime|lastHeartbeatTime)":"[^"]*"`)

// comparable is a request without parts that always differ, and with its nodes sorted.
func (a arrival) comparable() string {
	body := changing.ReplaceAll(a.body, []byte(`"$1":"*"`))
	body = managed.ReplaceAll(body, nil)
	var nodes struct {
		Nodes     *struct{ Items []json.RawMessage }
		NodeNames *[]string
	}
	if json.Unmarshal(body, &nodes) == nil {
		if nodes.Nodes != nil {
			items := nodes.Nodes.Items
			joined := bytes.Join(slices.Collect(func(yield func([]byte) bool) {
				for _, item := range items {
					if !yield(item) {
						return
					}
				}
			}), []byte(","))
			slices.SortFunc(items, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
			var sorted [][]byte
			for _, item := range items {
				sorted = append(sorted, item)
			}
			body = bytes.Replace(body, joined, bytes.Join(sorted, []byte(",")), 1)
		}
		if nodes.NodeNames != nil {
			before, _ := json.Marshal(*nodes.NodeNames)
			slices.Sort(*nodes.NodeNames)
			after, _ := json.Marshal(*nodes.NodeNames)
			body = bytes.Replace(body, before, after, 1)
		}
	}
	return own.ReplaceAllString(a.line+"\n"+strings.Join(a.headers, "\n")+"\n\n"+escaped.Replace(string(body)), "")
}

// Both schedulers call the recorder in turn for the same pods and nodes. The requests are the same to the byte, except the
// User-Agent; and so are the visible results.
func TestExtendersAreAskedAndBelievedAsByTheReference(t *testing.T) {
	cases, ignored := map[string]*extenderCase{}, map[string]*extenderCase{}
	for name, c := range extenderCases {
		if testing.Short() && c.long {
			continue
		}
		if c.binds && strings.HasSuffix(name, "-ignored") {
			ignored[name] = c // a scheduler has one extender that binds
		} else {
			cases[name] = c
		}
	}
	t.Run("all", func(t *testing.T) { compareExtenders(t, cases) })
	t.Run("ignored binder", func(t *testing.T) { compareExtenders(t, ignored) })
}

func compareExtenders(t *testing.T, cases map[string]*extenderCase) {
	e := shared(t)
	e.berthOnly("kube-scheduler is what it is compared with")
	r := newRecorder(t, cases)
	reference, err := ReferenceCommand()
	e.must(err)
	want, request := e.runCases(r, reference, "reference")
	e = shared(t)
	got, arrived := e.runCases(r, e.argv, "scheduler")
	for _, name := range sortedKeys(cases) {
		a, b := want[name], got[name]
		if cases[name].tie {
			either := regexp.MustCompile(name + "-[ab]")
			a, b = either.ReplaceAllString(a, "either"), either.ReplaceAllString(b, "either")
		}
		if cases[name].words {
			a, _, _ = strings.Cut(a, ": ")
			b, _, _ = strings.Cut(b, ": ")
		}
		if a != b {
			t.Errorf("%s: the outcome is\nkube-scheduler's: %s\nberth's:          %s", name, want[name], got[name])
		}
	}
	for _, path := range sortedKeys(request) {
		if a, b := request[path].comparable(), arrived[path].comparable(); a != b {
			t.Errorf("%s: the questions differ: %s\n--- kube-scheduler's\n%s\n--- berth's\n%s", path, difference(a, b), a, b)
		}
	}
	for path := range arrived {
		if _, ok := request[path]; !ok {
			t.Errorf("%s was requested by berth alone", path)
		}
	}
}
