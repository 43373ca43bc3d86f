#!/usr/bin/env python3
"""Golden cases: compares `berth explain` and the choices of `berth simulate` with recorded results of kube-scheduler.

usage: run.py [--release 1.MINOR] [--family NAME] [--case NAME] [--show N] [--save FOLDER] BERTH CASES

CASES is a compressed file with one case per line: a cluster ("objects"), a configuration or null ("config"), a pending
pod ("pod"), feature gates that are not the defaults ("gates", may be missing), and kube-scheduler's result ("expect"):
statuses with plugin and reasons, every score, totals, the best nodes, the message, preemption candidates with their
victims. Everything must agree. Prints differences, a line per family, and the number of cases that agree. --save writes
the input of the chosen cases to files.
"""
import argparse
import collections
import concurrent.futures
import json
import lzma
import os
import subprocess
import sys
import tempfile

SECONDS_MAX = 120


def differing(where, want, got, keys):
    """A line for each of these keys that is expected and different."""
    return ["%s.%s: want %r, got %r" % (where, key, want[key], got.get(key))
            for key in keys if key in want and want[key] != got.get(key)]


def compare_scores(name, want, got):
    scores = got.get("scores") or {}
    found = ["%s: score of %s: want %r, got %r" % (name, plugin, score, scores.get(plugin))
             for plugin, score in want["scores"].items() if scores.get(plugin) != score]
    found += ["%s: score of %s: want none, got %r" % (name, plugin, scores[plugin])
              for plugin in sorted(set(scores) - set(want["scores"])) if scores[plugin] != 0]
    return found + differing(name, want, got, ["total"])


def compare_nodes(want, got):
    found = ["%s: a node that is not there" % name for name in sorted(set(got) - set(want))]
    for name, node in want.items():
        mine = got.get(name)
        if mine is None:
            found.append("%s: missing" % name)
        elif mine.get("feasible") is not node["feasible"]:
            found.append("%s: want %r, got %r" % (name, node, mine))
        elif node["feasible"]:
            found += compare_scores(name, node, mine)
        else:
            found += differing(name, node, mine, ["status", "plugin", "reasons"])
    return found


def compare_preemption(want, got):
    if got is None:
        return ["preemption: want %r, got none" % want]
    found = differing("preemption", want, got, ["status", "message"])
    if sorted(want.get("nominated") or []) != sorted(got.get("nominated") or []):
        found.append("preemption.nominated: want %r, got %r" % (want.get("nominated"), got.get("nominated")))
    theirs = want.get("candidates") or {}
    ours = got.get("candidates") or {}
    for name in sorted(set(theirs) | set(ours)):
        if theirs.get(name) != ours.get(name):
            found.append("preemption.candidates[%s]: want %r, got %r" % (name, theirs.get(name), ours.get(name)))
    return found


def compare(want, got):
    found = differing("preFilter", want["preFilter"], got["preFilter"], ["status", "plugin", "reasons", "nodeNames"])
    if got["preFilter"]["nodeNames"] is not None and "nodeNames" not in want["preFilter"]:
        found.append("preFilter.nodeNames: want none, got %r" % got["preFilter"]["nodeNames"])
    found += compare_nodes(want.get("nodes") or {}, {row["name"]: row for row in got["nodes"]})
    if sorted(want.get("best") or []) != sorted(got.get("best") or []):
        found.append("best: want %r, got %r" % (want.get("best"), got.get("best")))
    if want.get("message") != got.get("message"):
        found.append("message: want %r, got %r" % (want.get("message"), got.get("message")))
    if "preemption" in want:
        found += compare_preemption(want["preemption"], got.get("preemption"))
    elif got.get("preemption") is not None:
        found.append("preemption: want none, got %r" % got["preemption"])
    return found


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def version_of(case, release):
    """The flags for the release and the gates of the case."""
    gates = case.get("gates")
    return ["--emulated-version", release] + (["--feature-gates", gates] if gates else [])


def is_alone(case):
    """Is the case's pod the only one without a node?"""
    pending = [one for one in case["objects"] if one["kind"] == "Pod" and not one["spec"].get("nodeName")]
    return len(pending) == 1


def simulate(berth, case, folder, release):
    """The node that the quick paths choose is one of the best; explain takes the plain path."""
    best = case["expect"].get("best") or []
    if not case["config"] or not best or not is_alone(case):
        return []
    trace = os.path.join(folder, case["name"] + ".trace.json")
    command = [berth, "simulate", *version_of(case, release), "-f", os.path.join(folder, case["name"] + ".json"), "--trace", trace,
               "--config", os.path.join(folder, case["name"] + ".config.json"),
               "--percentage-of-nodes-to-score", "100"]
    subprocess.run(command, capture_output=True, timeout=SECONDS_MAX, check=False)
    with open(trace, encoding="utf-8") as file:
        nodes = [one["node"] for one in json.load(file)["placements"] if "%(namespace)s/%(name)s" % one["pod"] == case["pod"]]
    return [] if nodes and nodes[0] in best else ["simulate: want one of %r, got %r" % (best, nodes)]


def explain(berth, case, folder, release):
    """The differences, as lines."""
    objects = {"apiVersion": "v1", "kind": "List", "items": case["objects"]}
    command = [berth, "explain", *version_of(case, release), "-o", "json",
               "-f", write(folder, case["name"] + ".json", objects)]
    if case["config"]:
        command += ["--config", write(folder, case["name"] + ".config.json", case["config"])]
    try:
        done = subprocess.run(command + [case["pod"]], capture_output=True, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return ["no answer in %d s" % SECONDS_MAX]
    try:
        return compare(case["expect"], json.loads(done.stdout)) + simulate(berth, case, folder, release)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as broken:
        text = done.stderr.decode("utf-8", "replace").strip()
        return ["exit code %d, %s: %s" % (done.returncode, broken, text[-2000:])]


def choose(options):
    with lzma.open(options.cases, "rt", encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            family = case["name"].split("-")[0]
            if options.family in ("", family) and options.case in ("", case["name"]):
                yield case


def save(cases, folder):
    os.makedirs(folder, exist_ok=True)
    for case in cases:
        objects = {"apiVersion": "v1", "kind": "List", "items": case["objects"]}
        command = ["berth explain -f", write(folder, case["name"] + ".json", objects)]
        if case["config"]:
            command += ["--config", write(folder, case["name"] + ".config.json", case["config"])]
        write(folder, case["name"] + ".expect.json", case["expect"])
        print(" ".join(command + [case["pod"]]))


def check(options, cases):
    total, good = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        found_of = pool.map(lambda one: explain(options.berth, one, folder, options.release), cases)
        for case, found in zip(cases, found_of):
            family = case["name"].split("-")[0]
            total[family] += 1
            good[family] += not found
            for line in found[:options.show]:
                print("%s: %s" % (case["name"], line))
    for family in sorted(total):
        print("%-12s %4d of %4d" % (family, good[family], total[family]))
    print("%d of %d agree" % (sum(good.values()), len(cases)))
    return 0 if cases and sum(good.values()) == len(cases) else 1


def main():
    parser = argparse.ArgumentParser(description="Compare berth explain with recorded answers of kube-scheduler.")
    parser.add_argument("berth")
    parser.add_argument("cases")
    parser.add_argument("--release", default="1.36", help="of kube-scheduler, whose answers the cases have")
    parser.add_argument("--family", default="")
    parser.add_argument("--case", default="")
    parser.add_argument("--show", type=int, default=5, help="lines per case that differs")
    parser.add_argument("--save", metavar="FOLDER")
    options = parser.parse_args()
    cases = list(choose(options))
    if options.save:
        save(cases, options.save)
        return 0
    return check(options, cases)


sys.exit(main())
