#!/usr/bin/env python3
"""How evenly are nodes really used: the default profile and LoadAwareScheduling on the same cluster.

usage: tests/bench/load_imbalance.py [--berth PATH] [--svg FILE] [--check DOCUMENT]

200 nodes have the same requests, but not the same use: pods of a fifth of them use most of what they have. 2,000 more pods come
in ten batches, and between two batches the use is measured again. Each pod uses more or less than it requests, which no
scheduler knows before. Prints a table of the real use of CPU per node; --svg also draws it; --check fails if the document does
not have this table. The same numbers come out each time.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

NODES, PODS, BATCHES, CORES, MEMORY_GI = 200, 2000, 10, 16, 64
REQUEST, OLD_REQUEST, OLD_PODS = 0.5, 0.5, 8  # cores; of the pods that come, and of those that are there
NOW, MEASURED, LONG_AGO = "2026-11-01T00:00:40Z", "2026-11-01T00:00:30Z", "2026-10-31T00:00:00Z"
PROFILES = {
    "default profile": None,
    "LoadAwareScheduling": {"plugins": {"multiPoint": {"enabled": [{"name": "LoadAwareScheduling", "weight": 20}]}}},
}


def pod(name, cores, node=None):
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "load", "creationTimestamp": LONG_AGO},
             "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {
                 "cpu": "%dm" % (1000 * cores), "memory": "1Gi"}}}]}, "status": {"phase": "Pending"}}
    if node:
        found["spec"]["nodeName"] = node
        found["status"] = {"phase": "Running", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": LONG_AGO}]}
    return found


def machine(name):
    amounts = {"cpu": str(CORES), "memory": "%dGi" % MEMORY_GI, "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def sample(name, cores):
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": {"name": name}, "timestamp": MEASURED,
            "window": "30s", "usage": {"cpu": "%dm" % (1000 * cores), "memory": "%dGi" % (MEMORY_GI // 4)}}


class Cluster:
    """What is where, and what it really uses. The same pods and nodes for each profile."""

    def __init__(self):
        chance = random.Random(15)
        self.nodes = ["node-%03d" % i for i in range(NODES)]
        # A fifth uses from a half to three quarters of its cores, the others a twentieth to a third.
        self.use = {name: CORES * (0.5 + 0.25 * chance.random() if chance.random() < 0.2 else 0.05 + 0.28 * chance.random())
                    for name in self.nodes}
        self.pods = [pod("old-%03d-%d" % (i, k), OLD_REQUEST, name) for i, name in enumerate(self.nodes)
                     for k in range(OLD_PODS)]
        # Most use less than they request, a few much more: 0.1 to 3 times, 0.8 on average.
        self.coming = [("pod-%04d" % i, REQUEST * min(3, 0.1 - 0.7 * math.log(1 - chance.random()))) for i in range(PODS)]


def simulate(berth, folder, objects, samples, profile):
    paths = {}
    for name, things in (("cluster", objects), ("metrics", samples)):
        paths[name] = os.path.join(folder, name + ".json")
        with open(paths[name], "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": things}, file)
    trace, config = os.path.join(folder, "trace.json"), os.path.join(folder, "config.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                   "profiles": [profile or {}]}, file)
    subprocess.run([berth, "simulate", "-f", paths["cluster"], "-f", paths["metrics"], "--config", config, "--now", NOW,
                    "--trace", trace, "--no-timing"], check=True, stdout=subprocess.DEVNULL)
    with open(trace, encoding="utf-8") as file:
        return {row["pod"]["name"]: row["node"] for row in json.load(file)["placements"]}


def run(berth, profile):
    """The use of each node when all pods are placed, in percent."""
    cluster, size = Cluster(), PODS // BATCHES
    machines = [machine(name) for name in cluster.nodes]
    with tempfile.TemporaryDirectory(prefix="berth-load-") as folder:
        for begin in range(0, PODS, size):
            batch = cluster.coming[begin:begin + size]
            samples = [sample(name, cores) for name, cores in cluster.use.items()]
            places = simulate(berth, folder, machines + cluster.pods + [pod(name, REQUEST) for name, _ in batch], samples,
                              profile)
            for name, cores in batch:
                node = places.get(name)
                if not node:
                    sys.exit("%s: there was no place for it" % name)
                cluster.use[node] += cores
                cluster.pods.append(pod(name, REQUEST, node))
    return percents(cluster.use)


def percents(use):
    return sorted(100 * cores / CORES for cores in use.values())


def describe(values):
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [mean, deviation, values[0], values[len(values) // 2], values[len(values) * 95 // 100], values[-1],
            sum(value > 65 for value in values), sum(value > 90 for value in values)]


def table(results):
    """A row per moment or profile, as in docs/STRATEGIES.md."""
    rows = ["| CPU really used, of %d nodes | mean | deviation | least | median | p95 | most | above 65 %% | above 90 %% |" % NODES,
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, values in results.items():
        numbers = describe(values)
        rows.append("| %s | %s | %d nodes | %d nodes |" % (
            name, " | ".join("%.1f %%" % number for number in numbers[:6]), numbers[6], numbers[7]))
    return "\n".join(rows)


def draw(results):
    """Nodes by their use, from the least to the most: a line per moment or profile."""
    width, height, left, top, bottom = 760, 360, 56, 44, 48
    colors = ["#8a8f98", "#d1495b", "#1f7a8c"]
    right = width - 20
    def x(i):
        return left + (right - left) * i / (NODES - 1)
    def y(percent):
        return height - bottom - (height - top - bottom) * percent / 120
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">'
           % (width, height), '<rect width="%d" height="%d" fill="#ffffff"/>' % (width, height)]
    for percent in range(0, 121, 20):
        out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s"/>' % (
            left, y(percent), right, y(percent), "#9aa0a6" if percent == 100 else "#e3e5e8"))
        out.append('<text x="%d" y="%.1f" text-anchor="end" fill="#444">%d %%</text>' % (left - 8, y(percent) + 4, percent))
    for number, (name, values) in enumerate(results.items()):
        points = " ".join("%.1f,%.1f" % (x(i), y(min(value, 120))) for i, value in enumerate(values))
        out.append('<polyline fill="none" stroke="%s" stroke-width="2"%s points="%s"/>' % (
            colors[number], ' stroke-dasharray="5 4"' if number == 0 else "", points))
        out.append('<line x1="%d" y1="22" x2="%d" y2="22" stroke="%s" stroke-width="3"/>' % (
            left + 230 * number, left + 230 * number + 22, colors[number]))
        out.append('<text x="%d" y="26" fill="#222">%s</text>' % (left + 230 * number + 28, name))
    out.append('<text x="%d" y="%d" text-anchor="middle" fill="#444">the %d nodes, from the least to the most used; '
               'CPU really used, of the capacity</text>' % ((left + right) // 2, height - 16, NODES))
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--berth", default=os.environ.get("BERTH", "build/berth"))
    parser.add_argument("--svg")
    parser.add_argument("--check")
    options = parser.parse_args()
    results = {"before": percents(Cluster().use)}
    results.update((name, run(options.berth, profile)) for name, profile in PROFILES.items())
    found = table(results)
    print(found)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(draw(results))
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            if found not in file.read():
                sys.exit("%s does not have this table" % options.check)


if __name__ == "__main__":
    main()
