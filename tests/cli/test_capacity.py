"""`berth capacity`: how many more copies fit, where, and what stops the next one; the same as `simulate` decides."""
import collections
import json
import random

import cli

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


class Case(cli.Case):
    def run_capacity(self, objects, *args):
        return self.berth("capacity", "-f", self.write("cluster.json", objects), *args)

    def capacity(self, objects, *args):
        result = self.run_capacity(objects, "-o", "json", *args)
        self.assertEqual(result.code, 0, result.err)
        return result.json

    def template(self, *objects):
        return self.write("template.json", list(objects))

    def one(self, objects, *args):
        report = self.capacity(objects, *args)
        self.assertEqual(len(report["templates"]), 1)
        return report["templates"][0]


def copies(template):
    return {row["name"]: row["copies"] for row in template["nodes"]}


class Counting(Case):
    NODES = [cli.node("a", cpu="2"), cli.node("b", cpu="1")]

    def test_shape(self):
        report = self.capacity([*self.NODES, cli.pod("there", on="a", cpu="500m")],
                               self.template(cli.pod("web", cpu="400m", namespace="shop")))
        self.assertEqual((report["apiVersion"], report["kind"], report["sets"]), ("berth.dev/v1", "Capacity", None))
        web = report["templates"][0]
        self.assertEqual((web["kind"], web["namespace"], web["name"], web["share"]), ("Pod", "shop", "web", 1))
        self.assertEqual(web["requests"], {"cpuMilli": 400})
        self.assertEqual((web["fits"], web["limited"], copies(web)), (5, False, {"a": 3, "b": 2}))
        self.assertEqual({row["name"]: (row["allocatable"]["cpuMilli"], row["before"]["cpuMilli"], row["after"]["cpuMilli"])
                          for row in report["nodes"]}, {"a": (2000, 500, 1700), "b": (1000, 0, 800)})
        cpu = web["resources"]["cpuMilli"]
        self.assertEqual((cpu["allocatable"], cpu["before"], cpu["after"], cpu["free"], cpu["largestHole"]),
                         (3000, 500, 2500, 500, 300))
        self.assertEqual(report["summary"], {"nodes": 2, "running": 1, "placedFirst": 0, "pending": 0})

    def test_what_stops_the_next_one(self):
        nodes = [*self.NODES, cli.node("c", taints=[{"key": "k", "effect": "NoSchedule"}])]
        stop = self.one(nodes, self.template(cli.pod("web", cpu="400m")))["stop"]
        self.assertTrue(stop["message"].startswith("0/3 nodes are available: 1 node(s) had untolerated taint(s), "
                                                   "2 Insufficient cpu."), stop["message"])
        self.assertEqual(stop["reasons"], [
            {"status": "Unschedulable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "nodes": 2, "example": "b",
             "sentence": "Insufficient cpu: needs 0.4; most free is 0.2 on b, the largest has 2"},
            {"status": "UnschedulableAndUnresolvable", "plugin": "TaintToleration", "reasons": ["node(s) had untolerated taint(s)"],
             "nodes": 1, "example": "c", "sentence": "taint k:NoSchedule is not tolerated"}])
        self.assertEqual(stop["scarce"], {"resource": "cpuMilli", "needs": 400, "nodes": 2, "free": 200,
                                          "mostFree": 200, "mostFreeNode": "b"})

    def test_which_constraint_stops_it(self):
        """By how much, in the words of `explain`: the copies are in the way, not a resource."""
        nodes = [cli.node("a", cpu="8", labels={ZONE: "x"}), cli.node("b", cpu="1", labels={ZONE: "y"})]
        spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchLabels": {"app": "web"}}}]
        path = self.template(cli.pod("web", cpu="500m", labels={"app": "web"}, topologySpreadConstraints=spread))
        reasons = self.one(nodes, path)["stop"]["reasons"]
        self.assertEqual({row["plugin"]: row["sentence"] for row in reasons}, {
            "PodTopologySpread": "spread over %s: x has 3 matching pods, the emptiest domain 2; the skew would be 2, at most 1 "
                                 "is allowed" % ZONE,
            "NodeResourcesFit": "Insufficient cpu: needs 0.5, none of 1 is free"})
        self.assertIn("the skew would be 2, at most 1 is allowed", self.run_capacity(nodes, path).out)

    def test_rejected_before_any_node_is_asked(self):
        claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]
        stop = self.one(self.NODES, self.template(cli.pod("web", volumes=claim)))["stop"]
        self.assertEqual([(row["plugin"], row["nodes"], row["sentence"]) for row in stop["reasons"]],
                         [("VolumeRestrictions", 2, 'persistentvolumeclaim "missing" not found')])

    def test_no_resource_is_scarce(self):
        term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOST}
        web = cli.pod("web", labels={"app": "x"},
                      affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
        found = self.one(self.NODES, self.template(web))
        self.assertEqual((found["fits"], copies(found), found["stop"]["scarce"]), (2, {"a": 1, "b": 1}, None))
        self.assertEqual(found["stop"]["reasons"][0]["plugin"], "InterPodAffinity")

    def test_pods_are_scarce_too(self):
        stop = self.one([cli.node("a", pods="3")], self.template(cli.pod("web", cpu="1m")))["stop"]
        self.assertEqual((stop["scarce"]["resource"], stop["scarce"]["needs"]), ("pods", 1))

    def test_a_resource_that_no_node_has(self):
        web = cli.pod("web")
        web["spec"]["containers"][0]["resources"]["requests"]["example.com/fpga"] = "1"
        found = self.one(self.NODES, self.template(web))
        self.assertEqual((found["fits"], found["stop"]["scarce"]["resource"], found["stop"]["scarce"]["nodes"]),
                         (0, "example.com/fpga", 2))

    def test_max(self):
        found = self.one(self.NODES, "--max", "4", self.template(cli.pod("web", cpu="100m")))
        self.assertEqual((found["fits"], found["limited"], found["stop"]), (4, True, None))
        found = self.one(self.NODES, "--max", "30", self.template(cli.pod("web", cpu="100m")))
        self.assertEqual((found["fits"], found["limited"], found["stop"]), (30, True, None))
        found = self.one(self.NODES, "--max", "31", self.template(cli.pod("web", cpu="100m")))
        self.assertEqual((found["fits"], found["limited"]), (30, False))

    def test_ports_and_gates(self):
        web = cli.pod("web")
        web["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        self.assertEqual(copies(self.one(self.NODES, self.template(web))), {"a": 1, "b": 1})
        gated = self.one(self.NODES, self.template(cli.pod("web", schedulingGates=[{"name": "x"}])))
        self.assertEqual(gated["fits"], 0)
        self.assertIn("gate", gated["stop"]["message"])
        for args in (), ("--max", "1"), ("--together",), ("--together", "--max", "1"):
            table = self.run_capacity(self.NODES, *args, self.template(
                cli.pod("fits", cpu="1"), cli.pod("held", schedulingGates=[{"name": "x"}])))
            self.assertEqual(table.code, 0, table.err)
            for words in "Pod default/fits: a copy needs 1 cpu\n", "waiting for scheduling gates: [x]\n":
                self.assertIn(words, table.out)
            self.assertNotIn("REJECTED", table.out.partition("Pod default/held")[2])

    def test_pods_that_wait_have_their_turn_first(self):
        report = self.capacity([*self.NODES, cli.pod("waits", cpu="1"), cli.pod("too-big", cpu="9")],
                               self.template(cli.pod("web", cpu="1")))
        self.assertEqual((report["templates"][0]["fits"], report["summary"]["placedFirst"], report["summary"]["pending"]),
                         (2, 1, 1))
        self.assertEqual(report["templates"][0]["resources"]["cpuMilli"]["before"], 1000)

    def test_copies_do_not_preempt(self):
        objects = [*self.NODES, cli.pod("low", on="a", cpu="2", priority=-5)]
        found = self.one(objects, self.template(cli.pod("web", cpu="500m", priority=10)))
        self.assertEqual((found["fits"], found["stop"]["victims"], copies(found)), (2, 1, {"b": 2}))
        self.assertEqual(self.one(objects, self.template(cli.pod("web", cpu="500m")))["stop"]["victims"], 1)

    def test_nodes_of_unlike_zones(self):
        nodes = [cli.node("a", cpu="8", labels={ZONE: "x"}), cli.node("b", cpu="1", labels={ZONE: "y"})]
        spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchLabels": {"app": "web"}}}]
        web = cli.pod("web", cpu="500m", labels={"app": "web"}, topologySpreadConstraints=spread)
        self.assertEqual(copies(self.one(nodes, self.template(web))), {"a": 3, "b": 2})

    def test_table(self):
        result = self.run_capacity(self.NODES, self.template(cli.pod("web", cpu="400m")))
        for words in ("Pod default/web: a copy needs 0.4 cpu", "7 more copies fit, on 2 nodes: a (5), b (2)",
                      "What stops the next one", "0/2 nodes are available: 2 Insufficient cpu.",
                      "Scarce: cpu. A copy needs 0.4; 2 nodes have less: 0.2 in all, at most 0.2 (b)"):
            self.assertIn(words, result.out)
        self.assertNotIn("loading took", result.out)
        self.assertIn("loading took", self.run_capacity(self.NODES, "--timing", "--max", "1",
                                                        self.template(cli.pod("web"))).out)


class Templates(Case):
    NODES = [cli.node("a", cpu="2"), cli.node("b", cpu="2")]

    def test_workloads_of_the_input(self):
        claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}]
        objects = [*self.NODES, cli.workload("Deployment", "web", cpu="500m", replicas=1),
                   cli.workload("StatefulSet", "db", cpu="1", replicas=1, volumeClaimTemplates=claims),
                   cli.workload("Job", "sum", cpu="500m", parallelism=0), cli.pod("alone", on="a", cpu="500m"),
                   cli.workload("ReplicaSet", "rs", cpu="500m", replicas=0),
                   cli.workload("ReplicationController", "rc", cpu="500m", replicas=0),
                   {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
                    "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}]
        words = ["deploy/default/web", "sts/db", "job/sum", "pod/alone", "replicaset/default/rs", "rc/rc"]
        report = self.capacity(objects, *words)
        self.assertEqual([(row["kind"], row["fits"]) for row in report["templates"]],
                         [("Deployment", 4), ("StatefulSet", 2), ("Job", 4), ("Pod", 4), ("ReplicaSet", 4),
                          ("ReplicationController", 4)])
        self.assertIsNone(report["nodes"][0]["after"])
        for word, row in zip(words, report["templates"]): # each alone is as if there were no other
            self.assertEqual(self.one(objects, word)["nodes"], row["nodes"])

    def test_a_daemon_set_is_tied_to_no_node(self):
        objects = [*self.NODES, cli.workload("DaemonSet", "agent", cpu="500m")]
        self.assertEqual(self.one(objects, "ds/agent")["fits"], 6)

    def test_files(self):
        several = self.template(cli.workload("Deployment", "web", cpu="1", replicas=9), cli.pod("p", cpu="2"))
        report = self.capacity(self.NODES, several)
        self.assertEqual([(row["name"], row["fits"]) for row in report["templates"]], [("p", 2), ("web", 4)])
        self.assertEqual(report["summary"]["pending"] + report["summary"]["placedFirst"], 0)

    def test_standard_input(self):
        result = self.berth("capacity", "-f", self.write("c.json", self.NODES), "-o", "json", "-",
                            stdin=json.dumps(cli.pod("web", cpu="1")))
        self.assertEqual((result.code, result.json["templates"][0]["fits"]), (0, 4), result.err)
        self.refuse(self.berth("capacity", "-f", self.path("c.json"), "-"), "-: has no Pod and no workload to copy")

    def test_what_a_file_brings_along(self):
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
                 "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v"}, "status": {"phase": "Bound"}}
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
                  "spec": {"accessModes": ["ReadWriteOncePod"], "capacity": {"storage": "1Gi"},
                           "claimRef": {"name": "c", "namespace": "default"}}}
        web = cli.pod("web", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
        found = self.one(self.NODES, self.template(web, claim, volume))
        self.assertEqual(found["fits"], 1)
        self.assertIn("ReadWriteOncePod", found["stop"]["message"])

    def test_together(self):
        web, api = (self.write(name + ".json", [cli.pod(name, cpu=cpu)]) for name, cpu in (("web", "300m"), ("api", "1")))
        report = self.capacity([cli.node("a", cpu="4")], "--together", "3=" + web, api)
        self.assertEqual((report["sets"], [(row["name"], row["share"], row["fits"]) for row in report["templates"]]),
                         (2, [("web", 3, 6), ("api", 1, 2)]))
        self.assertIsNotNone(report["templates"][0]["stop"])
        self.assertIsNone(report["templates"][1]["stop"])
        self.assertEqual(report["nodes"][0]["after"]["cpuMilli"], 3800)
        self.assertEqual(self.capacity([cli.node("a", cpu="4")], "--together", "--max", "1", "3=" + web, api)["sets"], 1)
        self.assertIn("2 complete sets fit.", self.run_capacity([cli.node("a", cpu="4")], "--together", "3=" + web, api).out)

    def test_a_pod_is_named_as_for_explain(self):
        """With or without its kind."""
        pod = cli.pod("web", namespace="shop", cpu="1")
        named = self.capacity([*self.NODES, pod], "pod/shop/web")
        self.assertEqual(self.capacity([*self.NODES, pod], "shop/web"), named)
        self.assertEqual(named["templates"][0]["name"], "web")

    def test_what_is_refused(self):
        self.refuse(self.run_capacity(self.NODES), "wants a template")
        self.refuse(self.run_capacity([cli.pod("p")], self.template(cli.pod("web"))), "has no nodes")
        self.refuse(self.run_capacity(self.NODES, "web"), '"web" is neither a file nor')
        self.refuse(self.run_capacity(self.NODES, "deploy/shop/web"), "no Deployment shop/web in the input\n")
        self.refuse(self.run_capacity(self.NODES, "3=" + self.template(cli.pod("web"))),
                    "3=TEMPLATE, copies in a set, goes with --together")
        in_shop = [*self.NODES, cli.workload("Deployment", "web", namespace="shop")]
        self.refuse(self.run_capacity(in_shop, "deploy/web"), "no Deployment default/web in the input; did you mean "
                    "deploy/shop/web?")
        self.refuse(self.run_capacity(self.NODES, "nowhere.yaml"), "nowhere.yaml")
        self.refuse(self.run_capacity(self.NODES, "0=deploy/shop/web"), "from 1 to 1000")
        self.refuse(self.run_capacity(self.NODES, self.template(cli.node("n"))), "no Pod and no workload")
        self.refuse(self.run_capacity(self.NODES, self.template(cli.pod("p", schedulerName="other"))), '"other"')


TYPE = "node.kubernetes.io/instance-type"


def more(template):
    """What one more node adds, by its example."""
    return {row["example"]: row["adds"] for row in template["oneMore"]}


class OneMore(Case):
    def nodes(self, **spec):
        return [cli.node("a1", cpu="2", labels={TYPE: "small", ZONE: "x"}), cli.node("a2", cpu="2", labels={TYPE: "small", ZONE: "x"}),
                cli.node("b1", cpu="8", labels={TYPE: "large", ZONE: "x"}, **spec)]

    def test_types(self):
        found = self.one(self.nodes(), self.template(cli.pod("web", cpu="600m")))
        self.assertEqual(found["oneMore"], [
            {"nodeType": "small", "zone": "x", "taints": [], "example": "a1", "nodes": 2, "adds": 3},
            {"nodeType": "large", "zone": "x", "taints": [], "example": "b1", "nodes": 1, "adds": 13}])
        self.assertEqual(found["fits"], 3 + 3 + 13)

    def test_types_that_differ_by_a_taint(self):
        """They are told apart; a taint of trouble is of no type."""
        closed = cli.node("c1", cpu="2", labels={TYPE: "small", ZONE: "x"}, taints=[
            {"key": "team", "value": "ml", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}])
        path = self.template(cli.pod("web", cpu="600m"))
        found = self.one([*self.nodes(), closed], path)["oneMore"]
        self.assertEqual({row["example"]: (row["taints"], row["adds"]) for row in found},
                         {"a1": ([], 3), "b1": ([], 13), "c1": (["team=ml:NoSchedule"], 0)})
        lines = [line.split() for line in self.run_capacity([*self.nodes(), closed], path).out.splitlines()]
        self.assertIn(["small", "x", "c1", "1", "0", "team=ml:NoSchedule"], lines)
        self.assertIn(["small", "x", "a1", "2", "3", "-"], lines)
        self.assertNotIn("TAINTS", self.run_capacity(self.nodes(), path).out)

    def test_a_full_node_of_the_type_is_no_matter(self):
        objects = [*self.nodes(), cli.pod("big", on="b1", cpu="8")]
        self.assertEqual(more(self.one(objects, self.template(cli.pod("web", cpu="1")))), {"a1": 2, "b1": 8})

    def test_daemons_and_mirror_pods_come_along(self):
        agent = cli.workload("DaemonSet", "agent", cpu="1")
        mirror = cli.pod("proxy-b1", on="b1", cpu="1", namespace="kube-system")
        mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        unknown = cli.pod("log-1", on="a1", cpu="500m", owner=("DaemonSet", "log"))
        known = cli.pod("agent-1", on="a1", cpu="1", owner=("DaemonSet", "agent"))
        template = self.template(cli.pod("web", cpu="500m"))
        self.assertEqual(more(self.one([*self.nodes(), agent, mirror, unknown, known], template)), {"a1": 1, "b1": 12})

    def test_trouble_is_not_of_the_type(self):
        taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, {"key": "pool", "value": "gpu", "effect": "NoSchedule"}]
        objects = self.nodes(unschedulable=True, taints=taints)
        template = self.template(cli.pod("web", cpu="1", tolerations=[{"key": "pool", "operator": "Exists"}]))
        self.assertEqual(more(self.one(objects, template)), {"a1": 2, "b1": 8})
        self.assertEqual(more(self.one(objects, self.template(cli.pod("web", cpu="1")))), {"a1": 2, "b1": 0})

    def test_where_another_node_helps_nothing(self):
        spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchLabels": {"app": "web"}}}]
        nodes = [cli.node(name, cpu="2", labels={TYPE: "m", ZONE: zone}) for name, zone in (("a", "x"), ("b", "y"), ("c", "y"))]
        web = cli.pod("web", cpu="1", labels={"app": "web"}, topologySpreadConstraints=spread)
        found = self.one(nodes, self.template(web))
        # Zone y has room for one copy that the skew forbids: with a node more in x it is the third.
        self.assertEqual((found["fits"], more(found)), (5, {"b": 0, "a": 3}))

    def test_without_labels(self):
        nodes = [cli.node(name, cpu=cpu) for name, cpu in (("a", "2"), ("b", "2"), ("c", "4"))]
        found = self.one(nodes, self.template(cli.pod("web", cpu="1")))
        self.assertEqual([(row["nodeType"], row["example"], row["nodes"], row["adds"]) for row in found["oneMore"]],
                         [(None, "a", 2, 2), (None, "c", 1, 4)])

    def test_with_node(self):
        node = cli.node("gpu", cpu="16", labels={TYPE: "gpu"})
        node["status"]["allocatable"]["nvidia.com/gpu"] = "4"
        file = self.write("gpu.json", [node])
        web = cli.pod("web", cpu="1")
        web["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
        found = self.one(self.nodes(), "--with-node", file, "--with-node", "a1", self.template(web))
        self.assertEqual((found["fits"], more(found)), (0, {"gpu": 4, "a1": 0}))
        found = self.one(self.nodes(), "--with-node", file, self.template(cli.pod("web", cpu="1")))
        self.assertEqual((found["fits"], more(found)), (12, {"gpu": 16}))
        self.refuse(self.run_capacity(self.nodes(), "--with-node", "z9", self.template(web)), "--with-node z9")
        self.refuse(self.run_capacity(self.nodes(), "--with-node", self.template(web), self.template(web)), "has no Node")

    def test_with_labels_that_only_some_pods_have(self):
        """A selector of a label that is unique to each pod makes classes anew while there are copies."""
        agent = cli.workload("DaemonSet", "agent", cpu="1", pod_spec_more={"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "topologyKey": HOST, "labelSelector": {"matchExpressions": [
                    {"key": "statefulset.kubernetes.io/pod-name", "operator": "Exists"}]}}]}}})
        agent["spec"]["template"]["spec"]["nodeSelector"] = {"only": "new"}
        file = self.write("node.json", [cli.node("n", cpu="4", labels={"only": "new"})])
        objects = [*self.nodes(), agent, cli.workload("StatefulSet", "db", cpu="1", replicas=2)]
        self.assertEqual(more(self.one(objects, "--with-node", file, self.template(cli.pod("web", cpu="1")))), {"n": 3})
        self.assertEqual(more(self.one(objects, "--with-node", file, "sts/db")), {"n": 0})

    def test_copies_with_claims(self):
        claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}]
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
                   "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
        found = self.one([*self.nodes(), storage], self.template(
            cli.workload("StatefulSet", "db", cpu="1", replicas=1, volumeClaimTemplates=claims)))
        self.assertEqual((found["fits"], more(found)), (12, {"a1": 2, "b1": 8}))

    def test_together_and_max(self):
        web, api = (self.write(name + ".json", [cli.pod(name, cpu=cpu)]) for name, cpu in (("web", "500m"), ("api", "1")))
        report = self.capacity(self.nodes(), "--together", "2=" + web, api)
        self.assertEqual([more(row) for row in report["templates"]], [{"a1": 2, "b1": 8}, {"a1": 1, "b1": 4}])
        self.assertEqual(self.one(self.nodes(), "--max", "2", web)["oneMore"], [])

    def test_table(self):
        result = self.run_capacity(self.nodes(), self.template(cli.pod("web", cpu="600m")))
        self.assertRegex(result.out, r"ONE MORE NODE +ZONE +SUCH AS +NOW +ADDS\n +small +x +a1 +2 +3\n +large +x +b1 +1 +13\n")


class ClusterCapacity(Case):
    """Flags and JSON of kubernetes-sigs/cluster-capacity."""

    NODES = [cli.node("a", cpu="2"), cli.node("b", cpu="1")]

    def review(self, *args, code=0):
        spec = cli.pod("small", cpu="300m", nodeSelector={"kubernetes.io/hostname": "a"})
        spec["spec"]["containers"][0]["resources"]["requests"].update({"memory": "100Mi", "example.com/x": "1"})
        nodes = json.loads(json.dumps(self.NODES))
        for node in nodes:
            node["status"]["allocatable"]["example.com/x"] = "100"
        return self.run_capacity(nodes, "--podspec", self.write("pod.json", json.dumps(spec)), "--now", "2026-01-31T12:00:00Z",
                                 "-o", "cluster-capacity-json", *args).json

    def test_json(self):
        found = self.review()
        self.assertEqual((found["kind"], set(found)), ("ClusterCapacityReview", {"kind", "spec", "status"}))
        template = found["spec"]["templates"][0]
        self.assertEqual((template["metadata"]["name"], template["spec"]["containers"][0]["resources"]["requests"]["cpu"]),
                         ("small", "300m"))
        self.assertEqual({row["key"] for row in template["spec"]["tolerations"]},
                         {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
        self.assertEqual(found["spec"]["podRequirements"], [{
            "podName": "small", "nodeSelectors": {"kubernetes.io/hostname": "a"},
            "resources": {"primaryResources": {"cpu": "300m", "memory": "100Mi"}, "scalarResources": {"example.com/x": 1}}}])
        status = found["status"]
        self.assertEqual((status["creationTimestamp"], status["replicas"]), ("2026-01-31T12:00:00Z", 6))
        self.assertEqual(status["failReason"]["failType"], "Unschedulable")
        self.assertTrue(status["failReason"]["failMessage"].startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't"))
        self.assertEqual(status["pods"], [{
            "podName": "small", "replicasOnNodes": [{"nodeName": "a", "replicas": 6}],
            "failSummary": [{"reason": "Insufficient cpu", "count": 1},
                            {"reason": "node(s) didn't match Pod's node affinity/selector", "count": 1}]}])

    def test_limit(self):
        found = self.review("--max-limit", "4")
        self.assertEqual((found["spec"]["replicas"], found["status"]["replicas"], found["status"]["failReason"]),
                         (4, 4, {"failType": "LimitReached", "failMessage": "Maximum number of pods simulated: 4"}))
        self.assertEqual(self.review("--max-limit", "0")["status"]["replicas"], 6)

    def test_excluded_nodes_and_verbose(self):
        self.assertEqual(self.review("--exclude-nodes", "a")["status"]["replicas"], 0)
        nodes = [cli.node("n%d" % i, cpu="1") for i in range(9)]
        pod = self.template(cli.pod("web", cpu="1"))
        self.assertIn("and 3 more", self.run_capacity(nodes, "--podspec", pod).out)
        self.assertIn("n8 (1)", self.run_capacity(nodes, "--podspec", pod, "--verbose").out)
        self.assertEqual(self.one(nodes, "--exclude-nodes", "n1,n2", pod)["fits"], 7)
        self.refuse(self.run_capacity(nodes, "--exclude-nodes", "n1,n77", pod), 'no node "n77"')

    def test_several_templates(self):
        one, other = (self.write(name + ".json", [cli.pod(name, cpu="500m")]) for name in ("one", "other"))
        self.refuse(self.run_capacity(self.NODES, "-o", "cluster-capacity-json", one, other), "--together")
        found = self.run_capacity(self.NODES, "-o", "cluster-capacity-json", "--together", one, other).json
        self.assertEqual((found["status"]["replicas"], [row["podName"] for row in found["status"]["pods"]]), (6, ["one", "other"]))


class AsSimulated(Case):
    """The copies of a Deployment go where `simulate` puts its replicas, and the first that does not fit gets the same message."""

    def cluster(self, rng):
        apps = [{"app": name} for name in "abc"]
        nodes = [cli.node("n%d" % i, cpu=rng.choice(["1", "2", "4"]), pods=rng.choice(["5", "12", "110"]),
                          labels={ZONE: rng.choice("xyz")}, unschedulable=rng.random() < 0.05,
                          taints=[{"key": "k", "effect": rng.choice(["NoSchedule", "PreferNoSchedule"])}]
                          if rng.random() < 0.2 else None) for i in range(rng.randint(1, 25))]
        pods = [cli.pod("p%d" % i, on=rng.choice(nodes)["metadata"]["name"], cpu="%dm" % rng.randint(0, 600),
                        labels=rng.choice(apps), priority=rng.choice([0, 5])) for i in range(rng.randint(0, 40))]
        return nodes + pods, apps

    def workload(self, rng, apps):
        more = {}
        selector = {"matchLabels": rng.choice(apps)}
        if rng.random() < 0.5:
            more["topologySpreadConstraints"] = [
                {"maxSkew": rng.randint(1, 3), "topologyKey": key, "labelSelector": selector,
                 "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"])}
                for key in rng.sample([ZONE, HOST], rng.randint(1, 2))]
        if rng.random() < 0.4:
            kind = rng.choice(["podAffinity", "podAntiAffinity"])
            term = {"labelSelector": selector, "topologyKey": rng.choice([ZONE, HOST])}
            more["affinity"] = {kind: rng.choice([
                {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
                {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]}])}
        if rng.random() < 0.2:
            more["tolerations"] = [{"operator": "Exists"}]
        found = cli.workload("Deployment", "web", cpu="%dm" % rng.choice([0, 50, 130, 400, 900]), labels=rng.choice(apps),
                             pod_spec_more=more)
        if rng.random() < 0.2:
            found["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        return found

    def compare(self, seed):
        rng = random.Random(seed)
        objects, apps = self.cluster(rng)
        web = self.workload(rng, apps)
        args = ["--seed", str(rng.randint(1, 99))]
        if rng.random() < 0.5:
            args += ["--percentage-of-nodes-to-score", str(rng.choice([0, 10, 50, 100]))]
        found = self.one(objects, *args, self.template(web))
        web["spec"]["replicas"] = found["fits"] + 1
        report = self.simulate([*objects, web], *args)
        rows = [row for row in report["placements"] if row["pod"]["name"].startswith("web-")]
        self.assertEqual(collections.Counter(row["node"] for row in rows[:-1]), copies(found), "seed %d" % seed)
        self.assertEqual((rows[-1]["node"], rows[-1]["message"]), (None, found["stop"]["message"]), "seed %d" % seed)
        return found["fits"]

    def test_random_clusters(self):
        fits = [self.compare(seed) for seed in range(60)]
        self.assertTrue(any(fits) and max(fits) > 20, json.dumps(fits))


if __name__ == "__main__":
    cli.main()
