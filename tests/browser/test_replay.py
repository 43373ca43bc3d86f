#!/usr/bin/env python3
"""The report of `berth replay --html`, of a recording that a live scheduler makes."""
import os
import sys

import browser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import case  # noqa: E402

PACKING = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


class TestReplay(browser.Case, case.Case):
    PODS = 8

    def record(self):
        """Eight pods on three nodes, and one that fits on none."""
        folder = self.path("recording")
        self.create(*(case.node("node-%d" % i, cpu="8") for i in range(3)))
        scheduler = self.start("--record", folder)
        for i in range(self.PODS):
            self.pod("web-%d" % i, cpu="1")
            self.bound("web-%d" % i)
        self.pod("whale", cpu="100")
        self.rejected("whale", "Insufficient cpu")
        self.assertEqual(scheduler.end(), 0)
        return folder

    def rows(self, caption):
        return self.page.run("""const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === arguments[0]);
            return [...table.querySelectorAll("tbody tr:not(.spacer)")].map((row) => [...row.children].map((cell) => cell.innerText.trim()));""", caption)

    def tiles(self):
        return dict(zip(self.page.texts(".tile dt"), self.page.texts(".tile dd")))

    def test_replay(self):
        folder = self.record()
        with self.subTest("the same configuration"):
            page, document = self.report("replay", folder)
            self.assertTrue(document["exact"])
            self.assertEqual(self.tiles()["decisions"], str(document["decisions"]))
            self.assertIn("came out as recorded", page.text("#result"))
            self.assertIn(document["digest"], page.text("#result"))
            rows = self.rows("Decisions")
            self.assertEqual([(row[1], row[2]) for row in rows], [("%s/%s" % (entry["pod"]["namespace"], entry["pod"]["name"]),
                                                                   entry["node"] or "–") for entry in document["log"]])
            self.assertEqual(len({row[1] for row in rows}), self.PODS + 1)
            page.click("#time figcaption button")
            self.assertEqual(self.rows("Decisions, added up")[-1][1], str(self.PODS))
        with self.subTest("another configuration"):
            page, document = self.report("replay", folder, "--config", self.write("packing.yaml", PACKING))
            summary = document["summary"]
            self.assertGreater(summary["otherNode"], 0)  # packed onto one node
            self.assertEqual(self.tiles()["go to another node"], str(summary["otherNode"]))
            self.assertIn("packing.yaml", page.text("h1"))
            self.assertEqual(self.rows("Recorded and here")[1], ["nodes that got pods", "3", "1", "-2"])
            self.assertEqual(len(self.rows("Pods that differ")), summary["otherNode"])
            by_node = {row[0]: (int(row[1]), int(row[2])) for row in self.rows("Pods by node")}
            self.assertEqual(sum(here for _, here in by_node.values()), self.PODS)
            self.assertEqual(sorted(here for _, here in by_node.values()), [0, 0, self.PODS])
            page.run("document.querySelector('#nodes canvas').focus();")
            page.press("End", "Enter")
            self.assertIn("node-2, recorded: %d pods" % by_node["node-2"][0], page.text("#nodes"))
        with self.subTest("a list is no report"):
            self.refuse(self.berth("replay", "--list", folder, "--html", self.path("r.html")), "--html", "--list")
        with self.subTest("what is printed stays the same"):
            plain = self.berth("replay", folder)
            self.assertEqual(self.berth("replay", folder, "--html", self.path("r.html")).out, plain.out)
            lines = self.berth("replay", folder, "--decisions", "--html", self.path("r.html")).out
            self.assertEqual(lines, self.berth("replay", folder, "--decisions").out)


if __name__ == "__main__":
    case.main()
