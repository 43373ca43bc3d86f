#!/usr/bin/env python3
"""An extender that misbehaves in every way a scheduler must survive.

usage: misbehaving.py [ADDRESS]

The first part of the path selects the fault: /slow/... replies after a minute, /drip/... sends single bytes and never
ends, and so on. It also accepts requests to a proxy and replies to them itself. Listens on a free port of ADDRESS (127.0.0.1),
prints it, and ends when its standard input does.
"""
import gzip
import json
import socket
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

closed = set()
BOMB = gzip.compress(b" " * (48 << 20), 1)  # a few kilobytes that expand to 48 MiB


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
        self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def do_POST(self):
        self.args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.run_fault()

    def do_GET(self):
        """A redirect may turn a request into a GET without a body."""
        self.args = {"NodeNames": ["b"]}
        self.run_fault()

    def run_fault(self):
        fault, self.verb = urllib.parse.urlsplit(self.path).path.strip("/").split("/")[:2]
        try:
            getattr(self, "fault_" + fault.replace("-", "_"))()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def correct(self):
        names = self.args.get("NodeNames")
        if self.verb == "bind":
            return {}
        if self.verb == "filter":
            return {"NodeNames": names}
        return [{"Host": name, "Score": 10 if name == "b" else 0} for name in names]

    def fault_correct(self):
        self.answer(json.dumps(self.correct()).encode())

    def fault_empty_object(self):
        self.answer(b"{}")

    def fault_slow(self):
        time.sleep(60)

    def fault_drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def fault_endless(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"[" * 65536
        while True:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def fault_deep(self):
        self.answer(b"[" * (4 << 20))

    def fault_close(self):
        self.hang_up()

    def fault_cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b'{"NodeNames":')
        self.hang_up()

    def fault_close_first(self):
        """Closes the connection on the first request."""
        if self.path in closed:
            self.fault_correct()
        else:
            closed.add(self.path)
            self.hang_up()

    def fault_redirect(self):
        self.answer(b"", 307, [("Location", "/correct/" + self.verb)])

    def fault_redirect_absolute(self):
        """A permanent redirect to an absolute URL."""
        host = self.headers["Host"]
        self.answer(b"over there", 308, [("Location", "http://%s/redirect/%s?permanent" % (host, self.verb))])

    def fault_redirect_to_get(self):
        """The redirect turns the request into a GET."""
        self.answer(b"", 303, [("Location", "../correct/" + self.verb)])

    def fault_redirect_nowhere(self):
        self.answer(b"", 307)

    def fault_redirect_loop(self):
        self.answer(b"", 307, [("Location", self.path)])

    def fault_redirect_to_file(self):
        self.answer(b"", 307, [("Location", "file:///etc/passwd")])

    def fault_gzip(self):
        self.answer(gzip.compress(json.dumps(self.correct()).encode()), 200, [("Content-Encoding", "gzip")])

    def fault_bad_gzip(self):
        self.answer(b"this is not gzip", 200, [("Content-Encoding", "gzip")])

    def fault_bomb(self):
        self.answer(BOMB, 200, [("Content-Encoding", "gzip")])

    def fault_chunked(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for byte in json.dumps(self.correct()).encode():
            self.wfile.write(b"1\r\n%c\r\n" % byte)
        self.wfile.write(b"0\r\n\r\n")

    def fault_connection_close(self):
        """Announces that it closes the connection, and closes it."""
        self.answer(json.dumps(self.correct()).encode(), 200, [("Connection", "close")])
        self.close_connection = True

    def fault_close_after(self):
        """Closes the connection without announcing it."""
        self.fault_correct()
        self.hang_up()

    def fault_long_error(self):
        """An error status with a body that never ends."""
        self.send_response(500)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def fault_short_body(self):
        """A complete reply, but shorter than its Content-Length."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(json.dumps(self.correct()).encode())
        self.hang_up()

    def fault_late(self):
        time.sleep(5)
        self.fault_correct()

    def fault_unknown_node(self):
        """Names a node that was not in the request."""
        self.answer(json.dumps({"NodeNames": ["nowhere"]} if self.verb == "filter"
                               else [{"Host": "nowhere", "Score": 10}]).encode())

    def fault_wrong_types(self):
        self.answer(json.dumps({"NodeNames": [1, {"a": None}]} if self.verb == "filter"
                               else [{"Host": 7, "Score": "10"}]).encode())

    def fault_extreme_scores(self):
        """Scores at the limits of 64 bits, and nodes that both pass and fail."""
        names = self.args["NodeNames"]
        self.answer(json.dumps({"NodeNames": names, "FailedNodes": {name: "x" * 9999 for name in names}}
                               if self.verb == "filter" else
                               [{"Host": "b", "Score": 2 ** 63 - 1}, {"Host": "a", "Score": -2 ** 63}]).encode())

    def fault_broken(self):
        self.answer(b"{}", 500)

    def fault_created(self):
        self.answer(json.dumps(self.correct()).encode(), 201)

    def fault_empty(self):
        self.answer(b"")

    def fault_html(self):
        self.answer(b"<html>It works!</html>")

    def fault_garbage(self):
        self.wfile.write(b"\0\1\2 this is no HTTP\r\n\r\n")
        self.hang_up()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """The client may close the connection at any time."""


def main():
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
    if ":" in address:
        Server.address_family = socket.AF_INET6
    server = Server((address, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
