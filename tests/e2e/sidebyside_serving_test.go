package e2e

import (
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// twins are the real kube-scheduler and berth, serving at the same time with the same flags except port and lease.
type twins struct {
	*env
	names [2]string
	ports [2]int
	procs [2]*Proc
}

// startTwins starts both on the shared cluster, as the scheduler's user, with all flags for serving.
func startTwins(t *testing.T, flags ...string) *twins {
	t.Helper()
	reference, berth := bothCommands(t)
	e := shared(t)
	w := &twins{env: e, names: [2]string{"kube-scheduler", "berth"}}
	ports, err := freePorts(2)
	e.must(err)
	conf := e.c.path(e.file("twins") + ".conf")
	e.must(e.c.WriteKubeconfig(e.file("twins")+".conf", e.c.Addr(), Credentials{"token": schedulerToken}))
	for i, argv := range [][]string{reference, berth} {
		w.ports[i] = ports[i]
		all := []string{"--kubeconfig", conf, "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf,
			"--leader-elect=true", "--leader-elect-resource-name", w.lease(i), "--secure-port", fmt.Sprint(ports[i]),
			"--bind-address", "127.0.0.1"}
		p, err := e.c.StartScheduler(e.file(w.names[i]), e.c.Addr(), argv, append(all, flags...)...)
		e.must(err)
		e.procs = append(e.procs, p)
		w.procs[i] = p
	}
	for i := range w.names {
		w.eventually(w.names[i]+" is ready", func() error {
			answer, err := w.ask(i, caller{}, "GET", "/readyz")
			if err == nil && answer.status != 200 {
				err = fmt.Errorf("status %d: %s", answer.status, answer.body)
			}
			return err
		})
	}
	return w
}

// eventually polls for a condition.
func (e *env) eventually(what string, try func() error) {
	e.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		for _, p := range e.procs {
			if !p.Alive() && !p.Stopped() {
				e.Fatalf("%s: %s ended by itself: %s", what, p.Name, p.Exit())
			}
		}
		if time.Now().After(deadline) {
			e.Fatalf("this did not happen within %v: %s (%v)", patience, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// caller is a client and its credentials.
type caller struct {
	name        string
	token       string
	certificate *tls.Certificate
	header      http.Header
}

// page is a response with a decompressed body.
type page struct {
	status int
	header http.Header
	body   string
}

// config is the TLS configuration of the caller.
func (who caller) config() *tls.Config {
	config := &tls.Config{InsecureSkipVerify: true}
	if who.certificate != nil {
		config.Certificates = []tls.Certificate{*who.certificate}
	}
	return config
}

// ask sends a request to one of the two over HTTP/1.1, on its own connection.
func (w *twins) ask(which int, who caller, method, path string) (page, error) {
	return w.askOver(&http.Transport{TLSClientConfig: who.config(), DisableKeepAlives: true, DisableCompression: true}, which, who, method, path)
}

func (w *twins) askOver(transport http.RoundTripper, which int, who caller, method, path string) (page, error) {
	client := &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     transport,
	}
	request, err := http.NewRequest(method, fmt.Sprintf("https://127.0.0.1:%d%s", w.ports[which], path), nil)
	if err != nil {
		return page{}, err
	}
	for key, values := range who.header {
		request.Header[key] = values
	}
	if who.token != "" {
		request.Header.Set("Authorization", "Bearer "+who.token)
	}
	response, err := client.Do(request)
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	var text io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" && method != "HEAD" {
		if text, err = gzip.NewReader(response.Body); err != nil {
			return page{}, err
		}
	}
	body, err := io.ReadAll(text)
	return page{response.StatusCode, response.Header, w.plain(which, string(body))}, err
}

// plain removes parts of a text that must differ between the two.
func (w *twins) plain(which int, text string) string {
	text = strings.ReplaceAll(text, fmt.Sprint(w.ports[which]), "PORT")
	return strings.ReplaceAll(text, w.lease(which), "LEASE")
}

// lease is the name of the lease of one of the two: each leads for itself.
func (w *twins) lease(which int) string {
	return strings.ToLower(strings.ReplaceAll(w.file(w.names[which]), "_", "-"))
}

// account makes a service account with these rules, and returns its token.
func (e *env) account(name string, rules ...rbacv1.PolicyRule) string {
	e.Helper()
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	if _, err := e.c.Admin.CoreV1().ServiceAccounts("default").Create(e.ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
	if len(rules) > 0 {
		e.grant(name, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: name}, rules...)
	}
	token, err := e.c.Admin.CoreV1().ServiceAccounts("default").CreateToken(e.ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	e.must(err)
	return token.Status.Token
}

// grant authorizes a user for pages.
func (e *env) grant(name string, to rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	e.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "e2e-" + name}, Subjects: []rbacv1.Subject{to},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "e2e-" + name}}
	if _, err := e.c.Admin.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
	if _, err := e.c.Admin.RbacV1().ClusterRoleBindings().Create(e.ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
	// Reviews are cached for seconds, so no request may come too early.
	user := to.Name
	if to.Kind == "ServiceAccount" {
		user = "system:serviceaccount:" + to.Namespace + ":" + to.Name
	}
	e.must(e.c.awaitRight(e.ctx, authorizationv1.SubjectAccessReviewSpec{User: user, NonResourceAttributes: &authorizationv1.NonResourceAttributes{
		Path: strings.ReplaceAll(rules[0].NonResourceURLs[0], "*", "any"), Verb: rules[0].Verbs[0]}}))
}

// certificateOf makes a client certificate signed by a CA.
func (e *env) certificateOf(a *authority, user string) *tls.Certificate {
	e.Helper()
	certificate, key, err := a.issue(user)
	e.must(err)
	pair, err := tls.X509KeyPair(certificate, key)
	e.must(err)
	return &pair
}

// callers are all kinds of clients.
func (e *env) callers() []caller {
	e.Helper()
	viewer := rbacv1.PolicyRule{NonResourceURLs: []string{"*"}, Verbs: []string{"get", "head"}}
	e.grant("viewer", rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "e2e-viewer"}, viewer)
	other, err := newAuthority()
	e.must(err)
	return []caller{
		{name: "anonymous"},
		{name: "a wrong token", token: "wrong"},
		{name: "a token without rights", token: e.account("nobody")},
		{name: "a token for metrics", token: e.account("scraper", rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics", "/metrics/*"}, Verbs: []string{"get"}})},
		{name: "the administrator", token: adminToken},
		{name: "a certificate", certificate: e.certificateOf(e.c.authority, "e2e-viewer")},
		{name: "a certificate without rights", certificate: e.certificateOf(e.c.authority, "e2e-stranger")},
		{name: "a certificate of another authority", certificate: e.certificateOf(other, "e2e-viewer")},
		{name: "a certificate of another authority and a token", certificate: e.certificateOf(other, "e2e-viewer"), token: adminToken},
		{name: "headers of a proxy without its certificate", header: http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}},
		{name: "basic authentication", header: http.Header{"Authorization": {"Basic YWRtaW46YWRtaW4="}}},
		{name: "an empty token", header: http.Header{"Authorization": {"Bearer "}}},
	}
}

// Paths that every caller requests. Bodies of paths with a star vary.
var servedPaths = []string{
	"/healthz", "/livez", "/readyz", "/healthz?verbose", "/livez?verbose", "/readyz?verbose", "/healthz?verbose=false",
	"/readyz?exclude=shutdown&verbose", "/readyz?exclude=nothing&verbose", "/readyz?exclude=shutdown&exclude=leaderElection&verbose=1",
	"/healthz?exclude=leaderElection", "/readyz?exclude=a&exclude=b", "/healthz/leaderElection", "/healthz/ping", "/livez/ping",
	"/readyz/leaderElection", "/readyz/shutdown", "/readyz/sched-handler-sync", "/readyz/ping", "/healthz/nothing", "/healthz/", "/healthz/leaderElection?verbose",
	"/metrics*", "/metrics/slis*", "/metrics/resources*", "/metrics/", "/metrics/nothing", "/configz", "/flagz*", "/statusz*",
	"/", "/version", "/api", "/nothing", "/debug", "/debug/flags", "/debug/flags/", "/debug/flags/v", "/debug/pprof", "/debug/pprof/*",
	"/debug/pprof/nothing*", "//healthz", "/healthz/../metrics", "/Healthz", "/%68ealthz", "/nothing?%zz",
}

// Headers to compare.
var servedHeaders = []string{"Content-Type", "X-Content-Type-Options", "Cache-Control", "Www-Authenticate", "Location", "Allow", "Warning"}

func (w *twins) compare(who caller, method, path string) {
	w.Helper()
	path, moment := strings.CutSuffix(path, "*")
	what := who.name + ": " + method + " " + path
	want, err := w.ask(0, who, method, path)
	w.must(err)
	got, err := w.ask(1, who, method, path)
	if err != nil {
		w.Errorf("%s: %v", what, err)
		return
	}
	if got.status != want.status {
		w.Errorf("%s: status is %d, want %d\n%.300s\n%.300s", what, got.status, want.status, got.body, want.body)
		return
	}
	for _, name := range servedHeaders {
		if !reflect.DeepEqual(got.header[name], want.header[name]) {
			w.Errorf("%s (%d): %s is %q, want %q", what, got.status, name, got.header[name], want.header[name])
		}
	}
	if strings.HasPrefix(path, "/configz") && got.status == 200 && method != "HEAD" {
		got.body, want.body = sorted(w.T, got.body), sorted(w.T, want.body)
	}
	if !(moment && got.status == 200) && got.body != want.body {
		at := 0
		for at < min(len(got.body), len(want.body)) && got.body[at] == want.body[at] {
			at++
		}
		w.Errorf("%s (%d): the body differs from byte %d: %.200q, want %.200q", what, got.status, at, got.body[max(0, at-40):],
			want.body[max(0, at-40):])
	}
}

// sorted writes JSON with its keys in order.
func sorted(t *testing.T, text string) string {
	t.Helper()
	var all any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Errorf("this is no JSON (%v): %s", err, text)
	}
	b, _ := json.Marshal(all)
	return string(b)
}

// Both send the same response to every request of every client.
func TestServingIsTheReference(t *testing.T) {
	w := startTwins(t)
	callers := w.callers()
	// The client CA comes from the cluster, a moment later.
	for i, name := range w.names {
		w.eventually(name+" knows the cluster's authority", func() error {
			answer, err := w.ask(i, callers[5], "GET", "/metrics")
			if err == nil && answer.status != 200 {
				err = fmt.Errorf("status %d: %s", answer.status, answer.body)
			}
			return err
		})
	}
	for _, who := range callers {
		for _, path := range servedPaths {
			w.compare(who, "GET", path)
		}
		for _, path := range []string{"/healthz", "/metrics*", "/configz", "/nothing", "/readyz?verbose", "/debug/flags/v"} {
			for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "OPTIONS"} {
				w.compare(who, method, path)
			}
		}
	}
	w.sameFlagz(callers[4])
	w.sameStatusz(callers[4])
	admin := callers[4]
	for _, accept := range []string{"application/json", "text/plain", "*/*", "text/html", "application/yaml", "application/cbor",
		"application/json;v=v1beta1;g=config.k8s.io;as=Flagz", "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz", "x/y"} {
		who := admin
		who.name, who.header = "accepts "+accept, http.Header{"Accept": {accept}}
		for _, path := range []string{"/flagz*", "/statusz*", "/nothing", "/configz", "/healthz"} {
			w.compare(who, "GET", path)
		}
		anonymous := who
		anonymous.token = ""
		w.compare(anonymous, "GET", "/flagz")
	}
	w.compare(admin, "DELETE", "/metrics")
	w.compare(admin, "DELETE", "/metrics/slis")
	for _, p := range w.procs {
		w.running(p)
	}
}

// ownFlags are the flags that only berth has, which --help lists apart; also the one that the harness gives to berth alone.
func (w *twins) ownFlags() map[string]bool {
	w.Helper()
	help, err := exec.Command(os.Getenv("BERTH"), "scheduler", "--help").Output()
	w.must(err)
	_, own, found := strings.Cut(string(help), "\nBerth flags:\n")
	if own, _, _ = strings.Cut(own, "\nGlobal flags:\n"); !found || own == "" {
		w.Fatal("--help has no list of berth's own flags")
	}
	flags := map[string]bool{"emulated-version": true}
	for _, match := range regexp.MustCompile(`(?m)^ +--([a-z0-9-]+)`).FindAllStringSubmatch(own, -1) {
		flags[match[1]] = true
	}
	return flags
}

// sameFlagz compares the flags that both show, except those that only berth has.
func (w *twins) sameFlagz(who caller) {
	w.Helper()
	own := w.ownFlags()
	read := func(which int) (lines []string) {
		answer, err := w.ask(which, who, "GET", "/flagz")
		w.must(err)
		for _, line := range strings.Split(answer.body, "\n") {
			// The separator between a name and its value is chosen at each start.
			line = regexp.MustCompile(`^([a-z0-9-]+)(?: |=|: ?)`).ReplaceAllString(line, "$1=")
			if name, _, _ := strings.Cut(line, "="); !own[name] {
				lines = append(lines, line)
			}
		}
		return lines
	}
	want, got := read(0), read(1)
	for _, line := range want {
		if !slices.Contains(got, line) {
			w.Errorf("/flagz has no line %q", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			w.Errorf("/flagz has %q, and the reference not", line)
		}
	}
}

// sameStatusz compares the names of the lines, and the values that do not vary.
func (w *twins) sameStatusz(who caller) {
	w.Helper()
	read := func(which int) []string {
		answer, err := w.ask(which, who, "GET", "/statusz")
		w.must(err)
		var lines []string
		for _, line := range strings.Split(answer.body, "\n") {
			for _, name := range []string{"Started", "Up", "Go version", "Binary version"} {
				if strings.HasPrefix(line, name) {
					line = name
				}
			}
			// The separator between a name and its value is chosen at each start.
			lines = append(lines, regexp.MustCompile(`^(Emulation version|Paths)(:|=|  )? *`).ReplaceAllString(line, "$1: "))
		}
		return lines
	}
	if want, got := read(0), read(1); !slices.Equal(want, got) {
		w.Errorf("/statusz is %q, want %q", got, want)
	}
}

// Paths that need no authorisation are those of the flag, and no others.
func TestAlwaysAllowedPathsAreTheReference(t *testing.T) {
	w := startTwins(t, "--authorization-always-allow-paths=/metrics,/debug/*,/readyz")
	anonymous := caller{name: "anonymous"}
	wrong := caller{name: "a wrong token", token: "wrong"}
	for _, path := range []string{"/metrics*", "/metrics/slis*", "/healthz", "/livez", "/readyz", "/readyz/shutdown", "/debug/flags", "/debug/flags/v",
		"/debug", "/configz", "/metrics/", "//metrics", "/metrics?x=1*"} {
		w.compare(anonymous, "GET", path)
		w.compare(wrong, "GET", path)
		w.compare(anonymous, "POST", path)
	}
}

// pemPair makes a self-signed server certificate for these names.
func pemPair(t *testing.T, common string, names ...string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: common}, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// shake tries a handshake and returns the result.
func (w *twins) shake(which int, config *tls.Config) (tls.ConnectionState, error) {
	config.InsecureSkipVerify = true
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", fmt.Sprintf("127.0.0.1:%d", w.ports[which]), config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	return conn.ConnectionState(), nil
}

// TLS versions and cipher suites of a client, one at a time.
func offers() map[string]*tls.Config {
	all := map[string]*tls.Config{"all": {MinVersion: tls.VersionTLS10}}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		all[tls.VersionName(version)] = &tls.Config{MinVersion: version, MaxVersion: version}
	}
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
			all[suite.Name] = &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}
		}
	}
	// X25519MLKEM768 needs OpenSSL 3.5 or later.
	for _, curve := range []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521, tls.X25519} {
		all[curve.String()] = &tls.Config{CurvePreferences: []tls.CurveID{curve}}
	}
	return all
}

// sameTLS compares what both accept.
func (w *twins) sameTLS() {
	w.Helper()
	for name, config := range offers() {
		want, refused := w.shake(0, config.Clone())
		got, err := w.shake(1, config.Clone())
		if (err == nil) != (refused == nil) {
			w.Errorf("an offer of %s: berth says %v, kube-scheduler %v", name, err, refused)
		} else if err == nil && (got.Version != want.Version || got.Version < tls.VersionTLS13 && got.CipherSuite != want.CipherSuite) {
			w.Errorf("an offer of %s: got %s with %s, want %s with %s", name, tls.VersionName(got.Version), tls.CipherSuiteName(got.CipherSuite),
				tls.VersionName(want.Version), tls.CipherSuiteName(want.CipherSuite))
		}
	}
}

// Versions, suites and certificates: self-signed, from files, by name; and replaced ones.
func TestTransportIsTheReference(t *testing.T) {
	t.Run("as it is", func(t *testing.T) {
		w := startTwins(t)
		w.sameTLS()
		want, err := w.shake(0, &tls.Config{})
		w.must(err)
		got, err := w.shake(1, &tls.Config{})
		w.must(err)
		for _, name := range []string{"localhost", "127.0.0.1"} {
			if a, b := want.PeerCertificates[0].VerifyHostname(name), got.PeerCertificates[0].VerifyHostname(name); (a == nil) != (b == nil) {
				t.Errorf("a certificate for %s: berth %v, kube-scheduler %v", name, b, a)
			}
		}
	})
	t.Run("TLS 1.3 alone", func(t *testing.T) { startTwins(t, "--tls-min-version=VersionTLS13").sameTLS() })
	t.Run("old TLS", func(t *testing.T) {
		if testing.Short() {
			t.Skip("one more start of both")
		}
		startTwins(t, "--tls-min-version=VersionTLS10").sameTLS()
	})
	t.Run("one suite", func(t *testing.T) {
		if testing.Short() {
			t.Skip("one more start of both")
		}
		startTwins(t, "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").sameTLS()
	})
	t.Run("one curve", func(t *testing.T) {
		if testing.Short() {
			t.Skip("one more start of both")
		}
		startTwins(t, "--tls-curve-preferences=24").sameTLS()
	})
	t.Run("files", servesFiles)
}

func servesFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		// Atomically, as a mounted secret changes.
		if err := os.WriteFile(dir+"/"+name+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+"/"+name+".new", dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, common string, names ...string) {
		t.Helper()
		certificate, key := pemPair(t, common, names...)
		write(name+".crt", certificate)
		write(name+".key", key)
	}
	put("main", "first", "main.example")
	put("a", "a", "a.example", "*.wild.example")
	put("b", "b", "b.example")
	w := startTwins(t, "--tls-cert-file="+dir+"/main.crt", "--tls-private-key-file="+dir+"/main.key",
		"--tls-sni-cert-key="+dir+"/a.crt,"+dir+"/a.key", "--tls-sni-cert-key="+dir+"/b.crt,"+dir+"/b.key:other.example,*.b.example")
	w.sameTLS()
	shown := func(which int, server string) string {
		state, err := w.shake(which, &tls.Config{ServerName: server})
		if err != nil {
			return err.Error()
		}
		return state.PeerCertificates[0].Subject.CommonName
	}
	for _, server := range []string{"", "main.example", "a.example", "A.EXAMPLE", "x.wild.example", "y.x.wild.example", "wild.example",
		"b.example", "other.example", "z.b.example", "nothing.example"} {
		if want, got := shown(0, server), shown(1, server); want != got {
			t.Errorf("a client for %q is shown the certificate %q, want %q", server, got, want)
		}
	}
	put("main", "second", "main.example")
	put("a", "a2", "a.example")
	for i, name := range w.names {
		w.eventually(name+" shows the new certificates", func() error {
			if common, by := shown(i, "main.example"), shown(i, "a.example"); common != "second" || by != "a2" {
				return fmt.Errorf("it shows %s and %s", common, by)
			}
			return nil
		})
	}
	// A partial or invalid change leaves the old certificate.
	write("main.crt", "no certificate\n")
	time.Sleep(2500 * time.Millisecond) // time in which nothing may change
	if common := shown(1, "main.example"); common != "second" {
		t.Errorf("after a wrong certificate came, berth shows %s", common)
	}
	w.running(w.procs[1])
}

// Without a port nothing listens; on a port that is taken both end.
func TestPortsAreTheReference(t *testing.T) {
	reference, berth := bothCommands(t)
	e := shared(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	e.must(err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for _, argv := range [][]string{reference, berth} {
		p, err := e.c.StartScheduler(e.file("taken"), e.c.Addr(), argv, "--secure-port", fmt.Sprint(port), "--bind-address=127.0.0.1")
		e.must(err)
		e.eventually(argv[0]+" ends", func() error {
			if p.Alive() {
				return fmt.Errorf("it still runs")
			}
			return nil
		})
		if p.cmd.ProcessState.ExitCode() <= 0 {
			t.Errorf("%s ended with %s on a port that is taken", argv[0], p.Exit())
		}
	}
	e.create(NewNode("node-0"), NewPod("web"))
	p := e.start() // --secure-port=0
	e.bound("web")
	if sockets := listening(t, p.cmd.Process.Pid); sockets != 0 {
		t.Errorf("with --secure-port=0 it listens on %d sockets", sockets)
	}
}

// listening counts the sockets of a process that wait for connections.
func listening(t *testing.T, pid int) (count int) {
	t.Helper()
	open := map[string]bool{}
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		target, _ := os.Readlink(dir + entry.Name())
		open[target] = true
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && open["socket:["+f[9]+"]"] {
				count++
			}
		}
	}
	return count
}

// /metrics/resources: requests of pods, to the byte. Pods that wait for another scheduler are missing: nothing else
// needs them, so berth does not keep them.
func TestResourceMetricsAreTheReference(t *testing.T) {
	w := startTwins(t)
	limits := func(pairs ...string) PodMod {
		return func(p *v1.Pod) {
			list := v1.ResourceList{}
			for i := 0; i < len(pairs); i += 2 {
				list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
			}
			p.Spec.Containers[0].Resources.Limits = list
		}
	}
	first := func(p *v1.Pod) {
		c := *p.Spec.Containers[0].DeepCopy()
		c.Name, c.Resources.Limits, c.Resources.Requests = "first", nil, v1.ResourceList{"cpu": resource.MustParse("3")}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	sidecar := func(p *v1.Pod) {
		always := v1.ContainerRestartPolicyAlways
		c := *p.Spec.Containers[0].DeepCopy()
		c.Name, c.RestartPolicy = "beside", &always
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	elsewhere := func(p *v1.Pod) { p.Spec.SchedulerName = "another" }
	w.create(NewNode("node-0"),
		NewPod("plain", onNode("node-0")),
		NewPod("some", onNode("node-0"), Requests("cpu", "1001m", "memory", "1Gi", "ephemeral-storage", "7"), limits("cpu", "2.5", "memory", "3G", "ephemeral-storage", "8")),
		NewPod("urgent", onNode("node-0"), Requests("cpu", "57m"), priority("high")),
		NewPod("special", onNode("node-0"), Requests("example.com/gpu", "2", "hugepages-2Mi", "4Mi", "cpu", "1", "memory", "1"), limits("example.com/gpu", "2", "hugepages-2Mi", "4Mi")),
		NewPod("stages", onNode("node-0"), Requests("cpu", "1"), first, sidecar),
		NewPod("gated", gates("example.com/a"), Requests("cpu", "100m", "memory", "123456789")),
		NewPod("other-bound", elsewhere, onNode("node-0"), Requests("cpu", "29m")),
		NewPod("missing-node", onNode("node-9"), Requests("cpu", "2")))
	over := NewPod("over", onNode("node-0"), Requests("cpu", "1"))
	w.create(over)
	w.patchPod("over", `{"status":{"phase":"Succeeded"}}`, "status")
	scraper := caller{token: adminToken}
	var want, got page
	w.eventually("both have seen all pods", func() (err error) {
		if want, err = w.ask(0, scraper, "GET", "/metrics/resources"); err != nil {
			return err
		}
		if got, err = w.ask(1, scraper, "GET", "/metrics/resources"); err != nil {
			return err
		}
		if want.status != 200 || !strings.Contains(want.body, `pod="missing-node"`) || strings.Contains(want.body, `pod="over"`) {
			return fmt.Errorf("kube-scheduler: status %d\n%s", want.status, want.body)
		}
		if got.body != want.body {
			return fmt.Errorf("%s\nwant\n%s\ngot\n%s", difference(want.body, got.body), want.body, got.body)
		}
		return nil
	})
	if lines := strings.Count(got.body, "\n"); lines < 20 {
		t.Errorf("the page has only %d lines:\n%s", lines, got.body)
	}
	w.compare(scraper, "GET", "/metrics/resources")
	w.compare(scraper, "HEAD", "/metrics/resources*")
	w.compare(scraper, "POST", "/metrics/resources")
	w.compare(scraper, "DELETE", "/metrics/resources")
}

// promtool of Prometheus finds no problem on any page.
func TestPromtoolIsContent(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil && testing.Short() {
		t.Fatal("there is no promtool; tools/install-deps test installs it")
	} else if err != nil {
		t.Skip("there is no promtool; tools/install-deps test installs it")
	}
	e := shared(t)
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.create(NewNode("node-0"))
	e.start("--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf,
		"--show-hidden-metrics-for-version="+Earlier(1))
	e.create(NewPod("web", Requests("cpu", "100m")), NewPod("big", Requests("cpu", "100")))
	e.bound("web")
	e.waits("big", "0/1 nodes are available: 1 Insufficient cpu. "+notHelpful(1))
	w := &twins{env: e, ports: [2]int{ports[0], ports[0]}, names: [2]string{"none", "none"}}
	_, err = w.ask(0, caller{}, "GET", "/readyz") // the request is counted
	e.must(err)
	for _, path := range []string{"/metrics", "/metrics/slis", "/metrics/resources"} {
		answer, err := w.ask(0, caller{token: adminToken}, "GET", path)
		e.must(err)
		if answer.status != 200 || answer.body == "" {
			t.Errorf("%s: status %d, %d bytes", path, answer.status, len(answer.body))
		}
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(answer.body)
		out, err := check.CombinedOutput()
		// Names of kube-scheduler that dashboards use, although promtool warns about them.
		for _, name := range []string{"authenticated_user_requests", "authentication_attempts", "authentication_token_cache_active_fetch_count"} {
			out = regexp.MustCompile(`(?m)^`+name+` .*\n`).ReplaceAll(out, nil)
		}
		if err != nil && len(out) > 0 {
			t.Errorf("promtool check metrics of %s: %v\n%s", path, err, out)
		}
	}
}

// /configz is the given configuration, and feature gates disable pages.
func TestConfigzIsTheReference(t *testing.T) {
	w := startTwins(t, "--feature-gates=ComponentFlagz=false,ComponentStatusz=false", "--profiling=false", "--kube-api-qps=7.5", "--leader-elect-retry-period=1s")
	admin := caller{name: "the administrator", token: adminToken}
	for _, path := range []string{"/configz", "/debug/pprof/", "/debug/flags", "/flagz", "/statusz"} {
		w.compare(admin, "GET", path)
	}
	answer, err := w.ask(1, admin, "GET", "/configz")
	w.must(err)
	var all struct {
		Componentconfig struct {
			EnableProfiling  bool
			ClientConnection struct{ QPS float64 }
		}
	}
	w.must(json.Unmarshal([]byte(answer.body), &all))
	if all.Componentconfig.EnableProfiling || all.Componentconfig.ClientConnection.QPS != 7.5 {
		t.Errorf("this is not what the flags say: %s", answer.body)
	}
}
