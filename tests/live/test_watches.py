"""Connections that drop: what changed meanwhile is known afterwards."""
from case import Case, main, node, pod
from server import HISTORY


class Watches(Case):
    def setUp(self):
        super().setUp()
        self.nodes(1)
        self.broken, address = self.relay()
        self.scheduler = self.start(access=address)
        self.seen("first")

    def test_connections_are_cut(self):
        for i in range(3):
            connections = self.broken.count
            self.broken.cut()
            self.seen("pod-%d" % i)
            self.assertGreater(self.broken.count, connections)

    def test_connections_are_cut_in_a_burst(self):
        self.create(*[node("large-%d" % i, cpu="8") for i in range(2)])
        names = ["pod-%d" % i for i in range(60)]
        self.create_all([pod(name, cpu="200m", terminationGracePeriodSeconds=0) for name in names[:30]])
        self.broken.cut()
        self.create_all([pod(name, cpu="200m", terminationGracePeriodSeconds=0) for name in names[30:]])
        self.broken.cut()
        self.all_bound(names)
        self.scheduler.kill()  # at SIGTERM it would wait for events that were cut off: they are sent again later

    def test_an_outage(self):
        """Pods, nodes and room that come and go while the API server cannot be reached."""
        self.pod("old", cpu="3")
        self.bound_to("old", "node-0")
        self.event("old", "Scheduled")
        self.create(node("node-1"))
        self.broken.down()
        self.pod("large", cpu="6")
        self.pod("new", cpu="3", nodeSelector={"kubernetes.io/hostname": "node-0"})
        self.remove("Pod", "old")
        self.remove("Node", "node-1")
        self.create(node("node-2", cpu="8"))
        self.broken.up()
        self.bound_to("large", "node-2")
        self.bound_to("new", "node-0")
        self.pod("nowhere", nodeSelector={"kubernetes.io/hostname": "node-1"})
        self.rejected("nowhere", "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.")

    def test_nothing_passes_for_a_while(self):
        """A connection that stays open and is silent."""
        self.broken.hold()
        self.pod("web")
        self.broken.go_on()
        self.bound("web")
        self.event("web", "Scheduled")
        self.broken.hold()
        self.pod("next")
        self.broken.cut()
        self.bound("next")

    def test_a_scheduler_that_starts_in_an_outage(self):
        self.scheduler.kill()
        relay, address = self.relay()
        relay.down()
        second = self.start(access=address)
        self.pod("web")
        self.wait("it has tried to connect", lambda: relay.refused, "web")
        self.pending("web")
        relay.up()
        self.bound("web")
        self.assertIsNone(second.process.poll())


class History(Case):
    restarts = True

    def test_the_changes_are_no_longer_known(self):
        """The server answers 410 Gone to a watch, and the scheduler lists again: also what has been deleted is noticed."""
        self.nodes(1)
        broken, address = self.relay()
        self.start(access=address)
        self.pod("old", cpu="3")
        self.bound("old")
        self.event("old", "Scheduled")
        version = self.api.version("Pod", self.namespace)
        broken.down()
        self.remove("Pod", "old")
        self.pod("web", cpu="3")
        # The embedded server forgets with the number of changes, kube-apiserver when it restarts.
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "changes"}})
        for i in range(HISTORY):
            self.patch("ConfigMap", "changes", {"data": {"number": str(i)}})
        self.server.kill()
        self.server.restart()
        self.wait("a watch from there is refused", lambda: self.is_expired(version))
        broken.up()
        self.bound_to("web", "node-0")

    def is_expired(self, version):
        return [(event["type"], event["object"].get("code"), event["object"].get("reason"))
                for event in self.api.watch("Pod", "resourceVersion=" + version, 1, self.namespace)] == [("ERROR", 410, "Expired")]


if __name__ == "__main__":
    main()
