#!/usr/bin/env python3
"""Every panel of the dashboard shows something, and every alert can be evaluated: a real Prometheus reads a live scheduler
under load, and is asked what Grafana would ask."""
import json
import math
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
from case import Case, main, node, pod, server  # noqa: E402
from monitoring import ROOT, alerts, panels, rules  # noqa: E402
from prometheus import Fake, Prometheus, needs, vector, write  # noqa: E402

SCRAPE_S = 1
# What Grafana puts in the place of its variables.
VARIABLES = {"$job": "berth", "$instance": ".+", "$__rate_interval": "1m"}
PODS = 300
CONFIG = {"leaderElection": {"leaderElect": True, "resourceName": "berth"},
          "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mistakes"}]}}}]}
POLICY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "SchedulingPolicy", "metadata": {"name": "some"},
          "spec": {"resourceWeights": {"cpu": 1}}}
BY_USE = {"leaderElection": CONFIG["leaderElection"],
          "profiles": [{"plugins": {"score": {"enabled": [{"name": "LoadBalancingPlugin"}]}}}]}


def queries(wanted):
    """The queries of the dashboard with values for its variables, by row and panel, of the rows that are wanted."""
    found = {}
    for row, panel in panels():
        for target in panel["targets"] if wanted(row) else []:
            found["%s: %s (%s)" % (row, panel["title"], target["refId"])] = filled(target["expr"], VARIABLES)
    return found


def filled(query, variables):
    """With values for the variables."""
    for name, value in variables.items():
        query = query.replace(name, value)
    return query


class Reader(Prometheus):
    """A Prometheus that reads schedulers, as the ServiceMonitor says."""

    def __init__(self, case, *schedulers, scrape_s=SCRAPE_S):
        job = {"scheme": "https", "scrape_interval": "%ds" % scrape_s, "scrape_timeout": "%ds" % scrape_s,
               "authorization": {"credentials": case.api.access.token}, "tls_config": {"insecure_skip_verify": True}}
        # Kubernetes' service discovery sets the labels of the pod in which berth runs.
        labels = {"job": "berth", "namespace": "kube-system", "container": "berth"}
        jobs = []
        for path in ("/metrics", "/metrics/resources"):
            targets = [{"targets": ["127.0.0.1:%d" % scheduler.port],
                        "labels": {**labels, "pod": "berth-%d" % i, "metrics_path": path}}
                       for i, scheduler in enumerate(schedulers)]
            jobs.append({**job, "job_name": path, "metrics_path": path, "static_configs": targets})
        jobs[1].update({"honor_labels": True,
                        "metric_relabel_configs": [{"source_labels": ["node"], "regex": "^$", "action": "keep"}]})
        case.write("rules.yaml", rules())
        super().__init__(case, jobs, **{"global": {"evaluation_interval": "1s"}, "rule_files": [case.path("rules.yaml")]})

    def values(self, query):
        """The numbers that a query returns. A quantile of nothing is no number."""
        values = [float(row["value"][1]) for row in self.ask("query", query=query)["result"]]
        return [value for value in values if not math.isnan(value)]


class Dashboard(Case):
    def setUp(self):
        super().setUp()
        self.turn = 0
        self.nodes(10, cpu="4")
        self.addCleanup(self.api.clear, self.api.path("Lease", "kube-system", "berth"))

    def begin(self):
        """Starts a scheduler with a plugin that makes mistakes, and a Prometheus that reads it."""
        plugin = self.path("mistakes.so")
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O1", "-shared", "-fPIC",
                        "-I" + os.path.join(ROOT, "include"), "-o", plugin,
                        os.path.join(ROOT, "tests", "plugins", "mistakes.c")], check=True)
        self.create(node("small", cpu="1"), {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000,
                                             "metadata": {"name": "monitoring-high"}})
        policies = os.path.dirname(self.write("policies/some.yaml", json.dumps(POLICY)))
        self.prometheus = Reader(self, self.start("--plugin", plugin, "--policy-dir", policies, config=CONFIG))

    def load(self):
        """A bit of everything that a panel shows: bindings, a wait at Permit, an error of a plugin, a preemption."""
        self.turn += 1
        def name(what):
            return "%s-%d" % (what, self.turn)
        here = {"nodeSelector": {"kubernetes.io/hostname": "small"}, "cpu": "600m"}
        self.pod(name("plain"), cpu="1m")
        self.pod(name("permit"), cpu="1m", labels={"mistake": "permit-at-once"})
        self.pod(name("wrong"), cpu="1m", labels={"mistake": "filter-strange"})
        self.pod(name("victim"), **here)
        self.bound_to(name("victim"), "small")
        self.pod(name("preemptor"), priorityClassName="monitoring-high", **here)
        self.bound_to(name("preemptor"), "small")
        self.remove("Pod", name("preemptor"))

    def start_load(self):
        pods = [pod("pod-%d" % i, cpu="1m", terminationGracePeriodSeconds=0) for i in range(PODS)]
        self.create_all(pods)
        self.all_bound([one["metadata"]["name"] for one in pods])
        self.pod("large", cpu="100")
        self.rejected("large", "Insufficient cpu")

    def have_data(self, queries, load):
        """Waits until each of these queries has returned something, and calls load() again and again meanwhile."""
        def all_have_data():
            nonlocal queries
            load()
            queries = {title: query for title, query in queries.items() if not self.prometheus.values(query)}
            return not queries
        if not server.wait(all_have_data):
            self.fail("these panels have no data:\n" + "\n".join("%s: %s" % row for row in queries.items()))

    @needs("prometheus")
    def test_panels_have_data(self):
        self.begin()
        self.start_load()
        self.have_data(queries(lambda row: row != "Samples"), self.load)
        found = self.wait("every rule was evaluated", self.evaluated)
        self.assertEqual(sorted(found), sorted(alerts()))
        self.assertEqual({name: rule.get("lastError") for name, rule in found.items() if rule["health"] != "ok"}, {})
        for name in ("BerthDown", "BerthTargetDown", "BerthNoLeader"):
            self.assertEqual(found[name]["state"], "inactive", name)
        self.wait("Prometheus has seen the errors of the plugin",
                  lambda: self.evaluated()["BerthPluginErrors"]["state"] == "pending")

    def evaluated(self):
        """The rules by name, once Prometheus has evaluated all of them."""
        found = [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]
        return {rule["name"]: rule for rule in found} if all(rule["health"] != "unknown" for rule in found) else None

    @needs("prometheus")
    def test_panels_of_samples_have_data(self):
        """Of use that another Prometheus knows, which fails now and then."""
        def answer(handler, query):
            if len(source.asked) % 5 == 0:
                return write(handler, 500, {"status": "error", "errorType": "internal", "error": "now and then"})
            return vector([({"node": "node-%d" % i}, 1) for i in range(10)])

        source = Fake(self, answer)
        self.prometheus = Reader(self, self.start("--samples-interval=100ms", "--samples-prometheus", source.url, config=BY_USE))
        self.have_data(queries(lambda row: row == "Samples"), lambda: None)


if __name__ == "__main__":
    main()
