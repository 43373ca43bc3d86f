"""AdaptiveSchedulingPlugin: the conditions that follow from objects, the default rules, and the arguments, by berth explain
and simulate. Those that need time are in test_adaptive.c."""
import json

from strategies import Case, by_node, main, node, pod_with
from test_load import NOW, at, sample

NAME = "AdaptiveSchedulingPlugin"
MOVED = "NodeResourcesFit"
GI = 1 << 30


def running(name, cpu, memory, on="a", age=None, namespace="default"):
    found = pod_with(name, {"cpu": cpu, "memory": memory}, on=on, namespace=namespace)
    if age is not None:
        found["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(age)}]
    return found


class Adaptive(Case):
    def config(self, args, enabled=(), points="multiPoint"):
        plugins = [{"name": name, "weight": weight} for name, weight in enabled]
        where = {points: {"enabled": plugins + [{"name": NAME}]}}
        return self.write("config.json", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{
                "plugins": where, "pluginConfig": [{"name": NAME, "args": args}]}]}))

    def run_explain(self, objects, args, of="default/p", output="json", **more):
        return self.berth("explain", "-f", self.write("cluster.json", objects), "--config", self.config(args, **more), "--now",
                          NOW, "-o", output, of)

    def weights(self, objects, args, **more):
        """Plugin to (weight, reason), of those that were moved."""
        result = self.run_explain(objects, args, **more)
        self.assertEqual(result.code, 0, result.err)
        return {row["plugin"]: (row["weight"], row["reason"]) for row in result.json["weights"]}

    def reason(self, when, objects, **thresholds):
        """Why the condition holds; None: it does not."""
        args = {"weights": [{"plugin": MOVED, "max": 5}], "minObservations": 2, "thresholds": thresholds,
                "rules": [{"when": when, "plugin": MOVED, "direction": "Up"}]}
        found = self.weights(objects + [pod_with("p", {"cpu": "1m"})], args)
        return found[MOVED][1] if MOVED in found else None


class Conditions(Adaptive):
    """One node of 10 cores and 100 GiB, if nothing else is said."""
    NODE = [node("a", cpu="10", memory="100Gi")]

    def test_heavy(self):
        light = self.NODE + [running("r1", "1", "10Gi"), running("r2", "1", "10Gi")]
        heavy = self.NODE + [running("r1", "3", "10Gi"), running("r2", "1", "10Gi")]
        memory = self.NODE + [running("r1", "1", "10Gi"), running("r2", "1", "40Gi")]
        self.assertIsNone(self.reason("CPUHeavy", light))
        self.assertIsNone(self.reason("MemoryHeavy", light))
        self.assertEqual(self.reason("CPUHeavy", heavy), "CPUHeavy (requests of CPU against memory 2, threshold 2)")
        self.assertIsNone(self.reason("MemoryHeavy", heavy))
        self.assertEqual(self.reason("MemoryHeavy", memory), "MemoryHeavy (requests of memory against CPU 2.5, threshold 2)")
        self.assertIsNone(self.reason("CPUHeavy", memory))
        self.assertIsNone(self.reason("CPUHeavy", heavy, cpuHeavy=2.01))
        self.assertIsNone(self.reason("CPUHeavy", self.NODE + [running("r1", "3", "1Gi")]), "one pod is too few")

    def test_other_namespaces_do_not_count(self):
        others = [running("r%d" % i, "1", "1Gi", namespace="other") for i in range(5)]
        self.assertIsNone(self.reason("CPUHeavy", self.NODE + others))

    def test_long_running(self):
        pods = [running("r1", "1", "1Gi", age=3601), running("r2", "1", "1Gi", age=3599)]
        self.assertEqual(self.reason("LongRunning", self.NODE + pods),
                         "LongRunning (share of long running pods 0.5, threshold 0.5)")
        self.assertIsNone(self.reason("LongRunning", self.NODE + pods + [running("r3", "1", "1Gi", age=10)]))

    def test_use_by_requests(self):
        """The higher share of CPU and memory."""
        self.assertEqual(self.reason("Busy", self.NODE + [running("r1", "1", "70Gi")]),
                         "Busy (mean use of nodes 0.7, threshold 0.7)")
        self.assertIsNone(self.reason("Busy", self.NODE + [running("r1", "6900m", "1Gi")]))
        self.assertEqual(self.reason("Idle", self.NODE + [running("r1", "3", "1Gi")]),
                         "Idle (mean use of nodes 0.3, threshold 0.3)")
        self.assertIsNone(self.reason("Idle", self.NODE + [running("r1", "3100m", "1Gi")]))

    def test_spread(self):
        nodes = self.NODE + [node("b", cpu="10", memory="100Gi")]
        even = [running("r1", "1", "1Gi"), running("r2", "3900m", "1Gi", on="b")]
        uneven = [running("r1", "1", "1Gi"), running("r2", "4200m", "1Gi", on="b")]
        self.assertIsNone(self.reason("Uneven", nodes + even))
        self.assertEqual(self.reason("Uneven", nodes + uneven), "Uneven (spread of use of nodes 0.16, threshold 0.15)")

    def test_use_by_samples(self):
        """A sample counts instead of requests, with pods that were placed since; one that is old does not."""
        pods = [running("r1", "1", "1Gi", age=1000)]
        self.assertIsNone(self.reason("Busy", self.NODE + pods + [sample("a", cpu=6900, memory=GI)]))
        self.assertIn("0.7,", self.reason("Busy", self.NODE + pods + [sample("a", cpu=7000, memory=GI)]))
        self.assertIn("0.75,", self.reason("Busy", self.NODE + pods + [
            running("fresh", "500m", "1Gi", age=5), sample("a", cpu=7000, memory=GI)]))
        self.assertIsNone(self.reason("Busy", self.NODE + pods + [sample("a", cpu=7000, memory=GI, age=301)]))


class Rules(Adaptive):
    IDLE = [node("a", cpu="10", memory="100Gi"), pod_with("p", {"cpu": "1m"})]
    UP = {"when": "Idle", "plugin": MOVED, "direction": "Up"}

    def test_default_rules_and_bounds(self):
        """From half to twice the weight, in quarters, of the plugins that the rules name and that score here."""
        found = self.weights(self.IDLE, {}, enabled=[("CostOptimizationPlugin", 10), ("LoadBalancingPlugin", 20)])
        self.assertEqual({name: weight for name, (weight, _) in found.items()}, {"CostOptimizationPlugin": 13})

    def test_scores_have_the_weight(self):
        result = self.run_explain(self.IDLE, {"weights": [{"plugin": MOVED, "max": 9, "step": 6}], "rules": [self.UP]})
        moved = by_node(result.json)["a"]["scores"]
        plain = by_node(self.berth("explain", "-f", self.path("cluster.json"), "-o", "json", "default/p").json)["a"]["scores"]
        self.assertEqual(moved.pop(MOVED), 7 * plain.pop(MOVED))
        self.assertEqual(moved, plain)
        self.assertEqual(result.json["weights"], [{
            "plugin": MOVED, "weight": 7, "configured": 1, "by": NAME,
            "reason": "Idle (mean use of nodes 0, threshold 0.3)"}])

    def test_where_it_is_enabled(self):
        for point in ("multiPoint", "preScore", "score"):
            found = self.weights(self.IDLE, {"weights": [{"plugin": MOVED, "max": 9}], "rules": [self.UP]}, points=point)
            self.assertEqual(found[MOVED][0], 2, point)

    def test_table(self):
        result = self.run_explain(self.IDLE, {"weights": [{"plugin": MOVED, "max": 9}], "rules": [self.UP]}, output="table")
        self.assertIn("The weight of NodeResourcesFit is 2 instead of 1, by AdaptiveSchedulingPlugin: Idle (mean use of nodes "
                      "0, threshold 0.3)", result.out)
        self.assertEqual(result.err.count("namespace default: the weight of NodeResourcesFit moves from 1 to 2 (configured: "
                                          "1): Idle"), 1, result.err)

    def test_down(self):
        found = self.weights(self.IDLE, {"weights": [{"plugin": MOVED, "min": 0, "max": 2}],
                                         "rules": [dict(self.UP, direction="Down")]})
        self.assertEqual(found[MOVED][0], 0)

    def test_simulate(self):
        """All pods are decided at the same time: one step."""
        objects = [node("a", cpu="100", memory="100Gi"), node("b", cpu="100", memory="100Gi")]
        objects += [pod_with("p%02d" % i, {"cpu": "1", "memory": "1Mi"}) for i in range(30)]
        args = {"weights": [{"plugin": MOVED, "max": 9}], "rules": [self.UP]}
        result = self.berth("simulate", "-f", self.write("o.json", objects), "--config", self.config(args), "-o", "json")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.err.count("the weight of NodeResourcesFit moves from 1 to 2"), 1, result.err)


class Arguments(Adaptive):
    def test_refused(self):
        bounds, rule = {"plugin": MOVED, "max": 9}, {"when": "Idle", "plugin": MOVED, "direction": "Up"}
        for args, words in (
                ({"interval": "0s"}, "interval: expected a duration from 1s to 1h"),
                ({"window": "9s"}, "window: expected a duration from 10s to 24h"),
                ({"shortRunning": "2h"}, "shortRunning: expected a duration that is not longer than longRunning"),
                ({"minObservations": 0}, "minObservations: expected a number from 1 on, got 0"),
                ({"hysteresis": 1}, "hysteresis: expected a number from 0 to less than 1, got 1"),
                ({"thresholds": {"busy": -1}}, "thresholds.busy: expected a number above 0, got -1"),
                ({"thresholds": {"bussy": 1}}, "bussy"),
                ({"weights": [dict(bounds, plugin="NodeName")]},
                 'weights[0].plugin: expected a plugin that is enabled at score, got "NodeName"'),
                ({"weights": [bounds, bounds]}, 'weights[1].plugin: "NodeResourcesFit" is in the list twice'),
                ({"weights": [dict(bounds, min=2)]}, "with the configured weight 1 between them, got 2 and 9"),
                ({"weights": [dict(bounds, max=10001)]}, "expected min and max from 0 to 10000"),
                ({"weights": [dict(bounds, step=-1)]}, "weights[0].step: expected a number from 1 to 10000, got -1"),
                ({"weights": [bounds], "rules": [dict(rule, when="Bored")]}, 'rules[0].when: expected ShortRunning, '),
                ({"weights": [bounds], "rules": [dict(rule, plugin="ImageLocality")]},
                 'rules[0].plugin: expected a plugin of weights, got "ImageLocality"'),
                ({"weights": [bounds], "rules": [dict(rule, direction="left")]},
                 'rules[0].direction: expected Up or Down, got "left"'),
        ):
            with self.subTest(args=args):
                self.refuse(self.run_explain(Rules.IDLE, args), words)


if __name__ == "__main__":
    main()
