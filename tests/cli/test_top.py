"""`berth top` and `berth queue --watch`: drawn in place on a terminal of any size, and printed once elsewhere."""
import re
import signal

import cli
import running_cluster
import terminal

COLOUR = re.compile("\x1b\\[[0-9;]*m")


class Watching(cli.Case):
    def setUp(self):
        super().setUp()
        self.cluster = running_cluster.Served(self, "--nodes", "3")

    def watch(self, command, *args, **more):
        return terminal.Terminal(self, command, *self.cluster.flags, *args, **more)

    def assert_fits(self, term, rows, width):
        for frame in term.frames()[:-1]:
            self.assertLessEqual(len(frame), rows)
            for line in frame:
                self.assertLessEqual(terminal.columns(line), width, line)


class Top(Watching):
    def test_it_shows_what_changes_until_it_is_interrupted(self):
        term = self.watch("top", "--interval", "1")
        term.until_shown("node-2")
        self.assertIn("of 48 cores", term.screen())
        self.cluster.add_pod("web", cpu="8")
        term.until_shown("50.0%")
        self.cluster.add_pod("huge", cpu="99")
        term.until_shown("1 unschedulable")
        self.assertRegex(term.text, COLOUR)
        self.assert_fits(term, 24, 80)
        term.type("\x03")
        self.assertEqual(term.end(), 0)

    def test_small_terminals(self):
        for rows, width in ((6, 24), (2, 10), (1, 1)):
            term = self.watch("top", "--interval", "1", rows=rows, width=width)
            term.until(lambda t=term: len(t.frames()) > 1, "it was drawn twice")
            self.assert_fits(term, rows, width)
            term.type("q")
            self.assertEqual(term.end(), 0)

    def test_another_size(self):
        term = self.watch("top", "--interval", "30", rows=8, width=40)
        term.until(lambda: term.frames(), "it was drawn")
        self.assertNotIn("node-2", "\n".join(term.frames()[-1]))
        term.resize(40, 120)
        term.until(lambda: "node-2" in "\n".join(term.frames()[-1]), "the other nodes are shown")
        term.process.send_signal(signal.SIGTERM)
        self.assertEqual(term.end(), 0)

    def test_without_colours(self):
        term = self.watch("top", env={"NO_COLOR": "1"})
        term.until(lambda: "node-2" in term.text, "it was drawn")
        self.assertNotRegex(term.text, COLOUR)
        term.type("q")
        self.assertEqual(term.end(), 0)

    def test_no_terminal(self):
        self.cluster.add_pod("web", cpu="8")
        self.cluster.until_running("web")
        node = self.cluster.pod("web")["spec"]["nodeName"]
        result = self.berth("top", *self.cluster.flags, "--top", "1")
        self.assertEqual(result.code, 0, result.err)
        self.assertNotIn("\x1b", result.out)
        self.assertRegex(result.out, r"(?m)^pods .* of 330$")
        self.assertRegex(result.out, r"(?m)^%s +\S+ +50\.0%% +\S+ +0\.0%% +1 *$" % node)
        self.assertIn("... and 2 more nodes", result.out)
        by_name = self.berth("top", *self.cluster.flags, "--sort", "name").out
        self.assertEqual(re.findall(r"(?m)^node-\d", by_name), ["node-0", "node-1", "node-2"])
        once = self.watch("top", "--once")
        self.assertEqual(once.end(), 0)
        self.assertNotIn(terminal.ENTER, once.text)

    def test_cordoned_nodes(self):
        self.cluster.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": True}})
        self.cluster.until(lambda: "cordoned" in self.berth("top", *self.cluster.flags).out)

    def test_there_is_no_scheduler(self):
        term = terminal.Terminal(self, "top", "--server", "https://127.0.0.1:1", "--kubeconfig", self.cluster.kubeconfig)
        self.assertEqual(term.end(), 1)
        self.assertIn("is a berth scheduler running there?", term.text)
        self.assertNotIn(terminal.ENTER, term.text)


class Queue(Watching):
    def test_it_shows_what_changes(self):
        term = self.watch("queue", "--watch", "--interval", "1", width=120)
        term.until_shown("No pod waits.")
        self.cluster.add_pod("huge", cpu="99")
        term.until_shown("default/huge")
        self.assertIn("NodeResourcesFit", term.screen())
        term.type("\x03")
        self.assertEqual(term.end(), 0)

    def test_the_scheduler_goes(self):
        self.cluster.add_pod("huge", cpu="99")
        term = self.watch("queue", "-w", "--interval", "1", width=160)
        term.until_shown("default/huge")
        self.cluster.stop()
        term.until_shown("connect to")
        self.assertIn("default/huge", term.screen())
        drawn = len(term.frames())
        term.resize(1, 30)
        term.until(lambda: len(term.frames()) > drawn + 2, "it is drawn on one line")
        self.assertEqual([len(line) for line in term.frames()[-2]], [30])
        term.type("q")
        self.assertEqual(term.end(), 0)

    def test_not_as_json(self):
        self.refuse(self.berth("queue", "--watch", "-o", "json"), "--watch and -o json exclude each other")


if __name__ == "__main__":
    cli.main()
