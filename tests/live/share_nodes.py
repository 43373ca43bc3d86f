#!/usr/bin/env python3
"""Two schedulers of different names fill the same nodes: how many pods would a kubelet refuse?

usage: tests/live/share_nodes.py [--nodes 500] [--pods 5000] [--runs 3] [--modes off,announce]

Each scheduler gets half of the pods, in three sizes; together they want more than the nodes have, so that both compete for the
last room everywhere. A watch notes the order in which pods get their nodes. A kubelet admits pods in that order, and refuses one
that does not fit beside those that it has admitted. Runs on the embedded API server, or on that of LIVE_KUBECONFIG (server.py).
Prints a row per run: what was on, pods bound, pods that a kubelet would refuse, seconds from the first pod to the last binding.
"""
import argparse
import contextlib
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
    """The pods with their nodes, in the order of their bindings. A watch that ends is resumed: an API server ends that of a
    client which is too slow for it."""

    def __init__(self, api, namespace):
        super().__init__(daemon=True)
        self.api, self.namespace = api, namespace
        self.order, self.nodes, self.moved_at = [], {}, time.monotonic()
        self.version, self.error, self.is_over = api.version("Pod", namespace), None, False
        self.start()

    def run(self):
        while not self.is_over and not self.error:
            try:
                self.follow()
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # the server is restarted

    def follow(self):
        connection = http.client.HTTPSConnection(self.api.address, context=self.api.tls, timeout=600)
        with contextlib.closing(connection):
            connection.request("GET", self.api.path("Pod", self.namespace) + "?watch=true&resourceVersion=" + self.version,
                               headers={"Authorization": "Bearer " + self.api.access.token})
            for line in connection.getresponse():
                if not line.endswith(b"\n"):
                    return  # it was cut
                event = json.loads(line)
                if "spec" not in event.get("object", {}):
                    self.error = "the watch cannot be resumed: " + line.decode()
                    return
                self.take(event["object"])
                if self.is_over:
                    return

    def take(self, one):
        name, where = one["metadata"]["name"], one["spec"].get("nodeName")
        if where and name not in self.nodes:
            self.nodes[name] = where
            self.order.append((name, where, millis(one["spec"]["containers"][0]["resources"]["requests"]["cpu"])))
            self.moved_at = time.monotonic()
        self.version = one["metadata"]["resourceVersion"]

    def end(self, case):
        """When it has seen all bindings that there are."""
        case.wait("the watch shows every binding", lambda: self.error or self.nodes.keys() >= {
            one["metadata"]["name"] for one in case.api.list("Pod", self.namespace) if one["spec"].get("nodeName")})
        self.is_over = True
        case.assertIsNone(self.error)

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
    bindings.end(case)
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
