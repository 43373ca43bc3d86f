"""Helpers of the tests of strategies: a cluster, an enabled plugin, and its scores and rejections by explain."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
sys.dont_write_bytecode = True
from cli import Case, by_node, main, node, pod  # noqa: E402,F401

STRATEGIES = os.environ.get("STRATEGIES", os.path.join(ROOT, "build", "strategies"))
EXAMPLES = os.path.join(ROOT, "examples", "strategies")


def user_file(name):
    """A file as a user has it."""
    return os.path.join(ROOT, "tests", "cli", "user-files", name)


def file_of(name):
    return os.path.join(STRATEGIES, name + ".so")


def node_with(name, allocatable=None, annotations=None, created=None, conditions=None, **more):
    """A node with further amounts, annotations, a time of creation, and conditions as {type: status}."""
    found = node(name, **more)
    found["status"]["allocatable"].update(allocatable or {})
    if annotations:
        found["metadata"]["annotations"] = annotations
    if created:
        found["metadata"]["creationTimestamp"] = created
    if conditions is not None:
        found["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return found


def pod_with(name, requests, **more):
    found = pod(name, **more)
    found["spec"]["containers"][0]["resources"] = {
        "requests": requests, "limits": {key: value for key, value in requests.items() if "/" in key}}
    return found


class Strategy(Case):
    """A test of one plugin: NAME in configurations."""
    NAME = ""

    def config(self, args=None, points=("multiPoint",), name=None, weight=1, disabled=()):
        name = name or self.NAME
        plugins = {point: {"enabled": [{"name": name, **({"weight": weight} if point in ("multiPoint", "score") else {})}]}
                   for point in points}
        plugins.setdefault("multiPoint", {})["disabled"] = [{"name": other} for other in disabled]
        document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                    "profiles": [{"plugins": plugins, "pluginConfig": [{"name": name, "args": args or {}}]}]}
        return self.write("config.yaml", json.dumps(document))

    def explained(self, objects, args=None, of="p", **more):
        return self.explain(objects, "default/" + of, "--config", self.config(args, **more), "--plugin",
                            file_of(more.get("name") or self.NAME))

    def scores(self, objects, args=None, **more):
        """Node to score, of the nodes that passed Filter; None where the plugin was skipped."""
        report = self.explained(objects, args, **more)
        name = more.get("name") or self.NAME
        return {key: row["scores"].get(name) for key, row in by_node(report).items() if row["feasible"]}

    def rejections(self, objects, args=None, **more):
        """Node to reason, of the nodes that this plugin rejected."""
        report = self.explained(objects, args, **more)
        name = more.get("name") or self.NAME
        return {key: row["reasons"][0] for key, row in by_node(report).items()
                if not row["feasible"] and row["plugin"] == name}

    def refused(self, args, *words):
        """The arguments are refused with one sentence."""
        result = self.berth("simulate", "-f", self.write("o.json", [node("a")]), "--config", self.config(args), "--plugin",
                            file_of(self.NAME))
        self.refuse(result, 'initializing plugin "%s": ' % self.NAME, *words)
        errors = [line for line in result.err.splitlines() if "warning" not in line]
        self.assertEqual(len(errors), 1, result.err)
