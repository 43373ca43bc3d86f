// Package e2e runs a live scheduler against real Kubernetes parts on the loopback interface: etcd, kube-apiserver with
// RBAC, and, where a test needs them, kube-controller-manager and kwok. The scheduler has only the built-in role
// system:kube-scheduler. The tests observe it only through the API, as a cluster's users do.
//
// Environment:
//
//	E2E_PARTS      folder with the real parts (parts/build --where)
//	E2E_SCHEDULER  berth (the default), kube-scheduler, or a command line
//	BERTH          the berth binary
//	E2E_RELEASE    the release that berth emulates, "1.37"; not set: its default
//	E2E_KEEP       not empty: keep the folders with data and logs; those of failed tests are always kept
package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The API server has two users: RBAC's bootstrap gives the second one the scheduler's built-in role.
const (
	adminToken     = "e2e-admin"
	schedulerToken = "e2e-scheduler"
	schedulerUser  = "system:kube-scheduler"
)

// All requests of the scheduler are logged, so that tests can count requests and find rejected ones.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["system:kube-scheduler"]}
- {level: None}
`

// Options selects the kind of cluster.
type Options struct {
	Audit       bool     // log the scheduler's requests
	Controllers bool     // kube-controller-manager, and the admission plugins that rely on it
	Kwok        bool     // fake kubelets: nodes stay ready, bound pods run, terminating pods are deleted
	Flags       []string // more of them, for kube-apiserver
}

// Cluster is a running control plane without a scheduler.
type Cluster struct {
	Dir   string // data, logs, keys
	Admin *kubernetes.Clientset
	Rest  *rest.Config

	bin             string
	opts            Options
	api, etcd, peer int // ports
	tokens          int // how many times RotateToken was called
	authority       *authority
	away            []span // when the API server was restarting
	etcdProc        *Proc
	apiProc         *Proc
	others          []*Proc
}

// PartsDir is the folder with the real parts.
func PartsDir() (string, error) {
	dir := os.Getenv("E2E_PARTS")
	if _, err := os.Stat(filepath.Join(dir, "kube-apiserver")); dir == "" || err != nil {
		return "", errors.New("E2E_PARTS names no folder with kube-apiserver: " +
			"build the parts with tests/e2e/parts/build and pass what its --where prints")
	}
	return filepath.Abs(dir)
}

// Start brings a control plane up in a new temporary folder; that takes a few seconds.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	bin, err := PartsDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, bin: bin, opts: opts}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("%w (data and logs are in %s)", err, dir)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	c.api, c.etcd, c.peer = ports[0], ports[1], ports[2]
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := c.startEtcd(); err != nil {
		return err
	}
	if err := c.startAPI(ctx); err != nil {
		return err
	}
	c.Rest = &rest.Config{Host: "https://" + c.Addr(), BearerToken: adminToken, QPS: -1}
	c.Rest.CAFile = c.path("certs/apiserver.crt")
	c.Rest.ContentType = "application/vnd.kubernetes.protobuf"
	c.Rest.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	if c.Admin, err = kubernetes.NewForConfig(c.Rest); err != nil {
		return err
	}
	if err := c.awaitRoles(ctx); err != nil {
		return err
	}
	if err := c.WriteKubeconfig("admin.conf", c.Addr(), Credentials{"token": adminToken}); err != nil {
		return err
	}
	if c.opts.Controllers {
		if err := c.startControllers(); err != nil {
			return err
		}
	}
	if c.opts.Kwok {
		return c.startKwok()
	}
	return nil
}

// Ports for servers, outside the kernel's ephemeral range: an ephemeral port could be taken by an outgoing connection before
// the server listens, or while it restarts.
const lowestPort, highestPort = 20000, 29999

var portsGiven struct {
	sync.Mutex
	next int
}

// freePorts finds n unused ports of the loopback interface; each is returned once.
func freePorts(n int) (found []int, err error) {
	portsGiven.Lock()
	defer portsGiven.Unlock()
	if portsGiven.next == 0 { // concurrent runs begin at another port
		portsGiven.next = lowestPort + mathrand.IntN(highestPort-lowestPort)
	}
	for tries := lowestPort; tries <= highestPort && len(found) < n; tries++ {
		port := portsGiven.next
		if portsGiven.next++; portsGiven.next > highestPort {
			portsGiven.next = lowestPort
		}
		l, taken := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if taken != nil {
			err = taken
			continue
		}
		l.Close()
		found = append(found, port)
	}
	if len(found) < n {
		return nil, fmt.Errorf("no port from %d to %d is free: %w", lowestPort, highestPort, err)
	}
	return found, nil
}

func (c *Cluster) path(name string) string { return filepath.Join(c.Dir, name) }
func (c *Cluster) part(name string) string { return filepath.Join(c.bin, name) }

// Addr is the API server's address.
func (c *Cluster) Addr() string { return fmt.Sprintf("127.0.0.1:%d", c.api) }

func (c *Cluster) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	files := map[string]string{
		"sa.key":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"ca.crt":     string(c.authority.certificate),
		"audit.yaml": auditPolicy,
	}
	for name, text := range files {
		if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return c.writeTokens()
}

func (c *Cluster) writeTokens() error {
	text := adminToken + ",admin,admin,\"system:masters\"\n"
	for _, token := range []string{schedulerToken, c.RotatingToken()} {
		text += token + "," + schedulerUser + ",scheduler\n"
	}
	return os.WriteFile(c.path("tokens.csv"), []byte(text), 0o600)
}

// RotatingToken is a second token of the scheduler's user, which is valid until RotateToken is called.
func (c *Cluster) RotatingToken() string { return fmt.Sprintf("e2e-rotating-%d", c.tokens) }

// RotateToken replaces it with another one, which restarts the API server.
func (c *Cluster) RotateToken(ctx context.Context) error {
	c.KillAPI()
	c.tokens++
	if err := c.writeTokens(); err != nil {
		return err
	}
	return c.RestartAPI(ctx)
}

// Credentials is the entry of a user in a kubeconfig.
type Credentials map[string]any

// WriteKubeconfig writes a kubeconfig for addr and the given user. The server's certificate is checked.
func (c *Cluster) WriteKubeconfig(name, addr string, user Credentials) error {
	entry, err := json.Marshal(user)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: "https://%s", certificate-authority: "%s"}}]
users: [{name: e2e, user: %s}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
current-context: e2e
`, addr, c.path("certs/apiserver.crt"), entry)
	return os.WriteFile(c.path(name), []byte(text), 0o600)
}

func (c *Cluster) startEtcd() (err error) {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", c.etcd), fmt.Sprintf("http://127.0.0.1:%d", c.peer)
	c.etcdProc, err = launch(c.Dir, c.path("etcd.log"), c.part("etcd"), "--data-dir", "etcd", "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--quota-backend-bytes", "8589934592", "--log-level", "warn")
	return err
}

func (c *Cluster) startAPI(ctx context.Context) (err error) {
	// Without controllers the taint of new nodes and the finalizer of volumes would stay.
	without := "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"
	if c.opts.Controllers {
		without = "TaintNodesByCondition"
	}
	// Without an advertised address it would look for a network.
	argv := []string{c.part("kube-apiserver"), "--etcd-servers", fmt.Sprintf("http://127.0.0.1:%d", c.etcd),
		"--secure-port", fmt.Sprint(c.api), "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--cert-dir", c.path("certs"), "--token-auth-file", "tokens.csv", "--client-ca-file", "ca.crt", "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", "sa.key",
		"--service-account-signing-key-file", "sa.key", "--service-cluster-ip-range", "10.0.0.0/16",
		"--endpoint-reconciler-type", "none", "--allow-privileged", "--disable-admission-plugins", without}
	if c.opts.Audit {
		argv = append(argv, "--audit-policy-file", "audit.yaml", "--audit-log-path", c.path("audit.log"))
	}
	argv = append(argv, c.opts.Flags...)
	if c.apiProc, err = launch(c.Dir, c.path("kube-apiserver.log"), argv...); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

// awaitReady returns when the API server is ready.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for ctx.Err() == nil {
		request, _ := http.NewRequestWithContext(ctx, "GET", "https://"+c.Addr()+"/readyz", nil)
		request.Header.Set("Authorization", "Bearer "+adminToken)
		if answer, err := client.Do(request); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		for _, p := range []*Proc{c.etcdProc, c.apiProc} {
			if !p.Alive() {
				return fmt.Errorf("%s ended while it was waited for (%s):\n%s", p.Name, p.Exit(), p.Tail(10))
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("kube-apiserver is not ready: %w\n%s", ctx.Err(), c.apiProc.Tail(10))
}

// One right of each role that the scheduler's user has from the beginning.
var stockRights = []authorizationv1.ResourceAttributes{
	{Verb: "create", Resource: "pods", Subresource: "binding", Namespace: "default"},
	{Verb: "update", Resource: "persistentvolumes"},
	{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system"},
	{Verb: "get", Resource: "configmaps", Namespace: "kube-system", Name: "extension-apiserver-authentication"},
}

// awaitRoles returns when the scheduler's roles are in effect. A new API server is ready once it has written its roles; it
// reads them a moment later.
func (c *Cluster) awaitRoles(ctx context.Context) error {
	for _, right := range stockRights {
		err := c.awaitRight(ctx, authorizationv1.SubjectAccessReviewSpec{User: schedulerUser, ResourceAttributes: &right})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitRight returns when a right is in effect, which takes a moment after a role is written.
func (c *Cluster) awaitRight(ctx context.Context, right authorizationv1.SubjectAccessReviewSpec) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for ; ; time.Sleep(5 * time.Millisecond) {
		answer, err := c.Admin.AuthorizationV1().SubjectAccessReviews().Create(ctx,
			&authorizationv1.SubjectAccessReview{Spec: right}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("the rights of %s: %w", right.User, err)
		}
		if answer.Status.Allowed {
			return nil
		}
	}
}

func (c *Cluster) startControllers() error {
	p, err := launch(c.Dir, c.path("kube-controller-manager.log"), c.part("kube-controller-manager"),
		"--kubeconfig", c.path("admin.conf"), "--leader-elect=false", "--secure-port", "0",
		"--service-account-private-key-file", "sa.key", "--root-ca-file", c.path("certs/apiserver.crt"),
		"--kube-api-qps", "500", "--kube-api-burst", "500")
	c.others = append(c.others, p)
	return err
}

// How fake pods end: kwok's default stage ignores the grace period.
//
//go:embed pod-delete.yaml
var podDelete []byte

func (c *Cluster) startKwok() error {
	argv := []string{c.part("kwok"), "--kubeconfig", c.path("admin.conf"), "--manage-all-nodes=true",
		"--node-lease-duration-seconds", "40"}
	stages, err := filepath.Glob(c.part("stages/*.yaml"))
	if err != nil || len(stages) == 0 {
		return fmt.Errorf("no stages of kwok in %s", c.part("stages"))
	}
	stages = append(stages, c.path("pod-delete.yaml"))
	if err := os.WriteFile(c.path("pod-delete.yaml"), podDelete, 0o644); err != nil {
		return err
	}
	for _, stage := range stages {
		argv = append(argv, "--config", stage)
	}
	p, err := launch(c.Dir, c.path("kwok.log"), argv...)
	c.others = append(c.others, p)
	return err
}

// StartScheduler starts argv with the flags for this cluster. addr is the API server's, or a relay's.
func (c *Cluster) StartScheduler(name, addr string, argv []string, flags ...string) (*Proc, error) {
	return c.StartSchedulerAs(Credentials{"token": schedulerToken}, name, addr, argv, flags...)
}

// StartSchedulerAs is for schedulers with other credentials than the usual token.
func (c *Cluster) StartSchedulerAs(user Credentials, name, addr string, argv []string, flags ...string) (*Proc, error) {
	conf := name + ".conf"
	if err := c.WriteKubeconfig(conf, addr, user); err != nil {
		return nil, err
	}
	all := append([]string{}, argv...)
	all = append(all, "--kubeconfig", c.path(conf), "--leader-elect=false", "--secure-port", "0")
	p, err := launch(c.Dir, c.path(name+".log"), append(all, flags...)...)
	if err == nil {
		p.Name = name
		c.others = append(c.others, p)
	}
	return p, err
}

// KillAPI ends the API server like a crash; RestartAPI starts it again with the same data and port.
func (c *Cluster) KillAPI() {
	c.away = append(c.away, span{from: time.Now()})
	c.apiProc.Kill()
}

func (c *Cluster) RestartAPI(ctx context.Context) error {
	err := c.startAPI(ctx)
	c.away[len(c.away)-1].to = time.Now()
	return err
}

// span is a time in which the API server restarts. It forbids everything until it has read its roles.
type span struct{ from, to time.Time }

// PauseAPI suspends the API server while its connections stay open.
func (c *Cluster) PauseAPI()  { c.apiProc.Pause() }
func (c *Cluster) ResumeAPI() { c.apiProc.Resume() }

// Stop ends all parts, clients first.
func (c *Cluster) Stop() {
	for _, p := range append(c.others, c.apiProc, c.etcdProc) {
		if p != nil {
			p.Kill()
		}
	}
	c.others = nil
}

// Remove deletes the folder of a stopped cluster.
func (c *Cluster) Remove() { os.RemoveAll(c.Dir) }

// DefaultRelease is what berth emulates without --emulated-version.
const DefaultRelease = "1.37"

// Release is that of Kubernetes whose parts run, and which berth emulates.
func Release() string {
	if release := os.Getenv("E2E_RELEASE"); release != "" {
		return release
	}
	return DefaultRelease
}

// Earlier is the release that many minor versions before Release.
func Earlier(by int) string {
	minor, err := strconv.Atoi(strings.TrimPrefix(Release(), "1."))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("1.%d", minor-by)
}

// UnderTest is the name of the scheduler that is tested and the command that starts it.
func UnderTest() (name string, argv []string, err error) {
	switch name = os.Getenv("E2E_SCHEDULER"); name {
	case "", "berth":
		argv, err = BerthCommand()
		return "berth", argv, err
	case "kube-scheduler":
		argv, err = ReferenceCommand()
		return name, argv, err
	default:
		argv = strings.Fields(name)
		return filepath.Base(argv[0]), argv, nil
	}
}

// BerthCommand starts berth's scheduler.
func BerthCommand() ([]string, error) {
	path, err := filepath.Abs(os.Getenv("BERTH"))
	if _, missing := os.Stat(path); err != nil || missing != nil || os.Getenv("BERTH") == "" {
		return nil, errors.New("BERTH does not name the berth binary")
	}
	argv := []string{path, "scheduler"}
	if Release() != DefaultRelease {
		argv = append(argv, "--emulated-version="+Release())
	}
	return argv, nil
}

// ReferenceCommand starts the real kube-scheduler.
func ReferenceCommand() ([]string, error) {
	dir, err := PartsDir()
	return []string{filepath.Join(dir, "kube-scheduler")}, err
}

// CreateAll calls create for each object, sixteen at a time, and returns the first failure.
func CreateAll[T any](ctx context.Context, objects []T, create func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, obj := range objects {
		group.Go(func() error { return create(ctx, obj) })
	}
	return group.Wait()
}

// Procs are the processes of the cluster, and of the schedulers that were started.
func (c *Cluster) Procs() []*Proc {
	return append([]*Proc{c.etcdProc, c.apiProc}, c.others...)
}
