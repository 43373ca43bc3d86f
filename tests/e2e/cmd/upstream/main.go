// upstream runs the scheduling tests of Kubernetes' own e2e suite against a cluster of fake kubelets with the chosen
// scheduler, and compares the results with the list of tests that pass with kube-scheduler.
//
// Status 0: every test of the list passed. With -write the list is rewritten.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"berth.example/e2e"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const focus = `\[sig-scheduling\] (SchedulerPredicates|SchedulerPreemption|SchedulerPriorities|Multi-AZ)`

func main() {
	list := flag.String("list", "", "file with the names of the tests that have to pass")
	write := flag.Bool("write", false, "write that file")
	only := flag.String("focus", focus, "which tests are run, a regular expression")
	keep := flag.Bool("keep", false, "keep the folder with data and logs")
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *list, *only, *write, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list, only string, write, keep bool) error {
	name, argv, err := e2e.UnderTest()
	if err != nil {
		return err
	}
	c, err := e2e.Start(ctx, e2e.Options{Controllers: true, Kwok: true})
	if err != nil {
		return err
	}
	defer func() {
		c.Stop()
		if keep {
			fmt.Println("data and logs are in", c.Dir)
		} else {
			c.Remove()
		}
	}()
	for i := range 4 {
		if _, err := c.Admin.CoreV1().Nodes().Create(ctx, node(i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	p, err := c.StartScheduler("scheduler", c.Addr(), argv, "--kube-api-qps", "500", "--kube-api-burst", "500")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-p.Done()
		cancel() // without a scheduler the suite would only reach its timeouts
	}()
	go offer(ctx, c)
	passed, failed, err := suite(ctx, c, only)
	if !p.Alive() {
		return fmt.Errorf("%s ended by itself (%s):\n%s", name, p.Exit(), p.Tail(10))
	}
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %d tests passed, %d failed\n", name, len(passed), len(failed))
	if write {
		head := "# The tests of Kubernetes' e2e suite that pass on a cluster of fake kubelets with " + name + ".\n"
		return os.WriteFile(list, []byte(head+strings.Join(passed, "\n")+"\n"), 0o644)
	}
	return compare(list, only, passed, failed)
}

// node is one of four, in two zones, with what the suite expects of a real one.
func node(i int) *v1.Node {
	name := fmt.Sprintf("node-%d", i)
	return e2e.NewNode(name, e2e.Allocatable("ephemeral-storage", "100Gi"), func(n *v1.Node) {
		n.Labels[v1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%2)
		n.Labels[v1.LabelTopologyRegion] = "region"
		n.Labels[v1.LabelOSStable] = "linux"
		n.Labels[v1.LabelArchStable] = "amd64"
		n.Status.Addresses = []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", i+1)}, {Type: v1.NodeHostName, Address: name}}
		n.Status.NodeInfo = v1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.36.4"}
	})
}

// offer does what a kubelet does and kwok does not: resources added to a node's capacity become allocatable, and removed
// ones no longer are.
func offer(ctx context.Context, c *e2e.Cluster) {
	nodes := c.Admin.CoreV1().Nodes()
	for ctx.Err() == nil {
		w, err := nodes.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for event := range w.ResultChan() {
			n, ok := event.Object.(*v1.Node)
			if !ok || maps.EqualFunc(n.Status.Capacity, n.Status.Allocatable, resource.Quantity.Equal) {
				continue
			}
			patch, _ := json.Marshal([]map[string]any{{"op": "replace", "path": "/status/allocatable", "value": n.Status.Capacity}})
			// A failure is due to a concurrent change, after which the node is handled again.
			nodes.Patch(ctx, n.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
		}
	}
}

// suite runs Kubernetes' test program and reads its report.
func suite(ctx context.Context, c *e2e.Cluster, only string) (passed, failed []string, err error) {
	parts, err := e2e.PartsDir()
	if err != nil {
		return nil, nil, err
	}
	report := filepath.Join(c.Dir, "report.json")
	// kwok deletes a pod by its name. Tests that delete a pod and at once create another with the same name then wait in vain,
	// whatever the scheduler; on a busy machine that is every second time. So a test has three attempts, which are counted.
	cmd := exec.CommandContext(ctx, filepath.Join(parts, "e2e.test"),
		"--kubeconfig", filepath.Join(c.Dir, "admin.conf"), "--provider", "skeleton",
		"--ginkgo.focus", only, "--ginkgo.json-report", report, "--ginkgo.no-color", "--ginkgo.succinct", "--ginkgo.timeout", "2h",
		"--ginkgo.flake-attempts", "3",
		"--num-nodes", "4", "--disable-log-dump", "--kubectl-path", filepath.Join(parts, "kubectl"))
	log, err := os.Create(filepath.Join(c.Dir, "suite.log"))
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, log, log
	fmt.Printf("running the suite; its log is %s\n", log.Name())
	ended := cmd.Run() // it fails if any test does; the results are in the report
	b, err := os.ReadFile(report)
	if err != nil {
		return nil, nil, fmt.Errorf("no report (%v): %w", ended, err)
	}
	return outcome(b)
}

// outcome reads a report of ginkgo.
func outcome(b []byte) (passed, failed []string, err error) {
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeType            string
			LeafNodeText            string
			State                   string
			NumAttempts             int
			RunTime                 int64
			Failure                 struct{ Message string }
		}
	}
	if err := json.Unmarshal(b, &reports); err != nil {
		return nil, nil, err
	}
	for _, r := range reports {
		for _, spec := range r.SpecReports {
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			switch {
			case spec.LeafNodeType != "It":
				if spec.State == "failed" {
					fmt.Printf("the suite's %s failed: %s\n", spec.LeafNodeType, spec.Failure.Message)
				}
			case spec.State == "passed":
				passed = append(passed, name)
				fmt.Printf("passed  %4d s  %s%s\n", spec.RunTime/1e9, name, attempts(spec.NumAttempts))
			case spec.State != "skipped" && spec.State != "pending":
				failed = append(failed, name)
				fmt.Printf("%s  %4d s  %s\n        %s\n", spec.State, spec.RunTime/1e9, name, first(spec.Failure.Message))
			case spec.Failure.Message != "":
				fmt.Printf("skipped         %s\n        %s\n", name, first(spec.Failure.Message))
			}
		}
	}
	slices.Sort(passed)
	return passed, failed, nil
}

// attempts says how many there were, if not one.
func attempts(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", n)
}

// first is the first line of a text.
func first(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Labels are in other places in each release: "X [Serial] does y" in 1.36 is "X does y [Serial]" in 1.37.
var labels = regexp.MustCompile(` ?\[[^\]]*\]`)

// unlabelled are the names of tests without their labels.
func unlabelled(names []string) (all []string) {
	for _, name := range names {
		all = append(all, strings.TrimSpace(labels.ReplaceAllString(name, "")))
	}
	return all
}

// compare fails if a test of the list did not pass.
func compare(list, only string, passed, failed []string) error {
	b, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var missing []string
	passed, failed = unlabelled(passed), unlabelled(failed)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		name := unlabelled([]string{line})[0]
		wanted := name != "" && !strings.HasPrefix(line, "#") && (only == focus || slices.Contains(failed, name))
		if wanted && !slices.Contains(passed, name) {
			missing = append(missing, line)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("these pass with kube-scheduler and did not pass now:\n  %s", strings.Join(missing, "\n  "))
	}
	fmt.Println("every test that passes with kube-scheduler passed")
	return nil
}
