"""The live page at /ui/ of a running scheduler, through `berth ui`: every view, and what changes by itself."""
import signal
import subprocess

import browser
import cli
import running_cluster


class Live(browser.Case):
    def setUp(self):
        super().setUp()
        self.cluster = self.start()
        self.tunnel = subprocess.Popen([cli.BERTH, "ui", *self.cluster.flags], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop_tunnel)
        self.url = self.tunnel.stdout.readline().strip()
        self.assertTrue(self.url.endswith("/ui/"), self.url)

    def start(self, port=None):
        """With a database, so that it knows its clients again."""
        return running_cluster.Served(self, "--nodes", "12", "--data", self.path("cluster.db"), port=port)

    def tearDown(self):
        super().tearDown()
        self.leave()

    def leave(self):
        """So that the page asks nothing any more."""
        self.page.run("location.replace('about:blank');")

    def stop_tunnel(self):
        self.tunnel.send_signal(signal.SIGINT)
        self.assertEqual(self.tunnel.wait(timeout=60), 0)
        self.tunnel.stdout.close()

    def is_allowed(self, url):
        """The page asks its own server only."""
        return url.startswith(self.url[:-len("ui/")])

    def show(self, view):
        self.open(self.url + "#/" + view)
        self.page.wait("return document.body.dataset.connection === 'live';")
        return self.page

    def wait_tile(self, words, number):
        self.page.wait("""return [...document.querySelectorAll(".tile")].some((tile) =>
            tile.querySelector("dt").innerText === arguments[0] && tile.querySelector("dd").innerText === arguments[1]);""",
                       words, number)

    def wait_text(self, selector, text):
        self.page.wait("return [...document.querySelectorAll(arguments[0])].some((e) => e.innerText.includes(arguments[1]));",
                       selector, text)

    def test_pods_appear_in_the_queue_by_themselves(self):
        page = self.show("queue")
        self.wait_text("#waiting", "No pod waits.")
        self.cluster.add_pod("huge", cpu="99")
        self.wait_text("#waiting tbody th", "default/huge")
        self.wait_text("#reasons", "NodeResourcesFit")
        self.assertTrue(page.run("""const b = document.querySelector("#reasons .bar").getBoundingClientRect();
            return document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2).matches(".part");"""))
        page.click("#waiting tbody th button")
        page.wait("return location.hash === '#/pod/default/huge';")
        self.wait_text("#attempts", "Insufficient cpu")
        self.wait_text("#now-answer", "0/12 nodes are available")
        self.wait_text(".state", "unschedulable")
        self.assertEqual(page.text("nav [aria-current]"), "Queue")
        self.cluster.delete("/api/v1/namespaces/default/pods/huge", {"gracePeriodSeconds": 0})
        self.wait_text(".badge", "gone")

    def test_nodes(self):
        page = self.show("nodes")
        page.wait("return document.querySelectorAll('#map tbody th').length === 12;")
        self.wait_tile("nodes", "12")
        self.assertEqual(page.run("return document.querySelector('#map select').selectedOptions[0].text;"), "cpu")
        self.cluster.add_pod("web", cpu="8")
        self.wait_text("#map tbody td", "50 %")
        self.wait_tile("pods on them", "1")
        page.choose("#map .choice + .choice select", "os")
        self.wait_text("#map tbody td", "linux")
        page.choose("#map select", "memory")
        self.assertIn("use of memory", page.attribute("#map canvas", "aria-label"))

        # By keyboard: the first node, whose details are shown with its pods.
        node = self.cluster.pod("web")["spec"]["nodeName"]
        page.run("[...document.querySelectorAll('#map tbody th button')].find((b) => b.innerText === arguments[0]).focus();", node)
        page.press("Enter")
        self.wait_text("#node", "default/web")
        self.assertIn("kubernetes.io/hostname=" + node, page.text("#node .labels"))
        self.assertIn("takes pods", page.text("#node"))
        self.cluster.patch("/api/v1/nodes/" + node, {"spec": {"unschedulable": True}})
        self.wait_text("#node .badge", "cordoned")
        self.wait_tile("cordoned or not ready", "1")

    def test_a_bound_pod_has_its_attempt_with_scores(self):
        self.cluster.add_pod("web", cpu="1")
        self.cluster.until_running("web")
        page = self.show("overview")
        page.type(".find input", "web\n")
        self.wait_text(".state", "bound to node-")
        self.wait_text("#attempts", "12 of 12 nodes feasible")
        self.wait_text("#attempts .legend", "NodeResourcesFit")
        page.click(".state a")
        self.wait_text("#node", "default/web")

    def test_an_unknown_pod(self):
        self.show("overview")
        self.page.type(".find input", "shop/none\n")
        self.wait_text("main .message", "shop/none")
        self.leave()
        self.assert_failed_requests_alone(self.page.problems())

    def assert_failed_requests_alone(self, problems):
        """What the browser itself writes about answers other than 200."""
        self.assertEqual([problem for problem in problems if "Failed to load resource" not in problem], [])

    def test_overview_and_configuration(self):
        page = self.show("overview")
        self.cluster.add_pod("web", cpu="1")
        self.wait_tile("scheduled since the start", "1")
        page.wait("return document.querySelectorAll('#activity svg').length === 2;")
        self.assertEqual(page.texts("nav a"), ["Overview", "Nodes", "Queue", "Configuration"])
        page.click("nav a[href='#/config']")
        self.wait_text("#profile-0", "NodeResourcesFit")
        self.assertEqual(page.text("nav [aria-current]"), "Configuration")

    def assert_rests(self, name):
        """Nothing is asked while a pod is created. What was under way when the rest began may still come."""
        self.page.run("window.asked = []; const ask = window.fetch;"
                      "window.fetch = (...words) => { window.asked.push(words[0]); return ask(...words); };")
        self.cluster.add_pod(name, cpu="99")
        self.cluster.until(lambda: '"%s"' % name in self.cluster.page("/debug/berth/queue", self.cluster.token)[2])
        self.page.run("return new Promise((done) => setTimeout(done, 2500));")  # more than the time between two requests
        self.assertEqual(self.page.run("return window.asked;"), [])

    def test_pause(self):
        page = self.show("queue")
        page.click(".connection button")
        page.wait("return document.body.dataset.connection === 'paused';")
        self.assert_rests("huge")
        page.click(".connection button")
        self.wait_text("#waiting tbody th", "default/huge")

    def test_a_hidden_tab_rests(self):
        page = self.show("queue")
        hide = """Object.defineProperty(document, "visibilityState", { value: arguments[0], configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));"""
        page.run(hide, "hidden")
        self.assert_rests("huge")
        page.run(hide, "visible")
        self.wait_text("#waiting tbody th", "default/huge")

    def test_the_scheduler_restarts(self):
        page = self.show("nodes")
        page.wait("return document.querySelectorAll('#map tbody th').length === 12;")
        self.cluster.stop()
        page.wait("return document.body.dataset.connection === 'lost';")
        self.assertIn("Connection lost", page.text(".banner"))
        self.assertIn("What is shown is from", page.text(".banner"))
        self.assertEqual(page.count("#map tbody th"), 12)
        self.cluster = self.start(self.cluster.port)
        page.wait("return document.body.dataset.connection === 'live';")
        self.assertFalse(page.run("return document.querySelector('.banner').checkVisibility();"))
        self.cluster.add_pod("web", cpu="8")
        self.wait_text("#map tbody td", "50 %")
        self.leave()
        self.assert_failed_requests_alone(page.problems())

    def test_dark_and_narrow(self):
        page = self.page
        page.scheme("dark")
        page.size(380, 800)
        try:
            for view in ("overview", "nodes", "queue", "config"):
                self.show(view)
                page.wait("return document.querySelector('main section') !== null;")
                self.assertLessEqual(page.run("return document.documentElement.scrollWidth;"), 380, view)
            self.cluster.patch("/api/v1/nodes/node-0", {"spec": {"taints": [
                {"key": "node-role.kubernetes.io/" + "control" * 9, "effect": "NoSchedule"}]}})
            self.cluster.add_pod("huge", cpu="99")
            self.show("pod/default/huge")
            self.wait_text("#now-answer .reasons", "NodeResourcesFit")
            self.assertLessEqual(page.run("return document.documentElement.scrollWidth;"), 380)
        finally:
            page.size(1280, 900)


if __name__ == "__main__":
    browser.main()
