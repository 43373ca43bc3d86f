package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Accept headers of scrapers: Prometheus in its versions, curl, and unusual ones.
var scrapers = []struct {
	name             string
	accept, encoding []string
}{
	{"nothing said", nil, nil},
	{"curl", []string{"*/*"}, nil},
	{"curl --compressed", []string{"*/*"}, []string{"deflate, gzip, br, zstd"}},
	{"Prometheus 2.30", []string{"application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}, []string{"gzip"}},
	{"Prometheus 2.42", []string{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}, []string{"gzip"}},
	{"Prometheus 2.49", []string{"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"}, []string{"gzip"}},
	{"Prometheus 3", []string{"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"}, []string{"gzip"}},
	{"Prometheus 3, old names", []string{"application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=underscores;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"}, []string{"identity"}},
	{"dots", []string{"text/plain;escaping=dots"}, []string{"*"}},
	{"values, at last", []string{"text/html;escaping=dots;q=0.9,*/*;escaping=values;q=0.8"}, []string{"*;q=0.5, gzip"}},
	{"after the text", []string{"text/plain;version=0.0.4,*/*;q=0.1;escaping=values"}, []string{"gzip, identity"}},
	{"a star with a better quality", []string{"*/*;escaping=values,text/plain;q=0.5"}, []string{"identity;q=0.5, gzip;q=0.6"}},
	{"an escaping that is none", []string{"text/plain;escaping=nothing"}, []string{"gzip;q=0"}},
	{"a quality that is none", []string{"text/plain;q= 1;escaping=dots,text/plain;q=0.1;escaping=values"}, []string{"gzip;q=2"}},
	{"html", []string{"text/html"}, []string{"GZIP"}},
	{"only another version", []string{"text/plain;version=1.0.0;escaping=allow-utf-8"}, []string{"x-gzip"}},
	{"two headers", []string{"text/plain;escaping=dots", "text/plain;escaping=values"}, []string{"deflate;q=0.9", "gzip;q=0.1"}},
	{"no sense", []string{",;=/"}, []string{"gzip;level=9, gzip"}},
	{"gzip, then no sense", []string{"text/plain;escaping=dots=x"}, []string{"gzip what, identity"}},
	{"zstd first", []string{"*"}, []string{"zstd, gzip;q=0.001"}},
	{"everything but plain", []string{"text/*"}, []string{"identity;q=0, *;q=0.0"}},
}

// Metrics pages have the form that kube-scheduler chooses, compressed if it compresses; nothing else is compressed.
func TestMetricsFormIsTheReference(t *testing.T) {
	w := startTwins(t)
	w.create(NewNode("node-0"), NewPod("some", onNode("node-0"), Requests("cpu", "1")))
	for i, name := range w.names {
		w.eventually(name+" leads, and has seen the pod", func() error {
			answer, err := w.ask(i, caller{token: adminToken}, "GET", "/metrics/resources")
			if err == nil && !strings.Contains(answer.body, `pod="some"`) {
				err = fmt.Errorf("%v %s", answer.header, answer.body)
			}
			return err
		})
	}
	packed := 0
	for _, scraper := range scrapers {
		who := caller{name: scraper.name, token: adminToken, header: http.Header{}}
		if scraper.accept != nil {
			who.header["Accept"] = scraper.accept
		}
		if scraper.encoding != nil {
			who.header["Accept-Encoding"] = scraper.encoding
		}
		for _, path := range []string{"/metrics", "/metrics/slis", "/metrics/resources"} {
			packed += w.sameForm(w.ask, who, "GET", path)
		}
		packed += w.sameForm(w.askHTTP2, who, "GET", "/metrics")
	}
	if want := 4 * 10; packed != want {
		t.Errorf("%d pages were compressed, want %d", packed, want)
	}
	who := caller{name: "gzip", token: adminToken, header: http.Header{"Accept-Encoding": {"gzip"}}}
	for _, path := range []string{"/healthz", "/readyz?verbose", "/configz", "/flagz", "/statusz", "/nothing", "/debug/pprof/nothing", "/debug/flags"} {
		w.sameForm(w.ask, who, "GET", path)
	}
	for _, method := range []string{"HEAD", "POST", "DELETE"} {
		w.sameForm(w.ask, who, method, "/metrics")
		w.sameForm(w.ask, who, method, "/metrics/resources")
	}
	who.token = ""
	w.sameForm(w.ask, who, "GET", "/metrics")
}

// sameForm compares headers, and returns 1 for a page that was compressed.
func (w *twins) sameForm(ask func(int, caller, string, string) (page, error), who caller, method, path string) int {
	w.Helper()
	var pages [2]page
	var err error
	for i := range pages {
		pages[i], err = ask(i, who, method, path)
		w.must(err)
	}
	want, got := pages[0], pages[1]
	what := who.name + ": " + method + " " + path
	if got.status != want.status || (got.body == "") != (want.body == "") || path == "/metrics/resources" && got.body != want.body {
		w.Errorf("%s: %d %.300q, want %d %.300q", what, got.status, got.body, want.status, want.body)
	}
	names := map[string]bool{}
	for _, page := range pages {
		for name := range page.header {
			names[name] = true
		}
	}
	for name := range names {
		switch name {
		case "Date", "Process-Start-Time-Unix":
			if len(got.header[name]) != 1 || len(want.header[name]) != 1 {
				w.Errorf("%s: %s is %q, kube-scheduler's %q", what, name, got.header[name], want.header[name])
			}
		case "Content-Length": // kube-scheduler begins to send a long page before it knows its length
		default:
			if !slices.Equal(got.header[name], want.header[name]) {
				w.Errorf("%s: %s is %q, want %q", what, name, got.header[name], want.header[name])
			}
		}
	}
	if got.header.Get("Content-Encoding") == "gzip" {
		return 1
	}
	return 0
}
