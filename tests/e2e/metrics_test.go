package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// The user agent of a scrape.
var scraper = &http.Client{
	Timeout:   10 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

func scrape(port int) (string, error) {
	request, err := http.NewRequest("GET", fmt.Sprintf("https://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := scraper.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("status %d: %.200s", response.StatusCode, body)
	}
	return string(body), err
}

func TestMetricsX(t *testing.T) {
	e := shared(t)
	ports, err := freePorts(1)
	e.must(err)
	conf := e.c.path(e.file("scheduler") + ".conf")
	e.create(objects(Nodes("node", 3)...)...)
	e.start("--secure-port", fmt.Sprint(ports[0]), "--authentication-kubeconfig", conf, "--authorization-kubeconfig", conf)
	e.create(NewPod("a", Requests("cpu", "1")))
	e.bound("a")
	e.create(NewPod("big", Requests("cpu", "100")))
	e.waits("big", "0/3 nodes are available: 3 Insufficient cpu. "+notHelpful(3))
	time.Sleep(3 * time.Second)
	text, err := scrape(ports[0])
	e.must(err)
	fmt.Println(text)
}
