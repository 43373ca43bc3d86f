"""The machine's clock is set while the scheduler runs, which is also what a machine that slept looks like."""
import datetime
import os
import struct

from case import Case, condition, main

LIBRARY = os.environ.get("STEPPING_CLOCK_LIBRARY")
HOUR = 3600


def hours_ahead(text):
    """How far a date is ahead of the time of day, in whole hours."""
    date = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round((date - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / HOUR)


class Clock(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("its clock is set by a library that is loaded before others")
        if not LIBRARY:
            self.skipTest("STEPPING_CLOCK_LIBRARY is not set: tests/live/stepping_clock.c is built by meson")
        self.step(0)

    def step(self, hours):
        """The time of day of the scheduler is ahead of ours by so many hours."""
        with open(self.path("clock"), "r+b" if os.path.exists(self.path("clock")) else "wb", buffering=0) as file:
            file.write(struct.pack("=q", hours * HOUR))

    def dates(self, name):
        """How far the dates are ahead that the scheduler writes about a pod for which no node has room."""
        self.pod(name, cpu="9")
        self.rejected(name, "Insufficient cpu")
        return (hours_ahead(condition(self.get("Pod", name), "PodScheduled")["lastTransitionTime"]),
                hours_ahead(self.event(name, "FailedScheduling")["eventTime"]))

    def test_steps(self):
        self.nodes(1, cpu="1")
        scheduler = self.start("--leader-elect=true", "--leader-elect-resource-namespace=" + self.namespace, environment={
            "LD_PRELOAD": LIBRARY, "STEPPING_CLOCK": self.path("clock"),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
        self.assertEqual(self.dates("before"), (0, 0))
        for name, hours in (("ahead", 3), ("behind", -5), ("again", 0)):
            self.step(hours)
            self.assertEqual(self.dates(name), (hours, hours))
        self.seen()
        self.assertNotIn("Leaderelection lost", scheduler.log())


if __name__ == "__main__":
    main()
