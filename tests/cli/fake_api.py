"""An API server in memory, for tests of the live scheduler: it has the objects that a test gives it, and streams what the
test changes. It keeps every request, and can be told to answer oddly."""
import collections
import http.server
import json
import queue
import threading
import urllib.parse

KINDS = ["Pod", "Node", "Namespace", "Service", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController",
         "ReplicaSet", "StatefulSet", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment",
         "PodDisruptionBudget", "ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule", "ConfigMap",
         "PriorityClass"]
PLURALS = {"StorageClass": "storageclasses", "CSIStorageCapacity": "csistoragecapacities",
           "DeviceClass": "deviceclasses", "PriorityClass": "priorityclasses"}
RESOURCES = {PLURALS.get(kind, kind.lower() + "s"): kind for kind in KINDS}
ENDS = object()  # in a watch: the server closes it


def node(name, cpu="4", **metadata):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": "node-" + name, **metadata},
            "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}}


def pod(name, cpu="1", node_name=None, **spec):
    spec = {"schedulerName": "default-scheduler", **spec,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    if node_name:
        spec["nodeName"] = node_name
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": "pod-" + name}, "spec": spec, "status": {}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, code, answer, headers=()):
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        parts = url.path.split("/")
        self.server.note("GET", url.path, query)
        self.server.note_types("GET", url.path, self.headers)
        if parts[-1] == "version":
            self.answer(200, {"gitVersion": "v1.36.4"})
        elif url.path == "/api/v1":
            self.answer(200, {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": name, "kind": kind, "namespaced": True} for name, kind in RESOURCES.items()]})
        elif parts[-1] not in RESOURCES:
            self.answer(404, {"kind": "Status", "code": 404, "reason": "NotFound"})
        elif parts[-1] in self.server.refused:
            code = self.server.refused[parts[-1]]
            self.answer(code, {"kind": "Status", "apiVersion": "v1", "code": code, "status": "Failure"})
        elif query.get("watch") in ("true", "1"):
            self.watch(parts[-1], query)
        else:
            with self.server.lock:
                items = list(self.server.objects[parts[-1]].values())
                version = str(self.server.version)
            self.answer(200, {"kind": RESOURCES[parts[-1]] + "List", "apiVersion": "/".join(parts[2:-1]).split("/namespaces")[0],
                              "metadata": {"resourceVersion": version}, "items": items})

    def put(self, data):
        data = data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def watch(self, resource, query):
        events = self.server.watch(resource, query)
        if events is None:
            self.answer(422, {"kind": "Status", "apiVersion": "v1", "code": 422, "reason": "Invalid",
                              "message": "sendInitialEvents: Forbidden"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while (event := events.get()) is not ENDS:
                self.put(event)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass
        self.server.forget(resource, events)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])) or b"{}"
        written = {}
        if not body.startswith(b"k8s"):
            written = json.loads(body)
        elif self.path.endswith("/binding"):  # target { kind: 1, name: 3 }
            at = body.rindex(b"\x0a\x04Node\x1a") + 7
            written = {"target": {"name": body[at + 1:at + 1 + body[at]].decode()}}
        self.server.note(self.command, self.path.split("?")[0], written)
        self.server.note_types(self.command, self.path.split("?")[0], self.headers)
        self.server.wrote(self.command, self.path.split("?")[0].split("/"), written)
        self.answer(200 if self.command != "POST" else 201, written)

    do_PUT = do_PATCH = do_DELETE = do_POST

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    streams_lists = True   # sendInitialEvents is taken

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Condition()
        self.version = 100
        self.objects = collections.defaultdict(dict)
        self.watches = collections.defaultdict(list)
        self.history = []
        self.requests = []
        self.types = set()  # method, resource, Content-Type and Accept of all requests
        self.script = {}  # by resource: what every watch sends instead
        self.refused = {}  # by resource: the code of the answer to lists and watches
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    def stop(self):
        with self.lock:
            for watches in self.watches.values():
                for events in watches:
                    events.put(ENDS)
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, *_):
        pass  # the scheduler ended

    # ---- what was requested ----

    def note(self, method, path, details):
        with self.lock:
            self.requests.append((method, path, details))
            self.lock.notify_all()

    def note_types(self, method, path, headers):
        with self.lock:
            self.types.add((method, path.split("/")[-1], headers["Content-Type"], headers["Accept"]))

    def bindings(self):
        """The pods that were bound, with their nodes."""
        with self.lock:
            return {path.split("/")[-2]: body["target"]["name"] for method, path, body in self.requests
                    if method == "POST" and path.endswith("/binding")}

    def lists(self, resource):
        with self.lock:
            return [details for method, path, details in self.requests
                    if method == "GET" and path.endswith("/" + resource) and "watch" not in details]

    def watched(self, resource):
        with self.lock:
            return [details for method, path, details in self.requests
                    if method == "GET" and path.endswith("/" + resource) and "watch" in details]

    def wrote(self, method, parts, written):
        if method == "POST" and parts[-1] == "binding":
            with self.lock:
                bound = json.loads(json.dumps(self.objects["pods"].get(parts[-2])))
            if bound:
                bound["spec"]["nodeName"] = written["target"]["name"]
                self.set("pods", bound)

    # ---- the cluster ----

    def set(self, resource, thing, send=None):
        """Adds or updates an object. `send`: what watches see instead of it."""
        name = thing["metadata"]["name"]
        with self.lock:
            self.version += 1
            thing["metadata"]["resourceVersion"] = str(self.version)
            kind = "MODIFIED" if name in self.objects[resource] else "ADDED"
            self.objects[resource][name] = thing
            self.send(resource, {"type": kind, "object": send or thing})

    def delete(self, resource, name, send=None):
        with self.lock:
            self.version += 1
            thing = self.objects[resource].pop(name)
            thing["metadata"]["resourceVersion"] = str(self.version)
            self.send(resource, {"type": "DELETED", "object": send or thing})

    def send(self, resource, event):
        self.history.append((self.version, resource, event))
        for events in self.watches[resource]:
            events.put(event)

    def watch(self, resource, query):
        """A queue of events; None: the server does not take sendInitialEvents."""
        events = queue.Queue()
        with self.lock:
            if query.get("sendInitialEvents") == "true":
                if not self.streams_lists:
                    return None
                for thing in self.objects[resource].values():
                    events.put({"type": "ADDED", "object": thing})
                events.put({"type": "BOOKMARK", "object": {
                    "kind": RESOURCES[resource], "apiVersion": self.api_version(resource), "metadata": {
                        "resourceVersion": str(self.version),
                        "annotations": {"k8s.io/initial-events-end": "true"}}}})
            else:
                for version, its, event in self.history:
                    if its == resource and version > int(query["resourceVersion"]):
                        events.put(event)
            for event in self.script.get(resource, ()):
                events.put(event)
            self.watches[resource].append(events)
        return events

    @staticmethod
    def api_version(resource):
        return {"replicasets": "apps/v1", "statefulsets": "apps/v1", "storageclasses": "storage.k8s.io/v1",
                "csinodes": "storage.k8s.io/v1", "csidrivers": "storage.k8s.io/v1",
                "csistoragecapacities": "storage.k8s.io/v1", "volumeattachments": "storage.k8s.io/v1",
                "poddisruptionbudgets": "policy/v1", "resourceclaims": "resource.k8s.io/v1",
                "resourceslices": "resource.k8s.io/v1", "deviceclasses": "resource.k8s.io/v1",
                "devicetaintrules": "resource.k8s.io/v1"}.get(resource, "v1")

    def forget(self, resource, events):
        with self.lock:
            if events in self.watches[resource]:
                self.watches[resource].remove(events)
