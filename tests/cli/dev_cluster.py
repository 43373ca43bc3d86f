"""A running `berth cluster`, and a client of it without any library of Kubernetes."""
import base64
import http.client
import json
import os
import re
import signal
import ssl
import subprocess

import cli


class Cluster:
    """Starts it in `folder`; flags are those of the command. After kill() or stop(), start() starts it again."""

    def __init__(self, folder, *flags):
        self.folder, self.flags = folder, flags
        self.kubeconfig, self.log = os.path.join(folder, "kubeconfig"), os.path.join(folder, "log")
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([cli.BERTH, "cluster", "--kubeconfig", self.kubeconfig, *self.flags],
                                            stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline().decode()
        if "is ready" not in line:
            raise AssertionError("berth cluster does not start: " + line + self.printed())
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read()
        self.host, port = re.search(r"server: https://([^:]*):(\d+)", text).groups()
        self.port = int(port)
        self.token = re.search(r"token: (\S+)", text).group(1)
        self.authority = base64.b64decode(re.search(r"authority-data: (\S+)", text).group(1)).decode()

    def printed(self):
        """What it logged."""
        with open(self.log, "rb") as file:
            return file.read().decode(errors="replace")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """Ends it, and returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=120)
        self.process.stdout.close()
        return code

    def is_alive(self):
        return self.process.poll() is None

    def memory(self):
        """The resident set in MiB."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1)) / 1024

    def connect(self, timeout=120):
        context = ssl.create_default_context(cadata=self.authority)
        context.check_hostname = False
        return http.client.HTTPSConnection(self.host, self.port, context=context, timeout=timeout)

    def headers(self, content_type="application/json"):
        return {"Authorization": "Bearer " + self.token, "Content-Type": content_type}

    def request(self, method, path, body=None, content_type="application/json", connection=None, headers=None):
        """The status and the parsed answer."""
        own = connection or self.connect()
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        own.request(method, path, body=data, headers=headers or self.headers(content_type))
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        return answer.status, json.loads(text) if text.startswith(b"{") else text.decode(errors="replace")
