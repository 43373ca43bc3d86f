"""What happens in the cluster of the picture, so that every panel has something to show.

A steady stream of pods, waves that fill the cluster, pods that fit nowhere, preemption, gangs that wait, a plugin that fails,
samples that cannot be fetched, a configuration that is refused, and a restart of the leader."""
import json
import math
import os
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import cli
import running_cluster
import server
from case import Case
from prometheus import Fake, vector, write
from test_dashboard import POLICY, ROOT

NODES, SMALL = 40, 4  # fake kubelets, and as many small nodes for preemption
GI = 1 << 30
PLUGINS = {"gang.so": ("examples", "plugins", "gang.c"), "mistakes.so": ("tests", "plugins", "mistakes.c")}
LOW, HIGH = "low", "high"
LIVES_S = 90  # how long a pod of the stream is there


def quick(name, namespace, cpu="100m", labels=None, **spec):
    """A pod that ends at once when it is deleted."""
    made = cli.pod(name, namespace=namespace, labels=labels, terminationGracePeriodSeconds=0, **spec)
    made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu, "memory": "64Mi"}
    return made


class Scene(Case):
    """A running cluster with a leader and a standby. What happens when is a share of `duration` seconds."""

    def runTest(self):
        """It is no test."""

    def setUp(self):
        cli.Case.setUp(self)
        self.cluster = running_cluster.Cluster(self, "--no-scheduler", "--nodes", str(NODES))
        self.server = server.Given(self.cluster.kubeconfig)
        self.api, self.schedulers, self.created = self.server.api, [], []
        self.samples_fail = False
        self.source = Fake(self, self.samples)
        self.addCleanup(self.end_schedulers)
        for name in ("shop", "batch", "training"):
            self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for name, value in ((LOW, 10), (HIGH, 1000)):
            self.api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value, "metadata": {"name": name}})
        for i in range(SMALL):
            self.api.create(cli.node("small-%d" % i, cpu="4", labels={"pool": "small"},
                                     taints=[{"key": "pool", "value": "small", "effect": "NoSchedule"}]))
        policies = os.path.dirname(self.write("policies/some.yaml", json.dumps(POLICY)))
        flags = ["--samples-interval=10s", "--samples-prometheus", self.source.url, "--policy-dir", policies]
        for name, source in PLUGINS.items():
            subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O1", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "include"),
                            "-o", self.path(name), os.path.join(ROOT, *source)], check=True)
            flags += ["--plugin", self.path(name)]
        for name in ("berth-0", "berth-1"):
            self.start(*flags, name=name, config=self.config(name))
            self.wait("%s serves" % name, self.serves)

    def serves(self):
        try:
            return self.metric(self.schedulers[-1], "scheduler_cache_size", type="nodes") >= NODES
        except OSError:
            return False

    def config(self, name, **more):
        return {"clientConnection": {"kubeconfig": self.path(name + ".kubeconfig")},  # with the default rate limit
                "leaderElection": {"leaderElect": True, "resourceName": "berth"},
                "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Gang"}, {"name": "Mistakes"}]},
                                          "score": {"enabled": [{"name": "LoadBalancingPlugin"}]}},
                              "pluginConfig": [{"name": "Gang", "args": {"timeout": "5s"}}]}], **more}

    def samples(self, handler, query):
        """What a Prometheus knows of the use of nodes."""
        if self.samples_fail:
            return write(handler, 503, {"status": "error", "errorType": "timeout", "error": "query timed out"})
        if "[15m:" in query or "node_" not in query:
            return vector([])
        scale = 1 if "cpu" in query else 4 * GI
        return vector([({"node": "node-%d" % i}, scale * (3 + 2 * math.sin(i + time.time() / 100))) for i in range(NODES)])

    # ---- what happens ----

    def create(self, *things):
        list(self.pool.map(self.api.create, things))

    def remove(self, namespace, label):
        self.api.ask("DELETE", "%s?labelSelector=%s" % (self.api.path("Pod", namespace), label), {})

    def expire(self, namespace, label, second, lives_s):
        """Removes the pods that were made so long ago; the label says when."""
        if second >= lives_s:
            self.remove(namespace, "%s=%d" % (label, second - lives_s))

    def stream(self, second):
        """Some pods each second, which end later."""
        count = round(9 + 6 * math.sin(second / self.duration * 6 * math.pi))
        self.create(*(quick("web-%d-%d" % (second, i), "shop", labels={"created": str(second)}) for i in range(count)))
        self.expire("shop", "created", second, LIVES_S)

    def wave(self, name, count, cpu):
        self.create(*(quick("%s-%d" % (name, i), "batch", cpu, {"wave": name}) for i in range(count)))

    def unschedulable(self):
        """They fit nowhere."""
        self.create(*(quick("large-%d" % i, "training", "100") for i in range(3)),
                    *(quick("gpu-%d" % i, "training", nodeSelector={"accelerator": "a100"}, labels={"fits": "nowhere"}) for i in range(6)))

    def small(self, name, cpu, priority, labels):
        return quick(name, "batch", cpu, labels, priorityClassName=priority, nodeSelector={"pool": "small"},
                     tolerations=[{"key": "pool", "operator": "Exists"}])

    def preempt(self, second):
        """A pod takes the place of two others, and ends later."""
        self.create(*(self.small("low-%d-%d" % (second, i), "1", LOW, {"low": str(second)}) for i in range(3)),
                    self.small("high-%d" % second, "2", HIGH, {"high": str(second)}))
        self.expire("batch", "high", second, 30)
        self.expire("batch", "low", second, 40)

    def gang(self, name, labels, cpu="100m"):
        """The last one decides whether the others may stay."""
        self.create(*(quick("%s-%d" % (name, i), "training", cpu if i == 3 else "100m",
                            {"gang/name": name, "gang/size": "4", **labels}) for i in range(4)))

    def mistakes(self):
        self.create(*(quick("mistake-%d" % i, "shop", labels={"mistake": "filter-strange"}) for i in range(4)))

    def restart_leader(self):
        for one in self.schedulers:
            if self.metric(one, "leader_election_master_status"):
                argv = one.process.args
                one.end()
                with open(one.log_path, "ab") as log:
                    one.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                one.is_expected_to_end = False
                return

    def refuse(self, name):
        self.configure(name, self.config(name, parallelism=-1))

    def samples_end(self):
        self.samples_fail = True

    def samples_begin(self):
        self.samples_fail = False

    def plan(self):
        """What happens once, and when."""
        return [(0.10, self.unschedulable), (0.13, lambda: self.wave("night", 400, "250m")),
                (0.25, lambda: self.remove("batch", "wave=night")), (0.30, lambda: self.wave("day", 1250, "500m")),
                (0.50, self.samples_end), (0.52, lambda: self.remove("batch", "wave=day")), (0.55, self.mistakes),
                (0.60, lambda: self.gang("too-large", {"fits": "never"}, "100")), (0.64, self.samples_begin),
                (0.68, lambda: self.remove("shop", "mistake")), (0.70, lambda: self.refuse("berth-1")),
                (0.72, lambda: self.remove("training", "fits=never")),
                (0.78, lambda: self.configure("berth-1", self.config("berth-1"))), (0.80, self.restart_leader),
                (0.88, lambda: self.remove("training", "fits=nowhere"))]

    def happen(self, duration):
        """Lets it all happen; returns when the time is over."""
        self.duration, plan, begun = duration, self.plan(), time.monotonic()
        with ThreadPoolExecutor(4) as self.pool:
            for second in range(duration):
                time.sleep(max(0, begun + second - time.monotonic()))
                self.stream(second)
                if second % 10 == 5 and 0.15 < second / duration < 0.75:
                    self.preempt(second)
                if second % 15 == 0:
                    self.gang("gang-%d" % second, {"created": str(second)})
                    self.expire("training", "created", second, 30)
                while plan and second >= plan[0][0] * duration:
                    plan.pop(0)[1]()
