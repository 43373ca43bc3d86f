"""The command line itself: help that teaches, and mistakes that end in one sentence."""
import re
import shutil
import subprocess
import unittest

import cli


class Help(cli.Case):
    def test_overview(self):
        for args in (["help"], ["--help"], ["-h"]):
            result = self.berth(*args)
            self.assertEqual(result.code, 0)
            for word in ("explain", "simulate", "usage: berth COMMAND"):
                self.assertIn(word, result.out)

    def test_no_command(self):
        result = self.berth()
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertIn("usage: berth COMMAND", result.err)

    def test_page_of_a_command(self):
        for name in ("explain", "simulate", "help", "version"):
            page = self.berth("help", name)
            self.assertEqual(page.code, 0)
            self.assertIn("usage: berth " + name, page.out)
            self.assertIn("options:", page.out)
            self.assertEqual(self.berth(name, "--help").out, page.out)
        self.assertIn("examples:", self.berth("help", "explain").out)

    def test_every_option_has_a_line(self):
        page = self.berth("help", "simulate").out
        for option in ("--filename", "--config", "--output", "--seed", "--trace", "--no-timing", "--group-by",
                       "--percentage-of-nodes-to-score", "--top", "--help"):
            self.assertIn(option, page)

    def test_pages_fit_a_narrow_terminal(self):
        for name in ("explain", "simulate"):
            for line in self.berth("help", name).out.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_version(self):
        for args in (["version"], ["--version"]):
            result = self.berth(*args)
            self.assertEqual(result.code, 0)
            self.assertRegex(result.out, r"^berth \d+\.\d+\.\d+ .*v1\.36")


class Mistakes(cli.Case):
    def test_unknown_command(self):
        self.refuse(self.berth("simulat"), "unknown command", "did you mean simulate?")
        self.refuse(self.berth("help", "frobnicate"), "unknown command")

    def test_unknown_option(self):
        self.refuse(self.berth("simulate", "--sed", "1", "-f", "x"), "did you mean --seed?", "berth simulate --help")
        self.refuse(self.berth("explain", "-Z"), "unknown option -Z")

    def test_missing_argument(self):
        self.refuse(self.berth("simulate", "-f"), "-f needs an argument")
        self.refuse(self.berth("simulate", "--seed"), "--seed needs an argument")

    def test_argument_of_a_flag(self):
        self.refuse(self.berth("simulate", "--no-timing=yes"), "takes no argument")

    def test_bad_values(self):
        self.refuse(self.berth("simulate", "-o", "xml", "-f", "x"), "table|json", "xml")
        self.refuse(self.berth("simulate", "--seed", "many", "-f", "x"), "--seed", "many")
        self.refuse(self.berth("simulate", "--percentage-of-nodes-to-score", "101", "-f", "x"), "from 0 to 100")

    def test_missing_input(self):
        self.refuse(self.berth("simulate"), "-f FILE")
        self.refuse(self.berth("explain", "a/b"), "-f FILE")

    def test_words(self):
        self.refuse(self.berth("explain", "-f", "x"), "one pod")
        self.refuse(self.berth("explain", "-f", "x", "a/b", "c/d"), "one pod")
        self.refuse(self.berth("simulate", "-f", "x", "extra"), "extra")

    def test_options_after_words(self):
        path = self.write("c.json", [cli.node("n"), cli.pod("p")])
        self.assertEqual(self.berth("explain", "p", "-f", path, "-o", "json").json["best"], ["n"])

    def test_full_device(self):
        path = self.write("c.json", [cli.node("n"), cli.pod("p")])
        import os
        import subprocess
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([cli.BERTH, "simulate", "-f", path], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)

    def test_the_beginning_of_a_name_is_enough_for_a_hint(self):
        self.refuse(self.berth("expl"), "did you mean explain?")
        self.refuse(self.berth("help", "snap"), "did you mean snapshot?")
        self.refuse(self.berth("s"), "unknown command \"s\"")

    def test_times_of_replay(self):
        for text in "yesterday", "10:30", "2026-11-15 1", "2026-11-15Tx", "2026-13-15":
            self.refuse(self.berth("replay", "--until", text, "none"), "--until", text, "2026-11-15 10:30")
        for text in "2026-11-15T10:30:00Z", "2026-11-15 10:30", "2026-11-15 10:30:01.5", "2026-11-15", \
                "2026-11-15T10:30+02:00":
            self.refuse(self.berth("replay", "--until", text, "none"), "can not read none")

    def test_where_no_scheduler_runs(self):
        for command in (["queue"], ["explain", "p"]):
            result = self.berth(*command, "--server", "127.0.0.1:1")
            self.assertEqual((result.code, result.out), (1, ""))
            self.assertRegex(result.err, r"^berth: https://127\.0\.0\.1:1: .*; is a berth scheduler running there\?")


class Completion(cli.Case):
    def complete(self, *words):
        """What bash would offer for the last of the words."""
        script = self.berth("completion", "bash")
        self.assertEqual(script.code, 0, script.err)
        asked = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", asked, self.write("berth.bash", script.out), "berth", *words],
                              capture_output=True, check=True)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().split()

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash(self):
        self.assertEqual(self.complete("ex"), ["explain"])
        self.assertEqual(self.complete("help", "sim"), ["simulate"])
        self.assertEqual(self.complete("explain", "--kube"), ["--kubeconfig"])
        self.assertEqual(self.complete("queue", "-o", ""), ["table", "wide", "json"])
        self.assertEqual(self.complete("scheduler", "--leader-elect-ret"), ["--leader-elect-retry-period"])
        self.assertEqual(self.complete("simulate", "-f", "clu"), [])

    def test_every_command_is_there(self):
        names = re.findall(r"^  (\w+) +\w", self.berth("help").out.split("\n\n")[2], re.M)
        self.assertIn("snapshot", names)
        for shell in "bash", "zsh", "fish":
            script = self.berth("completion", shell).out
            for name in names:
                self.assertIn(name, script)

    def test_other_shells(self):
        self.refuse(self.berth("completion"), "bash, zsh, fish")
        self.refuse(self.berth("completion", "csh"), "bash, zsh, fish")


if __name__ == "__main__":
    cli.main()
