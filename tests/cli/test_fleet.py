"""`berth cluster --nodes-file` and `--replay-dump`: clusters that begin with the nodes of a file, or with another cluster."""
import json
import os

import cli
import running_cluster

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "nodes.yaml")

NODES = """
apiVersion: v1
kind: Node
count: 4
zones: [east-a, east-b, east-c]
metadata:
  name: big-{}
  labels: {rack: "rack-{}-in-{zone}"}
spec:
  taints: [{key: dedicated, value: big, effect: NoSchedule}]
status:
  capacity: {cpu: "32", memory: 128Gi, example.com/gpu: "8"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
spec:
  nodeName: big-{}
  driver: gpu.example.com
  devices:
  - {name: "gpu-{}", count: 3, attributes: {model: {string: x1}}}
---
{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {
  "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}}
---
apiVersion: v1
kind: Node
metadata: {name: plain}
"""


def template(text, **more):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": text}, **more}


class NodesFile(cli.Case):
    def test_nodes_zones_devices(self):
        cluster = running_cluster.Cluster(self, "--nodes-file", self.write("nodes.yaml", NODES))
        self.assertIn("with 5 nodes", cluster.line)
        nodes = {node["metadata"]["name"]: node for node in cluster.get("/api/v1/nodes")["items"]}
        self.assertEqual(set(nodes), {"big-0", "big-1", "big-2", "big-3", "plain"})
        zones = [nodes["big-%d" % i]["metadata"]["labels"]["topology.kubernetes.io/zone"] for i in range(4)]
        self.assertEqual(zones, ["east-a", "east-b", "east-c", "east-a"])
        big = nodes["big-1"]
        self.assertEqual(big["metadata"]["labels"]["rack"], "rack-1-in-east-b")
        self.assertEqual(big["metadata"]["labels"]["kubernetes.io/hostname"], "big-1")
        self.assertEqual(big["status"]["allocatable"], {"cpu": "32", "memory": "128Gi", "example.com/gpu": "8", "pods": "110"})
        self.assertIn("dedicated", running_cluster.taints(big, "NoSchedule"))
        self.assertEqual(running_cluster.condition(big, "Ready")["status"], "True")
        self.assertEqual(len({node["spec"]["podCIDR"] for node in nodes.values()}), 5)
        slices = {s["spec"]["nodeName"]: s for s in cluster.get("/apis/resource.k8s.io/v1/resourceslices")["items"]}
        self.assertEqual(set(slices), {"big-0", "big-1", "big-2", "big-3"})
        self.assertEqual([device["name"] for device in slices["big-2"]["spec"]["devices"]], ["gpu-0", "gpu-1", "gpu-2"])
        self.assertEqual(slices["big-2"]["spec"]["pool"], {"name": "big-2", "generation": 1, "resourceSliceCount": 1})
        self.assertEqual(slices["big-2"]["metadata"]["ownerReferences"][0]["uid"], nodes["big-2"]["metadata"]["uid"])
        # The scheduler uses all of it.
        cluster.create("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", {
            "metadata": {"name": "two"}, "spec": {"devices": {"requests": [
                {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}}})
        tolerations = [{"key": "dedicated", "operator": "Exists"}]
        cluster.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "devices"}, "spec": {
            "tolerations": tolerations, "resourceClaims": [{"name": "c", "resourceClaimName": "two"}],
            "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "c"}]}}]}})
        cluster.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "extended"}, "spec": {
            "tolerations": tolerations, "nodeSelector": {"topology.kubernetes.io/zone": "east-c"},
            "containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "8"}}}]}})
        self.assertTrue(cluster.until_running("devices")["spec"]["nodeName"].startswith("big-"))
        self.assertEqual(cluster.until_running("extended")["spec"]["nodeName"], "big-2")

    def test_the_example(self):
        cluster = running_cluster.Cluster(self, "--nodes-file", EXAMPLE, "--nodes", "1")
        names = {node["metadata"]["name"] for node in cluster.get("/api/v1/nodes")["items"]}
        self.assertEqual(len(names), 13)
        self.assertIn("gpu-1", names)
        self.assertIn("node-0", names)  # --nodes adds to the file

    def test_what_is_wrong_is_named(self):
        slice_of = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": {
            "nodeName": "a-{}", "driver": "d", "devices": [{"name": "g", "count": 2}]}}
        cases = [
            ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}", ":2:7: kind: expected a v1 Node"),
            ("apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  lables: {}",
             ":5:11: metadata.lables: expected a field of a Node"),
            ("apiVersion: v1\nkind: Node\ncount: many\nmetadata: {name: a}",
             ":3:8: count: expected a whole number, got a string"),
            ("apiVersion: v1\nkind: Node\ncount: 100001\nmetadata: {name: a}",
             ":3:8: count: expected a number from 0 to 100000"),
            ("apiVersion: v1\nkind: Node\ncount: 2\nmetadata: {name: a}", ":4:18: metadata.name: expected {} in it"),
            ("apiVersion: v1\nkind: Node\nzones: a\nmetadata: {name: a}", ":3:8: zones: expected a list of names"),
            ("apiVersion: v1\nkind: Node\nzones: [1]\nmetadata: {name: a}", ":3:9: zones[0]: expected a name, got a number"),
            ("apiVersion: v1\nkind: Node\nmetadata: {}", ": metadata.name: expected a name"),
            ("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus:\n  capacity:\n    cpu: four",
             ":6:10: status.capacity[cpu]: expected a quantity"),
            ("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec:\n  taints: {}", ":5:11: spec.taints: expected a list"),
            (json.dumps(template("a-0")) + json.dumps(template("a-{}", count=2)), ": metadata.name: expected another name"),
            (json.dumps(slice_of), "spec.devices[0].name: expected {} in it"),
            (json.dumps({**slice_of, "spec": {"nodeName": "a-{}", "driver": "d"}}),
             "spec.nodeName: expected the metadata.name of a"),
            ("apiVersion: v1\nkind: Node\nmetadata: {name: Upper}", "metadata.name: Invalid value"),
            ("", ": expected at least one Node"),
            ("a: [", "nodes.yaml:"),
        ]
        for text, words in cases:
            with self.subTest(words):
                path = self.write("nodes.yaml", text)
                self.refuse(self.berth("cluster", "--kubeconfig", self.path("k"), "--nodes-file", path), path, words)
        self.refuse(self.berth("cluster", "--nodes-file", self.path("none.yaml")), "none.yaml: cannot be read")


def uid_of(name):
    return "00000000-0000-4000-8000-%012x" % (sum(ord(c) * 131 ** i for i, c in enumerate(name)) % 2**48)


def real(version, kind, name, owner=None, **more):
    """An object as a real API server would show it."""
    meta = {"name": name, "namespace": "default", "uid": uid_of(kind + name), "resourceVersion": "123456",
            "creationTimestamp": "2026-01-02T03:04:05Z", **more.pop("meta", {})}
    if kind in ("Node", "Namespace", "PriorityClass", "PersistentVolume", "StorageClass"):
        del meta["namespace"]
    if owner:
        owner_version, owner_kind, owner_name = owner
        meta["ownerReferences"] = [{"apiVersion": owner_version, "kind": owner_kind, "name": owner_name, "controller": True,
                                    "blockOwnerDeletion": True, "uid": uid_of(owner_kind + owner_name)}]
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}


def running(name, owner, on, labels):
    status = {"phase": "Running", "startTime": "2026-01-02T03:04:06Z", "qosClass": "Burstable", "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:07Z"}]}
    spec = {**cli.pod_spec(), "nodeName": on, "priority": 7, "restartPolicy": "Always",
            "tolerations": [{"operator": "Exists"}]}
    return real("v1", "Pod", name, owner, meta={"labels": labels}, spec=spec, status=status)


TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": cli.pod_spec()}


def cluster_of_another():
    hashed = {"metadata": {"labels": {"app": "web", "pod-template-hash": "77"}}, "spec": cli.pod_spec()}
    selector = {"matchLabels": {"app": "web"}}
    lost = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z"}]
    nodes = [{**cli.node(name), **real("v1", "Node", name), "spec": {"taints": lost} if name == "lost" else {},
              "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                         "conditions": [{"type": "Ready", "status": ready}]}}
             for name, ready in (("a", "True"), ("b", "True"), ("lost", "Unknown"))]
    return nodes + [
        real("v1", "Namespace", "default", status={"phase": "Active"}),
        real("scheduling.k8s.io/v1", "PriorityClass", "seven", value=7),
        real("apps/v1", "Deployment", "web", spec={"replicas": 2, "selector": selector, "template": TEMPLATE}),
        real("apps/v1", "ReplicaSet", "web-77", ("apps/v1", "Deployment", "web"), meta={"labels": {"pod-template-hash": "77"}},
             spec={"replicas": 2, "selector": selector, "template": hashed}),
        running("web-77-x", ("apps/v1", "ReplicaSet", "web-77"), "a", {"app": "web", "pod-template-hash": "77"}),
        running("web-77-y", ("apps/v1", "ReplicaSet", "web-77"), "b", {"app": "web", "pod-template-hash": "77"}),
        real("apps/v1", "StatefulSet", "db", meta={"generation": 1}, status={
            "observedGeneration": 1, "replicas": 1, "currentRevision": "db-5d", "updateRevision": "db-5d"},
             spec={"replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
                   "template": {"metadata": {"labels": {"app": "db"}}, "spec": cli.pod_spec()}}),
        running("db-0", ("apps/v1", "StatefulSet", "db"), "a", {"app": "db", "controller-revision-hash": "db-5d"}),
        real("apps/v1", "DaemonSet", "agent", meta={"generation": 1}, status={"observedGeneration": 1}, spec={
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": cli.pod_spec()}}),
        *(running("agent-" + node, ("apps/v1", "DaemonSet", "agent"), node, {"app": "agent", "controller-revision-hash": "6c"})
          for node in ("a", "b", "lost")),
        real("batch/v1", "Job", "once", spec={"template": {"spec": {**cli.pod_spec(), "restartPolicy": "Never"}}}),
        running("once-z", ("batch/v1", "Job", "once"), "b", {}),
        real("v1", "Pod", "waits", spec=cli.pod_spec(), status={"phase": "Pending"}),
        real("v1", "PersistentVolume", "disk", spec={
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"},
            "claimRef": {"namespace": "default", "name": "data", "uid": uid_of("PersistentVolumeClaimdata")}},
             status={"phase": "Bound"}),
        real("v1", "PersistentVolumeClaim", "data", spec={"volumeName": "disk", "accessModes": ["ReadWriteOnce"], "resources": {
            "requests": {"storage": "1Gi"}}}, status={"phase": "Bound"}),
        real("policy/v1", "PodDisruptionBudget", "web", spec={"minAvailable": 1, "selector": selector}),
    ]


WEB = "/apis/apps/v1/namespaces/default/deployments/web"
BUDGET = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web"


class ReplayDump(cli.Case):
    def status(self, cluster, path):
        return cluster.get(path).get("status", {})

    def names(self, cluster, path):
        return sorted(thing["metadata"]["name"] for thing in cluster.get(path)["items"])

    def test_everything_is_as_it_was(self):
        objects = cluster_of_another()
        objects.append(real("autoscaling/v2", "HorizontalPodAutoscaler", "web", spec={}))
        objects.append(running("proxy-1", ("apps/v1", "DaemonSet", "proxy"), "a", {}))
        objects.append(real("v1", "ConfigMap", "settings", meta={"namespace": "elsewhere"}, data={"a": "b"}))
        cluster = running_cluster.Cluster(self, "--replay-dump", self.write("dump.json", objects))
        self.assertIn("with 3 nodes", cluster.line)
        self.assertEqual(cluster.until_running("waits")["metadata"]["uid"], uid_of("Podwaits"))
        self.assertIn(cluster.pod("waits")["spec"]["nodeName"], ("a", "b"))
        self.assertEqual(self.names(cluster, "/api/v1/namespaces/default/pods"),
                         ["agent-a", "agent-b", "agent-lost", "db-0", "once-z", "proxy-1", "waits", "web-77-x", "web-77-y"])
        self.assertEqual(self.names(cluster, "/apis/apps/v1/replicasets"), ["web-77"])
        pod = cluster.pod("web-77-x")
        was = objects[7]
        self.assertEqual(pod["metadata"]["name"], "web-77-x")
        for key in ("uid", "labels", "ownerReferences", "creationTimestamp"):
            self.assertEqual(pod["metadata"][key], was["metadata"][key])
        self.assertEqual((pod["spec"]["nodeName"], pod["spec"]["priority"]), ("a", 7))
        self.assertEqual(pod["status"]["startTime"], was["status"]["startTime"])
        self.assertEqual(cluster.get("/api/v1/persistentvolumes/disk")["status"]["phase"], "Bound")
        self.assertEqual(cluster.get("/api/v1/namespaces/default")["metadata"]["uid"], uid_of("Namespacedefault"))
        # Of sets, the revision that their pods have is that of the template.
        for name in "db-5d", "agent-6c":
            revision = cluster.get("/apis/apps/v1/namespaces/default/controllerrevisions/" + name)
            self.assertEqual(revision["data"]["spec"]["template"]["metadata"]["labels"]["app"], name[:-3])
        # A node that was lost stays so.
        cluster.until(lambda: "node.kubernetes.io/unreachable" in running_cluster.taints(cluster.node("lost"), "NoExecute"))
        # Controllers count the pods as their own.
        cluster.until(lambda: self.status(cluster, WEB).get("availableReplicas") == 2)
        cluster.until(lambda: self.status(cluster, BUDGET).get("expectedPods") == 2)
        cluster.delete(WEB)
        cluster.until(lambda: not cluster.pod("web-77-x") and not cluster.pod("web-77-y"))
        self.assertEqual(cluster.phase("once-z"), "Running")
        # What could not be taken, in a line each.
        warnings = "\n".join(cluster.warnings())
        self.assertIn("the server has no kind autoscaling/v2 HorizontalPodAutoscaler: 1, such as default/web", warnings)
        self.assertIn("a DaemonSet that owns a Pod is not in the dump, so the Pod has no owner: 1, such as default/proxy-1",
                      warnings)
        self.assertIn("a namespace that objects are in is not in the dump, so it was made: 1, such as elsewhere", warnings)
        self.assertEqual(len(cluster.warnings()), 3)
        self.assertTrue(cluster.pod("proxy-1"))

    def test_forms_and_a_second_dump(self):
        """Lines of JSON from standard input; the cluster's own dump makes the same cluster again."""
        lines = "\n".join(json.dumps(thing) for thing in cluster_of_another())
        first = running_cluster.Cluster(self, "--replay-dump", "-", stdin=lines)
        first.until_running("waits")
        first.until(lambda: self.status(first, WEB).get("availableReplicas") == 2)
        dump = [first.get(path) for path in ("/api/v1/nodes", "/api/v1/namespaces", "/api/v1/pods", "/apis/apps/v1/deployments",
                                             "/apis/apps/v1/replicasets", "/apis/apps/v1/statefulsets", "/apis/batch/v1/jobs",
                                             "/apis/apps/v1/daemonsets", "/apis/apps/v1/controllerrevisions",
                                             "/apis/scheduling.k8s.io/v1/priorityclasses")]
        pods = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in dump[2]["items"]}
        first.stop()
        second = running_cluster.Cluster(self, "--replay-dump", self.write("dump.json", "\n---\n".join(map(json.dumps, dump))))
        second.until(lambda: self.status(second, WEB).get("observedGeneration"))
        self.assertEqual({pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in second.pods()}, pods)
        self.assertEqual(second.warnings(), [])

    def test_uids_that_were_removed(self):
        """A dump that was cleaned up: owners without a uid, references with one, and the other way round."""
        objects = cluster_of_another()
        for thing in objects:
            if thing["kind"] in ("Deployment", "ReplicaSet"):
                del thing["metadata"]["uid"]
            if thing["kind"] == "ReplicaSet":
                del thing["metadata"]["ownerReferences"][0]["uid"]
        cluster = running_cluster.Cluster(self, "--replay-dump", self.write("dump.json", objects))
        cluster.until(lambda: self.status(cluster, WEB).get("availableReplicas") == 2)
        self.assertEqual(self.names(cluster, "/apis/apps/v1/replicasets"), ["web-77"])
        web = cluster.get("/apis/apps/v1/namespaces/default/replicasets/web-77")
        self.assertEqual(web["metadata"]["uid"], uid_of("ReplicaSetweb-77"))

    def test_written_by_hand(self):
        """The example of `berth simulate` has no uids, no conditions of pods, and not all priority classes."""
        cluster = running_cluster.Cluster(self, "--replay-dump", os.path.join(os.path.dirname(EXAMPLE), "cluster.yaml"))
        pods = {pod["metadata"]["name"]: pod for pod in cluster.pods()}
        self.assertEqual(pods["coredns-7d8f-x2k4q"]["spec"]["priority"], 2000000000)
        self.assertEqual(pods["nightly-training-8zv5t"]["spec"]["nodeName"], "gpu-a1")
        sets = "/apis/apps/v1/namespaces/kube-system/replicasets/coredns-7d8f"
        cluster.until(lambda: self.status(cluster, sets).get("readyReplicas") == 2)
        self.assertEqual({pod["metadata"]["name"] for pod in cluster.pods()}, set(pods))
        self.assertEqual(cluster.warnings(), [])

    def test_what_is_wrong_is_named(self):
        for text, words in (("apiVersion: v1\nkind: Pod\nmetadata: {}", ":1:1: metadata.name: expected the name of a Pod"),
                            ("", ": expected objects, as `kubectl get"), ("- 5", "expected a Kubernetes object"),
                            ("{", "dump.yaml:1:")):
            path = self.write("dump.yaml", text)
            self.refuse(self.berth("cluster", "--kubeconfig", self.path("k"), "--replay-dump", path), path, words)


if __name__ == "__main__":
    cli.main()
