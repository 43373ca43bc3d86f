"""Schedulers of different names on the same nodes: what they announce, and pods of one that has ended."""
import re
import subprocess

from case import Case, cli, main, node, node_of, pod, server
from share_nodes import NAMES, NODE_MILLIS, Bindings, fill

ELECTION = {"leaderElect": True, "leaseDuration": "10s", "renewDeadline": "8s", "retryPeriod": "500ms"}


def profiles(*names):
    return {"profiles": [{"schedulerName": name} for name in names]}


class Counting(Case):
    """How the order of bindings is seen that tests and measurements judge."""

    def test_a_watch_that_is_cut_is_resumed(self):
        relay, address = self.relay()
        api = server.API(server.Access(self.write("relay.conf", self.server.api.access.kubeconfig(address))))
        self.create(node("node"))
        bindings = Bindings(api, self.namespace)
        for i in range(3):
            name = "pod-%d" % i
            self.create(pod(name, schedulerName="none"))
            self.api.ask("POST", self.api.path("Pod", self.namespace, name, "binding"), {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "node"}})
            self.wait("%s is seen" % name, lambda: len(bindings.order) > i)
            relay.cut()
        bindings.end(self)
        self.assertEqual([name for name, _, _ in bindings.order], ["pod-0", "pod-1", "pod-2"])


class Announcing(Case):
    """berth-a runs with --announce. berth-b is the test, which writes what another scheduler would."""

    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler does not have --announce")

    def begin(self, *more):
        self.create(node("node", cpu="1"))
        self.start("--announce", *more, config=profiles("berth-a"))

    def announce(self, name, where):
        """Another scheduler's announcement, or the end of it."""
        self.patch("Pod", name, {"status": {"nominatedNodeName": where}}, "status")

    def test_room_that_another_scheduler_announced_is_taken(self):
        self.pod("other", cpu="600m", schedulerName="berth-b")
        self.begin()
        self.announce("other", "node")
        self.pod("own", cpu="600m", schedulerName="berth-a")
        self.waits("own", "Insufficient cpu")
        self.announce("other", None)
        self.bound_to("own", "node")

    def test_priority_does_not_take_it_away(self):
        self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000,
                     "metadata": {"name": self.namespace}})
        self.pod("other", cpu="600m", schedulerName="berth-b")
        self.begin()
        self.announce("other", "node")
        self.pod("own", cpu="600m", schedulerName="berth-a", priorityClassName=self.namespace)
        self.waits("own", "Insufficient cpu")
        self.remove("Pod", "other")
        self.bound_to("own", "node")

    def test_a_pod_is_announced_before_it_is_bound(self):
        versions = []
        self.begin()
        version = self.api.version("Pod", self.namespace)
        self.pod("own", schedulerName="berth-a")
        self.bound_to("own", "node")
        for event in self.api.watch("Pod", "resourceVersion=" + version, 3, self.namespace):
            versions.append((event["object"]["status"].get("nominatedNodeName", ""), node_of(event["object"])))
        self.assertEqual([where for where in versions if where != ("", "")][0], ("node", ""), versions)

    def test_nothing_is_announced_without_the_flag(self):
        self.create(node("node", cpu="1"))
        self.start(config=profiles("berth-a"))
        version = self.api.version("Pod", self.namespace)
        self.pod("own", schedulerName="berth-a")
        self.bound_to("own", "node")
        events = self.api.watch("Pod", "resourceVersion=" + version, 2, self.namespace)
        self.assertEqual([event["object"]["status"].get("nominatedNodeName", "") for event in events], ["", ""])

    def test_two_schedulers_fill_the_nodes(self):
        bindings, _ = fill(self, ["--announce"], 20, 240)
        self.assertEqual(bindings.refused(NODE_MILLIS), [])
        self.assertGreater(len(bindings.order), 140)  # 80 cores, pods of half a core
        for one in self.schedulers:
            own = [name for name, _, _ in bindings.order if self.get("Pod", name)["spec"]["schedulerName"] == one.name]
            self.assertTrue(own, one.name)
        self.assertEqual(sorted(one.name for one in self.schedulers), sorted(NAMES))

    def test_a_recording_replays(self):
        folder = self.path("recording")
        self.begin("--record", folder)
        self.pod("other", cpu="600m", schedulerName="berth-b")
        self.announce("other", "node")
        self.pod("own", cpu="600m", schedulerName="berth-a")
        self.waits("own", "Insufficient cpu")
        self.announce("other", None)
        self.bound_to("own", "node")
        self.event("own", "Scheduled")
        self.assertEqual(self.schedulers[0].end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertIn("decisions repeated exactly (1 placed)", shown.stdout)


class TakeOver(Case):
    """second takes over the pods of first."""

    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler does not have --take-over")
        self.lease = ("Lease", "kube-scheduler", "kube-system")  # the stock role allows no other
        self.remove_lease()
        self.addCleanup(self.remove_lease)
        self.nodes(3)

    def remove_lease(self):
        self.api.clear(self.api.path(self.lease[0], self.lease[2], self.lease[1]))

    def holder(self):
        lease = self.api.find(*self.lease)
        return lease["spec"].get("holderIdentity") if lease else None

    def start_first(self, name):
        return self.start(name=name, config={**profiles("first"), "leaderElection": {
            **ELECTION, "resourceName": "kube-scheduler"}})

    def start_both(self, *more, names=("second",)):
        first = self.start_first("first")
        self.wait("the first leads", self.holder)
        second = self.start("--take-over=kube-scheduler=first", *more, name="second", config=profiles(*names))
        self.pod("one", schedulerName="second")
        self.bound("one")
        return first, second

    def taken(self, scheduler):
        return scheduler.metrics(self.api.access.token)['berth_taken_over{scheduler="first"}']

    def test_pods_of_a_scheduler_that_was_killed(self):
        first, second = self.start_both()
        self.pod("two", schedulerName="first")
        self.bound("two")
        self.assertNotIn("Taking over", second.log())
        first.kill()
        self.pod("three", schedulerName="first")
        self.bound("three")
        self.assertIn("Taking over", second.log())
        self.assertEqual(self.taken(second), 1)
        again = self.start_first("again")
        self.wait("it hands them back", lambda: "Handing the pods" in second.log() and
                  len(re.findall("Configuration reloaded", second.log())) == 2)
        self.assertEqual(self.taken(second), 0)
        self.pod("four", schedulerName="first")
        self.bound("four")
        self.wait("it says so", lambda: "/four\"" in again.log())  # after the answer to the binding
        self.assertNotIn("/four\"", second.log())
        self.pod("five", schedulerName="second")
        self.bound("five")

    def test_pods_of_a_scheduler_that_was_stopped(self):
        first, second = self.start_both()
        self.assertEqual(first.end(), 0)
        self.pod("two", schedulerName="first")
        self.bound("two")
        self.assertIn("Taking over", second.log())

    def test_its_own_profile_for_them(self):
        """Where the configuration has a profile of that name, it counts while the pods are taken over, and only then."""
        first, second = self.start_both(names=("second", "first"))
        self.pod("two", schedulerName="first")
        self.bound("two")
        self.assertNotIn("/two\"", second.log())
        first.kill()
        self.pod("three", schedulerName="first")
        self.bound("three")
        self.assertIn("/three\"", second.log())

    def test_a_lease_that_was_never_there(self):
        second = self.start("--take-over=kube-scheduler=first", name="second", config=profiles("second"))
        self.pod("other", schedulerName="first")
        self.pod("own", schedulerName="second")
        self.bound("own")
        self.wait("it has looked for it, for longer than one that was given back is waited for",
                  lambda: self.metric(second, "rest_client_requests_total", code="404", method="GET") >= 5)
        self.pending("other")
        self.assertNotIn("Taking over", second.log())


if __name__ == "__main__":
    main()
