#!/usr/bin/env python3
"""The report of `berth capacity --html`."""
import browser
from cli import node, pod, workload

ZONE, TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"


def cluster():
    nodes = [node("n%d" % i, cpu="8" if i < 2 else "4", labels={ZONE: "zone-" + "ab"[i % 2], TYPE: "large" if i < 2 else "small"})
             for i in range(6)]
    return [*nodes, pod("old", on="n0", cpu="3"), workload("Deployment", "web", cpu="1500m", namespace="shop", replicas=2),
            workload("Deployment", "whale", cpu="7", namespace="shop", replicas=0)]


class TestCapacity(browser.Case):
    def capacity(self, *arguments, objects=None):
        return self.report("capacity", "-f", self.write("cluster.json", objects or cluster()), *arguments)

    def rows(self, caption):
        return self.page.run("""const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === arguments[0]);
            return [...table.querySelectorAll("tbody tr:not(.spacer)")].map((row) => [...row.children].map((cell) => cell.innerText.trim()));""", caption)

    def tiles(self):
        return dict(zip(self.page.texts(".tile dt"), self.page.texts(".tile dd")))

    def test_one(self):
        page, document = self.capacity("deploy/shop/web")
        template, = document["templates"]
        self.assertGreater(template["fits"], 5)
        self.assertEqual(self.tiles()["more of shop/web fit"], str(template["fits"]))
        row, = self.rows("Templates")
        self.assertEqual(row[:5], ["shop/web", "Deployment", "cpu 1.5 cores", str(template["fits"]), str(len(template["nodes"]))])
        self.assertEqual({row[0]: int(row[-1]) for row in self.rows("Copies by node") if row[-1] != "0"},
                         {row["name"]: row["copies"] for row in template["nodes"]})
        scarce = template["stop"]["scarce"]
        self.assertEqual(scarce["resource"], "cpuMilli")
        self.assertIn("A copy needs 1.5 cores of cpu. %d nodes have less left" % scarce["nodes"], page.text("#stop"))
        self.assertIn(template["stop"]["message"], page.text("#stop"))
        self.assertEqual([row[2] for row in self.rows("What rejects the next copy of shop/web")],
                         [str(reason["nodes"]) for reason in template["stop"]["reasons"]])

    def test_what_stops_it(self):
        """The limit that copies reach, though more nodes have a taint and fewer lack a resource."""
        term = {"labelSelector": {"matchLabels": {"app": "one"}}, "topologyKey": "kubernetes.io/hostname"}
        one = pod("one", cpu="500m", labels={"app": "one"},
                  affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
        tainted = [node("t%d" % i, taints=[{"key": "team", "value": "ml", "effect": "NoSchedule"}]) for i in range(9)]
        page, document = self.capacity("pod/one", objects=[*cluster()[:7], *tainted, node("tiny", cpu="100m"), one])
        stop = document["templates"][0]["stop"]
        self.assertEqual([row["plugin"] for row in stop["reasons"]], ["TaintToleration", "InterPodAffinity", "NodeResourcesFit"])
        self.assertEqual(self.rows("Templates")[0][-1], "node(s) didn't match pod anti-affinity rules")
        self.assertEqual(page.text("#stop .verdict"), "%d nodes: %s." % (stop["reasons"][1]["nodes"], stop["reasons"][1]["sentence"]))
        self.assertIn("pod anti-affinity wants no pod with app=one in the same kubernetes.io/hostname", page.text("#stop .verdict"))
        self.assertEqual([row[1] for row in self.rows("What rejects the next copy of default/one")],
                         [row["sentence"] for row in stop["reasons"]])
        self.assertIn("Nodes of these types add none: like t0, team=ml:NoSchedule", page.text("#more"))

    def test_no_node_rejects_it(self):
        """One that has scheduling gates is not tried on any."""
        page, _ = self.capacity("pod/held", objects=[*cluster(), pod("held", schedulingGates=[{"name": "example.com/wait"}])])
        self.assertIn("waiting for scheduling gates", page.text("#stop"))
        self.assertEqual(self.tiles()["more of default/held fit"], "0")

    def test_map(self):
        page, document = self.capacity("deploy/shop/web")
        copies = {row["name"]: row["copies"] for row in document["templates"][0]["nodes"]}
        zones = {row["name"]: row["labels"][ZONE] for row in document["nodes"]}
        bars = dict(zip(page.texts("#places .bar-label"), page.texts("#places .bar-total")))
        self.assertEqual(bars, {zone: str(sum(count for name, count in copies.items() if zones[name] == zone))
                                for zone in ("zone-a", "zone-b")})
        page.choose("#places .controls select", "instance type")
        self.assertEqual(page.texts("#places .bar-label"), ["large", "small"])
        page.run("document.querySelector('#places canvas').focus();")
        page.press("Home", "Enter")
        spoken = page.text("#announcer")
        self.assertEqual(spoken, "n0, %d more copies of shop/web" % copies["n0"])
        self.assertIn(spoken.replace(", ", ": ", 1), page.text("#places"))
        self.assertEqual(page.count("#nodes canvas"), 2)  # before, and with all copies
        page.click("#nodes tbody button")
        self.assertIn("With all copies", page.text("#nodes .details"))

    def test_several(self):
        page, document = self.capacity("deploy/shop/web", "deploy/shop/whale")
        fits = {row["name"]: row["fits"] for row in document["templates"]}
        self.assertEqual(dict(zip(page.texts("#fits .bar-label"), page.texts("#fits .bar-total"))),
                         {"shop/" + name: str(count) for name, count in fits.items()})
        page.choose("#places .controls select", "shop/whale")
        self.assertEqual(sum(int(row[-1]) for row in self.rows("Copies by node")), fits["whale"])
        self.assertEqual(page.count("#nodes canvas"), 1)  # each is tried alone
        page, document = self.capacity("--together", "deploy/shop/web", "deploy/shop/whale")
        self.assertEqual(self.tiles()["complete sets fit"], str(document["sets"]))

    def test_one_more_node(self):
        page, document = self.capacity("deploy/shop/web")
        grown = {(row["nodeType"], row["zone"]): row["adds"] for row in document["templates"][0]["oneMore"]}
        self.assertTrue(any(grown.values()))
        bars = dict(zip(page.texts("#more .bar-label"), page.texts("#more .bar-total")))
        self.assertEqual(bars, {"%s, %s" % key: str(adds) for key, adds in grown.items() if adds})
        for key, adds in grown.items():
            if not adds:
                self.assertIn("%s, %s" % key, page.text("#more"))

    def test_limit(self):
        page, document = self.capacity("--max", "3", "deploy/shop/web")
        self.assertTrue(document["templates"][0]["limited"])
        self.assertEqual(self.tiles()["more of shop/web fit"], "3+")
        self.assertEqual(page.count("#stop"), 0)


if __name__ == "__main__":
    browser.main()
