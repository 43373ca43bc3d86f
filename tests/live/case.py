"""Helpers of the live tests: a test has a namespace of its own, creates objects, starts schedulers, and waits for what must
happen."""
import collections
import functools
import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import cli
import live
import server
from cli import node, pod  # noqa: F401, for the tests
from ports import free_port
from relay import Relay

COMMAND = shlex.split(os.environ.get("LIVE_SCHEDULER", "")) or [cli.BERTH, "scheduler"]
# The schedulers of all tests have the same certificate, since the one that they would make takes longer than most tests.
CERTIFICATES = tempfile.TemporaryDirectory(prefix="berth-live-")
THREADS = 8  # of a test that creates many objects
# As fast as it can be.
FAST = ["--kube-api-qps=1000", "--kube-api-burst=1000"]


def condition(thing, kind):
    """A condition of an object's status, or {}."""
    found = [row for row in thing.get("status", {}).get("conditions", []) if row["type"] == kind]
    return found[0] if found else {}


def node_of(one):
    """The node of a pod, or nothing."""
    return one["spec"].get("nodeName", "")


def millis(quantity):
    """A quantity of CPU."""
    return int(quantity[:-1]) if quantity.endswith("m") else 1000 * int(quantity)


@functools.cache
def serving_flags():
    certificate, key = live.make_pair(CERTIFICATES.name, "scheduler")
    return ["--bind-address=127.0.0.1", "--tls-cert-file", certificate, "--tls-private-key-file", key]


class Scheduler:
    """A process of the scheduler under test."""

    def __init__(self, path, argv, port, environment):
        self.log_path, self.port, self.is_expected_to_end = path, port, False
        with open(path, "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **environment})

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.is_expected_to_end = True
        self.process.kill()
        self.process.wait()

    def end(self):
        """The exit status after SIGTERM; None if it does not end."""
        self.is_expected_to_end = True
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(server.PATIENCE)
        except subprocess.TimeoutExpired:
            return None

    def page(self, path, token):
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE  # it makes its certificate itself
        request = urllib.request.Request("https://127.0.0.1:%d%s" % (self.port, path),
                                         headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(request, timeout=server.PATIENCE, context=tls) as answer:
            return answer.read().decode()

    def metrics(self, token):
        """The values of /metrics by name and labels, as they are written there."""
        rows = [line.rsplit(" ", 1) for line in self.page("/metrics", token).splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in rows}


class Case(cli.Case):
    """Tests of this kind leave the server as empty as they found it."""
    restarts = False  # whether they kill and restart it
    count = 0

    def setUp(self):
        super().setUp()
        self.server = server.start(self.restarts)
        if self.restarts and not self.server.restarts:
            self.skipTest("LIVE_CONTROL is not set: the API server cannot be killed and restarted")
        self.api = self.server.api
        self.schedulers = []
        self.relays = []
        self.created = []
        Case.count += 1
        self.namespace = "live-%d-%d" % (os.getpid(), Case.count)
        self.addCleanup(self.empty)
        self.addCleanup(self.check)
        self.addCleanup(lambda: [relay.close() for relay in self.relays])
        self.addCleanup(self.end_schedulers)
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})

    @staticmethod
    def is_berth():
        """Else kube-scheduler is under test: what these tests say of berth is true of it, too, with few exceptions."""
        return "kube-scheduler" not in os.path.basename(COMMAND[0])

    def berth_only(self, because):
        if not self.is_berth():
            self.skipTest(because)

    # ---- objects ----

    def create(self, *things):
        """Creates objects, in the test's namespace if they have one. Returns the last one, as the server has it."""
        for thing in things:
            self.made(thing)
            created = self.api.create(thing)
        return created

    def made(self, thing):
        """Of an object that is created: its namespace, and that it is deleted in the end."""
        if server.KINDS[thing["kind"]][2]:
            thing["metadata"]["namespace"] = self.namespace
        self.created.append((thing["kind"], thing["metadata"]["name"]))

    def create_all(self, things):
        """Many objects, several at a time."""
        for thing in things:
            self.made(thing)
        def create(some):
            for thing in some:
                self.api.create(thing)
            self.api.close()  # the connection of this thread
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(create, [things[i::THREADS] for i in range(THREADS)]))

    def pod(self, name, **more):
        """Creates one, without a grace period: there is no kubelet that ends it."""
        return self.create(pod(name, **{"terminationGracePeriodSeconds": 0, **more}))

    def nodes(self, count, **more):
        for i in range(count):
            self.create(node("node-%d" % i, **more))

    def get(self, kind, name):
        return self.api.get(kind, name, self.namespace)

    def patch(self, kind, name, change, sub=None):
        return self.api.patch(kind, name, change, self.namespace, sub)

    def remove(self, kind, name):
        """At once: a pod as by its kubelet, when its containers have ended."""
        self.api.delete(kind, name, self.namespace, gracePeriodSeconds=0)

    def events(self, name, reason):
        """About a pod."""
        return [event for event in self.api.list("Event", self.namespace)
                if event["reason"] == reason and event["regarding"]["name"] == name]

    # ---- schedulers ----

    def start(self, *flags, access=None, name=None, config=None, environment=()):
        """Starts a scheduler, by default without leader election. `access`: an address instead of the server's. `config`:
        fields of its configuration file, of which connection and election are set here. `environment`: beside ours."""
        name = name or "scheduler-%d" % len(self.schedulers)
        kubeconfig = self.write(name + ".kubeconfig", self.server.scheduler_access.kubeconfig(access))
        port = free_port()
        argv = COMMAND + serving_flags() + ["--secure-port=%d" % port, "--authentication-kubeconfig", kubeconfig,
                                            "--authorization-kubeconfig", kubeconfig, "--v=2"]
        if config is None:
            argv += ["--kubeconfig", kubeconfig, "--leader-elect=false"] + FAST
        else:
            argv += ["--config", self.configure(name, config)]
        scheduler = Scheduler(self.path(name + ".log"), argv + list(flags), port, dict(environment))
        scheduler.name = name
        self.schedulers.append(scheduler)
        return scheduler

    def configure(self, name, config):
        """Writes the configuration file of a scheduler, which may read it already. Returns its path."""
        text = config if isinstance(config, str) else json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": self.path(name + ".kubeconfig"), "qps": 1000, "burst": 1000},
            "leaderElection": {"leaderElect": False}, **config})
        os.replace(self.write(name + ".yaml.new", text), self.path(name + ".yaml"))
        return self.path(name + ".yaml")

    def relay(self):
        """A relay to the API server, and the address of the API server behind it."""
        host, port = self.api.address.rsplit(":", 1)
        relay = Relay((host, int(port)))
        self.relays.append(relay)
        return relay, "https://127.0.0.1:%d" % relay.port

    def metric(self, scheduler, name, **labels):
        """The sum over all series that have these labels."""
        total = 0
        for series, value in scheduler.metrics(self.api.access.token).items():
            its_name, its_labels = re.fullmatch(r"([^{]*)(.*)", series).groups()
            if its_name == name and all('%s="%s"' % label in its_labels for label in labels.items()):
                total += value
        return total

    # ---- waiting ----

    def wait(self, what, done, *about):
        """The first true value of done(). `about`: pods to describe if there is none."""
        def failed():
            for one in self.schedulers:
                if not one.is_expected_to_end and one.process.poll() is not None:
                    self.fail("%s ended by itself, with status %d, before this happened: %s\n%s" % (
                        one.name, one.process.returncode, what, self.logs()))
        found = server.wait(done, failed)
        if not found:
            self.fail("this did not happen: %s\n%s%s" % (what, "".join(map(self.describe, about)), self.logs()))
        return found

    def wait_for_pod(self, name, what, done):
        """The pod, when done(pod) is true."""
        def look():
            found = self.get("Pod", name)
            return found if done(found) else None
        return self.wait("%s %s" % (name, what), look, name)

    def bound(self, name):
        """The node, when the pod has one."""
        return node_of(self.wait_for_pod(name, "is bound", node_of))

    def bound_to(self, name, where):
        self.assertEqual(self.bound(name), where, name)

    def all_bound(self, names):
        """The nodes by pod, when all of these pods have one."""
        def look():
            nodes = {one["metadata"]["name"]: node_of(one) for one in self.api.list("Pod", self.namespace)}
            return {name: nodes[name] for name in names} if all(nodes.get(name) for name in names) else None
        return self.wait("%d pods are bound" % len(names), look, *names[:1])

    def waits(self, name, text):
        """Waits until the condition PodScheduled says that the pod has no node, and why."""
        def has(one):
            found = condition(one, "PodScheduled")
            return found.get("status") == "False" and text in found.get("message", "")
        found = self.wait_for_pod(name, "is rejected: " + text, has)
        self.assertEqual(condition(found, "PodScheduled")["reason"], "Unschedulable")

    def rejected(self, name, text):
        """The same, and there is an event. For the first rejection of a pod: a second one may only be counted in that event."""
        self.waits(name, text)
        self.assertEqual(self.event(name, "FailedScheduling", text)["type"], "Warning")

    def event(self, name, reason, text=""):
        """An event about a pod."""
        def look():
            return [event for event in self.events(name, reason) if text in event.get("note", "")]
        return self.wait("%s has the event %s: %s" % (name, reason, text), look, name)[0]

    def gone(self, kind, name):
        self.wait("%s %s is gone" % (kind, name), lambda: not self.api.find(kind, name, self.namespace))

    def pending(self, name):
        """Fails if the pod has a node. Only after another fact that shows that the scheduler has seen the pod."""
        self.assertEqual(node_of(self.get("Pod", name)), "", self.describe(name))

    def seen(self, name="last", **more):
        """Waits until a pod that is created now is bound, and its event is written: what was created before has been seen."""
        self.pod(name, cpu="1m", **more)
        self.bound(name)
        self.event(name, "Scheduled")

    # ---- failures, and the end ----

    def describe(self, name):
        found = self.api.find("Pod", name, self.namespace)
        if not found:
            return "%s: does not exist\n" % name
        rows = ["  event %s: %s\n" % (event["reason"], event.get("note")) for event in self.api.list("Event", self.namespace)
                if event["regarding"]["name"] == name]
        return "%s: node %r, %s\n%s" % (name, node_of(found), json.dumps(found["status"]), "".join(rows))

    def logs(self):
        return "".join("--- the end of the log of %s:\n%s\n" % (one.name, one.log()[-6000:]) for one in self.schedulers)

    def end_schedulers(self):
        """Each that still runs has to end at SIGTERM, with status 0."""
        for one in self.schedulers:
            if one.process.poll() is None:
                one.signal(signal.SIGCONT)
                status = one.end()
                one.process.kill()
                one.process.wait()
                if self.is_berth():
                    self.assertEqual(status, 0, self.logs())
            elif not one.is_expected_to_end:
                self.fail("%s ended by itself, with status %d\n%s" % (one.name, one.process.returncode, self.logs()))

    def check(self):
        """Whatever happened: no pod was bound twice, and no node has more than it can hold."""
        room = {one["metadata"]["name"]: one["status"]["allocatable"] for one in self.api.list("Node")}
        used = dict.fromkeys(room, 0)
        for one in self.api.list("Pod", self.namespace):
            if node_of(one) in used:
                used[node_of(one)] += sum(millis(container["resources"].get("requests", {}).get("cpu", "0"))
                                          for container in one["spec"]["containers"])
        counts = collections.Counter()
        for event in self.api.list("Event", self.namespace):
            if event["reason"] == "Scheduled":
                counts[event["regarding"]["uid"]] += (event.get("series") or {}).get("count", 1)
        self.assertEqual([uid for uid, count in counts.items() if count > 1], [], "pods were bound twice")
        for name, cpu in used.items():
            self.assertLessEqual(cpu, millis(room[name]["cpu"]), "%s holds too much" % name)

    def empty(self):
        """Deletes what was created, the namespace last. There are no controllers, so that it is not enough to ask for it."""
        for kind, name in reversed(self.created):
            thing = self.api.find(kind, name, self.namespace)
            if not thing:
                continue
            if kind == "ResourceClaim" and thing.get("status"):
                self.api.replace_status({**thing, "status": {}})
            if thing["metadata"].get("finalizers"):
                self.patch(kind, name, {"metadata": {"finalizers": None}})
            if not self.api.find(kind, name, self.namespace):
                continue
            self.remove(kind, name)
            if kind == "Namespace":
                thing["spec"]["finalizers"] = []
                thing["metadata"].pop("resourceVersion")
                self.api.ask("PUT", self.api.path(kind, None, name, "finalize"), thing)


def finish(result):
    """Ends the server, and the process."""
    wrong = server.stop()
    if wrong:
        print(wrong, file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() and result.testsRun and not wrong else 1)


def main():
    """Runs the tests of a file."""
    finish(unittest.main(verbosity=2, exit=False).result)
