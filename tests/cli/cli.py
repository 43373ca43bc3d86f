"""Helpers of the black-box tests: running berth, and writing small clusters to files."""
import json
import os
import subprocess
import tempfile
import unittest

BERTH = os.environ.get("BERTH", "build/berth")


def sanitized():
    """Whether the program is sanitized: then it reserves terabytes of addresses, and keeps memory that was freed."""
    with open(BERTH, "rb") as file:
        return b"__asan_init" in (content := file.read()) or b"__tsan_init" in content


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)


class Case(unittest.TestCase):
    """A temporary folder per test, and shorthands."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        """Text, bytes, or a list of objects (written as a List)."""
        if isinstance(content, list):
            content = json.dumps({"apiVersion": "v1", "kind": "List", "items": content})
        if isinstance(content, str):
            content = content.encode()
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def berth(self, *args, stdin=b"", env=None, timeout=240):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        environment = {"PATH": os.environ.get("PATH", ""), **(env or {})}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        return Result(subprocess.run([BERTH, *args], input=stdin, capture_output=True, timeout=timeout,
                                     env=environment, check=False))

    def refuse(self, result, *words):
        """Exit code 2, nothing on standard output, one error line that has these words."""
        self.assertEqual(result.code, 2, result.err)
        self.assertEqual(result.out, "")
        self.assertTrue(result.err.startswith("berth: "), result.err)
        for word in words:
            self.assertIn(word, result.err)

    def simulate(self, objects, *args):
        result = self.berth("simulate", "-f", self.write("cluster.json", objects), "-o", "json", "--no-timing", *args)
        self.assertEqual(result.code, 0, result.err)
        return result.json

    def explain(self, objects, pod, *args):
        result = self.berth("explain", "-f", self.write("cluster.json", objects), "-o", "json", *args, pod)
        self.assertEqual(result.code, 0, result.err)
        return result.json

    @staticmethod
    def placed(report):
        """Pod to node, of the pods that got one."""
        return {full_name(row["pod"]): row["node"] for row in report["placements"] if row["node"]}


def by_node(explanation):
    """The rows of the nodes of an explanation, by name, without the name."""
    return {row["name"]: {key: value for key, value in row.items() if key != "name"} for row in explanation["nodes"]}


def full_name(pod):
    """A pod of a JSON document, as "namespace/name"."""
    return "%s/%s" % (pod["namespace"], pod["name"])


def reference(full):
    """The other way round."""
    return dict(zip(("namespace", "name"), full.split("/")))


def meta(name, namespace=None, **more):
    found = {"name": name, **more}
    if namespace:
        found["namespace"] = namespace
    return found


def node(name, cpu="4", memory="8Gi", pods="110", labels=None, taints=None, **spec):
    if taints:
        spec["taints"] = taints
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": meta(name, labels={"kubernetes.io/hostname": name, **(labels or {})}), "spec": spec,
            "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods}}}


def pod_spec(cpu="100m", **more):
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}], **more}


def pod(name, on=None, cpu="100m", namespace="default", labels=None, owner=None, status=None, created=None, **spec):
    metadata = meta(name, namespace, labels=labels or {})
    if owner:
        kind, owner_name = owner
        version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
        metadata["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": owner_name, "controller": True,
                                        "uid": ""}]
    if created:
        metadata["creationTimestamp"] = created
    if on:
        spec["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(cpu, **spec),
            "status": status or {"phase": "Running" if on else "Pending"}}


def workload(kind, name, cpu="100m", namespace="default", labels=None, pod_spec_more=None, status=None, meta_more=None,
             **spec):
    labels = labels or {"app": name}
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    found = {"apiVersion": version, "kind": kind, "metadata": meta(name, namespace, **(meta_more or {})),
             "spec": {"template": {"metadata": {"labels": labels}, "spec": pod_spec(cpu, **(pod_spec_more or {}))},
                      **spec}}
    if kind != "Job":
        found["spec"].setdefault("selector", selector)
    if status:
        found["status"] = status
    return found


def main():
    unittest.main(verbosity=2)
