#!/usr/bin/env python3
"""A small HTTP/1.1 server with the correct and faulty behavior that the client's tests need.

usage: server.py [--cert FILE --key FILE [--client-ca FILE]] [--proxy]

Listens on a free port of 127.0.0.1, prints the port, and ends when its standard input does.
"""
import argparse
import json
import select
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler

seen = {}
heard = []  # of every request: its path, Authorization and User-Agent
objects = {}
gates = {}
lock = threading.Lock()


def gate(name):
    with lock:
        return gates.setdefault(name, threading.Event())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = url.path.strip("/").split("/")
        with lock:
            seen[url.path] = seen.get(url.path, 0) + 1
            heard.append([url.path, self.headers.get("Authorization"), self.headers.get("User-Agent")])
        getattr(self, "do_" + parts[0], self.missing)(query, *parts[1:])

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any

    def missing(self, query, *rest):
        self.answer(b"no such page", 404)

    def do_hello(self, query, *rest):
        self.answer(b"hello", headers=[("Content-Type", "text/plain")])

    def do_livez(self, query, *rest):
        self.answer(b"ok")

    def do_echo(self, query, *rest):
        what = {
            "method": self.command,
            "path": self.path,
            "body": self.body.decode("latin-1"),
            "headers": {k.lower(): v for k, v in self.headers.items()},
            "peer": subject(self.connection),
        }
        self.answer(json.dumps(what).encode(), headers=[("Content-Type", "application/json")])

    def do_status(self, query, code):
        self.answer(b"status " + code.encode(), int(code))

    def do_guarded(self, query, token):
        """Requires this token."""
        if self.headers.get("Authorization") == "Bearer " + token:
            self.answer(b"welcome")
        else:
            self.answer(b"who are you?", 401)

    def do_apis(self, query, *rest):
        """Objects with resource versions, like an API server."""
        if rest[-1] == "stalled":
            return self.do_stall(query)
        with lock:
            new = json.loads(self.body) if self.body else {}
            name = new.get("metadata", {}).get("name", rest[-1])
            old = objects.get(name)
            if self.command == "POST" if old else self.command != "POST":
                return self.answer(b'{"kind":"Status"}', 409 if old else 404)
            if self.command == "PUT" and new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
                return self.answer(b'{"kind":"Status"}', 409)
            if self.body:
                old = objects[name] = new
                seen["version"] = seen.get("version", 0) + 1
                old["metadata"]["resourceVersion"] = str(seen["version"])
            self.answer(json.dumps(old).encode())

    def do_advice(self, query):
        self.answer(b"later", 429, [("Retry-After", query.get("after", "3")), ("Warning", '299 - "one"'),
                                    ("Warning", '299 - "two"'), ("Content-Type", "application/json")])

    def do_early(self, query):
        """Two informational (1xx) responses before the final one."""
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nWarning: 299 - \"early\"\r\n\r\n")
        self.answer(b"late")

    def do_slow(self, query, ms):
        time.sleep(int(ms) / 1000)
        self.answer(b"at last")

    def do_stall(self, query, *rest):
        time.sleep(600)

    def do_gate(self, query, name):
        """Responds after a request for /open/NAME."""
        gate(name).wait(600)
        self.answer(b"at last")

    def do_open(self, query, name):
        gate(name).set()
        self.answer(b"open")

    def do_big(self, query, size):
        self.answer(b"x" * int(size))

    def do_bottomless(self, query):
        """An endless body without Content-Length."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            self.chunk(b"x" * 65536)

    def do_stream(self, query, count, ms):
        """Lines, one per chunk, with a pause before each."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(int(count)):
            time.sleep(int(ms) / 1000)
            self.chunk(b"line %d\n" % i)
        if "hang" in query:
            time.sleep(600)
        if "reset" in query:
            return self.reset()
        self.wfile.write(b"0\r\n\r\n")

    def do_short(self, query, size):
        """Sends less than its Content-Length, then resets the connection."""
        self.send_response(200)
        self.send_header("Content-Length", str(2 * int(size)))
        self.end_headers()
        self.wfile.write(b"x" * int(size))
        self.wfile.flush()
        time.sleep(0.05)
        self.reset()

    def do_hangup(self, query, *rest):
        """Reads the request and closes the connection."""
        self.reset()

    def do_garbage(self, query):
        self.wfile.write(b"\x16\x03\x01 this is no answer\r\n\r\n")
        self.close_connection = True

    def do_heard(self, query, *rest):
        with lock:
            self.answer("".join("%s %s %s\n" % tuple(request) for request in heard).encode())

    def do_seen(self, query, *rest):
        with lock:
            self.answer(str(seen.get("/" + "/".join(rest), 0)).encode())

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Bypasses the TLS layer, so that no close_notify is sent.
        socket.socket(fileno=self.connection.detach()).close()
        raise ConnectionAbortedError

    def do_CONNECT(self):
        """A proxy: opens a tunnel to the target."""
        with lock:
            seen["CONNECT " + self.path] = seen.get("CONNECT " + self.path, 0) + 1
        if server.password and self.headers.get("Proxy-Authorization") != server.password:
            return self.answer(b"", 407, [("Proxy-Authenticate", "Basic")])
        host, port = self.path.rsplit(":", 1)
        with socket.create_connection(("127.0.0.1", int(port))) as target:
            self.send_response(200)
            self.end_headers()
            with lock:
                print("tunnel", self.path, flush=True)
            try:
                tunnel(self.connection, target)
            except OSError:
                pass
        self.close_connection = True


def tunnel(client, target):
    """Copies data in both directions until one side ends. One thread for both directions: a TLS
    connection must not be read and written at the same time."""
    other = {client: target, target: client}
    while True:
        # select() does not see data that the TLS layer has already buffered.
        pending = isinstance(client, ssl.SSLSocket) and client.pending()
        for source in [client] if pending else select.select(other, [], [])[0]:
            data = source.recv(65536)
            if not data:
                return
            other[source].sendall(data)


def subject(connection):
    """The common name of the client's certificate."""
    cert = connection.getpeercert() if hasattr(connection, "getpeercert") else None
    names = [value for entry in (cert or {}).get("subject", ()) for key, value in entry if key == "commonName"]
    return names[0] if names else ""


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256
    context = None
    password = None

    def finish_request(self, request, address):
        request.settimeout(600)
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, address)

    def handle_error(self, request, address):
        pass


parser = argparse.ArgumentParser()
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--client-ca")
parser.add_argument("--password")
args = parser.parse_args()

server = Server(("127.0.0.1", 0), Handler)
server.password = args.password
if args.cert:
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(args.cert, args.key)
    if args.client_ca:
        server.context.load_verify_locations(args.client_ca)
        server.context.verify_mode = ssl.CERT_OPTIONAL
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
