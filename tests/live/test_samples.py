"""Strategies that need more than the cluster's objects (docs/STRATEGIES.md): the measured use of nodes, and time."""
import signal
import subprocess

from case import Case, cli, main, server

BY_USE = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "LoadBalancingPlugin", "weight": 5}]}}}]}
SOURCE = {"source": "nodes.metrics.k8s.io"}
INTERVAL = "--samples-interval=100ms"


class Samples(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler has no samples")
        self.nodes(2)
        self.served = self.has_metrics()

    def has_metrics(self):
        try:
            self.api.ask("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
            return True
        except server.Refused:
            return False

    def fetched(self, scheduler):
        """Waits until samples came, or could not come: an API server need not have any. When the scheduler serves."""
        name = "berth_samples_oldest_seconds" if self.served else "berth_sampler_errors_total"
        self.wait("samples were asked for", lambda: any(
            series.startswith(name + "{") and SOURCE["source"] in series
            for series in scheduler.metrics(self.api.access.token)))

    def asked(self, scheduler):
        return any(SOURCE["source"] in series for series in scheduler.metrics(self.api.access.token))

    def test_a_plugin_that_wants_samples_gets_them(self):
        scheduler = self.start(INTERVAL, config=BY_USE)
        self.seen()
        self.fetched(scheduler)
        if not self.served:
            self.assertEqual(scheduler.log().count("Samples cannot be fetched"), 1)

    def test_without_such_a_plugin_nothing_is_asked_for(self):
        scheduler = self.start(INTERVAL, name="scheduler", config={})
        self.seen("first")
        self.assertFalse(self.asked(scheduler))
        self.configure("scheduler", BY_USE)  # a plugin that was not loaded at the start
        scheduler.signal(signal.SIGHUP)
        self.fetched(scheduler)
        self.seen("second")

    def test_a_recording_has_the_samples(self):
        folder = self.path("recording")
        scheduler = self.start(INTERVAL, "--record", folder, config=BY_USE)
        self.seen()
        self.fetched(scheduler)
        for i in range(20):
            self.pod("p%d" % i, cpu="10m")
        self.all_bound(["p%d" % i for i in range(20)])
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("decisions repeated exactly (21 placed)", shown.stdout)


class Throttle(Case):
    """Nothing happens in the cluster when a node may start pods again: time wakes the pods."""

    def test_pods_start_one_after_the_other(self):
        self.berth_only("kube-scheduler has no such plugin")
        self.nodes(1)
        folder, names = self.path("recording"), ["p%d" % i for i in range(5)]
        scheduler = self.start("--record", folder, config={"profiles": [{
            "plugins": {"multiPoint": {"enabled": [{"name": "StartThrottle"}]}},
            "pluginConfig": [{"name": "StartThrottle", "args": {"maxStarts": 2, "window": "2s"}}]}]})
        for name in names:
            self.pod(name, cpu="10m")
        self.waits(names[-1], "node(s) had started as many pods as they may in that time")
        self.all_bound(names)
        self.assertEqual(scheduler.end(), 0)
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("decisions repeated exactly (5 placed)", shown.stdout)


class Adaptive(Case):
    """Weights move while the scheduler runs, and come back."""
    WEIGHT = {"namespace": None, "plugin": "ImageLocality", "profile": "default-scheduler"}

    def weight(self, scheduler):
        return self.metric(scheduler, "berth_strategy_weight", **dict(self.WEIGHT, namespace=self.namespace))

    def decide(self, name):
        self.pod(name, cpu="10m")
        self.bound(name)

    def moved_to(self, scheduler, weight):
        """Pods come until the weight is there: it moves when an attempt begins."""
        def look():
            self.decide("p%d" % next(self.numbers))
            return self.weight(scheduler) == weight
        self.wait("the weight is %d" % weight, look)

    def test_a_weight_moves_and_comes_back(self):
        self.berth_only("kube-scheduler has no such plugin")
        self.nodes(1, cpu="10")
        self.numbers = iter(range(1000))
        folder, log = self.path("recording"), "namespace %s: the weight of ImageLocality moves from " % self.namespace
        scheduler = self.start("--record", folder, config={"profiles": [{
            "plugins": {"multiPoint": {"enabled": [{"name": "AdaptiveSchedulingPlugin"}]}},
            "pluginConfig": [{"name": "AdaptiveSchedulingPlugin", "args": {
                "interval": "1s", "weights": [{"plugin": "ImageLocality", "max": 3}],
                "rules": [{"when": "Idle", "plugin": "ImageLocality", "direction": "Up"}]}}]}]})
        self.moved_to(scheduler, 3)
        self.assertIn(log + "1 to 2 (configured: 1): Idle (mean use of nodes 0", scheduler.log())
        self.assertIn(log + "2 to 3 (configured: 1): Idle", scheduler.log())
        shown = scheduler.page("/debug/berth/explain?pod=%s/p0" % self.namespace, self.api.access.token)
        self.assertIn('{"plugin":"ImageLocality","weight":3,"configured":1,"by":"AdaptiveSchedulingPlugin","reason":"Idle ', shown)
        self.pod("large", cpu="5")  # half of the node
        self.bound("large")
        self.moved_to(scheduler, 1)
        self.assertIn(log + "3 to 2 (configured: 1): back to 1: no rule applies any more", scheduler.log())
        self.assertEqual(scheduler.end(), 0)
        replayed = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        self.assertIn("decisions repeated exactly", replayed.stdout)


if __name__ == "__main__":
    main()
