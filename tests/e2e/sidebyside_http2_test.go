package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames is an HTTP/2 client that sends given frames.
type frames struct {
	conn     net.Conn
	framer   *http2.Framer
	out      bytes.Buffer // fields of a request
	encoder  *hpack.Encoder
	settings map[http2.SettingID]uint32
	last     uint32 // stream, and one more
	answered uint32 // likewise
}

func newFrames(conn net.Conn) *frames {
	f := &frames{conn: conn, framer: http2.NewFramer(conn, conn), settings: map[http2.SettingID]uint32{}}
	f.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.framer.AllowIllegalWrites = true
	f.encoder = hpack.NewEncoder(&f.out)
	return f
}

// hello is a client's preface.
func (f *frames) hello(settings ...http2.Setting) error {
	if _, err := io.WriteString(f.conn, http2.ClientPreface); err != nil {
		return err
	}
	return f.framer.WriteSettings(settings...)
}

// connect negotiates HTTP/2, and sends nothing yet.
func (w *twins) connect(which int, config *tls.Config) *frames {
	w.Helper()
	config.InsecureSkipVerify, config.NextProtos = true, []string{"h2"}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", fmt.Sprintf("127.0.0.1:%d", w.ports[which]), config)
	w.must(err)
	w.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return newFrames(conn)
}

func (w *twins) frames(which int) *frames {
	w.Helper()
	f := w.connect(which, &tls.Config{})
	w.must(f.hello())
	return f
}

// fields of a request, as many names as values.
func (f *frames) fields(all ...string) []byte {
	f.out.Reset()
	for i := 0; i+1 < len(all); i += 2 {
		f.encoder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return f.out.Bytes()
}

// send begins a stream, and ends it if there is no body.
func (f *frames) send(ends bool, fields ...string) error {
	f.last += 2
	return f.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: f.last - 1, BlockFragment: f.fields(fields...), EndStream: ends, EndHeaders: true})
}

// outcome reads until the result of the last request is known.
func (f *frames) outcome() string {
	status, body, goaway := "", "", ""
	for {
		frame, err := f.framer.ReadFrame()
		if err != nil {
			return "the end of the connection"
		}
		ends := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				frame.ForeachSetting(func(s http2.Setting) error { f.settings[s.ID] = s.Val; return nil })
				f.framer.WriteSettingsAck()
			}
			if f.last == 0 && !frame.IsAck() {
				return "settings"
			}
		case *http2.GoAwayFrame:
			goaway = "GOAWAY " + frame.ErrCode.String()
			if frame.ErrCode != http2.ErrCodeNo || frame.LastStreamID+1 < f.last || f.answered == f.last {
				return goaway
			}
			goaway += ", "
		case *http2.RSTStreamFrame:
			if status == "" {
				return goaway + "RST_STREAM " + frame.ErrCode.String()
			}
		case *http2.MetaHeadersFrame:
			status += " " + frame.PseudoValue("status")
			if !strings.HasPrefix(status, " 1") {
				for _, name := range []string{"content-type", "content-length", "x-content-type-options"} {
					for _, field := range frame.RegularFields() {
						if field.Name == name {
							status += " " + name + "=" + field.Value
						}
					}
				}
			}
			ends = frame.StreamEnded()
		case *http2.DataFrame:
			body += string(frame.Data())
			ends = frame.StreamEnded()
		}
		if ends {
			f.answered = f.last
			return goaway + "status" + status + ": " + body
		}
	}
}

// ALPN protocols of a client.
var protocols = [][]string{nil, {"h2"}, {"http/1.1"}, {"h2", "http/1.1"}, {"http/1.1", "h2"}, {"spdy/3", "h2"}, {"spdy/3", "http/1.1"},
	{"h2c"}, {"http/1.0"}, {"nonsense"}, {"nonsense", "more"}}

func (w *twins) sameProtocols() {
	w.Helper()
	for _, offer := range protocols {
		want, refused := w.shake(0, &tls.Config{NextProtos: offer})
		got, err := w.shake(1, &tls.Config{NextProtos: offer})
		if (err == nil) != (refused == nil) || err == nil && got.NegotiatedProtocol != want.NegotiatedProtocol {
			w.Errorf("an offer of %q: berth speaks %q (%v), kube-scheduler %q (%v)", offer, got.NegotiatedProtocol, err, want.NegotiatedProtocol, refused)
		}
	}
}

// sameStreams compares the limit of concurrent streams, and returns it.
func (w *twins) sameStreams() uint32 {
	w.Helper()
	var said [2]uint32
	for i := range said {
		f := w.frames(i)
		if what := f.outcome(); what != "settings" {
			w.Fatalf("%s begins with %s", w.names[i], what)
		}
		said[i] = f.settings[http2.SettingMaxConcurrentStreams]
	}
	if said[0] != said[1] {
		w.Errorf("berth allows %d streams, kube-scheduler %d", said[1], said[0])
	}
	return said[1]
}

// Valid and invalid requests of an anonymous client. With a body they do not end at once.
var h2requests = []struct {
	name   string
	body   string // "-": an empty one
	fields []string
}{
	{"healthz", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", ":authority", "x"}},
	{"HEAD", "", []string{":method", "HEAD", ":scheme", "https", ":path", "/healthz"}},
	{"no authority", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz"}},
	{"http", "", []string{":method", "GET", ":scheme", "http", ":path", "/healthz"}},
	{"metrics", "", []string{":method", "GET", ":scheme", "https", ":path", "/metrics"}},
	{"star", "", []string{":method", "OPTIONS", ":scheme", "https", ":path", "*"}},
	{"upload", "abc", []string{":method", "POST", ":scheme", "https", ":path", "/healthz", "content-length", "3"}},
	{"empty upload", "-", []string{":method", "POST", ":scheme", "https", ":path", "/healthz"}},
	{"connection", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "connection", "close"}},
	{"keep-alive", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "keep-alive", "1"}},
	{"proxy-connection", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "proxy-connection", "x"}},
	{"transfer-encoding", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "transfer-encoding", "chunked"}},
	{"upgrade", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "upgrade", "h2c"}},
	{"te", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "te", "gzip"}},
	{"te trailers", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "te", "trailers"}},
	{"unknown pseudo field", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", ":x", "y"}},
	{"status", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", ":status", "200"}},
	{"pseudo field twice", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", ":path", "/healthz"}},
	{"pseudo field late", "", []string{":method", "GET", ":scheme", "https", "x", "y", ":path", "/healthz"}},
	{"protocol", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", ":protocol", "websocket"}},
	{"capital", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "X-Y", "z"}},
	{"no token", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "x y", "z"}},
	{"line end", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", "x", "y\r\nz: z"}},
	{"no path", "", []string{":method", "GET", ":scheme", "https"}},
	{"relative path", "", []string{":method", "GET", ":scheme", "https", ":path", "healthz"}},
	{"absolute path", "", []string{":method", "GET", ":scheme", "https", ":path", "https://x/healthz"}},
	{"bad escape", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz%zz"}},
	{"no method", "", []string{":scheme", "https", ":path", "/healthz"}},
	{"no scheme", "", []string{":method", "GET", ":path", "/healthz"}},
	{"another scheme", "", []string{":method", "GET", ":scheme", "ftp", ":path", "/healthz"}},
	{"user", "", []string{":method", "GET", ":scheme", "https", ":path", "/healthz", ":authority", "a@b"}},
	{"CONNECT with a path", "", []string{":method", "CONNECT", ":path", "/healthz", ":authority", "x:1"}},
}

// sameOutcomes compares the results of valid and invalid requests, each on its own connection.
func (w *twins) sameOutcomes() {
	w.Helper()
	for _, request := range h2requests {
		var outcomes [2]string
		for i := range outcomes {
			f := w.frames(i)
			w.must(f.send(request.body == "", request.fields...))
			if request.body != "" {
				w.must(f.framer.WriteData(1, true, []byte(strings.Trim(request.body, "-"))))
			}
			outcomes[i] = f.outcome()
		}
		if outcomes[0] != outcomes[1] {
			w.Errorf("%s: %q, want %q", request.name, outcomes[1], outcomes[0])
		}
	}
}

// tooMany opens the maximum number of streams, and two more; then one of the first ends, and one more is accepted. Nothing
// is read before, so that all of them stay open.
func (f *frames) tooMany(agrees bool, streams uint32) (string, error) {
	if err := f.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		return "", err
	}
	if agrees {
		if err := f.framer.WriteSettingsAck(); err != nil {
			return "", err
		}
	}
	for range streams + 2 {
		if err := f.send(true, h2requests[0].fields...); err != nil {
			return "", err
		}
	}
	became := map[uint32]string{}
	read := func(count int) error {
		for len(became) < count {
			frame, err := f.framer.ReadFrame()
			if err != nil {
				return fmt.Errorf("%w, after %v", err, became)
			}
			switch frame := frame.(type) {
			case *http2.GoAwayFrame:
				return fmt.Errorf("GOAWAY %s, after %v", frame.ErrCode, became)
			case *http2.RSTStreamFrame:
				became[frame.StreamID] = frame.ErrCode.String()
			case *http2.MetaHeadersFrame:
				became[frame.StreamID] = frame.PseudoValue("status")
			}
		}
		return nil
	}
	if err := read(int(streams) + 2); err != nil {
		return "", err
	}
	if err := f.framer.WriteWindowUpdate(3, 1000); err != nil {
		return "", err
	}
	for ended := false; !ended; {
		frame, err := f.framer.ReadFrame()
		if err != nil {
			return "", err
		}
		data, ok := frame.(*http2.DataFrame)
		ended = ok && data.StreamID == 3 && data.StreamEnded()
	}
	for range 2 {
		if err := f.send(true, h2requests[0].fields...); err != nil {
			return "", err
		}
	}
	err := read(int(streams) + 4)
	return fmt.Sprint(became), err
}

// sameLimits: a request beyond the limit is refused, and the others are not affected. The code depends on whether the client knew the limit.
func (w *twins) sameLimits(streams uint32) {
	w.Helper()
	for _, agrees := range []bool{false, true} {
		code := map[bool]string{false: "REFUSED_STREAM", true: "PROTOCOL_ERROR"}[agrees]
		for i, name := range w.names {
			became, err := w.connect(i, &tls.Config{}).tooMany(agrees, streams)
			if err != nil || strings.Count(became, ":200") != int(streams)+1 || strings.Count(became, code) != 3 {
				w.Errorf("%s, with the settings agreed on: %v: %s (%v), want 3 streams with %s", name, agrees, became, err, code)
			}
		}
	}
}

// HTTP/2 is offered, limited and switched off as in kube-scheduler, and has the same pages.
func TestHTTP2IsTheReference(t *testing.T) {
	t.Run("as it is", func(t *testing.T) {
		w := startTwins(t)
		w.sameProtocols()
		if streams := w.sameStreams(); streams != 100 {
			t.Errorf("%d streams, want 100", streams)
		}
		w.sameOutcomes()
		w.samePages()
		for _, suite := range []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256} {
			var first [2]string
			for i := range first {
				first[i] = w.connect(i, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}).outcome()
			}
			if first[0] != first[1] {
				t.Errorf("with %s berth begins with %q, kube-scheduler with %q", tls.CipherSuiteName(suite), first[1], first[0])
			}
		}
		w.sameGoodbye()
	})
	t.Run("7 streams, and strangers may stay", func(t *testing.T) {
		w := startTwins(t, "--http2-max-streams-per-connection=7", "--feature-gates=UnauthenticatedHTTP2DOSMitigation=false")
		if streams := w.sameStreams(); streams != 7 {
			t.Errorf("%d streams, want 7", streams)
		}
		w.sameLimits(7)
		w.sameOutcomes()
	})
	t.Run("without", func(t *testing.T) { startTwins(t, "--disable-http2-serving").sameProtocols() })
	t.Run("suites that are not enough", func(t *testing.T) {
		if testing.Short() {
			t.Skip("one more start of both")
		}
		startTwins(t, "--disable-http2-serving", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384").sameTLS()
		refuseSuite(t)
	})
}

// askHTTP2 is ask over HTTP/2 only.
func (w *twins) askHTTP2(which int, who caller, method, path string) (page, error) {
	transport := &http2.Transport{TLSClientConfig: who.config(), DisableCompression: true}
	defer transport.CloseIdleConnections()
	return w.askOver(transport, which, who, method, path)
}

// samePages compares over HTTP/2 what is the same over HTTP/1.1. Bodies of paths with a star vary.
func (w *twins) samePages() {
	w.Helper()
	paths := []string{"/healthz", "/readyz?verbose", "/livez/ping", "/metrics*", "/metrics/slis*", "/configz*", "/nothing", "/",
		"/debug/pprof", "/debug/flags/v", "//healthz", "/%68ealthz"}
	for _, who := range []caller{{name: "the administrator", token: adminToken}, {name: "anonymous"}, {name: "a wrong token", token: "wrong"}} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"} {
			for _, path := range paths {
				path, moment := strings.CutSuffix(path, "*")
				w.samePage(who, method, path, moment)
			}
		}
	}
}

func (w *twins) samePage(who caller, method, path string, moment bool) {
	w.Helper()
	what := who.name + ": " + method + " " + path
	want, err := w.askHTTP2(0, who, method, path)
	w.must(err)
	got, err := w.askHTTP2(1, who, method, path)
	if err != nil {
		w.Errorf("%s: %v", what, err)
		return
	}
	if got.status != want.status || !(moment && got.status == 200) && got.body != want.body {
		w.Errorf("%s: %d %.300q, want %d %.300q", what, got.status, got.body, want.status, want.body)
		return
	}
	moment = moment && got.status == 200
	for name, values := range want.header {
		differ := !slices.Equal(values, got.header[name])
		if name == "Date" || name == "Process-Start-Time-Unix" || moment && name == "Content-Length" {
			differ = len(got.header[name]) != 1
		}
		if differ {
			w.Errorf("%s: %s is %q, want %q", what, name, got.header[name], values)
		}
	}
	for name := range got.header {
		// kube-scheduler sends a long page before it knows its length.
		if want.header[name] == nil && name != "Content-Length" {
			w.Errorf("%s: there is a %s", what, name)
		}
	}
}

// sameGoodbye ends both: connected clients get a GOAWAY, and nothing else.
func (w *twins) sameGoodbye() {
	w.Helper()
	for i, p := range w.procs {
		f := w.frames(i)
		w.must(f.send(true, append(h2requests[0].fields, "authorization", "Bearer "+adminToken)...))
		if what := f.outcome(); !strings.HasPrefix(what, "status 200") {
			w.Fatalf("%s: %s", w.names[i], what)
		}
		ended := make(chan string)
		go func() {
			what := f.outcome()
			f.conn.Close()
			ended <- what
		}()
		_, err := p.Terminate(patience)
		w.must(err)
		if what := <-ended; what != "GOAWAY NO_ERROR" {
			w.Errorf("%s ends with %s", w.names[i], what)
		}
	}
}

// refuseSuite: a cipher suite that HTTP/2 requires is missing, so both end at once with an error.
func refuseSuite(t *testing.T) {
	reference, berth := bothCommands(t)
	e := shared(t)
	ports, err := freePorts(2)
	e.must(err)
	for i, argv := range [][]string{reference, berth} {
		p, err := e.c.StartScheduler(e.file(fmt.Sprintf("suite%d", i)), e.c.Addr(), argv, "--secure-port", fmt.Sprint(ports[i]),
			"--bind-address=127.0.0.1", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")
		e.must(err)
		e.eventually(argv[0]+" ends", func() error {
			if p.Alive() {
				return fmt.Errorf("it still runs")
			}
			return nil
		})
		if p.cmd.ProcessState.ExitCode() <= 0 {
			t.Errorf("%s ended with %s", argv[0], p.Exit())
		}
		log, err := os.ReadFile(p.Log)
		e.must(err)
		if !strings.Contains(string(log), "missing an HTTP/2-required AES_128_GCM_SHA256 cipher") {
			t.Errorf("%s does not say why it ended: %.2000s", argv[0], log)
		}
	}
}
