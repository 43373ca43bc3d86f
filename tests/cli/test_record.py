"""`berth simulate --record`: a recording that `berth replay` repeats, and the sample in examples/."""
import os

import cli

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Record(cli.Case):
    def record(self, objects, *args, seed="1"):
        folder = self.path("recording-%d" % len(os.listdir(self.folder.name)))
        result = self.berth("simulate", "-f", self.write("c.json", objects), "-o", "json", "--seed", seed, "--record", folder, *args)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("`berth replay %s` repeats them" % folder, result.err)
        return folder, result.json

    def replay(self, folder, *args):
        result = self.berth("replay", "-o", "json", *args, folder)
        self.assertEqual(result.code, 0, result.err)
        return result.json

    def lines(self, folder):
        result = self.berth("replay", "--decisions", folder)
        return [line.split(" ", 1)[1] for line in result.out.splitlines() if " goes to " in line or " waits: " in line]

    def test_it_is_repeated_exactly(self):
        objects = [*[cli.node("n%d" % i, cpu="4") for i in range(4)], cli.workload("Deployment", "web", replicas=9, cpu="1"), cli.pod("whale", cpu="99")]
        folder, report = self.record(objects)
        again = self.replay(folder)
        self.assertTrue(again["exact"])
        self.assertEqual(again["placements"], report["summary"]["scheduled"])
        self.assertGreaterEqual(again["decisions"], 10)

    def test_pods_go_where_the_simulation_puts_them(self):
        objects = [cli.node("a", cpu="4"), cli.node("b", cpu="2"), cli.pod("p", cpu="3"), cli.pod("q", cpu="2"), cli.pod("r", cpu="2")]
        folder, report = self.record(objects)
        lines = self.lines(folder)
        for pod, node in self.placed(report).items():
            self.assertTrue(any(line.startswith("%s goes to %s " % (pod, node)) for line in lines), lines)
        self.assertTrue(any(line.startswith("default/r waits: ") for line in lines), lines)

    def test_preemption_and_what_controllers_make(self):
        objects = [cli.node("a", cpu="1"), cli.workload("ReplicaSet", "low", replicas=1, cpu="1"),
                   cli.pod("low-1", on="a", cpu="1", priority=0, owner=("ReplicaSet", "low"), labels={"app": "low"}), cli.pod("high", cpu="1", priority=9)]
        folder, _ = self.record(objects)
        lines = self.lines(folder)
        self.assertTrue(any("default/high goes to a" in line for line in lines), lines)
        self.assertTrue(any(line.startswith("default/low-") and " waits: " in line for line in lines), lines)
        self.assertTrue(self.replay(folder)["exact"])

    def test_changes_are_in_it(self):
        objects = [cli.node("a"), cli.node("b"), cli.workload("ReplicaSet", "web", replicas=1),
                   cli.pod("web-1", on="a", owner=("ReplicaSet", "web"), labels={"app": "web"})]
        folder, _ = self.record(objects, "--drain", "a")
        (line,) = self.lines(folder)
        self.assertRegex(line, "^default/web-.* goes to b ")

    def test_another_configuration(self):
        objects = [cli.node("a"), cli.node("b"), cli.pod("p", cpu="1"), cli.pod("q", cpu="1")]
        folder, _ = self.record(objects)
        config = self.write("other.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
        self.assertEqual(self.replay(folder, "--config", config)["summary"]["sameNode"], 2)

    def test_errors(self):
        path = self.write("c.json", [cli.node("a")])
        taken = self.write("file", "x")
        result = self.berth("simulate", "-f", path, "--record", taken)
        self.assertEqual(result.code, 1)
        self.assertIn("--record: cannot open the folder", result.err)
        self.refuse(self.berth("simulate", "-f", path, "--record", "x", "--compare", "y"), "exclude each other")


class Sample(cli.Case):
    def test_the_sample_recording(self):
        """Its decisions are those of today's program: otherwise it has to be recorded again (docs/REPLAY.md)."""
        result = self.berth("replay", "-o", "json", os.path.join(ROOT, "examples", "recording"))
        self.assertEqual(result.code, 0, result.err)
        self.assertTrue(result.json["exact"])
        self.assertEqual((result.json["decisions"], result.json["placements"]), (38, 32))


if __name__ == "__main__":
    cli.main()
