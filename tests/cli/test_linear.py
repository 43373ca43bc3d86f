#!/usr/bin/env python3
"""Nothing that a tenant can write costs more than linear time.

Each case is an object with one list of N entries. `berth simulate` schedules pods with it; one has a node already, and
one needs room that others must leave. valgrind counts the instructions: ten times as many entries may cost ten times as
many of them, and not a hundred times. Sorting costs a little more than that.
"""
import copy
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BERTH = os.environ.get("BERTH", "build/berth")
FEW, MANY, RATIO_MAX = 400, 4000, 20


def names(count):
    return ["k%d" % i for i in range(count)]


def pairs(count):
    return {name: "v" for name in names(count)}


def expressions(count, operator="Exists"):
    return [{"key": name, "operator": operator} for name in names(count)]


def one_in(values):
    return {"matchExpressions": [{"key": "app", "operator": "In", "values": values}]}


def not_in(name):
    return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [name]}]}


def containers(count, **more):
    return [dict({"name": name, "image": name, "resources": {"requests": {"cpu": "1m"}}}, **more)
            for name in names(count)]


def statuses(count):
    return [{"name": name, "allocatedResources": {"cpu": "1m"}, "resources": {"requests": {"cpu": "1m"}}}
            for name in names(count)]


def requests(count):
    return {"example.com/" + name: "1" for name in names(count)}


def term(selector, key="kubernetes.io/hostname", **more):
    return dict({"labelSelector": selector, "topologyKey": key}, **more)


def required(kind, terms):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def preferred(kind, terms):
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": one} for one in terms]}}}


def constraints(count, when, key=None):
    return {"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": key or name, "whenUnsatisfiable": when,
         "labelSelector": {"matchLabels": {"app": name}}} for name in names(count)]}


def node_terms(terms):
    return {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}


def volumes(count, kind, key):
    return {"volumes": [{"name": name, kind: {key: name}} for name in names(count)]}


def ports(count):
    return {"containers": [{"name": "c", "image": "i", "ports": [
        {"containerPort": 1 + i, "hostPort": 1 + i, "hostIP": "10.0.%d.%d" % (i // 250, i % 250)}
        for i in range(count)]}]}


# What a field of N entries makes of the pod: its labels, specification and status.
LABELS = {
    "labels": pairs,
}
SPECS = {
    "nodeSelector": lambda n: {"nodeSelector": pairs(n)},
    "tolerations": lambda n: {"tolerations": expressions(n)},
    "containers": lambda n: {"containers": containers(n)},
    "containers with a resource each": lambda n: {"containers": [
        dict(one, resources={"requests": {"example.com/" + one["name"]: "1"}}) for one in containers(n)]},
    "init containers": lambda n: {"initContainers": containers(n)},
    "sidecars with a resource each": lambda n: {"initContainers": [
        dict(one, resources={"requests": {"example.com/" + one["name"]: "1"}})
        for one in containers(n, restartPolicy="Always")]},
    "requests": lambda n: {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests(n)}}]},
    "overhead": lambda n: {"overhead": requests(n)},
    "ports": ports,
    "claims": lambda n: volumes(n, "persistentVolumeClaim", "claimName"),
    "GCE disks": lambda n: volumes(n, "gcePersistentDisk", "pdName"),
    "EBS disks": lambda n: volumes(n, "awsElasticBlockStore", "volumeID"),
    "RBD monitors": lambda n: {"volumes": [{"name": "v", "rbd": {"image": "i", "monitors": names(n)}}]},
    "hard constraints": lambda n: constraints(n, "DoNotSchedule"),
    "hard constraints of one key": lambda n: constraints(n, "DoNotSchedule", "kubernetes.io/hostname"),
    "soft constraints": lambda n: constraints(n, "ScheduleAnyway"),
    "node selector terms": lambda n: node_terms([{"matchExpressions": [one]} for one in expressions(n)]),
    "node selector expressions": lambda n: node_terms([{"matchExpressions": expressions(n, "DoesNotExist")}]),
    "node selector values": lambda n: node_terms([{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": names(n) + ["n0"]}]}]),
    "affinity terms": lambda n: required("podAffinity", [term(not_in(one)) for one in names(n)]),
    "affinity labels": lambda n: required("podAffinity", [term({"matchLabels": pairs(n)})]),
    "affinity values": lambda n: required("podAffinity", [term(one_in(names(n) + ["x"]))]),
    "affinity namespaces": lambda n: required("podAffinity", [term(one_in(["x"]), namespaces=names(n))]),
    "anti-affinity terms": lambda n: required("podAntiAffinity", [
        term({"matchLabels": {one: "v"}}) for one in names(n)]),
    "preferred terms": lambda n: preferred("podAffinity", [term(not_in(one)) for one in names(n)]),
    "preferred topology keys": lambda n: preferred("podAffinity", [term(one_in(["x"]), one) for one in names(n)]),
    "devices": lambda n: {"resourceClaims": [{"name": one, "resourceClaimName": one} for one in names(n)]},
}
WITH_STATUS = {
    "statuses of containers": lambda n: ({"containers": containers(n)}, {"containerStatuses": statuses(n)}),
    "statuses of sidecars": lambda n: ({"initContainers": containers(n, restartPolicy="Always")},
                                       {"initContainerStatuses": statuses(n)}),
    "conditions": lambda n: ({}, {"conditions": [{"type": one, "status": "True"} for one in names(n)]}),
}


def bound_claims(count):
    """Claims of a CSI driver with their volumes, on nodes with a limit."""
    driver = "csi.example.com"
    objects = [{"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "n0"}, "spec": {
        "drivers": [{"name": driver, "nodeID": "n0", "allocatable": {"count": 2 * count}}]}}]
    for name in names(count):
        objects.append({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {
            "name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {
                "accessModes": ["ReadWriteOncePod"], "volumeName": "pv-" + name}, "status": {"phase": "Bound"}})
        objects.append({"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-" + name}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOncePod"],
            "csi": {"driver": driver, "volumeHandle": name},
            "claimRef": {"namespace": "default", "name": name}}})
    return objects


def waiting_claims(count, provisioner, others):
    """Claims whose volumes are chosen with the node, the largest first. n2 has everything that the class has."""
    version = {"apiVersion": "storage.k8s.io/v1"}
    objects = [{**version, "kind": "StorageClass", "metadata": {"name": "c"}, "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer"}]
    for i, name in enumerate(names(count)):
        objects.append({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {
            "name": name, "namespace": "default"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "c",
                                                            "resources": {"requests": {"storage": 2 * count - i}}}})
        objects.append(others(name))
    return objects


def volume(name):
    return {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-" + name}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "c",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]}]}}},
            "status": {"phase": "Available"}}


def capacity(name):
    return {"kind": "CSIStorageCapacity", "apiVersion": "storage.k8s.io/v1", "metadata": {
        "name": name, "namespace": "default"}, "storageClassName": "c", "capacity": "1Gi",
            "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": name if name != "k0" else "n2"}}}


def with_selector(expression):
    """A pod with a claim for a device, of which there is one, and the objects that belong to it."""
    version = {"apiVersion": "resource.k8s.io/v1"}
    device = {"exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}}
    return {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}, [
        {**version, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {**version, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {
            "driver": "d", "nodeName": "n1", "devices": [{"name": "d"}],
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}},
        {**version, "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default"}, "spec": {
            "devices": {"requests": [{"name": "r", **device}]}}}]


def pod(name, labels, spec, status, **more):
    base = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": name, "namespace": "default", "uid": name, "labels": labels}, "spec": dict(base, **spec, **more),
            "status": status}


def cluster(labels, spec, status, others):
    """Three nodes; pods with the list: one on a node, two that wait, one that has to preempt."""
    nodes = [{"kind": "Node", "apiVersion": "v1", "metadata": {
        "name": "n%d" % i, "labels": {"kubernetes.io/hostname": "n%d" % i, "k0": "v"}}, "status": {
            "allocatable": {"cpu": "100", "memory": "100Gi", "pods": "110"}}} for i in range(3)]
    large = pod("large", labels, copy.deepcopy(spec), status, priority=100)
    large["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})["cpu"] = "99500m"
    return nodes + others + [pod("there", labels, spec, status, nodeName="n0"), large] + [
        pod(name, labels, spec, status, priority=5) for name in ("a", "b")]


def instructions(objects, folder, *args):
    path = os.path.join(folder, "cluster.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"kind": "List", "apiVersion": "v1", "items": objects}, file)
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", BERTH, "simulate",
                           "-f", path, "-o", "json", *args], capture_output=True, check=True)
    counts = re.findall(r"Collected : (\d+)", done.stderr.decode())  # also of a process that tries plugins
    return max(int(count) for count in counts)


@unittest.skipUnless(shutil.which("valgrind"), "valgrind counts the instructions")
class Linear(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """What a start and a cluster without such a list cost."""
        with tempfile.TemporaryDirectory() as folder:
            cls.base = instructions(cluster({}, {}, {}, []), folder)

    def check(self, name, make, *args):
        with self.subTest(name), tempfile.TemporaryDirectory() as folder:
            few, many = (instructions(make(count), folder, *args) - self.base for count in (FEW, MANY))
            self.assertLess(many, RATIO_MAX * max(few, 1000000))

    def test_labels(self):
        for name, make in LABELS.items():
            self.check(name, lambda n, make=make: cluster(make(n), {}, {}, []))

    def test_specifications(self):
        for name, make in SPECS.items():
            self.check(name, lambda n, make=make: cluster({"app": "x"}, make(n), {}, []))

    def test_statuses(self):
        for name, make in WITH_STATUS.items():
            self.check(name, lambda n, make=make: cluster({"app": "x"}, *make(n), []))

    def test_claims_with_volumes(self):
        self.check("bound claims", lambda n: cluster(
            {}, volumes(n, "persistentVolumeClaim", "claimName"), {}, bound_claims(n)))

    def test_claims_that_wait(self):
        self.check("claims and volumes", lambda n: cluster(
            {}, volumes(n, "persistentVolumeClaim", "claimName"), {},
            waiting_claims(n, "kubernetes.io/no-provisioner", volume)))
        driver = {"kind": "CSIDriver", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "csi.example.com"},
                  "spec": {"storageCapacity": True}}
        self.check("claims and capacities", lambda n: cluster(
            {}, volumes(n, "persistentVolumeClaim", "claimName"), {},
            waiting_claims(n, "csi.example.com", capacity) + [driver]))

    def test_expressions(self):
        """A map with keys of each kind. The cost that the reference counts bounds the number of entries only."""
        for key in "string(i)", "double(i)", "timestamp(i)", "[i]", "quantity(string(i))":
            def make(n, key=key):
                spec, others = with_selector(
                    "lists.range(%d).transformMapEntry(i, v, {%s: v}).size() == %d" % (n, key, n))
                return cluster({}, spec, {}, others)
            self.check("a map with the keys " + key, make)

    def test_services(self):
        """The selectors of all services that select a pod are its default selector."""
        def service(name, selector):
            return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default"},
                    "spec": {"selector": selector}}
        self.check("services", lambda n: cluster(pairs(n), {}, {}, [service(name, {name: "v"}) for name in names(n)]))
        self.check("a service of many labels", lambda n: cluster(pairs(n), {}, {}, [service("s", pairs(n))]))

    def test_labels_of_namespaces(self):
        self.check("labels of a namespace and a selector of them", lambda n: cluster(
            {"app": "x"}, required("podAntiAffinity", [
                term({"matchLabels": {"app": "x"}}, namespaceSelector={"matchLabels": pairs(n)})]), {},
            [{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "default", "labels": pairs(n)}}]))

    def test_objects_that_plugins_read(self):
        """A list of objects in an object, from the first to the last."""
        def group(count):
            return {"apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1", "kind": "AppGroup",
                    "metadata": {"name": "g", "namespace": "default"}, "status": {"topologyOrder": [
                        {"workload": {"name": name, "selector": name}, "index": 1} for name in names(count)]}}
        sort = {"plugins": {"queueSort": {"enabled": [{"name": "TopologicalSort"}], "disabled": [{"name": "*"}]}}}
        labels = {"app": "x", "appgroup.diktyo.x-k8s.io": "g", "appgroup.diktyo.x-k8s.io.workload": "k1"}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                       "profiles": [sort]}, config)
            config.flush()
            self.check("AppGroup", lambda n: cluster(labels, {}, {}, [group(n)]), "--config", config.name)

    def test_labels_and_selectors(self):
        self.check("labels and a selector of them", lambda n: cluster(
            pairs(n), required("podAffinity", [term({"matchLabels": pairs(n)})]), {}, []))


if __name__ == "__main__":
    unittest.main()
