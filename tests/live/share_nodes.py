#!/usr/bin/env python3
"""Two schedulers of different names fill the same nodes: how many pods would a kubelet refuse?

usage: tests/live/share_nodes.py [--nodes 500] [--pods 5000] [--runs 3] [--modes off,announce]

Each scheduler gets half of the pods, in three sizes; together they want more than the nodes have, so that both compete for the
last room everywhere. A watch notes the order in which pods get their nodes. A kubelet admits pods in that order, and refuses one
that does not fit beside those that it has admitted. Runs on the embedded API server, or on that of LIVE_KUBECONFIG (server.py).
Prints a row per run: what was on, pods bound, pods that a kubelet would refuse, seconds from the first pod to the last binding.
"""
import argparse
import http.client
import json
import sys
import threading
import time

sys.dont_write_bytecode = True
from case import Case, millis, node, pod  # noqa: E402
import server  # noqa: E402

NAMES = ("berth-a", "berth-b")
NODE_MILLIS = 4000
SIZES = (300, 500, 700)  # of pods, in milli CPU
QUIET_S = 6  # without a binding for so long, nothing fits any more: longer than most backoffs
MODES = {"off": (), "announce": ("--announce",)}


class Bindings(threading.Thread):
    """The pods with their nodes, in the order of their bindings."""

    def __init__(self, api, namespace):
        super().__init__(daemon=True)
        self.order, self.nodes, self.moved_at = [], {}, time.monotonic()
        self.connection = http.client.HTTPSConnection(api.address, context=api.tls, timeout=600)
        self.connection.request("GET", api.path("Pod", namespace) + "?watch=true&resourceVersion=" +
                                api.version("Pod", namespace), headers={"Authorization": "Bearer " + api.access.token})
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            for line in self.answer:
                event = json.loads(line)
                name = event["object"]["metadata"]["name"]
                where = event["object"].get("spec", {}).get("nodeName")
                if where and name not in self.nodes:
                    self.nodes[name] = where
                    self.order.append((name, where, millis(
                        event["object"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])))
                    self.moved_at = time.monotonic()
        except (OSError, ValueError, AttributeError):  # it was closed
            pass

    def refused(self, capacity):
        """The pods that do not fit on their node, beside those that came before them and do."""
        used, refused = {}, []
        for name, where, amount in self.order:
            if used.get(where, 0) + amount > capacity:
                refused.append(name)
            else:
                used[where] = used.get(where, 0) + amount
        return refused


def fill(case, flags, nodes, pods):
    """Returns what was bound, when nothing more is; and the seconds that it took."""
    case.create_all([node("node-%d" % i, cpu="%dm" % NODE_MILLIS, pods="110") for i in range(nodes)])
    schedulers = [case.start(*flags, name=name, config={"profiles": [{"schedulerName": name}]}) for name in NAMES]
    for one in schedulers:
        case.wait("%s is ready" % one.name, lambda one=one: "Caches are synced" in one.log())
    bindings = Bindings(case.api, case.namespace)
    begun = time.monotonic()
    case.create_all([pod("pod-%d" % i, cpu="%dm" % SIZES[i // 2 % len(SIZES)], schedulerName=NAMES[i % 2],
                         terminationGracePeriodSeconds=0) for i in range(pods)])
    bindings.moved_at = max(bindings.moved_at, time.monotonic())
    while time.monotonic() - bindings.moved_at < QUIET_S and len(bindings.order) < pods:
        time.sleep(0.05)
    return bindings, bindings.moved_at - begun


class Measured(Case):
    def check(self):
        """That nodes have too much is what is measured."""

    def runTest(self):
        options = self.options
        bindings, seconds = fill(self, MODES[self.mode], options.nodes, options.pods)
        print("%-10s %6d %8d %8.1f" % (self.mode, len(bindings.order), len(bindings.refused(NODE_MILLIS)), seconds), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    Measured.options = parser.parse_args()
    print("%-10s %6s %8s %8s" % ("mode", "bound", "refused", "seconds"))
    wrong = 0
    for mode in Measured.options.modes.split(","):
        for _ in range(Measured.options.runs):
            Measured.mode = mode
            one = Measured()
            result = one.run()
            for _, text in result.failures + result.errors:
                print(text, file=sys.stderr)
                wrong = 1
    print(server.stop(), end="", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
