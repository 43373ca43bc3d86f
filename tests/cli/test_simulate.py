"""`berth simulate`: order, reports and repeatability."""
import csv
import io
import json
import random
import re

import cli


class Order(cli.Case):
    def order(self, *pods):
        report = self.simulate([cli.node("n1", cpu="64"), *pods])
        return [row["pod"]["name"] for row in report["placements"]]

    def test_priority_then_age_then_input(self):
        self.assertEqual(self.order(
            cli.pod("c", priority=0), cli.pod("d", priority=0),
            cli.pod("young", priority=0, created="2026-01-02T00:00:00Z"),
            cli.pod("old", priority=0, created="2026-01-01T00:00:00Z"),
            cli.pod("high", priority=10, created="2026-01-03T00:00:00Z")), ["high", "old", "young", "c", "d"])


class Report(cli.Case):
    def test_fields(self):
        report = self.simulate([cli.node("a", cpu="1"), cli.pod("fits", cpu="1"), cli.pod("waits", cpu="1")])
        self.assertEqual((report["apiVersion"], report["kind"]), ("berth.dev/v1", "Simulation"))
        self.assertEqual(report["placements"][0], {
            "pod": cli.reference("default/fits"), "node": "a", "message": None, "failedBy": None, "nominated": None, "victims": [],
            "seconds": 0, "attempt": 1, "wokenBy": None})
        second = report["placements"][1]
        self.assertEqual((second["pod"], second["node"]), (cli.reference("default/waits"), None))
        self.assertTrue(second["message"].startswith("0/1 nodes are available: 1 Insufficient cpu."))
        self.assertEqual(report["pending"], [{"pod": cli.reference("default/waits"), "message": second["message"],
                                              "failedBy": None, "gated": False}])
        self.assertEqual(report["summary"], {"nodes": 1, "running": 0, "expanded": 0, "decisions": 2, "scheduled": 1,
                                             "pending": 1, "preempted": 0, "recreated": 0, "emptyNodes": 0})
        usage = report["nodes"][0]
        self.assertEqual((usage["labels"], usage["unschedulable"]), ({"kubernetes.io/hostname": "a"}, False))
        self.assertEqual((usage["name"], usage["before"]["cpuMilli"], usage["after"]["cpuMilli"]), ("a", 0, 1000))
        self.assertEqual(usage["allocatable"]["cpuMilli"], 1000)

    def test_woken(self):
        """A pod that preempts is tried again when its victim has left, after the time that this takes."""
        report = self.simulate([cli.node("a", cpu="1"), cli.pod("low", on="a", cpu="1", priority=0,
                                                                terminationGracePeriodSeconds=7),
                                cli.pod("high", cpu="1", priority=10)])
        self.assertEqual([(row["node"], row["attempt"], row["wokenBy"], row["seconds"]) for row in report["placements"]],
                         [(None, 1, None, 0), ("a", 2, "AssignedPodDelete", 7)])

    def test_totals(self):
        objects = [cli.node("a", cpu="2", memory="4Gi"), cli.node("b", cpu="4", memory="8Gi"),
                   cli.node("closed", cpu="64", unschedulable=True), cli.pod("there", on="a", cpu="1500m"),
                   cli.pod("p", cpu="1")]
        cpu = self.simulate(objects)["resources"]["cpuMilli"]
        self.assertEqual(cpu, {"allocatable": 70000, "before": 1500, "after": 2500, "free": 3500, "largestHole": 3000,
                               "largestHoleNode": "b"})

    def test_workloads(self):
        objects = [cli.node("a", cpu="1"), cli.node("b", cpu="1"), cli.workload("Deployment", "web", replicas=3, cpu="700m"),
                   cli.pod("alone", cpu="100m"), cli.workload("Job", "sum", parallelism=2, cpu="100m")]
        rows = {(row["kind"], row["name"]): row for row in self.simulate(objects)["workloads"]}
        self.assertEqual(set(rows), {("Deployment", "web"), ("Pod", None), ("Job", "sum")})
        web = rows["Deployment", "web"]
        self.assertEqual((web["namespace"], web["placed"], web["pending"], web["nodes"]), ("default", 2, 1, {"a": 1, "b": 1}))
        self.assertEqual(sum(rows["Job", "sum"]["nodes"].values()), 2)

    def test_timing(self):
        path = self.write("c.json", [cli.node("a"), cli.pod("p")])
        summary = self.berth("simulate", "-f", path, "-o", "json", "--timing").json["summary"]
        for field in ("loadSeconds", "decideSeconds", "decisionsPerSecond"):
            self.assertGreaterEqual(summary[field], 0)
        for args in [], ["--no-timing"], ["--timing", "--no-timing"]:
            self.assertNotIn("loadSeconds", self.berth("simulate", "-f", path, "-o", "json", *args).json["summary"])
            self.assertNotIn("loading took", self.berth("simulate", "-f", path, *args).out)
        self.assertRegex(self.berth("simulate", "-f", path, "--timing").out, r"loading took .* s, deciding")

    def test_nodes_are_listed_by_name(self):
        report = self.simulate([cli.node(name) for name in ("c", "a", "b")])
        self.assertEqual([row["name"] for row in report["nodes"]], ["a", "b", "c"])

    def test_gated_pods_wait(self):
        report = self.simulate([cli.node("a"), cli.pod("p", schedulingGates=[{"name": "later"}])])
        self.assertEqual(report["placements"], [])
        self.assertEqual(report["pending"][0]["pod"], cli.reference("default/p"))
        self.assertTrue(report["pending"][0]["gated"])
        self.assertIn("later", report["pending"][0]["message"])
        self.assertEqual(report["summary"]["pending"], 1)

    def test_pods_of_other_schedulers_are_left_alone(self):
        path = self.write("c.json", [cli.node("a"), cli.pod("p", schedulerName="mine")])
        result = self.berth("simulate", "-f", path, "-o", "json")
        self.assertEqual(result.json["summary"]["decisions"], 0)
        self.assertIn("left 1 pod to other schedulers, such as mine", result.err)

    def test_pods_being_deleted_get_no_decision(self):
        going = cli.pod("p")
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.assertEqual(self.simulate([cli.node("a"), going])["summary"]["decisions"], 0)

    def test_trace(self):
        trace = self.path("trace.json")
        report = self.simulate([cli.node("a", cpu="1"), cli.pod("p", cpu="1"), cli.pod("q", cpu="1")],
                               "--trace", trace)
        with open(trace, encoding="utf-8") as file:
            saved = json.load(file)
        self.assertEqual(saved, {"apiVersion": "berth.dev/v1", "kind": "Placements", "placements": [{"pod": row["pod"], "node": row["node"]}
                         for row in report["placements"]]})

    def test_trace_that_cannot_be_written(self):
        path = self.write("c.json", [cli.node("a")])
        result = self.berth("simulate", "-f", path, "--trace", self.path("no/such/folder"))
        self.assertEqual(result.code, 1)
        self.assertIn("no/such/folder", result.err)


class Csv(cli.Case):
    def test_a_pod_a_line(self):
        victim = cli.pod("low", on="a", cpu="1", priority=0)
        objects = [cli.node("a", cpu="2"), victim, cli.pod("high", cpu="1500m", priority=10), cli.pod("q", cpu="500m"),
                   cli.pod("later", schedulingGates=[{"name": "x"}])]
        result = self.berth("simulate", "-f", self.write("c.json", objects), "-o", "csv")
        self.assertEqual(result.code, 0, result.err)
        rows = list(csv.DictReader(io.StringIO(result.out, newline="")))
        self.assertEqual(list(rows[0]), ["namespace", "pod", "workloadKind", "workload", "result", "node", "message"])
        self.assertEqual({row["pod"]: (row["result"], row["node"]) for row in rows},
                         {"high": ("placed", "a"), "q": ("placed", "a"), "later": ("pending", "")})
        self.assertTrue(all(row["namespace"] == "default" and row["workloadKind"] == "Pod" for row in rows))

    def test_quotes(self):
        """Messages have commas; they stay in their field."""
        objects = [cli.node("a", cpu="1"), cli.node("b", unschedulable=True), cli.pod("p", cpu="9")]
        result = self.berth("simulate", "-f", self.write("c.json", objects), "-o", "csv")
        (row,) = csv.DictReader(io.StringIO(result.out, newline=""))
        self.assertIn("1 Insufficient cpu, 1 node(s) were unschedulable", row["message"])
        self.assertNotIn(None, row)


class FailOnPending(cli.Case):
    def test_codes(self):
        nodes = [cli.node("a", cpu="1")]
        fits, waits = self.write("f.json", [*nodes, cli.pod("p")]), self.write("w.json", [*nodes, cli.pod("p", cpu="2")])
        for output in "table", "json", "csv":
            good, bad = (self.berth("simulate", "-f", path, "--fail-on-pending", "-o", output) for path in (fits, waits))
            self.assertEqual((good.code, good.err), (0, ""))
            self.assertEqual((bad.code, bad.err), (1, "berth: 1 pod has no node (--fail-on-pending)\n"))
            self.assertTrue(bad.out)
        self.assertEqual(self.berth("simulate", "-f", waits).code, 0)


class Table(cli.Case):
    def table(self, objects, *args, env=None):
        result = self.berth("simulate", "-f", self.write("c.json", objects), *args, env=env)
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def test_summary_and_bars(self):
        nodes = [cli.node("n%d" % i, cpu="2", labels={"topology.kubernetes.io/zone": "z%d" % (i % 2)})
                 for i in range(4)]
        text = self.table([*nodes, *[cli.pod("p%d" % i, cpu="1") for i in range(10)]])
        self.assertIn("10 decisions: 8 scheduled, 2 pending, 0 preempted", text)
        self.assertRegex(text, r"z0 +cpu +0\.0% ·+ +100\.0% █+")
        self.assertIn("by topology.kubernetes.io/zone", text)
        self.assertIn("2 pods: default/p8, default/p9", text)
        self.assertNotIn("decisions per second", text)

    def test_where_pods_went(self):
        objects = [cli.node("a", cpu="4"), cli.workload("Deployment", "web", replicas=3, cpu="1500m"), cli.pod("alone", cpu="9")]
        text = self.table(objects)
        self.assertRegex(text, r"default/web \(Deployment\) +2 +1 +a \(2\)\n")
        self.assertRegex(text, r"default \(no controller\) +0 +1\n")
        text = self.table(objects, "--placements")
        self.assertNotIn("WORKLOAD", text)
        self.assertEqual(len(re.findall(r"(?m)^  default/web-\S+ +a$", text)), 2)
        self.assertEqual(len(re.findall(r"(?m)^  default/\S+ +\(pending\)$", text)), 2)

    def test_totals_in_cores_and_gib(self):
        text = self.table([cli.node("a", cpu="3500m", memory="16Gi"), cli.node("b", cpu="2"), cli.pod("p", cpu="500m")])
        self.assertRegex(text, r"cpu +5\.5 +0 \(0%\) +0\.5 \(9%\) +5 +3 on a\n")
        self.assertRegex(text, r"memory +24 GiB +0 B \(0%\) +0 B \(0%\) +24 GiB +16 GiB on a\n")

    def test_full_and_empty_nodes(self):
        nodes = [cli.node("n%d" % i, cpu="4") for i in range(8)]
        pods = [cli.pod("p%d" % i, on="n%d" % i, cpu="%d00m" % (i * 5)) for i in range(1, 8)]
        text = self.table([*nodes, *pods])
        self.assertIn("Fullest nodes: n7 88%, n6 75%, n5 62%; emptiest: n0 0%, n1 12%, n2 25%; 1 node without pods", text)

    def test_group_by(self):
        nodes = [cli.node("a", labels={"pool": "x"}), cli.node("b", labels={"pool": "y"}), cli.node("c")]
        text = self.table(nodes, "--group-by", "pool")
        for words in ("by pool", "x  ", "y  ", "(none)"):
            self.assertIn(words, text)

    def test_a_narrow_screen(self):
        nodes = [cli.node("node-%d" % i, labels={"example.com/a-pool-with-a-long-name": "pool-%d" % (i % 3)})
                 for i in range(6)]
        arguments = [*nodes, cli.pod("huge", cpu="999")], "--group-by", "example.com/a-pool-with-a-long-name"
        text = self.table(*arguments, env={"COLUMNS": "80"})
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("\n  by example.com/a-pool-with-a-long-name\n  NODES   IN USE", text)
        self.assertRegex(self.table(*arguments), r"\n  NODES   IN USE .* AFTER +by example.com/a-pool-with")

    def test_one_group(self):
        self.assertIn("all nodes", self.table([cli.node("a")]))

    def test_messages_that_differ_in_numbers_are_one_reason(self):
        nodes = [cli.node("n%d" % i, cpu=str(i + 1)) for i in range(3)]
        hosts = [{"containerPort": 80, "hostPort": 80}]
        pods = [cli.pod("p%d" % i, cpu=str(9 + i)) for i in range(3)]
        self.assertNotIn("more reasons", self.table([*nodes, *pods], "--top", "1"), hosts)


class AtItsTurn(cli.Case):
    """--explain: a pod as its decision finds it, which may not be how it would go at once."""
    OBJECTS = [cli.node("a", cpu="2"), cli.node("b", cpu="1"), cli.pod("second", cpu="1", priority=1),
               cli.pod("first", cpu="2", priority=2), cli.pod("third", cpu="1", priority=0)]

    def run_explain(self, pod, *flags):
        return self.berth("simulate", "-f", self.write("c.json", self.OBJECTS), "--explain", pod, *flags)

    def test_it_agrees_with_the_report(self):
        placed = self.placed(self.simulate(self.OBJECTS))
        self.assertEqual(placed, {"default/first": "a", "default/second": "b"})
        for pod, node in placed.items():
            found = self.run_explain(pod, "-o", "json").json
            self.assertEqual((found["kind"], found["best"], found["podsBefore"]), ("Explanation", [node], None))
        self.assertIn("No node can take it:\n  0/2 nodes are available: 2 Insufficient cpu.", self.run_explain("third").out)
        self.assertEqual(self.explain(self.OBJECTS, "second")["best"], ["a"])  # at once it would go there

    def test_explain_says_which_come_first(self):
        for pod, count in (("first", 0), ("second", 1), ("third", 2)):
            self.assertEqual(self.explain(self.OBJECTS, pod)["podsBefore"], count)
        path = self.write("c.json", self.OBJECTS)
        out = " ".join(self.berth("explain", "-f", path, "third").out.split())
        self.assertIn("2 waiting pods come before it in the queue, such as default/first, and may change this: "
                      "`berth simulate --explain default/third` explains it at its turn.", out)
        self.assertNotIn("in the queue", self.berth("explain", "-f", path, "first").out)
        out = " ".join(self.berth("explain", "-f", path, "second").out.split())
        self.assertIn("default/first comes before it in the queue, and may change this: `berth simulate", out)

    def test_pods_that_controllers_would_create_come_first_too(self):
        objects = [cli.node("a", cpu="4"), cli.pod("p", cpu="1"),
                   cli.workload("Deployment", "web", cpu="2", replicas=2, pod_spec_more={"priority": 9})]
        found = self.explain(objects, "p")
        self.assertEqual((found["best"], found["podsBefore"]), (["a"], 2))
        self.assertEqual([full for full in self.placed(self.simulate(objects)) if full.endswith("/p")], [])

    def test_pods_without_a_turn(self):
        """Gated ones, and one more of a template, are not decided in a simulation."""
        objects = [cli.node("a"), cli.pod("first", priority=9), cli.pod("held", schedulingGates=[{"name": "g"}]),
                   cli.workload("Deployment", "web", replicas=0)]
        path = self.write("c.json", objects)
        for pod in "held", "deploy/web":
            out = " ".join(self.berth("explain", "-f", path, pod).out.split())
            self.assertIn("default/first comes before it in the queue, and may change this.", out)

    def test_equals_come_by_age_and_gated_pods_do_not(self):
        gated = cli.pod("gated", schedulingGates=[{"name": "g"}], created="2026-01-01T00:00:00Z")
        pods = [cli.pod("young"), cli.pod("old", created="2026-01-02T00:00:00Z"),
                cli.pod("other", schedulerName="x", created="2026-01-01T00:00:00Z"), gated]
        self.assertEqual([self.explain([cli.node("a"), *pods], pod)["podsBefore"] for pod in ("old", "young")], [0, 1])

    def test_the_last_attempt_counts(self):
        """The first one evicts."""
        objects = [cli.node("a", cpu="1"), cli.pod("low", on="a", cpu="1", priority=0), cli.pod("high", cpu="1", priority=1)]
        result = self.berth("simulate", "-f", self.write("c.json", objects), "--explain", "high", "-o", "json")
        self.assertEqual(result.json["best"], ["a"])

    def test_refused(self):
        self.refuse(self.run_explain("nope"), "there is no pod default/nope in the input")
        self.refuse(self.run_explain("first", "-o", "csv"), "--explain replaces the report")
        objects = [cli.node("a"), cli.pod("p", on="a"), cli.pod("q", schedulingGates=[{"name": "g"}])]
        path = self.write("d.json", objects)
        self.refuse(self.berth("simulate", "-f", path, "--explain", "p"), "pod default/p has its node: a")
        self.refuse(self.berth("simulate", "-f", path, "--explain", "q"), "pod default/q is not decided in the simulation")


class Repeatable(cli.Case):
    def test_time(self):
        """A claim whose devices have not become ready in time is not available."""
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default"},
                 "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
                 "status": {"allocation": {"allocationTimestamp": "2026-01-01T00:00:00Z", "devices": {"results": [
                     {"request": "r", "driver": "d", "pool": "p", "device": "v", "bindingConditions": ["ready"]}]}}}}
        objects = [cli.node("a"), claim, cli.pod("p", resourceClaims=[{"name": "c", "resourceClaimName": "c"}])]
        path = self.write("c.json", objects)
        for time, node in ("2026-01-01T00:10:00Z", "a"), ("2026-01-01T00:10:01Z", None):
            found = json.loads(self.berth("simulate", "-f", path, "-o", "json", "--now", time).out)
            self.assertEqual([one["node"] for one in found["placements"]], [node])
        for time in "noon", "9999-01-01T00:00:00Z":
            self.refuse(self.berth("simulate", "-f", path, "--now", time), "--now: expected a time", time)

    def random_cluster(self, seed):
        rng = random.Random(seed)
        zones = ["a", "b", "c"]
        nodes = [cli.node("node-%02d" % i, cpu=str(rng.randint(2, 8)),
                          labels={"topology.kubernetes.io/zone": rng.choice(zones)}) for i in range(40)]
        pods = [cli.pod("p%03d" % i, cpu="%dm" % (rng.randint(1, 20) * 100), priority=rng.choice([0, 0, 0, 100]))
                for i in range(200)]
        return [*nodes, *pods, cli.workload("Deployment", "web", replicas=30, cpu="500m")]

    def test_same_input_and_seed_give_the_same_bytes(self):
        path = self.write("c.json", self.random_cluster(1))
        for output in ("json", "table"):
            runs = {self.berth("simulate", "-f", path, "-o", output, "--no-timing", "--seed", "7").out
                    for _ in range(3)}
            self.assertEqual(len(runs), 1)

    def test_seed_breaks_ties(self):
        path = self.write("c.json", [*[cli.node("n%02d" % i) for i in range(40)], cli.pod("p")])
        chosen = {self.placed(self.berth("simulate", "-f", path, "-o", "json", "--seed", str(s)).json)["default/p"]
                  for s in range(8)}
        self.assertGreater(len(chosen), 1)

    def test_order_of_other_objects_does_not_matter(self):
        objects = self.random_cluster(2)
        nodes = [o for o in objects if o["kind"] == "Node"]
        rest = [o for o in objects if o["kind"] != "Node"]
        self.assertEqual(self.simulate([*nodes, *rest]), self.simulate([*rest, *reversed(nodes)]))

    def test_all_nodes_scored(self):
        nodes = [cli.node("n%03d" % i, cpu="8" if i == 177 else "4") for i in range(200)]
        report = self.simulate([*nodes, cli.pod("p", cpu="1")], "--percentage-of-nodes-to-score", "100")
        self.assertEqual(self.placed(report), {"default/p": "n177"})

    def test_no_node_is_overcommitted(self):
        report = self.simulate(self.random_cluster(3))
        for row in report["nodes"]:
            for resource, most in row["allocatable"].items():
                self.assertLessEqual(row["after"][resource], most, row["name"])


if __name__ == "__main__":
    cli.main()
