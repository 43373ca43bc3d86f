"""Clients of `berth cluster` that are slow, silent, greedy or broken: the cluster goes on, and its memory is bounded."""
import io
import json
import socket
import ssl
import tempfile

import cli
import dev_cluster

MIB = 1 << 20
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name, size=0):
    return {"metadata": {"name": name}, "data": {"text": "x" * size}}


class Answer(io.RawIOBase):
    """What comes over a connection, some of which was received ahead of reading it."""

    def __init__(self, connection):
        super().__init__()
        self.connection, self.ahead = connection, b""

    def receive(self, size):
        end = len(self.ahead) + size
        while len(self.ahead) < end:
            part = self.connection.recv(end - len(self.ahead))
            if not part:
                raise AssertionError("the server ended the connection")
            self.ahead += part

    def readable(self):
        return True

    def readinto(self, buffer):
        part = self.ahead[:len(buffer)] or self.connection.recv(len(buffer))
        self.ahead = self.ahead[len(part):]
        buffer[:len(part)] = part
        return len(part)


class Hostile(cli.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.cluster = dev_cluster.Cluster(cls.folder.name, "--nodes", "1")

    @classmethod
    def tearDownClass(cls):
        code = cls.cluster.stop()
        printed = cls.cluster.printed()
        cls.folder.cleanup()
        assert code == 0, "exit code %d\n%s" % (code, printed)
        super().tearDownClass()

    def tearDown(self):
        """Whatever a client did: others are answered."""
        self.assertTrue(self.cluster.is_alive(), self.cluster.printed())
        self.assertEqual(self.cluster.request("GET", "/api/v1/nodes/node-0")[0], 200)
        super().tearDown()

    def tls(self, receives=0):
        """A connection without a client of HTTP on it."""
        context = ssl.create_default_context(cadata=self.cluster.authority)
        context.check_hostname = False
        raw = socket.socket()
        if receives:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        raw.settimeout(120)
        raw.connect((self.cluster.host, self.cluster.port))
        connection = context.wrap_socket(raw)
        self.addCleanup(connection.close)
        return connection

    def head(self, method, path, *lines, token=True):
        all_lines = ["%s %s HTTP/1.1" % (method, path), "Host: x", *lines]
        if token:
            all_lines.append("Authorization: Bearer " + self.cluster.token)
        return ("\r\n".join(all_lines) + "\r\n\r\n").encode()

    def status_of(self, text):
        connection = self.tls()
        connection.sendall(text)
        return int(connection.recv(100).split()[1])

    # ---- without a token ----
    def test_without_token(self):
        bearer = "Authorization: Bearer "
        for path, line, want in (("/healthz", "X: y", 200), ("/version", "X: y", 200), ("/api/v1/pods", "X: y", 403),
                                 ("/api/v1/pods?watch=1", "X: y", 403), ("/apis", "X: y", 403), ("/nothing", "X: y", 403),
                                 ("/api/v1/pods", bearer + "x", 401), ("/api/v1/pods", bearer, 401),
                                 ("/healthz", bearer + self.cluster.token[:-1], 401),
                                 ("/api/v1/pods", "Authorization: Basic eDp5", 403)):
            with self.subTest(path=path, line=line):
                self.assertEqual(self.status_of(self.head("GET", path, line, token=False)), want)

    def test_bodies_without_token(self):
        """A body that would be refused anyway is not even received."""
        for size, token, want in ((60000, False, 403), (70000, False, 413), (70000, True, 201), (4 * MIB, True, 413)):
            with self.subTest(size=size, token=token):
                body = json.dumps(config_map("body", size)).encode()
                head = self.head("POST", CONFIG_MAPS, "Content-Length: %d" % len(body), token=token)
                self.assertEqual(self.status_of(head + (b"" if want == 413 else body)), want)
        self.cluster.request("DELETE", CONFIG_MAPS + "/body")

    # ---- broken requests ----
    def test_huge_heads(self):
        for head, want in ((self.head("GET", "/api/v1/pods", "X: " + "y" * 70000), 431),
                           (self.head("GET", "/api/v1/pods?labelSelector=" + "a" * 70000), 431),
                           (self.head("GET", "/api/v1/pods", *["X: y"] * 200), 431)):
            self.assertEqual(self.status_of(head), want)

    def test_deep_bodies(self):
        deep = "[" * 100000 + "]" * 100000
        for content_type, body in (("application/json", '{"data":' + deep + "}"),
                                   ("application/yaml", "data: " + "[" * 5000),
                                   ("application/vnd.kubernetes.protobuf", b"k8s\0" + b"\x0a\x7f" * 1000)):
            with self.subTest(content_type=content_type):
                self.assertEqual(self.cluster.request("POST", CONFIG_MAPS, body, content_type)[0], 400)
        self.assertEqual(self.cluster.request("POST", CONFIG_MAPS, config_map("deep"))[0], 201)
        for content_type in ("application/json-patch+json", "application/merge-patch+json",
                             "application/strategic-merge-patch+json"):
            with self.subTest(content_type=content_type):
                body = '[{"op":"add","path":"/data","value":%s}]' % deep if "json-p" in content_type else '{"data":%s}' % deep
                status, _ = self.cluster.request("PATCH", CONFIG_MAPS + "/deep", body, content_type)
                self.assertIn(status, (400, 422))
        status, _ = self.cluster.request("PATCH", CONFIG_MAPS + "/deep?fieldManager=x", "data: " + "[" * 5000,
                                         "application/apply-patch+yaml")
        self.assertEqual(status, 400)

    def test_objects_that_grow(self):
        """Patches cannot make an object larger than a request may be."""
        self.assertEqual(self.cluster.request("POST", CONFIG_MAPS, config_map("grows"))[0], 201)
        statuses = [self.cluster.request("PATCH", CONFIG_MAPS + "/grows", {"data": {"part%d" % i: "x" * MIB}},
                                         "application/merge-patch+json")[0] for i in range(4)]
        self.assertEqual(statuses, [200, 200, 413, 413])
        self.assertEqual(self.cluster.request("DELETE", CONFIG_MAPS + "/grows")[0], 200)

    # ---- connections ----
    def test_silent_connections(self):
        """Some say nothing, some stop in the middle, some close one direction."""
        for _ in range(150):
            silent = socket.create_connection((self.cluster.host, self.cluster.port))
            self.addCleanup(silent.close)
        whole = self.head("GET", "/api/v1/nodes")
        for text in (whole[:20], self.head("POST", CONFIG_MAPS, "Content-Length: 1000")[:-1],
                     self.head("POST", CONFIG_MAPS, "Content-Length: 1000") + b"{"):
            for _ in range(10):
                self.tls().sendall(text)
        closes = self.tls()
        closes.sendall(whole)
        closes.shutdown(socket.SHUT_WR)
        self.assertEqual(self.cluster.request("GET", "/api/v1/nodes")[0], 200)

    # ---- watches ----
    def test_many_watches(self):
        watches = []
        for _ in range(100):
            watch = self.tls()
            watch.sendall(self.head("GET", "/api/v1/watch/namespaces/default/secrets"))
            watches.append(watch)
        for watch in watches:
            self.assertTrue(watch.recv(1000).startswith(b"HTTP/1.1 200 "))
        secret = {"metadata": {"name": "seen-by-all"}}
        self.assertEqual(self.cluster.request("POST", "/api/v1/namespaces/default/secrets", secret)[0], 201)
        for watch in watches:
            text = b""
            while b"seen-by-all" not in text:
                part = watch.recv(10000)
                self.assertTrue(part, "a watch ended")
                text += part

    @staticmethod
    def events(file):
        """The events of a watch until it ends."""
        while file.readline().strip():
            pass  # the head
        text = b""
        while True:
            size = int(file.readline(), 16)
            if not size:
                return
            text += file.read(size)
            file.readline()
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                yield json.loads(line)

    def test_clients_that_do_not_read(self):
        """A watch costs its client's memory. One that falls behind the history gets 410, having missed nothing before."""
        large, watchers = 2 * MIB, 30
        for i in range(6):
            self.assertEqual(self.cluster.request("POST", CONFIG_MAPS, config_map("large-%d" % i, large))[0], 201)
        before = self.cluster.memory()
        watches = []
        for i in range(watchers):
            watch = self.tls(receives=4096 if i else 65536)  # the first one will be read in the end
            watch.sendall(self.head("GET", CONFIG_MAPS + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                                    "&resourceVersionMatch=NotOlderThan"))
            watches.append(watch)
        # The answer to a later request: all watches have begun.
        self.assertEqual(self.cluster.request("GET", "/api/v1/nodes")[0], 200)
        # More than the history keeps. The first one takes so little meanwhile that it falls behind; a client that takes
        # nothing for a minute, which is not much on a slow machine, would lose its connection.
        answer, versions = Answer(watches[0]), []
        for i in range(40):
            answer.receive(64 << 10)
            status, written = self.cluster.request("PUT", CONFIG_MAPS + "/large-0", config_map("large-0", large + i))
            self.assertEqual(status, 200)
            versions.append(written["metadata"]["resourceVersion"])
        if not cli.sanitized():
            # All of them unread would be 30 * 6 * 2 MiB, and as much again for each change.
            self.assertLess(self.cluster.memory() - before, 256)
        got = list(self.events(io.BufferedReader(answer)))
        self.assertEqual([event["type"] for event in got[:-1] if event["type"] == "BOOKMARK"], ["BOOKMARK"])
        self.assertEqual((got[-1]["type"], got[-1]["object"]["code"]), ("ERROR", 410))
        seen = [event["object"]["metadata"]["resourceVersion"] for event in got if event["type"] == "MODIFIED"]
        self.assertEqual(seen, versions[:len(seen)])
        self.cluster.request("DELETE", CONFIG_MAPS)


if __name__ == "__main__":
    cli.main()
