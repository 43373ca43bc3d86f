"""Secrets in the memory of a running scheduler: what is not in use any more is not there any more."""
import base64
import http.client
import json
import os
import random
import shutil
import ssl
import string
import subprocess
import unittest

import cli
import live

PIECE = 300  # more than vector registers hold, which are saved on stacks


class Handler(live.Handler):
    """Every token is that of an administrator. The answer holds it again, as a real API server's does."""

    def do_POST(self):
        if not self.path.endswith("reviews"):
            live.Handler.do_POST(self)
            return
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.reviews.append(self.path.rsplit("/", 1)[1])
        review["status"] = {"authenticated": True, "allowed": True, "user": {"username": "admin"}}
        self.answer(201, review)


def make_secret():
    return "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=4 * PIECE))


class Secrets(live.Live):
    tls = True

    def make_api(self):
        server = self.enterContext(live.api_server(self.api_pair, Handler))
        server.reviews = []
        return server

    def write_yaml(self, spare):
        """With a user that is used, and one that is not."""
        self.kubeconfig = self.write("kubeconfig", f"""
apiVersion: v1
kind: Config
current-context: x
clusters: [{{name: c, cluster: {{server: "{self.url}", certificate-authority: {self.api_pair[0]}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
users:
- name: u
  user:
    token: t
- name: spare
  user:
    username: somebody
    password: {spare["password"]}
- name: other
  user:
    token: "{spare["token"]}"
    client-key-data: {spare["key"]}
""")
        return self.kubeconfig

    def copies(self, process, secret):
        """How many pieces of it are in the memory that the process can write."""
        pieces = [secret[at:at + PIECE].encode() for at in range(0, len(secret) - PIECE + 1, PIECE)]
        found = 0
        with open("/proc/%d/maps" % process.pid, encoding="utf-8") as maps, \
             open("/proc/%d/mem" % process.pid, "rb", 0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if not rights.startswith("rw") or "[vvar]" in line:
                    continue
                start, end = (int(number, 16) for number in span.split("-"))
                memory.seek(start)
                held = memory.read(end - start)
                found += sum(held.count(piece) for piece in pieces)
        return found

    def assert_gone(self, process, **secrets):
        left = {}

        def gone():
            left.update({name: self.copies(process, secret) for name, secret in secrets.items()})
            return not any(left.values())
        try:
            self.wait_for(gone, seconds=20)
        except AssertionError:
            self.fail("pieces that are left: %r" % left)

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=ssl._create_unverified_context())

    def ask(self, connection, token):
        connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + token})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def ask_by_http2(self, token):
        header = self.write("header", "Authorization: Bearer " + token)
        done = subprocess.run(["curl", "-sk", "--http2", "-H", "@" + header, "-o", os.devnull, "-w",
                               "%{http_version} %{http_code}", "https://127.0.0.1:%d/metrics" % self.port],
                              capture_output=True, text=True, check=False)
        return done.stdout

    @unittest.skipIf(cli.sanitized(), "a sanitizer keeps memory that was freed")
    def test_memory(self):
        spare = {"password": make_secret(), "token": make_secret(),
                 "key": base64.b64encode(make_secret().encode()).decode()}
        self.write_yaml(spare)
        process = self.start("--authentication-kubeconfig", self.kubeconfig, "--authorization-kubeconfig",
                             self.kubeconfig, "--authentication-skip-lookup")
        self.wait_for_line("Successfully acquired lease")
        self.assert_gone(process, **spare)
        caller, other = make_secret(), make_secret()
        connection = self.connect()
        self.addCleanup(connection.close)
        self.assertEqual(self.ask(connection, caller), 200)
        self.assertIn("tokenreviews", self.api.reviews)
        self.assert_gone(process, token_of_http1=caller)  # the connection is still there
        if shutil.which("curl"):
            self.assertEqual(self.ask_by_http2(other), "2 200")
            self.assert_gone(process, token_of_http2=other)
        self.assertEqual(self.end(process), 0)


if __name__ == "__main__":
    unittest.main()
