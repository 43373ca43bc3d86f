"""The live page as the scheduler serves it, and the tunnel of `berth ui`."""
import http.client
import json
import re
import signal
import subprocess

import cli
import running_cluster


class Tunnel:
    """A running `berth ui`."""

    def __init__(self, case, cluster, *args):
        self.process = subprocess.Popen([cli.BERTH, "ui", *cluster.flags, *args], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        case.addCleanup(self.stop)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            case.fail(self.process.stderr.read())
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{40})/ui/", self.url)
        case.assertTrue(found, self.url)
        self.port, self.prefix = int(found[1]), found[2]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def ask(self, path, method="GET", host=None):
        """(status, headers, text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or "127.0.0.1:%d" % self.port)
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read().decode()
        connection.close()
        return found


class Page(cli.Case):
    def assert_strict(self, headers):
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        self.assertEqual(policy["default-src"], "'none'")
        self.assertEqual(policy["script-src"], "'self'")
        self.assertEqual(policy["style-src"], "'self'")
        self.assertEqual(policy["connect-src"], "'self'")
        self.assertEqual(policy["frame-ancestors"], "'none'")
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")

    def test_it_is_for_clients_with_the_right(self):
        cluster = running_cluster.Served(self, "--nodes", "1")
        status, headers, text = cluster.page("/ui/", cluster.token)
        self.assertEqual(status, 200)
        self.assert_strict(headers)
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        scripts = re.findall(r'(?:src|href)="([^":]+)"', text)
        self.assertGreater(len(scripts), 5)
        for path in ("/ui/", "/ui/base.js", "/debug/berth/nodes", "/debug/berth/rates"):
            self.assertEqual(cluster.page(path)[0], 403, path)
            self.assertEqual(cluster.page(path, "wrong")[0], 401, path)
        for script in [path for path in scripts if not path.startswith("#")]:
            status, headers, text = cluster.page("/ui/" + script, cluster.token)
            self.assertEqual(status, 200, script)
            self.assert_strict(headers)
            self.assertRegex(headers["Content-Type"], "^text/(javascript|css); charset=utf-8$")
            self.assertNotRegex(text, r"https?://(?!www\.w3\.org/)", script)  # nothing is loaded from elsewhere
        self.assertEqual(cluster.page("/ui", cluster.token)[:1], (301,))
        self.assertEqual(cluster.page("/ui", cluster.token)[1]["Location"], "ui/")
        self.assertEqual(cluster.page("/ui/none.js", cluster.token)[0], 404)
        self.assertEqual(cluster.page("/ui/", cluster.token, method="POST")[0], 405)
        self.assertEqual(cluster.page("/debug/berth/nodes", cluster.token, method="POST")[0], 405)

    def test_it_can_be_turned_off(self):
        cluster = running_cluster.Served(self, "--nodes", "1", scheduler=["--ui=false"])
        for path in ("/ui", "/ui/", "/ui/base.js"):
            self.assertEqual(cluster.page(path, cluster.token)[0], 404, path)
        self.assertEqual(cluster.page("/debug/berth/nodes", cluster.token)[0], 200)
        result = self.berth("ui", *cluster.flags)
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertIn("--ui=false", result.err)


class TunnelTest(cli.Case):
    def test_what_goes_through(self):
        cluster = running_cluster.Served(self, "--nodes", "2")
        tunnel = Tunnel(self, cluster)
        ask, prefix = tunnel.ask, tunnel.prefix
        status, headers, text = ask(prefix + "/ui/")
        self.assertEqual(status, 200)
        self.assertIn("<title>berth</title>", text)
        self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
        nodes = json.loads(ask(prefix + "/debug/berth/nodes?label=kubernetes.io%2Fos")[2])
        self.assertEqual([node["labelValue"] for node in nodes["nodes"]], ["linux", "linux"])
        self.assertIn("componentconfig", json.loads(ask(prefix + "/configz")[2]))
        self.assertEqual(ask(prefix + "/debug/berth/explain?pod=default/none")[0], 404)
        self.assertEqual(ask(prefix + "/ui/", host="localhost:%d" % tunnel.port)[0], 200)

        # Who does not know the token, or comes by another name, gets nothing; nor does what changes something.
        wrong = prefix[:-1] + ("0" if prefix[-1] != "0" else "1")
        for path in ("/", "/ui/", "/debug/berth/nodes", wrong + "/ui/", prefix, prefix[:-1], prefix + "0/ui/"):
            status, headers, text = ask(path)
            self.assertEqual(status, 404, path)
            self.assertNotIn(prefix, text)
        for host in ("evil.example", "evil.example:%d" % tunnel.port, "127.0.0.1", "127.0.0.1:1", ""):
            self.assertEqual(ask(prefix + "/ui/", host=host)[0], 403 if host else 400, host)
        for method in ("POST", "PUT", "DELETE", "HEAD"):
            self.assertEqual(ask(prefix + "/ui/", method=method)[0], 405, method)
        for path in ("/metrics", "/debug/pprof/", "/debug/flags/v", "/ui/../metrics", "/ui/%2e%2e/metrics",
                     "/debug/berth/..%2f..%2fmetrics", "//metrics"):
            self.assertEqual(ask(prefix + path)[0], 404, path)

        cluster.stop()
        status, _, text = ask(prefix + "/ui/")
        self.assertEqual(status, 502)
        self.assertIn("connect to", text)
        self.assertEqual(tunnel.stop(), 0)

    def test_each_time_another_address(self):
        cluster = running_cluster.Served(self, "--nodes", "1")
        first, second = Tunnel(self, cluster), Tunnel(self, cluster)
        self.assertNotEqual(first.prefix, second.prefix)
        self.assertEqual(second.ask(first.prefix + "/ui/")[0], 404)

    def test_without_the_right(self):
        cluster = running_cluster.Served(self, "--nodes", "1")
        with open(cluster.kubeconfig, encoding="utf-8") as file:
            text = file.read()
        anonymous = self.write("anonymous", re.sub(r"token: \S+", "{}", text))
        flags = [anonymous if flag == cluster.kubeconfig else flag for flag in cluster.flags]
        result = self.berth("ui", *flags)
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertIn("403", result.err)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)


if __name__ == "__main__":
    cli.main()
