"""The running scheduler as a process: its threads, and its handling of signals."""
import collections
import contextlib
import os
import random
import re
import signal
import time
import unittest

import cli
from live import Live

# The main thread; the thread sanitizer has another one with the same name.
MAIN_THREADS = 2 if "tsan" in cli.BERTH else 1


def threads(process):
    """The number of threads by name."""
    names = collections.Counter()
    for task in os.listdir("/proc/%d/task" % process.pid):
        with contextlib.suppress(FileNotFoundError), \
                open("/proc/%d/task/%s/comm" % (process.pid, task), encoding="utf-8") as file:
            names[file.read().strip()] += 1
    return names


class Threads(Live):
    def check(self, process, extenders=0):
        """docs/ARCHITECTURE.md: core, io, serve, the pool, one per extender."""
        names = threads(process)
        workers = names.pop("worker", 0)
        self.assertEqual(names, collections.Counter({os.path.basename(cli.BERTH)[:15]: MAIN_THREADS, "io": 1, "serve": 1,
                                                     **({"extender": extenders} if extenders else {})}), self.log())
        self.assertLess(workers, 16)

    def test_threads_of_a_leader_with_all_features(self):
        """With an election, a recording, credentials from a file, delegated authentication, dumps and reloads."""
        self.write_kubeconfig({"tokenFile": self.write("token", "t")})
        process = self.start("--authentication-kubeconfig", self.kubeconfig, "--authorization-kubeconfig",
                             self.kubeconfig, "--authentication-skip-lookup", "--record", self.path("recording"))
        self.wait_for_line("Successfully acquired lease")
        self.wait_for_line("Caches are synced")
        self.check(process)
        process.send_signal(signal.SIGUSR2)
        self.wait_for_line("Dump of scheduling queue")
        self.config(podInitialBackoffSeconds=2)
        self.wait_for_line("Configuration reloaded")
        process.send_signal(signal.SIGHUP)
        self.wait_for_line("Configuration unchanged")
        self.check(process)
        self.assertEqual(self.end(process), 0, self.log())

    def test_threads_of_credential_programs_and_extenders(self):
        program = self.write("program", """#!/bin/sh
echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "t"}}'
""")
        os.chmod(program, 0o700)
        self.write_kubeconfig({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": program,
                                        "interactiveMode": "Never"}})
        extenders = [{"urlPrefix": self.url + "/%d" % i, "filterVerb": "filter", "ignorable": True} for i in range(2)]
        process = self.start(config=self.config(extenders=extenders, leaderElection={"leaderElect": False}))
        self.wait_for_line("Caches are synced")
        self.check(process, extenders=2)
        self.assertEqual(self.end(process), 0, self.log())


class Certificate(Live):
    def test_the_one_that_it_makes_can_be_pinned(self):
        process = self.start("--leader-elect=false")
        self.wait_for_line("Serving securely")
        server = ["queue", "--kubeconfig", self.kubeconfig, "--server", "https://127.0.0.1:%d" % self.port]
        certificate = self.path("certificates/kube-scheduler.crt")
        self.assertIn("certificate", self.berth(*server).err)
        self.assertIn("the answer is 40", self.berth(*server, "--certificate-authority", certificate).err)
        self.assertEqual(self.end(process), 0, self.log())


class Programs(Live):
    tls = True  # else no credential is needed

    def test_an_end_while_a_program_hangs(self):
        program = self.write("program", "#!/bin/sh\ntouch %s\nexec sleep 600\n" % self.path("began"))
        os.chmod(program, 0o700)
        self.write_kubeconfig({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": program,
                                        "interactiveMode": "Never"}})
        process = self.start()
        self.wait_for(lambda: os.path.exists(self.path("began")), "the program is not started")
        self.wait_for_line("Attempting to acquire leader lease")
        self.assertEqual(self.end(process), 0, self.log())
        self.assertNotIn("did not end within", self.log())  # the time limit of the program


class Signals(Live):
    # All that do not end kube-scheduler, and SIGHUP.
    HARMLESS = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGPIPE, signal.SIGALRM, signal.SIGVTALRM,
                signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGCHLD,
                signal.SIGURG, signal.SIGWINCH, signal.SIGCONT, signal.SIGRTMIN + 1, signal.SIGRTMAX]

    def test_each_then_an_end(self):
        """Each signal leaves it running; then SIGINT ends it like SIGTERM."""
        process = self.start()
        self.wait_for_line("Successfully acquired lease")
        for number in self.HARMLESS:
            process.send_signal(number)
        process.send_signal(signal.SIGUSR2)
        self.wait_for_line("Dump of scheduling queue")
        self.assertIsNone(process.poll(), self.log())
        self.assertEqual(self.end(process, signal.SIGINT), 0, self.log())

    def test_in_any_order(self):
        """After any other signals SIGTERM ends it with status 0."""
        numbers = self.HARMLESS
        chance = random.Random(int(os.environ.get("BERTH_TEST_SEED", "1")))
        orders = [[signal.SIGUSR1], [signal.SIGUSR2, signal.SIGUSR1], []]
        orders += [[chance.choice(numbers) for _ in range(40)] for _ in range(2)]
        for order in orders:
            process = self.start()
            self.wait_for_line("Successfully acquired lease")
            for number in order:
                process.send_signal(number)
                time.sleep(chance.random() / 50)
            self.assertEqual(self.end(process, chance.choice([signal.SIGTERM, signal.SIGINT])), 0, self.log())
            self.assertEqual(self.log().count("Requested to terminate"), 1)

    def test_before_it_is_ready(self):
        for delay in (0.05, 0.2):
            process = self.start("--leader-elect=false")
            # Until then signals have their default action.
            self.wait_for(lambda: self.blocks(process, signal.SIGTERM) or process.poll() is not None)
            for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR2):
                process.send_signal(number)
            time.sleep(delay)
            self.assertEqual(self.end(process), 0, self.log())

    def blocks(self, process, number):
        with open("/proc/%d/status" % process.pid, encoding="utf-8") as file:
            found = re.search(r"^SigBlk:\s*([0-9a-f]+)$", file.read(), re.M)
        return found and int(found.group(1), 16) >> (number - 1) & 1

    def test_twice(self):
        """A second SIGTERM ends it at once, unless it has ended meanwhile."""
        process = self.start()
        self.wait_for_line("Successfully acquired lease")
        process.send_signal(signal.SIGTERM)
        self.wait_for(lambda: "Requested to terminate" in self.log() or process.poll() is not None)
        self.assertIn(self.end(process), (0, 1), self.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
