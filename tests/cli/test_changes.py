"""`berth simulate --drain, --add, ...`: what moves, which pods wait, what blocks."""
import csv
import io
import unittest

import cli


def budget(name, allowed, labels, namespace="default", **spec):
    """As an API server has it; allowed None: as it is written by hand."""
    found = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": cli.meta(name, namespace),
             "spec": {"selector": {"matchLabels": labels}, **spec}}
    if allowed is not None:
        found["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        found["status"] = {"disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3}
    return found


def of_set(name, on, owner="web-1", **more):
    return cli.pod(name, on=on, owner=("ReplicaSet", owner), labels={"app": "web"}, **more)


class Changes(cli.Case):
    def moves(self, report):
        return {row["pod"]["name"]: (row["cause"], row["from"], row["to"], row["result"]) for row in report["moved"]}

    def change_of(self, report):
        return {row["name"]: row["change"] for row in report["nodes"]}


class Drain(Changes):
    def cluster(self, *more, cpu="4"):
        return [cli.node("a", cpu=cpu), cli.node("b", cpu=cpu), cli.workload("ReplicaSet", "web-1", replicas=2, cpu="1"),
                of_set("web-1-x", "a", cpu="1"), of_set("web-1-y", "b", cpu="1"), *more]

    def test_pods_of_controllers_find_another_node(self):
        report = self.simulate(self.cluster(), "--drain", "a")
        self.assertEqual(self.moves(report), {"web-1-x": ("drain", "a", "b", "placed")})
        (moved,) = report["moved"]
        self.assertNotEqual(moved["as"], "web-1-x")
        self.assertTrue(moved["as"].startswith("web-1-"))
        self.assertEqual(report["answer"], {"possible": True, "text": "Yes: a can be drained. 1 pod finds another node."})
        self.assertEqual(report["changes"], [{"change": "drain", "kind": "Node", "namespace": None, "name": "a"}])
        self.assertEqual(report["summary"]["expanded"], 0)
        usage = {row["name"]: row for row in report["nodes"]}
        self.assertEqual((usage["a"]["change"], usage["a"]["before"]["cpuMilli"], usage["a"]["after"]["cpuMilli"]), ("drain", 1000, 0))
        self.assertEqual((usage["b"]["change"], usage["b"]["before"]["cpuMilli"], usage["b"]["after"]["cpuMilli"]), (None, 1000, 2000))

    def test_no_room(self):
        report = self.simulate(self.cluster(cpu="1"), "--drain", "a")
        self.assertEqual(self.moves(report), {"web-1-x": ("drain", "a", None, "pending")})
        self.assertFalse(report["answer"]["possible"])
        self.assertIn("No: a cannot be drained. 1 pod would wait: default/web-1-", report["answer"]["text"])
        self.assertIn("Insufficient cpu", report["moved"][0]["message"])

    def test_a_drained_node_takes_nothing(self):
        report = self.simulate(self.cluster(cli.pod("new", cpu="4")), "--drain", "a")
        self.assertEqual([row["pod"]["name"] for row in report["pending"]], ["new"])

    def test_pods_that_wait_in_any_case_do_not_count(self):
        report = self.simulate(self.cluster(cli.pod("whale", cpu="99")), "--drain", "a")
        self.assertTrue(report["answer"]["possible"])
        self.assertEqual([row["pod"]["name"] for row in report["pending"]], ["whale"])

    def test_pods_that_would_have_a_node_without_the_drain_count(self):
        report = self.simulate(self.cluster(cli.pod("new", cpu="3", priority=100)), "--drain", "a")
        self.assertFalse(report["answer"]["possible"])

    def test_preempted_pods(self):
        """A drained pod of high priority takes another's place: that moves as well."""
        objects = [cli.node("a", cpu="1"), cli.node("b", cpu="1"),
                   cli.workload("ReplicaSet", "web-1", replicas=1, cpu="1", pod_spec_more={"priority": 10}),
                   cli.workload("ReplicaSet", "low", replicas=1, cpu="1"),
                   of_set("web-1-x", "a", cpu="1", priority=10), of_set("low-1", "b", owner="low", cpu="1", priority=0)]
        report = self.simulate(objects, "--drain", "a")
        self.assertEqual(self.moves(report), {"web-1-x": ("drain", "a", "b", "placed"), "low-1": ("preempted", "b", None, "pending")})
        self.assertIn("1 pod would wait: default/low-", report["answer"]["text"])

    def test_daemon_sets_and_mirror_pods_stay(self):
        mirror = cli.pod("mirror", on="a")
        mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        agent = cli.pod("agent-1", on="a", owner=("DaemonSet", "agent"))
        report = self.simulate(self.cluster(mirror, agent), "--drain", "a")
        self.assertEqual(set(self.moves(report)), {"web-1-x"})
        self.assertTrue(report["answer"]["possible"])

    def test_pods_without_a_controller(self):
        objects = self.cluster(cli.pod("alone", on="a", cpu="1"))
        report = self.simulate(objects, "--drain", "a")
        self.assertEqual(set(self.moves(report)), {"web-1-x"})
        self.assertEqual(report["unmanaged"], [cli.reference("default/alone")])
        self.assertFalse(report["answer"]["possible"])
        self.assertIn("1 pod without a controller would stay", report["answer"]["text"])
        report = self.simulate(objects, "--drain", "a", "--force")
        self.assertEqual(self.moves(report)["alone"], ("drain", "a", None, "lost"))
        self.assertTrue(report["answer"]["possible"])
        self.assertIn("would be lost (--force): default/alone", report["answer"]["text"])

    def test_controllers_that_are_not_in_the_input(self):
        """A kind that is not known, and a set that the dump lacks: their pods come back, too."""
        clone = cli.pod("clone-1", on="a", owner=("ReplicaSet", "elsewhere"))
        strange = cli.pod("game-1", on="a", owner=("ReplicaSet", "game"))
        strange["metadata"]["ownerReferences"][0].update(apiVersion="example.com/v1", kind="GameServer")
        report = self.simulate(self.cluster(clone, strange), "--drain", "a")
        self.assertEqual({name: row[3] for name, row in self.moves(report).items()},
                         {"web-1-x": "placed", "clone-1": "placed", "game-1": "placed"})

    def test_stateful_sets_keep_their_names(self):
        objects = [cli.node("a"), cli.node("b"), cli.workload("StatefulSet", "db", replicas=2),
                   cli.pod("db-0", on="a", owner=("StatefulSet", "db")), cli.pod("db-1", on="b", owner=("StatefulSet", "db"))]
        report = self.simulate(objects, "--drain", "a")
        self.assertEqual([(row["as"], row["to"]) for row in report["moved"]], [("db-0", "b")])

    def test_more_pods_than_wanted_are_not_made_again(self):
        objects = self.cluster(of_set("web-1-z", "a", cpu="1"))
        report = self.simulate(objects, "--drain", "a")
        self.assertEqual(sorted(row[3] for row in self.moves(report).values()), ["gone", "placed"])

    def test_nodes_by_label(self):
        objects = [cli.node("n%d" % i, labels={"zone": "z%d" % (i % 2)}) for i in range(4)]
        report = self.simulate(objects, "--drain", "zone=z0,n3", "--cordon", "n1")
        self.assertEqual(self.change_of(report), {"n0": "drain", "n1": "cordon", "n2": "drain", "n3": "drain"})
        report = self.simulate(objects, "--drain", "n0", "--drain", "n2,n0")
        self.assertEqual([row["name"] for row in report["changes"]], ["n0", "n2"])

    def test_cordon_and_uncordon(self):
        objects = [cli.node("a"), cli.node("b", unschedulable=True), cli.pod("p")]
        self.assertEqual(self.placed(self.simulate(objects, "--cordon", "a", "--uncordon", "b")), {"default/p": "b"})
        self.assertIsNone(self.simulate(objects, "--cordon", "a")["answer"])


class Budgets(Changes):
    def objects(self, *budgets, pods=3):
        return [cli.node("a"), cli.node("b"), cli.workload("ReplicaSet", "web-1", replicas=pods, cpu="100m"),
                *[of_set("web-1-%d" % i, "a") for i in range(pods)], *budgets]

    def verdict(self, *budgets, pods=3):
        report = self.simulate(self.objects(*budgets, pods=pods), "--drain", "a")
        return [(row["name"], row["allowed"], row["verdict"], len(row["pods"])) for row in report["budgets"]], report["answer"]

    def test_enough(self):
        found, answer = self.verdict(budget("b", 3, {"app": "web"}), budget("other", 0, {"app": "db"}))
        self.assertEqual(found, [("b", 3, "allows", 3)])
        self.assertTrue(answer["possible"])

    def test_in_steps(self):
        found, answer = self.verdict(budget("b", 1, {"app": "web"}))
        self.assertEqual(found, [("b", 1, "inSteps", 3)])
        self.assertTrue(answer["possible"])
        self.assertIn("In steps, because of the budget default/b.", answer["text"])

    def test_none_allowed(self):
        found, answer = self.verdict(budget("b", 0, {"app": "web"}))
        self.assertEqual(found, [("b", 0, "blocks", 3)])
        self.assertFalse(answer["possible"])
        self.assertIn("A PodDisruptionBudget would not let its pods go: default/b.", answer["text"])

    def test_two_budgets(self):
        found, answer = self.verdict(budget("b", 5, {"app": "web"}), budget("c", 5, {"app": "web"}))
        self.assertEqual([row[2] for row in found], ["blocks", "blocks"])
        self.assertFalse(answer["possible"])

    def test_a_budget_written_by_hand(self):
        for spec, allowed in ({"maxUnavailable": 2}, 2), ({"minAvailable": 3}, 0), ({"maxUnavailable": "50%"}, 2), ({"minAvailable": "50%"}, 1):
            found, _ = self.verdict(budget("b", None, {"app": "web"}, **spec))
            self.assertEqual(found[0][1], allowed, spec)

    def test_removed_nodes_ask_no_budget(self):
        report = self.simulate(self.objects(budget("b", 0, {"app": "web"})), "--remove", "a")
        self.assertEqual(report["budgets"], [])
        self.assertTrue(report["answer"]["possible"])


class Nodes(Changes):
    def test_removed(self):
        agent = cli.workload("DaemonSet", "agent")
        objects = [cli.node("a"), cli.node("b"), agent, cli.pod("agent-1", on="a", owner=("DaemonSet", "agent"), labels={"app": "agent"}),
                   of_set("web-1-x", "a"), cli.pod("alone", on="a")]
        report = self.simulate(objects, "--remove", "a")
        self.assertEqual(self.moves(report), {"web-1-x": ("remove", "a", "b", "placed"), "alone": ("remove", "a", None, "lost")})
        rows = {row["name"]: row for row in report["nodes"]}
        self.assertIsNone(rows["a"]["after"])
        self.assertEqual(rows["a"]["before"]["cpuMilli"], 300)
        cpu = report["resources"]["cpuMilli"]
        self.assertEqual((cpu["allocatableBefore"], cpu["allocatable"], cpu["before"]), (8000, 4000, 300))
        self.assertEqual(report["summary"]["nodes"], 1)

    def test_a_resource_that_only_the_removed_node_had(self):
        gpu = cli.node("g")
        gpu["status"]["allocatable"]["example.com/gpu"] = "4"
        pod = of_set("web-1-x", "g")
        pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
        report = self.simulate([cli.node("a"), gpu, pod], "--remove", "g")
        self.assertEqual(report["resources"]["example.com/gpu"]["allocatableBefore"], 4)
        self.assertEqual(report["resources"]["example.com/gpu"]["allocatable"], 0)
        self.assertEqual([row["result"] for row in report["moved"]], ["pending"])

    def test_added_like_another(self):
        old = cli.node("a", cpu="1", labels={"pool": "x"}, taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}],
                       unschedulable=True)
        web = cli.workload("ReplicaSet", "web", replicas=2, cpu="1", pod_spec_more={"nodeSelector": {"pool": "x"}, "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]})
        report = self.simulate([old, web, cli.workload("DaemonSet", "agent", cpu="0")], "--add", "2=a")
        rows = {row["name"]: row for row in report["nodes"]}
        self.assertEqual([(name, row["change"], row["before"]) for name, row in rows.items()][1:],
                         [("a-new-1", "add", None), ("a-new-2", "add", None)])
        self.assertEqual({node for pod, node in self.placed(report).items() if "web" in pod}, {"a-new-1", "a-new-2"})
        self.assertEqual({node for pod, node in self.placed(report).items() if "agent" in pod}, {"a", "a-new-1", "a-new-2"})
        self.assertEqual([row["of"] for row in report["changes"]], ["a", "a"])
        self.assertEqual((report["resources"]["cpuMilli"]["allocatableBefore"], report["resources"]["cpuMilli"]["allocatable"]), (1000, 3000))

    def test_added_from_a_file(self):
        path = self.write("big.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: big}\nstatus: {allocatable: {cpu: 64, memory: 1Gi, pods: 10}}\n")
        report = self.simulate([cli.node("a"), cli.pod("p", cpu="60")], "--add", "2=" + path)
        self.assertEqual(set(self.change_of(report)), {"a", "big-new-1", "big-new-2"})
        self.assertIn(self.placed(report)["default/p"], ("big-new-1", "big-new-2"))

    def test_a_label_means_nodes_of_the_input(self):
        report = self.simulate([cli.node("a", labels={"pool": "x"}), cli.node("b", labels={"pool": "x"})],
                               "--add", "1=a", "--remove", "pool=x")
        self.assertEqual(self.change_of(report), {"a": "remove", "b": "remove", "a-new-1": "add"})

    def test_devices_and_volume_limits_of_copies(self):
        csi = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a"},
               "spec": {"drivers": [{"name": "d", "nodeID": "a", "allocatable": {"count": 3}}]}}
        slices = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"},
                  "spec": {"driver": "d", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                           "devices": [{"name": "gpu"}]}}
        device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "x"}, "spec": {}}
        claims = [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": cli.meta("c%d" % i, "default", uid="c%d" % i),
                   "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1}}]}}}
                  for i in range(2)]
        pods = [cli.pod("p%d" % i, resourceClaims=[{"name": "c", "resourceClaimName": "c%d" % i}]) for i in range(2)]
        report = self.simulate([cli.node("a"), csi, slices, device_class, *claims, *pods], "--add", "1=a")
        self.assertEqual(set(self.placed(report).values()), {"a", "a-new-1"})


class Scale(Changes):
    def deployment(self, replicas=4, on="ab"):
        sets = cli.workload("ReplicaSet", "web-1", replicas=replicas, cpu="1")
        sets["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True, "uid": ""}]
        pods = [of_set("web-1-%d" % i, on[i % 2], cpu="1", created="2026-01-0%dT00:00:00Z" % (i + 1)) for i in range(replicas)]
        return [cli.node("a"), cli.node("b"), cli.workload("Deployment", "web", replicas=replicas, cpu="1"), sets, *pods]

    def test_up(self):
        report = self.simulate(self.deployment(), "--scale", "deploy/default/web=6")
        self.assertEqual(len(report["placements"]), 2)
        self.assertEqual(report["changes"], [{"change": "scale", "kind": "Deployment", "namespace": "default", "name": "web", "before": 4, "after": 6}])

    def test_down_the_youngest_go(self):
        report = self.simulate(self.deployment(), "--scale", "deploy/web=2")
        self.assertEqual(self.moves(report), {"web-1-2": ("scale", "a", None, "gone"), "web-1-3": ("scale", "b", None, "gone")})
        self.assertEqual(report["placements"], [])
        self.assertEqual(report["resources"]["cpuMilli"]["after"], 2000)
        self.assertEqual(report["resources"]["cpuMilli"]["before"], 4000)

    def test_down_pending_ones_go_first(self):
        objects = [*self.deployment(replicas=2), ]
        objects[2]["spec"]["replicas"] = objects[3]["spec"]["replicas"] = 3
        waiting = of_set("web-1-9", None, cpu="1")
        report = self.simulate([*objects, waiting], "--scale", "deploy/default/web=2")
        self.assertEqual((report["moved"], report["placements"]), ([], []))

    def test_down_where_two_are_on_a_node(self):
        objects = self.deployment(replicas=3)
        report = self.simulate(objects, "--scale", "deploy/default/web=2")
        self.assertEqual(list(self.moves(report)), ["web-1-2"])
        cost = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
        objects[5]["metadata"]["annotations"] = cost
        self.assertEqual(list(self.moves(self.simulate(objects, "--scale", "deploy/default/web=2"))), ["web-1-1"])

    def test_stateful_sets_lose_the_highest(self):
        objects = [cli.node("a"), cli.workload("StatefulSet", "db", replicas=11),
                   *[cli.pod("db-%d" % i, on="a", owner=("StatefulSet", "db")) for i in range(11)]]
        report = self.simulate(objects, "--scale", "sts/default/db=9")
        self.assertEqual(set(self.moves(report)), {"db-9", "db-10"})
        self.assertEqual(report["placements"], [])

    def test_with_a_drain(self):
        report = self.simulate(self.deployment(), "--scale", "deploy/default/web=2", "--drain", "a")
        self.assertEqual(self.moves(report)["web-1-0"], ("drain", "a", "b", "placed"))
        self.assertEqual(report["resources"]["cpuMilli"]["after"], 2000)


class Errors(Changes):
    def refused(self, *args):
        path = self.write("c.json", [cli.node("general-a1", labels={"zone": "north"}), cli.workload("Deployment", "frontend", namespace="shop"),
                                     *Scale().deployment()[2:4]])
        result = self.berth("simulate", "-f", path, *args)
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.refuse(result)
        return result.err

    def test_names(self):
        self.assertIn("--drain: there is no node generl-a1; did you mean general-a1?", self.refused("--drain", "generl-a1"))
        self.assertIn("--remove: there is no node with the label zone=nrth; did you mean zone=north?", self.refused("--remove", "zone=nrth"))
        self.assertIn("--add: there is no node general-b1; did you mean general-a1?", self.refused("--add", "3=general-b1"))
        self.assertIn("there is no Deployment shop/frontnd; did you mean shop/frontend?", self.refused("--scale", "deploy/shop/frontnd=1"))
        self.assertIn("there is no Deployment default/frontend; did you mean shop/frontend?", self.refused("--scale", "deploy/frontend=1"))

    def test_forms(self):
        for word in "x=general-a1", "-1=general-a1", "3=", "1000000=general-a1":
            self.assertIn("--add: expected NUMBER=NODE or NUMBER=FILE", self.refused("--add", word))
        for word in "web", "deploy/web", "deploy/web=-1", "jobs/web=2", "deploy/=1":
            self.assertIn("--scale: expected KIND/NAMESPACE/NAME=REPLICAS", self.refused("--scale", word))
        self.assertIn("--drain: a name is empty", self.refused("--drain", "general-a1,"))
        self.assertIn("belongs to Deployment web: scale that", self.refused("--scale", "rs/default/web-1=1"))
        self.assertIn("no-such.yaml: cannot be read", self.refused("--add", "1=no-such.yaml"))
        empty = self.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")
        self.assertIn("pod.yaml: --add: there is no Node in it", self.refused("--add", "1=" + empty))


class Table(Changes):
    def test_sections(self):
        objects = [cli.node("a"), cli.node("b"), of_set("web-1-x", "a"), budget("b", 0, {"app": "web"})]
        result = self.berth("simulate", "-f", self.write("c.json", objects), "--drain", "a")
        self.assertEqual(result.code, 0, result.err)
        for words in "Changed:\n  drain a\n", "No: a cannot be drained.", "default/web-1-x  drain       a     b", "default/b        1        0  blocks the drain":
            self.assertIn(words, result.out)

    def test_without_changes_nothing_is_said(self):
        result = self.berth("simulate", "-f", self.write("c.json", [cli.node("a")]))
        self.assertNotIn("Changed", result.out)

    def test_csv(self):
        objects = [cli.node("a"), cli.node("b"), of_set("web-1-x", "a")]
        out = self.berth("simulate", "-f", self.write("c.json", objects), "--drain", "a", "-o", "csv").out
        (row,) = csv.DictReader(io.StringIO(out, newline=""))
        self.assertEqual((row["result"], row["node"]), ("placed", "b"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
