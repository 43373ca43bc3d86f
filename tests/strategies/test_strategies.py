"""Each rule of the shipped strategies, compared with its formula; see docs/STRATEGIES.md."""
import datetime
import json
import os
import re

from strategies import EXAMPLES, ROOT, Case, Strategy, by_node, file_of, main, node, node_with, pod, pod_with, user_file

GPU = "nvidia.com/gpu"
TYPE = "node.kubernetes.io/instance-type"


class GPUPriority(Strategy):
    NAME = "GPUPriorityPlugin"

    def nodes(self):
        product = "nvidia.com/gpu.product"
        return [node("plain"), node_with("gpu", {GPU: "8"}), node_with("amd", {"amd.com/gpu": "4"}),
                node_with("h100", {GPU: "8"}, labels={product: "NVIDIA-H100"}),
                node_with("a100", {GPU: "8"}, labels={product: "NVIDIA-A100"})]

    def test_a_gpu_pod(self):
        objects = self.nodes() + [pod_with("p", {GPU: "1"})]
        self.assertEqual(self.scores(objects), {"gpu": 100, "h100": 100, "a100": 100})

    def test_filter_is_the_plugins_own(self):
        """NodeResourcesFit would reject these nodes, too: without it, this plugin does."""
        report = self.explained(self.nodes() + [pod_with("p", {GPU: "1"})], disabled=["NodeResourcesFit"])
        found = {name: (row["plugin"], row["status"], row["reasons"]) for name, row in by_node(report).items()
                 if not row["feasible"]}
        why = (self.NAME, "UnschedulableAndUnresolvable", ["node(s) had no GPU"])
        self.assertEqual(found, {"plain": why, "amd": why})

    def test_other_pods(self):
        self.assertEqual(self.scores(self.nodes() + [pod("p")]),
                         {"plain": 50, "amd": 50, "gpu": 10, "h100": 10, "a100": 10})

    def test_resources(self):
        args = {"resources": [GPU, "amd.com/gpu"]}
        self.assertEqual(self.scores(self.nodes() + [pod("p")], args)["amd"], 10)
        self.assertEqual(self.scores(self.nodes() + [pod_with("p", {"amd.com/gpu": "1"})], args), {"amd": 100})

    def test_gpu_weight(self):
        for weight in (1, 33, 70):
            args = {"gpuWeight": weight}
            found = self.scores(self.nodes() + [pod("p")], args)
            self.assertEqual((found["plain"], found["gpu"]), (50 * weight // 100, 10 * weight // 100))
            self.assertEqual(self.scores(self.nodes() + [pod_with("p", {GPU: "1"})], args)["gpu"], weight)
        self.assertEqual(set(self.scores(self.nodes() + [pod("p")], {"gpuWeight": 0}).values()), {None})

    def test_models_and_free_gpus(self):
        """The arguments of before: the better card, then the fuller node."""
        objects = self.nodes() + [pod_with("p", {GPU: "2"}), pod_with("there", {GPU: "3"}, on="gpu")]
        found = self.scores(objects, {"models": ["NVIDIA-H100", "NVIDIA-A100"]})

        def score(model, has, used, want):
            return model - 49 * (has - used - want) // has

        self.assertEqual(found, {"h100": score(100, 8, 0, 2), "a100": score(75, 8, 0, 2), "gpu": score(50, 8, 3, 2)})

    def test_models_by_another_label(self):
        objects = [node_with("x", {GPU: "1"}, labels={"card": "best"}), node_with("y", {GPU: "1"}, labels={"card": "bad"}),
                   pod_with("p", {GPU: "1"})]
        self.assertEqual(self.scores(objects, {"modelLabel": "card", "models": ["best"]}), {"x": 100, "y": 50})

    def test_a_node_is_filled_before_the_next(self):
        config = self.config({"models": ["NVIDIA-H100"]})
        objects = self.nodes()[1:2] + [node_with("gpu-2", {GPU: "8"})] + [pod_with("p%d" % i, {GPU: "4"}) for i in range(2)]
        report = self.simulate(objects, "--config", config, "--plugin", file_of(self.NAME))
        self.assertEqual(len(set(self.placed(report).values())), 1, report)

    def test_strict_keeps_others_off(self):
        found = self.rejections(self.nodes() + [pod("p")], {"strict": True, "resource": GPU})
        self.assertEqual(found, dict.fromkeys(("gpu", "h100", "a100"), "node(s) were kept for GPU pods"))

    def test_filter_and_score_without_the_points_before_them(self):
        objects = self.nodes() + [pod_with("p", {GPU: "1"})]
        self.assertEqual(self.scores(objects, points=("filter", "score")), {"gpu": 100, "h100": 100, "a100": 100})
        self.assertEqual(self.scores(self.nodes() + [pod("p")], points=("filter", "score"))["plain"], 50)

    def test_arguments(self):
        self.refused({"resource": "nothing"}, "resource: nothing is not a resource that is scheduled")
        self.refused({"resources": ["nothing"]}, "resources: nothing is not a resource that is scheduled")
        self.refused({"resource": GPU, "resources": [GPU]}, "resource and resources: expected one of them, not both")
        self.refused({"gpuWeight": 101}, "gpuWeight: expected a number from 0 to 100, got 101")
        self.refused({"gpuWeight": -1}, "gpuWeight: expected a number from 0 to 100, got -1")
        self.refused({"gpuweight": 1}, "args.gpuweight")

    def test_the_alias(self):
        objects = self.nodes() + [pod("p")]
        self.assertEqual(self.scores(objects, name="GpuPriority"), self.scores(objects))

    def test_arguments_under_the_other_name_have_no_effect_and_are_named(self):
        cluster = self.write("cluster.json", self.nodes())
        for enabled, warned in (("GpuPriority", True), (self.NAME, False)):
            config = self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                                "profiles:\n- plugins: {score: {enabled: [{name: %s}]}}\n"
                                "  pluginConfig: [{name: %s, args: {gpuWeight: 10}}]\n" % (enabled, self.NAME))
            result = self.berth("simulate", "-f", cluster, "--config", config)
            self.assertEqual(result.err, "berth: warning: profile default-scheduler: the arguments of GPUPriorityPlugin have no "
                             "effect: the profile enables no plugin of that name\n" if warned else "")


class BusinessAffinity(Strategy):
    NAME = "BusinessAffinityPlugin"
    ZONE = "topology.kubernetes.io/zone"

    def nodes(self):
        return [node("core-a", labels={"node-level": "core", "zone": "a"}),
                node("core-edge", labels={"node-level": "core", "zone": "edge"}),
                node("other-b", labels={"node-level": "other", "zone": "b"}), node("bare")]

    def test_core_on_core_nodes_only(self):
        found = self.rejections(self.nodes() + [pod("p", labels={"business-level": "core"})])
        why = "node(s) were not node-level=core, which business-level=core requires"
        self.assertEqual(found, {"other-b": why, "bare": why})

    def test_no_databases_at_the_edge(self):
        found = self.rejections(self.nodes() + [pod("p", labels={"business-type": "database"})])
        self.assertEqual(found, {"core-edge": "node(s) were zone=edge, where no pod with business-type=database may run"})

    def test_both(self):
        labels = {"business-level": "core", "business-type": "database"}
        self.assertEqual(set(self.rejections(self.nodes() + [pod("p", labels=labels)])), {"core-edge", "other-b", "bare"})

    def test_labels_with_other_values(self):
        labels = {"business-level": "normal", "business-type": "web"}
        self.assertEqual(self.rejections(self.nodes() + [pod("p", labels=labels)]), {})

    def test_the_preferred_zone(self):
        objects = self.nodes() + [pod("p", labels={"preferred-zone": "a"})]
        self.assertEqual(self.scores(objects), {"core-a": 100, "core-edge": 20, "other-b": 20, "bare": 20})
        self.assertEqual(self.scores(objects, points=("score",)), self.scores(objects))

    def test_a_pod_without_labels_is_decided_without_it(self):
        self.assertEqual(set(self.scores(self.nodes() + [pod("p")]).values()), {None})

    def test_rules_of_ones_own(self):
        args = {"rules": [
            {"podLabel": "team", "effect": "Require", "nodeLabel": "node-level"},
            {"podLabel": "team", "podValues": ["x", "y"], "effect": "Forbid", "nodeLabel": "zone", "nodeValues": ["a", "b"]}]}
        self.assertEqual(self.rejections(self.nodes() + [pod("p", labels={"team": "y"})], args), {
            "bare": "node(s) were not node-level, which team requires",
            "core-a": "node(s) were zone=a,b, where no pod with team=x,y may run",
            "other-b": "node(s) were zone=a,b, where no pod with team=x,y may run"})
        self.assertEqual(set(self.rejections(self.nodes() + [pod("p", labels={"team": "z"})], args)), {"bare"})
        self.assertEqual(self.rejections(self.nodes() + [pod("p", labels={"business-level": "core"})], args), {})
        self.assertEqual(self.rejections(self.nodes() + [pod("p", labels={"business-level": "core"})], {"rules": []}), {})

    def test_several_preferences(self):
        args = {"preferences": [{"podLabel": "z", "nodeLabel": "zone", "match": 90, "otherwise": 10},
                                {"podLabel": "l", "nodeLabel": "node-level"}]}
        found = self.scores(self.nodes() + [pod("p", labels={"z": "a", "l": "core"})], args)
        self.assertEqual(found, {"core-a": (90 + 100) // 2, "core-edge": (10 + 100) // 2, "other-b": (10 + 20) // 2,
                                 "bare": (10 + 20) // 2})
        self.assertEqual(self.scores(self.nodes() + [pod("p", labels={"l": "other"})], args)["other-b"], 100)

    def test_together(self):
        args = {"together": {"podLabel": "service", "nodeLabel": "zone"}}
        shop = {"service": "shop"}
        objects = self.nodes() + [pod("p", labels=shop), pod("a1", on="core-a", labels=shop),
                                  pod("b1", on="other-b", labels=shop), pod("b2", on="other-b", labels=shop),
                                  pod("other", on="core-a", labels={"service": "x"}), pod("lost", on="bare", labels=shop)]
        self.assertEqual(self.scores(objects, args), {"core-a": 100 * 1 // 2, "other-b": 100, "core-edge": 0, "bare": 0})

    def older_nodes(self):
        return [node("core-1", labels={"business/pool": "core", self.ZONE: "a"}),
                node("edge-1", labels={"business/pool": "edge", self.ZONE: "a"}),
                node("any-a", labels={self.ZONE: "a"}), node("any-b", labels={self.ZONE: "b"})]

    def test_older_arguments(self):
        args = {"corePool": "core", "forbidden": {"database": "edge", "ledger": "edge"}}
        objects = self.older_nodes()
        self.assertEqual(set(self.rejections(objects + [pod("p", labels={"business/tier": "core"})], args)),
                         {"edge-1", "any-a", "any-b"})
        for kind in ("database", "ledger"):
            self.assertEqual(set(self.rejections(objects + [pod("p", labels={"business/kind": kind})], args)), {"edge-1"})
        self.assertEqual(self.rejections(objects + [pod("p", labels={"business-level": "core"})], args), {})

    def test_older_arguments_keep_a_service_together(self):
        service = {"business/service": "shop"}
        objects = self.older_nodes()[2:] + [pod("first", on="any-b", cpu="2", labels=service)]
        objects += [pod("s%d" % i, labels=service) for i in range(3)]
        config = self.config({"corePool": "core"}, weight=20)
        placed = self.placed(self.simulate(objects, "--config", config, "--plugin", file_of(self.NAME)))
        self.assertEqual({placed["default/s%d" % i] for i in range(3)}, {"any-b"})

    def test_arguments(self):
        self.refused({"rules": [{"podLabel": "a", "nodeLabel": "b", "effect": "Allow"}]},
                     'rules[0].effect: expected Require or Forbid, got "Allow"')
        self.refused({"rules": [{"podLabel": "a", "effect": "Forbid"}]}, "rules[0]: expected a podLabel and a nodeLabel")
        self.refused({"rules": [], "corePool": "x"}, "rules: expected either rules, or corePool and forbidden, not both")
        self.refused({"preferences": [{"podLabel": "a"}]}, "preferences[0]: expected a podLabel and a nodeLabel")
        self.refused({"preferences": [{"podLabel": "a", "nodeLabel": "b", "match": 101}]},
                     "preferences[0]: expected match and otherwise from 0 to 100")
        self.refused({"together": {"podLabel": "a"}}, "together: expected a podLabel and a nodeLabel")


class CostOptimization(Strategy):
    NAME = "CostOptimizationPlugin"
    SPOT = {"node.kubernetes.io/lifecycle": "spot"}
    METRICS = {"cpu": 0.05, "memory": 0.01, "gpu": 2.0}

    @staticmethod
    def value(cores, gib, gpus=0, cpu=0.05, memory=0.01, gpu=2.0):
        return cpu * cores + memory * gib + gpu * gpus

    @staticmethod
    def normalized(costs, spot=None):
        """The formula of the page: of costs per node, and with preferSpotInstances of the spot nodes."""
        raw = {name: int(cost * 1e6 + 0.5) for name, cost in costs.items()}
        high = max([1, *raw.values()])
        part = {name: (high - cost) * 100 // high for name, cost in raw.items()}
        return part if spot is None else {name: score // 2 + (50 if name in spot else 0) for name, score in part.items()}

    def test_the_cost_of_the_pod(self):
        """Two nodes of one size and different prices, and one whose price follows from its size."""
        nodes = [node("dear", labels={TYPE: "x.large"}), node("cheap", labels={TYPE: "x.small"}),
                 node("by-size", cpu="16", memory="64Gi")]
        args = {"costMetrics": self.METRICS, "prices": [{"instanceType": "x.large", "hourly": 0.9},
                                                        {"instanceType": "x.small", "hourly": 0.3}]}
        want, size = self.value(2, 1), self.value(4, 8)
        costs = {"dear": want * 0.9 / size, "cheap": want * 0.3 / size, "by-size": want}
        self.assertEqual(self.scores(nodes + [pod_with("p", {"cpu": "2", "memory": "1Gi"})], args), self.normalized(costs))

    def test_gpus_count(self):
        nodes = [node_with("a", {GPU: "2"}, labels={TYPE: "t"}), node_with("b", {GPU: "4"}, labels={TYPE: "t"})]
        args = {"costMetrics": self.METRICS, "prices": [{"instanceType": "t", "hourly": 5}]}
        want = self.value(1, 1, 1)
        costs = {"a": want * 5 / self.value(4, 8, 2), "b": want * 5 / self.value(4, 8, 4)}
        self.assertEqual(self.scores(nodes + [pod_with("p", {"cpu": "1", "memory": "1Gi", GPU: "1"})], args),
                         self.normalized(costs))

    def test_a_pod_without_requests(self):
        nodes = [node("a", labels={TYPE: "t"}), node("b")]
        args = {"costMetrics": self.METRICS, "prices": [{"instanceType": "t", "hourly": 0.1}]}
        want = self.value(0.1, 200 / 1024)
        lonely = pod("p")
        lonely["spec"]["containers"][0].pop("resources")
        self.assertEqual(self.scores(nodes + [lonely], args),
                         self.normalized({"a": want * 0.1 / self.value(4, 8), "b": want}))

    def test_the_price_on_the_node(self):
        key = "scheduling.berth.dev/hourly-price"
        nodes = [node("label", labels={key: "0.2"}), node_with("annotation", annotations={key: "0.1"}, labels={key: "9"}),
                 node("type", labels={TYPE: "t"}), node("nonsense", labels={key: "cheap", TYPE: "t"})]
        args = {"costMetrics": self.METRICS, "prices": [{"instanceType": "t", "hourly": 0.4}]}
        share = self.value(1, 1) / self.value(4, 8)
        request = pod_with("p", {"cpu": "1", "memory": "1Gi"})
        costs = {"label": 0.2 * share, "annotation": 0.1 * share, "type": 0.4 * share, "nonsense": 0.4 * share}
        self.assertEqual(self.scores(nodes + [request], args), self.normalized(costs))
        other = {**args, "priceLabel": "dollars", "priceAnnotation": ""}
        found = self.scores([node("x", labels={"dollars": "0.1"}), node("y", labels={"dollars": "0.4"}), request], other)
        self.assertEqual(found, self.normalized({"x": 0.1 * share, "y": 0.4 * share}))

    def test_spot_instances(self):
        nodes = [node("spot", labels=self.SPOT), node("plain"), node("listed", labels={TYPE: "t", **self.SPOT})]
        args = {"costMetrics": self.METRICS, "prices": [{"instanceType": "t", "hourly": 0.9, "spotHourly": 0.3}]}
        want = self.value(1, 1)
        costs = {"spot": want * (1 - 0.6), "plain": want, "listed": want * 0.3 / self.value(4, 8)}
        request = pod_with("p", {"cpu": "1", "memory": "1Gi"})
        self.assertEqual(self.scores(nodes + [request], args), self.normalized(costs))
        found = self.scores(nodes + [request], {**args, "preferSpotInstances": True})
        self.assertEqual(found, self.normalized(costs, {"spot", "listed"}))
        found = self.scores(nodes + [request], {**args, "spotDiscount": 0.1})
        self.assertEqual(found, self.normalized({**costs, "spot": want * 0.9}))

    def test_preferred_spot_nodes_win_at_a_higher_price(self):
        key = "scheduling.berth.dev/hourly-price"
        nodes = [node("spot", labels={**self.SPOT, key: "0.9"}), node("plain", labels={key: "0.3"})]
        found = self.scores(nodes + [pod("p")], {"preferSpotInstances": True})
        self.assertGreater(found["spot"], found["plain"])

    def test_how_spot_nodes_are_known(self):
        want = self.value(0.1, 200 / 1024, 0, 0.04, 0.005)
        expected = self.normalized({"s": want * 0.4, "n": want})
        for key, value in (("karpenter.sh/capacity-type", "spot"), ("eks.amazonaws.com/capacityType", "SPOT"),
                           ("cloud.google.com/gke-spot", "true"), ("kubernetes.azure.com/scalesetpriority", "spot")):
            found = self.scores([node("s", labels={key: value}), node("n"), pod("p")])
            self.assertEqual(found, expected, key)
        found = self.scores([node("s", labels={"kind": "Spot"}), node("n", labels=self.SPOT), pod("p")], {"spotLabel": "kind"})
        self.assertEqual(found, expected)

    def test_max_cost_threshold(self):
        nodes = [node("a", labels={TYPE: "t"}), node("b")]
        want = self.value(2, 1)
        on_a = want * 30 / self.value(4, 8)
        prices = [{"instanceType": "t", "hourly": 30}]
        request = pod_with("p", {"cpu": "2", "memory": "1Gi"})
        for limit, rejected in ((on_a - 0.001, {"a"}), (on_a + 0.001, set()), (want - 0.001, {"a", "b"}), (0, set())):
            args = {"costMetrics": self.METRICS, "prices": prices, "maxCostThreshold": limit}
            found = self.rejections(nodes + [request], args)
            self.assertEqual(found, dict.fromkeys(rejected, "node(s) cost more for the pod than maxCostThreshold"), limit)

    def test_score_alone_puts_them_last_and_says_so(self):
        nodes = [node("a", labels={TYPE: "t"}), node("b"), node("c", labels=self.SPOT)]
        args = {"costMetrics": self.METRICS, "prices": [{"instanceType": "t", "hourly": 30}], "maxCostThreshold": 0.2}
        objects = nodes + [pod_with("p", {"cpu": "2", "memory": "1Gi"})]
        want = self.value(2, 1)
        self.assertEqual(self.scores(objects, args, points=("score",)), {"a": 0, **self.normalized({"b": want, "c": want * 0.4})})
        result = self.berth("explain", "-f", self.write("o.json", objects), "--config", self.config(args, ("score",)),
                            "--plugin", file_of(self.NAME), "default/p")
        self.assertEqual(result.err.count("is not enabled at filter"), 1, result.err)

    def test_older_arguments_score_the_price_of_the_node(self):
        args = {"prices": [{"instanceType": "m5.large", "hourly": 0.096, "spotHourly": 0.035},
                           {"instanceType": "m5.xlarge", "hourly": 0.192, "spotHourly": 0.07}],
                "resources": [{"name": GPU, "hourly": 2.5}]}
        nodes = [node("large", labels={TYPE: "m5.large"}), node("xlarge", cpu="8", labels={TYPE: "m5.xlarge"}),
                 node("spot", labels={TYPE: "m5.xlarge", **self.SPOT}), node_with("gpu", {GPU: "2"}),
                 node("big", cpu="64", memory="256Gi")]
        prices = {"large": 0.096, "xlarge": 0.192, "spot": 0.07, "gpu": self.value(4, 8, 2, 0.04, 0.005, 2.5),
                  "big": self.value(64, 256, 0, 0.04, 0.005)}
        self.assertEqual(self.scores(nodes + [pod("p")], args), self.normalized(prices))
        cheap = {**args, "cpuHourly": 0.01, "memoryGiHourly": 0.001}
        prices.update(gpu=self.value(4, 8, 2, 0.01, 0.001, 2.5), big=self.value(64, 256, 0, 0.01, 0.001))
        self.assertEqual(self.scores(nodes + [pod("p")], cheap), self.normalized(prices))

    def test_score_by(self):
        nodes = [node("small"), node("big", cpu="64", memory="256Gi")]
        self.assertEqual(len(set(self.scores(nodes + [pod("p")], {"scoreBy": "PodCost"}).values())), 1)
        found = self.scores(nodes + [pod("p")], {"scoreBy": "NodePrice", "costMetrics": self.METRICS})
        self.assertEqual(found, self.normalized({"small": self.value(4, 8), "big": self.value(64, 256)}))

    def test_the_ceiling_of_a_node(self):
        args = {"prices": [{"instanceType": "p4d.24xlarge", "hourly": 32.77}], "ceilingHourly": 4.0}
        objects = [node("gpu", labels={TYPE: "p4d.24xlarge"}), node("plain")]
        self.assertEqual(self.rejections(objects + [pod("p")], args), {"gpu": "node(s) cost more than the ceiling"})
        self.assertEqual(self.rejections(objects + [pod("p", labels={"cost/ceiling": "40"})], args), {})
        self.assertEqual(set(self.rejections(objects + [pod("p", labels={"cost/ceiling": "0.01"})], args)), {"gpu", "plain"})

    def test_never_on_spot_nodes(self):
        objects = [node("spot", labels=self.SPOT), node("plain"), pod("p", labels={"cost/spot": "never"})]
        self.assertEqual(self.rejections(objects), {"spot": "node(s) were spot nodes"})

    def test_arguments(self):
        self.refused({"spotDiscount": 1.5}, "spotDiscount: 1.5 is not between 0 and 1")
        self.refused({"scoreBy": "Pod"}, 'scoreBy: expected PodCost or NodePrice, got "Pod"')
        self.refused({"maxCostThreshold": -2}, "maxCostThreshold: expected a number from 0 to 1e9, got -2")
        self.refused({"costMetrics": {"cpu": -3}}, "the price of cpu: expected a number from 0 to 1e9, got -3")
        self.refused({"prices": [{"hourly": 1}]}, "prices[0].instanceType: expected the name of an instance type")
        self.refused({"prices": [{"instanceType": "t", "hourly": -1}]}, "prices[0]: expected prices from 0 to 1e9")
        self.refused({"gpuResources": ["gpu"]}, "gpu is not a resource that is scheduled")
        self.refused({"costMetrics": {"disk": 1}}, "args.costMetrics.disk")


class NodeMetadata(Strategy):
    NAME = "NodeMetadata"

    @staticmethod
    def args(source="Label", kind="Number", strategy="Highest", **more):
        return {"metadataKey": "x", "metadataSource": source, "metadataType": kind, "scoringStrategy": strategy, **more}

    @staticmethod
    def normalized(raw):
        """None: the node has no value."""
        valid = [value for value in raw.values() if value is not None]
        low, width = min(valid, default=0), max(valid, default=0) - min(valid, default=0)
        return {name: 0 if value is None else (1 + (value - low) * 99 // width if width else 1)
                for name, value in raw.items()}

    def by_label(self, values, **more):
        nodes = [node(name, labels={} if value is None else {"x": value}) for name, value in values.items()]
        return self.scores(nodes + [pod("p")], self.args(**more))

    def test_numbers(self):
        texts = {"a": "10", "b": "-3.7", "c": "7.9", "d": "1e2", "e": None, "f": "many", "g": "1e400", "h": "99999999999999999999"}
        raw = {"a": 10, "b": -3, "c": 7, "d": 100, "e": None, "f": None, "g": None, "h": None}
        self.assertEqual(self.by_label(texts), self.normalized(raw))
        self.assertEqual(self.by_label(texts, strategy="Lowest"),
                         self.normalized({name: None if value is None else -value for name, value in raw.items()}))

    def test_extremes(self):
        top = 9223372036854774784
        self.assertEqual(self.by_label({"a": str(top), "b": str(-top), "c": "0"}), self.normalized({"a": top, "b": -top, "c": 0}))

    def test_all_equal_and_none(self):
        self.assertEqual(self.by_label({"a": "5", "b": "5.5", "c": None}), {"a": 1, "b": 1, "c": 0})
        self.assertEqual(self.by_label({"a": None, "b": "x"}), {"a": 0, "b": 0})

    def by_annotation(self, values, strategy="Newest", **more):
        nodes = [node_with(name, annotations={"x": value} if value else None) for name, value in values.items()]
        return self.scores(nodes + [pod("p")], self.args("Annotation", "Timestamp", strategy, **more))

    def test_times(self):
        texts = {"a": "2026-01-31T12:00:00Z", "b": "2026-01-31T12:00:00+02:00", "c": "2026-02-28T00:00:00.25Z",
                 "d": "2026-02-30T00:00:00Z", "e": "yesterday", "f": None, "g": "1969-12-31T23:59:59Z"}

        def second(*when):
            return int(datetime.datetime(*when, tzinfo=datetime.timezone.utc).timestamp())

        raw = {"a": second(2026, 1, 31, 12), "b": second(2026, 1, 31, 10), "c": second(2026, 2, 28), "d": None, "e": None,
               "f": None, "g": -1}
        self.assertEqual(self.by_annotation(texts), self.normalized(raw))
        self.assertEqual(self.by_annotation(texts, "Oldest"),
                         self.normalized({name: None if value is None else -value for name, value in raw.items()}))

    def test_layouts_of_go(self):
        """The first two are an hour apart, the third is in the middle, the fourth is in no layout."""
        for layout, texts in (
                ("2006-01-02 15:04:05", ("2024-02-29 10:00:00", "2024-02-29 11:00:00", "2024-02-29 10:30:00")),
                ("2006-01-02T15:04:05.000-0700", ("2024-03-01T00:00:00.000+0100", "2024-03-01T00:00:00.000-0000",
                                                  "2024-02-29T23:30:00.999+0000")),
                ("Mon Jan _2 15:04:05 2006", ("Fri Mar  1 10:00:00 2024", "Fri Mar  1 11:00:00 2024",
                                              "Fri Mar  1 10:30:00 2024")),
                ("Monday, 02-Jan-06 15:04:05 MST", ("Friday, 01-Mar-24 10:00:00 UTC", "Friday, 01-Mar-24 11:00:00 UTC",
                                                    "Friday, 01-Mar-24 10:30:00 UTC")),
                ("January 2, 2006 at 3:04PM", ("March 1, 2024 at 11:30AM", "March 1, 2024 at 12:30PM",
                                               "March 1, 2024 at 12:00PM")),
                ("2006.002 15h04", ("2024.061 09h00", "2024.061 10h00", "2024.061 9h30"))):
            found = self.by_annotation(dict(zip("abcd", (*texts, "2024"))), timestampFormat=layout)
            self.assertEqual(found, {"a": 1, "b": 100, "c": 1 + 99 // 2, "d": 0}, layout)

    def test_what_go_refuses(self):
        """As time.Parse() of Go 1.26 answers: 1 if the text is in the layout."""
        for layout, text, valid in (
                ("3:04PM", "10:49PM", 1), ("3:04PM", "10:49pm", 0), ("3:04PM", "13:00PM", 0), ("_2006", "_1998", 1),
                ("15:04:05.000", "10:00:00.12", 0), ("15:04:05.999", "10:00:00", 1), ("15:04:05", "10:00:00.5", 1),
                ("02 Jan 06", "02   Feb 66", 1), ("02 Jan 06", "02 Fab 66", 0), ("15:04 MST", "10:00 CEST", 1),
                ("15:04 MST", "10:00 ABCD", 0), ("2006-002", "2023-366", 0), ("2006-002", "2024-366", 1),
                ("15:04 -0700", "10:00 +2500", 0), ("_2 Jan", " 3 Jun", 1), ("_2 Jan", "  3 Jun", 0), ("15:04", "24:00", 0)):
            found = self.by_annotation({"n": text}, timestampFormat=layout)
            self.assertEqual(found, {"n": valid}, (layout, text))

    def test_days(self):
        found = self.by_annotation({"a": "2023-12-31", "b": "2024-12-31", "c": "2024-02-29", "d": "2023-02-29"},
                                   timestampFormat="2006-01-02")
        self.assertEqual(found, {"a": 1, "b": 100, "c": 1 + 60 * 99 // 366, "d": 0})

    def test_arguments(self):
        self.refused({}, "metadataKey: expected the name of a label or an annotation")
        self.refused(self.args("Node"), 'metadataSource: expected Label or Annotation, got "Node"')
        self.refused(self.args(kind="Text"), 'metadataType: expected Number or Timestamp, got "Text"')
        self.refused(self.args(strategy="Newest"),
                     'scoringStrategy: expected Highest or Lowest for a Number, got "Newest"')
        self.refused(self.args(kind="Timestamp"),
                     'scoringStrategy: expected Newest or Oldest for a Timestamp, got "Highest"')
        self.refused(self.args(kind="Timestamp", strategy="Oldest", timestampFormat="YYYY"),
                     'timestampFormat: expected a layout of Go such as 2006-01-02T15:04:05Z07:00, got "YYYY"')


class BusinessScore(Strategy):
    NAME = "BusinessScorePlugin"
    PRICE = "scheduling.berth.dev/hourly-price"
    READY = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False"}

    @staticmethod
    def step(steps, value):
        return [score for start, score in steps if value >= start or start == steps[0][0]][-1]

    @staticmethod
    def mean(parts, unknown=50):
        total = sum(weight for weight, _ in parts)
        return sum(weight * score for weight, score in parts) // total if total else unknown

    @classmethod
    def score(cls, cost=50, performance=50, reliability=None, weights=(40, 35, 25)):
        reliability = [(25, 100)] if reliability is None else reliability
        return cls.mean(list(zip(weights, (cost, performance, cls.mean(reliability)))))

    def one(self, found, args=None, created=None):
        return self.scores([found, pod("p", created=created)], args)["n"]

    def test_nothing_is_known(self):
        self.assertEqual(self.one(node("n")), self.score())

    def test_cost(self):
        steps = ((0, 100), (0.02, 80), (0.04, 60), (0.06, 40), (0.1, 20), (0.2, 0))
        for price in (0.02, 0.08, 0.159, 0.16, 0.3, 0.5, 5):
            self.assertEqual(self.one(node("n", labels={self.PRICE: str(price)})),
                             self.score(cost=self.step(steps, price / 4)), price)

    def test_cost_by_tables_of_ones_own(self):
        args = {"cost": {"prices": [{"instanceType": "t", "hourly": 7, "spotHourly": 3}], "perCore": False,
                         "steps": [{"from": 0, "score": 90}, {"from": 5, "score": 10}]}}
        self.assertEqual(self.one(node("n", labels={TYPE: "t"}), args), self.score(cost=10))
        spot = node("n", labels={TYPE: "t", "karpenter.sh/capacity-type": "spot"})
        self.assertEqual(self.one(spot, args), self.score(cost=90, reliability=[(25, 30)]))

    def test_performance(self):
        for labels, parts in (({"disk": "nvme"}, [(30, 100)]), ({"disk": "tape"}, []),
                              ({"disk": "ssd", "network": "25"}, [(30, 70), (30, 85)]),
                              ({"network": "low", "cpu-generation": "6"}, [(30, 20), (40, 85)]),
                              ({"network": "0.5", "cpu-generation": "new", "disk": "hdd"}, [(30, 20), (30, 20)])):
            self.assertEqual(self.one(node("n", labels=labels)), self.score(performance=self.mean(parts)), labels)

    def test_performance_by_tables_of_ones_own(self):
        args = {"performance": [{"nodeAnnotation": "mhz", "weight": 3, "steps": [{"from": 0, "score": 5}, {"from": 3000, "score": 95}]},
                                {"nodeLabel": "arch", "weight": 1, "values": [{"value": "new", "score": 60}]}]}
        found = node_with("n", annotations={"mhz": "3500"}, labels={"arch": "new"})
        self.assertEqual(self.one(found, args), self.score(performance=(3 * 95 + 60) // 4))

    def test_measured_performance(self):
        for text, score in (("83.9", 83), ("120", 100), ("-1", 0)):
            found = node_with("n", annotations={"scheduling.berth.dev/performance": text}, labels={"disk": "hdd"})
            self.assertEqual(self.one(found), self.score(performance=score))

    def test_age(self):
        for hours, score in ((1, 40), (24, 70), (167, 70), (168, 100), (9999, 100), (-5, 40)):
            created = datetime.datetime(2026, 11, 1) - datetime.timedelta(hours=hours)
            found = node_with("n", created=created.strftime("%Y-%m-%dT%H:%M:%SZ"))
            self.assertEqual(self.one(found, created="2026-11-01T00:00:00Z"),
                             self.score(reliability=[(25, 100), (25, score)]), hours)
            self.assertEqual(self.one(found), self.score())

    def test_restarts(self):
        key = "scheduling.berth.dev/restarts"
        for count, score in ((0, 100), (1, 70), (4, 70), (5, 40), (20, 0)):
            expected = self.score(reliability=[(25, 100), (25, score)])
            self.assertEqual(self.one(node_with("n", annotations={key: str(count)})), expected)
            self.assertEqual(self.one(node("n", labels={key: str(count)})), expected)

    def test_conditions(self):
        for more, left in (({}, 100), ({"Ready": "False"}, 0), ({"Ready": "Unknown"}, 0), ({"MemoryPressure": "True"}, 50),
                           ({"MemoryPressure": "True", "DiskPressure": "True", "PIDPressure": "True"}, 0),
                           ({"FrequentKubeletRestart": "True"}, 50), ({"Something": "True"}, 100)):
            found = node_with("n", conditions={**self.READY, **more})
            self.assertEqual(self.one(found), self.score(reliability=[(25, 100), (25, left)]), more)

    def test_weights_and_steps_of_ones_own(self):
        args = {"weights": {"cost": 0, "performance": 10, "reliability": 90}, "unknown": 20,
                "reliability": {"spot": {"weight": 50, "score": 7}, "conditions": {"weight": 10, "penalties": [
                    {"type": "Broken", "penalty": 33}]}}}
        found = node_with("n", labels={"node.kubernetes.io/lifecycle": "spot"}, conditions={"Broken": "True", "Ready": "False"})
        self.assertEqual(self.one(found, args),
                         self.score(0, 20, [(50, 7), (10, 67)], weights=(0, 10, 90)))

    def test_arguments(self):
        self.refused({"weights": {"cost": 101}}, "weights.cost: expected a number from 0 to 100, got 101")
        self.refused({"weights": {"cost": 0, "performance": 0, "reliability": 0}}, "weights: expected one that is more than 0")
        self.refused({"cost": {"steps": []}}, "cost.steps: expected at least one step")
        self.refused({"cost": {"steps": [{"from": 1, "score": 1}, {"from": 1, "score": 2}]}},
                     "cost.steps[1].from: expected more than the step before")
        self.refused({"performance": [{"weight": 1}]}, "performance[0]: expected a nodeLabel or a nodeAnnotation")
        self.refused({"performance": [{"nodeLabel": "a"}]}, "performance[0]: expected values or steps")
        self.refused({"reliability": {"age": {"stepsHours": [{"from": 0, "score": 200}]}}},
                     "reliability.age.stepsHours[0].score: expected a number from 0 to 100")
        self.refused({"reliability": {"conditions": {"penalties": [{"penalty": 1}]}}},
                     "reliability.conditions.penalties[0]: expected a type, and a penalty from 0 to 100")


class StartThrottle(Strategy):
    NAME = "StartThrottle"
    NOW = "2026-11-18T12:00:00Z"
    REASON = "node(s) had started as many pods as they may in that time"

    def fresh(self, name, seconds, where="n"):
        """A pod that was placed so many seconds before noon."""
        found = pod(name, nodeName=where)
        at = "2026-11-18T11:%02d:%02dZ" % (59 - (seconds - 1) // 60, 59 - (seconds - 1) % 60)
        found["status"] = {"phase": "Running", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]}
        return found

    def fits(self, *seconds, **args):
        objects = [node("n", cpu="64"), pod("p")] + [self.fresh("f%d" % i, ago) for i, ago in enumerate(seconds)]
        report = self.explain(objects, "default/p", "--config", self.config(args), "--now", self.NOW)
        row = by_node(report)["n"]
        if not row["feasible"]:
            self.assertIn(self.REASON, json.dumps(row))
        return row["feasible"]

    def test_a_node_that_started_enough(self):
        self.assertFalse(self.fits(10, 20, 30, 40, 50))
        self.assertTrue(self.fits(10, 20, 30, 40))
        self.assertTrue(self.fits(10, 20, 30, 40, 60))  # a minute is over
        self.assertFalse(self.fits(10, 20, 30, 40, 59, 200))

    def test_arguments(self):
        self.assertFalse(self.fits(90, maxStarts=1, window="2m"))
        self.assertTrue(self.fits(120, maxStarts=1, window="2m"))
        self.refused({"maxStarts": 0}, "maxStarts: expected a number from 1 to 1000, got 0")
        self.refused({"window": "2h"}, "window: expected a duration from 1s to 1h")

    def test_simulate_waits(self):
        objects = [node("a", cpu="64"), node("b", cpu="64")] + [pod("p%d" % i) for i in range(10)]
        result = self.berth("simulate", "-f", self.write("cluster.json", objects), "--config", self.config({"maxStarts": 2}), "-o", "json")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(len(self.placed(result.json)), 10, result.out)


class Files(Case):
    """Configurations that users have, and the examples."""

    def check_gpu_scheduler(self, config):
        objects = [node("plain", cpu="64"), node_with("gpu", {GPU: "1"}), pod_with("p", {GPU: "1"}, schedulerName="gpu-scheduler"),
                   pod_with("q", {"cpu": "1"}, schedulerName="gpu-scheduler")]
        for name, scores in (("p", {"gpu": 100}), ("q", {"plain": 50, "gpu": 10})):
            report = self.explain(objects, "default/" + name, "--config", config)  # found by its name
            found = {key: row["scores"]["GPUPriorityPlugin"] for key, row in by_node(report).items() if row["feasible"]}
            self.assertEqual(found, scores)
        placed = self.placed(self.simulate(objects, "--config", config))
        self.assertEqual(placed, {"default/p": "gpu", "default/q": "plain"})

    def test_a_gpu_scheduler(self):
        self.check_gpu_scheduler(user_file("gpu-scheduler.yaml"))

    def test_a_gpu_scheduler_in_a_config_map(self):
        with open(user_file("gpu-scheduler-deployment.yaml"), encoding="utf-8") as file:
            text = file.read().split("gpu-scheduler-config.yaml: |\n", 1)[1]
        self.check_gpu_scheduler(self.write("mounted.yaml", "".join(line[4:] for line in text.splitlines(True))))

    def test_a_cost_optimizer(self):
        objects = [node("plain"), node("spot", labels=CostOptimization.SPOT),
                   pod_with("p", {"cpu": "1", "memory": "1Gi"}, schedulerName="cost-optimizer")]
        report = self.explain(objects, "default/p", "--config", user_file("cost-optimizer.yaml"))
        found = {key: row["scores"]["CostOptimizationPlugin"] for key, row in by_node(report).items()}
        expected = CostOptimization.normalized({"plain": 0.06, "spot": 0.06 * 0.4}, {"spot"})
        self.assertEqual(found, {name: 70 * score for name, score in expected.items()})
        self.assertEqual(self.placed(self.simulate(objects, "--config", user_file("cost-optimizer.yaml"))),
                         {"default/p": "spot"})

    def test_the_limit_of_a_cost_optimizer(self):
        """The file enables the plugin at score only: a node above 10 per hour is not rejected, but comes last."""
        objects = [node_with("dear", {GPU: "8"}), node_with("cheap", {GPU: "8"}, labels=CostOptimization.SPOT),
                   pod_with("p", {"cpu": "1", "memory": "1Gi", GPU: "6"}, schedulerName="cost-optimizer")]
        file = user_file("cost-optimizer.yaml")
        result = self.berth("explain", "-f", self.write("cluster.json", objects), "--config", file, "-o", "json", "p")
        self.assertEqual(by_node(result.json)["dear"]["scores"]["CostOptimizationPlugin"], 0)
        self.assertGreater(by_node(result.json)["cheap"]["scores"]["CostOptimizationPlugin"], 0)
        self.assertIn("CostOptimizationPlugin is not enabled at filter", result.err)

    def test_limits_without_a_filter_are_named_at_the_start(self):
        """Before there is any pod. These two files enable the plugins at score only."""
        cluster = self.write("cluster.json", [node("a")])
        for name, plugin in (("cost-optimizer", "CostOptimizationPlugin"), ("latency-sensitive", "NetworkLatencyPlugin")):
            with open(user_file(name + ".yaml"), encoding="utf-8") as file:
                text = file.read()
            filtered = text.replace("  plugins:\n", "  plugins:\n    filter: {enabled: [{name: %s}]}\n" % plugin)
            limitless = re.sub(r"      max\w+: .*\n", "", text)
            for config, times in ((text, 1), (filtered, 0), (limitless, 0)):
                result = self.berth("simulate", "-f", cluster, "--config", self.write("config.yaml", config))
                self.assertEqual(result.code, 0, result.err)
                self.assertEqual(result.err.count(plugin + " is not enabled at filter"), times, (config, result.err))

    def test_what_a_latency_sensitive_scheduler_has_beside_latency(self):
        with open(user_file("latency-sensitive.yaml"), encoding="utf-8") as file:
            text = file.read().split("  pluginConfig:\n")[0]
        text = text.replace("      - name: NetworkLatencyPlugin\n        weight: 50\n", "")
        self.assertNotIn("Latency", text.replace("latency-sensitive", ""))
        waiting = pod_with("p", {"cpu": "1", "memory": "1Gi"}, schedulerName="latency-sensitive")
        waiting["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}]}}
        objects = [node("fast", cpu="10", memory="10Gi", labels={"fast": "yes"}), node("slow", cpu="10", memory="10Gi"), waiting]
        config = self.write("config.yaml", text)
        nodes = by_node(self.explain(objects, "default/p", "--config", config))
        self.assertEqual({name: (row["scores"]["NodeAffinity"], row["scores"]["LoadBalancingPlugin"])
                          for name, row in nodes.items()}, {"fast": (3000, 1800), "slow": (0, 1800)})
        self.assertEqual(self.placed(self.simulate(objects, "--config", config)), {"default/p": "fast"})

    def test_examples(self):
        """Each places every pod of the example cluster."""
        names = sorted(name for name in os.listdir(EXAMPLES) if name not in ("cluster.yaml", "network.yaml", "nodemetrics.yaml"))
        self.assertGreaterEqual(len(names), 5)
        for name in names:
            with self.subTest(name=name):
                result = self.berth("simulate", "-f", os.path.join(EXAMPLES, "cluster.yaml"), "--config",
                                    os.path.join(EXAMPLES, name), "-o", "json")
                self.assertEqual(result.code, 0, result.err)
                self.assertEqual(len(self.placed(result.json)), 4, result.out)


class Page(Case):
    """What docs/STRATEGIES.md shows of explain is what explain shows."""

    def test_tables(self):
        with open(os.path.join(ROOT, "docs", "STRATEGIES.md"), encoding="utf-8") as file:
            sections = file.read().split("\n## ")[1:]
        shown = 0
        for section in sections:
            name = section.split("\n", 1)[0]
            for what, table in re.findall(r"^    (shop/.*)\n\n((?:(?:      .*)?\n)+)", section, re.M):
                target, verdict = what.split(": ")
                more = ["-f", os.path.join(EXAMPLES, "network.yaml")] if name.startswith("Network") else []
                result = self.berth("explain", "-f", os.path.join(EXAMPLES, "cluster.yaml"), *more, "--config",
                                    os.path.join(EXAMPLES, name + ".yaml"), "--plugin", file_of(name), target)
                self.assertIn(verdict, result.out)
                for line in table.splitlines():
                    self.assertIn(line.strip(), [row.strip() for row in result.out.splitlines()], name)
                shown += 1
        self.assertGreaterEqual(shown, 5)


class Build(Case):
    def test_policies_may_weigh_strategies_that_are_not_loaded(self):
        """Those that score: a policy is shared by schedulers, of which some enable a strategy and others do not."""
        built = sorted(name[:-3] for name in os.listdir(os.path.dirname(file_of(""))) if name.endswith(".so"))
        self.assertGreater(len(built), 15)
        cluster = self.write("cluster.json", [node("a"), node("b"), pod("p")])
        os.mkdir(self.path("policies"))
        refused = []
        for name in built:
            self.write("policies/p.yaml", "{apiVersion: scheduling.k8s.io/v1, kind: SchedulingPolicy, "
                       "metadata: {name: default-policy}, spec: {pluginWeights: {%s: 7}}}" % name)
            result = self.berth("explain", "-f", cluster, "--policy-dir", self.path("policies"), "p")
            if result.code == 0:
                self.assertIn("plugin weights %s 7." % name, result.out)
            else:
                refused.append(name)
        self.assertEqual(refused, ["AdaptiveSchedulingPlugin", "StartThrottle", "TopologicalSort"])

    def test_aliases_are_links(self):
        for alias, name in (("GpuPriority", "GPUPriorityPlugin"), ("BusinessAffinity", "BusinessAffinityPlugin"),
                            ("CostOptimization", "CostOptimizationPlugin")):
            self.assertEqual(os.readlink(file_of(alias)), name + ".so")


if __name__ == "__main__":
    main()
