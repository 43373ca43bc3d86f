"""`berth explain`: the answer, in JSON and as a table."""
import json

import cli

CLUSTER = [
    cli.node("big", cpu="8"), cli.node("small", cpu="1"),
    cli.node("tainted", cpu="8", taints=[{"key": "k", "effect": "NoSchedule"}]),
    cli.pod("p", cpu="2", priority=5),
]


class Answer(cli.Case):
    def test_feasible(self):
        found = self.explain(CLUSTER, "default/p")
        self.assertEqual(found["preFilter"], {"status": "Success"})
        self.assertEqual(found["best"], ["big"])
        self.assertNotIn("message", found)
        self.assertNotIn("preemption", found)
        big = found["nodes"]["big"]
        self.assertTrue(big["feasible"])
        self.assertEqual(big["total"], sum(big["scores"].values()))
        self.assertEqual(big["scores"]["TaintToleration"], 300)
        self.assertEqual(found["nodes"]["small"],
                         {"feasible": False, "status": "UnschedulableAndUnresolvable", "plugin": "NodeResourcesFit",
                          "reasons": ["Insufficient cpu"]})
        self.assertEqual(found["nodes"]["tainted"]["plugin"], "TaintToleration")

    def test_namespace_may_be_left_out(self):
        self.assertEqual(self.explain(CLUSTER, "p"), self.explain(CLUSTER, "default/p"))

    def test_nothing_fits(self):
        found = self.explain([cli.node("a", cpu="1"), cli.pod("p", cpu="2")], "p")
        self.assertEqual(found["best"], [])
        self.assertEqual(found["message"], "0/1 nodes are available: 1 Insufficient cpu.")
        self.assertEqual(found["preemption"]["status"], "Unschedulable")
        self.assertTrue(found["preemption"]["message"].startswith("preemption: "))

    def test_no_nodes(self):
        found = self.explain([cli.pod("p")], "p")
        self.assertEqual(found["message"], "no nodes available to schedule pods")
        self.assertEqual((found["nodes"], found["best"]), ({}, []))

    def test_pre_filter_rejection(self):
        found = self.explain([cli.node("a"), cli.pod("p", volumes=[
            {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}])], "p")
        self.assertEqual(found["preFilter"]["status"], "UnschedulableAndUnresolvable")
        self.assertIn("missing", found["preFilter"]["reasons"][0])
        self.assertEqual(found["nodes"], {})

    def test_pre_filter_narrows(self):
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]}}}
        found = self.explain([cli.node("a"), cli.node("b"), cli.pod("p", affinity=affinity)], "p")
        self.assertEqual(found["preFilter"]["nodeNames"], ["b"])
        self.assertNotIn("plugin", found["nodes"]["a"])
        self.assertEqual(found["best"], ["b"])

    def test_victims(self):
        found = self.explain([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                              cli.pod("p", cpu="2", priority=9)], "p")
        self.assertEqual(found["preemption"], {"status": "Success", "nominated": ["a"], "candidates": {
            "a": {"victims": ["default/low"], "pdbViolations": 0}}})

    def test_policy_never(self):
        found = self.explain([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                              cli.pod("p", cpu="2", priority=9, preemptionPolicy="Never")], "p")
        self.assertNotIn("preemption", found)

    def test_gates_are_told(self):
        found = self.explain([cli.node("a"), cli.pod("p", schedulingGates=[{"name": "g"}])], "p")
        self.assertEqual(found["preEnqueue"]["plugin"], "SchedulingGates")
        self.assertEqual(found["best"], ["a"])

    def test_priority_class_counts(self):
        objects = [cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                   {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
                    "value": 1000, "preemptionPolicy": "Never"},
                   cli.pod("p", cpu="2", priorityClassName="high")]
        found = self.explain(objects, "p")
        self.assertEqual(found["priority"], 1000)
        self.assertNotIn("preemption", found)

    def test_nominations_of_other_schedulers_do_not_count(self):
        other = cli.pod("other", cpu="4", priority=100, schedulerName="mine",
                        status={"phase": "Pending", "nominatedNodeName": "a"})
        ours = json.loads(json.dumps(other))
        ours["spec"]["schedulerName"] = "default-scheduler"
        base = [cli.node("a", cpu="4"), cli.pod("p", cpu="1", priority=1)]
        self.assertEqual(self.explain([*base, other], "p")["best"], ["a"])
        self.assertEqual(self.explain([*base, ours], "p")["best"], [])


class WhichPod(cli.Case):
    def ask(self, objects, *args):
        return self.berth("explain", "-f", self.write("c.json", objects), *args)

    def test_missing(self):
        self.refuse(self.ask(CLUSTER, "default/q"), "no pod default/q", "did you mean default/p?")
        self.refuse(self.ask([cli.node("n1")], "other/thing"), "no pod other/thing")

    def test_running(self):
        objects = [cli.node("a"), cli.node("b"), cli.pod("p", on="a", cpu="3")]
        self.refuse(self.ask(objects, "p"), "runs on a", "--as-if-pending")
        found = self.explain(objects, "p", "--as-if-pending")
        self.assertEqual(found["best"], ["a", "b"])

    def test_other_scheduler(self):
        self.refuse(self.ask([cli.node("a"), cli.pod("p", schedulerName="mine")], "p"), "mine")

    def test_pod_of_a_workload(self):
        objects = [cli.node("a"), cli.workload("StatefulSet", "db", replicas=2)]
        self.assertEqual(self.explain(objects, "db-1")["best"], ["a"])

    def test_profile_of_the_pod(self):
        config = self.write("config.json", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "mine", "plugins": {"score": {"disabled": [{"name": "*"}]}}}]}))
        found = self.explain([cli.node("a"), cli.pod("p", schedulerName="mine")], "p", "--config", config)
        self.assertEqual(found["nodes"]["a"], {"feasible": True, "scores": {}, "total": 1})


class Table(cli.Case):
    def table(self, objects, *args, **more):
        result = self.berth("explain", "-f", self.write("c.json", objects), *args, **more)
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def test_sections(self):
        text = self.table(CLUSTER, "p")
        for words in ("It goes to big", "NODE", "TOTAL", "TAINTS", "FIT", "REJECTED", "Insufficient cpu",
                      "TaintToleration", "priority 5"):
            self.assertIn(words, text)
        self.assertNotIn("\033", text)

    def test_rejected_nodes_are_grouped(self):
        text = self.table([cli.node("n%02d" % i, cpu="1") for i in range(12)] + [cli.pod("p", cpu="2")], "p")
        self.assertIn("No node can take it", text)
        self.assertRegex(text, r"(?m)^ +12  NodeResourcesFit  Insufficient cpu  n00$")

    def test_top(self):
        text = self.table([cli.node("n%02d" % i) for i in range(30)] + [cli.pod("p")], "p", "--top", "5")
        self.assertIn("n04", text)
        self.assertNotIn("n05", text)
        self.assertIn("and 25 more", text)

    def test_victims(self):
        text = self.table([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                           cli.pod("p", cpu="2", priority=9)], "p")
        self.assertIn("default/low", text)
        self.assertIn("WHO HAS TO LEAVE", text)

    def test_width_follows_columns(self):
        objects = [cli.node("n%d" % i, cpu="1", taints=[{"key": "k%d" % i, "effect": "NoSchedule"}] if i % 2 else None)
                   for i in range(4)] + [cli.pod("p", cpu="2")]
        for line in self.table(objects, "p", env={"COLUMNS": "80"}).split("REJECTED")[0].splitlines():
            self.assertLessEqual(len(line), 80)

    def test_no_terminal_codes_from_names(self):
        evil = cli.pod("p", cpu="2", nodeSelector={"a": "b"})
        evil["metadata"]["namespace"] = "x\033[2Jy"
        self.assertNotIn("\033", self.table([cli.node("a"), evil], "x\033[2Jy/p"))


if __name__ == "__main__":
    cli.main()
