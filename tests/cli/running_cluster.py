"""Helpers of the tests of `berth cluster`: a running one, and a client of its API."""
import base64
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import time
import urllib.parse

import cli
from ports import free_port

PATIENCE_S = 120
MERGE_PATCH = "application/merge-patch+json"


class Cluster:
    """A development cluster that has printed that it is ready."""

    def __init__(self, case, *args, stdin=None, kubeconfig=None):
        self.case, self.connection = case, http.client.HTTPConnection("")
        self.kubeconfig = kubeconfig or case.path("kubeconfig-%d" % len(os.listdir(case.folder.name)))
        self.log = self.kubeconfig + ".log"
        with open(self.log, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen([cli.BERTH, "cluster", "--kubeconfig", self.kubeconfig, *args],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        case.addCleanup(self.stop)
        self.process.stdin.write(stdin or "")
        self.process.stdin.close()
        self.line = self.process.stdout.readline()
        case.assertIn("is ready", self.line, self.errors())
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read()
        server = urllib.parse.urlsplit(re.search(r"server: (\S+)", text)[1])
        authority = base64.b64decode(re.search(r"certificate-authority-data: (\S+)", text)[1]).decode()
        self.token = re.search(r"token: (\S+)", text)[1]
        self.connection = http.client.HTTPSConnection(server.hostname, server.port, timeout=PATIENCE_S,
                                                      context=ssl.create_default_context(cadata=authority))

    def errors(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def warnings(self):
        return [line for line in self.errors().splitlines() if line.startswith("berth: ")]

    def stop(self):
        """Ends it, which it does without complaint."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE_S)
        self.process.stdout.close()
        self.connection.close()
        self.case.assertEqual(code, 0, self.errors())

    def request(self, method, path, body=None, kind="application/json", accept="application/json"):
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": kind, "Accept": accept}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def get(self, path, **more):
        code, answer = self.request("GET", path, **more)
        self.case.assertEqual(code, 200, answer)
        return answer

    def find(self, path):
        """The object, or None."""
        code, answer = self.request("GET", path)
        return answer if code == 200 else None

    def create(self, path, thing):
        code, answer = self.request("POST", path, thing)
        self.case.assertEqual(code, 201, answer)
        return answer

    def patch(self, path, thing):
        code, answer = self.request("PATCH", path, thing, kind=MERGE_PATCH)
        self.case.assertEqual(code, 200, answer)
        return answer

    def delete(self, path, body=None):
        code, answer = self.request("DELETE", path, body)
        self.case.assertLess(code, 300, answer)

    def pod(self, name):
        return self.find("/api/v1/namespaces/default/pods/" + name)

    def node(self, name):
        return self.get("/api/v1/nodes/" + name)

    def pods(self):
        return self.get("/api/v1/pods")["items"]

    def until(self, fact, what=None):
        """Waits until the function returns something that is true, and returns it."""
        ends = time.monotonic() + PATIENCE_S
        while True:
            found = fact()
            if found:
                return found
            if time.monotonic() > ends:
                self.case.fail("never: %s\n%s" % (what or fact, self.errors()))
            time.sleep(0.02)

    def until_running(self, name):
        return self.until(lambda: self.phase(name) == "Running" and self.pod(name), name + " runs")

    def phase(self, name):
        return (self.pod(name) or {}).get("status", {}).get("phase")


class Served(Cluster):
    """One whose scheduler serves its pages to clients of the cluster. `flags` lead a command there."""

    def __init__(self, case, *args, scheduler=(), port=None):
        kubeconfig, folder, self.port = case.path("served-kubeconfig"), case.path("certificates"), port or free_port()
        self.certificate = os.path.join(folder, "kube-scheduler.crt")
        self.flags = ["--server", "https://127.0.0.1:%d" % self.port, "--kubeconfig", kubeconfig,
                      "--certificate-authority", self.certificate]
        super().__init__(case, *args, "--", "--bind-address=127.0.0.1", "--secure-port=%d" % self.port,
                         "--cert-dir=" + folder, "--authentication-kubeconfig=" + kubeconfig,
                         "--authorization-kubeconfig=" + kubeconfig, *scheduler, kubeconfig=kubeconfig)
        self.until(lambda: self.page("/healthz")[0] == 200, "the scheduler serves")

    def page(self, path, token=None, method="GET"):
        """(status, headers, text) of a page of the scheduler; without a token the client is anonymous."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S,
                                                 context=ssl._create_unverified_context())  # pylint: disable=protected-access
        try:
            connection.request(method, path, headers={"Authorization": "Bearer " + token} if token else {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        except OSError:
            return 0, {}, ""
        finally:
            connection.close()

    def add_pod(self, name, **more):
        self.create("/api/v1/namespaces/default/pods", cli.pod(name, **more))


def condition(thing, kind):
    """The condition of an object's status, or an empty one."""
    for row in thing.get("status", {}).get("conditions", []):
        if row["type"] == kind:
            return row
    return {}


def taints(node, effect):
    return {taint["key"] for taint in node["spec"].get("taints", []) if taint["effect"] == effect}


class Watch:
    """Events of one object from now on, as (type, object)."""

    def __init__(self, cluster, path, name):
        server = cluster.connection
        self.connection = http.client.HTTPSConnection(server.host, server.port, timeout=PATIENCE_S,
                                                      context=server._context)  # pylint: disable=protected-access
        cluster.case.addCleanup(self.connection.close)
        revision = cluster.get(path)["metadata"]["resourceVersion"]
        query = "watch=true&resourceVersion=%s&fieldSelector=metadata.name%%3D%s" % (revision, name)
        self.connection.request("GET", path + "?" + query, headers={"Authorization": "Bearer " + cluster.token})
        self.answer = self.connection.getresponse()
        cluster.case.assertEqual(self.answer.status, 200)

    def until(self, wanted):
        """The events up to the first one for which the function is true."""
        events = []
        while not events or not wanted(*events[-1]):
            event = json.loads(self.answer.readline())
            events.append((event["type"], event["object"]))
        return events
