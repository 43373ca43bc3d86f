#!/usr/bin/env python3
"""How long answers take: explain, simulate, capacity and reports on a large cluster.

usage: tests/bench/answers.py [--berth PATH] [--nodes 5000] [--pods 50000] [--runs 3]

Writes the objects of a cluster to a file, as `kubectl get -o json` does, runs each command several times, and prints the
shortest processor time of the command, with and without what loading the file takes, and the size of the report. Nodes are of four types
in three zones, three quarters full; pods are of Deployments, and one pod waits that fits nowhere.
"""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

LONG_AGO = "2026-01-01T00:00:00Z"
TYPES = [(4, 16), (8, 32), (16, 64), (32, 64)]  # cores, GiB
DEPLOYMENTS = 500


def meta(name, namespace=None, **more):
    found = {"name": name, "uid": "u-%s-%s" % (namespace, name), "resourceVersion": "1", "creationTimestamp": LONG_AGO, **more}
    return {**found, "namespace": namespace} if namespace else found


def node(i):
    cores, memory = TYPES[i % len(TYPES)]
    amounts = {"cpu": str(cores), "memory": "%dGi" % memory, "pods": "110", "ephemeral-storage": "100Gi"}
    name = "node-%05d" % i
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "zone-%d" % (i % 3),
              "node.kubernetes.io/instance-type": "m-%dx%d" % (cores, memory)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, labels=labels), "spec": {},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, labels, cores, memory, on=None, owner=None):
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, "shop", labels=labels),
             "spec": {"containers": [{"name": "c", "image": "registry.example.com/app:1", "resources": {"requests": {
                 "cpu": "%dm" % (1000 * cores), "memory": "%dMi" % (1024 * memory)}}}]}, "status": {"phase": "Pending"}}
    if owner:
        found["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                                                 "uid": "u-shop-" + owner, "controller": True}]
    if on:
        found["spec"]["nodeName"] = on
        found["status"]["phase"] = "Running"
    return found


def replica_set(name, labels, replicas, cores, memory):
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta(name, "shop", labels=labels),
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": pod("", {}, cores, memory)["spec"]}}}


def objects(nodes, pods):
    chance = random.Random(16)
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": meta("shop", labels={"kubernetes.io/metadata.name": "shop"})}
    machines = [node(i) for i in range(nodes)]
    yield from machines
    sizes = [(chance.choice([0.25, 0.5, 1]), chance.choice([0.5, 1, 2])) for _ in range(DEPLOYMENTS)]
    counts = [0] * DEPLOYMENTS
    free = [[0.75 * TYPES[i % len(TYPES)][0], 0.75 * TYPES[i % len(TYPES)][1], 100] for i in range(nodes)]
    at = 0
    for i in range(pods):
        kind = i % DEPLOYMENTS
        cores, memory = sizes[kind]
        for _ in range(nodes):
            at = (at + 1) % nodes
            if free[at][0] >= cores and free[at][1] >= memory and free[at][2]:
                break
        else:
            raise SystemExit("%d pods do not fit on %d nodes" % (pods, nodes))
        free[at] = [free[at][0] - cores, free[at][1] - memory, free[at][2] - 1]
        counts[kind] += 1
        yield pod("app-%03d-%05d" % (kind, i), {"app": "app-%03d" % kind}, cores, memory, machines[at]["metadata"]["name"],
                  "app-%03d" % kind)
    for kind, (cores, memory) in enumerate(sizes):
        yield replica_set("app-%03d" % kind, {"app": "app-%03d" % kind}, counts[kind], cores, memory)
    yield pod("small", {"app": "small"}, 0.5, 1)
    yield pod("large", {"app": "large"}, 48, 16)


def shortest(command, runs, allowed=(0,)):
    """Processor seconds of the fastest of several runs: a command has one thread, and does not wait."""
    best = None
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode not in allowed:
            raise SystemExit("%s: exit code %d: %s" % (" ".join(command), done.returncode, done.stderr.decode()))
        best = took if best is None else min(best, took)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--berth", default="build/berth")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dump, page = os.path.join(folder, "cluster.json"), os.path.join(folder, "report.html")
        with open(dump, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects(args.nodes, args.pods))}, file)
        print("%d nodes, %d pods, %.0f MB of JSON; processor seconds, the least of %d runs"
              % (args.nodes, args.pods, os.path.getsize(dump) / 1e6, args.runs))
        # A pod that is not there ends the command when the file has been read.
        load = shortest([args.berth, "explain", "-f", dump, "shop/none"], args.runs, allowed=(2,))
        print("%-44s %6.2f" % ("loading", load))
        for title, words in [
                ("explain, a pod that fits", ["explain", "pod/shop/small"]),
                ("explain, a pod that fits nowhere", ["explain", "shop/large"]),
                ("capacity, copies of a pod until none fits", ["capacity", "pod/shop/small"]),
                ("simulate", ["simulate"]),
                ("simulate --drain of ten nodes", ["simulate", "--drain", ",".join("node-%05d" % i for i in range(10))]),
                ("simulate --html", ["simulate", "--html", page]),
                ]:
            took = shortest([args.berth, words[0], "-f", dump, *words[1:]], args.runs)
            size = ", %.1f MB" % (os.path.getsize(page) / 1e6) if "--html" in words else ""
            print("%-44s %6.2f with loading, %.2f without%s" % (title, took, took - load, size))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
