"""The API server of the live tests, and its client.

The tests are one list for two servers:
  - by default the embedded one, started here: `berth cluster` without nodes, controllers and scheduler;
  - with LIVE_KUBECONFIG another one, which has to be empty. tests/e2e/livelist_test.go sets these for a real kube-apiserver:
      LIVE_KUBECONFIG            of an administrator, for what the tests do
      LIVE_SCHEDULER_KUBECONFIG  of the schedulers that the tests start [LIVE_KUBECONFIG]
      LIVE_CONTROL               a URL: a POST to URL/kill kills the API server, one to URL/restart starts it again; without
                                 it the tests that need this are skipped
LIVE_SCHEDULER is the command of the scheduler under test [$BERTH scheduler].
"""
import base64
import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import cli
from ports import free_port

PATIENCE = 120  # seconds; matters for failures only
HISTORY = 200  # changes that the embedded server keeps for watches

# Where a kind is: the path in front of it, its plural, whether it has a namespace.
KINDS = {kind: (path, plural, scope == "namespaced") for kind, path, plural, scope in (row.split() for row in """
    Namespace              api/v1                     namespaces             cluster
    Node                   api/v1                     nodes                  cluster
    Pod                    api/v1                     pods                   namespaced
    ConfigMap              api/v1                     configmaps             namespaced
    PersistentVolume       api/v1                     persistentvolumes      cluster
    PersistentVolumeClaim  api/v1                     persistentvolumeclaims namespaced
    Event                  apis/events.k8s.io/v1      events                 namespaced
    PodDisruptionBudget    apis/policy/v1             poddisruptionbudgets   namespaced
    PriorityClass          apis/scheduling.k8s.io/v1  priorityclasses        cluster
    StorageClass           apis/storage.k8s.io/v1     storageclasses         cluster
    Lease                  apis/coordination.k8s.io/v1 leases                namespaced
    DeviceClass            apis/resource.k8s.io/v1    deviceclasses          cluster
    ResourceSlice          apis/resource.k8s.io/v1    resourceslices         cluster
    ResourceClaim          apis/resource.k8s.io/v1    resourceclaims         namespaced
""".strip().splitlines())}


class Access:
    """What a kubeconfig says of the server and the user."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.url = self.value(text, "server")
        self.token = self.value(text, "token")
        data = self.value(text, "certificate-authority-data")
        if data:
            self.authority = base64.b64decode(data).decode()
        else:
            with open(self.value(text, "certificate-authority"), encoding="utf-8") as file:
                self.authority = file.read()

    @staticmethod
    def value(text, key):
        """There is no YAML in the standard library; these values are single words in block or flow style."""
        found = re.search(r'(?:^|[\s{,"])%s"?:\s*"?([^"\s,}]+)' % re.escape(key), text)
        return found.group(1) if found else None

    def kubeconfig(self, url=None):
        """The text of one for the same user, also of a server at another address."""
        authority = base64.b64encode(self.authority.encode()).decode()
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": url or self.url, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]})


class Refused(Exception):
    """The API server's answer to a request that it did not fulfil."""

    def __init__(self, request, code, body):
        super().__init__("%s: %d %s" % (request, code, body.get("message", body)))
        self.code = code
        self.reason = body.get("reason")


class API:
    """A client. Objects are dictionaries, and know their kind and namespace."""

    def __init__(self, access):
        self.access = access
        self.address = urllib.parse.urlparse(access.url).netloc
        self.tls = ssl.create_default_context(cadata=access.authority)
        self.local = threading.local()

    def close(self):
        """The connection of this thread, as its server is gone."""
        if getattr(self.local, "connection", None):
            self.local.connection.close()
            self.local.connection = None

    def ask(self, method, path, body=None, kind="application/json"):
        """The answer, decoded. A server that is not ready is asked again, as by every client of Kubernetes."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask_once(method, path, body, kind)
            except Refused as refused:
                if refused.code != 429 or time.monotonic() > until:
                    raise
            except OSError:
                self.close()
                raise
            time.sleep(0.1)

    def ask_once(self, method, path, body, kind):
        if not getattr(self.local, "connection", None):
            self.local.connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=PATIENCE)
        connection = self.local.connection
        headers = {"Authorization": "Bearer " + self.access.token, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        content = answer.read()
        try:
            content = json.loads(content)
        except ValueError:
            content = {"message": content.decode("utf-8", "replace")}
        if answer.status >= 400:
            raise Refused("%s %s" % (method, path), answer.status, content)
        return content

    @staticmethod
    def path(kind, namespace=None, name=None, sub=None):
        prefix, plural, is_namespaced = KINDS[kind]
        parts = [prefix] + (["namespaces", namespace] if is_namespaced and namespace else []) + [plural]
        return "/" + "/".join(parts + [part for part in (name, sub) if part])

    def create(self, thing):
        return self.ask("POST", self.path(thing["kind"], thing["metadata"].get("namespace")), thing)

    def get(self, kind, name, namespace=None):
        return self.ask("GET", self.path(kind, namespace, name))

    def find(self, kind, name, namespace=None):
        """The object, or None."""
        try:
            return self.get(kind, name, namespace)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def list(self, kind, namespace=None):
        return self.ask("GET", self.path(kind, namespace))["items"]

    def version(self, kind, namespace=None):
        """The resource version of the list."""
        return self.ask("GET", self.path(kind, namespace))["metadata"]["resourceVersion"]

    def patch(self, kind, name, change, namespace=None, sub=None):
        """A merge patch."""
        return self.ask("PATCH", self.path(kind, namespace, name, sub), change, "application/merge-patch+json")

    def replace_status(self, thing):
        metadata = thing["metadata"]
        return self.ask("PUT", self.path(thing["kind"], metadata.get("namespace"), metadata["name"], "status"), thing)

    def delete(self, kind, name, namespace=None, **options):
        return self.ask("DELETE", self.path(kind, namespace, name), options)

    def clear(self, path):
        """Deletes what is there, if it is: a test may end before it, or a scheduler, has created it."""
        try:
            self.ask("DELETE", path)
        except Refused as refused:
            if refused.code != 404:
                raise

    def watch(self, kind, query, count, namespace=None):
        """The first events of a watch; fewer if the server ends it."""
        connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=PATIENCE)
        connection.request("GET", self.path(kind, namespace) + "?watch=true&timeoutSeconds=%d&" % PATIENCE + query, headers={
            "Authorization": "Bearer " + self.access.token, "Accept": "application/json"})
        with contextlib.closing(connection), connection.getresponse() as answer:
            if answer.status != 200:
                return [{"type": "ERROR", "object": json.loads(answer.read())}]
            return [json.loads(line) for line in itertools.islice(answer, count)]


class Given:
    """A server that runs already."""

    def __init__(self, kubeconfig):
        self.api = API(Access(kubeconfig))
        self.scheduler_access = Access(os.environ.get("LIVE_SCHEDULER_KUBECONFIG", kubeconfig))
        self.control = os.environ.get("LIVE_CONTROL")
        self.restarts = bool(self.control)

    def command(self, word):
        request = urllib.request.Request(self.control + "/" + word, data=b"", method="POST")
        with urllib.request.urlopen(request, timeout=2 * PATIENCE) as answer:
            answer.read()

    def kill(self):
        self.command("kill")
        self.api.close()

    def restart(self):
        self.command("restart")

    def stop(self):
        return ""


class Embedded:
    """The one of `berth cluster`. With a database its objects are there after a restart; without one it is faster."""

    def __init__(self, restarts):
        self.restarts = restarts
        self.folder = tempfile.TemporaryDirectory(prefix="berth-live-")
        self.log = os.path.join(self.folder.name, "log")
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        self.process = None
        self.port = free_port()
        self.restart()
        self.api = API(Access(self.kubeconfig))
        self.scheduler_access = self.api.access

    def restart(self):
        """Starts it, again with what it had and at the same address."""
        data = ["--data", os.path.join(self.folder.name, "data")] if self.restarts else []
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [cli.BERTH, "cluster", "--nodes", "0", "--no-controllers", "--no-scheduler", "--port", str(self.port),
                 "--kubeconfig", self.kubeconfig, "--history", str(HISTORY), *data],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline()
        if b"is ready" not in line:
            self.kill()
            raise RuntimeError("berth cluster does not start: " + self.output())

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if hasattr(self, "api"):
            self.api.close()

    def stop(self):
        """What is wrong with its end, or nothing."""
        self.api.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.process.stdout.close()
        wrong = "" if status == 0 else "berth cluster ended with status %d\n%s" % (status, self.output())
        self.folder.cleanup()
        return wrong


running = None


def start(restarts):
    """The server, which the first call starts. `restarts`: it has to be one that can be killed and restarted, if possible."""
    global running
    kubeconfig = os.environ.get("LIVE_KUBECONFIG")
    if running and not kubeconfig and restarts and not running.restarts:
        wrong = stop()
        if wrong:
            raise RuntimeError(wrong)
    if not running:
        running = Given(kubeconfig) if kubeconfig else Embedded(restarts)
    return running


def stop():
    """What is wrong with its end, or nothing."""
    global running
    ended, running = running, None
    return ended.stop() if ended else ""


def wait(done, failed=lambda: None, seconds=PATIENCE):
    """The first value of done() that is true; None if there is none in that time. failed() may raise an exception."""
    pause, until = 0.005, time.monotonic() + seconds
    while True:
        found = done()
        if found:
            return found
        failed()
        if time.monotonic() > until:
            return None
        time.sleep(pause)
        pause = min(pause * 1.3, 0.1)
