#!/usr/bin/env python3
"""The alerts of deploy/monitoring fire when they should and are quiet otherwise, ask for metrics that berth has, and are
described in docs/MONITORING.md. promtool evaluates them over series that the table below gives."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from monitoring import OTHERS, alerts, dashboard, expression, families, names, needs, panels, rules, text_of  # noqa: E402

JOB = 'job="berth"'
LEADER = 'leader_election_master_status{job="berth", instance="a", name="kube-scheduler"}'
STANDBY = 'leader_election_master_status{job="berth", instance="b", name="kube-scheduler"}'
# Metrics of samples, which come with the sampler.
SAMPLES = {"berth_samples_oldest_seconds", "berth_sampler_errors_total"}


def histogram(name, labels, bounds):
    """Series of a histogram: by the upper bound, by how much its counter grows in a minute."""
    return {'%s_bucket{%s, le="%s"}' % (name, labels, bound): "0+%dx60" % count for bound, count in bounds.items()}


def attempts(scheduled, error):
    """Per minute."""
    return {'scheduler_schedule_attempts_total{job="berth", profile="p", result="scheduled"}': "0+%dx60" % scheduled,
            'scheduler_schedule_attempts_total{job="berth", profile="p", result="error"}': "0+%dx60" % error}


def pending(queue, leader, standby="0x120"):
    """The pods in a queue of the leader, and of a standby."""
    return {'scheduler_pending_pods{job="berth", instance="a", queue="%s"}' % queue: leader,
            'scheduler_pending_pods{job="berth", instance="b", queue="%s"}' % queue: standby,
            LEADER: "1x120", STANDBY: "0x120"}


def requests(fine, failed):
    return {'rest_client_requests_total{job="berth", code="201", method="POST"}': "0+%dx60" % fine,
            'rest_client_requests_total{job="berth", code="<error>", method="POST"}': "0+%dx60" % failed}


def preempted(victims, scheduled):
    return {'scheduler_preemption_victims_sum{job="berth"}': "0+%dx60" % victims, **attempts(scheduled, 0)}


ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
SLI = "scheduler_pod_scheduling_sli_duration_seconds"
REQUEST = 'kube_pod_resource_request{job="berth", namespace="%s", pod="web", node="%s", scheduler="berth", resource="cpu"}'
POINT = ('scheduler_framework_extension_point_duration_seconds_count{job="berth", extension_point="Filter", profile="p", '
         'status="%s"}')
FLUSHED = 'scheduler_pod_scheduled_after_flush_total{job="berth"}'
EVICTIONS = 'scheduler_preemption_goroutines_execution_total{job="berth", result="%s"}'
UNREADABLE = 'berth_unreadable_objects_total{job="berth", resource="%s"}'
OLDEST = 'berth_samples_oldest_seconds{job="berth", instance="%s", source="metrics.k8s.io"}'
SAMPLER = 'berth_sampler_errors_total{job="berth", source="%s"}'

# By the alert: the labels with which it fires, and series for which it does; then series for which it is quiet, by why. What
# is looked at is the 50th minute; series have a value per minute. AT has those that are looked at later.
AT = {"BerthPodsUnschedulable": "100m"}
CASES = {
    "BerthDown": (
        {}, {'up{job="berth", instance="a"}': "1x30 0x30", 'up{job="berth", instance="b"}': "1x30 _x30"},
        {"one of two is enough": {'up{job="berth", instance="a"}': "0x60", 'up{job="berth", instance="b"}': "1x60"},
         "for 3 minutes": {'up{job="berth", instance="a"}': "1x46 0x10"}}),
    "BerthTargetDown": (
        {"job": "berth", "instance": "a", "metrics_path": "/metrics"},
        {'up{job="berth", instance="a", metrics_path="/metrics"}': "1x30 0x30"},
        {"for 10 minutes": {'up{job="berth", instance="a"}': "1x39 0x20"},
         "another job": {'up{job="other", instance="a"}': "0x60"}}),
    "BerthNoLeader": (
        {"container": "berth"},
        {'leader_election_master_status{job="berth", container="berth", instance="a"}': "1x45 0x15",
         'leader_election_master_status{job="berth", container="berth", instance="b"}': "0x60"},
        {"a standby": {LEADER: "1x60", STANDBY: "0x60"},
         "for a minute": {LEADER: "1x48 0x12", STANDBY: "0x60"}}),
    "BerthSchedulingLatencyHigh": (
        {"profile": "p"},
        histogram(ATTEMPT, JOB + ', profile="p", result="scheduled"', {"0.016": 970, "2.048": 1000, "+Inf": 1000}),
        {"one pod of a thousand": histogram(ATTEMPT, JOB + ', profile="p", result="scheduled"',
                                            {"0.016": 999, "2.048": 1000, "+Inf": 1000}),
         "of pods that fit nowhere": histogram(ATTEMPT, JOB + ', profile="p", result="unschedulable"',
                                               {"0.016": 0, "2.048": 1000, "+Inf": 1000}),
         "nothing to do": histogram(ATTEMPT, JOB + ', profile="p", result="scheduled"', {"0.016": 0, "+Inf": 0})}),
    "BerthAlgorithmLatencyHigh": (
        {}, histogram(ALGORITHM, JOB, {"0.064": 970, "0.256": 1000, "+Inf": 1000}),
        {"64 ms": histogram(ALGORITHM, JOB, {"0.032": 0, "0.064": 1000, "+Inf": 1000})}),
    "BerthPodSchedulingSlow": (
        {}, histogram(SLI, JOB + ', attempts="1"', {"0.01": 900, "10.24": 1000, "+Inf": 1000}),
        {"pods that had to wait for room": {
            **histogram(SLI, JOB + ', attempts="3"', {"0.01": 0, "327.68": 1000, "+Inf": 1000}),
            **histogram(SLI, JOB + ', attempts="1"', {"0.01": 1000, "+Inf": 1000})}}),
    "BerthQueueDeep": (
        {}, pending("active", "800x120"),
        {"a standby, which tries none": pending("active", "3x120", standby="9000x120"),
         "a wave of new pods": pending("active", "0x45 4000x70"),
         "pods that wait for room": pending("unschedulable", "9000x120")}),
    "BerthPodsPendingLong": (
        {"namespace": "shop", "scheduler": "berth"}, {REQUEST % ("shop", ""): "1x60"},
        {"for 20 minutes": {REQUEST % ("shop", ""): "_x30 1x30"},
         "it has a node": {REQUEST % ("shop", ""): "1x30 _x30", REQUEST % ("shop", "node-0"): "_x30 1x30"}}),
    "BerthPodsUnschedulable": (
        {}, pending("unschedulable", "2x120"),
        {"for half an hour": pending("unschedulable", "0x70 2x50"),
         "a standby": pending("unschedulable", "0x120", standby="5x120"),
         "gated pods": pending("gated", "2x120")}),
    "BerthSchedulingErrors": (
        {"profile": "p"}, attempts(scheduled=90, error=10),
        {"1 of 100": attempts(scheduled=99, error=1),
         "three errors and nothing else": {
             'scheduler_schedule_attempts_total{job="berth", profile="p", result="error"}': "0x30 1x5 2x5 3x20"}}),
    "BerthPluginErrors": (
        {"extension_point": "Filter", "profile": "p"}, {POINT % "Error": "0+1x60", POINT % "Success": "0+9x60"},
        {"rejections": {POINT % "Unschedulable": "0+9x60"},
         "one error": {POINT % "Error": "0x45 1x15"}}),
    "BerthPluginMissesEvents": (
        {}, {FLUSHED: "0x20 0+1x40"}, {"a few": {FLUSHED: "0x20 1x10 2x30"}}),
    "BerthPreemptionStorm": (
        {}, preempted(victims=20, scheduled=20),
        {"many pods get a node without": preempted(victims=20, scheduled=200),
         "few in a quiet cluster": preempted(victims=2, scheduled=1)}),
    "BerthEvictionsFail": (
        {}, {EVICTIONS % "error": "0+1x60"}, {"they succeed": {EVICTIONS % "success": "0+9x60"}}),
    "BerthReloadRefused": (
        {"job": "berth", "instance": "a"},
        {'berth_config_last_reload_success{job="berth", instance="a"}': "1x40 0x20"},
        {"for 3 minutes": {'berth_config_last_reload_success{job="berth", instance="a"}': "1x46 0x20"}}),
    "BerthPoliciesRefused": (
        {"job": "berth", "instance": "a"},
        {'berth_policy_last_reload_success{job="berth", instance="a"}': "1x40 0x20"},
        {"mended within 3 minutes": {'berth_policy_last_reload_success{job="berth", instance="a"}': "1x40 0x3 1x20"}}),
    "BerthCredentialUnusable": (
        {"job": "berth", "instance": "a", "credential": "serving-certificate"},
        {'berth_credential_usable{job="berth", instance="a", credential="serving-certificate"}': "1x30 0x30"},
        {"between two files of a pair": {
            'berth_credential_usable{job="berth", instance="a", credential="serving-certificate"}': "1x44 0x20"}}),
    "BerthUnreadableObjects": (
        {"resource": "pods"}, {UNREADABLE % "pods": "_x45 1x20"},
        {"none": {UNREADABLE % "pods": "0x60"}}),
    "BerthAPIErrors": (
        {}, requests(fine=90, failed=10),
        {"1 of 100": requests(fine=990, failed=10),
         "conflicts are answers": {
             'rest_client_requests_total{job="berth", code="409", method="POST"}': "0+50x60"}}),
    "BerthSamplesStale": (
        {"source": "metrics.k8s.io"}, {OLDEST % "a": "30x20 30+60x40"},
        {"sampled every minute": {OLDEST % "a": "0 60 30 60 0 60 30 60x60"},
         "of a standby": {OLDEST % "a": "30x60", OLDEST % "b": "9000x60", LEADER: "1x60", STANDBY: "0x60"}}),
    "BerthSamplerErrors": (
        {"source": "prometheus"}, {SAMPLER % "prometheus": "0+1x60"},
        {"once": {SAMPLER % "prometheus": "0x45 1x15"}}),
}


def severity(alert):
    return re.search(r"severity: (\w+)", alerts()[alert])[1]


def group(name, series, **tests):
    return {"name": name, "interval": "1m", "input_series": [{"series": key, "values": value} for key, value in series.items()],
            **tests}


def is_firing(alert, labels):
    """A test of promtool: the alert fires with these labels, and no other way; or not at all if they are None."""
    what = {"alertname": alert, "alertstate": "firing", "severity": severity(alert), **(labels or {})}
    series = "ALERTS{%s}" % ", ".join('%s="%s"' % label for label in what.items())
    return {"promql_expr_test": [{
        "expr": 'ALERTS{alertname="%s", alertstate="firing"}' % alert, "eval_time": AT.get(alert, "50m"),
        "exp_samples": [{"labels": series, "value": 1}] if labels is not None else []}]}


class Rules(unittest.TestCase):
    def promtool(self, *tests):
        """Exit code and output of `promtool test rules`."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("rules.yaml", rules()), ("test.yaml", json.dumps({
                    "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}))):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run(["promtool", "test", "rules", os.path.join(folder, "test.yaml")], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def pass_all(self, tests):
        """Runs all at once; promtool does not say which one failed, so then each alone."""
        if self.promtool(*tests)[0] == 0:
            return
        for test in tests:
            with self.subTest(test["name"]):
                code, output = self.promtool(test)
                self.assertEqual(code, 0, output)
        self.fail("promtool refuses the tests together")

    def test_every_alert_has_cases(self):
        self.assertEqual(sorted(CASES), sorted(alerts()))
        self.assertTrue(all(quiet for _, _, quiet in CASES.values()))

    def test_texts_name_labels_that_the_alert_has(self):
        """A label that is not there is an empty word."""
        for alert, text in alerts().items():
            self.assertEqual(set(re.findall(r"\$labels\.(\w+)", text)) - set(CASES[alert][0]), set(), alert)

    @needs("promtool")
    def test_prometheus_reads_as_many_rules(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write(rules())
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name], check=False, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("%d rules found" % len(alerts()), done.stdout)

    @needs("promtool")
    def test_alerts_fire(self):
        self.pass_all([group(alert, series, **is_firing(alert, labels))
                       for alert, (labels, series, _) in CASES.items()])

    @needs("promtool")
    def test_alerts_are_quiet(self):
        self.pass_all([group("%s: %s" % (alert, why), series, **is_firing(alert, None))
                       for alert, (_, _, quiet) in CASES.items() for why, series in quiet.items()])

    @needs("promtool")
    def test_a_case_can_fail(self):
        """The other way round each of these tests fails: promtool looks where we think it does."""
        labels, series, quiet = CASES["BerthDown"]
        self.assertNotEqual(self.promtool(group("quiet", series, **is_firing("BerthDown", None)))[0], 0)
        for other in quiet.values():
            self.assertNotEqual(self.promtool(group("fires", other, **is_firing("BerthDown", labels)))[0], 0)

    @needs("promtool")
    def test_texts_are_complete(self):
        """promtool prints the alerts that were not expected, with their texts."""
        _, output = self.promtool(*(
            group(alert, series, alert_rule_test=[{"alertname": alert, "eval_time": AT.get(alert, "50m"), "exp_alerts": []}])
            for alert, (_, series, _) in CASES.items()))
        printed = re.split(r"alertname: *(\w+), time:", output.replace("\\", ""))[1:]
        self.assertEqual(printed[::2], list(CASES), output)
        for alert, text in zip(printed[::2], printed[1::2]):
            with self.subTest(alert):
                for word in ("summary=", "description=", 'runbook="docs/MONITORING.md#%s"' % alert.lower()):
                    self.assertIn(word, text)
                self.assertNotRegex(text, r"error expanding|<no value>|\{\{")


class Names(unittest.TestCase):
    """Every metric that is asked for is one of berth's."""

    def queries(self):
        for alert, text in alerts().items():
            yield alert, expression(text)
        for row, panel in panels():
            for target in panel["targets"]:
                yield "%s: %s" % (row, panel["title"]), target["expr"]

    def test_names_are_found(self):
        self.assertEqual(names('sum by (a, b) (rate(x_total{c="d"}[5m])) / on (e) f_bucket offset 30m > 0.5 and g == 1e3'),
                         {"x_total", "f_bucket", "g"})

    def test_metrics_exist(self):
        have = families() | OTHERS | SAMPLES
        for where, query in self.queries():
            with self.subTest(where):
                self.assertTrue(names(query), query)
                self.assertEqual(names(query) - have, set(), query)

    def test_metrics_of_samples_exist(self):
        if not SAMPLES & families():
            self.skipTest("berth has no sampler yet: families.def has no metric of samples")
        self.assertEqual(SAMPLES - families(), set())


class Layout(unittest.TestCase):
    """Panels as Grafana places them: 24 columns, none above another."""

    def test_panels_fill_their_lines(self):
        """Each line of panels has the whole width, without an overlap; rows stand in between."""
        below, place = 0, 0
        for panel in dashboard()["panels"]:
            box = panel["gridPos"]
            with self.subTest(panel["title"]):
                self.assertEqual((box["x"], box["y"]), (place, below))
            place += box["w"]
            if place == 24:
                below, place = below + box["h"], 0
        self.assertEqual(place, 0)

    def test_panels_are_told_apart(self):
        for what in ("id", "title"):
            values = [panel[what] for panel in dashboard()["panels"]]
            self.assertEqual(len(values), len(set(values)), what)

    def test_panels_say_what_their_numbers_are(self):
        """By a unit. Results have the colours of their meaning: an error is never green."""
        for row, panel in panels():
            with self.subTest("%s: %s" % (row, panel["title"])):
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                self.assertTrue(panel.get("description"))
                if any(target["legendFormat"] == "{{result}}" for target in panel["targets"]):
                    colours = {one["matcher"]["options"].lower(): value["value"]["fixedColor"]
                               for one in panel["fieldConfig"]["overrides"] for value in one["properties"] if value["id"] == "color"}
                    self.assertEqual(colours.get("error"), "red")


class Monitors(unittest.TestCase):
    def test_services_and_pods_are_read_alike(self):
        """The ServiceMonitor and the PodMonitor differ in the name of the list only."""
        def endpoints(kind, key):
            text = re.sub(r"^ *#.*\n", "", text_of("deploy", "monitoring", kind, kind + ".yaml"), flags=re.M)
            return text.split("  %s:\n" % key)[1]
        self.assertEqual(endpoints("service-monitor", "endpoints"), endpoints("pod-monitor", "podMetricsEndpoints"))

    def test_the_paths_that_are_read_are_allowed(self):
        allowed = re.search(r"nonResourceURLs: \[([^\]]*)\]", text_of("deploy", "monitoring", "rbac.yaml"))[1].split(", ")
        read = re.findall(r"^ *path: (\S+)$", text_of("deploy", "monitoring", "pod-monitor", "pod-monitor.yaml"), re.M)
        self.assertEqual(read, ["/metrics", "/metrics/resources"])
        self.assertEqual(set(read) - set(allowed), set())


class Documents(unittest.TestCase):
    def test_every_alert_is_described(self):
        document = text_of("docs", "MONITORING.md")
        self.assertEqual(re.findall(r"^### (Berth\w+)$", document, re.M), list(alerts()))

    def test_every_panel_is_described(self):
        document = text_of("docs", "MONITORING.md")
        missing = [panel["title"] for _, panel in panels() if panel["title"] not in document]
        self.assertEqual(missing, [])

    def test_descriptions_name_the_severity(self):
        document = text_of("docs", "MONITORING.md")
        for alert in alerts():
            section = re.search(r"^### %s\n(.*?)(?=^##)" % alert, document + "\n##", re.M | re.S)[1]
            self.assertIn("Severity %s" % severity(alert), section, alert)


if __name__ == "__main__":
    unittest.main(verbosity=2)
