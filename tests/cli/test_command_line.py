"""The command line: help pages, and mistakes that end in one error line."""
import contextlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import unittest

import cli

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


@contextlib.contextmanager
def scheduler_that_responds(code, answer):
    """A server that sends this response to every request, and its address."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield "http://127.0.0.1:%d" % server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


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
        for name in ("explain", "simulate", "help", "version", "cluster", "cluster fail", "cluster slow"):
            page = self.berth("help", *name.split())
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
        overview = self.berth("help").out
        names = re.findall(r"^  (\w+) +\w", overview.split("\n\n")[2], re.M)
        self.assertIn("replay", names)
        pages = [overview] + [self.berth("help", name).out for name in names if name != "scheduler"]
        for line in "\n".join(pages).splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_pages_are_as_wide_as_the_terminal(self):
        for columns, widest in (60, 60), (90, 90), (200, 100):
            page = self.berth("help", "explain", env={"COLUMNS": str(columns)}).out
            texts = page[:page.index("examples:")].split("\n\n", 2)[2].splitlines()
            self.assertLessEqual(max(map(len, texts)), widest)
            self.assertGreater(max(map(len, texts)), widest - 10)
        self.assertEqual(re.sub(r"\s+", " ", page), re.sub(r"\s+", " ", self.berth("help", "explain").out))

    def test_version(self):
        for args in (["version"], ["--version"]):
            result = self.berth(*args)
            self.assertEqual(result.code, 0)
            self.assertRegex(result.out, r"^berth \d+\.\d+\.\d+ .*v1\.37")


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
        self.refuse(self.berth("explain", "-f", "x", "a/b", "c/d"), "one pod")
        for command in (["simulate", "-f", "x"], ["version"], ["help", "explain"]):
            self.refuse(self.berth(*command, "extra"), command[0] + " does not know", "\"extra\"", "--help`")

    def test_flags_for_a_scheduler_that_is_left_out(self):
        self.refuse(self.berth("cluster", "--no-scheduler", "--", "--v=2"), "with --no-scheduler there is no scheduler for")

    def test_options_after_words(self):
        path = self.write("c.json", [cli.node("n"), cli.pod("p")])
        self.assertEqual(self.berth("explain", "p", "-f", path, "-o", "json").json["best"], ["n"])

    def test_full_device(self):
        path = self.write("c.json", [cli.node("n"), cli.pod("p")])
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for args in (["simulate", "-f", path], ["snapshot", "-f", path], ["completion", "bash"], ["help"], ["version"],
                     ["explain", "--help"], ["scheduler", "--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([cli.BERTH, *args], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual((args, done.returncode, done.stderr),
                             (args, 1, b"berth: standard output cannot be written: No space left on device\n"))

    def test_a_prefix_of_a_name_gets_a_hint(self):
        self.refuse(self.berth("expl"), "did you mean explain?")
        self.refuse(self.berth("help", "snap"), "did you mean snapshot?")
        self.refuse(self.berth("s"), "unknown command \"s\"")

    def test_times_of_replay(self):
        for text in "yesterday", "10:30", "2026-11-15 1", "2026-11-15Tx", "2026-13-15":
            self.refuse(self.berth("replay", "--until", text, "none"), "--until", text, "2026-11-15 10:30")
        for text in "2026-11-15T10:30:00Z", "2026-11-15 10:30", "2026-11-15 10:30:01.5", "2026-11-15", \
                "2026-11-15T10:30+02:00":
            self.refuse(self.berth("replay", "--until", text, "none"), "cannot read none")

    def test_requests_that_a_scheduler_rejects(self):
        """A client that is not authenticated or not authorized gets a hint."""
        answers = {"system:anonymous": ["--kubeconfig FILE", "--authentication-kubeconfig", "--authorization-kubeconfig"],
                   "jane": ["a ClusterRole with nonResourceURLs", "/debug/berth/*", "--authorization-kubeconfig"]}
        for user, words in answers.items():
            with scheduler_that_responds(403, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                                           "message": 'forbidden: User "%s" cannot get path "/x"' % user}) as url:
                for command in (["queue"], ["explain", "p"]):
                    result = self.berth(*command, "--server", url)
                    self.assertEqual((result.code, result.out, result.err.count("\n")), (1, "", 1))
                    for word in ["berth: " + url + ": the answer is 403", user, *words]:
                        self.assertIn(word, result.err)

    def test_where_no_scheduler_runs(self):
        for command in (["queue"], ["explain", "p"]):
            result = self.berth(*command, "--server", "127.0.0.1:1")
            self.assertEqual((result.code, result.out), (1, ""))
            self.assertRegex(result.err, r"^berth: https://127\.0\.0\.1:1: .*; is a berth scheduler running there\?")


class Documents(cli.Case):
    def test_feature_gates_that_cannot_be_changed_are_named(self):
        """docs/OPERATING.md names the gates that differ from kube-scheduler's, and no others."""
        with open(os.path.join(ROOT, "src", "config", "features.def"), encoding="utf-8") as file:
            fixed = re.findall(r"^FEATURE\((\w+), FIXED,\s+STAGE\((\d+), (true|false), \w+, false\)", file.read(), re.M)
        with open(os.path.join(ROOT, "docs", "OPERATING.md"), encoding="utf-8") as file:
            section = " ".join(file.read().split()).split("- **Feature gates.**")[1].split("All other gates")[0]
        off, _, on = section.partition("These cannot be turned off:")
        for text, default in (off, "false"), (on, "true"):
            self.assertEqual(re.findall(r"`(\w+)`", text), sorted(name for name, _, value in fixed if value == default))
        for name, minor, value in fixed:
            other = "false" if value == "true" else "true"
            result = self.berth("scheduler", "--emulated-version=1." + minor, "--feature-gates=%s=%s" % (name, other))
            self.refuse(result, "cannot set feature gate %s to %s: berth does not support that" % (name, other))


    def manifest(self, *name):
        with open(os.path.join(ROOT, "deploy", *name), encoding="utf-8") as file:
            return file.read()

    def config_of(self, *flags):
        """The configuration in effect with these flags."""
        result = self.berth("scheduler", *flags, "--write-config-to", self.path("in-effect.yaml"))
        self.assertEqual(result.code, 0, result.err)
        with open(self.path("in-effect.yaml"), encoding="utf-8") as file:
            return file.read()

    def test_plugin_of_a_gate(self):
        gate = "--feature-gates=InPlacePodVerticalScalingSchedulerPreemption=true"
        client = "--master=https://127.0.0.1:1"
        self.assertIn("- name: DeferredPodScheduling\n        weight: 0\n      - name: NodeResourcesFit",
                      self.config_of(client, gate, "--emulated-version=1.37"))
        self.assertNotIn("Deferred", self.config_of(client, "--emulated-version=1.37"))
        self.refuse(self.berth("scheduler", gate, "--emulated-version=1.36"), "unrecognized feature gate")
        config = self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                            "profiles: [{plugins: {permit: {enabled: [{name: DeferredPodScheduling}]}}}]\n")
        flags = ["scheduler", client, "--config", config, "--write-config-to", self.path("written")]
        self.assertEqual(self.berth(*flags, "--emulated-version=1.37").code, 0)
        self.refuse(self.berth(*flags, "--emulated-version=1.36"), 'PermitPlugin "DeferredPodScheduling" does not exist')

    def test_static_pod(self):
        kubeconfig = self.write("scheduler.conf", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        flags = re.findall(r"^    - (--\S+)$", self.manifest("static-pod", "kube-scheduler.yaml"), re.M)
        self.assertEqual(len(flags), 5)
        config = self.config_of(*[flag.replace("/etc/kubernetes/scheduler.conf", kubeconfig) for flag in flags])
        self.assertIn("leaderElect: true", config)
        self.assertIn("kubeconfig: " + kubeconfig, config)

    def test_deployment(self):
        """Its configuration is valid, and names the lease that its role allows."""
        config = self.config_of("--config", self.write("scheduler.yaml", self.manifest("second-scheduler", "scheduler.yaml")))
        self.assertIn("schedulerName: berth\n", config)
        self.assertIn("resourceName: berth\n", config)
        self.assertIn("resources: [leases], resourceNames: [berth]", self.manifest("second-scheduler", "rbac.yaml"))


class Completion(cli.Case):
    def complete(self, *words):
        """The completions of bash for the last word."""
        script = self.berth("completion", "bash")
        self.assertEqual(script.code, 0, script.err)
        script_text = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script_text, self.write("berth.bash", script.out), "berth", *words],
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
        self.assertEqual(self.complete("clus"), ["cluster"])
        self.assertEqual(self.complete("cluster", "f"), ["fail"])
        self.assertEqual(self.complete("cluster", "--nodes-"), ["--nodes-file"])
        self.assertEqual(self.complete("cluster", "fail", "--a"), ["--as"])
        self.assertEqual(self.complete("cluster", "fail", "--as", "n"), ["not-ready"])

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
