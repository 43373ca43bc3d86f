package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Embedded is a running `berth cluster`.
type Embedded struct {
	*Proc
	Dir        string
	Kubeconfig string
	Rest       *rest.Config // of the one token that it has
}

// StartEmbedded starts `berth cluster` in dir and returns when it can be used. Flags are those of the command.
func StartEmbedded(ctx context.Context, dir string, flags ...string) (*Embedded, error) {
	argv, err := BerthCommand()
	if err != nil {
		return nil, err
	}
	e := &Embedded{Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	log := filepath.Join(dir, "cluster.log")
	before, _ := os.ReadFile(log)
	e.Proc, err = launch(dir, log, append([]string{argv[0], "cluster", "--kubeconfig", e.Kubeconfig}, flags...)...)
	if err != nil {
		return nil, err
	}
	for {
		now, _ := os.ReadFile(log)
		if strings.Contains(string(now[min(len(before), len(now)):]), "is ready") {
			break
		}
		select {
		case <-e.Done():
			return nil, fmt.Errorf("berth cluster ended:\n%s", e.Tail(5))
		case <-ctx.Done():
			e.Kill()
			return nil, fmt.Errorf("berth cluster is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if e.Rest, err = clientcmd.BuildConfigFromFlags("", e.Kubeconfig); err != nil {
		e.Kill()
		return nil, err
	}
	e.Rest.QPS = -1
	return e, nil
}
