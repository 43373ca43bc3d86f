#!/usr/bin/env python3
"""The report of `berth simulate --html`."""
import browser
from cli import node, pod


class TestSimulation(browser.Case):
    def test_opens(self):
        page, document = self.report("simulate", "-f", self.write("cluster.json", [node("n1"), pod("web")]))
        self.assertEqual(document["kind"], "Simulation")
        self.assertIn("cluster.json", page.text("h1"))


if __name__ == "__main__":
    browser.main()
