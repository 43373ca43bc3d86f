"""Shared objects with plugins, built with only a compiler and the public header, and loaded into berth."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
sys.dont_write_bytecode = True
from cli import BERTH, Case, by_node, full_name, main, node, pod, reference  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples", "plugins")
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = os.environ.get("CXX", "c++")
INCLUDE = os.environ.get("BERTH_INCLUDE", os.path.join(ROOT, "include"))
BUILT = tempfile.TemporaryDirectory()


def build(source, name=None, defines=(), compiler=tuple(CC)):
    """The path of the shared object of a source file, built once."""
    name = name or os.path.splitext(os.path.basename(source))[0]
    target = os.path.join(BUILT.name, name + ".so")
    if not os.path.exists(target):
        subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-I" + INCLUDE, *("-D" + d for d in defines), "-o",
                        target, source], check=True)
    return target


def example(name):
    return build(os.path.join(EXAMPLES, name + ".c"))


def enable(name, weight=100, args=""):
    return ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
            "- plugins: {multiPoint: {enabled: [{name: %s, weight: %d}]}}\n"
            "  pluginConfig: [{name: %s, args: {%s}}]\n" % (name, weight, name, args))


class Plugins(Case):
    def run_with(self, plugin, config, objects):
        path = config if os.path.exists(config) else self.write("config.yaml", config)
        return self.simulate(objects, "--config", path, "--plugin", plugin)

    def reasons(self, report):
        return {full_name(row["pod"]): row["message"] for row in report["placements"] if not row["node"]}


class Custom(Plugins):
    """A file that users have, with plugins of their own."""
    CONFIG = os.path.join(ROOT, "tests", "cli", "user-files", "custom-plugins.yaml")
    WARNING = "the plugin InterPodAffinity is enabled at score, but not at preScore, without which it fails"

    def objects(self):
        gpu = node("gpu", labels={"custom": "good"})
        gpu["status"]["allocatable"]["nvidia.com/gpu"] = "1"
        return [node("closed", labels={"custom": "closed"}), node("good", labels={"custom": "good"}), gpu,
                pod("p", schedulerName="custom-scheduler")]

    def run_command(self, command, objects, config, *more):
        return self.berth(command, "-f", self.write("cluster.json", objects), "--config", config, "--plugin",
                          build(os.path.join(HERE, "custom.c")), "-o", "json", *more)

    def test_as_it_is(self):
        """InterPodAffinity is disabled at preScore only: berth warns, and its Score fails where nodes are compared."""
        result = self.run_command("simulate", self.objects(), self.CONFIG)
        self.assertIn(self.WARNING, result.err)
        self.assertEqual(self.placed(result.json), {})
        self.assertIn("InterPodAffinity", self.reasons(result.json)["default/p"])
        alone = self.run_command("simulate", self.objects()[1:2] + self.objects()[3:], self.CONFIG)
        self.assertEqual(self.placed(alone.json), {"default/p": "good"})
        closed = by_node(self.run_command("explain", self.objects(), self.CONFIG, "p").json)["closed"]
        self.assertEqual((closed["plugin"], closed["reasons"]), ("CustomFilterPlugin", ["node(s) were closed"]))

    def test_as_the_warning_says(self):
        with open(self.CONFIG, encoding="utf-8") as file:
            text = file.read().replace("    score:\n", "    score:\n      disabled: [{name: InterPodAffinity}]\n")
        config = self.write("config.yaml", text)
        result = self.run_command("simulate", self.objects(), config)
        self.assertNotIn("InterPodAffinity", result.err)
        self.assertEqual(self.placed(result.json), {"default/p": "gpu"})
        nodes = by_node(self.run_command("explain", self.objects(), config, "p").json)
        self.assertEqual({name: row["scores"]["CustomScorePlugin"] for name, row in nodes.items() if row["feasible"]},
                         {"good": 10, "gpu": 20})


class PoolOrder(Plugins):
    CONFIG = os.path.join(EXAMPLES, "pool_order.yaml")

    def nodes(self):
        return [node("none")] + [node(name, labels={"pool": name}) for name in ("spot", "reserved", "on-demand", "other")]

    def test_pools_in_their_order(self):
        report = self.explain(self.nodes() + [pod("a")], "default/a", "--config", self.CONFIG, "--plugin",
                              example("pool_order"))
        scores = {name: row["scores"]["PoolOrder"] for name, row in by_node(report).items()}
        self.assertEqual(scores, {"reserved": 2000, "on-demand": 1320, "spot": 660, "other": 0, "none": 0})
        self.assertEqual(report["best"], ["reserved"])

    def test_arguments_are_checked(self):
        config = self.write("c.yaml", enable("PoolOrder"))
        self.refuse(self.berth("simulate", "-f", self.write("o.json", [node("a")]), "--config", config, "--plugin",
                               example("pool_order")), 'initializing plugin "PoolOrder": pools: expected the names of pools')


class Gang(Plugins):
    CONFIG = os.path.join(EXAMPLES, "gang.yaml")

    def gang(self, count, size):
        return [pod("g%d" % i, cpu="1", labels={"gang/name": "g", "gang/size": str(size)}) for i in range(count)]

    def test_all_of_them(self):
        objects = [node("a", cpu="2"), node("b", cpu="2")] + self.gang(4, 4)
        placed = self.placed(self.run_with(example("gang"), self.CONFIG, objects))
        self.assertEqual(len(placed), 4, placed)

    def test_or_none(self):
        """Four of five pods fit, and a pod that is not in the gang."""
        objects = [node("a", cpu="2"), node("b", cpu="2")] + self.gang(5, 5) + [pod("lonely", cpu="100m")]
        report = self.run_with(example("gang"), self.CONFIG, objects)
        last = {full_name(row["pod"]): row for row in report["placements"]}
        self.assertEqual({name for name, row in last.items() if row["node"]}, {"default/lonely"})
        messages = [row["message"] for name, row in last.items() if name != "default/lonely"]
        self.assertTrue(any("rejected due to timeout after waiting 30s at plugin Gang" in text for text in messages), messages)

    def test_an_incomplete_gang_uses_no_resources(self):
        report = self.run_with(example("gang"), self.CONFIG, [node("a", cpu="2")] + self.gang(2, 3) + [pod("big", cpu="2")])
        self.assertEqual(self.placed(report), {"default/big": "a"})
        self.assertIn("gang has 2 of 3 pods", self.reasons(report)["default/g0"])

    def test_a_pod_without_a_size_is_in_no_gang(self):
        objects = [node("a")] + [pod("p%d" % i, labels={"gang/name": "g", "gang/size": text})
                                 for i, text in enumerate(("", "-", "x", "1x", "99999999999999999999"))]
        self.assertEqual(len(self.placed(self.run_with(example("gang"), self.CONFIG, objects))), 5)

    def test_arguments_are_checked(self):
        config = self.write("c.yaml", enable("Gang", args="timeout: -1s"))
        self.refuse(self.berth("simulate", "-f", self.write("o.json", [node("a")]), "--config", config, "--plugin",
                               example("gang")), 'initializing plugin "Gang": timeout: it must be more than nothing')


class Newcomer(Plugins):
    """The code blocks of docs/PLUGINS.md are built and run."""

    @staticmethod
    def shown(after):
        """The indented block that follows a text."""
        with open(os.path.join(ROOT, "docs", "PLUGINS.md"), encoding="utf-8") as file:
            lines = file.read().split(after, 1)[1].split("\n")[1:]
        block = []
        for line in lines:
            if line.strip() and not line.startswith("    "):
                break
            block.append(line[4:])
        return "\n".join(block).strip() + "\n"

    def build(self, name, after):
        """With the command of the page, in a folder that looks like a clone."""
        self.write(name + ".c", self.shown(after))
        if not os.path.exists(self.path("include")):
            os.symlink(INCLUDE, self.path("include"))
        command = self.shown("**3. Build it.**").replace("quiet", name).split()
        self.assertEqual(command[0], "cc")
        subprocess.run([*CC, "-Wall", "-Wextra", "-Werror", *command[1:]], cwd=self.path(""), check=True)

    def test_the_score_of_the_page(self):
        self.build("ranked", "label `rank`")
        objects = [node("low", labels={"rank": "2"}), node("high", labels={"rank": "4"}), node("none"), pod("a")]
        config = self.write("ranked.yaml", self.shown("(`quiet.yaml`):").replace("name: Quiet", "{name: Ranked, weight: 5}"))
        result = self.berth("explain", "-f", self.write("objects.json", objects), "--config", config, "-o", "json",
                            "--plugin", self.path("ranked.so"), "a")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual({name: row["scores"]["Ranked"] for name, row in by_node(result.json).items()},
                         {"low": 250, "high": 500, "none": 0})

    def test_the_plugin_of_the_page(self):
        self.build("quiet", "`quiet.c`")
        config = self.write("quiet.yaml", self.shown("(`quiet.yaml`):"))
        objects = [node("loud"), node("still", labels={"quiet": "yes"}), pod("a"), pod("b")]
        report = self.run_with(self.path("quiet.so"), config, objects)
        self.assertEqual(set(self.placed(report).values()), {"loud"})
        report = self.run_with(self.path("quiet.so"), config, objects[1:])
        self.assertIn("1 node(s) wanted to be quiet", self.reasons(report)["default/a"])


class OtherLanguages(Plugins):
    def test_cpp(self):
        plugin = build(os.path.join(HERE, "maintenance.cpp"), compiler=(CXX, "-std=c++20"))
        objects = [node("old"), node("old-new"), node("shut", labels={"maintenance": "yes"}), pod("a"), pod("b")]
        report = self.run_with(plugin, enable("Maintenance", args="bonus: 100"), objects)
        self.assertEqual(set(self.placed(report).values()), {"old-new"})
        report = self.run_with(plugin, enable("Maintenance"), objects[2:])
        self.assertIn("1 node(s) were under maintenance", self.reasons(report)["default/a"])
        config = self.write("c.yaml", enable("Maintenance", args="bonus: 101"))
        self.refuse(self.berth("simulate", "-f", self.write("o.json", objects), "--config", config, "--plugin", plugin),
                    'initializing plugin "Maintenance": bonus is not between 0 and 100')

    # The thread sanitizer does not know the threads of Go's runtime.
    @unittest.skipUnless(shutil.which("go") and "tsan" not in os.environ.get("BERTH", ""), "needs Go")
    def test_go(self):
        target = os.path.join(BUILT.name, "golang.so")
        source = os.path.join(BUILT.name, "golang")
        shutil.copytree(os.path.join(HERE, "golang"), source)
        env = {**os.environ, "CGO_ENABLED": "1", "CGO_CFLAGS": "-O1 -I" + INCLUDE, "GOFLAGS": "-mod=mod",
               "GOTOOLCHAIN": "local", "GOCACHE": os.path.join(BUILT.name, "gocache")}
        subprocess.run(["go", "build", "-buildmode=c-shared", "-o", target, "."], cwd=source, env=env, check=True)
        objects = [node("west-1"), node("west"), node("east"), pod("a", labels={"prefix": "west"}), pod("b"),
                   pod("c", labels={"prefix": "north"})]
        report = self.run_with(target, enable("Golang"), objects)
        self.assertEqual(self.placed(report)["default/a"], "west")
        self.assertIn(self.placed(report)["default/b"], ("west", "east"))
        self.assertIn("3 node(s) had another prefix than north", self.reasons(report)["default/c"])


    @unittest.skipUnless(shutil.which("rustc"), "needs rustc")
    def test_rust(self):
        target = os.path.join(BUILT.name, "rust.so")
        subprocess.run(["rustc", "-O", "--edition", "2021", "--crate-type", "cdylib", "-o", target,
                        os.path.join(HERE, "rust", "plugin.rs")], check=True)
        objects = [node("a-west"), node("longer-west"), node("the-far-east"), pod("a", labels={"suffix": "west"}),
                   pod("b"), pod("c", labels={"suffix": "north"})]
        report = self.run_with(target, enable("Rust"), objects)
        self.assertEqual(self.placed(report), {"default/a": "longer-west", "default/b": "the-far-east"})
        self.assertIn("3 node(s) did not end in north", self.reasons(report)["default/c"])


class Permission(Plugins):
    """Offline, time is simulated: a Permit without an answer times out at once."""

    def test_it_times_out(self):
        config = enable("Everything").replace("- plugins: {", "- plugins: {queueSort: {disabled: [{name: PrioritySort}]}, ")
        plugin = build(os.path.join(HERE, "everything.c"), compiler=(*CC, "-pthread"))
        objects = [node("a"), pod("p", labels={"test/permit": "timeout"}), pod("q")]
        report = self.run_with(plugin, config, objects)
        self.assertEqual(self.placed(report), {"default/q": "a"})
        self.assertIn("rejected due to timeout after waiting 200ms at plugin Everything",
                      self.reasons(report)["default/p"])


class Mistakes(Plugins):
    """A plugin's mistake is an error of the pod, or has no effect."""
    PLUGIN = os.path.join(HERE, "mistakes.c")
    MESSAGES = {
        "pre-filter-strange": 'running PreFilter plugin "Mistakes": 42 is no verdict',
        "pre-filter-wait": 'running PreFilter plugin "Mistakes": Wait is no answer here',
        "pre-filter-silent": 'running PreFilter plugin "Mistakes": failed, and does not say why',
        "narrow": "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Mistakes].",
        "filter-strange": 'running "Mistakes" filter plugin: 42 is no verdict',
        "filter-skip": 'running "Mistakes" filter plugin: Skip is no answer here',
        "filter-silent": "0/2 nodes are available: 2 refused by plugin Mistakes, which does not say why.",
        "post-filter-row": "nominates a node that is not there",
        "post-filter-self": "names the pod itself as a victim",
        "post-filter-fits": "the pod does not fit",
        "post-filter-failed": "out of order",
        "post-filter-victims": "names victims that are not there",
        "post-filter-elsewhere": "names a victim that is not on the nominated node",
        "post-filter-nowhere": "names victims and nominates no node",
        "pre-score-wait": 'running PreScore plugin "Mistakes": Wait is no answer here',
        "score-high": 'plugin "Mistakes" returns an invalid score 101, it should in the range of [0, 100]',
        "score-low": 'plugin "Mistakes" returns an invalid score -1, it should in the range of [0, 100]',
        "score-strange": 'running Score plugins: plugin "Mistakes" failed with: 42 is no verdict',
        "reserve-wait": 'running Reserve plugin "Mistakes": Wait is no answer here',
        "permit-skip": 'running Permit plugin "Mistakes": Skip is no answer here',
        "permit-backwards": "rejected due to timeout after waiting 1ms at plugin Mistakes",
        "permit-at-once": "rejected due to timeout after waiting 1ms at plugin Mistakes",
        "pre-bind-wait": 'running PreBind plugin "Mistakes": Wait is no answer here',
        "pre-bind-silent": 'running PreBind plugin "Mistakes": failed, and does not say why',
        "pre-bind-refuses": "0/1 nodes are available: 1 refused by plugin Mistakes, which does not say why.",
    }
    HARMLESS = ("nothing", "pre-bind-looks", "pre-flight-skip", "none")
    CONFIG = ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
              "- plugins: {multiPoint: {enabled: [{name: %s}]}, postFilter: {disabled: [{name: '*'}], enabled: [%s]}}\n")

    def test_messages(self):
        config = self.write("c.yaml", self.CONFIG % ("Mistakes", "{name: Mistakes}"))
        for mistake in (*self.MESSAGES, *self.HARMLESS):
            with self.subTest(mistake=mistake):
                objects = [node("a"), node("b"), *self.possible_victims(mistake), pod("p", labels={"mistake": mistake}), pod("q")]
                report = self.run_with(build(self.PLUGIN), config, objects)
                last = {full_name(row["pod"]): row for row in report["placements"]}
                self.assertTrue(last["default/q"]["node"], last)
                if mistake in self.MESSAGES:
                    self.assertIn(self.MESSAGES[mistake], last["default/p"]["message"])
                else:
                    self.assertTrue(last["default/p"]["node"], last)
                if mistake.startswith("post-filter") and mistake in self.MESSAGES:
                    self.assertIsNone(last["default/p"]["nominated"])
                    self.assertFalse([row for row in report["placements"] if row["victims"]])

    def test_an_error_names_the_plugin(self):
        config, plugin = self.write("c.yaml", self.CONFIG % ("Mistakes", "")), build(self.PLUGIN)
        for mistake in ("pre-filter-strange", "filter-strange", "score-strange", "score-high", "reserve-wait"):
            with self.subTest(mistake=mistake):
                objects = [node("a"), node("b"), pod("p", labels={"mistake": mistake})]
                row = self.run_with(plugin, config, objects)["pending"][0]
                self.assertEqual(row["failedBy"], "plugin Mistakes")
                if mistake != "reserve-wait":  # explain ends before
                    out = self.berth("explain", "-f", self.write("o.json", objects), "--config", config, "--plugin", plugin,
                                     "default/p").out
                    self.assertIn("The attempt ends in an error of plugin Mistakes:\n", out)
                    self.assertNotIn("No node", out)

    @staticmethod
    def possible_victims(mistake):
        """Pods that PostFilter may choose as victims."""
        if not mistake.startswith("post-filter"):
            return []
        return [pod("on-a", on="a"), pod("on-b", on="b")]

    def test_a_victim_that_is_named_twice_leaves_once(self):
        config = self.write("c.yaml", self.CONFIG % ("Mistakes", "{name: Mistakes}"))
        objects = [node("a"), pod("on-a", on="a"), pod("p", labels={"mistake": "post-filter-twice"})]
        rows = self.run_with(build(self.PLUGIN), config, objects)["placements"]
        self.assertEqual([row["victims"] for row in rows if row["victims"]], [[reference("default/on-a")]])

    def test_a_gate_that_fails_without_a_message(self):
        objects = self.write("o.json", [node("a"), pod("p", labels={"mistake": "pre-enqueue-silent"})])
        config = self.write("c.yaml", self.CONFIG % ("Mistakes", ""))
        result = self.berth("explain", "-f", objects, "--config", config, "--plugin", build(self.PLUGIN), "default/p")
        self.assertIn("failed, and does not say why", result.out)

    def end_of(self, plugin, name, mistake):
        objects = self.write("o.json", [node("a"), pod("p", labels={"mistake": mistake})])
        config = self.write("c.yaml", self.CONFIG % (name, ""))
        environment = {**os.environ, "ASAN_OPTIONS": "handle_segv=0:handle_abort=0:handle_sigill=0:allow_user_segv_handler=1:"
                       "use_sigaltstack=0:detect_leaks=0", "TSAN_OPTIONS": "handle_segv=0:handle_abort=0"}
        return subprocess.run([BERTH, "simulate", "-f", objects, "--config", config, "--plugin", plugin],
                              capture_output=True, text=True, env=environment, check=False)

    def test_a_crash_names_the_plugin(self):
        plugin = build(self.PLUGIN)
        for mistake, number, words in (("crash", 11, "Segmentation fault"), ("crash-below", 11, "Segmentation fault"),
                                       ("abort", 6, "Aborted"), ("overflow", 11, "Segmentation fault")):
            with self.subTest(mistake=mistake):
                result = self.end_of(plugin, "Mistakes", mistake)
                self.assertEqual(result.returncode, -number, result.stderr)
                self.assertEqual(result.stderr, 'berth: plugin "Mistakes" of %s crashed: %s\n' % (plugin, words))

    def test_an_uncaught_exception(self):
        plugin = build(os.path.join(HERE, "thrower.cpp"), compiler=(CXX, "-std=c++20"))
        result = self.end_of(plugin, "Thrower", "none")
        self.assertEqual(result.returncode, -6, result.stderr)
        self.assertIn("out of patience", result.stderr)
        self.assertIn('berth: plugin "Thrower" of %s crashed: Aborted\n' % plugin, result.stderr)


class Loading(Plugins):
    def bad(self, *defines):
        return build(os.path.join(HERE, "bad.c"), "_".join(("bad",) + defines), defines)

    def attempt(self, *args, config=None):
        objects = self.write("o.json", [node("a"), pod("p")])
        config = self.write("c.yaml", config or enable("Bad"))
        return self.berth("simulate", "-f", objects, "--config", config, "--no-timing", "-o", "json", *args)

    def broken(self):
        """Modules that cannot be loaded, and the errors."""
        good = self.bad()
        with open(good, "rb") as file:
            half = self.path("half.so")
            with open(half, "wb") as out:
                out.write(file.read()[:700])
        for name in ("folder.so", "empty"):
            os.mkdir(self.path(name))
        return [(["--plugin", path], *words) for path, *words in (
            ("nowhere.so", "nowhere.so: cannot be read: No such file or directory"),
            (self.write("text.so", "not a shared object"), "text.so: cannot be loaded: ", "too short"),
            (self.write("long.so", "not a shared object\n" * 100), "long.so: cannot be loaded: invalid ELF header"),
            (self.write("nothing.so", ""), "nothing.so: cannot be loaded: ", "too short"),
            (half, "half.so: "),
            (self.path("folder.so"), "folder.so: cannot be loaded: ", "Is a directory"),
            (self.bad("NO_MODULE"), "has no symbol berth_module: no BERTH_PLUGINS() in it"),
            (self.bad("UNDEFINED"), "cannot be loaded: undefined symbol: undefined_function"),
            (self.bad("OLD_ABI"), "built for version 99 of the plugin ABI; this berth has version 1"),
            (self.bad("NEWER"), "built against a newer berth/plugin.h than this berth has"),
            (self.bad("NO_PLUGIN"), "holds no plugin"),
            (self.bad("NAMELESS"), "holds a plugin without a name"),
            (self.bad("NO_SLOT"), 'plugin "Bad" takes part in no extension point'),
            (self.bad("TWICE"), 'bad_TWICE.so: there is a plugin "Bad" already, from ', "bad_TWICE.so"),
            (self.bad("BUILT_IN"), 'there is a plugin "NodeName" already, built in'),
            (self.bad("CRASH_LOAD"), "bad_CRASH_LOAD.so: crashed while it was loaded (Aborted)"),
            (self.bad("CRASH_INIT"), 'bad_CRASH_INIT.so: plugin "Bad" crashed in init() (Segmentation fault)'),
            (self.bad("EXIT_INIT"), 'plugin "Bad" crashed in init(): it ended the process with status 3'),
        )] + [
            (["--plugin", good, "--plugin", shutil.copy(good, self.path("copy.so"))],
             'copy.so: there is a plugin "Bad" already, from ' + good),
            (["--plugin-dir", self.path("none")], "none: cannot be read: No such file or directory"),
            (["--plugin-dir", self.path("empty")], "empty: holds no .so file"),
            (["--plugin-dir", self.path("text.so")], "text.so: cannot be read: Not a directory"),
        ]

    def test_load_errors(self):
        config = self.write("enable.yaml", enable("Bad"))
        for flags, *words in self.broken():
            for command, result in (("simulate", self.attempt(*flags)),
                                    ("scheduler", self.berth("scheduler", "--config", config, *flags))):
                with self.subTest(command=command, flags=flags):
                    self.refuse(result, *words)
                    self.assertEqual(result.err.count("\n"), 1, result.err)

    def test_unreadable_files(self):
        if os.geteuid() == 0:
            self.skipTest("nothing is forbidden to root")
        shut = shutil.copy(self.bad(), self.path("shut.so"))
        os.chmod(shut, 0)
        self.refuse(self.attempt("--plugin", shut), "shut.so: cannot be read: Permission denied")

    def test_modules_that_hang(self):
        """In parallel: each takes as long as the load timeout."""
        objects, config = self.write("o.json", [node("a"), pod("p")]), self.write("c.yaml", enable("Bad"))
        started = [(place, subprocess.Popen(
            [BERTH, *command, "--config", config, "--plugin", self.bad(define)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            for command in (("simulate", "-f", objects), ("scheduler",))
            for define, place in (("LOOP_LOAD", ".so: hung while it was loaded"), ("LOOP_INIT", 'plugin "Bad" hung in init()'))]
        for place, process in started:
            out, err = process.communicate(timeout=100)
            self.assertEqual((process.returncode, out, err.count("\n")), (2, "", 1), err)
            self.assertIn(place + ": it did not come back within 20 seconds", err)

    def test_init_fails(self):
        self.refuse(self.attempt("--plugin", self.bad("FAIL_INIT")), 'initializing plugin "Bad": there is no coffee')
        self.refuse(self.attempt("--plugin", self.bad("SHY_INIT")),
                    'initializing plugin "Bad": failed, and does not say why')

    def test_every_command_with_a_configuration_takes_them(self):
        objects, config = self.write("o.json", [node("a"), pod("p")]), self.write("c.yaml", enable("Bad"))
        os.mkdir(self.path("plugins"))
        shutil.copy(self.bad(), self.path("plugins/bad.so"))
        for command in (("simulate", "-f", objects), ("explain", "-f", objects, "default/p")):
            for flags in (("--plugin", self.bad()), ("--plugin-dir", self.path("plugins"))):
                result = self.berth(*command, "--config", config, *flags)
                self.assertEqual((result.code, result.err), (0, ""))
                self.assertNotRegex(result.out, r"(?m) +$")  # the column FROM is empty for built-in plugins

    def test_a_configuration_from_standard_input(self):
        result = self.berth("simulate", "-f", self.write("o.json", [node("a"), pod("p")]), "--config", "-", "--plugin",
                            self.bad(), stdin=enable("Bad"))
        self.assertEqual(result.code, 0, result.err)

    def test_a_folder(self):
        os.mkdir(self.path("plugins"))
        shutil.copy(self.bad(), self.path("plugins/bad.so"))
        shutil.copy(example("pool_order"), self.path("plugins/order.so"))
        self.write("plugins/README", "not a plugin")
        result = self.attempt("--plugin-dir", self.path("plugins"))
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.err, 'berth: warning: plugin "PoolOrder" of %s is loaded, but no profile enables it\n'
                         % self.path("plugins/order.so"))

    def test_a_plugin_that_is_not_loaded_is_unknown(self):
        self.refuse(self.attempt(), '"Bad" does not exist')

    def test_the_scheduler_takes_the_same_flags(self):
        out = self.path("written.yaml")
        result = self.berth("scheduler", "--config", self.write("c.yaml", enable("Bad")), "--plugin", self.bad(),
                            "--write-config-to", out)
        self.assertEqual(result.code, 0, result.err)
        with open(out, encoding="utf-8") as file:
            self.assertIn("Bad", file.read())


class UserFile(Plugins):
    """A configuration that a user has, as it is: it names two plugins of the user's own."""
    SOURCE = """#include <berth/plugin.h>
static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return BERTH_OK;
}
static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    (void)cycle, (void)node;
    *ret = 0;
    return BERTH_OK;
}
static const struct berth_plugin filters = { .name = "CustomFilterPlugin", .filter = filter };
static const struct berth_plugin scores = { .name = "CustomScorePlugin", .score = score };
BERTH_PLUGINS(&filters, &scores)
"""

    def test_it_does_what_its_warning_says(self):
        """InterPodAffinity is disabled at preScore alone: its Score fails, which runs where several nodes fit."""
        plugin = build(self.write("custom_plugins.c", self.SOURCE))
        config = os.path.join(ROOT, "tests", "cli", "user-files", "custom-plugins.yaml")
        for nodes, message in ((["a"], None), (["a", "b"], 'plugin "InterPodAffinity" failed with: failed to read '
                                               '"PreScoreInterPodAffinity" from cycleState: not found')):
            cluster = self.write("cluster.json", [*map(node, nodes), pod("p", schedulerName="custom-scheduler")])
            result = self.berth("simulate", "-f", cluster, "--config", config, "--plugin", plugin, "-o", "json", "--no-timing")
            self.assertEqual(result.code, 0, result.err)
            self.assertEqual(result.err.count("warning: "), 2)
            self.assertIn("the plugin InterPodAffinity is enabled at score, but not at preScore, without which it fails: a pod "
                          "that fits on several nodes is not scheduled", result.err)
            if message:
                self.assertIn(message, self.reasons(result.json)["default/p"])
            else:
                self.assertEqual(self.placed(result.json), {"default/p": "a"})


main()
