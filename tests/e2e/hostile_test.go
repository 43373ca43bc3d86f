package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/apimachinery/pkg/runtime"
)

// attacker holds one connection after the other, each for a while, until the context ends.
type attacker struct {
	ctx  context.Context
	addr string
	hold time.Duration // the longest time of a connection
	all  *attack
}

// attack counts the results of all attackers.
type attack struct {
	connections, turnedAway, answers atomic.Int64
	mu                               sync.Mutex
	byStatus                         map[int]int
	wrong                            []string // violations
}

func (a *attack) saw(status int) {
	a.answers.Add(1)
	a.mu.Lock()
	a.byStatus[status]++
	a.mu.Unlock()
}

// hostileAnswers are the answers that attackers get.
var hostileAnswers = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestHeaderFieldsTooLarge}

// sawAll reports whether attackers got each of the hostileAnswers.
func (a *attack) sawAll() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !slices.ContainsFunc(hostileAnswers, func(status int) bool { return a.byStatus[status] == 0 })
}

func (a *attack) fail(format string, args ...any) {
	a.mu.Lock()
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	a.mu.Unlock()
}

func (a *attacker) pause(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// stay keeps the connection for a while, or until the server closes it.
func (a *attacker) stay(c net.Conn) {
	c.SetReadDeadline(time.Now().Add(a.hold/2 + rand.N(a.hold/2)))
	stop := context.AfterFunc(a.ctx, func() { c.SetReadDeadline(time.Now()) })
	defer stop()
	io.Copy(io.Discard, c)
}

// trickle sends a byte at a time.
func (a *attacker) trickle(c net.Conn, text []byte) {
	end := time.Now().Add(a.hold/2 + rand.N(a.hold/2))
	for i := 0; time.Now().Before(end) && a.pause(a.hold/20); i++ {
		if _, err := c.Write(text[i%len(text) : i%len(text)+1]); err != nil {
			return
		}
	}
}

func (a *attacker) handshake(c net.Conn, protocols ...string) *tls.Conn {
	t := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	t.SetDeadline(time.Now().Add(patience))
	if t.Handshake() != nil {
		return nil
	}
	t.SetDeadline(time.Time{})
	return t
}

func hostileNoise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// sendRaw sends a request unchanged and checks the responses: none of them may be a page.
func (a *attacker) sendRaw(c net.Conn, request string) {
	t := a.handshake(c)
	if t == nil {
		return
	}
	t.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(t, request); err != nil {
		return
	}
	in := bufio.NewReader(t)
	for {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(response.Body)
		a.all.saw(response.StatusCode)
		if response.StatusCode < 300 {
			a.all.fail("unauthorized access: %d for %.100q: %.100q", response.StatusCode, request, body)
		}
		t.SetDeadline(time.Now().Add(a.hold / 2)) // and keeps the connection
	}
}

// readAll checks responses over HTTP/2 until the end: none of them may be a page.
func (a *attacker) readAll(f *frames) {
	for {
		frame, err := f.framer.ReadFrame()
		if err != nil {
			return
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			status, _ := strconv.Atoi(headers.PseudoValue("status"))
			a.all.saw(status)
			if status >= 200 && status < 300 {
				a.all.fail("unauthorized access over HTTP/2: %d", status)
			}
		}
	}
}

// flood sends HTTP/2 frames as fast as it can, until the server closes the connection.
func (a *attacker) flood(c net.Conn, window uint32, turn func(f *frames, i int) error) {
	t := a.handshake(c, "h2")
	if t == nil {
		return
	}
	t.SetDeadline(time.Now().Add(a.hold/2 + rand.N(a.hold/2)))
	f := newFrames(t)
	if f.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}) != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.readAll(f)
	}()
	var err error
	for i := 0; err == nil && i < 100000; i++ {
		err = turn(f, i)
	}
	<-ended
	a.pause(a.hold / 4) // to test frames rather than handshakes
}

// protected requests a page that needs authorization.
func (a *attacker) protected(f *frames, ends bool, more ...string) error {
	path := protectedPages[rand.N(len(protectedPages)-1)]
	return f.send(ends, append([]string{":method", "GET", ":scheme", "https", ":path", path, ":authority", "x"}, more...)...)
}

// Requests for protected pages, in forms that a careless server might misread.
var protectedPages = []string{
	"/metrics", "/metrics/resources", "/configz", "/flagz", "/statusz", "/debug/pprof/", "/debug/pprof/profile?seconds=60",
	"/debug/flags/v", "/debug/berth/queue", "/healthz/../metrics", "//metrics", "/./metrics", "/%6detrics", "/healthz%2f..%2fmetrics",
	"/metrics/", "/healthz/../../metrics", "/metrics%00", "/metrics?x=/healthz", "/metrics;/healthz", "/METRICS", "https://x/metrics",
}

var attacks = map[string]func(a *attacker, c net.Conn){
	"silence": func(a *attacker, c net.Conn) { a.stay(c) },
	"slow handshake": func(a *attacker, c net.Conn) {
		a.trickle(c, append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3}, hostileNoise(64)...))
	},
	"garbage": func(a *attacker, c net.Conn) { c.Write(hostileNoise(1 + rand.N(20000))); a.stay(c) },
	"garbage of the right kind": func(a *attacker, c net.Conn) {
		c.Write(append([]byte{22, 3, 1, 0, 200}, hostileNoise(300)...))
		a.stay(c)
	},
	"HTTP without TLS": func(a *attacker, c net.Conn) {
		io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		a.stay(c)
	},
	"a reset in the handshake": func(a *attacker, c net.Conn) {
		tls.Client(&cutConn{Conn: c, left: 1 + rand.N(600)}, &tls.Config{InsecureSkipVerify: true}).Handshake()
		a.pause(a.hold / 4)
		c.(*net.TCPConn).SetLinger(0)
	},
	"an old TLS": func(a *attacker, c net.Conn) {
		tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).Handshake()
		a.stay(c)
	},
	"silence after the handshake": func(a *attacker, c net.Conn) {
		if t := a.handshake(c); t != nil {
			a.stay(t)
		}
	},
	"a slow head": func(a *attacker, c net.Conn) {
		if t := a.handshake(c); t != nil {
			a.trickle(t, []byte("GET /metrics HTTP/1.1\r\nHost: x\r\nX-A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n"))
		}
	},
	"a slow body": func(a *attacker, c net.Conn) {
		if t := a.handshake(c); t != nil {
			io.WriteString(t, "PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
			a.trickle(t, []byte("1\r\n9\r\n"))
		}
	},
	"noise after the handshake": func(a *attacker, c net.Conn) { a.sendRaw(c, string(hostileNoise(1+rand.N(5000)))+"\r\n\r\n") },
	"a huge head": func(a *attacker, c net.Conn) {
		a.sendRaw(c, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("a", 1<<18))
	},
	"many headers": func(a *attacker, c net.Conn) {
		a.sendRaw(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("X: y\r\n", 9000)+"\r\n")
	},
	"two lengths": func(a *attacker, c net.Conn) {
		a.sendRaw(c, "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	},
	"a huge body": func(a *attacker, c net.Conn) {
		a.sendRaw(c, "PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"+strings.Repeat("9", 1<<17))
	},
	"anonymous": func(a *attacker, c net.Conn) {
		a.sendRaw(c, "GET "+protectedPages[rand.N(len(protectedPages))]+" HTTP/1.1\r\nHost: x\r\n\r\n")
	},
	"anonymous, many times": func(a *attacker, c net.Conn) {
		a.sendRaw(c, strings.Repeat("GET "+protectedPages[rand.N(len(protectedPages))]+" HTTP/1.1\r\nHost: x\r\n\r\n", 20))
	},
	"a wrong token": func(a *attacker, c net.Conn) {
		a.sendRaw(c, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong-%d\r\n\r\n", protectedPages[rand.N(len(protectedPages))], rand.N(1000)))
	},
	"a pretended user": func(a *attacker, c net.Conn) {
		a.sendRaw(c, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Remote-User: root\r\nX-Remote-Group: system:masters\r\nImpersonate-User: root\r\n\r\n")
	},
	"questions without reading": func(a *attacker, c net.Conn) {
		if t := a.handshake(c); t != nil {
			t.SetWriteDeadline(time.Now().Add(a.hold / 2))
			for range 2000 {
				if _, err := io.WriteString(t, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					break
				}
			}
			a.pause(a.hold / 2)
		}
	},
}

// Attacks that only HTTP/2 makes possible.
var http2Attacks = map[string]func(a *attacker, c net.Conn){
	"HTTP/2: anonymous": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			if i > 0 {
				return io.EOF
			}
			return a.protected(f, true)
		})
	},
	"HTTP/2: a wrong token": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			if i == 50 {
				return io.EOF
			}
			return a.protected(f, true, "authorization", fmt.Sprintf("Bearer wrong-%d", rand.N(100)))
		})
	},
	"HTTP/2: requested and reset": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			if err := a.protected(f, true, "authorization", fmt.Sprintf("Bearer wrong-%d", rand.N(100))); err != nil {
				return err
			}
			return f.framer.WriteRSTStream(f.last-1, http2.ErrCodeCancel)
		})
	},
	"HTTP/2: streams that never end": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			if i < 100 {
				return a.protected(f, false)
			}
			if !a.pause(a.hold / 100) {
				return io.EOF
			}
			return f.framer.WriteData(uint32(1+2*rand.N(100)), false, hostileNoise(100))
		})
	},
	"HTTP/2: unread responses": func(a *attacker, c net.Conn) {
		a.flood(c, 0, func(f *frames, i int) error {
			if i == 100 {
				return io.EOF
			}
			return a.protected(f, true)
		})
	},
	"HTTP/2: a head without end": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			if i == 0 {
				return f.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.fields(":method", "GET")})
			}
			return f.framer.WriteContinuation(1, false, f.fields("x", strings.Repeat("a", 16000)))
		})
	},
	"HTTP/2: a head too large": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			switch i {
			case 0:
				return f.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true,
					BlockFragment: f.fields(":method", "GET", ":scheme", "https", ":path", "/metrics", "x", strings.Repeat("a", 16000))})
			case 6:
				return io.EOF
			}
			return f.framer.WriteContinuation(1, i == 5, f.fields("x", string(rune('a'+i))+strings.Repeat("A", 16000)))
		})
	},
	"HTTP/2: frames without use": func(a *attacker, c net.Conn) {
		kind := rand.N(4)
		a.flood(c, 1<<16, func(f *frames, i int) error {
			switch kind {
			case 0:
				return f.framer.WritePing(false, [8]byte{})
			case 1:
				return f.framer.WriteSettings()
			case 2:
				return f.framer.WriteWindowUpdate(0, 1)
			}
			return f.framer.WritePriority(uint32(1+2*i), http2.PriorityParam{})
		})
	},
	"HTTP/2: noise": func(a *attacker, c net.Conn) {
		a.flood(c, 1<<16, func(f *frames, i int) error {
			if i == 0 {
				return a.protected(f, true)
			}
			return f.framer.WriteRawFrame(http2.FrameType(rand.N(12)), http2.Flags(rand.Uint32()), uint32(rand.N(9)), hostileNoise(rand.N(100)))
		})
	},
}

// cutConn is a connection that sends only a limited number of bytes.
type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Write(b []byte) (int, error) {
	n, _ := c.Conn.Write(b[:min(len(b), c.left)])
	c.left -= n
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (a *attacker) run(kind func(*attacker, net.Conn)) {
	dialer := net.Dialer{Timeout: patience}
	for a.ctx.Err() == nil {
		c, err := dialer.DialContext(a.ctx, "tcp", a.addr)
		if err != nil {
			a.all.turnedAway.Add(1) // the listen queue is full
			if !a.pause(a.hold / 10) {
				return
			}
			continue
		}
		a.all.connections.Add(1)
		stop := context.AfterFunc(a.ctx, func() { c.Close() })
		kind(a, c)
		stop()
		c.Close()
	}
}

// beginAttack starts `count` attackers of all kinds.
func beginAttack(ctx context.Context, port, count int, hold time.Duration) (*attack, *sync.WaitGroup) {
	all := &attack{byStatus: map[int]int{}}
	var group sync.WaitGroup
	for i := 0; i < count; {
		for _, kind := range slices.Concat(slices.Collect(maps.Values(attacks)), slices.Collect(maps.Values(http2Attacks))) {
			if i++; i > count {
				break
			}
			a := &attacker{ctx: ctx, addr: fmt.Sprintf("127.0.0.1:%d", port), hold: hold, all: all}
			group.Go(func() { a.run(kind) })
		}
	}
	return all, &group
}

// open is how many files and sockets the process has open.
func (p *Proc) open() int {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(files)
}

// resident is the private memory of the process, in MiB.
func (p *Proc) resident() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "RssAnon:" {
			kib, _ := strconv.ParseFloat(f[1], 64)
			return kib / 1024
		}
	}
	return 0
}

// heap is the state of malloc: bytes in use, and free bytes that are not returned to the system.
func (e *env) heap(port int) (used, free float64) {
	e.Helper()
	_, text := e.ask(port, "GET", "/debug/pprof/heap?debug=1", adminToken, "")
	var mapped, pieces float64
	if _, err := fmt.Sscanf(text, "# in use\nbytes: %g\nmapped_bytes: %g\nmapped_pieces: %g\n# free\nbytes: %g", &used, &mapped, &pieces, &free); err != nil {
		e.Fatalf("%v in %.300s", err, text)
	}
	return (used + mapped) / (1 << 20), free / (1 << 20)
}

// watchman is an authorized client that sends requests all the time and records the longest time.
type watchman struct {
	requests, failed atomic.Int64
	slowest          time.Duration
	last             string
}

func (e *env) watch(ctx context.Context, port int, w *watchman) {
	for ctx.Err() == nil {
		for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
			began := time.Now()
			status, text := e.ask(port, "GET", path, adminToken, "")
			w.requests.Add(1)
			w.slowest = max(w.slowest, time.Since(began))
			if status != http.StatusOK {
				w.failed.Add(1)
				w.last = fmt.Sprintf("%s: %d %.200s", path, status, text)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// attempts is the number of decisions, the number of those within a millisecond, and the total time.
func (e *env) attempts(port int) (count, quick, sum float64) {
	e.Helper()
	status, text := e.ask(port, "GET", "/metrics", adminToken, "")
	if status != http.StatusOK {
		e.Fatalf("/metrics: %d %.200s", status, text)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "scheduler_scheduling_algorithm_duration_seconds_"); ok {
			name, value, _ := strings.Cut(strings.TrimSpace(rest), " ")
			number, _ := strconv.ParseFloat(value, 64)
			if strings.HasPrefix(name, "count") {
				count += number
			} else if strings.HasPrefix(name, "bucket") && strings.Contains(name, `le="0.001"`) {
				quick += number
			} else if strings.HasPrefix(name, "sum") {
				sum += number
			}
		}
	}
	return count, quick, sum
}

// placing lets the scheduler place pods and returns the time of a decision, and the time per pod overall.
func (e *env) placing(p *Proc, port int, name string, pods int) (decision, perPod time.Duration) {
	e.Helper()
	var all []runtime.Object
	for i := range pods {
		all = append(all, NewPod(fmt.Sprintf("%s-%d", name, i), Requests("cpu", "10m")))
	}
	bound := e.o.Bound()
	count, quick, sum := e.attempts(port)
	used, began := p.Usage().CPU, time.Now()
	e.createAll(all)
	if err := e.within(10*time.Minute, func() bool { return e.o.Bound() >= bound+pods }); err != nil {
		e.Fatalf("%d of %d pods were bound (%v)", e.o.Bound()-bound, pods, err)
	}
	perPod = time.Since(began) / time.Duration(pods)
	later, laterQuick, total := e.attempts(port)
	decision = time.Duration((total - sum) / (later - count) * float64(time.Second))
	e.Logf("%s: %d pods, %v for a decision, %.2f %% of them within a millisecond, %v for a pod from its creation to its binding, %v of CPU time, %.1f MiB, %d open files",
		name, pods, decision, 100*(laterQuick-quick)/(later-count), perPod, (p.Usage().CPU - used).Round(10*time.Millisecond), p.resident(), p.open())
	return decision, perPod
}

// 1,000 hostile connections to the serving port while it schedules: no access without authorization, authorized requests
// are answered, every pod gets its node, and no resources are left in use afterwards.
func TestHostileConnections(t *testing.T) {
	connections, pods, hold := 1000, 3000, 6*time.Second
	if testing.Short() {
		connections, pods, hold = 200, 300, 3*time.Second
	}
	e := shared(t)
	e.berthOnly("its limits on connections are berth's own")
	e.create(objects(Nodes("node", 20, Allocatable("cpu", "1000", "pods", "1000"))...)...)
	p, port := e.serving("--kube-api-qps", "5000", "--kube-api-burst", "5000")
	e.placing(p, port, "warm", pods/10)
	before := p.resident()
	usedBefore, _ := e.heap(port)
	quiet, _ := e.placing(p, port, "quiet", pods)
	asker.CloseIdleConnections()
	open, calm := p.open()+1, p.resident() // the client has a connection, which may have been closed at this moment
	used, _ := e.heap(port)

	ctx, stop := context.WithCancel(e.ctx)
	all, group := beginAttack(ctx, port, connections, hold)
	for deadline := time.Now().Add(patience); p.open() < open+connections/2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d files are open with %d attackers", p.open(), connections)
		}
	}
	var w watchman
	group.Go(func() { e.watch(ctx, port, &w) })
	group.Go(func() {
		if status, text := e.ask(port, "GET", "/debug/pprof/profile?seconds=2", adminToken, ""); status != http.StatusOK && ctx.Err() == nil {
			all.fail("a profile of it: %d %.200s", status, text)
		}
	})
	attacked, _ := e.placing(p, port, "attacked", pods)
	// Until connections of each kind were closed and opened again, and answered.
	for began := time.Now(); time.Since(began) < hold || w.requests.Load() < 3 || !all.sawAll(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > patience {
			break
		}
	}
	peak := p.resident()
	stop()
	group.Wait()
	t.Logf("%d hostile connections (%d more were turned away), %d answers %v; %d questions of one who may, the slowest %v; a decision took %.2f times as long",
		all.connections.Load(), all.turnedAway.Load(), all.answers.Load(), all.byStatus, w.requests.Load(), w.slowest.Round(time.Millisecond), float64(attacked)/float64(quiet))
	for _, wrong := range all.wrong[:min(len(all.wrong), 20)] {
		t.Error(wrong)
	}
	if w.failed.Load() > 0 || w.requests.Load() < 3 {
		t.Errorf("an authorized client got no response %d times of %d: %s", w.failed.Load(), w.requests.Load(), w.last)
	}
	if !all.sawAll() {
		t.Errorf("not every kind was answered: %v", all.byStatus)
	}

	// As much more memory as the same pods took without the attack, with some for the cache of reviews, and for
	// fragments.
	limit, usedLimit := calm+max(calm-before, 0)+16, used+max(used-usedBefore, 0)+4
	if sanitized() {
		limit = math.Inf(1) // a sanitizer keeps memory that was freed
	}
	usedAfter, free := e.heap(port)
	for deadline := time.Now().Add(patience); p.open() > open || p.resident() > limit || usedAfter > usedLimit; time.Sleep(200 * time.Millisecond) {
		if usedAfter, free = e.heap(port); time.Now().After(deadline) {
			t.Errorf("%d files are open, %d were before; %.1f MiB, at most %.1f were expected; %.1f MiB of them in use, at most %.1f were expected",
				p.open(), open, p.resident(), limit, usedAfter, usedLimit)
			break
		}
	}
	t.Logf("memory: %.1f MiB before, %.1f after the pods, %.1f under attack, %.1f at the end; in use %.1f, %.1f, and %.1f at the end with %.1f free",
		before, calm, peak, p.resident(), usedBefore, used, usedAfter, free)
	e.running(p)
	e.blameless()
}
