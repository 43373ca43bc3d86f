"""Fake kubelets of `berth cluster`: heartbeats, conditions, how pods end, failures on command, and what is used."""
import json

import cli
import running_cluster
import live

PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
METRICS = "/apis/metrics.k8s.io/v1beta1"
UNREACHABLE, NOT_READY = "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"


def pod(name, on=None, labels=None, annotations=None, **spec):
    return {"metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {**cli.pod_spec(), **({"nodeName": on} if on else {}), **spec}}


def tolerate(key, seconds=None):
    found = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return found if seconds is None else {**found, "tolerationSeconds": seconds}


class Case(cli.Case):
    cluster = None

    def tell(self, *words):
        """`berth cluster fail node-0` and the like."""
        done = self.berth("cluster", *words, "--kubeconfig", self.cluster.kubeconfig)
        self.assertEqual((done.code, done.err), (0, ""))
        return done.out

    def ready(self, thing):
        return running_cluster.condition(thing, "Ready").get("status")


class Kubelets(Case):
    """On one cluster: each test has its own nodes and pods."""
    @classmethod
    def setUpClass(cls):
        cls.holder = cli.Case()
        cli.Case.setUp(cls.holder)
        cls.addClassCleanup(cls.holder.doCleanups)
        cls.cluster = running_cluster.Cluster(cls.holder, "--nodes", "8")

    def setUp(self):
        super().setUp()
        self.cluster.case = self

    def test_heartbeats(self):
        cluster = self.cluster
        lease = cluster.until(lambda: cluster.find(LEASES + "/node-0"))
        self.assertEqual((lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]), ("node-0", 40))
        self.assertEqual(lease["metadata"]["ownerReferences"][0]["uid"], cluster.node("node-0")["metadata"]["uid"])
        # A node that a client makes has a kubelet as well.
        cluster.create("/api/v1/nodes", {"metadata": {"name": "new"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}})
        cluster.until(lambda: self.ready(cluster.node("new")) == "True")
        types = [row["type"] for row in cluster.node("new")["status"]["conditions"]]
        self.assertEqual(types, ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"])
        # And no heartbeat without a node.
        cluster.until(lambda: cluster.find(LEASES + "/new"))
        cluster.delete("/api/v1/nodes/new")
        cluster.until(lambda: not cluster.find(LEASES + "/new"))

    def test_cordon_is_a_taint(self):
        cluster = self.cluster
        cluster.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": True}})
        cluster.until(lambda: "node.kubernetes.io/unschedulable" in running_cluster.taints(cluster.node("node-1"), "NoSchedule"))
        cluster.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": None}})
        cluster.until(lambda: not running_cluster.taints(cluster.node("node-1"), "NoSchedule"))

    def test_a_deleted_pod_ends(self):
        cluster = self.cluster
        cluster.create(PODS, pod("ends", "node-6", terminationGracePeriodSeconds=3600))
        cluster.until_running("ends")
        watch = running_cluster.Watch(cluster, PODS, "ends")
        cluster.delete(PODS + "/ends")
        events = watch.until(lambda kind, _: kind == "DELETED")
        self.assertEqual(events[0][1]["metadata"]["deletionGracePeriodSeconds"], 3600)
        last = events[-2][1]
        self.assertEqual((last["status"]["phase"], self.ready(last)), ("Succeeded", "False"))
        state = last["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((state["exitCode"], state["reason"]), (0, "Completed"))
        self.assertEqual(events[-1][1]["metadata"]["deletionGracePeriodSeconds"], 0)

    def test_slow(self):
        cluster = self.cluster
        self.assertEqual(self.tell("slow", "node-2", "--start", "1h", "--stop", "1h"), "node-2 is slow\n")
        cluster.create(PODS, pod("slow", "node-2"))
        creating = cluster.until(lambda: "containerStatuses" in cluster.pod("slow")["status"] and cluster.pod("slow"))
        self.assertEqual(creating["status"]["phase"], "Pending")
        self.assertEqual(creating["status"]["containerStatuses"][0]["state"]["waiting"]["reason"], "ContainerCreating")
        cluster.create(PODS, pod("quick", "node-3"))  # is another node
        cluster.until_running("quick")
        self.assertEqual(cluster.phase("slow"), "Pending")
        self.tell("slow", "--start", "0", "node-2")
        cluster.until_running("slow")
        # It takes an hour to end, unless it is killed.
        cluster.delete(PODS + "/slow", {"gracePeriodSeconds": 3000})
        cluster.until(lambda: "deletionTimestamp" in cluster.pod("slow")["metadata"])
        cluster.delete(PODS + "/quick")
        cluster.until(lambda: not cluster.pod("quick"))
        self.assertEqual(cluster.phase("slow"), "Running")
        watch = running_cluster.Watch(cluster, PODS, "slow")
        cluster.delete(PODS + "/slow", {"gracePeriodSeconds": 1})
        events = watch.until(lambda kind, _: kind == "DELETED")
        last = events[-1][1]["status"]
        self.assertEqual((last["phase"], last["containerStatuses"][0]["state"]["terminated"]["exitCode"]), ("Failed", 137))

    def test_taints_of_users_evict(self):
        cluster = self.cluster
        for name, tolerations in (("goes", []), ("stays", [{"key": "k", "operator": "Exists"}])):
            cluster.create(PODS, pod(name, "node-4", tolerations=tolerations))
            cluster.until_running(name)
        cluster.patch("/api/v1/nodes/node-4", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
        cluster.until(lambda: not cluster.pod("goes"))
        self.assertEqual(cluster.phase("stays"), "Running")

    def names(self, path):
        return [thing["metadata"]["name"] for thing in self.cluster.get(path)["items"]]

    def test_metrics(self):
        cluster = self.cluster
        requests = {"requests": {"cpu": "2", "memory": "100Mi"}}
        cluster.create(PODS, pod("a", "node-5", labels={"app": "a"},
                                 containers=[{"name": "one", "image": "i", "resources": requests}, {"name": "two", "image": "i"}]))
        cluster.create(PODS, pod("b", "node-5", annotations={"cluster.berth.dev/cpu-usage": "250m",
                                                             "cluster.berth.dev/memory-usage": "1Gi"}))
        cluster.create(PODS, pod("waits", nodeSelector={"no": "node"}))
        for name in "a", "b":
            cluster.until_running(name)
        pods = {p["metadata"]["name"]: p for p in cluster.get(METRICS + "/pods")["items"]}
        self.assertNotIn("waits", pods)
        used = {c["name"]: c["usage"] for c in pods["a"]["containers"]}
        self.assertEqual(used, {"one": {"cpu": "1", "memory": "75Mi"}, "two": {"cpu": "1m", "memory": "8Mi"}})
        self.assertEqual(pods["b"]["containers"][0]["usage"], {"cpu": "250m", "memory": "1Gi"})
        self.assertEqual(cluster.get(METRICS + "/namespaces/default/pods/a")["kind"], "PodMetrics")
        self.assertEqual(cluster.get(METRICS + "/pods?labelSelector=app%3Da")["items"][0]["metadata"]["name"], "a")
        self.assertEqual(cluster.get(METRICS + "/namespaces/kube-system/pods")["items"], [])
        node = cluster.get(METRICS + "/nodes/node-5")
        self.assertEqual((node["kind"], node["usage"]), ("NodeMetrics", {"cpu": "1251m", "memory": "1107Mi"}))
        self.assertEqual(self.names(METRICS + "/nodes"), ["node-%d" % i for i in range(8)])
        # Discovery, as with metrics-server.
        group = [g for g in cluster.get("/apis")["groups"] if g["name"] == "metrics.k8s.io"][0]
        self.assertEqual(group["preferredVersion"], {"groupVersion": "metrics.k8s.io/v1beta1", "version": "v1beta1"})
        self.assertEqual([(r["name"], r["kind"], r["namespaced"], r["verbs"]) for r in cluster.get(METRICS)["resources"]],
                         [("nodes", "NodeMetrics", False, ["get", "list"]), ("pods", "PodMetrics", True, ["get", "list"])])
        # Nothing of what does not run or does not answer.
        self.assertEqual(cluster.request("GET", METRICS + "/namespaces/default/pods/waits")[0], 404)
        self.assertEqual(cluster.request("GET", METRICS + "/nodes/nix")[0], 404)
        self.assertEqual(cluster.request("DELETE", METRICS + "/nodes/node-5")[0], 405)
        self.tell("fail", "node-5")
        self.assertNotIn("node-5", self.names(METRICS + "/nodes"))
        self.assertNotIn("a", self.names(METRICS + "/pods"))

    def test_what_is_wrong_is_named(self):
        conf = ["--kubeconfig", self.cluster.kubeconfig]
        self.refuse(self.berth("cluster", "fail", "nix", *conf), "nix", "nodes \"nix\" not found")
        self.refuse(self.berth("cluster", "fail", *conf), "cluster fail wants the names of nodes; it got 0")
        self.refuse(self.berth("cluster", "slow", "node-0", *conf), "wants --start DURATION")
        self.refuse(self.berth("cluster", "slow", "--start", "soon", "node-0", *conf), "--start wants a duration", "\"soon\"")
        self.refuse(self.berth("cluster", "slow", "--stop", "-1s", "node-0", *conf), "--stop wants a duration")
        self.refuse(self.berth("cluster", "fail", "--as", "broken", "node-0", *conf), "--as wants unreachable|not-ready")
        self.refuse(self.berth("cluster", "fial", "node-0", *conf), "cluster has no part \"fial\"")
        self.refuse(self.berth("cluster", "fail", "a", "--kubeconfig", self.path("none")), "none")


class Failures(Case):
    def setUp(self):
        super().setUp()
        self.cluster = running_cluster.Cluster(self, "--nodes", "2")

    def test_a_node_fails_and_recovers(self):
        cluster = self.cluster
        cluster.create("/apis/apps/v1/namespaces/default/deployments", {
            "metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {
                    **cli.pod_spec(), "tolerations": [tolerate(UNREACHABLE, 0)], "topologySpreadConstraints": [
                        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                         "labelSelector": {"matchLabels": {"app": "web"}}}]}}}})
        cluster.create(PODS, pod("short", "node-0", tolerations=[tolerate(UNREACHABLE, 1)]))
        cluster.create(PODS, pod("usual", "node-0"))
        cluster.create(PODS, pod("stays", "node-0", tolerations=[tolerate(UNREACHABLE)]))
        for name in "short", "usual", "stays":
            cluster.until_running(name)
        cluster.until(lambda: {p["spec"].get("nodeName") for p in cluster.pods() if p["metadata"]["name"].startswith("web")}
                      == {"node-0", "node-1"})
        watch = running_cluster.Watch(cluster, "/api/v1/nodes", "node-0")
        self.assertEqual(self.tell("fail", "node-0"), "node-0 is unreachable\n")
        events = watch.until(lambda _, node: running_cluster.taints(node, "NoExecute"))
        # Conditions first, then NoSchedule, then NoExecute.
        steps = [(self.ready(node), running_cluster.taints(node, "NoSchedule"), running_cluster.taints(node, "NoExecute"))
                 for _, node in events]
        self.assertEqual(steps[-3:], [("Unknown", set(), set()), ("Unknown", {UNREACHABLE}, set()),
                                      ("Unknown", {UNREACHABLE}, {UNREACHABLE})])
        node = events[-1][1]
        self.assertEqual(running_cluster.condition(node, "Ready")["reason"], "NodeStatusUnknown")
        self.assertEqual(running_cluster.condition(node, "MemoryPressure")["status"], "Unknown")
        for name in "usual", "stays":
            cluster.until(lambda name=name: self.ready(cluster.pod(name)) == "False")
        # The workload gets a pod elsewhere.
        cluster.until(lambda: [p["spec"].get("nodeName") for p in cluster.pods() if p["metadata"]["name"].startswith("web")
                               and "deletionTimestamp" not in p["metadata"] and p["status"]["phase"] == "Running"] == ["node-1"] * 2)
        # After its second, the pod is evicted, but nothing ends it.
        evicted = cluster.until(lambda: "deletionTimestamp" in cluster.pod("short")["metadata"] and cluster.pod("short"))
        self.assertEqual(running_cluster.condition(evicted, "DisruptionTarget")["reason"], "DeletionByTaintManager")
        for name in "usual", "stays":
            self.assertNotIn("deletionTimestamp", cluster.pod(name)["metadata"])
        # Back again.
        self.assertEqual(self.tell("recover", "node-0"), "node-0 recovers\n")
        cluster.until(lambda: self.ready(cluster.node("node-0")) == "True")
        cluster.until(lambda: "taints" not in cluster.node("node-0")["spec"])
        cluster.until(lambda: not cluster.pod("short"))
        for name in "usual", "stays":
            cluster.until(lambda name=name: self.ready(cluster.pod(name)) == "True")

    def test_not_ready(self):
        cluster = self.cluster
        self.tell("fail", "--as", "not-ready", "node-0", "node-1")
        for name in "node-0", "node-1":
            cluster.until(lambda name=name: running_cluster.taints(cluster.node(name), "NoExecute") == {NOT_READY})
            self.assertEqual(running_cluster.condition(cluster.node(name), "Ready")["reason"], "KubeletNotReady")
        cluster.create(PODS, pod("p"))
        cluster.until(lambda: running_cluster.condition(cluster.pod("p"), "PodScheduled").get("reason") == "Unschedulable")
        self.tell("recover", "node-1")
        self.assertEqual(cluster.until_running("p")["spec"]["nodeName"], "node-1")


class OtherClusters(cli.Case):
    def test_a_real_cluster_is_left_alone(self):
        with live.api_server() as server:
            url = "http://127.0.0.1:%d" % server.server_address[1]
            conf = self.write("kubeconfig", json.dumps({
                "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": url}}],
                "contexts": [{"name": "c", "context": {"cluster": "c"}}]}))
            self.refuse(self.berth("cluster", "fail", "a", "--kubeconfig", conf), "is none of `berth cluster`", "v1.36.4")


if __name__ == "__main__":
    cli.main()
