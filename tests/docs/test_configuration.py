#!/usr/bin/env python3
"""docs/CONFIGURATION.md has every field of the configuration file, with the default that berth writes."""
import glob
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BERTH = os.environ.get("BERTH", os.path.join(ROOT, "build", "berth"))
# Where the tables of the file and of the arguments are.
SOURCES = ["src/config/source.c", "src/config/points.h", "src/preempt/default_preemption.c", "src/plugins/utilization_shape.c",
           "src/plugins/**/*args.c"]
ROW = re.compile(r'\b(?:F|F_PTR|F_LIST|F_STRUCT)\("(\w+)"')
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def page():
    with open(os.path.join(ROOT, "docs", "CONFIGURATION.md"), encoding="utf-8") as file:
        return file.read()


def fields():
    """Every field that a table decodes."""
    found = set()
    for pattern in SOURCES:
        paths = glob.glob(os.path.join(ROOT, pattern), recursive=True)
        assert paths, pattern
        for path in paths:
            with open(path, encoding="utf-8") as file:
                found.update(ROW.findall(file.read()))
    return found


def written():
    """The lines of the complete default configuration."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, out = os.path.join(folder, "kubeconfig"), os.path.join(folder, "out.yaml")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write(KUBECONFIG)
        subprocess.run([BERTH, "scheduler", "--kubeconfig", kubeconfig, "--write-config-to", out], check=True,
                       stderr=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            return file.read()


class Configuration(unittest.TestCase):
    def setUp(self):
        self.page = page()
        self.rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", self.page, re.M))

    def test_every_field_is_there(self):
        missing = [name for name in fields() if not re.search(r"`[^`]*\b%s\b[^`]*`" % name, self.page)]
        self.assertGreater(len(fields()), 50)
        self.assertEqual(missing, [])

    def test_defaults_are_those_that_berth_writes(self):
        values = dict(re.findall(r"^ *(?:- )?(\w+): (\S+)$", written(), re.M))
        compared = [name for name in self.rows if name in values and name not in ("resources", "shape", "kubeconfig")]
        self.assertGreater(len(compared), 25)
        self.assertEqual({name: self.rows[name].strip('"') for name in compared},
                         {name: values[name].strip('"') for name in compared})

    def test_default_plugins(self):
        enabled = re.search(r"multiPoint:\n +enabled:\n((?: +- name: \w+\n +weight: \d+\n)+)", written()).group(1)
        expected = [(name, "" if weight == "0" else weight)
                    for name, weight in re.findall(r"name: (\w+)\n +weight: (\d+)", enabled)]
        section = self.page.split("### The default plugins")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"^\| `(\w+)` \| (\d*) ?\|", section, re.M), expected)


if __name__ == "__main__":
    unittest.main()
