#!/usr/bin/env python3
"""The checks of tools/ find violations: each case is a small tree with one violation, or none."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
PLAN = "".join("| %s/ | a layer |\n" % layer for layer in
               "base codec net api config cluster framework plugins preempt queue engine sim cmd".split())
HEADER = "/* What it is for. */\n#ifndef %s\n#define %s\n%s\n#endif\n"


def header(guard, body=""):
    return HEADER % (guard, guard, body)


def run(tool, files):
    """Exit code and output of a tool over a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"docs/ARCHITECTURE.md": PLAN, **files}.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(TOOLS, tool), root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Layers(unittest.TestCase):
    GOOD = {
        "src/base/a.h": header("BASE_A_H"),
        "src/codec/read.c": '#include <fcntl.h>\n#include "base/a.h"\n',
        "src/engine/cycle.h": header("ENGINE_CYCLE_H"),
        "src/plugins/ports.c": '#include "base/a.h"\nstatic int bind(int x) { return x; }\n/* time(NULL) */\n',
        "src/plugins/spread/spread.h": header("PLUGINS_SPREAD_SPREAD_H"),
        "src/plugins/spread/score.c": '#include "plugins/spread/spread.h"\n',
        "src/plugins/spread/plugin.c": '#include "plugins/shared.h"\nconst struct plugin plugin_spread = {\n};\n',
        "src/plugins/shared.h": header("PLUGINS_SHARED_H"),
        "src/sim/host.c": '#include <time.h>\n#include "engine/cycle.h"\nlong now(void) { return time(NULL); }\n',
    }

    def breach(self, path, text, message):
        code, output = run("check-layers", {**self.GOOD, path: text})
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)

    def test_good_tree_passes_and_is_drawn(self):
        code, output = run("check-layers", self.GOOD)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"sim/ +1 files +\d+ lines +uses: engine 1")

    def test_upward_include(self):
        self.breach("src/queue/q.c", '#include "base/a.h"\n#include "engine/cycle.h"\n',
                    "src/queue/q.c:2: queue/ uses engine/, which is above it")

    def test_upward_include_in_a_table(self):
        self.breach("src/base/list.def", '# include "engine/cycle.h"\n', "base/ uses engine/")

    def test_plugin_includes_plugin(self):
        self.breach("src/plugins/fit.c", '#include "plugins/spread/spread.h"\n', "a plugin includes another")

    def test_core_reaches_out(self):
        self.breach("src/engine/x.c", "#include <sys/socket.h>\n", "engine/ reaches sockets")
        self.breach("src/cluster/x.c", "#include <pthread.h>\n", "cluster/ reaches threads")
        self.breach("src/config/x.c", 'void *f(void) { return fopen("a", "r"); }\n', "config/ reaches files")
        self.breach("src/queue/x.c", "long f(void) { return time(0); }\n", "queue/ reaches the clock")
        self.breach("src/codec/x.c", "#include <curl/curl.h>\n", "codec/ reaches sockets")

    def test_core_uses_net(self):
        self.breach("src/engine/x.c", '#include "http/http.h"\n', '"http/http.h" is not a file')
        code, output = run("check-layers", {**self.GOOD, "src/http/http.h": "", "src/engine/x.c": '#include "http/http.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("engine/ belongs to the core and reaches the network", output)

    def test_unknown_folder(self):
        self.breach("src/misc/x.c", "\n", "not in a layer")

    def test_relative_include(self):
        self.breach("src/base/b.c", '#include "a.h"\n', '"a.h" is not a file under src/')

    def test_nothing_to_check_fails(self):
        code, _ = run("check-layers", {})
        self.assertEqual(code, 1)


class Dead(unittest.TestCase):
    def test_unused_functions_are_named(self):
        code, output = run("check-dead", {
            "src/base/a.h": header("BASE_A_H", "int used(void);\nint dead(void); /* dead() */\n"
                                   "static inline int inlined(void)\n{\n    return 1;\n}\n"
                                   "typedef int callback(int x);\n"),
            "src/base/a.c": 'int used(void)\n{\n    return 1;\n}\nint dead(void)\n{\n    return f("dead()");\n}\n',
            "src/base/b.c": "int x = used();\n",
            "tests/t.c": "int y = dead() + inlined();\n"})
        self.assertEqual(code, 1, output)
        self.assertIn("src/base/a.h:5: nothing in src/ uses dead()", output)
        self.assertIn("uses inlined()", output)
        self.assertNotIn("used()", output)
        self.assertNotIn("callback", output)


class Tidy(unittest.TestCase):
    def breach(self, path, text, message):
        code, output = run("tidy", {path: text})
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)

    def test_good_file(self):
        text = '/* a.c: calls strcpy() in a comment only. */\nint f(void)\n{\n    return g("atoi(1)");\n}\n'
        code, output = run("tidy", {"src/base/a.c": text, "src/base/a.h": header("BASE_A_H")})
        self.assertEqual(code, 0, output)

    def test_breaches(self):
        opening = "/* a.c */\n"
        long_function = "int f(void)\n{\n" + "    g();\n" * 79 + "}\n"
        self.breach("src/base/a.c", opening + "    strcpy(a, b);\n", "src/base/a.c:2: strcpy() is banned")
        self.breach("src/base/a.c", opening + "    struct str a = { yyjson_get_str(b), 1 };\n", "src/base/a.c:2: a text of a value")
        self.breach("src/base/a.c", opening + "x\n" * 800, "801 lines, at most 799")
        self.breach("src/base/a.c", opening + long_function, "src/base/a.c:3: a function of 81 lines")
        self.breach("src/base/a.c", opening + "\tint a;\n", "a tab")
        self.breach("src/base/a.c", opening + "int a; \n", "blanks at the end")
        self.breach("src/base/a.c", opening + "int a; /* TO" "DO */\n", "unfinished")
        self.breach("src/base/a.c", opening + "x" * 121 + "\n", "121 columns")
        self.breach("src/base/a.c", "int a;\n", "does not open with a comment")
        self.breach("src/base/a.h", header("WRONG_H"), "no include guard named BASE_A_H")


class Reports(unittest.TestCase):
    """Results are summed up, and skipped tests are named, also those that a test program skips itself."""

    def report(self, *files, arguments=()):
        with tempfile.TemporaryDirectory() as root:
            paths = [os.path.join(root, "results-%d.json" % i) for i in range(len(files))]
            for path, rows in zip(paths, files):
                if rows is not None:
                    with open(path, "w", encoding="utf-8") as file:
                        file.writelines(json.dumps(row) + "\n" for row in rows)
            done = subprocess.run([sys.executable, os.path.join(TOOLS, "test-report"), *arguments, *paths],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout

    def test_counts_over_files_and_checks(self):
        code, output = self.report([{"name": "a", "result": "OK"}], [{"name": "b", "result": "pass"}],
                                   arguments=["--checks", "2", "0"])
        self.assertEqual((code, output), (0, "4 passed, 0 failed, 0 skipped\n"))

    def test_failures_are_named(self):
        for result in ("FAIL", "TIMEOUT", "ERROR", "fail"):
            code, output = self.report([{"name": "a", "result": "OK"}, {"name": "b", "result": result}])
            self.assertEqual(code, 1)
            self.assertIn("failed: b", output)
            self.assertTrue(output.endswith("1 passed, 1 failed, 0 skipped\n"), output)

    def test_a_step_without_results_failed(self):
        code, output = self.report([{"name": "a", "result": "OK"}], None)
        self.assertEqual(code, 1)
        self.assertIn("1 passed, 1 failed", output)

    def test_nothing_ran(self):
        self.assertEqual(self.report([])[0], 1)

    def test_a_skipped_program(self):
        code, output = self.report([{"name": "a", "result": "OK"},
                                    {"name": "e2e", "result": "skip", "reason": "no Go"}])
        self.assertEqual(code, 0)
        self.assertIn("Not run on this machine (1):\n  e2e: no Go\n1 passed, 0 failed, 1 skipped\n", output)

    def test_cmocka(self):
        output_text = "[ RUN      ] one\nskipped: no IPv6\n[  SKIPPED ] one\n[  SKIPPED ] 1 test(s), listed below:\n" \
               "[  SKIPPED ] one\n"
        code, output = self.report([{"name": "net", "result": "OK", "stdout": output_text}])
        self.assertEqual(code, 0)
        self.assertIn("  net: one: no IPv6\n1 passed, 0 failed, 1 skipped\n", output)

    def test_python(self):
        output_text = "test_a (__main__.A.test_a) ... ok\ntest_b (__main__.A.test_b)\nA doc string. ... skipped 'no bash'\n"
        code, output = self.report([{"name": "cli", "result": "OK", "stderr": output_text}])
        self.assertIn("  cli: test_b: no bash\n1 passed, 0 failed, 1 skipped\n", output)
        self.assertEqual(code, 0)


class GoResults(unittest.TestCase):
    def run_over(self, *events):
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, "results.json")
            done = subprocess.run([sys.executable, os.path.join(TOOLS, "go-results"), path], capture_output=True,
                                  text=True, input="".join(json.dumps(event) + "\n" for event in events))
            with open(path, encoding="utf-8") as file:
                return done.returncode, done.stdout, [json.loads(line) for line in file]

    def test_results_and_reasons(self):
        code, output, rows = self.run_over(
            {"Action": "output", "Test": "TestA", "Output": "noise\n"},
            {"Action": "pass", "Test": "TestA", "Elapsed": 1.5},
            {"Action": "output", "Test": "TestB", "Output": "    life_test.go:42: needs kwok\n"},
            {"Action": "skip", "Test": "TestB", "Elapsed": 0},
            {"Action": "pass"})
        self.assertEqual(code, 0)
        self.assertEqual(output, "pass TestA (1.5 s)\nskip TestB (0.0 s): needs kwok\n")
        self.assertEqual([(row["name"], row["result"], row["reason"]) for row in rows],
                         [("e2e: TestA", "pass", ""), ("e2e: TestB", "skip", "needs kwok")])

    def test_a_failure_shows_its_output(self):
        code, output, rows = self.run_over({"Action": "output", "Test": "TestA", "Output": "it broke\n"},
                                           {"Action": "fail", "Test": "TestA"}, {"Action": "fail"})
        self.assertEqual(code, 1)
        self.assertIn("it broke\n", output)
        self.assertEqual(rows[0]["result"], "fail")

    def test_nothing_ran(self):
        self.assertEqual(self.run_over({"Action": "pass"})[0], 1)


class Registered(unittest.TestCase):
    def test_files_of_tests_are_in_their_lists(self):
        for folder in ("cli", "live"):
            folder = os.path.join(TOOLS, "..", "tests", folder)
            with open(os.path.join(folder, "meson.build"), encoding="utf-8") as file:
                named = set(re.findall(r"'(?:test_)?(\w+)(?:\.py)?'", file.read()))
            found = {name[len("test_"):-len(".py")] for name in os.listdir(folder) if re.fullmatch(r"test_\w+\.py", name)}
            self.assertEqual(found - named, set(), folder)


unittest.main()
