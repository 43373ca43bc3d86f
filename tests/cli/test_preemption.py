"""Victims leave at once, and are recreated if they have a controller."""
import cli


def budget(name, labels, allowed=0):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": cli.meta(name, "default"),
            "spec": {"selector": {"matchLabels": labels}}, "status": {"disruptionsAllowed": allowed}}


class Victims(cli.Case):
    def test_bare_pod_is_gone(self):
        report = self.simulate([cli.node("a", cpu="2"), cli.pod("low", on="a", cpu="2", priority=0),
                                cli.pod("high", cpu="2", priority=10)])
        first, second = report["placements"]
        self.assertEqual((first["node"], first["nominated"], first["victims"]), (None, "a", [cli.reference("default/low")]))
        self.assertEqual((second["pod"], second["node"]), (cli.reference("default/high"), "a"))
        self.assertEqual(report["pending"], [])
        summary = report["summary"]
        self.assertEqual((summary["preempted"], summary["recreated"], summary["scheduled"]), (1, 0, 1))

    def test_pod_of_a_controller_comes_back(self):
        low = cli.pod("low-x", on="a", cpu="2", priority=0, owner=("ReplicaSet", "low"))
        report = self.simulate([cli.node("a", cpu="2"), low, cli.pod("high", cpu="2", priority=10)])
        self.assertEqual(report["summary"]["recreated"], 1)
        (waiting,) = report["pending"]
        self.assertRegex(waiting["pod"]["name"], r"^low-[a-z0-9]{5}$")
        self.assertNotEqual(waiting["pod"]["name"], "low-x")

    def test_it_goes_to_another_node_with_capacity(self):
        low = cli.pod("low-x", on="a", cpu="2", priority=0, owner=("ReplicaSet", "low"))
        high = cli.pod("high", cpu="2", priority=10, nodeSelector={"kubernetes.io/hostname": "a"})
        report = self.simulate([cli.node("a", cpu="2"), cli.node("b", cpu="2"), low, high])
        placed = self.placed(report)
        self.assertEqual(placed.pop("default/high"), "a")
        self.assertEqual(list(placed.values()), ["b"])

    def test_stateful_pod_keeps_its_name(self):
        low = cli.pod("db-0", on="a", cpu="2", priority=0, owner=("StatefulSet", "db"))
        report = self.simulate([cli.node("a", cpu="2"), low, cli.pod("high", cpu="2", priority=10)])
        self.assertEqual([row["pod"] for row in report["pending"]], [cli.reference("default/db-0")])

    def test_daemon_pod_waits_for_its_node(self):
        low = cli.pod("agent-x", on="a", cpu="2", priority=0, owner=("DaemonSet", "agent"))
        high = cli.pod("high", cpu="2", priority=10, nodeSelector={"kubernetes.io/hostname": "a"})
        report = self.simulate([cli.node("a", cpu="2"), cli.node("b", cpu="4"), low, high])
        self.assertEqual(self.placed(report), {"default/high": "a"})
        self.assertEqual(len(report["pending"]), 1)

    def test_controller_that_has_enough_makes_no_more(self):
        owner = cli.workload("ReplicaSet", "low", replicas=1)
        pods = [cli.pod("low-%d" % i, on="n%d" % i, cpu="2", priority=0, owner=("ReplicaSet", "low"))
                for i in range(2)]
        report = self.simulate([cli.node("n0", cpu="2"), cli.node("n1", cpu="2"), owner, *pods,
                                cli.pod("high", cpu="2", priority=10)])
        self.assertEqual((report["summary"]["preempted"], report["summary"]["recreated"]), (1, 0))

    def test_generated_pods_are_victims_too(self):
        high = cli.pod("high", cpu="2", priority=10, created="2026-01-01T00:00:00Z")
        low = cli.workload("Deployment", "low", cpu="2", replicas=2, pod_spec_more={"priority": 0})
        report = self.simulate([cli.node("a", cpu="4"), low, high])
        self.assertEqual(report["summary"]["scheduled"], 2)
        self.assertEqual(report["summary"]["pending"], 1)

    def test_freed_resources_help_waiting_pods(self):
        """The victims of one pod free resources for another that was rejected before."""
        big = cli.pod("big", on="a", cpu="4", priority=0)
        objects = [cli.node("a", cpu="4"), big, cli.pod("first", cpu="1", priority=0, preemptionPolicy="Never",
                                                        created="2026-01-01T00:00:00Z"),
                   cli.pod("high", cpu="2", priority=10)]
        self.assertEqual(self.placed(self.simulate(objects)), {"default/high": "a", "default/first": "a"})

    def test_budget(self):
        pods = [cli.pod("guarded", on="a", cpu="2", priority=0, labels={"app": "g"}),
                cli.pod("free", on="b", cpu="2", priority=0)]
        report = self.simulate([cli.node("a", cpu="2"), cli.node("b", cpu="2"), *pods, budget("g", {"app": "g"}),
                                cli.pod("high", cpu="2", priority=10)])
        self.assertEqual(self.placed(report), {"default/high": "b"})

    def test_table(self):
        low = cli.pod("low-x", on="a", cpu="2", priority=0, owner=("ReplicaSet", "low"))
        path = self.write("c.json", [cli.node("a", cpu="2"), low, cli.pod("high", cpu="2", priority=10)])
        text = self.berth("simulate", "-f", path).out
        self.assertIn("Preempted: 1, of which 1 came back as new pods", text)
        self.assertIn("default/high on a in place of default/low-x", text)


class Ends(cli.Case):
    def test_many_levels(self):
        """Each level preempts the one below, and all pods are recreated: it must end with the highest placed."""
        nodes = [cli.node("n%d" % i, cpu="2") for i in range(4)]
        low = [cli.pod("low-%d" % i, on="n%d" % i, cpu="2", priority=0, owner=("ReplicaSet", "low")) for i in range(4)]
        pods = [cli.pod("p%d-%d" % (level, i), cpu="2", priority=level, owner=("ReplicaSet", "p%d" % level),
                        created="2026-01-%02dT00:00:00Z" % level) for level in range(1, 8) for i in range(4)]
        report = self.simulate([*nodes, *low, *pods])
        on_top = {cli.full_name(row["pod"]) for row in report["placements"] if row["node"]}
        self.assertTrue({"default/p7-%d" % i for i in range(4)} <= on_top)
        self.assertEqual(report["summary"]["pending"], len(low) + len(pods) - 4)

    def test_missing_capacity_is_not_used(self):
        nodes = [cli.node("n%d" % i, cpu="4") for i in range(3)]
        pods = [cli.pod("p%d-%d" % (level, i), cpu="1500m", priority=level, owner=("ReplicaSet", "p%d" % level))
                for level in range(4) for i in range(6)]
        for row in self.simulate([*nodes, *pods])["nodes"]:
            self.assertLessEqual(row["after"]["cpuMilli"], 4000)


class Resizes(cli.Case):
    def test_room_for_a_resize(self):
        """A pod whose resize is deferred evicts others from its node, and stays where it is."""
        status = {"phase": "Running", "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]}
        objects = [cli.node("a"), cli.node("b", cpu="8"), cli.pod("low", on="a", cpu="2", priority=0),
                   cli.pod("grows", on="a", cpu="3", priority=9, status=status),
                   cli.pod("stays", on="b", cpu="8", priority=9, status=status), cli.pod("full", on="b", cpu="1", priority=9)]
        gates = ["--emulated-version=1.37", "--feature-gates=InPlacePodVerticalScalingSchedulerPreemption=true"]
        report = self.simulate(objects, *gates)
        self.assertEqual([row["victims"] for row in report["placements"] if row["victims"]],
                         [[cli.reference("default/low")]])
        self.assertEqual(self.placed(report), {})
        pending = {cli.full_name(row["pod"]): row["message"] for row in report["pending"]}
        self.assertEqual(pending["default/grows"], "pod resize fits, waiting for Kubelet actuation")
        self.assertIn("1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeName].", pending["default/stays"])
        self.assertEqual({row["name"]: row["after"]["cpuMilli"] for row in report["nodes"]}, {"a": 3000, "b": 9000})
        self.assertEqual(self.simulate(objects, gates[0])["placements"], [])


if __name__ == "__main__":
    cli.main()
