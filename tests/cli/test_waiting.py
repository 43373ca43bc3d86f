"""`berth explain` without a pod: those that wait, a line each."""
import os
import re
import subprocess
import sys

import cli

EXTENDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "extender", "extender.py")


class Waiting(cli.Case):
    def explain_pod(self, objects, *args):
        return self.berth("explain", "-f", self.write("c.json", objects), *args)

    def test_waiting_pods(self):
        web = [cli.pod("web-%d" % i, cpu="1", labels={"app": "web"}, owner=("ReplicaSet", "web-5d")) for i in range(3)]
        objects = [cli.node("a"), cli.node("b", cpu="2"), cli.pod("on", on="a"), *web, cli.pod("big", cpu="9", namespace="shop"),
                   cli.pod("held", schedulingGates=[{"name": "g"}]), cli.pod("tolerant", cpu="1", tolerations=[{"operator": "Exists"}]),
                   cli.pod("theirs", schedulerName="other")]
        found = self.explain_pod(objects, "-o", "json").json
        self.assertEqual((found["kind"], found["left"]), ("PendingPods", 0))
        rows = {row["name"]: row for row in found["pods"]}
        self.assertEqual({name: (row["count"], row["feasible"]) for name, row in rows.items()},
                         {"web-0": (3, 2), "big": (1, 0), "held": (1, 2), "tolerant": (1, 2)})
        self.assertEqual(rows["big"]["sentence"], "2 of 2 nodes: Insufficient cpu: needs 9; most free is 3.9 on a, the largest has 4")
        self.assertTrue(rows["held"]["sentence"].startswith("held back: "))
        self.assertEqual(rows["web-0"]["sentence"], "2 nodes can take it, the best is a")
        text = self.explain_pod(objects).out
        self.assertRegex(text, r"(?m)^default/web-0 +3  2 nodes can take it")
        self.assertEqual([row["name"] for row in self.explain_pod(objects, "-n", "shop", "-o", "json").json["pods"]], ["big"])
        self.assertIn("and 3 more pods", self.explain_pod(objects, "--top", "1").out)
        for args, where in ((), ""), (("-n", "shop"), " in namespace shop"):
            self.assertEqual(self.explain_pod([cli.node("a"), cli.pod("on", on="a")], *args).out,
                             "No pod waits for a node%s.\n" % where)
        self.refuse(self.explain_pod(objects, "--node", "a"), "--node wants a pod")

    def test_waiting_pods_in_the_order_of_the_queue(self):
        objects = [cli.node("a"), cli.node("b"), cli.pod("later", created="2026-01-02T00:00:00Z"),
                   cli.pod("sooner", cpu="1", created="2026-01-01T00:00:00Z"), cli.pod("urgent", priority=9)]
        self.assertEqual([row["name"] for row in self.explain_pod(objects, "-o", "json").json["pods"]],
                         ["urgent", "sooner", "later"])

    def test_waiting_pods_of_controllers(self):
        """Those that would be created; a pod that exists is a row of its own."""
        claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}]
        labels = {"app": "web"}
        objects = [cli.node("a"), cli.node("b"), cli.workload("ReplicaSet", "web", labels=labels, replicas=3),
                   cli.pod("web-1", labels=labels, owner=("ReplicaSet", "web")), cli.workload("DaemonSet", "agent"),
                   cli.workload("Deployment", "big", cpu="9", namespace="shop", replicas=2),
                   cli.workload("StatefulSet", "db", replicas=1, volumeClaimTemplates=claims)]
        result = self.explain_pod(objects, "-o", "json")
        rows = {re.sub(r"-\w{5,}", "", row["name"]): (row["count"], row["expanded"], row["feasible"])
                for row in result.json["pods"]}
        self.assertEqual(rows, {"web-1": (1, False, 2), "web": (2, True, 2), "big": (2, True, 0), "db-0": (1, True, 0)})
        self.assertEqual(result.json["ofDaemonSets"], 2)
        self.assertIn("pod default/db-0 has a claim of StorageClass fast, which is not in the input", result.err)
        text = self.explain_pod(objects)
        self.assertIn("5 of these pods would be created by controllers of the input.\n"
                      "2 pods that DaemonSets of the input would create, one for each node, are not listed.\n", text.out)
        in_shop = self.explain_pod(objects, "-n", "shop")
        self.assertNotIn("StorageClass", in_shop.err)
        self.assertNotIn("DaemonSets", in_shop.out)


    def test_of_equal_reasons_the_one_that_is_nearest(self):
        objects = [cli.node("a", unschedulable=True), cli.node("b", cpu="1"),
                   cli.node("c", taints=[{"key": "k", "effect": "NoSchedule"}]), cli.pod("p", cpu="2")]
        [row] = self.explain_pod(objects, "-o", "json").json["pods"]
        self.assertEqual(row["sentence"], "1 of 3 nodes: Insufficient cpu: needs 2, has 1 of 1 free")

    def test_a_namespace_that_does_not_exist(self):
        result = self.explain_pod([cli.node("a"), cli.pod("p", namespace="shop")], "-n", "shp")
        self.assertEqual((result.code, result.out), (0, "No pod waits for a node in namespace shp.\n"))
        self.assertEqual(result.err, "berth: warning: there is no namespace shp in the input; did you mean shop?\n")
        self.assertEqual(self.explain_pod([cli.node("a"), cli.pod("p", namespace="shop")], "-n", "shop").err, "")


class Alike(cli.Case):
    """Pods are one row if plugins cannot tell them apart, or else if the answer is the same."""

    def rows(self, objects, *args):
        found = self.berth("explain", "-f", self.write("c.json", objects), "-o", "json", *args).json
        return [(row["name"], row["count"], row["feasible"]) for row in found["pods"]], found["left"]

    @staticmethod
    def device_claim(name, count):
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}]}}}

    def test_claims_of_devices(self):
        objects = [cli.node("a"), {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
                   {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"},
                    "spec": {"driver": "d", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                             "devices": [{"name": "d0"}, {"name": "d1"}]}}]
        for name, count in ("three", 3), ("one", 1), ("third", 3), ("two", 2):
            objects += [self.device_claim(name, count), cli.pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}])]
        self.assertEqual(self.rows(objects), ([("three", 2, 0), ("one", 2, 1)], 0))
        self.assertEqual(self.rows(objects, "--top", "1"), ([("three", 2, 0)], 2))

    def test_claims_of_volumes(self):
        def storage(name, mode):
            return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
                    "provisioner": "kubernetes.io/no-provisioner" if name == "local" else "csi.example.com", "volumeBindingMode": mode}
        objects = [cli.node("a"), storage("local", "WaitForFirstConsumer"), storage("made", "WaitForFirstConsumer"),
                   storage("early", "Immediate")]
        for name in "local", "made", "early":
            objects.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
                            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": name,
                                     "resources": {"requests": {"storage": "1Gi"}}}})
            objects.append(cli.pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}]))
        self.assertEqual(self.rows(objects), ([("local", 1, 0), ("made", 1, 1), ("early", 1, 0)], 0))

    def test_extenders(self):
        process = subprocess.Popen([sys.executable, EXTENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for close in (process.wait, process.stdout.close, process.stdin.close):
            self.addCleanup(close)
        config = self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                            "kind: KubeSchedulerConfiguration\nextenders:\n- {urlPrefix: 'http://127.0.0.1:%d/x', filterVerb: filter}\n"
                            % int(process.stdout.readline()))
        pods = [cli.pod("p%d" % i) for i in range(3)]
        pods[1]["metadata"]["annotations"] = {"extender.example/refuse": "a=no license"}
        objects = [cli.node("a"), *pods]
        self.assertEqual(self.rows(objects, "--config", config), ([("p0", 2, 1), ("p1", 1, 0)], 0))
        self.assertEqual(self.rows(objects, "--config", config, "--no-extenders"), ([("p0", 3, 1)], 0))


if __name__ == "__main__":
    cli.main()
