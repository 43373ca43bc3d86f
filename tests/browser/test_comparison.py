#!/usr/bin/env python3
"""The report of `berth simulate --compare --html`: configurations side by side."""
import browser
from cli import full_name, node, pod

PACKING = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


class TestComparison(browser.Case):
    def rows(self, caption):
        return self.page.run("""const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === arguments[0]);
            return [...table.querySelectorAll("tbody tr:not(.spacer)")].map((row) => [...row.children].map((cell) => cell.innerText.trim()));""", caption)

    def test_comparison(self):
        objects = [*(node("n%d" % i) for i in range(4)), *(pod("web-%d" % i, cpu="500m") for i in range(6)),
                   pod("whale", cpu="100")]
        packing = self.write("packing.yaml", PACKING)
        page, document = self.report("simulate", "-f", self.write("cluster.json", objects), "--compare", packing)
        self.assertEqual(document["kind"], "Comparison")
        self.assertGreater(document["summary"]["differing"], 0)
        tiles = dict(zip(page.texts(".tile dt"), page.texts(".tile dd")))
        self.assertEqual(tiles["pods differ"], str(document["summary"]["differing"]))
        self.assertEqual(tiles["pending with defaults"], "1")
        first, second = document["configurations"]
        facts = {row[0]: row[1:] for row in self.rows("Configurations")}
        self.assertEqual(facts["pods placed"], [str(first["placed"]), str(second["placed"])])
        self.assertEqual(facts["nodes without pods"], [str(first["emptyNodes"]), str(second["emptyNodes"])])
        self.assertGreater(second["emptyNodes"], first["emptyNodes"])
        better = self.page.run("return [...document.querySelectorAll('#sides tbody tr')].find((row) =>"
                               " row.innerText.startsWith('nodes without pods')).children[2].firstChild.className;")
        self.assertEqual(better, "good")
        self.assertEqual(self.rows("Pods that differ"), [[full_name(row["pod"]), *(name or "pending" for name in row["nodes"])]
                                                         for row in document["pods"]])
        counts = {row[0]: [int(value) for value in row[1:]] for row in self.rows("Pods that differ, by node")}
        for at in range(2):
            self.assertEqual(sum(row[at] for row in counts.values()), sum(bool(row["nodes"][at]) for row in document["pods"]))
        page.run("document.querySelectorAll('#nodes canvas')[1].focus();")
        page.press("End", "Enter")
        self.assertTrue(page.text("#nodes [aria-live]").startswith(sorted(counts)[-1] + ", defaults: "))

    def test_the_same_twice(self):
        objects = [node("n0"), pod("web")]
        page, document = self.report("simulate", "-f", self.write("cluster.json", objects), "--compare",
                                     self.write("packing.yaml", PACKING))
        self.assertEqual(document["summary"]["differing"], 0)
        self.assertIn("Every pod is on the same node", page.text("#pods"))


if __name__ == "__main__":
    browser.main()
