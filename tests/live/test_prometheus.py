"""Samples from Prometheus (docs/STRATEGIES.md, "Samples"): a server whose answers the tests make, and the real one."""
import json
import os
import re
import signal
import subprocess
import textwrap
import threading
import time

from case import Case, cli, live, main, node, server
from ports import free_port
from prometheus import Exporter, Fake, Prometheus, matrix, needs, vector, write

GI = 1 << 30
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTERVAL = "--samples-interval=100ms"
BY_USE = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "LoadBalancingPlugin", "weight": 100}]}}}]}


def trimaran(plugin="TargetLoadPacking", **provider):
    return {"profiles": [{
        "plugins": {"score": {"enabled": [{"name": plugin, "weight": 100}]}},
        "pluginConfig": [{"name": plugin, "args": {"metricProvider": {"type": "Prometheus", **provider}}}]}]}


class Samples(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler has no samples")
        self.use = {}  # cores by name of the node

    def named_nodes(self):
        """One is known by its name, one by the name in an address, one by an address."""
        self.labels = [{"node": "node-0"}, {"instance": "node-1:9100"}, {"node": "elsewhere", "instance": "10.9.8.7:9100"}]
        for i in range(3):
            one = node("node-%d" % i, cpu="8", memory="16Gi")
            one["status"]["addresses"] = [{"type": "InternalIP", "address": "10.9.8.%d" % (5 + i)}]
            self.create(one)

    def answer(self, _, query):
        """Cores as in self.use, and little memory. Nothing is known of the past."""
        if "[15m:" in query:
            return matrix([])
        if "node_cpu" in query:
            return vector([(self.labels[i], self.use["node-%d" % i]) for i in range(3)])
        if "node_memory" in query:
            return vector([(labels, GI) for labels in self.labels])
        return vector([])

    def rounds(self, fake):
        return sum("node_cpu" in query and "[15m:" not in query for _, query in fake.asked)

    def another_round(self, fake):
        """Waits until samples came that were asked for after this moment."""
        begun = self.rounds(fake)
        self.wait("samples are asked for again", lambda: self.rounds(fake) >= begun + 2)

    def source(self, scheduler, name="berth_samples_oldest_seconds", source="nodes.prometheus"):
        """Values of the series; none before they are served."""
        try:
            found = scheduler.metrics(self.api.access.token)
        except OSError:
            return {}
        return {series: value for series, value in found.items() if series.startswith(name + "{") and source in series}

    def refused(self, *flags, config=None, words=()):
        scheduler = self.start(*flags, config=BY_USE if config is None else config)
        scheduler.is_expected_to_end = True
        self.assertEqual(scheduler.process.wait(server.PATIENCE), 2, scheduler.log())
        for word in words:
            self.assertIn(word, scheduler.log())


class Placing(Samples):
    def setUp(self):
        super().setUp()
        self.named_nodes()

    def test_pods_follow_the_use(self):
        fake = Fake(self, self.answer)
        self.use = {"node-0": 7, "node-1": 6, "node-2": 0.5}
        recording = self.path("recording")
        scheduler = self.start(INTERVAL, "--samples-prometheus", fake.url + "/", "--record", recording, config=BY_USE)
        self.wait("samples came", lambda: self.source(scheduler))
        self.pod("first", cpu="10m")
        self.bound_to("first", "node-2")
        self.use = {"node-0": 0.25, "node-1": 6, "node-2": 7.5}
        self.another_round(fake)
        self.pod("second", cpu="10m")
        self.bound_to("second", "node-0")
        self.assertEqual({path for path, _ in fake.asked}, {"/api/v1/query"})
        self.assertLess(max(self.source(scheduler).values()), 60)
        self.assertEqual(self.source(scheduler, "berth_sampler_errors_total"), {})
        self.assertFalse(self.source(scheduler, source="metrics.k8s.io"))
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", recording], capture_output=True, text=True)
        self.assertIn("decisions repeated exactly (2 placed)", shown.stdout, shown.stderr)

    def test_the_arguments_of_a_plugin_name_it_and_a_reload_another(self):
        first, second = Fake(self, self.answer), Fake(self, self.answer)
        self.use = {"node-0": 7.8, "node-1": 3, "node-2": 7.9}  # up to 40 % more is better
        scheduler = self.start(INTERVAL, name="scheduler", config=trimaran(address=first.url))
        self.wait("samples came", lambda: self.source(scheduler))
        self.pod("first", cpu="10m")
        self.bound_to("first", "node-1")
        self.use = {"node-0": 3, "node-1": 7.8, "node-2": 7.9}
        self.configure("scheduler", trimaran(address=second.url))
        scheduler.signal(signal.SIGHUP)
        self.another_round(second)
        asked = len(first.asked)
        self.another_round(second)
        self.assertEqual(len(first.asked), asked)
        self.pod("second", cpu="10m")
        self.bound_to("second", "node-0")

    def test_nothing_is_asked_if_no_plugin_wants_it(self):
        fake = Fake(self, self.answer)
        self.start(INTERVAL, "--samples-prometheus", fake.url, config={})
        self.seen()
        self.assertEqual(fake.asked, [])

    def test_the_past_counts(self):
        """Two nodes use the same now; what one of them used varies."""
        now = time.time()
        steady = [(now - 30 * i, 2) for i in range(29, 0, -1)]
        varying = [(now - 30 * i, 4 * (i % 2)) for i in range(29, 0, -1)]

        def answer(handler, query):
            if "[15m:" in query and "node_cpu" in query:
                return matrix([({"node": "node-0"}, varying), ({"node": "node-1"}, steady), ({"node": "node-2"}, varying)])
            return self.answer(handler, query)

        fake = Fake(self, answer)
        self.use = {"node-0": 2, "node-1": 2, "node-2": 2}
        scheduler = self.start(INTERVAL, "--samples-prometheus", fake.url, config={"profiles": [{
            "plugins": {"score": {"enabled": [{"name": "LoadVariationRiskBalancing", "weight": 100}]}}}]})
        self.wait("samples came", lambda: self.source(scheduler))
        for i in range(3):
            self.pod("p%d" % i, cpu="10m")
            self.bound_to("p%d" % i, "node-1")
        self.assertEqual(sum("[15m:" in query for _, query in fake.asked), 2)  # once each for CPU and memory

    def test_queries_of_a_file(self):
        def check(handler, query):
            if query != "my_cores":
                write(handler, 400, {"status": "error", "errorType": "bad_data", "error": "unexpected"})
                return None
            cores = {"node-0": 7, "node-1": 0.5, "node-2": 7}
            return vector([({"machine": name}, value) for name, value in cores.items()])

        fake = Fake(self, check)
        queries = self.write("queries.yaml", json.dumps({
            "nodes": {"cpu": "my_cores", "memory": "", "labels": ["machine"], "history": False, "window": "1m"},
            "pods": {"cpu": "", "memory": ""}}))
        scheduler = self.start(INTERVAL, "--samples-prometheus", fake.url, "--samples-prometheus-queries", queries,
                               config=BY_USE)
        self.wait("samples came", lambda: self.source(scheduler))
        self.pod("p", cpu="10m")
        self.bound_to("p", "node-1")
        self.assertEqual({query for _, query in fake.asked}, {"my_cores"})


class Documented(Samples):
    def asked(self, *flags):
        """The queries of the first rounds, of nodes and pods."""
        def answer(_, query):
            return matrix([]) if "[15m:" in query else vector([({"node": "node-0"}, 1)])
        fake = Fake(self, answer)
        scheduler = self.start(INTERVAL, "--samples-prometheus", fake.url, *flags, config={"profiles": [{
            "plugins": {"multiPoint": {"enabled": [{"name": "LoadAwareScheduling"}]}}}]})
        self.wait("all are asked", lambda: len(set(fake.asked)) == 6)  # two of them for the past
        self.assertEqual(scheduler.end(), 0)
        return {query for _, query in fake.asked}

    def test_the_documented_queries_are_the_defaults(self):
        self.create(node("node-0"))
        with open(os.path.join(ROOT, "docs", "STRATEGIES.md"), encoding="utf-8") as file:
            block = re.search(r"these are the defaults:\n\n((?:    .*\n)+)", file.read()).group(1)
        path = self.write("queries.yaml", textwrap.dedent(block))
        self.assertEqual(self.asked("--samples-prometheus-queries", path), self.asked())


class Queries(Samples):
    """A query by name is an object that plugins read."""

    def test_latencies_of_a_query(self):
        """Which is asked at the interval of the plugin, and not at that of samples."""
        zone, seconds, folder = "topology.kubernetes.io/zone", {"zb": 0.004, "zc": 0.0075}, self.path("recording")

        def answer(_, query):
            return vector([({"source_zone": "za", "zone": name}, value) for name, value in seconds.items()]
                          if query == "rtt" else [])
        fake = Fake(self, answer)
        for name in "abc":
            self.create(node("node-" + name, labels={zone: "z" + name}))
        self.pod("db", cpu="10m", labels={"app": "db"}, nodeName="node-a")
        self.patch("Node", "node-a", {"spec": {"unschedulable": True}})
        queries = self.write("queries.yaml", "queries: [{name: zone-latency, query: rtt}]")
        scheduler = self.start(
            "--samples-interval=1h", "--samples-prometheus", fake.url, "--samples-prometheus-queries", queries,
            "--record", folder, config={"profiles": [{
                "plugins": {"multiPoint": {"enabled": [{"name": "NetworkLatencyPlugin", "weight": 100}]}},
                "pluginConfig": [{"name": "NetworkLatencyPlugin", "args": {
                    "maxLatencyMs": 10, "measurementInterval": "1s", "configMap": {"name": ""},
                    "prometheus": {"query": "zone-latency", "fromLabel": "source_zone", "toLabel": "zone", "scale": 1000}}}]}]})

        def near(name):
            """The node of a new pod that talks to the database."""
            begun = len(fake.asked)
            self.wait("the query was asked twice more", lambda: len(fake.asked) > begun + 2)
            self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": name, "annotations": {"scheduling.berth.dev/latency-peers": "app=db"}}, "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}]}})
            return self.bound(name)
        self.assertEqual(near("first"), "node-b")
        seconds.update({"zb": 0.009, "zc": 0.001})
        self.assertEqual(near("second"), "node-c")
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("decisions repeated exactly", shown.stdout)


class Large(Samples):
    """A run of 2,000 pods by real use that changes all the time, and its recording."""
    NODES, PODS = 100, 2000

    def test_a_recording_replays_to_the_byte(self):
        rounds = 0

        def answer(_, query):
            nonlocal rounds
            if "[15m:" in query:
                return matrix([])
            rounds += "node_cpu" in query
            if "container_" in query and "pod" in query:
                return vector([({"namespace": self.namespace, "pod": "p%d" % i}, 0.1) for i in range(0, self.PODS, 7)])
            low, high = (0.5, 7.5) if "node_cpu" in query else (GI, 15 * GI)
            return vector([({"node": "node-%d" % i}, low + (high - low) * ((i * 37 + rounds * 11) % 97) / 97)
                           for i in range(self.NODES)])

        fake = Fake(self, answer)
        self.create_all([node("node-%d" % i, cpu="8", memory="16Gi") for i in range(self.NODES)])
        folder = self.path("recording")
        scheduler = self.start(INTERVAL, "--samples-prometheus", fake.url, "--record", folder, config={"profiles": [{
            "plugins": {"multiPoint": {"enabled": [{"name": "LoadAwareScheduling", "weight": 20}]}}}]})
        self.wait("samples came", lambda: self.source(scheduler))
        pods = [cli.pod("p%d" % i, cpu="10m", terminationGracePeriodSeconds=0) for i in range(self.PODS)]
        begun = rounds
        self.create_all(pods)
        places = self.all_bound([one["metadata"]["name"] for one in pods])
        self.assertGreater(len(set(places.values())), self.NODES // 10)
        self.assertGreater(rounds, begun + 5)  # the samples have changed meanwhile
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", "--decisions", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("2,000 decisions repeated exactly (2,000 placed)", shown.stdout)
        words = [line.split() for line in shown.stdout.splitlines()]
        found = {name: next((line for line in words if "%s/%s" % (self.namespace, name) in line), []) for name in places}
        self.assertEqual([name for name, place in places.items() if place not in found[name]], [])


class Wrong(Samples):
    """What does not come, or cannot be right: pods are scheduled all the same, and the log says so once."""

    def setUp(self):
        super().setUp()
        self.named_nodes()
        self.use = {"node-0": 7, "node-1": 7, "node-2": 0.5}
        self.trouble = None
        self.fake = Fake(self, self.odd)

    def odd(self, handler, query):
        return self.trouble(handler) if self.trouble else self.answer(handler, query)

    def test_odd_answers(self):
        def give(status, body, kind="application/json", **headers):
            return lambda handler: write(handler, status, body, kind, **headers)

        def cut(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"status": "succ')
            handler.close_connection = True

        def whole(data):
            return {"status": "success", "data": data}

        troubles = {
            "expected the JSON of a Prometheus": give(200, b"<html>Sign in</html>", "text/html"),
            "redirect": give(302, b"", Location="https://login.example/"),
            "status 503": give(503, b"<html>no backend</html>", "text/html"),
            "the token is not accepted": give(401, b"no", "text/plain"),
            "bad_data: parse error": give(400, {"status": "error", "errorType": "bad_data", "error": "parse error"}),
            "got a scalar": give(200, whole({"resultType": "scalar", "result": [1, "1"]})),
            "the query gives nothing": give(200, vector([])),
            "such as 10.0.0.99:9100": give(200, vector([({"instance": "10.0.0.99:9100"}, 1)])),
            "transfer closed": cut,
            "the answer is empty": give(200, b""),
        }
        scheduler = self.start(INTERVAL, "--samples-prometheus", self.fake.url, config=BY_USE)
        self.wait("samples came", lambda: self.source(scheduler))
        again = 0
        for sentence, trouble in troubles.items():
            self.trouble, before = trouble, scheduler.log().count("Samples cannot be fetched")
            self.wait(sentence, lambda: sentence in scheduler.log()[scheduler.log().rfind("Samples cannot be fetched"):])
            counted = sum(self.source(scheduler, "berth_sampler_errors_total").values())
            self.wait("it is counted", lambda: sum(self.source(scheduler, "berth_sampler_errors_total").values()) > counted)
            self.assertLessEqual(scheduler.log().count("Samples cannot be fetched") - before, 2, sentence)  # nodes, pods
            self.trouble = None
            self.another_round(self.fake)
            again += 1
            self.wait("it is over", lambda: scheduler.log().count("Samples can be fetched again") >= again)
        self.pod("p", cpu="10m")
        self.bound_to("p", "node-2")

    def test_odd_values(self):
        """Whatever a value is, the other nodes count."""
        for number, value in enumerate(("NaN", "-1", "words", "", "+Inf", "1e300", "0x", "9" * 100)):
            self.use = {"node-0": value, "node-1": value, "node-2": 4}
            scheduler = self.start(INTERVAL, "--samples-prometheus", self.fake.url, config={"profiles": [{"plugins": {
                "score": {"enabled": [{"name": "TargetLoadPacking", "weight": 100}]}}}]})
            self.wait("samples came", lambda: self.source(scheduler))
            self.pod("p%d" % number, cpu="10m")
            self.bound_to("p%d" % number, "node-2")
            unusable = self.metric(scheduler, "berth_strategy_samples_unusable_total", plugin="TargetLoadPacking")
            self.assertGreater(unusable, 0, value)
            self.assertEqual(scheduler.log().count("so its real use does not count"), 1, value)
            self.assertEqual(scheduler.end(), 0)

    def test_a_server_that_hangs(self):
        """Pods do not wait for it; a request is given up after 20 seconds."""
        ended = threading.Event()
        self.addCleanup(ended.set)
        self.trouble = lambda handler: ended.wait()
        scheduler = self.start(INTERVAL, "--samples-prometheus", self.fake.url, config=BY_USE)
        self.wait("it is asked", lambda: self.fake.asked)
        self.seen()
        self.wait("it is given up", lambda: "Samples cannot be fetched" in scheduler.log())
        self.assertRegex(scheduler.log(), r"Samples cannot be fetched.*query nodes\.\w+: no answer within 20000 ms")

    def test_no_server(self):
        scheduler = self.start(INTERVAL, "--samples-prometheus", "http://127.0.0.1:%d" % free_port(), config=BY_USE)
        self.wait("it is counted", lambda: self.source(scheduler, "berth_sampler_errors_total"))
        self.seen()

    def test_bad_settings(self):
        self.refused("--samples-prometheus", "prometheus:9090", words=["--samples-prometheus", "expected a URL"])
        self.refused("--samples-prometheus", "http://u:p@prometheus:9090", words=["without a user"])
        self.refused("--samples-prometheus", "http://p", "--samples-prometheus-queries", self.write("q.yaml", "nodes:\n  cpux: up\n"),
                     words=["q.yaml:2:", "nodes.cpux"])
        self.refused("--samples-prometheus", "http://p", "--samples-prometheus-queries",
                     self.write("q.yaml", "nodes: {statistics: [{name: P98, cpu: up}]}"), words=["q.yaml:1:", "P98", "expected Average"])
        self.refused("--samples-prometheus", "https://p", "--samples-prometheus-token-file", self.path("none"),
                     words=["--samples-prometheus", "none"])
        two = trimaran(address="http://a")
        two["profiles"][0]["plugins"]["score"]["enabled"].append({"name": "LoadVariationRiskBalancing"})
        two["profiles"][0]["pluginConfig"] += trimaran("LoadVariationRiskBalancing", address="http://b")["profiles"][0]["pluginConfig"]
        self.refused(config=two, words=["metricProvider of TargetLoadPacking and of LoadVariationRiskBalancing differ"])


class Tokens(Samples):
    def setUp(self):
        super().setUp()
        self.named_nodes()
        self.use = {"node-0": 7, "node-1": 7, "node-2": 0.5}
        self.token = self.write("token", "secret-of-the-file\n")

    def sent(self, fake, *flags, config=BY_USE):
        scheduler = self.start(INTERVAL, "--v=6", *flags, config=config)
        self.wait("samples came", lambda: self.source(scheduler))
        self.assertNotIn("secret-of", scheduler.log())
        return scheduler, set(fake.tokens)

    def test_http(self):
        fake = Fake(self, self.answer)
        scheduler, tokens = self.sent(fake, "--samples-prometheus", fake.url, "--samples-prometheus-token-file", self.token)
        self.assertEqual(tokens, {None})
        self.assertIn("is not sent to an http:// address", scheduler.log())
        self.assertEqual(scheduler.end(), 0)
        fake.tokens.clear()
        _, tokens = self.sent(fake, "--samples-prometheus", fake.url, "--samples-prometheus-token-file", self.token,
                              "--samples-prometheus-insecure-skip-verify")
        self.assertEqual(tokens, {"Bearer secret-of-the-file"})

    def test_https(self):
        certificate, key = live.make_pair(self.path(""), "prometheus")
        fake = Fake(self, self.answer, (certificate, key))
        scheduler = self.start(INTERVAL, config=trimaran(address=fake.url, token="secret-of-the-block"))
        self.wait("it is counted", lambda: self.source(scheduler, "berth_sampler_errors_total"))
        self.assertEqual(fake.asked, [])  # the certificate is not trusted
        self.assertEqual(scheduler.end(), 0)
        scheduler, tokens = self.sent(fake, "--samples-prometheus-ca-file", certificate, "--record", self.path("recording"),
                                      config=trimaran(address=fake.url, token="secret-of-the-block"))
        self.assertEqual(tokens, {"Bearer secret-of-the-block"})
        page = self.configuration(scheduler)
        self.assertIn("metricProvider", page)
        self.assertNotIn("secret-of", page)
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run(["grep", "-rlc", "secret-of", self.path("recording")], capture_output=True, text=True)
        self.assertEqual(shown.stdout, "")
        fake.tokens.clear()
        _, tokens = self.sent(fake, config=trimaran(address=fake.url, token="secret-of-the-block", insecureSkipVerify=True))
        self.assertEqual(tokens, {"Bearer secret-of-the-block"})

    def configuration(self, scheduler):
        shown = subprocess.run(["curl", "-sk", "-H", "Authorization: Bearer " + self.api.access.token,
                                "https://127.0.0.1:%d/configz" % scheduler.port], capture_output=True, text=True)
        return shown.stdout


class Real(Samples):
    """Debian's Prometheus scrapes something like node_exporter, and is asked the default queries."""

    def setUp(self):
        super().setUp()
        self.labels = [{"node": "node-%d" % i} for i in range(3)]
        for labels in self.labels:
            self.create(node(labels["node"], cpu="8", memory="16Gi"))

    @staticmethod
    def lines(name, seconds):
        """Of a node that used so many seconds of CPU time; with the time behind it, if there is one."""
        return ['node_cpu_seconds_total{cpu="0",mode="user",node="%s"} %f' % (name, seconds),
                'node_cpu_seconds_total{cpu="0",mode="idle",node="%s"} %f' % (name, 1e6 + seconds),
                'node_memory_MemTotal_bytes{node="%s"} %d' % (name, 16 * GI),
                'node_memory_MemAvailable_bytes{node="%s"} %d' % (name, 15 * GI)]

    def between(self, prometheus):
        """Counts the rounds, and lets the real one answer."""
        def forward(handler, query):
            return {"status": "success", "data": prometheus.ask("query", query=query)}
        return Fake(self, forward)

    @needs("prometheus")
    def test_default_queries(self):
        begun, use = time.monotonic(), {"node-0": 6, "node-1": 0.5, "node-2": 7}

        def page():
            seconds = time.monotonic() - begun
            return "".join(line + "\n" for name, cores in use.items() for line in self.lines(name, cores * seconds))

        exporter = Exporter(self, page)
        prometheus = Prometheus(self, [{"job_name": "node", "scrape_interval": "200ms", "scrape_timeout": "200ms",
                                        "static_configs": [{"targets": [exporter.address]}]}])
        fake = self.between(prometheus)
        scheduler = self.start(INTERVAL, "--samples-prometheus", fake.url, config=BY_USE)
        self.wait("Prometheus has seen some of the use", lambda: prometheus.ask(
            "query", query='min(rate(node_cpu_seconds_total{mode="user",node!="node-1"}[2m])) > 0.4')["result"])
        self.another_round(fake)
        self.pod("p", cpu="10m")
        self.bound_to("p", "node-1")
        self.assertNotIn("does not tell the samples of the last quarter", scheduler.log())

    @needs("promtool")
    def test_the_past(self):
        """What Prometheus knew before the scheduler started: the same use on average, steady on one node."""
        end, types = int(time.time()), {"node_cpu_seconds": "counter", "node_memory_MemTotal_bytes": "gauge",
                                        "node_memory_MemAvailable_bytes": "gauge"}
        rows = []
        for i in range(3):
            seconds = 0
            for at in range(end - 1500, end + 1, 15):
                rows += ["%s %d" % (line, at) for line in self.lines("node-%d" % i, seconds)]
                seconds += 30 if i == 1 or at >= end - 150 else 60 * (at // 150 % 2)
        text = "".join("# TYPE %s %s\n%s" % (name, kind, "".join(row + "\n" for row in rows if row.startswith(name)))
                       for name, kind in types.items())
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", self.write("past.txt", text + "# EOF\n"),
                        self.path("data")], check=True, capture_output=True)
        prometheus = Prometheus(self, [])
        found = prometheus.ask("query", query="rate(node_cpu_seconds_total{mode=\"user\"}[2m])")["result"]
        self.assertEqual(sorted(round(float(row["value"][1])) for row in found), [2, 2, 2])
        scheduler = self.start(INTERVAL, "--samples-prometheus", prometheus.url, config={"profiles": [{
            "plugins": {"score": {"enabled": [{"name": "LoadVariationRiskBalancing", "weight": 100}]}}}]})
        self.wait("samples came", lambda: self.source(scheduler))
        for i in range(3):
            self.pod("p%d" % i, cpu="10m")
            self.bound_to("p%d" % i, "node-1")


if __name__ == "__main__":
    main()
