"""`berth explain`: the output, in JSON and as a table."""
import json
import os
import re
import subprocess
import sys

import cli
import live

EXTENDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "extender", "extender.py")

CLUSTER = [
    cli.node("big", cpu="8"), cli.node("small", cpu="1"),
    cli.node("tainted", cpu="8", taints=[{"key": "k", "effect": "NoSchedule"}]),
    cli.pod("p", cpu="2", priority=5),
]


class Answer(cli.Case):
    def test_feasible(self):
        found = self.explain(CLUSTER, "default/p")
        self.assertEqual((found["apiVersion"], found["kind"], found["pod"]),
                         ("berth.dev/v1", "Explanation", cli.reference("default/p")))
        self.assertEqual(found["preFilter"], {"status": "Success", "plugin": None, "reasons": [], "nodeNames": None, "why": []})
        self.assertEqual(found["best"], ["big"])
        for member in ("policy", "preEnqueue", "message", "preemption", "notAsked", "cost"):
            self.assertIsNone(found[member])
        self.assertEqual([row["name"] for row in found["nodes"]], ["big", "small", "tainted"])
        big = cli.by_node(found)["big"]
        self.assertTrue(big["feasible"])
        self.assertEqual(big["total"], sum(big["scores"].values()))
        self.assertEqual(big["scores"]["TaintToleration"], 300)
        sentence = "Insufficient cpu: needs 2, has 1 of 1 free"
        self.assertEqual(cli.by_node(found)["small"],
                         {"feasible": False, "status": "UnschedulableAndUnresolvable", "plugin": "NodeResourcesFit",
                          "reasons": ["Insufficient cpu"],
                          "why": [{"plugin": "NodeResourcesFit", "reason": "Resource", "sentence": sentence,
                                   "resource": "cpu", "needs": 2000, "free": 1000, "allocatable": 1000}]})
        self.assertEqual(cli.by_node(found)["tainted"]["plugin"], "TaintToleration")

    def test_weights_of_all_of_32_bits(self):
        """They are added in 64: simulate, which has tables, and explain, which has none, choose the same node."""
        most = 2 ** 31 - 1
        nodes = [cli.node("a", labels={"x": "", "y": ""}), cli.node("b", labels={"z": ""}), cli.node("c")]
        terms = [{"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
                 for key, weight in (("x", most), ("y", most), ("z", 5))]
        config = self.write("config.json", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": terms}}}]}]}))
        pods = [cli.pod("x", on="a", labels={"x": "", "y": ""}), cli.pod("z", on="b", labels={"z": ""})]
        near = [{"weight": weight, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {
            "matchExpressions": [{"key": key, "operator": "Exists"}]}}}
                for key, weight in (("x", most), ("y", most), ("z", 5))]
        affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": near}}
        for objects, args in ((nodes + [cli.pod("p")], ["--config", config]),
                              (nodes + pods + [cli.pod("p", affinity=affinity)], [])):
            self.assertEqual(self.explain(objects, "p", *args)["best"], ["a"])
            self.assertEqual(self.placed(self.simulate(objects, *args))["default/p"], "a")

    def test_namespace_may_be_left_out(self):
        self.assertEqual(self.explain(CLUSTER, "p"), self.explain(CLUSTER, "default/p"))

    def test_nothing_fits(self):
        found = self.explain([cli.node("a", cpu="1"), cli.pod("p", cpu="2")], "p")
        self.assertEqual(found["best"], [])
        self.assertEqual(found["message"], "0/1 nodes are available: 1 Insufficient cpu.")
        self.assertEqual(found["preemption"]["status"], "Unschedulable")
        self.assertTrue(found["preemption"]["message"].startswith("preemption: "))

    def test_pre_filter_rejection(self):
        found = self.explain([cli.node("a"), cli.pod("p", volumes=[
            {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}])], "p")
        self.assertEqual(found["preFilter"]["status"], "UnschedulableAndUnresolvable")
        self.assertIn("missing", found["preFilter"]["reasons"][0])
        self.assertEqual(found["nodes"], [])

    def test_pre_filter_narrows(self):
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]}}}
        found = self.explain([cli.node("a"), cli.node("b"), cli.pod("p", affinity=affinity)], "p")
        self.assertEqual(found["preFilter"]["nodeNames"], ["b"])
        left_out = cli.by_node(found)["a"]
        self.assertEqual((left_out["plugin"], [(lack["plugin"], lack["sentence"]) for lack in left_out["why"]]),
                         (None, [("NodeAffinity", "node affinity wants metadata.name In (b), it has a")]))
        self.assertEqual(found["best"], ["b"])
        text = self.berth("explain", "-f", self.write("c.json", [cli.node("a"), cli.node("b"), cli.pod("p", affinity=affinity)]), "p").out
        self.assertRegex(text, r"(?m)^ +1  NodeAffinity  node affinity wants metadata.name In \(b\), it has a  a$")

    def test_victims(self):
        found = self.explain([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                              cli.pod("p", cpu="2", priority=9)], "p")
        self.assertEqual(found["preemption"], {
            "status": "Success", "nominated": ["a"],
            "message": "preemption: found a potential placement for pod on node a, preempting 1 victims",
            "candidates": {"a": {"victims": ["default/low"], "pdbViolations": 0}}})

    def test_policy_never(self):
        found = self.explain([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                              cli.pod("p", cpu="2", priority=9, preemptionPolicy="Never")], "p")
        self.assertIsNone(found["preemption"])

    def test_gates_are_shown(self):
        found = self.explain([cli.node("a"), cli.pod("p", schedulingGates=[{"name": "g"}])], "p")
        self.assertEqual(found["preEnqueue"]["plugin"], "SchedulingGates")
        self.assertEqual(found["best"], ["a"])

    def test_priority_class_counts(self):
        objects = [cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                   {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
                    "value": 1000, "preemptionPolicy": "Never"},
                   cli.pod("p", cpu="2", priorityClassName="high")]
        found = self.explain(objects, "p")
        self.assertEqual(found["priority"], 1000)
        self.assertIsNone(found["preemption"])

    def test_nominations_of_other_schedulers_do_not_count(self):
        other = cli.pod("other", cpu="4", priority=100, schedulerName="mine",
                        status={"phase": "Pending", "nominatedNodeName": "a"})
        ours = json.loads(json.dumps(other))
        ours["spec"]["schedulerName"] = "default-scheduler"
        base = [cli.node("a", cpu="4"), cli.pod("p", cpu="1", priority=1)]
        self.assertEqual(self.explain([*base, other], "p")["best"], ["a"])
        self.assertEqual(self.explain([*base, ours], "p")["best"], [])


ZONE = "topology.kubernetes.io/zone"


class Shortfall(cli.Case):
    """What nodes lack, and by how much."""

    def why(self, objects, node, **spec):
        """What a node lacks for a pod, and the sentences about all groups of nodes."""
        found = self.explain([*objects, cli.pod("p", **spec)], "p")
        return cli.by_node(found)[node]["why"], [row["sentence"] for row in found["rejections"]]

    def test_amounts(self):
        objects = [cli.node("n4", cpu="4"), cli.node("n7", cpu="4"), cli.node("n9", cpu="2"), cli.pod("a", on="n4", cpu="3"),
                   cli.pod("b", on="n7", cpu="1100m")]
        why, groups = self.why(objects, "n7", cpu="3500m")
        self.assertEqual([(row["resource"], row["needs"], row["free"], row["allocatable"]) for row in why],
                         [("cpu", 3500, 2900, 4000)])
        self.assertEqual(groups, ["Insufficient cpu: needs 3.5; most free is 2.9 on n7, the largest has 4"])
        found = self.explain([*objects, cli.pod("p", cpu="3500m")], "p")
        self.assertEqual([(row["closest"], row["nodes"]) for row in found["rejections"]], [("n7", 3)])

    def test_amounts_that_look_alike(self):
        objects = [cli.node("a", memory=str(2 ** 31 - 1))]
        _, groups = self.why(objects, "a", containers=[{"name": "c", "resources": {"requests": {"memory": "2Gi"}}}])
        self.assertEqual(groups, ["Insufficient memory: needs 2,147,483,648 B, has 2,147,483,647 B of 2 GiB free"])

    def test_resources_that_nodes_do_not_have(self):
        wants = {"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}
        _, groups = self.why([cli.node("a"), cli.node("b")], "a", containers=[{"name": "c", "resources": wants}])
        self.assertEqual(groups, ["Insufficient example.com/gpu: needs 2, they have none"])

    def test_too_many_pods(self):
        why, groups = self.why([cli.node("a", pods="1"), cli.pod("x", on="a")], "a")
        self.assertEqual((why[0]["resource"], why[0]["free"], why[0]["allocatable"]), ("pods", 0, 1))
        self.assertEqual(groups, ["Too many pods: 1 of 1 are there"])

    def test_nominated_pods_count(self):
        other = cli.pod("other", cpu="3", priority=100, status={"phase": "Pending", "nominatedNodeName": "a"})
        why, groups = self.why([cli.node("a"), other], "a", cpu="2", priority=1)
        self.assertEqual((why[0]["needs"], why[0]["free"]), (2000, 1000))
        self.assertIn("with the pods that are nominated to it", groups[0])

    def test_taints(self):
        taints = [{"key": "gpu", "value": "x", "effect": "NoSchedule"}, {"key": "spot", "effect": "NoExecute"}]
        objects = [cli.node("a", taints=taints), cli.node("b", taints=taints[:1]), cli.node("c", taints=taints[:1])]
        why, groups = self.why(objects, "a")
        self.assertEqual([row["key"] for row in why], ["gpu=x:NoSchedule", "spot:NoExecute"])
        self.assertEqual(groups, ["taint gpu=x:NoSchedule is not tolerated",
                                  "taint gpu=x:NoSchedule is not tolerated; taint spot:NoExecute is not tolerated"])

    def test_cordoned(self):
        why, _ = self.why([cli.node("a", unschedulable=True)], "a")
        self.assertEqual((why[0]["reason"], why[0]["sentence"]), ("Unschedulable", "the node is cordoned (spec.unschedulable)"))

    def test_node_selector(self):
        objects = [cli.node("a", labels={"disk": "hdd"}), cli.node("b")]
        why, groups = self.why(objects, "a", nodeSelector={"disk": "ssd"})
        self.assertEqual((why[0]["key"], why[0]["wants"], why[0]["has"]), ("disk", "ssd", "hdd"))
        self.assertEqual(groups, ["nodeSelector wants disk=ssd, they have hdd or none"])

    def test_node_affinity(self):
        terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}, {"key": "zone", "operator": "In", "values": ["x"]}]},
                 {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["y", "z"]}]}]
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
        why, groups = self.why([cli.node("a", labels={"zone": "w"})], "a", affinity=affinity)
        self.assertEqual([(row["reason"], row["key"], row["wants"], row["has"]) for row in why],
                         [("NodeAffinity", "zone", "In (y, z)", "w")])
        self.assertEqual(groups, ["node affinity wants zone In (y, z), it has w"])

    def test_terms_that_cannot_match(self):
        terms = [{"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["four"]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        _, groups = self.why([cli.node("a", labels={"gen": "5"})], "a", affinity={"nodeAffinity": required})
        self.assertEqual(groups, ["node affinity has no term that can match: gen Gt (four)"])

    def test_ports(self):
        ports = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]}
        why, groups = self.why([cli.node("a"), cli.pod("holder", on="a", **ports)], "a", **ports)
        self.assertEqual((why[0]["key"], why[0]["pod"]), ("8080/TCP", cli.reference("default/holder")))
        self.assertEqual(groups, ["host port 8080/TCP is taken (default/holder)"])

    def test_spread(self):
        constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                      "labelSelector": {"matchLabels": {"app": "web"}}}
        objects = [cli.node("a", labels={ZONE: "x"}), cli.node("b", cpu="0", labels={ZONE: "y"}), cli.node("c"),
                   *[cli.pod("w%d" % i, on="a", labels={"app": "web"}) for i in range(2)]]
        pod = cli.pod("p", labels={"app": "web"}, topologySpreadConstraints=[constraint])
        found = self.explain([*objects, pod], "p")
        [lack] = cli.by_node(found)["a"]["why"]
        self.assertEqual((lack["key"], lack["has"], lack["skew"], lack["maxSkew"]), (ZONE, "x", 3, 1))
        self.assertEqual(lack["sentence"], "spread over %s: x has 2 matching pods, the emptiest domain 0; the skew would be 3, "
                         "at most 1 is allowed" % ZONE)
        [lack] = cli.by_node(found)["c"]["why"]
        self.assertEqual((lack["reason"], lack["key"], lack["has"]), ("SpreadLabel", ZONE, None))
        for more, words in (({}, "the emptiest domain 0"),
                            ({"minDomains": 5}, "and with fewer domains than minDomains the emptiest counts as 0")):
            found = self.explain([*objects[:-1], {**pod, "spec": {**pod["spec"], "topologySpreadConstraints": [{**constraint, **more}]}}], "p")
            self.assertEqual(cli.by_node(found)["a"]["why"][0]["sentence"], "spread over %s: x has 1 matching pod, %s; the skew would "
                             "be 2, at most 1 is allowed" % (ZONE, words))

    def test_pod_affinity(self):
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        objects = [cli.node("a", labels={ZONE: "x"}), cli.node("a2", labels={ZONE: "x"}), cli.node("b", labels={ZONE: "y"}),
                   cli.node("c")]
        there = cli.pod("there", on="a", labels={"app": "db"})
        why, _ = self.why(objects, "b", affinity={"podAffinity": required})
        self.assertEqual(why[0]["sentence"], "pod affinity wants a pod with app=db in the same %s, there is none in namespace default" % ZONE)
        why, _ = self.why([*objects, there], "c", affinity={"podAffinity": required})
        self.assertEqual((why[0]["reason"], why[0]["has"]), ("PodAffinityLabel", None))
        why, groups = self.why([*objects, there], "a2", affinity={"podAntiAffinity": required})
        self.assertEqual((why[0]["reason"], why[0]["key"], why[0]["wants"], why[0]["pod"]),
                         ("PodAntiAffinity", ZONE, "app=db", cli.reference("default/there")))
        self.assertEqual(groups, ["pod anti-affinity wants no pod with app=db in the same %s (such as default/there)" % ZONE])
        lonely = cli.pod("lonely", on="a", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": ZONE, "labelSelector": {}}]}})
        why, _ = self.why([*objects, lonely], "a2")
        self.assertEqual((why[0]["reason"], why[0]["pod"]), ("AntiAffinityOfPod", cli.reference("default/lonely")))

    def test_which_pods_an_affinity_selects(self):
        """A pod that all terms of an affinity select, or one that a term of an anti-affinity does; where namespaces matter, of these."""
        def term(key=ZONE, **more):
            return {"topologyKey": key, **more}

        def labels(**pairs):
            return {"labelSelector": {"matchLabels": pairs}}
        objects = [cli.node("a", labels={ZONE: "x"}), cli.pod("db", on="a", labels={"app": "db"}),
                   cli.pod("web", on="a", labels={"app": "web"}, namespace="shop")]
        for terms, wants, found in (
                ([term(**labels(app="db")), term(**labels(app="web"))], "app=db and app=web", "in namespace default"),
                ([term(**labels(app="web"))], "app=web", "in namespace default"),
                ([term(**labels(app="web"), namespaces=["batch"])], "app=web of namespace batch", "anywhere"),
                ([term(**labels(app="x"), namespaces=["a", "b"], namespaceSelector={"matchLabels": {"team": "t"}})],
                 "app=x of namespaces a, b and those with team=t", "anywhere"),
                ([term(**labels(app="x"), namespaceSelector={})], "app=x of any namespace", "anywhere"),
                ([term(labelSelector={}, namespaces=["batch"])], "any labels of namespace batch", "anywhere"),
                ([term()], "labels that no pod has", "in namespace default")):
            why, _ = self.why(objects, "a", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
            self.assertEqual((why[0]["wants"], why[0]["sentence"]),
                             (wants, "pod affinity wants a pod with %s in the same %s, there is none %s" % (wants, ZONE, found)))
        why, _ = self.why(objects, "a", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            term(**labels(app="db")), term(**labels(app="web"))]}})
        self.assertEqual(why[0]["wants"], "app=db or app=web")

    CLAIMED = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}

    @staticmethod
    def volume(labels=None, **spec):
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "labels": labels or {}},
                "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                         "claimRef": {"namespace": "default", "name": "data"}, **spec}}

    @staticmethod
    def claim(mode="ReadWriteOnce", bound=True, **spec):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data", "namespace": "default",
                             "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}},
                "spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, **spec,
                         **({"volumeName": "v"} if bound else {})},
                "status": {"phase": "Bound" if bound else "Pending"}}

    def test_volume_zone(self):
        objects = [cli.node("a", labels={ZONE: "x"}), self.volume(labels={ZONE: "y"}), self.claim()]
        why, _ = self.why(objects, "a", **self.CLAIMED)
        self.assertEqual((why[0]["reason"], why[0]["key"], why[0]["wants"], why[0]["has"]), ("VolumeZone", ZONE, "y", "x"))

    def test_volume_affinity(self):
        terms = [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]
        objects = [cli.node("a", labels={"rack": "r2"}), self.volume(nodeAffinity={"required": {"nodeSelectorTerms": terms}}),
                   self.claim()]
        why, groups = self.why(objects, "a", **self.CLAIMED)
        self.assertEqual((why[0]["plugin"], why[0]["reason"], why[0]["key"]), ("VolumeBinding", "VolumeAffinity", "rack"))
        self.assertEqual(groups, ["volume v wants rack In (r1), it has r2"])

    def test_volumes_that_are_not_there(self):
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
                   "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        why, groups = self.why([cli.node("a"), storage, self.claim(bound=False, storageClassName="local")], "a", **self.CLAIMED)
        self.assertEqual((why[0]["reason"], why[0]["key"], why[0]["wants"]), ("VolumeMatch", "data", "local"))
        self.assertEqual(groups, ["no volume matches claim data, and storage class local makes none"])

    def test_claims_that_are_not_bound(self):
        """No node is looked at; what lacks is a claim."""
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "early"},
                   "provisioner": "csi.example.com", "volumeBindingMode": "Immediate"}
        for more, sentence in (
                ({"storageClassName": "early"}, "claim data has no volume, and its storage class early does not wait for a pod "
                 "(volumeBindingMode is not WaitForFirstConsumer)"),
                ({"storageClassName": "none"}, "claim data has no volume, and its storage class none does not exist"),
                ({"storageClassName": ""}, "claim data has no volume, and no storage class"),
                ({"volumeName": "v"}, "claim data names volume v and is not bound to it")):
            objects = [cli.node("a"), storage, self.claim(bound=False, **more), cli.pod("p", **self.CLAIMED)]
            found = self.explain(objects, "p")
            [lack] = found["preFilter"]["why"]
            self.assertEqual((lack["plugin"], lack["reason"], lack["key"], lack["sentence"]),
                             ("VolumeBinding", "ClaimNotBound", "data", sentence))
            path = self.write("c.json", objects)
            for args in ("p",), ():
                self.assertIn(sentence, " ".join(self.berth("explain", "-f", path, *args).out.split()))
        self.assertEqual(self.explain(CLUSTER, "p")["preFilter"]["why"], [])

    def test_volumes_in_use(self):
        objects = [cli.node("a"), cli.node("b"), self.volume(accessModes=["ReadWriteOncePod"]), self.claim("ReadWriteOncePod"),
                   cli.pod("user", on="b", **self.CLAIMED)]
        why, groups = self.why(objects, "a", **self.CLAIMED)
        self.assertEqual((why[0]["reason"], why[0]["key"], why[0]["pod"]),
                         ("VolumeInUse", "data", cli.reference("default/user")))
        self.assertEqual(groups, ["claim data is ReadWriteOncePod and in use (such as default/user)"])

    def test_volume_limits(self):
        limits = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a"},
                  "spec": {"drivers": [{"name": "disk.csi", "nodeID": "a", "allocatable": {"count": 1}}]}}
        attached = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "t"},
                    "spec": {"attacher": "disk.csi", "nodeName": "a", "source": {"persistentVolumeName": "other"}}}
        other = self.volume(csi={"driver": "disk.csi", "volumeHandle": "h2"}, claimRef=None)
        other["metadata"]["name"] = "other"
        objects = [cli.node("a"), limits, attached, other, self.volume(csi={"driver": "disk.csi", "volumeHandle": "h1"}),
                   self.claim()]
        why, _ = self.why(objects, "a", **self.CLAIMED)
        self.assertEqual((why[0]["resource"], why[0]["needs"], why[0]["free"], why[0]["allocatable"]),
                         ("volumes of disk.csi", 1, 0, 1))


    @staticmethod
    def devices(node, names):
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "of-" + node},
                "spec": {"driver": "d", "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                         "devices": [{"name": name} for name in names]}}

    @staticmethod
    def device_claim(name, count=None, **status):
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": {
                    "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count or 1}}]}}, "status": status}

    def test_devices(self):
        gpu = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
        only_a = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}
        taken = self.device_claim("taken", allocation={"nodeSelector": only_a, "devices": {"results": [
            {"request": "r", "driver": "d", "pool": "a", "device": "a1"}]}})
        wants = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
        objects = [cli.node("a"), cli.node("b"), cli.node("none"), gpu, self.devices("a", ["a1", "a2", "a3"]), self.devices("b", ["b1"]),
                   self.device_claim("c", 3), taken]
        why, groups = self.why(objects, "a", **wants)
        self.assertEqual([(row["resource"], row["needs"], row["free"], row["allocatable"], row["key"], row["wants"]) for row in why],
                         [("devices of class gpu", 3, 2, 3, "c", "r")])
        self.assertEqual(groups, ["Insufficient devices of class gpu: needs 3; most free is 2 on a, the largest has 3"])
        picky = self.device_claim("c")
        picky["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "device.driver == 'other'"}}]
        _, groups = self.why([cli.node("a"), gpu, self.devices("a", ["a1"]), picky], "a", **wants)
        self.assertEqual(groups, ["Insufficient matching devices of class gpu: needs 1, has none"])
        why, _ = self.why(objects, "b", resourceClaims=[{"name": "c", "resourceClaimName": "taken"}])
        self.assertEqual((why[0]["reason"], why[0]["sentence"]), ("ClaimNodes", "claim taken wants metadata.name In (a), it has b"))


class OneNode(cli.Case):
    """--node: what every plugin says about a node."""

    OBJECTS = [cli.node("a", cpu="1", labels={"disk": "hdd"}, taints=[{"key": "k", "effect": "NoSchedule"}]),
               cli.node("b", labels={"disk": "ssd"}), cli.node("c", cpu="8", labels={"disk": "ssd"}),
               cli.pod("p", cpu="2", nodeSelector={"disk": "ssd"})]

    def test_every_plugin_answers(self):
        node = self.explain(self.OBJECTS, "p", "--node", "a")["node"]
        self.assertEqual((node["name"], node["feasible"], node["otherwise"]), ("a", False, None))
        answers = {row["plugin"]: row for row in node["filters"]}
        self.assertEqual([name for name, row in answers.items() if row["status"] not in ("Success", "Skip")],
                         ["TaintToleration", "NodeAffinity", "NodeResourcesFit"])
        self.assertEqual(answers["NodePorts"]["status"], "Skip")
        self.assertEqual(answers["NodeResourcesFit"]["why"][0]["needs"], 2000)
        self.assertIsNone(self.explain(self.OBJECTS, "p")["node"])

    def table(self, node, objects=None):
        result = self.berth("explain", "-f", self.write("c.json", objects or self.OBJECTS), "p", "--node", node)
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def test_table(self):
        text = self.table("a")
        self.assertIn("a cannot take it: 3 of 14 plugins reject it.", text)
        self.assertRegex(text, r"NodeAffinity +rejects +nodeSelector wants disk=ssd, it has hdd\n")
        self.assertIn("Nothing to check for this pod: NodePorts, ", text)

    def test_scores_beside_the_best(self):
        text = self.table("b")
        self.assertIn("b can take it, but others are better.", text)
        self.assertRegex(text, r"(?m)^  b +\d+ .*\n  c +\d+ ")
        self.assertRegex(text, r"Its total is \d+ lower: NodeResourcesFit made the difference, with \d+ less\.")
        self.assertIn("higher than that of the next best", self.table("c"))

    def test_victims(self):
        text = self.table("a", [cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0), cli.pod("p", cpu="2", priority=9)])
        self.assertIn("It would fit if these pods of lower priority were evicted: default/low.", text)

    def test_nodes_that_pre_filter_left_out(self):
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]}}}
        text = self.table("a", [cli.node("a"), cli.node("b"), cli.pod("p", affinity=affinity)])
        self.assertIn("node affinity wants metadata.name In (b), it has a", text)

    def test_unknown_node(self):
        self.refuse(self.berth("explain", "-f", self.write("c.json", [cli.node("node-a"), cli.pod("p")]), "p", "--node", "node-b"),
                    "there is no node node-b in the input; did you mean node-a?")


class WhichPod(cli.Case):
    def explain_pod(self, objects, *args):
        return self.berth("explain", "-f", self.write("c.json", objects), *args)

    def test_missing(self):
        self.refuse(self.explain_pod(CLUSTER, "default/q"), "no pod default/q", "did you mean default/p?")
        self.refuse(self.explain_pod([cli.node("n1")], "other/thing"), "no pod other/thing")

    def test_running(self):
        objects = [cli.node("a"), cli.node("b"), cli.pod("p", on="a", cpu="3")]
        found = self.explain(objects, "p")
        self.assertEqual((found["presentNode"], found["best"]), ("a", ["a", "b"]))
        self.assertEqual(found, self.explain(objects, "p", "--as-if-pending"))
        self.assertIsNone(self.explain([cli.node("a"), cli.pod("p")], "p")["presentNode"])

    def test_would_a_running_pod_be_chosen_again(self):
        running = cli.pod("p", on="a", cpu="3")
        for others, sentence in ([], "which would be chosen again."), ([cli.node("b")], "which is one of them."), \
                ([cli.node("b", cpu="64")], "which could take it again, with a total that is "):
            text = self.explain_pod([cli.node("a"), *others, running], "p").out
            self.assertRegex(text, r"(?m)^It would go to ")
            self.assertIn("It runs on a, " + sentence, text)
        text = self.explain_pod([cli.node("a", unschedulable=True), cli.node("b"), running], "p").out
        self.assertIn("It runs on a, which could not take it again: the node is cordoned (spec.unschedulable).", text)

    def names(self, objects, *args):
        """The pod that is explained, and the notes."""
        result = self.explain_pod(objects, *args)
        self.assertEqual(result.code, 0, result.err)
        return result.out.split()[0], result.err

    def test_names_as_with_kubectl(self):
        objects = [cli.node("a"), cli.pod("web", namespace="shop"), cli.pod("web"), cli.pod("db", namespace="shop"),
                   cli.pod("x", namespace="pod")]
        for args, wanted in ((["web"], "default/web"), (["pod/web"], "default/web"), (["-n", "shop", "web"], "shop/web"),
                             (["-n", "shop", "pod/web"], "shop/web"), (["po/shop/web"], "shop/web"), (["shop/web"], "shop/web"),
                             (["pods/shop/web", "--namespace", "shop"], "shop/web"), (["pod", "web"], "default/web"),
                             (["-n", "shop", "pods", "web"], "shop/web"), (["po", "shop/web"], "shop/web")):
            with self.subTest(args=args):
                self.assertEqual(self.names(objects, *args), (wanted, ""))
        self.assertEqual(self.names(objects, "db"), ("shop/db", "berth: note: pod/db is in namespace shop\n"))
        self.refuse(self.explain_pod(objects, "-n", "default", "db"), "no pod default/db")
        self.refuse(self.explain_pod(objects, "-n", "default", "shop/db"), "not in the namespace of -n, default")
        self.refuse(self.explain_pod(objects, "a/b/c"), "expected POD, NAMESPACE/POD, KIND/NAME")
        self.refuse(self.explain_pod(objects, "web", "db"), "explain wants one pod; it got 2")
        twice = [cli.node("a"), cli.pod("p", namespace="x"), cli.pod("p", namespace="y")]
        self.refuse(self.explain_pod(twice, "p"), "in several namespaces (x, y); -n says which")

    def test_workloads(self):
        running = [cli.pod("web-1", on="a", namespace="shop", owner=("ReplicaSet", "web-5d")),
                   cli.pod("db-0", on="a", namespace="shop", owner=("StatefulSet", "db"))]
        objects = [cli.node("a"), cli.workload("Deployment", "web", namespace="shop", cpu="3", replicas=2),
                   cli.workload("StatefulSet", "db", namespace="shop", cpu="2", replicas=1),
                   cli.workload("DaemonSet", "agent", namespace="shop", pod_spec_more={"nodeSelector": {"x": "y"}}),
                   cli.workload("Job", "report", namespace="shop", completions=1), *running]
        for args, name in ((["deploy/web"], r"shop/web-\w+-\w{5}"), (["-n", "shop", "deployments.apps/web"], r"shop/web-\w+-\w{5}"),
                           (["sts/shop/db"], "shop/db-1"), (["ds/agent"], r"shop/agent-\w{5}"), (["job/report"], r"shop/report-\w{5}")):
            with self.subTest(args=args):
                found, notes = self.names(objects, *args)
                self.assertRegex(found, "^%s$" % name)
                self.assertIn("%s stands for a pod of " % found, notes)
        self.assertIn("nodeSelector wants x=y", self.explain_pod(objects, "ds/agent").out)
        self.refuse(self.explain_pod(objects, "deploy/wbe"), "no Deployment default/wbe")
        self.refuse(self.explain_pod(objects, "-n", "shop", "web"), "did you mean deploy/web?")

    def test_deployment_that_was_not_listed(self):
        sets = [cli.workload("ReplicaSet", name, namespace="shop", cpu=cpu, replicas=0, meta_more={
            "creationTimestamp": "2026-01-0%dT00:00:00Z" % day,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True, "uid": ""}]})
            for day, (name, cpu) in enumerate((("web-old", "1"), ("web-new", "9")), 1)]
        result = self.explain_pod([cli.node("a"), *sets], "deploy/web")
        self.assertRegex(result.out, r"^shop/web-new-\w{5} ")
        self.assertIn("needs 9", result.out)

    def test_deferred_resize(self):
        status = {"phase": "Running", "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]}
        objects = [cli.node("a"), cli.node("b"), cli.pod("low", on="a", cpu="2", priority=0),
                   cli.pod("p", on="a", cpu="3", priority=9, status=status, nodeSelector={"zone": "z"})]
        gate = "--feature-gates=InPlacePodVerticalScalingSchedulerPreemption="
        release = "--emulated-version=1.37"
        found = self.explain(objects, "p", release, gate + "true")
        self.assertEqual(cli.by_node(found)["a"]["reasons"], ["Insufficient cpu"])
        self.assertEqual(found["preemption"]["candidates"],
                         {"a": {"victims": ["default/low"], "pdbViolations": 0}})
        self.assertEqual(self.explain(objects[:2] + objects[3:], "p", release, gate + "true")["best"], ["a"])
        self.assertEqual(self.explain(objects, "p", release, gate + "false"), self.explain(objects, "p", release, gate + "true",
                                                                                           "--as-if-pending"))
        pending = self.explain(objects, "p", release, gate + "true", "--as-if-pending")
        self.assertEqual(cli.by_node(pending)["b"]["reasons"], ["node(s) didn't match Pod's node affinity/selector"])

    def test_gates_of_requests(self):
        pod = cli.pod("p", resources={"requests": {"cpu": "5"}}, containers=[{"name": "c", "resources": {"requests": {"cpu": "1"}}}])
        objects = [cli.node("a", cpu="4"), pod]
        off = "--feature-gates=PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"
        needing = ",PodLevelResourcesFixDefaulting=false,PodLevelResourcesFixKubeletQOSClass=false"
        for release, gates in ("1.36", off), ("1.37", off + needing):
            with self.subTest(release=release):
                self.assertEqual(cli.by_node(self.explain(objects, "p", "--emulated-version", release))["a"]["reasons"],
                                 ["Insufficient cpu"])
                self.assertEqual(self.explain(objects, "p", "--emulated-version", release, gates)["best"], ["a"])

    def test_claim_whose_devices_are_not_ready_in_time(self):
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default"},
                 "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
                 "status": {"allocation": {"allocationTimestamp": "2026-01-01T00:00:00Z", "devices": {"results": [
                     {"request": "r", "driver": "d", "pool": "p", "device": "v", "bindingConditions": ["ready"]}]}}}}
        objects = [cli.node("a"), claim, cli.pod("p", resourceClaims=[{"name": "c", "resourceClaimName": "c"}])]
        self.assertEqual(self.explain(objects, "p", "--now", "2026-01-01T00:10:00Z")["best"], ["a"])
        for time in ["--now", "2026-01-01T00:10:01Z"], []:
            self.assertEqual(cli.by_node(self.explain(objects, "p", *time))["a"]["reasons"],
                             ["resourceclaim not available on the node"])
        self.refuse(self.explain_pod(objects, "--now", "noon", "p"), "--now: expected a time", "noon")

    def test_other_scheduler(self):
        self.refuse(self.explain_pod([cli.node("a"), cli.pod("p", schedulerName="mine")], "p"), "mine")

    def test_pod_of_a_workload(self):
        objects = [cli.node("a"), cli.workload("StatefulSet", "db", replicas=2)]
        self.assertEqual(self.explain(objects, "db-1")["best"], ["a"])

    def test_profile_of_the_pod(self):
        config = self.write("config.json", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "mine", "plugins": {"score": {"disabled": [{"name": "*"}]}}}]}))
        found = self.explain([cli.node("a"), cli.pod("p", schedulerName="mine")], "p", "--config", config)
        self.assertEqual(cli.by_node(found)["a"], {"feasible": True, "scores": {}, "extenders": None, "total": 1})


class Cost(cli.Case):
    def test_plugins(self):
        cost = self.explain(CLUSTER, "p", "--timing")["cost"]
        plugins = {row["plugin"]: row for row in cost["plugins"]}
        self.assertEqual(plugins["NodeUnschedulable"]["points"], ["PreFilter", "Filter"])
        self.assertEqual(plugins["NodeUnschedulable"]["calls"], 4)
        self.assertIn("Score", plugins["NodeResourcesFit"]["points"])
        self.assertGreater(cost["microseconds"], 0)
        self.assertLessEqual(sum(row["share"] for row in cost["plugins"]), 1.01)
        for row in cost["plugins"]:
            self.assertIsNone(row["file"])
        self.assertEqual(cost["extenders"], [])

    def test_preemption_is_a_plugin(self):
        cost = self.explain([cli.node("a", cpu="1"), cli.pod("p", cpu="2")], "p", "--timing")["cost"]
        self.assertIn(["PostFilter"], [row["points"] for row in cost["plugins"] if row["plugin"] == "DefaultPreemption"])

    def extended(self, *args):
        process = subprocess.Popen([sys.executable, EXTENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for close in (process.wait, process.stdout.close, process.stdin.close):
            self.addCleanup(close)
        url = "http://127.0.0.1:%d/x" % int(process.stdout.readline())
        config = self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                            "kind: KubeSchedulerConfiguration\nextenders:\n"
                            "- {urlPrefix: '%s', filterVerb: filter, prioritizeVerb: prioritize, weight: 2}\n" % url)
        pod = cli.pod("p")
        pod["metadata"]["annotations"] = {"extender.example/refuse": "b=no license", "extender.example/scores": "c=10"}
        objects = [cli.node("a"), cli.node("b"), cli.node("c"), pod]
        self.table = self.berth("explain", "-f", self.write("c.json", objects), "--config", config, *args, "p").out
        return url, self.explain(objects, "p", "--timing", "--config", config, *args)

    def test_extenders_are_called(self):
        url, found = self.extended()
        self.assertEqual(found["best"], ["c"])
        self.assertEqual((cli.by_node(found)["c"]["extenders"], cli.by_node(found)["a"]["extenders"]), (200, 0))
        self.assertEqual(cli.by_node(found)["c"]["total"], sum(cli.by_node(found)["c"]["scores"].values()) + 200)
        self.assertEqual(cli.by_node(found)["b"]["reasons"], ["no license"])
        self.assertRegex(self.table, r"(?m)^ +1  an extender  no license  b$")
        [extender] = found["cost"]["extenders"]
        self.assertEqual((extender["url"], extender["asked"], extender["calls"], extender["failures"]), (url, True, 2, 0))
        self.assertGreater(extender["share"], 0)

    def test_extenders_are_named(self):
        url, found = self.extended("--no-extenders")
        self.assertEqual(found["best"], ["a", "b", "c"])
        self.assertEqual(found["cost"]["extenders"], [{"url": url, "asked": False}])
        self.assertIsNone(cli.by_node(found)["a"]["extenders"])


class Server(cli.Case):
    """Errors without a running scheduler; tests/e2e has one."""
    URL = "https://127.0.0.1:1"

    def test_help(self):
        page = self.berth("explain", "--help").out
        for word in ("--server URL", "--insecure-skip-tls-verify", "/debug/berth/explain"):
            self.assertIn(word, page)

    def test_options_that_exclude_each_other(self):
        for more in (["-f", "x"], ["--config", "x"], ["--plugin", "x.so"], ["--as-if-pending"], ["--no-extenders"],
                     ["--now", "2026-01-01T00:00:00Z"]):
            self.refuse(self.berth("explain", "--server", self.URL, "p", *more), "--server")
        self.refuse(self.berth("explain", "--insecure-skip-tls-verify", "-f", "x", "p"), "goes with --server")
        self.refuse(self.berth("explain", "--server", self.URL), "wants one pod")

    def test_without_an_address(self):
        """The next word is one if it has a colon; a pod has none."""
        for args in (["p", "--server"], ["--server", "p"], ["--server", "--top", "3", "p"], ["p", "--server", "--top", "3"],
                     ["--server", "pod", "p"], ["--server=", "p"]):
            result = self.berth("explain", *args, env={"KUBECONFIG": "/dev/null"})
            self.assertEqual((result.code, result.out), (1, ""), args)
            self.assertTrue(result.err.startswith("berth: https://127.0.0.1:10259: "), result.err)
        for args in ["--server", "127.0.0.1:1", "p"], ["--server=127.0.0.1:1", "p"], ["p", "--server", "127.0.0.1:1"]:
            self.assertIn("https://127.0.0.1:1: ", self.berth("explain", *args).err)
        self.refuse(self.berth("explain", "--server", "--insecure-skip-tls-verify"), "wants one pod")

    def test_connection_refused(self):
        config = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "t"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:2"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        result = self.berth("explain", "--server", self.URL, "--kubeconfig", config, "--insecure-skip-tls-verify", "p")
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertTrue(result.err.startswith("berth: " + self.URL + ": "), result.err)
        self.assertEqual(result.err.count("\n"), 1)


class Heard(live.Handler):
    def do_GET(self):
        self.server.heard.append(self.headers.get("Authorization"))
        self.answer(200 if self.headers.get("Authorization") else 403, {"kind": "Status", "message": "no"})


class Credentials(cli.Case):
    """Credentials go to a server whose certificate was checked, or where a second flag says so."""

    def setUp(self):
        super().setUp()
        self.pair = live.make_pair(self.folder.name, "scheduler")
        self.server = self.enterContext(live.api_server(self.pair, Heard))
        self.server.heard = []
        self.url = "https://127.0.0.1:%d" % self.server.server_address[1]
        self.program = self.write("program", """#!/bin/sh
touch %s
echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "t"}}'
""" % self.path("ran"))
        os.chmod(self.program, 0o700)
        self.users = {
            "token": {"token": "t"},
            "file": {"tokenFile": self.write("token", "t")},
            "password": {"username": "u", "password": "p"},
            "program": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": self.program,
                                 "interactiveMode": "Never"}},
        }

    def ask(self, user, *flags, **cluster):
        """The headers that the server received, and what berth said."""
        config = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": user}],
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:2", **cluster}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        self.server.heard.clear()
        result = self.berth("explain", "--server", self.url, "--kubeconfig", config, *flags, "p")
        return list(self.server.heard), result

    def test_not_sent_to_an_unverified_server(self):
        for name, user in self.users.items():
            with self.subTest(name):
                heard, result = self.ask(user, "--insecure-skip-tls-verify")
                self.assertEqual(heard, [None])
                self.assertEqual(result.code, 1)
                self.assertIn("were not sent", result.err)
                self.assertIn("--certificate-authority FILE", result.err)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_not_sent_where_the_kubeconfig_does_not_verify(self):
        """That is about the API server, and --server is another one."""
        heard, _ = self.ask(self.users["token"], **{"insecure-skip-tls-verify": True})
        self.assertEqual(heard, [None])

    def test_sent_where_a_second_flag_says_so(self):
        for name, user in self.users.items():
            with self.subTest(name):
                heard, _ = self.ask(user, "--insecure-skip-tls-verify", "--insecure-send-credentials")
                self.assertEqual(heard, ["Basic dTpw" if name == "password" else "Bearer t"])

    def test_sent_to_a_pinned_certificate(self):
        heard, _ = self.ask(self.users["token"], "--certificate-authority", self.pair[0])
        self.assertEqual(heard, ["Bearer t"])
        other, _ = live.make_pair(self.folder.name, "other")
        heard, result = self.ask(self.users["token"], "--certificate-authority", other)
        self.assertEqual((heard, result.code), ([], 1))
        self.assertIn("--certificate-authority FILE", result.err)
        self.assertNotIn("insecure", result.err)

    def test_options(self):
        for option in (["--insecure-send-credentials"], ["--certificate-authority", "x"]):
            self.refuse(self.berth("explain", *option, "-f", "x", "p"), option[0] + " goes with --server")
        _, result = self.ask({}, "--certificate-authority", self.pair[0], "--insecure-skip-tls-verify")
        self.assertIn("exclude each other", result.err)


class Table(cli.Case):
    def table(self, objects, *args, **more):
        result = self.berth("explain", "-f", self.write("c.json", objects), *args, **more)
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def test_sections(self):
        self.assertNotIn("This evaluation took", self.table(CLUSTER, "p"))
        text = self.table(CLUSTER, "p", "--timing")
        for words in ("It goes to big", "NODE", "TOTAL", "TAINTS", "FIT", "REJECTED", "Insufficient cpu",
                      "TaintToleration", "priority 5", "This evaluation took"):
            self.assertIn(words, text)
        self.assertNotIn("\033", text)

    def test_what_made_the_difference(self):
        objects = [cli.node("a", cpu="4"), cli.node("b", cpu="8"), cli.pod("p", cpu="2")]
        self.assertRegex(self.table(objects, "p"), r"NodeResourcesFit made the difference: b has \d+ more there than a, the next "
                         r"best, whose total is \d+ lower\.")
        found = self.explain(objects, "p")["decided"]
        self.assertEqual((found["node"], found["next"], found["plugin"]), ("b", "a", "NodeResourcesFit"))
        self.assertGreaterEqual(found["difference"], 1)
        same = [cli.node("a"), cli.node("b"), cli.pod("p")]
        self.assertIsNone(self.explain(same, "p")["decided"])
        self.assertNotIn("made the difference", self.table(same, "p"))

    def test_equal_nodes_are_one_row(self):
        objects = [cli.node("n%02d" % i, cpu=cpu) for i, cpu in enumerate(["4", "8", "4", "8", "8"])] + [cli.pod("p", cpu="2")]
        text = self.table(objects, "p")
        self.assertRegex(text, r"(?m)^  NODE  NODES  TOTAL ")
        self.assertRegex(text, r"(?m)^  n01 +3 +\d+ .*\n  n00 +2 +\d+ ")
        self.assertNotIn("DEVICES", text)  # it gave nothing to any node

    def test_rejected_nodes_are_grouped(self):
        text = self.table([cli.node("n%02d" % i, cpu="1") for i in range(12)] + [cli.pod("p", cpu="2")], "p")
        self.assertIn("No node can take it", text)
        self.assertRegex(text, r"(?m)^ +12  NodeResourcesFit  Insufficient cpu: needs 2; most free is 1 on n00, "
                         r"the largest has 1  n00$")

    def test_top(self):
        text = self.table([cli.node("n%02d" % i, cpu="%dm" % (300000 / (10 + 3 * i))) for i in range(30)] +
                          [cli.pod("p", cpu="3")], "p", "--top", "5")
        self.assertIn("n04", text)
        self.assertNotIn("n05", text)
        self.assertIn("and 25 more", text)

    def test_victims(self):
        text = self.table([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                           cli.pod("p", cpu="2", priority=9)], "p")
        self.assertIn("default/low", text)
        self.assertIn("PODS TO EVICT", text)

    def test_width_follows_columns(self):
        objects = [cli.node("n%d" % i, cpu="1", taints=[{"key": "k%d" % i, "effect": "NoSchedule"}] if i % 2 else None)
                   for i in range(4)] + [cli.pod("p", cpu="2")]
        for line in self.table(objects, "p", env={"COLUMNS": "80"}).splitlines():
            self.assertLessEqual(len(line), 80)

    def test_wide_cells_wrap_on_a_screen(self):
        wants = {"example.com/%s" % name: "1" for name in ("first", "second", "third", "fourth")}
        pod = cli.pod("p")
        pod["spec"]["containers"][0]["resources"] = {"requests": wants, "limits": wants}
        objects = [cli.node("a"), cli.node("another-node"), pod]
        reasons = ["Insufficient %s: needs 1, they have none" % name for name in sorted(wants)]
        screen = self.table(objects, "p", env={"COLUMNS": "80"}).split("REJECTED")[1].splitlines()
        below = screen[0].index("WHY") + len("REJECTED")  # the text before the heading was removed
        self.assertRegex(screen[1], r"^ +2  NodeResourcesFit  Insufficient \S+: .*  a$")
        self.assertEqual(screen[2][:below].strip(), "")
        column = " ".join(line[below + 2:].removesuffix("  a").strip() for line in screen[1:9] if line.startswith(" "))
        for reason in reasons:
            self.assertIn(reason, column)
        self.assertLessEqual(max(map(len, screen)), 80)
        self.assertIn("; ".join(reasons) + "  a\n", self.table(objects, "p"))

    def test_no_terminal_codes_from_names(self):
        evil = cli.pod("p", cpu="2", nodeSelector={"a": "b"})
        evil["metadata"]["namespace"] = "x\033[2Jy"
        self.assertNotIn("\033", self.table([cli.node("a"), evil], "x\033[2Jy/p"))


if __name__ == "__main__":
    cli.main()
