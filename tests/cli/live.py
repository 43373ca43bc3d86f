"""Helpers of the tests of the running scheduler. The API server is a fake with an empty cluster."""
import contextlib
import http.server
import json
import os
import signal
import ssl
import subprocess
import threading
import time

import cli
from ports import free_port


KINDS = ["Pod", "Node", "Namespace", "Service", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController",
         "ReplicaSet", "StatefulSet", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment",
         "PodDisruptionBudget", "ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"]
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

    def is_refused(self):
        if self.server.unauthorized:
            self.server.unauthorized = False
            self.answer(401, {"kind": "Status", "code": 401, "reason": "Unauthorized"})
            return True
        return False

    def do_GET(self):
        if self.is_refused():
            return
        if "sendInitialEvents" in self.path:
            self.answer(422, {"kind": "Status", "code": 422, "reason": "Invalid"})
        elif "watch=true" in self.path or "watch=1" in self.path:
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
        if self.is_refused():
            return
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
    unauthorized = False  # the next request is answered with 401

    def handle_error(self, *_):
        pass  # the scheduler ended


def make_pair(folder, name):
    """Files of a certificate for 127.0.0.1 and of its key."""
    paths = [os.path.join(folder, name + end) for end in (".crt", ".key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout",
                    paths[1]], check=True, capture_output=True)
    return paths


@contextlib.contextmanager
def api_server(pair=None, handler=Handler):
    """With TLS, if there is a pair of certificate and key. Without it clients do not send credentials."""
    with Server(("127.0.0.1", 0), handler) as server:
        if pair:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*pair)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.ended = threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


class Live(cli.Case):
    tls = False  # of the API server
    environment = None  # of the scheduler; None: that of the test

    def setUp(self):
        super().setUp()
        self.api_pair = make_pair(self.folder.name, "api-server") if self.tls else None
        self.api = self.make_api()
        self.url = "%s://127.0.0.1:%d" % ("https" if self.tls else "http", self.api.server_address[1])
        self.kubeconfig = self.write_kubeconfig({"token": "t"})

    def make_api(self):
        return self.enterContext(api_server(self.api_pair))

    def write_kubeconfig(self, user, **cluster):
        if self.tls:
            cluster.setdefault("certificate-authority", self.api_pair[0])
        return self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": self.url, **cluster}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}))

    def config(self, **more):
        return self.write("scheduler.yaml", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            **{"clientConnection": {"kubeconfig": self.kubeconfig}, **more}}))

    def start(self, *flags, config=None):
        self.log_path = self.path("log")
        self.port = free_port()
        with open(self.log_path, "wb") as log:
            process = subprocess.Popen([cli.BERTH, "scheduler", "--config", config or self.config(),
                                        "--secure-port", str(self.port), "--bind-address=127.0.0.1",
                                        "--cert-dir", self.path("certificates"), "--v=2", *flags],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, what, words="", seconds=120):
        """Waits until what() is true."""
        until = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), until, words + "\n" + self.log())
            time.sleep(0.02)

    def wait_for_line(self, text, times=1):
        self.wait_for(lambda: self.log().count(text) >= times, "no line with " + text)

    def end(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            self.fail("%s does not end it\n" % signal.Signals(number).name + self.log())
