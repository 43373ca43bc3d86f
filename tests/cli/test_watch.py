"""What the live scheduler makes of odd answers to its lists and watches."""
import http.server
import json
import re
import threading
import time
import unittest

import cli
import fake_api
import live


class Watch(live.Live):
    def make_api(self):
        api = fake_api.Server()
        self.addCleanup(api.stop)
        return api

    def start(self, *flags, **config):
        return super().start(*flags, config=self.config(
            leaderElection={"leaderElect": False},
            clientConnection={"kubeconfig": self.kubeconfig, "contentType": "application/json"}, **config))

    def was_rejected(self, name):
        """Was the pod told that it has no node?"""
        with self.api.lock:
            return any(method == "PATCH" and path.endswith("/pods/%s/status" % name) and "Insufficient" in str(body)
                       for method, path, body in self.api.requests)


class Encodings(Watch):
    """clientConnection says how objects are sent and read; patches are JSON of their own types."""

    def types_of(self, method, resource, **connection):
        self.api.set("nodes", fake_api.node("a", "2"))
        self.api.set("pods", fake_api.pod("p"))
        process = live.Live.start(self, config=self.config(
            leaderElection={"leaderElect": False}, clientConnection={"kubeconfig": self.kubeconfig, **connection}))
        self.wait_for(lambda: any(kind[:2] == (method, resource) for kind in self.api.types), "nothing was sent")
        self.end(process)
        return {kind[2:] for kind in self.api.types if kind[:2] == (method, resource)}

    def test_protobuf_is_the_default(self):
        both = "application/vnd.kubernetes.protobuf, */*"
        self.assertEqual(self.types_of("POST", "binding"), {("application/vnd.kubernetes.protobuf", both)})
        self.assertEqual(self.types_of("GET", "pods"), {(None, both)})

    def test_json(self):
        self.assertEqual(self.types_of("POST", "binding", contentType="application/json"),
                         {("application/json", "application/json, */*")})
        self.assertNotIn("protobuf", str(self.api.types))

    def test_what_is_accepted(self):
        self.assertEqual(self.types_of("POST", "binding", acceptContentTypes="application/json"),
                         {("application/vnd.kubernetes.protobuf", "application/json")})


class Unreadable(Watch):
    """An object that cannot be read keeps its room."""

    def test_listed_and_deleted(self):
        self.api.set("nodes", fake_api.node("a", "2"))
        self.api.set("pods", fake_api.pod("x", "2", "a", priority="high"))
        self.api.set("pods", fake_api.pod("p"))
        self.start()
        self.wait_for(lambda: self.was_rejected("p") or self.api.bindings(), "p is neither bound nor rejected")
        self.assertEqual(self.api.bindings(), {}, "the room of x was given away")
        self.api.delete("pods", "x")  # cannot be read either
        self.wait_for(self.api.bindings, "p is not bound though x is gone")
        self.assertEqual(self.api.bindings(), {"p": "a"})
        self.assertEqual(self.log().count("cannot be read completely"), 1)

    def test_update_and_recovery(self):
        self.api.set("nodes", fake_api.node("a", "2"))
        self.api.set("pods", fake_api.pod("x", "2", "a"))
        self.start()
        self.wait_for(lambda: self.api.watches["pods"], "no watch of pods")
        for _ in range(3):
            self.api.set("pods", fake_api.pod("x", "2", "a", priority="high"))
        self.api.set("pods", fake_api.pod("odd", "1", priority="high"))  # not scheduled while it is so
        self.api.set("pods", fake_api.pod("p", "1"))
        self.wait_for(lambda: self.was_rejected("p"), "p is not rejected")
        self.api.delete("pods", "x")
        self.wait_for(self.api.bindings, "p is not bound though x is gone")
        self.assertEqual(self.api.bindings(), {"p": "a"})
        self.api.set("pods", fake_api.pod("odd", "1"))
        self.wait_for(lambda: "odd" in self.api.bindings(), "odd is not bound though it can be read")
        self.assertEqual(self.log().count("cannot be read completely"), 2)


class TaintRules(Watch):
    """A kind that a 1.36 server lacks, or whose role does not name it, has no objects."""

    def start(self, *flags):
        self.api.set("nodes", fake_api.node("a", "2"))
        self.api.set("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
        self.api.set("resourceslices", {"metadata": {"name": "s", "uid": "s"}, "spec": {
            "driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "a",
            "devices": [{"name": "x"}]}})
        self.api.set("resourceclaims", {"metadata": {"name": "c", "namespace": "default", "uid": "c"}, "spec": {
            "devices": {"requests": [{"name": "r", "exactly": {
                "deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}}]}}})
        self.api.set("pods", fake_api.pod("p", resourceClaims=[{"name": "c", "resourceClaimName": "c"}]))
        return super().start(*flags)

    def rule(self, **spec):
        return {"metadata": {"name": "r", "uid": "r"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}, **spec}}

    def is_rejected(self):
        with self.api.lock:
            return any(method == "PATCH" and "cannot allocate all claims" in str(body)
                       for method, _, body in self.api.requests)

    def is_allocated(self):
        with self.api.lock:
            return any(method == "PATCH" and "allocation" in str(body) for method, _, body in self.api.requests)

    def test_servers_without_them(self):
        for code in 403, 404:
            with self.subTest(code):
                self.api.refused["devicetaintrules"] = code
                process = self.start("--emulated-version=1.37")
                self.wait_for(self.is_allocated, "no devices")
                self.assertEqual(self.log().count("kind of objects: there are none"), 1)
                self.end(process)
                self.api.requests.clear()

    def test_not_asked_for_in_1_36(self):
        self.api.set("devicetaintrules", self.rule(deviceSelector={}))
        self.start("--emulated-version=1.36")
        self.wait_for(self.is_allocated, "no devices")
        self.assertFalse(any("devicetaintrules" in path for _, path, _ in self.api.requests))

    def test_a_rule_that_goes(self):
        self.api.set("devicetaintrules", self.rule(deviceSelector={"device": "x"}))
        self.start("--emulated-version=1.37")
        self.wait_for(self.is_rejected, "the pod is not rejected")
        self.assertFalse(self.is_allocated())
        self.api.delete("devicetaintrules", "r")
        self.wait_for(self.is_allocated, "no devices though the rule is gone")


class Storms(Watch):
    """A watch that ends without progress is repeated more and more slowly."""

    def check(self, script, relists, lines):
        self.api.script["nodes"] = [*script, fake_api.ENDS]
        self.api.set("nodes", fake_api.node("a"))
        self.api.set("pods", fake_api.pod("first"))
        self.start("--v=1")
        self.wait_for(lambda: len(self.api.watched("nodes")) >= 5, "no more watches")
        self.wait_for(self.api.bindings, "not scheduled during the storm")
        if relists:
            self.wait_for(lambda: len(self.api.watched("nodes")) + len(self.api.lists("nodes")) >= 6, "no relists")
        # The delay grows: from the fifth on, each takes as long as all before.
        self.assertLess(len(self.api.watched("nodes")), 12)
        self.assertEqual(self.log().count("A watch cannot be read"), lines)
        del self.api.script["nodes"]
        self.wait_for(lambda: self.api.watches["nodes"], "no watch that stays")
        self.api.set("nodes", fake_api.node("b", role="b"))
        self.api.set("pods", fake_api.pod("second", nodeSelector={}))
        self.wait_for(lambda: "second" in self.api.bindings(), "not scheduled after the storm")

    def test_garbage(self):
        self.check([b"\x00\x00\x00\x03xyz"], True, 1)

    def test_an_event_without_a_name(self):
        self.check([{"type": "MODIFIED", "object": {"kind": "Node", "apiVersion": "v1", "metadata": 3}}], True, 1)

    def test_gone(self):
        self.check([{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "code": 410}}], True, 0)

    def test_nothing(self):
        self.check([], False, 0)

    def test_internal_error(self):
        self.check([{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "code": 500}}], True, 0)


class SlowExtender(http.server.BaseHTTPRequestHandler):
    """Takes all nodes, after a while."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.called.set()
        self.server.goes_on.wait()
        body = json.dumps({"NodeNames": asked["NodeNames"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Memory(Watch):
    """While a decision takes long, what waits does not grow with the number of changes."""
    UPDATES, BYTES, NODES = 6000, 16 << 10, 20

    def memory(self, process, what):
        with open("/proc/%d/status" % process.pid, encoding="ascii") as status:
            return int(re.search(what + r":\s+(\d+) kB", status.read()).group(1)) << 10

    def extender(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowExtender)
        server.called, server.goes_on = threading.Event(), threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for clean_up in (server.server_close, thread.join, server.shutdown, server.goes_on.set):
            self.addCleanup(clean_up)
        return server

    @unittest.skipIf(cli.sanitized(), "a sanitizer keeps memory that was freed")
    def test_node_updates_during_a_slow_decision(self):
        extender = self.extender()
        for i in range(self.NODES):
            self.api.set("nodes", fake_api.node("n%d" % i))
        process = self.start(extenders=[{
            "urlPrefix": "http://127.0.0.1:%d" % extender.server_address[1], "filterVerb": "filter",
            "nodeCacheCapable": True, "httpTimeout": "600s"}])
        self.wait_for(lambda: self.api.watches["nodes"], "no watch of nodes")
        self.api.set("pods", fake_api.pod("p"))
        self.wait_for(extender.called.is_set, "the extender is not called")
        before = self.memory(process, "VmRSS")
        events = self.api.watches["nodes"][0]
        for i in range(self.UPDATES):
            thing = fake_api.node("n%d" % (i % self.NODES), annotations={"a": "x" * self.BYTES})
            self.api.version += 1
            thing["metadata"]["resourceVersion"] = str(self.api.version)
            events.put({"type": "MODIFIED", "object": thing})
            while events.qsize() > 100:
                time.sleep(0.001)
        self.api.set("nodes", fake_api.node("n0", labels={"last": "yes"}))
        self.wait_for(events.empty, "the updates are not read")
        extender.goes_on.set()
        self.api.set("pods", fake_api.pod("q", nodeSelector={"last": "yes"}))
        self.wait_for(lambda: len(self.api.bindings()) == 2, "not bound")
        self.assertEqual(self.api.bindings()["q"], "n0")
        self.assertLess(self.memory(process, "VmHWM") - before, self.UPDATES * self.BYTES / 4)
        self.assertLess(self.memory(process, "VmRSS") - before, self.UPDATES * self.BYTES / 8)

    @unittest.skipIf(cli.sanitized(), "a sanitizer keeps memory that was freed")
    def test_resources_that_no_node_has(self):
        nodes, names = 5000, 10000
        for i in range(nodes):
            self.api.set("nodes", fake_api.node("n%d" % i))
        process = self.start()
        self.wait_for_line("Caches are synced")
        self.api.set("pods", fake_api.pod("first"))
        self.wait_for(lambda: "first" in self.api.bindings(), "not bound")
        before = self.memory(process, "VmHWM")
        greedy = fake_api.pod("greedy")
        greedy["spec"]["containers"][0]["resources"]["requests"].update(
            {"example.com/resource-with-a-name-%d" % i: "1" for i in range(names)})
        self.api.set("pods", greedy)
        self.wait_for(lambda: any(path.endswith("/greedy/status") for _, path, _ in list(self.api.requests)),
                      "it is not decided")
        self.api.delete("pods", "greedy")
        for i in range(10):
            self.api.set("nodes", fake_api.node("n%d" % i, labels={"last": "yes"}))
        self.api.set("pods", fake_api.pod("q", nodeSelector={"last": "yes"}))
        self.wait_for(lambda: "q" in self.api.bindings(), "not bound")
        # A column per name would be 8 bytes for each node, several times.
        self.assertLess(self.memory(process, "VmHWM") - before, nodes * names)
        self.assertLess(self.memory(process, "VmRSS") - before, nodes * names / 4)


if __name__ == "__main__":
    unittest.main()
