"""Prometheus for tests: one whose answers the test makes, and the real one with an exporter whose numbers the test sets."""
import http.server
import json
import shutil
import ssl
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import server
from ports import free_port


def needs(program):
    """Skips a test where there is no such program of Debian's package prometheus."""
    return unittest.skipUnless(shutil.which(program), "there is no %s; tools/install-deps test installs it" % program)


class Server(http.server.ThreadingHTTPServer):
    """Serves what `get(handler)` writes, in threads. `pair`: certificate and key, for https."""
    daemon_threads = True

    def __init__(self, case, get, pair=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                get(self)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        scheme = "http"
        if pair:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*pair)
            self.socket = context.wrap_socket(self.socket, server_side=True)
            scheme = "https"
        self.url = "%s://127.0.0.1:%d" % (scheme, self.server_port)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        case.addCleanup(self.server_close)
        case.addCleanup(self.shutdown)

    def handle_error(self, request, client_address):
        """A client that does not trust the certificate goes away; so does one that has ended."""


def write(handler, status, body, kind="application/json", **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def vector(rows, at=None):
    """The answer to a query: labels and value of each series."""
    now = time.time() if at is None else at
    return {"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": labels, "value": [now, str(value)]} for labels, value in rows]}}


def matrix(rows):
    """The answer to a query for ranges: labels, and times with values."""
    return {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": labels, "values": [[at, str(value)] for at, value in points]} for labels, points in rows]}}


class Fake:
    """answer(query) gives the body of the answer, or calls write() with the handler and returns None."""

    def __init__(self, case, answer, pair=None):
        self.asked, self.tokens, self.answer = [], [], answer
        self.server = Server(case, self.get, pair)
        self.url = self.server.url

    def get(self, handler):
        url = urllib.parse.urlparse(handler.path)
        query = urllib.parse.parse_qs(url.query).get("query", [""])[0]
        self.asked.append((url.path, query))
        self.tokens.append(handler.headers.get("Authorization"))
        body = self.answer(handler, query)
        if body is not None:
            write(handler, 200, body)


class Exporter:
    """A page of metrics, whose text page() gives."""

    def __init__(self, case, page):
        self.page = page
        self.server = Server(case, self.get)
        self.address = "127.0.0.1:%d" % self.server.server_port

    def get(self, handler):
        write(handler, 200, self.page().encode(), "text/plain; version=0.0.4")


class Prometheus:
    """A process that scrapes these jobs."""

    def __init__(self, case, jobs, **config):
        self.case, self.port = case, free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.log = case.path("prometheus.log")
        path = case.write("prometheus.yaml", json.dumps({**config, "scrape_configs": jobs}))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file", path, "--storage.tsdb.path", case.path("data"),
                 "--web.listen-address=127.0.0.1:%d" % self.port], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        case.wait("Prometheus is ready", self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8") as log:
                self.case.fail("Prometheus ended:\n" + log.read())
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=server.PATIENCE) as answer:
                return answer.status == 200
        except OSError:
            return False

    def ask(self, path, **query):
        url = "%s/api/v1/%s?%s" % (self.url, path, urllib.parse.urlencode(query))
        try:
            with urllib.request.urlopen(url, timeout=server.PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            self.case.fail("%s: %s" % (query, error.read().decode()))
