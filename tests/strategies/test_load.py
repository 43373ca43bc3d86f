"""The strategies by real use: each formula computed again here, and compared with the scores of berth explain."""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
sys.dont_write_bytecode = True
from cli import Case, by_node, main, node, pod  # noqa: E402

NOW = "2026-01-31T12:00:00Z"
LONG_AGO = "2026-01-30T12:00:00Z"
GI = 1 << 30
MI = 1 << 20


def at(seconds):
    """So many seconds before NOW, in the same day."""
    rest = 12 * 3600 - seconds
    return "2026-01-31T%02d:%02d:%02dZ" % (rest // 3600, rest // 60 % 60, rest % 60)


def amounts(cpu=None, memory=None):
    """Thousandths of a core, bytes."""
    found = {}
    if cpu is not None:
        found["cpu"] = "%dm" % round(cpu)
    if memory is not None:
        found["memory"] = str(memory)
    return found


def sample(name, cpu=None, memory=None, age=10, window="30s", **statistics):
    """NodeMetrics; statistics such as Average=(1000, 2 * GI)."""
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": {"name": name},
            "timestamp": at(age), "window": window, "usage": amounts(cpu, memory),
            "statistics": [{"name": key, "usage": amounts(*value)} for key, value in statistics.items()]}


def pod_sample(name, cpu, memory, age=10):
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"name": name, "namespace": "default"}, "timestamp": at(age), "window": "30s",
            "containers": [{"name": "c", "usage": amounts(cpu, memory)}]}


def use(name, on=None, requests=(None, None), limits=(None, None), age=None, annotations=None, **more):
    """A pod of one container; `age`: placed so many seconds before NOW, else a day."""
    found = pod(name, on=on, created=LONG_AGO, **more)
    resources = {"requests": amounts(*requests), "limits": amounts(*limits)}
    found["spec"]["containers"][0]["resources"] = resources
    found["metadata"]["annotations"] = annotations or {}
    if on:
        found["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime":
                                          LONG_AGO if age is None else at(age)}]
    return found


def capacity(found, cpu, memory):
    found["status"]["capacity"] = {"cpu": cpu, "memory": memory}
    return found


def go_round(number):
    """Halves go away from zero, as in C and Go; Python's round() takes them to the even number."""
    return math.floor(number + 0.5)


def clip(number):
    return min(max(number, 0.0), 1.0)


class Load(Case):
    plugin = None

    def config(self, args=None, points=None):
        enabled = {"enabled": [{"name": self.plugin}]}
        return self.write("config.json", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{
                "plugins": {point: enabled for point in points or ["multiPoint"]},
                "pluginConfig": [{"name": self.plugin, "args": args or {}}]}]}))

    def run_explain(self, objects, samples, args=None, **more):
        return self.berth("explain", "-f", self.write("cluster.json", objects), "-f",
                          self.write("nodemetrics.json", samples), "--config", self.config(args), "--now", NOW,
                          "-o", "json", "default/p", **more)

    def explained(self, objects, samples, args=None):
        result = self.run_explain(objects, samples, args)
        self.assertEqual(result.code, 0, result.err)
        return result.json

    def scores(self, objects, samples, args=None):
        """Node to this plugin's score, of the nodes that fit."""
        nodes = by_node(self.explained(objects, samples, args))
        return {name: row["scores"].get(self.plugin) for name, row in nodes.items() if row["feasible"]}

    def rejected(self, objects, samples, args=None):
        """Node to reasons, of the nodes that this plugin rejects."""
        nodes = by_node(self.explained(objects, samples, args))
        return {name: row["reasons"] for name, row in nodes.items() if row.get("plugin") == self.plugin}

    def refuse_args(self, args, *words):
        self.refuse(self.run_explain([node("a"), use("p")], [], args), *words)

    def accept(self, args):
        result = self.run_explain([node("a"), use("p", requests=(100, MI))], [sample("a", 100, GI)], args)
        self.assertEqual(result.code, 0, result.err)
        return result.err


class Neutral:
    """What all of them answer without a usable sample."""
    neutral = 0

    def test_unusable_samples(self):
        nodes = [node(name, cpu="4", memory="8Gi") for name in ("good", "absent", "old", "ahead", "absurd", "empty")]
        samples = [sample("good", 400, GI), sample("old", 400, GI, age=301), sample("ahead", 400, GI, age=-301),
                   sample("absurd", 8001, GI), sample("empty")]
        result = self.run_explain(nodes + [use("p", requests=(500, GI))], samples, self.args)
        self.assertEqual(result.code, 0, result.err)
        found = {name: row["scores"][self.plugin] for name, row in by_node(result.json).items()}
        self.assertGreater(found.pop("good"), 0)
        self.assertEqual(found, {name: self.neutral for name in ("absent", "old", "ahead", "absurd", "empty")})
        lines = [line for line in result.err.splitlines() if self.plugin + ": the sample of node" in line]
        self.assertEqual(len(lines), 1, result.err)

    def test_just_in_time(self):
        found = self.scores([node("a"), use("p", requests=(500, GI))], [sample("a", 400, GI, age=299)], self.args)
        self.assertGreater(found["a"], 0)

    args = None


class Provider:
    """Arguments of the Trimaran family that name the source of samples."""

    def test_provider(self):
        for source, line in (({"watcherAddress": "http://watcher:2020"}, "watcherAddress has no effect"),
                             ({"metricProvider": {"type": "SignalFx"}}, "SignalFx is not supported")):
            err = self.accept({**(self.args or {}), **source})
            self.assertEqual(err.count(line), 1, err)

    def test_prometheus(self):
        """Takes effect in a live scheduler (tests/live/test_prometheus.py), and changes nothing here."""
        err = self.accept({**(self.args or {}), "metricProvider": {
            "type": "Prometheus", "address": "http://prometheus:9090", "token": "t", "insecureSkipVerify": True}})
        self.assertNotIn("metricProvider", err)

    def test_without_provider(self):
        self.assertNotIn("no effect", self.accept(self.args))

    def test_type_meta(self):
        self.accept({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": self.plugin + "Args",
                     **(self.args or {})})

    def test_unknown_provider(self):
        self.refuse_args({"metricProvider": {"type": "Graphite"}}, "metricProvider.type", "Graphite")

    def test_unknown_argument(self):
        self.refuse_args({"targetUtilisation": 1}, "args.targetUtilisation")


def packing(percent, target=40):
    if percent > 100:
        return 0
    if percent > target:
        return go_round(target * (100 - percent) / (100 - target))
    return go_round((100 - target) * percent / target + target)


class TargetLoadPacking(Load, Neutral, Provider):
    plugin = "TargetLoadPacking"

    def test_formula(self):
        measured = [0, 100, 399, 400, 1000, 1250, 2000, 3000, 3499, 3500, 4000]
        nodes = [node("n%d" % cpu, cpu="4") for cpu in measured]
        objects = nodes + [use("p", limits=(500, None))]
        for target in (None, 40, 70, 1):
            found = self.scores(objects, [sample("n%d" % cpu, cpu, GI) for cpu in measured],
                                {"targetUtilization": target} if target else None)
            self.assertEqual(found, {"n%d" % cpu: packing((cpu + 500) / 40, target or 40) for cpu in measured})

    def test_capacity_counts_and_not_what_is_allocatable(self):
        found = self.scores([capacity(node("a", cpu="3"), "4", "8Gi"), use("p", limits=(500, None))],
                            [sample("a", 300, GI)])
        self.assertEqual(found, {"a": packing(20)})

    def cpu_of(self, **more):
        """The score of a pod with these resources, on a node that is not used."""
        return self.scores([node("a", cpu="10"), use("p", **more)], [sample("a", 0, GI)])["a"]

    def test_cpu_of_a_pod(self):
        self.assertEqual(self.cpu_of(limits=(800, None), requests=(200, None)), packing(8))
        self.assertEqual(self.cpu_of(requests=(333, None)), packing(5))  # 499.5 is rounded
        self.assertEqual(self.cpu_of(), packing(10))
        self.assertEqual(self.cpu_of(requests=(1000, None), overhead={"cpu": "500m"}), packing(20))

    def test_default_requests(self):
        objects = [node("a", cpu="10"), use("p")]
        for cpu, milli in (("500m", 500), (2, 2000), ("2", 2000), (0.25, 250)):
            found = self.scores(objects, [sample("a", 0, GI)], {"defaultRequests": {"cpu": cpu, "memory": "1Gi"}})
            self.assertEqual(found["a"], packing(milli / 100), cpu)

    def test_multiplier(self):
        found = self.scores([node("a", cpu="10"), use("p", requests=(1000, None))], [sample("a", 0, GI)],
                            {"defaultRequestsMultiplier": "2"})
        self.assertEqual(found["a"], packing(20))

    def test_fresh_pods(self):
        """Those placed after the end of the sample, or up to 60 s before it, are not in it."""
        objects = [node("a", cpu="10"), use("p", limits=(500, None)), use("old", "a", requests=(100, None)),
                   use("before", "a", limits=(3000, None), age=70), use("within", "a", limits=(1000, None), age=69),
                   use("after", "a", requests=(200, None), age=5)]
        self.assertEqual(self.scores(objects, [sample("a", 0, GI)]), {"a": packing((500 + 1000 + 300) / 100)})

    def test_bad_arguments(self):
        self.refuse_args({"targetUtilization": 101}, "targetUtilization", "101")
        self.refuse_args({"defaultRequestsMultiplier": "much"}, "defaultRequestsMultiplier", "much")
        self.refuse_args({"defaultRequests": {"cpu": "much"}}, "defaultRequests", "much")

    def test_target_of_zero_is_the_default(self):
        found = self.scores([node("a", cpu="10"), use("p", limits=(500, None))], [sample("a", 0, GI)],
                            {"targetUtilization": 0})
        self.assertEqual(found["a"], packing(5))


def variation(mu, sigma, margin=1.0, sensitivity=1.0):
    deviation = clip(margin * clip(sigma) ** (1 / sensitivity))
    return 100 * (1 - (clip(mu) + deviation) / 2)


class LoadVariationRiskBalancing(Load, Neutral, Provider):
    plugin = "LoadVariationRiskBalancing"

    def test_formula(self):
        nodes, samples, wanted = [], [], {}
        for i, (cpu, cpu_deviation, memory, memory_deviation) in enumerate((
                (0, 0, 0, 0), (1000, 0, GI, 0), (1000, 400, GI, 0), (1000, 0, GI, GI), (3900, 3000, GI, GI),
                (200, 100, 7 * GI, 3 * GI), (4000, 4000, 8 * GI, 8 * GI), (123, 45, 678 * MI, 90 * MI))):
            name = "n%d" % i
            nodes.append(node(name, cpu="4", memory="8Gi"))
            samples.append(sample(name, 1, 1, Average=(cpu, memory), Deviation=(cpu_deviation, memory_deviation)))
            wanted[name] = (((cpu + 500) / 4000, cpu_deviation / 4000),
                            ((memory + GI) / 8 / GI, memory_deviation / 8 / GI))
        objects = nodes + [use("p", requests=(500, GI))]
        self.assertEqual(self.scores(objects, samples),
                         {name: go_round(min(variation(*part) for part in pair)) for name, pair in wanted.items()})
        for margin, sensitivity in ((1, 1), (0.5, 2), (3, 0.5), (0, 1)):
            args = {"safeVarianceMargin": margin, "safeVarianceSensitivity": sensitivity}
            self.assertEqual(self.scores(objects, samples, args), {
                name: go_round(min(variation(mu, sigma, margin, sensitivity) for mu, sigma in pair))
                for name, pair in wanted.items()})

    def test_without_statistics_the_newest_value_counts(self):
        found = self.scores([node("a", cpu="4", memory="8Gi"), use("p", requests=(500, GI))],
                            [sample("a", 1500, GI)])
        self.assertEqual(found["a"], go_round(min(variation(0.5, 0), variation(0.25, 0))))

    def test_one_resource(self):
        found = self.scores([node("a", cpu="4", memory="8Gi"), use("p", requests=(500, GI))],
                            [sample("a", cpu=1500)])
        self.assertEqual(found["a"], go_round(variation(0.5, 0)))

    def test_use_is_a_share_of_the_capacity(self):
        found = self.scores([capacity(node("a", cpu="4", memory="8Gi"), "5", "10Gi"), use("p", requests=(500, GI))],
                            [sample("a", 2500, GI)])
        self.assertEqual(found["a"], go_round(variation(2500 / 5000 + 500 / 4000, 0)))

    def test_fresh_pods(self):
        objects = [node("a", cpu="4", memory="8Gi"), use("p", requests=(500, GI)),
                   use("before", "a", requests=(1000, GI), age=40), use("within", "a", requests=(300, GI), age=39)]
        found = self.scores(objects, [sample("a", 400, GI)])
        self.assertEqual(found["a"], go_round(min(variation(1200 / 4000, 0), variation(3 / 8, 0))))

    def test_negative_arguments_are_the_defaults(self):
        objects = [node("a", cpu="4", memory="8Gi"), use("p", requests=(500, GI))]
        samples = [sample("a", 400, GI, Average=(400, GI), Deviation=(400, GI))]
        self.assertEqual(self.scores(objects, samples, {"safeVarianceMargin": -1, "safeVarianceSensitivity": -2}),
                         self.scores(objects, samples))


def beta_cdf(a, b, x):
    """By Simpson's rule after t = sin^2, as there are no poles then for a, b >= 0.5; else by the power series."""
    steps, angle = 20000, math.asin(math.sqrt(x))
    if min(a, b) < 0.5:
        total, factor = 0.0, 1.0
        for n in range(2000):
            total += factor / (a + n)
            factor *= (n + 1 - b) / (n + 1) * x
        return total * x ** a / math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))

    def density(phi):
        return 2 * math.sin(phi) ** (2 * a - 1) * math.cos(phi) ** (2 * b - 1) if 0 < phi else (2 if a == 0.5 else 0)

    total = sum((1 if i in (0, steps) else 4 if i % 2 else 2) * density(angle * i / steps) for i in range(steps + 1))
    return total * angle / steps / 3 / math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))


def risk_of_use(mu, sigma, request, limit):
    """Shares of the size. Without the pod."""
    sigma = min(sigma, math.sqrt(mu * (1 - mu) * 0.99)) if 0 < mu < 1 else 0
    within, cdf = 1 if mu == 0 or mu <= request else 0, None
    if mu > 0 and sigma > 0:
        total = mu * (1 - mu) / sigma ** 2 - 1
        cdf = lambda x: beta_cdf(mu * total, (1 - mu) * total, x)  # noqa: E731
        within = cdf(request)
    if limit < 1 and request <= limit:
        if limit == 0:
            within = 1
        elif cdf and cdf(limit) > 0:
            within = clip(within / cdf(limit))
    return 1 - within


class LowRiskOverCommitment(Load, Neutral, Provider):
    plugin = "LowRiskOverCommitment"

    def risk(self, measured, on_node, of_pod, weight=0.5, window=5):
        """measured: mean and deviation; on_node and of_pod: request and limit; all as shares of the node."""
        limit, request = on_node[1] + of_pod[1], min(on_node[0] + of_pod[0], 1)
        of_limits = (limit - 1) / (limit - request) if limit > 1 else 0
        of_use = risk_of_use(measured[0], measured[1] * math.sqrt(window), min(on_node[0], 1), on_node[1])
        return clip(weight * of_limits + (1 - weight) * of_use)

    def test_formula(self):
        cases = ((0.1, 0.05, 1000, 1000), (0.5, 0.1, 1000, 3000), (0.7, 0.1, 1500, 5000), (0.3, 0.05, 2000, 6000),
                 (0.9, 0.02, 3000, 3000), (0.2, 0.0, 1000, 2000), (0.4, 0.0, 1000, 2000), (0.3, 0.1, 0, 0),
                 (0.0, 0.0, 1000, 2000))
        memory = (0.25, 0.05, 2 * GI, 3 * GI)
        nodes, samples, pods = [], [], []
        for i, (mean, deviation, request, limit) in enumerate(cases):
            name = "n%d" % i
            nodes.append(node(name, cpu="4", memory="8Gi"))
            samples.append(sample(name, 1, 1, Average=(mean * 4000, int(memory[0] * 8 * GI)),
                                  Deviation=(deviation * 4000, int(memory[1] * 8 * GI))))
            pods.append(use("on-" + name, name, requests=(request, memory[2]), limits=(limit, memory[3])))
        objects = nodes + pods + [use("p", requests=(500, GI), limits=(1500, 2 * GI))]
        memory_risk = [((2 / 8, 3 / 8), (1 / 8, 2 / 8))]
        for weights, window in ((None, None), ({"cpu": 0.8, "memory": 0.1}, 5), ({"cpu": 0}, 1), ({"memory": 7}, 20)):
            args = {"riskLimitWeights": weights, "smoothingWindowSize": window} if weights else None
            cpu_weight, memory_weight = [w if 0 <= w <= 1 else 0.5 for w in (
                (weights or {}).get("cpu", 0.5), (weights or {}).get("memory", 0.5))]
            wanted = {}
            for i, (mean, deviation, request, limit) in enumerate(cases):
                of_cpu = self.risk((mean, deviation), (request / 4000, max(limit, request) / 4000),
                                   (500 / 4000, 1500 / 4000), cpu_weight, window or 5)
                of_memory = self.risk(memory[:2], *memory_risk[0], memory_weight, window or 5)
                wanted["n%d" % i] = go_round(100 * (1 - max(of_cpu, of_memory)))
            self.assertEqual(self.scores(objects, samples, args), wanted, args)

    def test_best_effort_pods_are_not_scored(self):
        self.assertFalse(self.scores([node("a"), use("p")], [sample("a", 100, GI)])["a"])

    def test_init_containers_and_overhead(self):
        """A limit of 3 cores: of an init container, which is more than 2 + 0.5 of the others; and 0.5 of overhead."""
        pending = use("p", requests=(1000, GI), limits=(2000, GI), overhead={"cpu": "500m"}, initContainers=[
            {"name": "s", "image": "i", "restartPolicy": "Always",
             "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "500m"}}},
            {"name": "i", "image": "i", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2500m"}}}])
        found = self.scores([node("a", cpu="3", memory="8Gi"), pending], [sample("a", 0, 0)])
        self.assertEqual(found["a"], go_round(100 * (1 - 0.5 * (3500 - 3000) / (3500 - 2000))))


class LoadBalancingPlugin(Load):
    plugin = "LoadBalancingPlugin"

    @staticmethod
    def wanted(cpu, memory, weights=(1, 1)):
        """Of 4 cores and 8 GiB."""
        parts = (max(0, 4000 - cpu) / 4000, max(0, 8 * GI - memory) / 8 / GI)
        return go_round(100 * sum(w * part for w, part in zip(weights, parts)) / sum(weights))

    def test_formula(self):
        cases = {"idle": (0, 0), "busy": (3000, GI), "full": (4000, 8 * GI), "beyond": (3900, 7 * GI),
                 "odd": (333, 777 * MI)}
        objects = [node(name, cpu="4", memory="8Gi") for name in cases] + [use("p", requests=(500, GI))]
        samples = [sample(name, *amount) for name, amount in cases.items()]
        for args, weights in ((None, (1, 1)), ({"resourceWeights": {"cpu": 3}}, (3, 1)),
                              ({"resourceWeights": {"cpu": 0, "memory": 5}}, (0, 5))):
            self.assertEqual(self.scores(objects, samples, args), {
                name: self.wanted(cpu + 500, memory + GI, weights) for name, (cpu, memory) in cases.items()})

    def test_real_use_and_not_requests(self):
        objects = [node("a", cpu="4"), node("b", cpu="4"), use("q", "a", requests=(3000, GI)),
                   use("p", requests=(500, GI))]
        found = self.scores(objects, [sample("a", 100, GI), sample("b", 2000, GI)])
        self.assertGreater(found["a"], found["b"])

    def test_fresh_pods(self):
        objects = [node("a", cpu="4", memory="8Gi"), use("p", requests=(500, GI)),
                   use("old", "a", requests=(1000, GI)), use("new", "a", requests=(600, GI), age=1),
                   use("new-without", "a", age=1)]
        found = self.scores(objects, [sample("a", 1000, GI)])
        self.assertEqual(found["a"], self.wanted(1000 + 500 + 600 + 100, 3 * GI + 200 * MI))

    def test_without_samples_requests_count(self):
        objects = [node(name, cpu="4", memory="8Gi") for name in ("absent", "old", "absurd")]
        objects += [use("on-" + name, name, requests=(1000, 2 * GI)) for name in ("absent", "old", "absurd")]
        found = self.scores(objects + [use("p", requests=(500, GI))],
                            [sample("old", 0, 0, age=400), sample("absurd", 9000, GI)])
        self.assertEqual(found, {name: self.wanted(1500, 3 * GI) for name in ("absent", "old", "absurd")})

    def test_bad_arguments(self):
        self.refuse_args({"resourceWeights": {"cpu": 0, "memory": 0}}, "resourceWeights")
        self.refuse_args({"resourceWeights": {"cpu": -1}}, "resourceWeights", "-1")


class Peaks(Load, Neutral):
    plugin = "Peaks"
    models = {"a": {"k0": 400, "k1": -300, "k2": -0.05}, "b": {"k0": 100, "k1": 5, "k2": 0.04},
              "c": {"k0": 50, "k1": 20, "k2": 0.02}, "d": {"k0": "471.7", "k1": "-91.5", "k2": "-0.07"}}
    args = {"nodePowerModel": {name: {"k0": 100, "k1": 5, "k2": 0.04} for name in (
        "a", "good", "absent", "old", "ahead", "absurd", "empty")}}
    used = {"a": 400, "b": 2000, "c": 3000, "d": 100}

    def test_formula(self):
        raw = {}
        for name, used in self.used.items():
            k0, k1, k2 = (float(self.models[name][k]) for k in ("k0", "k1", "k2"))
            raw[name] = (k0 + k1 * math.exp(k2 * (used + 500) / 40)) - (k0 + k1 * math.exp(k2 * used / 40))
        low, high = min(raw.values()), max(raw.values())
        wanted = {name: 100 - int(100 * (value - low) / (high - low)) for name, value in raw.items()}
        objects = [node(name, cpu="4") for name in self.used] + [use("p", requests=(500, GI))]
        samples = [sample(name, used, GI) for name, used in self.used.items()]
        path = self.write("models.json", json.dumps(self.models))
        for args in ({"nodePowerModel": self.models}, {"nodePowerModelFile": path},
                     {"WatcherAddress": "http://watcher:2020", "NodePowerModel": self.models}):
            self.assertEqual(self.scores(objects, samples, args), wanted)

    def test_beyond_the_capacity_and_without_a_model(self):
        objects = [node(name, cpu="4") for name in ("a", "b", "other")] + [use("p", requests=(500, GI))]
        found = self.scores(objects, [sample("a", 3600, GI), sample("b", 100, GI), sample("other", 0, GI)],
                            {"nodePowerModel": self.models})
        self.assertEqual(found, {"a": 0, "b": 100, "other": 0})

    def test_fresh_pods(self):
        """b is cheaper while its use is lower: the new pod changes that."""
        models = {name: {"k0": 100, "k1": 5, "k2": 0.04} for name in ("a", "b")}
        objects = [node("a", cpu="4"), node("b", cpu="4"), use("p", requests=(500, GI))]
        samples = [sample("a", 1000, GI), sample("b", 900, GI)]
        args = {"nodePowerModel": models}
        self.assertEqual(self.scores(objects, samples, args), {"a": 0, "b": 100})
        objects.append(use("new", "b", requests=(200, GI), age=1))
        self.assertEqual(self.scores(objects, samples, args), {"a": 100, "b": 0})

    def test_parts(self):
        """Another socket (105 W more), a GPU that was idle (A100: 350 W more), and neither."""
        objects = [node("socket", cpu="64"), node("same", cpu="64"), use("p", requests=(4000, GI))]
        samples = [sample("socket", 15000, GI), sample("same", 17000, GI)]
        self.assertEqual(self.scores(objects, samples, {"powerModel": "Parts"}), {"socket": 0, "same": 100})

        gpus = {"a100": "NVIDIA-A100-SXM4-80GB", "t4": "Tesla-T4", "a10": "NVIDIA-A10"}
        objects = [node(name, cpu="64", labels={"nvidia.com/gpu.product": label}) for name, label in gpus.items()]
        for found in objects:
            found["status"]["allocatable"]["nvidia.com/gpu"] = "2"
        pending = use("p", requests=(1000, GI))
        for side in ("requests", "limits"):
            pending["spec"]["containers"][0]["resources"][side]["nvidia.com/gpu"] = "1"
        raw = {"a100": 350, "t4": 60, "a10": 120}
        found = self.scores(objects + [pending], [sample(name, 1000, GI) for name in gpus], {"powerModel": "Parts"})
        self.assertEqual(found, {name: 100 - int(100 * (value - 60) / 290) for name, value in raw.items()})

    def test_bad_arguments(self):
        self.refuse_args({}, "nodePowerModel", "nodePowerModelFile")
        self.refuse_args({"nodePowerModel": {"a": {"k0": "much"}}}, "nodePowerModel")
        self.refuse_args({"nodePowerModelFile": self.path("missing.json")}, "missing.json")
        self.refuse_args({"powerModel": "Linear"}, "powerModel", "Linear")
        self.refuse_args({"powerModel": "Parts", "parts": {"coresPerSocket": 0}}, "coresPerSocket")


def estimate(request, limit, factor, unset):
    amount = max(request, limit)
    if not amount:
        return unset
    used = go_round(amount * factor / 100)
    return min(used, limit) if limit else used


def estimates(requests=(0, 0), limits=(0, 0), factors=(85, 70)):
    """What Koordinator expects of a pod: CPU and memory."""
    return tuple(estimate(*row) for row in zip(requests, limits, factors, (250, 200 * MI)))


class LoadAwareScheduling(Load):
    plugin = "LoadAwareScheduling"
    cpu_reason = ["node(s) cpu usage was above the threshold"]
    memory_reason = ["node(s) memory usage was above the threshold"]

    @staticmethod
    def wanted(used, weights=(1, 1), dominant=0, total=(4000, 8 * GI)):
        parts = [0 if u > t else (t - u) * 100 // t for u, t in zip(used, total)]
        return (sum(w * part for w, part in zip(weights, parts)) + dominant * min(parts)) // (sum(weights) + dominant)

    def busy(self, *use_of_nodes):
        """Nodes n0, n1 ... of 4 cores and 8 GiB, and their samples."""
        names = ["n%d" % i for i in range(len(use_of_nodes))]
        return ([node(name, cpu="4", memory="8Gi") for name in names],
                [sample(name, *used) for name, used in zip(names, use_of_nodes)])

    # ---- Score ----
    def test_score(self):
        cases = ((0, 0), (1000, GI), (1234, 3 * GI + 5), (2000, 6 * GI), (100, 7 * GI))
        nodes, samples = self.busy(*cases)
        pending = use("p", requests=(500, GI))
        of_pod = estimates((500, GI))
        for args, weights, dominant in (
                ({}, (1, 1), 0), ({"resourceWeights": {"cpu": 2, "memory": 1}}, (2, 1), 0),
                ({"resourceWeights": {"cpu": 1}}, (1, 0), 0), ({"dominantResourceWeight": 3}, (0, 0), 3),
                ({"resourceWeights": {"cpu": 1, "memory": 1}, "dominantResourceWeight": 2}, (1, 1), 2)):
            found = self.scores(nodes + [pending], samples, {"usageThresholds": {"cpu": 100, "memory": 100}, **args})
            self.assertEqual(found, {"n%d" % i: self.wanted((cpu + of_pod[0], memory + of_pod[1]), weights, dominant)
                                     for i, (cpu, memory) in enumerate(cases)}, args)

    def test_estimate_of_a_pod(self):
        nodes, samples = self.busy((0, 0))
        for more in ({}, {"requests": (1000, GI)}, {"requests": (1000, GI), "limits": (3000, 2 * GI)},
                     {"limits": (100, GI)}, {"requests": (1001, 1)}):
            requests, limits = ([tuple(x or 0 for x in more.get(key, (0, 0)))] for key in ("requests", "limits"))
            found = self.scores(nodes + [use("p", **more)], samples, {"usageThresholds": {"cpu": 100}})
            self.assertEqual(found["n0"], self.wanted(estimates(requests[0], limits[0])), more)

    def test_scaling_factors(self):
        nodes, samples = self.busy((0, 0))
        pending = use("p", requests=(1000, 4 * GI))
        found = self.scores(nodes + [pending], samples, {"estimatedScalingFactors": {"cpu": 40}})
        self.assertEqual(found["n0"], self.wanted(estimates((1000, 4 * GI), factors=(40, 70))))

    def test_classes_without_an_estimate(self):
        """Of batch pods, batch resources count; of mid pods theirs, and nothing without them; of free pods nothing."""
        nodes, samples = self.busy((0, 0))
        for name in ("batch-cpu", "mid-cpu"):
            nodes[0]["status"]["allocatable"]["kubernetes.io/" + name] = "100000"
        for label, resource, cpu in (("koord-batch", "batch-cpu", 1700), ("koord-batch", None, 250),
                                     ("koord-mid", "mid-cpu", 1700), ("koord-mid", None, 0), ("koord-free", None, 0)):
            pending = use("p", labels={"koordinator.sh/priority-class": label})
            if resource:
                for side in ("requests", "limits"):
                    pending["spec"]["containers"][0]["resources"][side]["kubernetes.io/" + resource] = "2000"
            found = self.scores(nodes + [pending], samples, {"resourceWeights": {"cpu": 1}})
            self.assertEqual(found["n0"], self.wanted((cpu, 0), (1, 0)), (label, resource))

    # ---- pods that are not in the sample ----
    def placed(self, samples=(), args=None, **more):
        """The score of a node with a use of 1 core and 1 GiB, and one pod."""
        nodes, measured = self.busy((1000, GI))
        objects = nodes + [use("p", requests=(500, GI)), use("q", "n0", requests=(1000, GI), **more)]
        return self.scores(objects, measured + list(samples), args)["n0"]

    def test_fresh_pods(self):
        of_pod, of_other = estimates((500, GI)), estimates((1000, GI))
        base = (1000 + of_pod[0], GI + of_pod[1])
        without = self.wanted(base)
        estimated = self.wanted((base[0] + of_other[0], base[1] + of_other[1]))
        self.assertNotEqual(without, estimated)
        self.assertEqual(self.placed(), without)
        self.assertEqual(self.placed(age=40), without)  # when the sample began: 30 s long, 10 s old
        self.assertEqual(self.placed(age=39), estimated)
        self.assertEqual(self.placed(age=1), estimated)
        # What was measured of the pod is in the sample of the node.
        self.assertEqual(self.placed([pod_sample("q", 300, 100 * MI)], age=1), self.wanted(
            (base[0] + of_other[0] - 300, base[1] + of_other[1] - 100 * MI)))
        self.assertEqual(self.placed([pod_sample("q", 3000, 5 * GI)], age=1), without)

    def test_pods_that_are_not_measured(self):
        """An old pod without a sample, on a node where another one has one, has not begun to run."""
        nodes, measured = self.busy((1000, GI))
        objects = nodes + [use("p", requests=(500, GI)), use("q", "n0", requests=(1000, GI)), use("r", "n0")]
        of_pod, of_other = estimates((500, GI)), estimates((1000, GI))
        self.assertEqual(self.scores(objects, measured + [pod_sample("r", 100, MI)])["n0"], self.wanted(
            (1000 + of_pod[0] + of_other[0], GI + of_pod[1] + of_other[1])))

    def test_estimated_for_longer(self):
        old = [pod_sample("q", 0, 0)]
        plain, longer = self.placed(old, age=100), {"estimatedSecondsAfterPodScheduled": 95}
        self.assertLess(self.placed(old, longer, age=100), plain)
        self.assertEqual(self.placed(old, longer, age=110), plain)
        own = {"scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled": "500"}
        self.assertEqual(self.placed(old, age=100, annotations=own), plain)
        self.assertLess(self.placed(old, {"allowCustomizeEstimation": True}, age=100, annotations=own), plain)

    def test_factors_of_a_pod(self):
        nodes, samples = self.busy((0, 0))
        own = {"scheduling.koordinator.sh/load-estimated-scaling-factors": '{"cpu": 10}'}
        pending = use("p", requests=(2000, GI), annotations=own)
        self.assertEqual(self.scores(nodes + [pending], samples)["n0"], self.wanted(estimates((2000, GI))))
        self.assertEqual(self.scores(nodes + [pending], samples, {"allowCustomizeEstimation": True})["n0"],
                         self.wanted(estimates((2000, GI), factors=(10, 70))))

    # ---- Filter ----
    def test_thresholds(self):
        """65 and 95 percent: the pod is expected to use 425 m (10.625 percent) and 716.8 MiB (8.75 percent)."""
        nodes, samples = self.busy((2190, 0), (2196, 0), (0, int(6.93 * GI)), (0, int(6.95 * GI)), (2196, 7 * GI))
        found = self.rejected(nodes + [use("p", requests=(500, GI))], samples)
        self.assertEqual(found, {"n1": self.cpu_reason, "n3": self.memory_reason, "n4": self.cpu_reason})

    def test_thresholds_of_one_resource(self):
        nodes, samples = self.busy((3900, 0), (0, int(7.9 * GI)))
        pending = use("p", requests=(10, MI))
        self.assertEqual(self.rejected(nodes + [pending], samples, {"usageThresholds": {"memory": 90}}),
                         {"n1": self.memory_reason})
        self.assertEqual(self.rejected(nodes + [pending], samples, {"usageThresholds": {"cpu": 0, "memory": 0}}), {})

    def test_preemption(self):
        """Without a fresh pod of lower priority there is room. An old one is part of the sample: evicting it says
        nothing about the use."""
        nodes, samples = self.busy((0, 0), (2500, 0))
        objects = nodes + [use("fresh", "n0", requests=(3000, GI), age=1), use("old", "n1", requests=(3000, GI)),
                           use("p", requests=(1000, GI), priority=10)]
        report = self.explained(objects, samples)
        self.assertEqual({name: row["reasons"] for name, row in by_node(report).items()},
                         {"n0": self.cpu_reason, "n1": self.cpu_reason})
        self.assertEqual(report["preemption"]["candidates"],
                         {"n0": {"victims": ["default/fresh"], "pdbViolations": 0}})

    def test_daemon_sets_are_not_filtered(self):
        nodes, samples = self.busy((3900, GI))
        pending = use("p", requests=(10, MI), owner=("DaemonSet", "d"))
        self.assertEqual(self.rejected(nodes + [pending], samples), {})
        pending = use("p", requests=(10, MI), owner=("ReplicaSet", "d"))
        self.assertEqual(self.rejected(nodes + [pending], samples), {"n0": self.cpu_reason})

    def test_annotation_of_a_node(self):
        nodes, samples = self.busy(*[(3000, GI)] * 5)
        for found, text in zip(nodes, ('{"usageThresholds": {"cpu": 90}}', '{"usageThresholds": {"cpu": 50}}',
                                       '{"usageThresholds": {"cpu": "90"}}', '{"prodUsageThresholds": {"cpu": 1}}',
                                       '{"aggregatedUsage": {"usageThresholds": {"cpu": 10}, '
                                       '"usageAggregationType": "p95", "usageAggregatedDuration": "5m"}}')):
            found["metadata"]["annotations"] = {"scheduling.koordinator.sh/usage-thresholds": text}
        pending = use("p", requests=(100, MI))
        self.assertEqual(self.rejected(nodes + [pending], samples, {"usageThresholds": {"cpu": 80}}), {
            "n1": self.cpu_reason, "n3": self.cpu_reason,
            "n4": ["node(s) aggregated cpu usage was above the threshold"]})

    def test_raw_allocatable(self):
        nodes, samples = self.busy((2000, GI))
        nodes[0]["metadata"]["annotations"] = {"node.koordinator.sh/raw-allocatable": '{"cpu": "2500m"}'}
        pending = use("p", requests=(100, MI))
        self.assertEqual(self.rejected(nodes + [pending], samples), {"n0": self.cpu_reason})

    def test_aggregated(self):
        nodes, _ = self.busy((0, 0), (0, 0))
        samples = [sample("n0", 100, GI, P95=(3500, GI), P50=(100, GI), Average=(200, GI)),
                   sample("n1", 3500, GI, P95=(1000, GI), P50=(1000, GI), Average=(1000, GI))]
        pending = use("p", requests=(100, MI))
        of_pod = estimates((100, MI))
        aggregated = {"usageThresholds": {"cpu": 60}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m",
                      "scoreAggregationType": "avg", "scoreAggregatedDuration": "5m0s"}
        report = self.run_explain(nodes + [pending], samples, {"aggregated": aggregated})
        found = by_node(report.json)
        self.assertEqual(found["n0"]["reasons"], ["node(s) aggregated cpu usage was above the threshold"])
        self.assertEqual(found["n1"]["scores"][self.plugin], self.wanted((1000 + of_pod[0], GI + of_pod[1])))
        self.assertEqual(report.err.count("durations in `aggregated` have no effect"), 1, report.err)
        self.assertEqual(self.rejected(nodes + [pending], samples), {"n1": self.cpu_reason})

    def test_prod_thresholds(self):
        """Only the pods of the class prod count for pods of that class: q, and not r, which requests nothing."""
        nodes, measured = self.busy((3900, GI))
        objects = nodes + [use("q", "n0", requests=(1000, GI)), use("r", "n0")]
        samples = measured + [pod_sample("q", 1000, GI), pod_sample("r", 2000, GI)]
        pending = use("p", requests=(100, MI))
        args = {"prodUsageThresholds": {"cpu": 30}}
        self.assertEqual(self.rejected(objects + [pending], samples, args), {})
        self.assertEqual(self.rejected(objects + [pending], samples, {"prodUsageThresholds": {"cpu": 26}}),
                         {"n0": self.cpu_reason})
        # 900 m that no pod uses count as well.
        self.assertEqual(self.rejected(objects + [pending], samples, {**args, "prodUsageIncludeSys": True}),
                         {"n0": self.cpu_reason})
        # Another class has the thresholds of the node.
        other = use("p", requests=(100, MI), labels={"koordinator.sh/qosClass": "BE"})
        self.assertEqual(self.rejected(objects + [other], samples, args), {"n0": self.cpu_reason})

    def test_score_by_prod_use(self):
        nodes, measured = self.busy((2000, 4 * GI))
        objects = nodes + [use("q", "n0", requests=(1000, GI)), use("r", "n0"), use("p", requests=(100, MI))]
        samples = measured + [pod_sample("q", 1000, GI), pod_sample("r", 900, GI)]
        of_pod = estimates((100, MI))
        self.assertEqual(self.scores(objects, samples, {"scoreAccordingProdUsage": True})["n0"],
                         self.wanted((1000 + of_pod[0], GI + of_pod[1])))

    # ---- samples that are not usable ----
    def stale(self, age=180):
        nodes, samples = self.busy((3900, GI), (100, GI))
        samples[0] = sample("n0", 3900, GI, age=age)
        return nodes + [use("p", requests=(100, MI))], samples

    def test_expired(self):
        reason = {"n0": ["node(s) had no recent sample of their usage"]}
        objects, samples = self.stale()
        self.assertEqual(self.rejected(objects, samples), reason)
        self.assertEqual(self.rejected(objects, samples, {"enableScheduleWhenNodeMetricsExpired": True}), {})
        # Old samples count if they are not to be filtered.
        self.assertEqual(self.rejected(objects, samples, {"filterExpiredNodeMetrics": False}), {"n0": self.cpu_reason})
        self.assertEqual(self.rejected(objects, samples, {"nodeMetricExpirationSeconds": 181}), {"n0": self.cpu_reason})
        self.assertEqual(self.rejected(*self.stale(179)), {"n0": self.cpu_reason})
        found = self.scores(objects, samples, {"enableScheduleWhenNodeMetricsExpired": True})
        self.assertEqual(found["n0"], 0)
        self.assertGreater(found["n1"], 0)

    def test_silent_source(self):
        """All samples are old: then they say nothing about single nodes."""
        objects, samples = self.stale()
        samples[1] = sample("n1", 100, GI, age=200)
        self.assertEqual(self.rejected(objects, samples), {})
        self.assertEqual(self.scores(objects, samples), {"n0": 0, "n1": 0})

    def test_absent_and_absurd(self):
        nodes, samples = self.busy((8001, GI), (100, GI), (100, GI))
        objects = nodes + [use("p", requests=(100, MI))]
        self.assertEqual(self.rejected(objects, samples[:2]), {})
        found = self.scores(objects, samples[:2])
        self.assertEqual((found["n0"], found["n2"]), (0, 0))
        self.assertGreater(found["n1"], 0)

    # ---- arguments ----
    def test_all_arguments(self):
        """As in Koordinator's own configuration."""
        self.accept({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "LoadAwareSchedulingArgs",
            "filterExpiredNodeMetrics": False, "nodeMetricExpirationSeconds": 300,
            "enableScheduleWhenNodeMetricsExpired": True, "resourceWeights": {"cpu": 1, "memory": 1},
            "dominantResourceWeight": 0, "usageThresholds": {"cpu": 65, "memory": 95},
            "prodUsageThresholds": {"cpu": 55, "memory": 75}, "prodUsageIncludeSys": False,
            "scoreAccordingProdUsage": True, "estimator": "defaultEstimator",
            "estimatedScalingFactors": {"cpu": 85, "memory": 70}, "estimatedSecondsAfterPodScheduled": 60,
            "estimatedSecondsAfterInitialized": 60, "allowCustomizeEstimation": True, "supportedResources": ["cpu"],
            "aggregated": {"usageThresholds": {"cpu": 65, "memory": 95}, "usageAggregationType": "p95",
                           "usageAggregatedDuration": "300s", "scoreAggregationType": "p50"}})

    def test_bad_arguments(self):
        for args, words in (
                ({"usageThresholds": {"cpu": 101}}, ("usageThresholds.cpu", "101")),
                ({"usageThresholds": {"cpu": "65"}}, ("args.usageThresholds.cpu",)),
                ({"usageThresholds": {"nvidia.com/gpu": 65}}, ("args.usageThresholds", "nvidia.com/gpu")),
                ({"estimatedScalingFactors": {"memory": 0}}, ("estimatedScalingFactors.memory", "0")),
                ({"resourceWeights": {"cpu": 0}}, ("resourceWeights.cpu",)),
                ({"nodeMetricExpirationSeconds": 0}, ("nodeMetricExpirationSeconds",)),
                ({"dominantResourceWeight": -1}, ("dominantResourceWeight",)),
                ({"estimator": "mine"}, ("estimator", "mine")),
                ({"aggregated": {"usageAggregationType": "p42"}}, ("aggregated.usageAggregationType", "p42")),
                ({"aggregated": {"scoreAggregatedDuration": "soon"}}, ("aggregated.scoreAggregatedDuration",))):
            self.refuse_args(args, *words)


class WithoutPreScore(Load):
    """PreScore and PreFilter need not be enabled."""

    def test_points_of_koordinator(self):
        """Its documentation enables the plugin at these; and version v1beta2."""
        self.plugin = "LoadAwareScheduling"
        config = self.write("koord.yaml", """apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  plugins:
    filter: {enabled: [{name: LoadAwareScheduling}]}
    score: {enabled: [{name: LoadAwareScheduling, weight: 1}]}
    reserve: {enabled: [{name: LoadAwareScheduling}]}
  pluginConfig:
  - name: LoadAwareScheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1beta2
      kind: LoadAwareSchedulingArgs
      filterExpiredNodeMetrics: true
      nodeMetricExpirationSeconds: 300
      resourceWeights: {cpu: 1, memory: 1}
      usageThresholds: {cpu: 75, memory: 85}
      estimatedScalingFactors: {cpu: 80, memory: 70}
""")
        objects = [node("busy", cpu="4", memory="8Gi"), node("idle", cpu="4", memory="8Gi"),
                   use("p", requests=(500, GI), schedulerName="koord-scheduler")]
        result = self.berth("simulate", "-f", self.write("cluster.json", objects), "-f", self.write("m.json", [
            sample("busy", 3000, GI), sample("idle", 500, GI)]), "--config", config, "--now", NOW, "-o", "json")
        self.assertEqual(self.placed(result.json), {"default/p": "idle"}, result.err)

    def test_points(self):
        models = {"nodePowerModel": {"n": {"k0": 1, "k1": 1, "k2": 0.1}}}
        for self.plugin, args in (("TargetLoadPacking", {}), ("LoadVariationRiskBalancing", {}), ("Peaks", models),
                                  ("LowRiskOverCommitment", {}), ("LoadAwareScheduling", {}),
                                  ("LoadBalancingPlugin", {})):
            objects = [node("n"), use("p", requests=(500, GI))]
            found = []
            for points in (["multiPoint"], ["score"]):
                result = self.berth("explain", "-f", self.write("cluster.json", objects), "-f",
                                    self.write("m.json", [sample("n", 500, GI)]), "--config",
                                    self.config(args, points), "--now", NOW, "-o", "json", "default/p")
                self.assertEqual(result.code, 0, result.err)
                found.append(by_node(result.json)["n"]["scores"][self.plugin])
            self.assertEqual(found[0], found[1], self.plugin)
            self.assertGreater(found[0], 0, self.plugin)


class Examples(Case):
    def test_examples(self):
        folder = os.path.join(ROOT, "examples", "strategies")
        for name in ("LoadBalancingPlugin", "LoadAwareScheduling", "TargetLoadPacking", "LoadVariationRiskBalancing",
                     "LowRiskOverCommitment", "Peaks"):
            with self.subTest(name=name):
                result = self.berth("explain", "-f", os.path.join(folder, "cluster.yaml"), "-f",
                                    os.path.join(folder, "nodemetrics.yaml"), "--config",
                                    os.path.join(folder, name + ".yaml"), "--now", "2026-11-01T00:00:30Z", "-o", "json",
                                    "shop/cart")
                self.assertEqual(result.code, 0, result.err)
                self.assertNotIn("the sample of node", result.err)
                scores = {node: row["scores"][name] for node, row in by_node(result.json).items() if row["feasible"]}
                self.assertGreater(max(scores.values()), 0)
                if name != "LowRiskOverCommitment":  # no pods run there yet: there is no risk
                    self.assertGreater(len(set(scores.values())), 1, scores)


if __name__ == "__main__":
    main()
