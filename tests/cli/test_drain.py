"""The end of a leader: its lease is given back only when nothing that it began can change the cluster any more."""
import http.server
import json
import subprocess
import threading
import unittest

import live


class Handler(live.Handler):
    """A cluster with a node and a pod that waits."""
    NODE = {"metadata": {"name": "n", "uid": "u-n", "resourceVersion": "1"},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
    POD = {"metadata": {"name": "p", "namespace": "default", "uid": "u-p", "resourceVersion": "1"},
           "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}]}}

    def answer(self, code, answer):
        if answer.get("kind") in ("NodeList", "PodList"):
            answer["items"] = [self.NODE if answer["kind"] == "NodeList" else self.POD]
        super().answer(code, answer)


class Extender(http.server.BaseHTTPRequestHandler):
    """Binds, and answers when it is told to."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.called.set()
        self.server.may_answer.wait()
        body = json.dumps({"Error": ""}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class GivingBack(live.Live):
    def setUp(self):
        super().setUp()
        self.api = self.enterContext(live.api_server(handler=Handler))
        self.url = "http://127.0.0.1:%d" % self.api.server_address[1]
        self.kubeconfig = self.write_kubeconfig({"token": "t"})
        self.extender = self.enterContext(live.Server(("127.0.0.1", 0), Extender))
        self.extender.called, self.extender.may_answer = threading.Event(), threading.Event()
        threading.Thread(target=self.extender.serve_forever).start()
        self.addCleanup(self.extender.shutdown)
        self.addCleanup(self.extender.may_answer.set)

    def begin(self, lease_duration="6s"):
        """A scheduler that was told to end while an extender binds the pod."""
        config = self.config(
            leaderElection={"leaderElect": True, "leaseDuration": lease_duration, "renewDeadline": "4s",
                            "retryPeriod": "1s"},
            extenders=[{"urlPrefix": "http://127.0.0.1:%d" % self.extender.server_address[1], "bindVerb": "bind",
                        "httpTimeout": "60s"}])
        process = self.start(config=config)
        self.wait_for(self.extender.called.is_set, "the extender is not called")
        process.send_signal(live.signal.SIGTERM)
        self.wait_for_line("Requested to terminate")
        return process

    def holder(self):
        return self.api.lease["spec"].get("holderIdentity")

    def test_answered(self):
        process = self.begin()
        self.assertTrue(self.holder())
        self.extender.may_answer.set()
        self.assertEqual(process.wait(), 0, self.log())
        self.assertFalse(self.holder(), "the lease was not given back\n" + self.log())

    def test_answered_late(self):
        """Other requests are awaited for five seconds, a binding for as long as the lease could last."""
        process = self.begin(lease_duration="120s")
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(6)
        self.extender.may_answer.set()
        self.assertEqual(process.wait(), 0, self.log())
        self.assertFalse(self.holder(), "the lease was not given back\n" + self.log())

    def test_not_answered(self):
        """The lease expires by itself: the next leader begins when this binding is long decided."""
        process = self.begin()
        self.assertEqual(process.wait(), 0, self.log())
        self.assertTrue(self.holder(), "the lease was given back while the extender binds\n" + self.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
