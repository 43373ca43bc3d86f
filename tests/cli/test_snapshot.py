"""Snapshots of saved input: complete, and anonymized. Snapshots of a live cluster are in tests/e2e."""
import json
import re
import subprocess

import cli

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
SECRETS = ["acme", "secret", "hunter2", "10.99", "north", "south", "shopfront", "ledger", "payments", "scratch"]


def selector(key, operator, *values, field="matchExpressions"):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {field: [{"key": key, "operator": operator, "values": list(values)}]}]}}}


def near(kind, app, namespaces=None):
    term = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]},
            "topologyKey": HOST}
    if namespaces:
        term["namespaceSelector"] = {"matchLabels": namespaces}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def nodes():
    for i in range(6):
        name = f"acme-{i}.corp"
        node = cli.node(name, labels={ZONE: "north" if i % 2 else "south", "acme.com/pool": "secret" if i < 3 else "open",
                                      "gen": str(i), "node-role.kubernetes.io/acme": ""},
                        taints=[{"key": "acme.com/for", "value": "payments", "effect": "NoSchedule"}] if i == 5 else None,
                        providerID=f"aws:///acme/{i}")
        node["metadata"]["annotations"] = {"acme.com/owner": "secret"}
        node["status"]["allocatable"]["acme.com/fpga"] = "2"
        node["status"]["addresses"] = [{"type": "InternalIP", "address": f"10.99.0.{i}"}]
        if i == 2:
            node["status"]["images"] = [{"names": ["acme/shopfront:latest"], "sizeBytes": 900000000}]
        yield node


def storage():
    yield {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": cli.meta("acme-local"),
           "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    yield {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": cli.meta("acme-csi"),
           "provisioner": "csi.acme", "volumeBindingMode": "WaitForFirstConsumer",
           "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["south"]}]}]}
    yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": cli.meta("acme-pv"),
           "spec": {"capacity": {"storage": "9Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "acme-local",
                    "local": {"path": "/acme"},
                    "nodeAffinity": {"required": selector(HOST, "In", "acme-4.corp")["nodeAffinity"][
                        "requiredDuringSchedulingIgnoredDuringExecution"]}}}
    for name, of in ("acme-claim", "acme-local"), ("p-ephemeral-scratch", "acme-csi"):
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
               "metadata": cli.meta(name, "acme", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "controller": True,
                                                                    "name": "p-ephemeral", "uid": "acme-u1"}]),
               "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": of,
                        "resources": {"requests": {"storage": "1Gi"}}}}


def pods():
    def pod(name, **more):
        return cli.pod(name, namespace="acme", labels={"app": more.pop("app", name)}, **more)

    for i in range(9):
        yield pod(f"front-{i}", app="shopfront", on=f"acme-{i % 3}.corp", cpu="500m")
    yield cli.pod("back", namespace="acme-pay", labels={"app": "ledger"}, on="acme-3.corp")
    yield pod("p-field", affinity=selector("metadata.name", "In", "acme-4.corp", field="matchFields"))
    yield pod("p-number", affinity=selector("gen", "Gt", "3"))
    yield pod("p-pool", nodeSelector={"acme.com/pool": "secret"})
    yield pod("p-away", app="shopfront", affinity=near("podAntiAffinity", "shopfront"))
    yield pod("p-near", affinity=near("podAffinity", "ledger", {"team": "payments"}))
    yield pod("p-spread", app="shopfront", topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"app": "shopfront"}}}])
    yield pod("p-tolerates", nodeSelector={HOST: "acme-5.corp"}, tolerations=[
        {"key": "acme.com/for", "operator": "Equal", "value": "payments", "effect": "NoSchedule"}])
    yield pod("p-volume", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "acme-claim"}}])
    ephemeral = pod("p-ephemeral", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    ephemeral["metadata"]["uid"] = "acme-u1"
    yield ephemeral
    image = pod("p-image")
    image["spec"]["containers"][0].update(image="acme/shopfront", env=[{"name": "PASSWORD", "value": "hunter2"}])
    yield image
    fpga = pod("p-fpga")
    fpga["spec"]["containers"][0]["resources"]["requests"]["acme.com/fpga"] = "2"
    yield fpga
    yield pod("p-high", cpu="3800m", priority=1000, nodeSelector={"acme.com/pool": "secret"})
    yield pod("p-huge", cpu="400")
    yield pod("p-gated", schedulingGates=[{"name": "acme.com/secret"}])


def cluster():
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": cli.meta(name, labels={"team": team})}
              for name, team in (("acme", "shop"), ("acme-pay", "payments"))]
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": cli.meta("acme", "acme"),
              "spec": {"minAvailable": 8, "selector": {"matchLabels": {"app": "shopfront"}}},
              "status": {"disruptionsAllowed": 1}}
    sets = [cli.workload("StatefulSet", "acme-db", namespace="acme", replicas=3),
            cli.workload("Deployment", "acme-web", namespace="acme", replicas=2)]
    return [*spaces, *nodes(), *storage(), *pods(), budget, *sets,
            cli.pod("acme-db-1", namespace="acme", on="acme-0.corp", owner=("StatefulSet", "acme-db"))]


class Snapshot(cli.Case):
    def snapshot(self, *args):
        result = self.berth("snapshot", *args)
        self.assertEqual(result.code, 0, result.err)
        return result

    def decide(self, path):
        result = self.berth("simulate", "-f", path, "-o", "json", "--no-timing")
        self.assertEqual(result.code, 0, result.err)
        return result.json

    def test_a_snapshot_decides_like_its_source(self):
        original = self.write("a.json", cluster())
        text = self.snapshot("-f", original).out
        full = self.write("b.json", text)
        self.assertEqual(self.decide(full), self.decide(original))
        self.assertNotIn("hunter2", text)
        self.assertEqual(self.snapshot("-f", full).out, text)

    def test_new_objects_of_files_are_admitted(self):
        """A snapshot has uids, and what has one is not admitted any more."""
        anti = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["rev"]}
        pods = [cli.pod("web-%d" % i, labels={"app": "web", "rev": str(i)}, nodeSelector={HOST: "a"}, priorityClassName="high",
                        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti]}}) for i in range(2)]
        pods[0]["spec"]["volumes"] = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/p",
                   "metadata": {"name": "d", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                   "volumeBindingMode": "WaitForFirstConsumer"}
        high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
        original = self.write("a.json", [cli.node("a"), storage, high, *pods])
        saved = self.write("b.json", self.snapshot("-f", original).out)
        self.assertEqual(self.placed(self.decide(original)), {"default/web-0": "a", "default/web-1": "a"})
        self.assertEqual(self.decide(saved), self.decide(original))

    def test_anonymized_snapshots_have_no_names(self):
        hidden = self.snapshot("--anonymize", "-f", self.write("a.json", cluster())).out
        for word in SECRETS:
            self.assertNotIn(word, hidden.lower())
        kinds = [item["kind"] for item in json.loads(hidden)["items"]]
        self.assertEqual(sorted(kinds), sorted(item["kind"] for item in cluster()))

    def test_anonymized_snapshots_decide_the_same(self):
        original = self.write("a.json", cluster())
        hidden = self.write("b.json", self.snapshot("--anonymize", "-f", original).out)
        there, here = self.decide(original), self.decide(hidden)
        self.assertEqual(there["summary"], here["summary"])
        self.assertGreater(there["summary"]["scheduled"], 12)
        self.assertGreater(there["summary"]["preempted"], 0)
        names = {}

        def meet(a, b):
            self.assertEqual(a is None, b is None)
            self.assertEqual(names.setdefault(a, b), b)

        for a, b in zip(there["placements"], here["placements"]):
            meet(cli.full_name(a["pod"]), cli.full_name(b["pod"]))
            meet(a["node"], b["node"])
            meet(a.get("nominated"), b.get("nominated"))
            self.assertEqual(len(a["victims"]), len(b["victims"]))
            for victim, alias in zip(a["victims"], b["victims"]):
                meet(cli.full_name(victim), cli.full_name(alias))
            plain = [re.sub(r'"[^"]*"|\S*/\S*|\[.*?\]|\{.*?\}|(?<= on node )[^,]*', "#", row["message"] or "") for row in (a, b)]
            self.assertEqual(*plain)
        self.assertEqual(len(set(names.values())), len(names))
        for a, b in zip(there["nodes"], here["nodes"]):
            self.assertEqual(names.get(a["name"], b["name"]), b["name"])
            for key in "cpuMilli", "memory", "pods":
                self.assertEqual(a["after"][key], b["after"][key])

    def test_contradicting_options(self):
        path = self.write("a.json", cluster())
        self.refuse(self.berth("snapshot", path), "takes no words")
        self.refuse(self.berth("snapshot", "-f", path, "--context", "x"), "-f", "--context")
        self.refuse(self.berth("snapshot", "-f", self.path("none")), "none", "No such file")

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([cli.BERTH, "snapshot", "-f", self.write("a.json", cluster())], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot be written", done.stderr)


if __name__ == "__main__":
    cli.main()
