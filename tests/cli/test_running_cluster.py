"""explain and simulate on a running cluster: what plugins and policies read there is listed, too (docs/STRATEGIES.md)."""
import json
import os
import re

import cli
import fake_api
import live
import running_cluster

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
POLICIES = ("--policy-configmap", "kube-system/scheduling-policies")


def definition(plural, kind, group):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": plural + "." + group, "annotations": {"api-approved.kubernetes.io": "https://example.com"}},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


DEFINITIONS = [definition("appgroups", "AppGroup", "appgroup.diktyo.x-k8s.io"),
               definition("networktopologies", "NetworkTopology", "networktopology.diktyo.x-k8s.io")]


def config_of(*plugins):
    return json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [
        {"plugins": {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}}}]})


def example(*names):
    with open(os.path.join(EXAMPLES, *names), encoding="utf-8") as file:
        return file.read()


class Running(cli.Case):
    """The examples, in a cluster: it gives the answers of the files."""

    @classmethod
    def setUpClass(cls):
        cls.holder = cli.Case("run")
        cls.holder.setUp()
        cls.addClassCleanup(cls.holder.doCleanups)
        cls.holder.write("dump/0.json", DEFINITIONS)
        for name in ("strategies/cluster.yaml", "strategies/network.yaml", "policies/cluster.yaml", "policies/configmap.yaml"):
            text = example(name)
            if name == "policies/cluster.yaml":  # nodes of the other example have these names
                text = re.sub("(gpu|spot)-1", r"\1-2", text)
            cls.holder.write("dump/1-" + name.replace("/", "-"), text)
        cls.files = cls.holder.path("dump")
        cls.cluster = running_cluster.Cluster(cls.holder, "--no-controllers", "--no-scheduler", "--replay-dump", cls.files)

    def explained(self, source, pod, *args):
        """What an explanation says, without what took how long, and what the ages of pods decide."""
        result = self.berth("explain", *source, *args, "-o", "json", pod)
        self.assertEqual(result.code, 0, result.err)
        found = result.json
        del found["cost"]
        del found["podsBefore"]
        return found

    def same_as_files(self, pod, *args):
        found = self.explained(("--kubeconfig", self.cluster.kubeconfig), pod, *args)
        self.assertEqual(found, self.explained(("-f", self.files), pod, *args))
        return found

    def strategy(self, name):
        return ("--config", os.path.join(EXAMPLES, "strategies", name + ".yaml"))

    def test_a_config_map_that_a_plugin_reads(self):
        found = self.same_as_files("shop/checkout", *self.strategy("NetworkLatencyPlugin"))
        nodes = cli.by_node(found)
        scores = [nodes[node]["scores"]["NetworkLatencyPlugin"] for node in ("spot-1", "gpu-1", "edge-1")]
        self.assertEqual(scores, [475, 300, 0])

    def test_custom_kinds_that_a_plugin_reads(self):
        found = self.same_as_files("shop/checkout", *self.strategy("NetworkOverhead"))
        rejected = {name for name, row in cli.by_node(found).items() if row.get("plugin") == "NetworkOverhead"}
        self.assertEqual(rejected, {"core-a", "gpu-1"})

    def test_policies(self):
        found = self.same_as_files("reports/nightly", *POLICIES)
        self.assertEqual((found["policy"]["name"], found["priority"]), ("batch-policy", -10))

    def test_the_classes_of_policies_in_a_folder(self):
        """The policies are here, and the PriorityClass that one of them names is there."""
        text = example("policies", "configmap.yaml").split("  batch-policy.yaml: |\n")[1]
        self.write("policies/batch.yaml", "\n".join(line[4:] for line in text.splitlines()))
        found = self.same_as_files("reports/nightly", "--policy-dir", self.path("policies"))
        self.assertEqual(found["priority"], -10)

    def test_the_namespace_of_the_context(self):
        with open(self.cluster.kubeconfig, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("context:\n"), 1)
        config = self.write("context.yaml", text.replace("context:\n", "context:\n    namespace: shop\n"))
        result = self.berth("explain", "--kubeconfig", config, "checkout")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertTrue(result.out.startswith("shop/checkout "), result.out)
        self.refuse(self.berth("explain", "--kubeconfig", config, "nothing"), "there is no pod shop/nothing in the cluster")
        self.assertIn("pod/nightly is in namespace reports", self.berth("explain", "--kubeconfig", config, "nightly").err)

    def test_simulate_lists_the_same(self):
        """Nodes of the zone of the pod that it depends on; without the AppGroup the largest node is the best."""
        result = self.berth("simulate", "--kubeconfig", self.cluster.kubeconfig, *self.strategy("NetworkOverhead"), "-o",
                            "json", "--no-timing")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn(self.placed(result.json)["shop/checkout"], ("core-b", "spot-1"))


class Samples(cli.Case):
    def test_what_is_used_there(self):
        """Two pods without requests that use much: only metrics.k8s.io knows."""
        cluster = running_cluster.Cluster(self, "--nodes", "2", "--no-scheduler")
        for name in ("a", "b"):
            cluster.create("/api/v1/namespaces/default/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {
                    "cluster.berth.dev/cpu-usage": "7"}},
                "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}]}})
            cluster.until_running(name)
        cluster.create("/api/v1/namespaces/default/pods", cli.pod("new"))
        cluster.until(lambda: any(item["metadata"]["name"] == "node-0" and item["usage"]["cpu"] != "0"
                                  for item in cluster.get("/apis/metrics.k8s.io/v1beta1/nodes")["items"]), "samples")
        config = self.write("config.yaml", config_of("LoadAwareScheduling"))
        result = self.berth("explain", "--kubeconfig", cluster.kubeconfig, "--config", config, "-o", "json", "new")
        self.assertEqual(result.code, 0, result.err)
        rejected = {name: row["plugin"] for name, row in cli.by_node(result.json).items() if not row["feasible"]}
        self.assertEqual(rejected, {"node-0": "LoadAwareScheduling"})


class Rights(live.Live):
    """An API server that lacks kinds, or refuses them."""

    def make_api(self):
        api = fake_api.Server()
        self.addCleanup(api.stop)
        api.set("nodes", fake_api.node("a"))
        api.set("pods", fake_api.pod("p"))
        return api

    def explain_with(self, *args, plugins=()):
        if plugins:
            args += ("--config", self.write("plugins.yaml", config_of(*plugins)))
        return self.berth("explain", "--kubeconfig", self.kubeconfig, *args, "p")

    def test_a_missing_right(self):
        self.api.refused["configmaps"] = 403
        self.refuse(self.explain_with(plugins=["NetworkLatencyPlugin"]),
                    "berth: the cluster refuses to list v1/ConfigMap kube-system/network-latency (for the plugin "
                    "NetworkLatencyPlugin): ", "403")
        self.refuse(self.explain_with(*POLICIES), "berth: the cluster refuses to list configmaps "
                    "kube-system/scheduling-policies (for scheduling policies): ")

    def test_what_is_not_enabled_is_not_listed(self):
        self.api.refused["configmaps"] = self.api.refused["priorityclasses"] = 403
        result = self.explain_with()
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertEqual(self.api.lists("configmaps") + self.api.lists("priorityclasses"), [])

    def test_kinds_that_the_server_does_not_have(self):
        result = self.explain_with(plugins=["NetworkOverhead", "LoadAwareScheduling"])
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(sorted(result.err.splitlines()), [
            "berth: warning: the cluster does not have %s, which the plugin %s would read" % (kind, plugin) for kind, plugin in (
                ("appgroup.diktyo.x-k8s.io/v1alpha1/AppGroup", "NetworkOverhead"),
                ("metrics.k8s.io/v1beta1/NodeMetrics", "LoadAwareScheduling"),
                ("metrics.k8s.io/v1beta1/PodMetrics", "LoadAwareScheduling"),
                ("networktopology.diktyo.x-k8s.io/v1alpha1/NetworkTopology", "NetworkOverhead"))])

    def test_nothing_is_watched(self):
        self.assertEqual(self.explain_with(plugins=["NetworkLatencyPlugin"]).code, 0)
        self.assertEqual([path for method, path, query in self.api.requests if "watch" in query], [])


if __name__ == "__main__":
    cli.main()
