"""NetworkOverhead, TopologicalSort and NetworkLatencyPlugin: each rule against a naive form of its formula."""
import os
import random
import unittest

from strategies import Strategy, by_node, node, pod, user_file

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
GROUP = "appgroup.diktyo.x-k8s.io"
WORKLOAD = GROUP + ".workload"
SEEDS = range(int(os.environ.get("BERTH_TEST_SEED", "1")), int(os.environ.get("BERTH_TEST_SEED", "1")) + 25)


def place(region=None, zone=None):
    return {key: value for key, value in ((REGION, region), (ZONE, zone)) if value}


def member(name, workload, on=None, group="shop", **more):
    return pod(name, on=on, labels={GROUP: group, WORKLOAD: workload}, **more)


def app_group(dependencies, name="shop", namespace="default", order=()):
    """dependencies: {workload: [(workload, maxNetworkCost), ...]}"""
    def info(selector):
        return {"kind": "Deployment", "apiVersion": "apps/v1", "namespace": "default", "name": selector,
                "selector": selector}
    return {"apiVersion": GROUP + "/v1alpha1", "kind": "AppGroup", "metadata": {"name": name, "namespace": namespace},
            "spec": {"numMembers": 3, "topologySortingAlgorithm": "KahnSort", "workloads": [
                {"workload": info(workload), "dependencies": [
                    {"workload": info(other), "minBandwidth": "100Mi", "maxNetworkCost": cost} for other, cost in needs]}
                for workload, needs in dependencies.items()]},
            "status": {"topologyOrder": [{"workload": info(workload), "index": index} for workload, index in order]}}


def topology(regions=None, zones=None, name="nt-default", namespace="default", weights="UserDefined"):
    """regions, zones: {(origin, destination): cost}"""
    def origins(costs):
        return [{"origin": origin, "costList": [{"destination": to, "networkCost": cost}
                                                for (source, to), cost in costs.items() if source == origin]}
                for origin in dict.fromkeys(source for source, _ in costs)]
    return {"apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1", "kind": "NetworkTopology",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"configmapName": "x", "weights": [
                {"name": "Other", "topologyList": [{"topologyKey": ZONE, "originList": origins({("z1", "z2"): 99})}]},
                {"name": weights, "topologyList": [{"topologyKey": REGION, "originList": origins(regions or {})},
                                                   {"topologyKey": ZONE, "originList": origins(zones or {})}]}]}}


class NetworkOverhead(Strategy):
    NAME = "NetworkOverhead"
    NODES = [node("a", labels=place("r1", "z1")), node("a2", labels=place("r1", "z1")), node("b", labels=place("r1", "z2")),
             node("c", labels=place("r2", "z3")), node("plain")]
    COSTS = {"regions": {("r1", "r2"): 20, ("r2", "r1"): 20}, "zones": {("z1", "z2"): 5, ("z2", "z1"): 5}}

    def cluster(self, limit, on="a"):
        return [*self.NODES, topology(**self.COSTS), app_group({"web": [("db", limit)], "db": []}),
                member("db-0", "db", on=on), member("p", "web")]

    def test_costs(self):
        # 0 on the node, 1 in its zone, 5 and 20 by the topology, 100 without a cost
        self.assertEqual(self.scores(self.cluster(100)), {"a": 100, "a2": 99, "b": 95, "c": 80, "plain": 0})

    def test_a_file_may_leave_out_the_namespace_default(self):
        objects = self.cluster(100)
        for one in objects:
            one = one["metadata"]
            if one.get("namespace") == "default":
                del one["namespace"]
        self.assertEqual(self.scores(objects), self.scores(self.cluster(100)))

    def test_a_topology_without_costs_is_named(self):
        """Of the same form as an example of scheduler-plugins, which its API server does not take; and other weights."""
        nodes, group, pods = self.NODES, app_group({"web": [("db", 5)]}), [member("db-0", "db", on="a"), member("p", "web")]
        older = topology(**self.COSTS)
        older["spec"]["weights"] = [{"name": "UserDefined", "costList": [{"topologyKey": ZONE, "originCosts": []}]}]
        config = self.config()
        for one, times in ((older, 1), (topology(**self.COSTS, weights="Dijkstra"), 1), (topology(**self.COSTS), 0)):
            result = self.berth("explain", "-f", self.write("o.json", [*nodes, one, group, *pods]), "--config", config, "p")
            self.assertEqual(result.code, 0, result.err)
            self.assertEqual(result.err.count("the NetworkTopology nt-default has no costs in the weights UserDefined"), times,
                             result.err)

    def test_a_limit(self):
        reason = "node(s) were too far in the network from the pods that the pod depends on"
        self.assertEqual(self.rejections(self.cluster(5)), {"c": reason})
        self.assertEqual(self.rejections(self.cluster(4)), {"b": reason, "c": reason})
        # a pod on a node without region and zone is too far from all other nodes
        self.assertEqual(self.rejections(self.cluster(100, on="plain")), {name: reason for name in ("a", "a2", "b", "c")})

    def test_at_score_only(self):
        self.assertEqual(self.scores(self.cluster(4), points=("score",)), {"a": 100, "a2": 99, "b": 95, "c": 80, "plain": 0})

    def test_names_in_the_arguments(self):
        objects = [*self.NODES, topology(**self.COSTS, name="net", namespace="infra", weights="NetperfCosts"),
                   app_group({"web": [("db", 5)]}, namespace="infra"), member("db-0", "db", on="a"), member("p", "web")]
        args = {"namespaces": ["other", "infra"], "networkTopologyName": "net", "weightsName": "NetperfCosts"}
        self.assertEqual(list(self.rejections(objects, args)), ["c"])
        self.assertEqual(self.rejections(objects, {**args, "namespaces": ["default"]}), {})
        self.assertEqual(self.scores(objects, {**args, "weightsName": "UserDefined"}),
                         {"a": 100, "a2": 99, "b": 0, "c": 0, "plain": 0})

    def test_pods_that_depend_on_nothing(self):
        for pods in ([pod("p")], [member("p", "db")], [member("p", "web", group="other")]):
            scores = self.scores([*self.cluster(1)[:-1], *pods])
            self.assertEqual(set(scores.values()), {None}, pods)
            self.assertEqual(len(scores), 5)
        # nothing is placed yet: all are equal
        self.assertEqual(set(self.scores([*self.NODES, app_group({"web": [("db", 1)]}), member("p", "web")]).values()), {0})

    def test_mistakes(self):
        self.refused({"namespaces": []}, "namespaces: expected the names of namespaces")

    def test_scheduler_plugins_arguments(self):
        args = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NetworkOverheadArgs", "namespaces": ["default"],
                "weightsName": "UserDefined", "networkTopologyName": "nt-default"}
        self.assertEqual(list(self.rejections(self.cluster(5), args)), ["c"])

    @staticmethod
    def naive(places, placed, needs, costs, name):
        """(cost, satisfied, violated) of a node, one placed pod after the other, as the original computes it."""
        cost = satisfied = violated = 0
        region, zone = places[name]
        for workload, host in placed:
            for other, limit in needs:
                if other != workload:
                    continue
                if host == name:
                    satisfied += 1
                    continue
                its_region, its_zone = places[host]
                if not its_region and not its_zone:
                    violated, cost = violated + 1, cost + 100
                    continue
                if region == its_region and zone == its_zone:
                    satisfied, cost = satisfied + 1, cost + 1
                    continue
                table, pair = (costs["zones"], (zone, its_zone)) if region == its_region else (
                    costs["regions"], (region, its_region))
                value = table.get(pair)
                cost += 100 if value is None else value
                satisfied += value is not None and value <= limit
                violated += value is not None and value > limit
        return cost, satisfied, violated

    def test_random_clusters(self):
        for seed in SEEDS:
            rng = random.Random(seed)
            places = {f"n{i}": (rng.choice(["", "r1", "r2", "r3"]), rng.choice(["", "z1", "z2", "z3"])) for i in range(12)}
            costs = {key: {(a, b): rng.randrange(60) for a in names for b in names if a != b and rng.random() < 0.7}
                     for key, names in (("regions", ["r1", "r2", "r3"]), ("zones", ["z1", "z2", "z3"]))}
            needs = [(rng.choice(["db", "cache", "queue"]), rng.randrange(60)) for _ in range(rng.randrange(1, 4))]
            placed = [(rng.choice(["db", "cache", "queue", "web"]), rng.choice(list(places))) for _ in range(rng.randrange(1, 15))]
            objects = [node(name, labels=place(*labels)) for name, labels in places.items()]
            objects += [topology(**costs), app_group({"web": needs})]
            objects += [member(f"m{i}", workload, on=host) for i, (workload, host) in enumerate(placed)] + [member("p", "web")]
            sums = {name: self.naive(places, placed, needs, costs, name) for name in places}
            fits = {name: found[0] for name, found in sums.items() if found[2] <= found[1]}
            low, high = min(fits.values(), default=0), max(fits.values(), default=0)
            wanted = {name: 0 if low == high == 0 else 100 - (int(100.0 * (cost - low) / (high - low)) if high > low else 0)
                      for name, cost in fits.items()}
            with self.subTest(seed=seed):
                if len(wanted) > 1:
                    self.assertEqual(self.scores(objects), wanted)
                self.assertEqual(set(self.rejections(objects)), set(places) - set(wanted))


class TopologicalSort(Strategy):
    NAME = "TopologicalSort"

    def order(self, pods, *groups, args=None):
        config = self.write("config.yaml", """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    queueSort: {enabled: [{name: TopologicalSort}], disabled: [{name: "*"}]}
  pluginConfig: [{name: TopologicalSort, args: %s}]
""" % (args or "{}"))
        report = self.simulate([node("a"), *groups, *pods], "--config", config)
        return [entry["pod"]["name"] for entry in report["placements"]]

    def test_the_order_of_workloads(self):
        group = app_group({}, order=[("web", 3), ("db", 1), ("cache", 2)])
        pods = [member("p0", "web"), member("p1", "cache"), member("p2", "db"), member("p3", "unknown")]
        self.assertEqual(self.order(pods, group), ["p3", "p2", "p1", "p0"])

    def test_others_by_priority(self):
        group = app_group({}, order=[("web", 3), ("db", 1)])
        pods = [member("low", "db", priority=1), member("other", "web", group="other", priority=2), pod("high", priority=3)]
        self.assertEqual(self.order(pods, group), ["high", "other", "low"])
        # within the group the order counts, whatever the priority
        self.assertEqual(self.order([member("w", "web", priority=9), member("d", "db")], group), ["d", "w"])

    def test_namespaces(self):
        groups = [app_group({}, namespace="one", order=[("web", 1), ("db", 2)]),
                  app_group({}, namespace="two", order=[("web", 2), ("db", 1)])]
        pods = [member("w", "web"), member("d", "db")]
        self.assertEqual(self.order(pods, *groups, args="{namespaces: [one, two]}"), ["w", "d"])
        self.assertEqual(self.order(pods, *groups, args="{namespaces: [two, one]}"), ["d", "w"])


def config_map(text, name="network-latency", namespace="kube-system"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": {"zones": text}}


def caller(**annotations):
    found = pod("p", labels={"app": "web"})
    found["metadata"]["annotations"] = {"scheduling.berth.dev/" + key.replace("_", "-"): value
                                        for key, value in annotations.items()}
    return found


class NetworkLatency(Strategy):
    NAME = "NetworkLatencyPlugin"
    NODES = [node(name, labels=place(zone="z" + name)) for name in "abc"] + [node("plain")]
    TABLE = config_map("za zb 4\nza zc 20 # by the other line\n\n  zb\tzc 18.5\nzc zc 0.5\n")
    DB = [pod("db-0", on="a", labels={"app": "db"})]
    PEERS = caller(latency_peers="app=db")

    def test_without_a_limit(self):
        # 20 ms is the highest: 100 (20 - ms) / 20; a node without the label is not known
        self.assertEqual(self.scores([*self.NODES, self.TABLE, *self.DB, self.PEERS]), {"a": 100, "b": 80, "c": 0, "plain": 0})

    def test_a_limit(self):
        objects = [*self.NODES, self.TABLE, *self.DB, self.PEERS]
        self.assertEqual(self.scores(objects, {"maxLatencyMs": 10}), {"a": 100, "b": 60, "plain": 0})
        self.assertEqual(self.rejections(objects, {"maxLatencyMs": 10}), {
            "c": "node(s) had a higher latency than maxLatencyMs to the pods that the pod talks to"})
        self.assertEqual(self.scores(objects, {"maxLatencyMs": 20, "latencyWeight": 50}),
                         {"a": 50, "b": 40, "c": 0, "plain": 0})
        self.assertEqual(set(self.scores(objects, {"latencyWeight": 0}).values()), {None})

    def test_the_user_file(self):
        objects = [*self.NODES, self.TABLE, *self.DB, {**self.PEERS, "spec": {**self.PEERS["spec"],
                                                                            "schedulerName": "latency-sensitive"}}]
        report = self.explain(objects, "default/p", "--config", user_file("latency-sensitive.yaml"))
        scores = {name: row["scores"]["NetworkLatencyPlugin"] for name, row in by_node(report).items()}
        self.assertEqual(scores, {"a": 50 * 100, "b": 50 * 60, "c": 0, "plain": 0})   # the weight is 50
        self.assertTrue(all(row["feasible"] for row in by_node(report).values()))

    def test_directions(self):
        table = config_map("za zb 3\nzb za 7\nza zc 5")
        # from b to the peer on a: 7 as measured from b; from c only the other direction is known
        self.assertEqual(self.scores([*self.NODES, table, *self.DB, self.PEERS], {"maxLatencyMs": 10}),
                         {"a": 100, "b": 30, "c": 50, "plain": 0})

    def test_measures(self):
        peers = [*self.DB, pod("db-1", on="a", labels={"app": "db"}), pod("db-2", on="c", labels={"app": "db"})]
        objects = [*self.NODES, self.TABLE, *peers, self.PEERS]
        for measure, wanted in (("Mean", {"a": 83, "b": 77, "c": 66}),       # 20/3, 26.5/3, 40.5/3
                                ("Worst", {"a": 50, "b": 53, "c": 50}),      # 20, 18.5, 20
                                ("Nearest", {"a": 100, "b": 90, "c": 98})):  # 0, 4, 0.5
            found = self.scores(objects, {"measure": measure, "maxLatencyMs": 40})
            self.assertEqual({name: found[name] for name in "abc"}, wanted, measure)

    def test_the_pods_that_it_talks_to(self):
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "data"},
                   "spec": {"selector": {"app": "db", "role": "main"}}}
        placed = [pod("db-0", on="a", namespace="data", labels={"app": "db", "role": "main"}),
                  pod("db-1", on="c", namespace="data", labels={"app": "db"}),
                  pod("web-0", on="b", labels={"app": "web"})]
        base = [*self.NODES, self.TABLE, service, *placed]
        best = lambda who: max(self.scores([*base, who], {"maxLatencyMs": 25}).items(), key=lambda item: item[1])[0]
        self.assertEqual(best(caller()), "b")                                         # of the same app
        self.assertEqual(best(caller(latency_peers="app=db,role=main@data")), "a")
        self.assertEqual(best(caller(latency_services="db@data")), "a")
        self.assertEqual(set(self.scores([*base, caller(latency_peers="app=db")]).values()), {0})   # of its own namespace
        self.assertEqual(best(caller(latency_peers="app=db@data; app=web")), "b")     # several groups
        self.assertEqual(set(self.scores([*base, pod("p")]).values()), {None})        # none

    def test_no_table(self):
        for objects in ([], [config_map("", name="other")], [config_map("za zb 1", namespace="default")]):
            self.assertEqual(set(self.scores([*self.NODES, *objects, *self.DB, self.PEERS]).values()), {None})
        args = {"configMap": {"namespace": "infra", "name": "lat"}, "maxLatencyMs": 10, "topologyKey": "rack"}
        nodes = [node(name, labels={"rack": "z" + name}) for name in "abc"]
        self.assertEqual(self.scores([*nodes, config_map("za zb 4", "lat", "infra"), *self.DB, self.PEERS], args),
                         {"a": 100, "b": 60, "c": 0})

    def test_lines_that_cannot_be_read(self):
        table = config_map("za zb 4\nza zc\nza zc many\nza zc -1\nza zc 5 6\n")
        config = self.config({"maxLatencyMs": 10})
        result = self.berth("explain", "-f", self.write("o.json", [*self.NODES, table, *self.DB, self.PEERS]), "--config",
                            config, "-o", "json", "default/p")
        self.assertIn("4 latencies cannot be read and are left out", result.err)
        scores = {name: row["scores"].get("NetworkLatencyPlugin") for name, row in by_node(result.json).items()}
        self.assertEqual(scores, {"a": 100, "b": 60, "c": 0, "plain": 0})

    def test_a_prometheus_query(self):
        query = {"apiVersion": "metrics.berth.dev/v1", "kind": "PrometheusQuery", "metadata": {"name": "zone-latency"},
                 "result": [{"labels": {"source_zone": "za", "zone": "zb"}, "value": 0.004},
                            {"labels": {"source_zone": "za", "zone": "zc"}, "value": 0.0075},
                            {"labels": {"source_zone": "za"}, "value": 1}]}
        args = {"maxLatencyMs": 10, "configMap": {"name": ""}, "prometheus": {
            "query": "zone-latency", "fromLabel": "source_zone", "toLabel": "zone", "scale": 1000}}
        self.assertEqual(self.scores([*self.NODES, query, *self.DB, self.PEERS], args), {"a": 100, "b": 60, "c": 25, "plain": 0})

    def test_mistakes(self):
        self.refused({"maxLatencyMs": -1}, "maxLatencyMs: expected a number of milliseconds")
        self.refused({"latencyWeight": 101}, "latencyWeight: expected a number from 0 to 100, got 101")
        self.refused({"measurementInterval": "1ms"}, "measurementInterval: expected a duration of at least 1s")
        self.refused({"measure": "Median"}, 'measure: expected Mean, Worst or Nearest, got "Median"')
        self.refused({"topologyKey": ""}, "topologyKey: expected the name of a label")
        self.refused({"prometheus": {"query": "x", "scale": 0}}, "prometheus: expected a fromLabel")


if __name__ == "__main__":
    unittest.main()
