"""The command line itself: help that teaches, and mistakes that end in one sentence."""
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


if __name__ == "__main__":
    cli.main()
