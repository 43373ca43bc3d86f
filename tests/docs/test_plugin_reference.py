#!/usr/bin/env python3
"""docs/PLUGIN-REFERENCE.md lists the functions of the plugin header, and no others."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Reference(unittest.TestCase):
    def test_functions(self):
        header = re.sub(r"/\*.*?\*/", "", read("include", "berth", "plugin.h"), flags=re.S).replace("\\\n", "\n")
        table = header.split("#define BERTH_FUNCTIONS(F, V)")[1].split("struct berth_host {")[0]
        functions = set(re.findall(r"\bF\([^,]+?,\s*(\w+),", table) + re.findall(r"\bV\(\s*(\w+),", table))
        functions |= set(re.findall(r"^(?:static inline|__attribute__.*?inline)[^(]*?\bberth_(\w+)\(", header, re.M))
        functions |= {"reject", "fail", "log", "log_error"}
        functions = {name for name in functions if not name.endswith("_")}
        listed = set(re.findall(r"`berth_(\w+)\(", read("docs", "PLUGIN-REFERENCE.md")))
        self.assertGreater(len(functions), 60)
        self.assertEqual(sorted(functions - listed), [])
        self.assertEqual(sorted(listed - functions), [])


if __name__ == "__main__":
    unittest.main()
