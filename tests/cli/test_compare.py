"""`berth simulate --compare`: configurations side by side."""
import csv
import io
import json

import cli

PACKING = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{
    "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
    "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {
        "type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}}]}]}


class Compare(cli.Case):
    def setUp(self):
        super().setUp()
        self.packing = self.write("packing.yaml", json.dumps(PACKING))
        self.objects = [cli.node("a", labels={"node.kubernetes.io/instance-type": "small"}), cli.node("b"),
                        *[cli.pod("p%d" % i, cpu="1") for i in range(2)], cli.pod("huge", cpu="9")]

    def compare(self, *args, code=0):
        result = self.berth("simulate", "-f", self.write("c.json", self.objects), "--compare", self.packing, *args)
        self.assertEqual(result.code, code, result.err)
        return result

    def test_figures(self):
        report = self.compare("-o", "json").json
        self.assertEqual((report["apiVersion"], report["kind"]), ("berth.dev/v1", "Comparison"))
        spread, packed = report["configurations"]
        self.assertEqual((spread["config"], packed["config"]), (None, self.packing))
        for row in spread, packed:
            self.assertEqual((row["placed"], row["pending"], row["preempted"], row["decisions"], row["nodes"]), (2, 1, 0, 3, 2))
            self.assertIsNone(row["costPerHour"])
        self.assertEqual((spread["emptyNodes"], packed["emptyNodes"]), (0, 1))
        self.assertEqual((spread["imbalance"]["cpu"], packed["imbalance"]["cpu"]), (0, 0.25))
        (pod,) = report["pods"]
        self.assertEqual((len(set(pod["nodes"])), report["summary"]), (2, {"pods": 3, "differing": 1}))

    def test_the_same_twice(self):
        result = self.berth("simulate", "-f", self.write("c.json", self.objects), "--config", self.packing, "--compare", self.packing)
        self.assertIn("All 3 pods have the same nodes.", result.out)

    def test_it_is_what_each_gives_alone(self):
        """Nothing of one run is left in the next: controllers, claims, preemption."""
        self.objects = [cli.node("n%d" % i, cpu="4") for i in range(5)]
        self.objects += [cli.pod("low%d" % i, on="n%d" % i, cpu="3", priority=0, owner=("ReplicaSet", "low")) for i in range(5)]
        self.objects += [cli.workload("ReplicaSet", "low", replicas=6, cpu="3"), cli.pod("high", cpu="3", priority=9),
                         cli.workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {}}])]
        path = self.write("c.json", self.objects)
        report = self.compare("--compare", self.packing, "--drain", "n3", "-o", "json").json
        for config, row in (None, report["configurations"][0]), (self.packing, report["configurations"][2]):
            alone = self.berth("simulate", "-f", path, "--drain", "n3", "-o", "json", *(["--config", config] if config else [])).json
            for key in "pending", "preempted", "decisions", "emptyNodes":
                self.assertEqual(row[key], alone["summary"][key], key)
        self.assertEqual(*[{key: value for key, value in row.items() if key != "config"} for row in report["configurations"][1:]])

    def test_a_configuration_without_a_profile(self):
        other = self.write("other.yaml", json.dumps({**PACKING, "profiles": [{"schedulerName": "other"}]}))
        self.objects.append(cli.pod("theirs", cpu="1", schedulerName="other"))
        result = self.compare("--compare", other)
        self.assertEqual(result.err, "berth: warning: left 1 pod to other schedulers, such as other\n"
                         "berth: warning: %s: left 1 pod to other schedulers, such as other\n"
                         "berth: warning: %s: left 3 pods to other schedulers, such as default-scheduler\n"
                         % (self.packing, other))
        self.assertRegex(result.out, r"pods of other schedulers +1 +1 +3\n")
        self.assertRegex(result.out, r"default/p0 +[ab] +[ab] +\(not decided\)\n")
        self.assertRegex(result.out, r"default/theirs +\(not decided\) +\(not decided\) +[ab]\n")
        report = self.compare("--compare", other, "-o", "json").json
        self.assertEqual([row["ofOtherSchedulers"] for row in report["configurations"]], [1, 1, 3])
        self.assertNotIn("other schedulers", self.berth(
            "simulate", "-f", self.write("d.json", self.objects[:-1]), "--compare", self.packing).out)

    def test_cost(self):
        prices = {"costMetrics": {"cpu": 1, "memory": 0}, "prices": [{"instanceType": "small", "hourly": 7}]}
        path = self.write("prices.yaml", json.dumps(prices))
        report = self.compare("--prices", path, "-o", "json").json
        spread, packed = report["configurations"]
        self.assertEqual(spread["costPerHour"], 11)
        self.assertIn(packed["costPerHour"], (4, 7))
        self.objects[1]["metadata"]["annotations"] = {"scheduling.berth.dev/hourly-price": "0.5"}
        self.assertEqual(self.compare("--prices", path, "-o", "json").json["configurations"][0]["costPerHour"], 7.5)
        spread = self.compare("-o", "json").json["configurations"][0]
        self.assertEqual((spread["costPerHour"], spread["nodesWithoutPrice"]), (0.5, 1))
        self.assertRegex(self.compare("--prices", path).out, r"cost per hour +7\.50 +")

    def test_spot_nodes(self):
        self.objects[0]["metadata"]["labels"]["karpenter.sh/capacity-type"] = "spot"
        path = self.write("prices.yaml", "costMetrics: {cpu: 1, memory: 0}\nspotDiscount: 0.5\n")
        self.assertEqual(self.compare("--prices", path, "-o", "json").json["configurations"][0]["costPerHour"], 6)

    def test_table(self):
        out = self.compare().out
        for words in "CONFIGURATION", "(defaults)", "pods pending", "imbalance of cpu           0.0%", "1 of 3 pods on another node", "default/p1":
            self.assertIn(words, out)
        self.assertNotIn("cost per hour", out)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.compare("-o", "csv").out, newline="")))
        self.assertEqual({row["pod"] for row in rows}, {"p0", "p1", "huge"})
        self.assertEqual([row[self.packing] for row in rows if row["pod"] == "huge"], [""])

    def test_fail_on_pending(self):
        self.assertIn("1 pod has no node", self.compare("--fail-on-pending", code=1).err)

    def test_errors(self):
        path = self.write("c.json", self.objects)
        self.refuse(self.berth("simulate", "-f", path, "--compare", "no.yaml"), "no.yaml")
        self.refuse(self.berth("simulate", "-f", path, "--prices", "x.yaml"), "--prices needs --compare")
        bad = self.write("bad.yaml", "costMetrics: {cpu: much}\n")
        self.refuse(self.berth("simulate", "-f", path, "--compare", self.packing, "--prices", bad), "bad.yaml:1:20: cpu: expected a number")
        bad = self.write("bad.yaml", "costMetric: {cpu: 1}\n")
        self.refuse(self.berth("simulate", "-f", path, "--compare", self.packing, "--prices", bad), "costMetric: unknown field")


if __name__ == "__main__":
    cli.main()
