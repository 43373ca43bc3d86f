package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// base is a folder of deploy/, as `kubectl kustomize` builds it.
func base(e *env, folder string) (objects []*unstructured.Unstructured) {
	e.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../deploy/"+folder)
	e.must(err)
	for _, resource := range built.Resources() {
		text, err := resource.MarshalJSON()
		e.must(err)
		object := &unstructured.Unstructured{}
		e.must(object.UnmarshalJSON(text))
		objects = append(objects, object)
	}
	return objects
}

// apply applies objects on the server's side with strict validation, as a dry run and then in earnest; they are deleted when the
// test ends.
func (e *env) apply(objects []*unstructured.Unstructured) {
	e.Helper()
	groups, err := restmapper.GetAPIGroupResources(e.c.Admin.Discovery())
	e.must(err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client, err := dynamic.NewForConfig(e.c.Rest)
	e.must(err)
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}, kind.Version)
		e.must(err)
		var into dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if object.GetNamespace() != "" {
			into = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		text, err := json.Marshal(object)
		e.must(err)
		for _, dry := range [][]string{{metav1.DryRunAll}, nil} {
			force := true
			_, err := into.Patch(e.ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
				FieldManager: "e2e", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dry})
			if err != nil {
				e.Fatalf("%s %s: %v", kind.Kind, object.GetName(), err)
			}
		}
		e.Cleanup(func() { into.Delete(e.ctx, object.GetName(), metav1.DeleteOptions{}) })
	}
}

// objectOf is the object of a kind in a base.
func objectOf(e *env, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	e.Helper()
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if at < 0 {
		e.Fatalf("the base has no %s", kind)
	}
	return objects[at]
}

// defineMonitoring adds the kinds of the Prometheus operator, as its release defines them, without the descriptions. They are
// gone when the test has ended, so that another one can define them.
func (e *env) defineMonitoring() {
	e.Helper()
	text, err := os.ReadFile("monitoring-kinds.json")
	e.must(err)
	var kinds []*unstructured.Unstructured
	e.must(json.Unmarshal(text, &kinds))
	client, err := dynamic.NewForConfig(e.c.Rest)
	e.must(err)
	served := func(kind *unstructured.Unstructured) error {
		plural, _, _ := unstructured.NestedString(kind.Object, "spec", "names", "plural")
		_, err := client.Resource(schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: plural}).
			List(e.ctx, metav1.ListOptions{})
		return err
	}
	e.Cleanup(func() {
		for _, kind := range kinds {
			e.eventually(kind.GetName()+" are gone", func() error {
				if served(kind) == nil {
					return errors.New("they are served")
				}
				return nil
			})
		}
	})
	e.apply(kinds)
	for _, kind := range kinds {
		e.eventually(kind.GetName()+" are served", func() error { return served(kind) })
	}
}

// The API server accepts every base of deploy/ without a warning about a field.
func TestManifestsAreValid(t *testing.T) {
	bases, err := filepath.Glob("../../deploy/*/kustomization.yaml")
	below, errBelow := filepath.Glob("../../deploy/*/*/kustomization.yaml")
	if err != nil || errBelow != nil || len(bases) < 4 || len(below) < 3 {
		t.Fatalf("the bases of deploy/ are not where they should be: %v %v", bases, below)
	}
	for _, path := range append(bases, below...) {
		folder, err := filepath.Rel("../../deploy", filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(folder, func(t *testing.T) {
			e := shared(t)
			if strings.HasPrefix(folder, "monitoring") {
				e.defineMonitoring()
			}
			e.apply(base(e, folder))
		})
	}
}

// With the role of deploy/monitoring, Prometheus reads the metrics, and nothing else.
func TestMonitoringMayReadMetrics(t *testing.T) {
	e := shared(t)
	e.defineMonitoring()
	objects := base(e, "monitoring")
	e.apply(objects)
	account := objectOf(e, objects, "ServiceAccount")
	token, err := e.c.Admin.CoreV1().ServiceAccounts(account.GetNamespace()).CreateToken(e.ctx, account.GetName(),
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	e.must(err)
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.start("--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	e.eventually("the metrics can be read", func() error {
		if code, body := e.ask(ports[0], "GET", "/metrics", token.Status.Token, ""); code != 200 {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
	for path, want := range map[string]int{"/metrics/resources": 200, "/metrics/slis": 200, "/configz": 403, "/debug/berth/queue": 403} {
		if code, body := e.ask(ports[0], "GET", path, token.Status.Token, ""); code != want {
			t.Errorf("%s: %d, expected %d: %s", path, code, want, body)
		}
	}
}

// With the service account, the roles, the configuration and the command line of the second scheduler, berth takes its lease
// and schedules: alone, with the plugin of the image, and as a standby of kube-scheduler.
func TestSecondScheduler(t *testing.T) {
	for _, folder := range []string{"second-scheduler", "with-plugin", "take-over"} {
		t.Run(folder, func(t *testing.T) {
			e := shared(t)
			e.berthOnly("is not what deploy/ installs")
			objects := base(e, folder)
			e.apply(objects)
			account := objectOf(e, objects, "ServiceAccount")
			hour := int64(3600)
			token, err := e.c.Admin.CoreV1().ServiceAccounts(account.GetNamespace()).CreateToken(e.ctx, account.GetName(),
				&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
			e.must(err)
			name := e.file("second")
			e.must(e.c.WriteKubeconfig(name+".conf", e.c.Addr(), Credentials{"token": token.Status.Token}))

			// In a pod, the connection comes from the service account's files.
			config, _, err := unstructured.NestedString(objectOf(e, objects, "ConfigMap").Object, "data", "scheduler.yaml")
			e.must(err)
			config += "\nclientConnection: {kubeconfig: " + e.c.path(name+".conf") + "}\n"
			containers, _, err := unstructured.NestedSlice(objectOf(e, objects, "Deployment").Object, "spec", "template", "spec", "containers")
			e.must(err)
			command, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
			e.must(err)
			argv := slices.Clone(e.argv)
			for _, flag := range command[1:] {
				if strings.HasPrefix(flag, "--config=") {
					flag = "--config=" + e.write("second.yaml", config, 0o644)
				}
				if strings.HasPrefix(flag, "--plugin=") {
					flag = "--plugin=" + e.build("../../examples/plugins/gang.c", "gang")
				}
				argv = append(argv, flag)
			}
			p, err := launch(e.c.Dir, e.c.path(name+".log"), append(argv, "--bind-address=127.0.0.1", "--secure-port=0")...)
			e.must(err)
			p.Name = "second"
			e.procs = append(e.procs, p)

			e.create(NewNode("node-0"), NewPod("web", func(p *v1.Pod) { p.Spec.SchedulerName = "berth" }))
			e.boundTo("web", "node-0")
			lease, err := e.c.Admin.CoordinationV1().Leases("kube-system").Get(e.ctx, "berth", metav1.GetOptions{})
			e.must(err)
			if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
				t.Error("the lease has no holder")
			}
			if _, err := p.Terminate(30 * time.Second); err != nil {
				t.Error(err)
			}
			log, err := os.ReadFile(e.c.path(name + ".log"))
			e.must(err)
			if strings.Contains(strings.ToLower(string(log)), "forbidden") {
				t.Errorf("a right is missing:\n%s", log)
			}
			e.c.Admin.CoordinationV1().Leases("kube-system").Delete(e.ctx, "berth", metav1.DeleteOptions{})
		})
	}
}
