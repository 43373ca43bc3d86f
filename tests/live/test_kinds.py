"""Objects of kinds that plugins name (docs/PLUGINS.md): a ConfigMap, and custom resources whose definition comes later."""
import subprocess

from case import Case, cli, main, node, server

ZONE = "topology.kubernetes.io/zone"
TABLE = "/api/v1/namespaces/kube-system/configmaps"
LATENCY = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "NetworkLatencyPlugin"}]}},
                         "pluginConfig": [{"name": "NetworkLatencyPlugin", "args": {"maxLatencyMs": 10}}]}]}
SLOW = "had a higher latency than maxLatencyMs to the pods that the pod talks to"
GROUP, KIND = "appgroup.diktyo.x-k8s.io", "AppGroup"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "appgroups." + GROUP, "annotations": {
        "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/432"}},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "appgroups", "singular": "appgroup", "kind": KIND,
                                                              "listKind": KIND + "List"},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


class Kinds(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler has no such plugins")
        for name in "ab":
            self.create(node("node-" + name, labels={ZONE: "z" + name}))

    def latencies(self, ms):
        """Creates or changes the table."""
        self.addCleanup(self.api.clear, TABLE + "/network-latency")
        table = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "network-latency", "namespace": "kube-system"},
                 "data": {"zones": "za zb %s\n" % ms}}
        try:
            self.api.ask("POST", TABLE, table)
        except server.Refused as refused:
            if refused.code != 409:
                raise
            self.api.ask("PUT", TABLE + "/network-latency", table)

    def placed(self, name, on, **more):
        """A pod that is on a node already."""
        self.pod(name, cpu="10m", nodeName=on, **more)

    def test_a_table_that_changes(self):
        folder = self.path("recording")
        self.latencies(30)
        self.placed("db", "node-a", labels={"app": "shop"})
        self.patch("Node", "node-a", {"spec": {"unschedulable": True}})
        scheduler = self.start("--record", folder, config=LATENCY)
        self.pod("web", cpu="10m", labels={"app": "shop"})
        self.rejected("web", SLOW)
        self.latencies(5)
        self.bound_to("web", "node-b")
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"decisions repeated exactly \(1 placed")

    def test_a_table_that_comes_later_and_goes(self):
        self.placed("db", "node-a", labels={"app": "shop"})
        self.start(config=LATENCY)
        self.seen("first")                      # nothing is known: all nodes pass
        self.patch("Node", "node-a", {"spec": {"unschedulable": True}})
        self.latencies(30)
        tried = []
        def is_rejected():
            """Whether a pod that is created now is."""
            name = "p%d" % len(tried)
            tried.append(name)
            self.pod(name, cpu="1m", labels={"app": "shop"})
            self.wait("%s was tried" % name, lambda: self.events(name, "Scheduled") + self.events(name, "FailedScheduling"))
            return self.events(name, "FailedScheduling")
        self.wait("the table is known", is_rejected)
        self.api.clear(TABLE + "/network-latency")
        self.bound_to(tried[-1], "node-b")

    def test_a_definition_that_comes_later(self):
        self.addCleanup(self.api.clear, DEFINITIONS + "/" + DEFINITION["metadata"]["name"])
        folder, config = self.path("recording"), {"profiles": [{
            "plugins": {"multiPoint": {"enabled": [{"name": "NetworkOverhead", "weight": 1000}]}},
            "pluginConfig": [{"name": "NetworkOverhead", "args": {"namespaces": [self.namespace]}}]}]}
        labels = lambda workload: {GROUP: "shop", GROUP + ".workload": workload}
        self.placed("db", "node-a", labels=labels("db"))
        scheduler = self.start("--record", folder, config=config)
        self.seen("first")                      # without the kinds
        self.wait("that is said", lambda: "does not have this kind of objects" in scheduler.log())
        self.assertEqual(scheduler.log().count(GROUP + "/v1alpha1/" + KIND), 1, scheduler.log())
        self.api.ask("POST", DEFINITIONS, DEFINITION)
        group = {"apiVersion": GROUP + "/v1alpha1", "kind": KIND, "metadata": {"name": "shop", "namespace": self.namespace},
                 "spec": {"workloads": [{"workload": {"selector": "web"}, "dependencies": [
                     {"workload": {"selector": "db"}, "maxNetworkCost": 1}]}]}}
        path = "/apis/%s/v1alpha1/namespaces/%s/appgroups" % (GROUP, self.namespace)
        def create():
            try:
                return self.api.ask("POST", path, group)
            except server.Refused as refused:
                if refused.code not in (404, 405):
                    raise
                return None
        self.wait("the definition is served", create)
        self.addCleanup(self.api.clear, path + "/shop")
        self.wait("the scheduler has listed it", lambda: scheduler.log().count('"Listed" resource="%s/v1alpha1/%s"' % (
            GROUP, KIND)))
        for i in range(10):                     # 0 on the node, 1 in the zone, 100 elsewhere
            self.pod("web-%d" % i, cpu="1m", labels=labels("web"))
        self.assertEqual(set(self.all_bound(["web-%d" % i for i in range(10)]).values()), {"node-a"})
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("decisions repeated exactly (11 placed)", shown.stdout)


if __name__ == "__main__":
    main()
