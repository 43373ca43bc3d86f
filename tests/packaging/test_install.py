"""`meson install`, as `make install` calls it: what is where, and that it can be used from there."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import cli  # noqa: E402

BUILD = os.environ.get("BUILD", "build")


def needs(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    return unittest.skipIf(missing, "there is no %s here" % " and no ".join(missing))


class Tree(cli.Case):
    """One installation for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.tree = cli.tempfile.TemporaryDirectory()
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.tree.name, "--tags",
                        "runtime,devel,man,doc"], check=True, stdout=subprocess.DEVNULL)
        program, = glob.glob(cls.tree.name + "/**/bin/berth", recursive=True)
        cls.prefix = os.path.dirname(os.path.dirname(program))

    @classmethod
    def tearDownClass(cls):
        cls.tree.cleanup()

    def at(self, *names):
        return os.path.join(self.prefix, *names)

    def read(self, *names):
        with open(self.at(*names), encoding="utf-8") as file:
            return file.read()

    def run_ok(self, *args, **kwargs):
        done = subprocess.run(args, capture_output=True, check=False, text=True, **kwargs)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def commands(self):
        names = re.findall(r"^  (\w+) +\w", self.berth("help").out.split("\n\n")[2], re.M)
        return names + re.findall(r"^  (cluster \w+)  +\w", self.berth("help", "cluster").out, re.M)


class Installed(Tree):
    def test_what_is_where(self):
        for name in ("bin/berth", "include/berth/plugin.h", "share/pkgconfig/berth.pc", "share/man/man1/berth.1",
                     "share/bash-completion/completions/berth", "share/zsh/site-functions/_berth",
                     "share/fish/vendor_completions.d/berth.fish", "share/doc/berth/README.md",
                     "share/doc/berth/CHANGELOG.md", "share/doc/berth/docs/CLI.md",
                     "share/doc/berth/examples/systemd/berth.service", "share/doc/berth/examples/plugins/gang.c",
                     "share/doc/berth/examples/strategies/NodeMetadata.yaml"):
            self.assertTrue(os.path.isfile(self.at(name)), name)
        self.assertEqual(self.run_ok(self.at("bin/berth"), "version"), self.berth("version").out)
        self.assertEqual(os.readlink(self.at("bin/kubectl-berth")), "berth")
        self.assertIn("usage: kubectl berth ui", self.run_ok(self.at("bin/kubectl-berth"), "help", "ui"))

    def test_strategies(self):
        folder, = glob.glob(self.at("lib*/**/berth/strategies"), recursive=True)
        names = sorted(os.listdir(folder))
        for alias, name in (("GpuPriority.so", "GPUPriorityPlugin.so"), ("CostOptimization.so", "CostOptimizationPlugin.so"),
                            ("BusinessAffinity.so", "BusinessAffinityPlugin.so")):
            self.assertEqual(os.readlink(os.path.join(folder, alias)), name)
            names.remove(alias)
        examples = self.at("share/doc/berth/examples")
        for name in names:
            config = os.path.join(examples, "strategies", name.replace(".so", ".yaml"))
            done = self.berth("simulate", "-f", os.path.join(examples, "cluster.yaml"), "--config", config, "--plugin",
                              os.path.join(folder, name))
            self.assertEqual(done.code, 0, done.err)

    def test_completions_are_those_of_the_command(self):
        for shell, path in (("bash", "bash-completion/completions/berth"), ("zsh", "zsh/site-functions/_berth"),
                            ("fish", "fish/vendor_completions.d/berth.fish")):
            self.assertEqual(self.read("share", path), self.berth("completion", shell).out)

    @needs("zsh")
    def test_zsh_completes(self):
        def complete(line, expected):
            shown = self.run_ok("zsh", "-f", os.path.join(ROOT, "tests", "packaging", "complete.zsh"),
                                self.at("share/zsh/site-functions"), line, expected)
            self.assertIn(expected, shown)

        complete("berth expl", "berth explain")
        complete("berth queue --output=j", "--output=json")
        complete("berth scheduler --leader-elect-ret", "--leader-elect-retry-period")
        complete("berth help snap", "berth help snapshot")
        complete("berth cluster rec", "berth cluster recover")
        complete("berth cluster slow --sta", "--start")

    @needs("fish")
    def test_fish_completes(self):
        def complete(line):
            script = "source %s; complete -C '%s'" % (self.at("share/fish/vendor_completions.d/berth.fish"), line)
            shown = self.run_ok("fish", "--no-config", "-c", script)
            return [row.split("\t")[0] for row in shown.splitlines()]

        self.assertEqual(complete("berth expl"), ["explain"])
        self.assertEqual(sorted(complete("berth queue -o ")), ["json", "table", "wide"])
        self.assertEqual(complete("berth scheduler --leader-elect-ret"), ["--leader-elect-retry-period"])
        self.assertEqual(complete("berth completion z"), ["zsh"])
        self.assertEqual(complete("berth cluster rec"), ["recover"])
        self.assertEqual(complete("berth cluster slow --sta"), ["--start"])

    @needs("pkg-config", "cc")
    def test_a_plugin_is_built_with_pkg_config(self):
        env = {**os.environ, "PKG_CONFIG_PATH": self.at("share/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": self.tree.name}
        flags = subprocess.run(["pkg-config", "--cflags", "berth"], env=env, capture_output=True, check=True, text=True)
        example = self.at("share/doc/berth/examples/plugins")
        self.run_ok("cc", "-shared", "-fPIC", *flags.stdout.split(), example + "/gang.c", "-o", self.path("gang.so"))
        if not cli.sanitized():
            self.run_ok(self.at("bin/berth"), "simulate", "-f", self.at("share/doc/berth/examples/cluster.yaml"), "--plugin",
                        self.path("gang.so"), "--config", example + "/gang.yaml")

    def test_unit_names_what_is_installed(self):
        unit = self.read("share/doc/berth/examples/systemd/berth.service")
        self.assertNotIn("@BINDIR@", unit)
        program, *flags = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", unit, re.M)[1].replace("\\\n", " ").split()
        self.assertTrue(os.access(self.tree.name + program, os.X_OK), program)
        kubeconfig = self.write("scheduler.conf", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}]}))
        config = self.read("share/doc/berth/examples/systemd/scheduler.yaml")
        moved = {"/etc/berth/scheduler.yaml": self.path("scheduler.yaml"),
                 "/run/credentials/berth.service/scheduler.conf": kubeconfig}
        for path, own in moved.items():
            flags = [flag.replace(path, own) for flag in flags]
            config = config.replace(path, own)
        self.write("scheduler.yaml", config)
        done = self.berth(*flags, "--write-config-to", self.path("written"))
        self.assertEqual(done.code, 0, done.err)

    @needs("systemd-analyze")
    def test_unit_is_understood(self):
        unit = self.write("berth.service", self.read("share/doc/berth/examples/systemd/berth.service").replace(
            "ExecStart=", "ExecStart=" + self.tree.name))
        self.assertEqual(self.run_ok("systemd-analyze", "verify", "--man=no", unit), "")


class ManualPages(Tree):
    def pages(self):
        return sorted(glob.glob(self.at("share/man/man1/*.1")))

    def test_one_for_each_command(self):
        names = [os.path.basename(page) for page in self.pages()]
        wanted = ["berth.1", "kubectl-berth.1"] + ["berth-%s.1" % name.replace(" ", "-") for name in self.commands()]
        self.assertEqual(names, sorted(wanted))

    def test_every_option_is_described(self):
        for name in self.commands():
            page = self.read("share/man/man1/berth-%s.1" % name.replace(" ", "-")).replace("\\-", "-").replace("\\:", "")
            options = re.findall(r"^ +(?:-\w, )?--([\w-]+)", self.berth(*name.split(), "--help").out, re.M)
            self.assertTrue(options, name)
            for option in options:
                self.assertIn("\\fB--%s\\fR" % option, page)

    @needs("mandoc")
    def test_mandoc_has_no_complaint(self):
        done = subprocess.run(["mandoc", "-T", "lint", *self.pages()], capture_output=True, check=False, text=True)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    @needs("man", "groff")
    def test_groff_has_no_complaint(self):
        for page in self.pages():
            done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, check=False,
                                  env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
            self.assertEqual((page, done.stderr), (page, b""))
            self.assertIn(b"SYNOPSIS", done.stdout)

    def test_a_folder_that_cannot_be_written(self):
        done = self.berth("help", "--man-pages", self.path("missing"))
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertIn("berth.1 cannot be written: No such file or directory", done.err)
        self.refuse(self.berth("help", "--man-pages", self.folder.name, "explain"), "pages of all commands")


if __name__ == "__main__":
    cli.main()
