#!/usr/bin/env python3
"""The report of `berth explain --html`: the matrix of nodes by plugins, scores, preemption."""
import os
import sys

import browser
from cli import full_name, node, pod, workload

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import case  # noqa: E402

TAINT = [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]


def rejecting():
    """Nodes that reject a pod of 4 cores for different reasons."""
    nodes = [node("n%d" % i, cpu="8") for i in range(4)] + [node("small", cpu="3900m"), node("closed", unschedulable=True, cpu="16"),
                                                             node("tainted", cpu="16", taints=TAINT)]
    pods = [pod("old-%d" % i, on="n%d" % i, cpu="%dm" % (5000 + 100 * i), priority=-5) for i in range(4)]
    return [*nodes, *pods, pod("whale", cpu="4", priority=10)]


def scoring():
    return [*(node("n%d" % i, cpu="8") for i in range(4)), pod("old", on="n1", cpu="4"), pod("older", on="n2", cpu="2"),
            node("tainted", taints=TAINT), pod("web", cpu="1")]


class TestExplanation(browser.Case):
    def explanation(self, objects, name, *arguments):
        return self.report("explain", "-f", self.write("cluster.json", objects), *arguments, name)

    def rows(self, caption):
        return self.page.run("""const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === arguments[0]);
            return [...table.querySelectorAll("tbody tr:not(.spacer)")].map((row) => [...row.children].map((cell) => cell.innerText.trim()));""", caption)

    def tiles(self):
        return dict(zip(self.page.texts(".tile dt"), self.page.texts(".tile dd")))

    def test_rejected(self):
        page, document = self.explanation(rejecting(), "whale")
        self.assertEqual(document["kind"], "Explanation")
        self.assertEqual(page.text("h1"), "Pod default/whale")
        self.assertEqual((self.tiles()["nodes can take it"], self.tiles()["nodes rejected"]), ("0", "7"))
        self.assertIn(document["message"], page.text("#answer"))
        for group in document["rejections"]:
            self.assertIn(group["sentence"], page.text("#answer .reasons"))
        # The matrix has the plugins that refuse, in the order in which they are asked.
        plugins = page.texts("#nodes thead th")[1:-1]
        refusing = {row["plugin"] for row in document["nodes"]}
        self.assertEqual(plugins, [name for name in document["filters"] if name in refusing])
        for row in self.page.run("""return [...document.querySelectorAll("#nodes tbody tr")].map((row) => [row.children[0].innerText,
                ...[...row.querySelectorAll(".cell")].map((cell) => cell.classList[1])]);"""):
            plugin = next(found for found in document["nodes"] if found["name"] == row[0])["plugin"]
            at = plugins.index(plugin)
            self.assertEqual(row[1:], ["passed"] * at + ["refused"] + ["unasked"] * (len(plugins) - at - 1), row)

    def test_shortfall(self):
        """Of a cell under the pointer, of a node that is selected, of a square reached with the keyboard."""
        page, document = self.explanation(rejecting(), "whale")
        small = next(row for row in document["nodes"] if row["name"] == "small")
        sentence = small["why"][0]["sentence"]
        self.assertIn("needs 4", sentence)
        page.run("[...document.querySelectorAll('#nodes tbody tr')].find((r) => r.innerText.startsWith('small'))"
                 ".querySelector('.cell.refused').id = 'wanted';")
        page.point("#wanted")
        self.assertIn("NodeResourcesFit refuses it: " + sentence, page.text(".hint"))
        self.assertIn("refuses it: " + sentence, page.run("return document.querySelector('#wanted .unseen').textContent;"))
        page.run("document.querySelector('#nodes canvas').focus();")
        page.press("Home")
        self.assertRegex(page.text("#announcer"), "^closed, NodeUnschedulable: ")
        page.press("Enter")
        self.assertEqual(page.text("#nodes .details h3"), "closed")
        page.run("[...document.querySelectorAll('#nodes tbody button')].find((b) => b.innerText === 'small').click();")
        self.assertIn(sentence, page.text("#nodes .details"))

    def test_sentences_are_whole(self):
        """In tables of few rows, on as many lines as they need."""
        page, document = self.explanation(rejecting(), "whale")
        self.page.size(700, 900)
        self.addCleanup(self.page.size, 1280, 900)
        cut = """return [...document.querySelectorAll("#nodes td.wide")].filter((cell) => cell.scrollWidth > cell.clientWidth).length;"""
        page.wait(cut.replace("return", "return 0 ==="))
        self.assertGreater(page.run("return Math.max(...[...document.querySelectorAll('#nodes tbody tr')].map((row) => row.offsetHeight));"), 40)
        self.assertEqual(len(document["nodes"]), 7)

    def test_long_words_in_a_small_window(self):
        taint = {"key": "node-role.kubernetes.io/" + "control" * 12, "effect": "NoSchedule"}
        page, _ = self.explanation([node("n1", taints=[taint]), node("n2"), pod("web")], "web")
        page.size(400, 800)
        self.addCleanup(page.size, 1280, 900)
        page.wait("return document.documentElement.scrollWidth === 400;")
        self.assertLess(page.run("return Math.max(...[...document.querySelectorAll('#answer .reasons div')].map((e) => e.getBoundingClientRect().right));"), 400)

    def test_a_wide_matrix_in_a_small_window(self):
        """It scrolls by itself, with what only screen readers read in its cells."""
        page, _ = self.explanation(rejecting(), "whale")
        page.size(400, 800)
        self.addCleanup(page.size, 1280, 900)
        page.wait("return document.querySelector('#nodes .scroller').scrollWidth > 500;")
        self.assertEqual(page.run("return document.documentElement.scrollWidth;"), 400)

    def test_one_node(self):
        """--node: what every plugin answers about it, and its scores beside those of the best."""
        page, document = self.explanation(rejecting(), "whale", "--node", "n2")
        self.assertIn("n2 cannot take it: 1 of %d plugins rejects it." % len(document["node"]["filters"]), page.text("#node"))
        asked = [row for row in document["node"]["filters"] if row["status"] != "Skip"]
        self.assertEqual([row[0] for row in self.rows("Plugins about n2")], [row["plugin"] for row in asked])
        self.assertEqual([row[1:] for row in self.rows("Plugins about n2") if row[1] == "rejects"],
                         [["rejects", row["why"][0]["sentence"]] for row in asked if row["status"] != "Success"])
        self.assertIn("Nothing to check for this pod: NodeAffinity", page.text("#node"))
        self.assertIn("if these pods of lower priority were evicted: default/old-2.", page.text("#node"))
        page, document = self.explanation(scoring(), "web", "--node", "n1")
        self.assertIn("n1 can take it, but others are better.", page.text("#node"))
        self.assertIn("n0 against n1", page.text("#node"))
        totals = {row["name"]: row["total"] for row in document["nodes"] if row["feasible"]}
        self.assertEqual(sum(int(row[3]) for row in self.rows("The best node against n1")), totals["n0"] - totals["n1"])
        page, _ = self.explanation(scoring(), "web", "--node", "n3")
        self.assertIn("n3 can take it, and no node is better.", page.text("#node"))
        claims = pod("claims", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}])
        page, document = self.explanation([node("n1"), claims], "claims", "--node", "n1")
        self.assertIn("n1 cannot take it: VolumeRestrictions: " + document["node"]["otherwise"]["reasons"][0], page.text("#node"))

    def test_the_best_nodes_are_first(self):
        page, document = self.explanation(scoring(), "web")
        totals = {row["name"]: row["total"] for row in document["nodes"] if row["feasible"]}
        shown = [name for name in page.texts("#nodes tbody th") if name in totals]
        self.assertEqual([totals[name] for name in shown], sorted(totals.values(), reverse=True))

    def test_pods_that_come_before(self):
        page, document = self.explanation([node("n1"), pod("first", priority=5), pod("web")], "web")
        self.assertEqual(document["podsBefore"], 1)
        self.assertIn("1 waiting pod comes before it in the queue, and may change this.", page.text("#answer"))

    def test_preemption(self):
        page, document = self.explanation([node("a"), node("b"), pod("low", on="a", cpu="2", priority=-5),
                                           pod("higher", on="b", cpu="2", priority=-1), pod("whale", cpu="3", priority=10)], "whale")
        self.assertEqual(document["preemption"]["nominated"], ["a"])
        self.assertEqual(self.tiles()["nodes by preemption"], "2")
        page, document = self.explanation(rejecting(), "whale")
        found = {row[0]: row[1:] for row in self.rows("Candidates")}
        self.assertEqual(found, {node: [str(len(row["victims"])), str(row["pdbViolations"]), ", ".join(row["victims"])]
                                 for node, row in document["preemption"]["candidates"].items()})
        self.assertTrue(found)
        self.assertEqual(page.count("#scores"), 0)

    def test_scores(self):
        page, document = self.explanation(scoring(), "web")
        feasible = {row["name"]: row for row in document["nodes"] if row["feasible"]}
        self.assertEqual(self.tiles()["nodes can take it"], "4")
        self.assertIn("one of 2 equal nodes: n0, n3", page.text("#answer"))
        totals = dict(zip(page.texts("#scores .bar-label"), page.texts("#scores .bar-total")))
        self.assertEqual(totals, {name: "{:,}".format(row["total"]) for name, row in feasible.items()})
        self.assertEqual(page.texts("#scores .strong .bar-label"), document["best"])
        self.assertIn("n0 against n2", page.text("#scores"))
        lead = {row[0]: int(row[3]) for row in self.rows("The best node against the next")}
        for plugin, value in lead.items():
            self.assertEqual(value, feasible["n0"]["scores"][plugin] - feasible["n2"]["scores"][plugin])
        self.assertEqual(sum(lead.values()), feasible["n0"]["total"] - feasible["n2"]["total"])
        page.click("#scores figcaption button")
        self.assertEqual(len(self.rows("Nodes by score")), 4)

    def test_other_answers(self):
        gated = pod("held", schedulingGates=[{"name": "example.com/wait"}])
        page, _ = self.explanation([node("n1"), gated], "held")
        self.assertIn("A scheduling gate blocks it", page.text("#answer"))
        page, document = self.explanation([node("n1"), pod("claims", volumes=[
            {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}])], "claims")
        self.assertEqual(document["nodes"], [])
        self.assertIn("rejects it before any node is looked at", page.text("#answer"))
        page, document = self.explanation(scoring(), "web", "--timing")
        self.assertEqual(len(document["cost"]["plugins"]), int(page.attribute("#cost table", "aria-rowcount")) - 1)

    def test_an_error_names_the_extender(self):
        """In the report of every command."""
        config = self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                            "extenders: [{urlPrefix: 'http://127.0.0.1:9/x', filterVerb: filter}]\n")
        given = ("-f", self.write("cluster.json", [node("n1"), pod("web")]), "--config", config)
        error = "error of extender http://127.0.0.1:9/x: Post"
        for command, place in ((["explain", "web"], "#answer"), (["explain"], "#waiting"), (["simulate"], "#pending"),
                               (["capacity", "pod/web"], "#stop")):
            with self.subTest(command=command):
                page, _ = self.report(command[0], *given, *command[1:])
                self.assertIn(error, page.text(place))

    def test_at_its_turn(self):
        """The report of `simulate --explain` is that of the pod, on the nodes as it finds them."""
        objects = [node("n1", cpu="2"), node("n2", cpu="2"), pod("first", cpu="1500m", priority=5), pod("web", cpu="1500m")]
        page, document = self.report("simulate", "-f", self.write("cluster.json", objects), "--explain", "default/web")
        self.assertEqual((document["kind"], document["podsBefore"], len(document["best"])), ("Explanation", None, 1))
        self.assertEqual(page.text("h1"), "Pod default/web")
        self.assertIn("It goes to %s." % document["best"][0], page.text("#answer"))
        self.assertEqual((self.tiles()["nodes can take it"], self.tiles()["nodes rejected"]), ("1", "1"))
        self.assertNotIn("in the queue", page.text("#answer"))

    def test_all_that_wait(self):
        objects = [*rejecting(), pod("small", cpu="100m"), workload("Deployment", "web", replicas=2),
                   workload("DaemonSet", "agent")]
        page, document = self.report("explain", "-f", self.write("cluster.json", objects))
        self.assertEqual(document["kind"], "PendingPods")
        self.assertEqual([(row[0], row[1], row[3], row[4]) for row in self.rows("Pods that wait")],
                         [(full_name(row), "not yet" if row["expanded"] else "yes", str(row["feasible"]), row["sentence"])
                          for row in document["pods"]])
        self.assertEqual((self.tiles()["pods wait"], self.tiles()["fit on no node"]), ("4", "1"))
        self.assertIn("pods that DaemonSets would create", page.text("#waiting"))

    def test_large(self):
        """Of thousands of nodes only rows that are seen are elements."""
        nodes = [node("node-%04d" % i, cpu="%dm" % (1000 + i)) for i in range(3000)]
        page, document = self.explanation([*nodes, pod("whale", cpu="3")], "whale")
        self.assertEqual(self.tiles()["nodes rejected"], "{:,}".format(sum(not row["feasible"] for row in document["nodes"])))
        self.assertEqual(page.count("#scores .bars li"), 20 + page.count("#scores .legend li"))
        self.assertLess(page.count("tr"), 400)
        page.type("#nodes input", "node-2345")
        page.wait("return document.querySelectorAll('#nodes tbody tr').length === 1;")
        self.assertIn("can take it, score", page.text("#nodes tbody"))


class TestLive(browser.Case, case.Case):
    def test_running_scheduler(self):
        self.berth_only("kube-scheduler explains nothing")
        self.create(node("n1", cpu="2"))
        scheduler = self.start()
        self.pod("whale", cpu="100")
        self.rejected("whale", "Insufficient cpu")
        page, document = self.report("explain", "--server", "https://127.0.0.1:%d" % scheduler.port, "--kubeconfig",
                                     self.write("admin", self.api.access.kubeconfig()), "--insecure-skip-tls-verify",
                                     "--insecure-send-credentials", self.namespace + "/whale")
        self.assertEqual((document["kind"], document["state"]), ("LiveExplanation", "queued"))
        self.assertEqual(page.text("h1"), "Pod %s/whale" % self.namespace)
        self.assertIn("It waits in the queue", page.text("#state"))
        self.assertIn(document["attempts"][0]["message"], page.text("#state table"))
        self.assertIn(document["now"]["rejections"][0]["sentence"], page.text("#answer"))


if __name__ == "__main__":
    case.main()
