"""`berth simulate --add-until-placed` and `--removable`: how many nodes are needed, and which could go."""
import random

import cli


class Growth(cli.Case):
    def growth(self, objects, of="a", *args):
        return self.simulate(objects, "--add-until-placed", of, *args)["growth"]

    def test_the_smallest_number(self):
        """The same as adding by hand: so many are enough, one less is not."""
        rng = random.Random(4)
        for _ in range(5):
            pods = [cli.pod("p%d" % i, cpu="%d00m" % rng.randint(3, 30)) for i in range(rng.randint(5, 60))]
            objects = [cli.node("a", cpu="4"), *pods]
            found = self.growth(objects)
            self.assertTrue(found["enough"])
            for nodes, lacking in (found["nodes"], False), (found["nodes"] - 1, True):
                self.assertEqual(self.simulate(objects, "--add", "%d=a" % nodes)["summary"]["pending"] > 0, lacking)
            self.assertLess(len(found["trials"]), 12)

    def test_the_report_is_that_of_the_answer(self):
        report = self.simulate([cli.node("a", cpu="1"), *[cli.pod("p%d" % i, cpu="1") for i in range(4)]], "--add-until-placed", "a")
        self.assertEqual((report["growth"]["nodes"], report["growth"]["pending"], report["growth"]["of"]), (3, 0, "a"))
        self.assertEqual((report["summary"]["nodes"], report["summary"]["pending"]), (4, 0))
        self.assertEqual(len(report["changes"]), 3)

    def test_none_is_needed(self):
        report = self.simulate([cli.node("a"), cli.pod("p")], "--add-until-placed", "a")
        self.assertEqual((report["growth"]["nodes"], report["growth"]["enough"]), (0, True))
        self.assertNotIn("changes", report)

    def test_pods_that_never_fit(self):
        found = self.growth([cli.node("a", cpu="1"), cli.pod("whale", cpu="9"), *[cli.pod("p%d" % i, cpu="1") for i in range(4)]])
        self.assertEqual((found["nodes"], found["pending"], found["enough"]), (3, 1, False))
        found = self.growth([cli.node("a", cpu="1"), cli.pod("whale", cpu="9")])
        self.assertEqual((found["nodes"], found["pending"], found["enough"]), (0, 1, False))

    def test_gated_pods_do_not_count(self):
        found = self.growth([cli.node("a"), cli.pod("p", schedulingGates=[{"name": "x"}])])
        self.assertEqual((found["nodes"], found["enough"]), (0, True))

    def test_with_changes_and_a_file(self):
        path = self.write("big.yaml", "{apiVersion: v1, kind: Node, metadata: {name: big}, status: {allocatable: {cpu: 3, memory: 1Gi, pods: 10}}}")
        objects = [cli.node("a", cpu="8"), cli.workload("ReplicaSet", "web", replicas=2, cpu="1")]
        found = self.growth(objects, path, "--scale", "rs/default/web=7", "--remove", "a")
        self.assertEqual((found["nodes"], found["enough"]), (3, True))

    def test_daemon_sets_take_their_part(self):
        found = self.growth([cli.node("a", cpu="2"), cli.workload("DaemonSet", "agent", cpu="1"), *[cli.pod("p%d" % i, cpu="1") for i in range(5)]])
        self.assertEqual((found["nodes"], found["enough"]), (4, True))

    def test_sentences(self):
        path = self.write("c.json", [cli.node("a", cpu="1"), *[cli.pod("p%d" % i, cpu="1") for i in range(4)]])
        self.assertIn("3 more nodes like a are enough for all pods; with 2, 1 pod would wait.",
                      self.berth("simulate", "-f", path, "--add-until-placed", "a").out)
        self.refuse(self.berth("simulate", "-f", path, "--add-until-placed", "b9"), "there is no node b9")
        self.refuse(self.berth("simulate", "-f", path, "--add-until-placed", "a", "--compare", "x"), "exclude each other")


class Removable(cli.Case):
    def removable(self, objects, *args):
        found = self.simulate(objects, "--removable", *args)["removable"]
        self.assertEqual(found["count"], sum(row["removable"] for row in found["nodes"]))
        return {row["name"]: row["reason"] or row["pods"] for row in found["nodes"]}

    def set_of(self, name, on, cpu="1", **more):
        return cli.pod(name, on=on, cpu=cpu, owner=("ReplicaSet", "web"), labels={"app": "web"}, **more)

    def test_from_the_emptiest_on(self):
        objects = [cli.node(name, cpu="4") for name in "abc"]
        objects += [self.set_of("a%d" % i, "a") for i in range(3)] + [self.set_of("b0", "b")]
        self.assertEqual(self.removable(objects), {"c": 0, "b": 1, "a": "pending"})

    def test_each_can_be_drained_with_those_before(self):
        rng = random.Random(7)
        objects = [cli.node("n%02d" % i, cpu="4") for i in range(12)]
        objects += [self.set_of("p%02d" % i, "n%02d" % rng.randrange(12), cpu="%d00m" % rng.randint(1, 9)) for i in range(40)]
        found = self.removable(objects)
        gone = [name for name, pods in found.items() if isinstance(pods, int)]
        self.assertTrue(0 < len(gone) < 12)
        self.assertTrue(self.simulate(objects, "--drain", ",".join(gone))["answer"]["possible"])

    def test_the_simulation_is_not_changed(self):
        objects = [cli.node("a"), cli.node("b"), self.set_of("p", "a"), cli.pod("new")]
        with_it = self.simulate(objects, "--removable")
        del with_it["removable"]
        self.assertEqual(with_it, self.simulate(objects))

    def test_what_stays(self):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": cli.meta("b", "default", creationTimestamp="2026-01-01T00:00:00Z"),
                  "spec": {"selector": {"matchLabels": {"app": "db"}}}, "status": {"disruptionsAllowed": 0}}
        held = cli.pod("db-0", on="b", owner=("ReplicaSet", "db"), labels={"app": "db"})
        objects = [*[cli.node(name) for name in "abcd"], cli.node("cp", labels={"node-role.kubernetes.io/control-plane": ""}),
                   cli.pod("alone", on="a"), budget, held, cli.pod("other", on="c", owner=("ReplicaSet", "x"), schedulerName="mine")]
        self.assertEqual(self.removable(objects), {"cp": "controlPlane", "d": 0, "a": "unmanaged", "b": "budget", "c": "otherScheduler"})
        self.assertEqual(self.removable(objects, "--force")["a"], 0)

    def test_stateful_sets_and_daemon_sets(self):
        objects = [cli.node("a", cpu="1"), cli.node("b", cpu="1"), cli.workload("StatefulSet", "db", replicas=1, cpu="900m"),
                   cli.pod("db-0", on="a", cpu="900m", owner=("StatefulSet", "db")),
                   *[cli.pod("agent-" + name, on=name, owner=("DaemonSet", "agent")) for name in "ab"]]
        self.assertEqual(self.removable(objects), {"b": 0, "a": "pending"})

    def test_pods_that_wait_take_nothing(self):
        objects = [cli.node("a", cpu="2"), cli.node("b", cpu="2"), self.set_of("p", "a"), cli.pod("whale", cpu="9"),
                   cli.pod("picky", cpu="1", nodeSelector={"no": "such"})]
        self.assertEqual(self.removable(objects), {"b": 0, "a": "pending"})

    def test_no_preemption(self):
        objects = [cli.node("a", cpu="1"), cli.node("b", cpu="1"), self.set_of("low", "a", priority=0),
                   cli.pod("high", on="b", cpu="1", priority=10, owner=("ReplicaSet", "high"))]
        self.assertEqual(set(self.removable(objects).values()), {"pending"})

    def test_table(self):
        objects = [cli.node("a", cpu="2"), cli.node("b", cpu="2"), self.set_of("p", "a"), cli.pod("alone", on="b", cpu="500m")]
        out = self.berth("simulate", "-f", self.write("c.json", objects), "--removable").out
        self.assertIn("1 of 2 nodes could be drained, one after the other, without a pod that waits: a. The others would have 75% of their cpu", out)
        self.assertIn("1  a pod has no controller", out)


if __name__ == "__main__":
    cli.main()
