#!/usr/bin/env python3
"""An extender with all the bad manners that a scheduler must survive.

usage: liar.py

The path says what it does: /slow/... answers after a minute, /drip/... sends a byte now and then and never ends, and
so on. Listens on a free port of 127.0.0.1, prints it, and ends when its standard input does.
"""
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

closed = set()


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
        manner, self.verb = self.path.strip("/").split("/")[:2]
        try:
            getattr(self, "be_" + manner)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def fair(self):
        names = self.args["NodeNames"]
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


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
