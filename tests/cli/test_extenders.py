"""Extenders of the configuration in `berth simulate`, which calls them and reports what they did."""
import json
import os
import subprocess
import sys

import cli

HERE = os.path.dirname(os.path.abspath(__file__))


class Simulate(cli.Case):
    def extender(self):
        """Starts tests/extender/extender.py; returns its port and a function that reads its calls."""
        log = self.path("calls.json")
        process = subprocess.Popen([sys.executable, os.path.join(HERE, "..", "extender", "extender.py"), "--log", log],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        port = int(process.stdout.readline())

        def calls():
            with open(log, encoding="utf-8") as file:
                return [json.loads(line) for line in file]
        return port, calls

    def config(self, port, more):
        return self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                          "kind: KubeSchedulerConfiguration\n"
                          "extenders:\n- {urlPrefix: 'http://127.0.0.1:%d/x', %s}\n" % (port, more))

    def run_with(self, config, objects, *flags):
        return self.berth("simulate", "-f", self.write("c.json", objects), "--config", config, "-o", "json",
                          "--no-timing", *flags)

    @staticmethod
    def pod(name, **annotations):
        pod = cli.pod(name)
        pod["metadata"]["annotations"] = {"extender.example/" + key: value for key, value in annotations.items()}
        return pod

    def test_it_is_called(self):
        port, calls = self.extender()
        config = self.config(port, "filterVerb: filter, prioritizeVerb: prioritize, weight: 5, bindVerb: bind")
        result = self.run_with(config, [cli.node("a"), cli.node("b"), cli.node("c"), self.pod("p", scores="b=9,c=1"),
                                        self.pod("q", refuse="a=no license,b,c")])
        self.assertEqual(result.err, "")
        where = {cli.full_name(row["pod"]): row for row in result.json["placements"]}
        self.assertEqual(where["default/p"]["node"], "b")
        self.assertIsNone(where["default/q"]["node"])
        self.assertIn("1 no license", where["default/q"]["message"])
        self.assertNotIn("bind", [call["verb"] for call in calls()])

    def test_it_fails(self):
        """Nodes were fine: not that none can take the pod, but that the attempt failed is what is said."""
        config = self.config(9, "filterVerb: filter")
        objects = [cli.node("a"), cli.node("b", unschedulable=True), self.pod("p")]
        by, words = "extender http://127.0.0.1:9/x", "connection refused"
        report = self.run_with(config, objects).json
        for row in report["placements"] + report["pending"]:
            self.assertEqual(row["failedBy"], by)
            self.assertIn(words, row["message"])
        path = self.write("c.json", objects)
        table = self.berth("simulate", "-f", path, "--config", config).out
        self.assertIn("1 pod: default/p\n    error of %s: Post" % by, table)
        found = self.berth("explain", "-f", path, "--config", config, "-o", "json", "p").json
        self.assertEqual((found["failedBy"], found["best"]), (by, []))
        self.assertIn(words, found["message"])
        self.assertEqual([row["feasible"] for row in found["nodes"]], [None, False])
        self.assertEqual([row["plugin"] for row in found["rejections"]], ["NodeUnschedulable"])
        text = self.berth("explain", "-f", path, "--config", config, "p").out
        self.assertIn("The attempt ends in an error of %s:\n  Post" % by, text)
        self.assertIn("\n1 of 2 nodes had not been rejected.", text)
        self.assertNotIn("No node", text)

    def test_it_fails_in_every_answer(self):
        config = self.config(9, "filterVerb: filter")
        given = ("-f", self.write("c.json", [cli.node("a"), self.pod("p")]), "--config", config)
        by, error = "extender http://127.0.0.1:9/x", "error of extender http://127.0.0.1:9/x: Post"
        self.assertIn("default,p,Pod,,pending,,\"" + error, self.berth("simulate", *given, "-o", "csv").out)
        self.assertIn("default/p  " + error, self.berth("explain", *given).out)
        self.assertEqual(self.berth("explain", *given, "-o", "json").json["pods"][0]["failedBy"], by)
        capacity = self.berth("capacity", *given, "pod/p").out
        self.assertIn("0 more copies fit at least (an error ended it)\n", capacity)
        self.assertIn("What stops the next one:\n    " + error, capacity)
        self.assertNotIn("ONE MORE NODE", capacity)
        template = self.berth("capacity", *given, "-o", "json", "pod/p").json["templates"][0]
        self.assertEqual((template["stop"]["failedBy"], template["oneMore"]), (by, []))
        review = self.berth("capacity", *given, "-o", "cluster-capacity-json", "pod/p").json
        self.assertIn(error, review["status"]["failReason"]["failMessage"])

    def test_it_may_be_skipped(self):
        port, _ = self.extender()
        config = self.config(port, "filterVerb: filter")
        result = self.run_with(config, [cli.node("a"), self.pod("p", refuse="a")], "--no-extenders")
        self.assertEqual(result.json["placements"][0]["node"], "a")
        self.assertIn("extenders are not asked here", result.err)

    def test_it_is_unreachable(self):
        config = self.config(1, "filterVerb: filter, httpTimeout: 2s")
        result = self.run_with(config, [cli.node("a"), cli.pod("p"), cli.pod("q")])
        self.assertEqual(result.code, 0, result.err)
        for row in result.json["pending"]:
            self.assertTrue(row["message"].startswith('Post "http://127.0.0.1:1/x/filter": '), row)
        config = self.config(1, "filterVerb: filter, ignorable: true")
        result = self.run_with(config, [cli.node("a"), cli.pod("p")])
        self.assertEqual(result.json["placements"][0]["node"], "a")


if __name__ == "__main__":
    cli.main()
