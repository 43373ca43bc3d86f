"""The API server or the scheduler ends, and is started again: no pod is lost, and none is bound twice."""
from case import Case, main, node, node_of, pod


class Bursts(Case):
    def burst(self, count=60):
        """Creates pods, and returns their names when the first of them are bound."""
        names = ["pod-%d" % i for i in range(count)]
        self.create_all([pod(name, cpu="200m", terminationGracePeriodSeconds=0) for name in names])
        self.wait("some are bound", lambda: any(map(node_of, self.api.list("Pod", self.namespace))))
        return names


class APIServer(Bursts):
    restarts = True

    def test_it_is_killed_and_restarted(self):
        self.nodes(3)
        scheduler = self.start()
        self.pod("large", cpu="8")
        self.rejected("large", "0/3 nodes are available: 3 Insufficient cpu.")
        names = self.burst(50)
        self.server.kill()
        self.server.restart()
        self.all_bound(names)
        self.pod("later")
        self.bound("later")
        self.pending("large")  # it still waits, and gets the node that comes
        self.create(node("node-3", cpu="8"))
        self.bound_to("large", "node-3")
        self.assertIsNone(scheduler.process.poll())
        scheduler.kill()  # at SIGTERM it would wait for events that could not be sent: they are sent again later


class TheScheduler(Bursts):
    def setUp(self):
        super().setUp()
        self.nodes(4)

    def test_it_is_killed_in_a_burst(self):
        first = self.start()
        names = self.burst()
        first.kill()
        self.start()
        self.all_bound(names)
        self.seen("later")

    def test_it_ends_in_a_burst(self):
        first = self.start()
        names = self.burst()
        status = first.end()
        self.assertEqual(status, 0 if self.is_berth() else 1, first.log())  # kube-scheduler: without an election
        self.start()
        self.all_bound(names)
        self.seen("later")

    def test_what_waits_is_known_afterwards(self):
        """Pods that wait, and room that is taken."""
        first = self.start()
        for i in range(4):
            self.pod("web-%d" % i, cpu="3")
        self.all_bound(["web-%d" % i for i in range(4)])
        self.pod("waits", cpu="2")
        self.rejected("waits", "0/4 nodes are available: 4 Insufficient cpu.")
        first.kill()
        self.start()
        self.seen()
        self.pending("waits")
        where = node_of(self.get("Pod", "web-2"))
        self.remove("Pod", "web-2")
        self.bound_to("waits", where)


if __name__ == "__main__":
    main()
