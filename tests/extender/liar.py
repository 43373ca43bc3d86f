#!/usr/bin/env python3
"""An extender with all the bad manners that a scheduler must survive.

usage: liar.py [ADDRESS]

The path says what it does: /slow/... answers after a minute, /drip/... sends a byte now and then and never ends, and
so on. It serves as a proxy just as well, and is then the server itself. Listens on a free port of ADDRESS (127.0.0.1),
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
BOMB = gzip.compress(b" " * (48 << 20), 1)  # a few kilobytes that are many megabytes


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
        self.behave()

    def do_GET(self):
        """Without a question: what a redirect may come to."""
        self.args = {"NodeNames": ["b"]}
        self.behave()

    def behave(self):
        manner, self.verb = urllib.parse.urlsplit(self.path).path.strip("/").split("/")[:2]
        try:
            getattr(self, "be_" + manner)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def fair(self):
        names = self.args.get("NodeNames")
        if self.verb == "bind":
            return {}
        if self.verb == "filter":
            return {"NodeNames": names}
        return [{"Host": name, "Score": 10 if name == "b" else 0} for name in names]

    def be_fair(self):
        self.answer(json.dumps(self.fair()).encode())

    def be_mild(self):
        self.answer(b"{}")

    def be_slow(self):
        time.sleep(60)

    def be_drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def be_endless(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"[" * 65536
        while True:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def be_deep(self):
        self.answer(b"[" * (4 << 20))

    def be_silent(self):
        self.hang_up()

    def be_cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b'{"NodeNames":')
        self.hang_up()

    def be_fickle(self):
        """Hangs up on the first question."""
        if self.path in closed:
            self.be_fair()
        else:
            closed.add(self.path)
            self.hang_up()

    def be_redirect(self):
        self.answer(b"", 307, [("Location", "/fair/" + self.verb)])

    def be_moved(self):
        """For good, and to another server by its whole address."""
        host = self.headers["Host"]
        self.answer(b"over there", 308, [("Location", "http://%s/redirect/%s?for=good" % (host, self.verb))])

    def be_other(self):
        """The answer is to be had elsewhere, without a question."""
        self.answer(b"", 303, [("Location", "../fair/" + self.verb)])

    def be_astray(self):
        self.answer(b"", 307)

    def be_circle(self):
        self.answer(b"", 307, [("Location", self.path)])

    def be_abroad(self):
        self.answer(b"", 307, [("Location", "file:///etc/passwd")])

    def be_packed(self):
        self.answer(gzip.compress(json.dumps(self.fair()).encode()), 200, [("Content-Encoding", "gzip")])

    def be_crumpled(self):
        self.answer(b"this is not gzip", 200, [("Content-Encoding", "gzip")])

    def be_bomb(self):
        self.answer(BOMB, 200, [("Content-Encoding", "gzip")])

    def be_chunked(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for byte in json.dumps(self.fair()).encode():
            self.wfile.write(b"1\r\n%c\r\n" % byte)
        self.wfile.write(b"0\r\n\r\n")

    def be_polite(self):
        """Says that it will close the connection, and does."""
        self.answer(json.dumps(self.fair()).encode(), 200, [("Connection", "close")])
        self.close_connection = True

    def be_rude(self):
        """Closes it without a word."""
        self.be_fair()
        self.hang_up()

    def be_lengthy(self):
        """Fails, and has a lot to say about it."""
        self.send_response(500)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def be_wordy(self):
        """Says all that there is to say, and then does not end."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(json.dumps(self.fair()).encode())
        self.hang_up()

    def be_late(self):
        time.sleep(5)
        self.be_fair()

    def be_foreign(self):
        """Speaks of nodes that nobody knows."""
        self.answer(json.dumps({"NodeNames": ["nowhere"]} if self.verb == "filter"
                               else [{"Host": "nowhere", "Score": 10}]).encode())

    def be_confused(self):
        self.answer(json.dumps({"NodeNames": [1, {"a": None}]} if self.verb == "filter"
                               else [{"Host": 7, "Score": "10"}]).encode())

    def be_excited(self):
        """Scores beyond all bounds, and nodes that both pass and fail."""
        names = self.args["NodeNames"]
        self.answer(json.dumps({"NodeNames": names, "FailedNodes": {name: "x" * 9999 for name in names}}
                               if self.verb == "filter" else
                               [{"Host": "b", "Score": 2 ** 63 - 1}, {"Host": "a", "Score": -2 ** 63}]).encode())

    def be_broken(self):
        self.answer(b"{}", 500)

    def be_created(self):
        self.answer(json.dumps(self.fair()).encode(), 201)

    def be_empty(self):
        self.answer(b"")

    def be_html(self):
        self.answer(b"<html>It works!</html>")

    def be_garbage(self):
        self.wfile.write(b"\0\1\2 this is no HTTP\r\n\r\n")
        self.hang_up()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Who is lied to may hang up."""


def main():
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
    if ":" in address:
        Server.address_family = socket.AF_INET6
    server = Server((address, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
