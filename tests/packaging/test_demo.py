"""`make demo`: the development cluster with the objects of examples/, and that nothing is left of it."""
import glob
import os
import re
import signal
import subprocess
import sys
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DEMO = os.path.join(ROOT, "examples", "demo")
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import cli  # noqa: E402


class Demo(cli.Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "TMPDIR": self.folder.name, "COLUMNS": "100"}

    def nothing_left(self):
        self.assertEqual(glob.glob(self.path("*")), [])

    def test_once(self):
        done = subprocess.run([DEMO, "--once", cli.BERTH], capture_output=True, check=False, env=self.env, text=True,
                              timeout=200)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        placed, waiting = re.search(r"^(\d+) pods have a node, (\d+) wait with a reason\.$", done.stdout, re.M).groups()
        self.assertGreaterEqual(int(placed), 20)
        self.assertGreaterEqual(int(waiting), 3)
        for line in (r"shop/frontend-\S+ +→ (general|memory)-", r"ml/inference-\S+ +→ gpu-", r"batch/whale +waits: 0/12 nodes",
                     r"ml/urgent-training +(preempts on|→) gpu-", r"^No node can take it:"):
            self.assertRegex(done.stdout, re.compile(line, re.M))
        self.nothing_left()

    def test_it_ends_with_an_interrupt(self):
        with subprocess.Popen([DEMO, cli.BERTH], stdout=subprocess.PIPE, env=self.env, text=True) as process:
            for line in process.stdout:
                if line.startswith("Placements are shown here"):
                    break
            process.send_signal(signal.SIGINT)
            self.assertIn("nothing is left of it", process.stdout.read())
            self.assertEqual(process.wait(), 0)
        self.nothing_left()

    def test_a_program_that_cannot_start(self):
        done = subprocess.run([DEMO, "--once", "/bin/false"], capture_output=True, check=False, env=self.env, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("demo: the cluster did not start", done.stderr)
        self.nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
