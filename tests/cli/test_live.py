"""The running scheduler as a process: its threads, and its handling of signals. The API server is a fake with an empty
cluster."""
import collections
import contextlib
import http.server
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import cli


KINDS = ["Pod", "Node", "Namespace", "Service", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController",
         "ReplicaSet", "StatefulSet", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment",
         "PodDisruptionBudget", "ResourceClaim", "ResourceSlice", "DeviceClass"]
PLURALS = {"storageclass": "storageclasses", "csistoragecapacity": "csistoragecapacities",
           "deviceclass": "deviceclasses"}
LISTS = {PLURALS.get(kind.lower(), kind.lower() + "s"): kind + "List" for kind in KINDS}


class Handler(http.server.BaseHTTPRequestHandler):
    """Lists are empty, watches have no events, a write returns the written object."""
    protocol_version = "HTTP/1.1"

    def answer(self, code, answer):
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if "watch=true" in self.path or "watch=1" in self.path:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.server.ended.wait()
            self.close_connection = True
        elif "/leases/" in self.path:
            lease = self.server.lease
            self.answer(200 if lease else 404, lease or {"kind": "Status", "code": 404, "reason": "NotFound"})
        elif self.path.startswith("/version"):
            self.answer(200, {"gitVersion": "v1.36.4"})
        else:
            parts = self.path.split("?")[0].split("/")
            self.answer(200, {"kind": LISTS.get(parts[-1], "List"), "apiVersion": "/".join(parts[2:-1]),
                              "metadata": {"resourceVersion": "1"}, "items": []})

    def do_POST(self):
        written = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "/leases" in self.path:
            written.setdefault("metadata", {})["resourceVersion"] = "1"
            self.server.lease = written
        self.answer(200 if self.command == "PUT" else 201, written)

    do_PUT = do_PATCH = do_POST

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    lease = None

    def handle_error(self, *_):
        pass  # the scheduler ended


@contextlib.contextmanager
def api_server():
    with Server(("127.0.0.1", 0), Handler) as server:
        server.ended = threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class Live(cli.Case):
    def setUp(self):
        super().setUp()
        self.api = self.enterContext(api_server())
        self.url = "http://127.0.0.1:%d" % self.api.server_address[1]
        self.kubeconfig = self.write_kubeconfig({"token": "t"})

    def write_kubeconfig(self, user):
        return self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}))

    def config(self, **more):
        return self.write("scheduler.yaml", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": self.kubeconfig}, **more}))

    def start(self, *flags, config=None):
        self.log_path = self.path("log")
        port = free_port()
        with open(self.log_path, "wb") as log:
            process = subprocess.Popen([cli.BERTH, "scheduler", "--config", config or self.config(),
                                        "--secure-port", str(port), "--bind-address=127.0.0.1",
                                        "--cert-dir", self.path("certificates"), "--v=2", *flags],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, what, words="", seconds=60):
        """Waits until what() is true."""
        until = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), until, words + "\n" + self.log())
            time.sleep(0.02)

    def wait_for_line(self, text, times=1):
        self.wait_for(lambda: self.log().count(text) >= times, "no line with " + text)

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            self.fail("SIGTERM does not end it\n" + self.log())


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


class Signals(Live):
    def test_in_any_order(self):
        """After any other signals SIGTERM ends it with status 0."""
        numbers = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP]
        chance = random.Random(int(os.environ.get("BERTH_TEST_SEED", "1")))
        orders = [[signal.SIGUSR1], [signal.SIGUSR2, signal.SIGUSR1], []]
        orders += [[chance.choice(numbers) for _ in range(20)] for _ in range(2)]
        for order in orders:
            process = self.start()
            self.wait_for_line("Successfully acquired lease")
            for number in order:
                process.send_signal(number)
                time.sleep(chance.random() / 50)
            self.assertEqual(self.end(process), 0, self.log())
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
