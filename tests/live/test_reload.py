"""The configuration changes while the scheduler runs (docs/OPERATING.md)."""
import signal

from case import Case, main


def profiles(*names):
    return {"profiles": [{"schedulerName": name} for name in names]}


class Reload(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler reads its configuration once")
        self.nodes(1)
        self.before = {event["metadata"]["uid"] for event in self.api.list("Event", "default")}

    def reloads(self, scheduler, result, count):
        """Waits until so many are counted."""
        self.wait("%d reloads were %s" % (count, result), lambda: self.metric(
            scheduler, "berth_config_reloads_total", result=result) == count)

    def told(self, reason):
        """The note of the event about a reload."""
        def look():
            return [event for event in self.api.list("Event", "default")
                    if event["reason"] == reason and event["metadata"]["uid"] not in self.before]
        return self.wait("there is the event " + reason, look)[0]["note"]

    def test_a_profile_is_added_and_removed(self):
        scheduler = self.start(name="scheduler", config=profiles("default-scheduler"))
        self.pod("early", schedulerName="live-second")
        self.seen()
        self.pending("early")
        self.configure("scheduler", profiles("default-scheduler", "live-second"))
        scheduler.signal(signal.SIGHUP)
        self.bound("early")
        self.told("ConfigReloaded")
        self.reloads(scheduler, "applied", 1)
        self.configure("scheduler", profiles("live-second"))
        scheduler.signal(signal.SIGHUP)
        self.reloads(scheduler, "applied", 2)
        self.pod("others")
        self.seen("own", schedulerName="live-second")
        self.pending("others")

    def test_a_changed_file_is_noticed(self):
        scheduler = self.start(name="scheduler", config=profiles("default-scheduler"))
        self.seen()
        self.configure("scheduler", profiles("default-scheduler", "live-second"))
        self.pod("web", schedulerName="live-second")
        self.bound("web")
        self.reloads(scheduler, "applied", 1)

    def test_waiting_pods_are_tried_with_the_new_plugins(self):
        self.patch("Node", "node-0", {"spec": {"unschedulable": True}})
        scheduler = self.start(name="scheduler", config=profiles("default-scheduler"))
        self.pod("web")
        self.rejected("web", "0/1 nodes are available: 1 node(s) were unschedulable.")
        off = {"disabled": [{"name": "NodeUnschedulable"}, {"name": "TaintToleration"}]}
        self.configure("scheduler", {"profiles": [{"schedulerName": "default-scheduler", "plugins": {"filter": off}}]})
        scheduler.signal(signal.SIGHUP)
        self.bound("web")

    def test_an_invalid_file_changes_nothing(self):
        scheduler = self.start(name="scheduler", config=profiles("default-scheduler"))
        self.seen()
        self.configure("scheduler", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                                    "podMaxBackoffSeconds: soon\n")
        scheduler.signal(signal.SIGHUP)
        self.assertIn("podMaxBackoffSeconds", self.told("ConfigReloadFailed"))
        self.reloads(scheduler, "refused", 1)
        self.assertEqual(self.metric(scheduler, "berth_config_last_reload_success"), 0)
        self.seen("goes-on")
        self.configure("scheduler", profiles("default-scheduler", "live-second"))
        scheduler.signal(signal.SIGHUP)
        self.seen("again", schedulerName="live-second")
        self.wait("it is told", lambda: self.metric(scheduler, "berth_config_last_reload_success") == 1)


if __name__ == "__main__":
    main()
