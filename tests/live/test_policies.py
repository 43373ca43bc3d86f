"""Scheduling policies that change while the scheduler runs (docs/POLICIES.md)."""
import json
import os
import re
import subprocess
import time

from case import Case, cli, main, node

LABEL = "scheduling.berth.dev/policy"
NAME = "scheduling-policies"


def policy(name, **spec):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "SchedulingPolicy", "metadata": {"name": name}, "spec": spec}


def only_on(pool):
    """Node affinity."""
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "pool", "operator": "In", "values": [pool]}]}]}}


def data(*policies):
    return {one["metadata"]["name"] + ".yaml": json.dumps(one) for one in policies}


SPOT = {"tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]}


class Policies(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler has no policies")
        self.create(node("blue", labels={"pool": "blue"}), node("green", labels={"pool": "green"}))

    def publish(self, *policies):
        """The ConfigMap with these policies, and no others."""
        self.created.append(("ConfigMap", NAME))
        self.api.create({"apiVersion": "v1", "kind": "ConfigMap",
                         "metadata": {"name": NAME, "namespace": self.namespace}, "data": data(*policies)})

    def change(self, **texts):
        self.patch("ConfigMap", NAME, {"data": {key.replace("_", "-") + ".yaml": text if text is None or isinstance(text, str)
                                                else json.dumps(text) for key, text in texts.items()}})

    def begin(self, *flags):
        return self.start("--policy-configmap=%s/%s" % (self.namespace, NAME), *flags)

    def reloads(self, scheduler, result, count):
        self.wait("policies were %s %d times" % (result, count), lambda: self.metric(
            scheduler, "berth_policy_reloads_total", result=result) == count)

    def about_map(self, reason):
        return self.wait("there is the event " + reason, lambda: self.events(NAME, reason))[-1]

    def labelled(self, name, which, **more):
        return self.pod(name, labels={LABEL: which}, **more)

    def replayed(self, folder, placed):
        shown = subprocess.run([cli.BERTH, "replay", folder], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr + shown.stdout)
        self.assertIn("decisions repeated exactly (%d placed)" % placed, shown.stdout)

    def test_a_pod_goes_where_its_policy_says(self):
        self.publish(policy("colour", nodeAffinity=only_on("green")))
        self.begin()
        for i in range(4):
            self.labelled("p%d" % i, "colour")
        self.assertEqual(set(self.all_bound(["p%d" % i for i in range(4)]).values()), {"green"})
        self.assertIn("(scheduling policy colour)", self.event("p0", "Scheduled")["note"])
        self.assertNotIn("affinity", self.get("Pod", "p0")["spec"])
        self.seen("plain")
        self.assertNotIn("policy", self.event("plain", "Scheduled")["note"])

    def test_a_change_wakes_the_pods_that_wait(self):
        self.publish(policy("colour", nodeAffinity=only_on("red")))
        scheduler = self.begin()
        self.labelled("web", "colour")
        text = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
        self.waits("web", text)
        self.assertIn("(scheduling policy colour)", self.event("web", "FailedScheduling", text)["note"])
        self.change(colour=policy("colour", nodeAffinity=only_on("blue")))
        self.bound_to("web", "blue")
        self.reloads(scheduler, "applied", 2)
        self.assertIn("colour", self.about_map("PolicyReloaded")["note"])
        self.change(colour=policy("colour", nodeAffinity=only_on("green")))
        self.reloads(scheduler, "applied", 3)
        self.labelled("next", "colour")
        self.bound_to("next", "green")

    def test_a_change_takes_effect_within_two_seconds(self):
        """One of ten does: other processes may delay any of them."""
        self.publish(policy("colour", nodeAffinity=only_on("red")))
        scheduler, took = self.begin(), []
        self.seen("first")  # it serves its metrics
        for i in range(10):
            self.labelled("p%d" % i, "colour")
            self.waits("p%d" % i, "didn't match")
            begun = time.monotonic()
            self.change(colour=policy("colour", nodeAffinity=only_on("blue")))
            self.bound("p%d" % i)
            took.append(time.monotonic() - begun)
            if took[-1] < 2:
                return
            self.change(colour=policy("colour", nodeAffinity=only_on("red")))
            self.reloads(scheduler, "applied", 3 + 2 * i)
        self.fail("these many seconds passed: %s" % took)

    def test_a_bad_document_changes_nothing(self):
        self.publish(policy("colour", nodeAffinity=only_on("green")))
        scheduler = self.begin()
        self.labelled("first", "colour")
        self.bound_to("first", "green")
        self.change(colour="apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata: {name: colour}\n"
                           "spec:\n  resourceWeights: {cpu: many}\n", other=policy("other"))
        event = self.about_map("PolicyReloadFailed")
        self.assertEqual(event["type"], "Warning")
        self.assertIn("colour.yaml:5:26: spec.resourceWeights[cpu]: expected a whole number", event["note"])
        self.reloads(scheduler, "refused", 1)
        self.assertEqual(self.metric(scheduler, "berth_policy_last_reload_success"), 0)
        self.assertEqual(self.metric(scheduler, "berth_policies"), 1)
        self.assertIn("Scheduling policies refused, nothing changes", scheduler.log())
        self.labelled("second", "colour")
        self.bound_to("second", "green")
        self.change(colour=policy("colour", nodeAffinity=only_on("blue")), other=None)
        self.reloads(scheduler, "applied", 2)
        self.assertEqual(self.metric(scheduler, "berth_policy_last_reload_success"), 1)
        self.labelled("third", "colour")
        self.bound_to("third", "blue")

    def test_the_map_comes_late_and_goes(self):
        scheduler = self.begin()
        self.labelled("early", "colour", nodeSelector={"pool": "red"})
        self.waits("early", "didn't match")
        self.assertEqual(self.metric(scheduler, "berth_policy_last_reload_success"), 1)  # else an alert fires
        self.publish(policy("colour", nodeAffinity=only_on("green")))
        self.reloads(scheduler, "applied", 1)
        self.labelled("web", "colour")
        self.bound_to("web", "green")
        self.remove("ConfigMap", NAME)
        self.reloads(scheduler, "applied", 2)
        self.pod("fill", cpu="3500m", nodeSelector={"pool": "green"})
        self.bound("fill")
        self.labelled("free", "colour", cpu="3")  # where the policy would not let it
        self.bound_to("free", "blue")

    def test_a_priority_class_that_is_not_there(self):
        """One line at the start, once all is known, and one for each change of the policies."""
        there, gone = self.namespace + "-there", self.namespace + "-gone"
        self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": there}, "value": 7})
        self.publish(policy("a", priorityClass=there), policy("b", priorityClass=gone), policy("c", tolerations=[]))
        scheduler = self.begin()
        self.labelled("pod", "b", nodeSelector={"pool": "red"})
        self.waits("pod", "didn't match")

        def named():
            return re.findall(r'names a PriorityClass that is not there.* policy="(\w+)" priorityClass="(.*)"', scheduler.log())

        self.assertEqual(named(), [("b", gone)])
        self.change(c=policy("c", priorityClass=gone))
        self.reloads(scheduler, "applied", 2)
        self.wait("it is logged", lambda: named() == [("b", gone), ("b", gone), ("c", gone)])

    def test_by_namespace_by_selector_and_by_default(self):
        self.publish(policy("default-policy", nodeAffinity=only_on("green")),
                     policy("batch", nodeAffinity=only_on("blue"), podSelector={"matchLabels": {"kind": "batch"}}),
                     policy("none", tolerations=[]))
        self.begin()
        self.pod("usual")
        self.bound_to("usual", "green")
        self.pod("batch", labels={"kind": "batch"})
        self.bound_to("batch", "blue")
        self.pod("red", nodeSelector={"pool": "red"})
        self.waits("red", "didn't match")
        self.labelled("own", "", nodeSelector={"pool": "blue"})
        self.bound_to("own", "blue")
        self.pod("kept", nodeSelector={"pool": "blue"})
        self.waits("kept", "didn't match")
        self.patch("Namespace", self.namespace, {"metadata": {"labels": {LABEL: "none"}}})
        self.bound_to("kept", "blue")

    def test_priority_and_preemption(self):
        classes = {"low": self.namespace + "-low", "high": self.namespace + "-high"}
        for name, value in (("low", 10), ("high", 1000)):
            self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                         "metadata": {"name": classes[name]}, "value": value})
        self.publish(policy("low", priorityClass=classes["low"]), policy("high", priorityClass=classes["high"]))
        self.begin()
        self.labelled("victim", "low", cpu="3500m", nodeSelector={"pool": "blue"})
        self.bound("victim")
        self.labelled("urgent", "high", cpu="3", nodeSelector={"pool": "blue"})
        self.gone("Pod", "victim")
        self.bound_to("urgent", "blue")
        self.assertEqual(self.get("Pod", "urgent")["spec"].get("priority", 0), 0)
        # It is no victim of a pod whose own priority is higher than its own, and lower than its policy's.
        self.pod("between", cpu="3", nodeSelector={"pool": "blue"}, priorityClassName=classes["low"])
        self.waits("between", "No preemption victims found")

    def test_weights(self):
        """A pod goes to the node that its weights prefer."""
        self.create(node("wide", cpu="64", memory="4Gi"), node("deep", cpu="8", memory="64Gi"))
        on = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["wide", "deep"]}]}]}}}}
        self.publish(policy("by-cpu", resourceWeights={"cpu": 100}, pluginWeights={"NodeResourcesBalancedAllocation": 0}),
                     policy("by-memory", resourceWeights={"memory": 100}, pluginWeights={"NodeResourcesBalancedAllocation": 0}))
        self.begin()
        self.labelled("a", "by-cpu", cpu="2", **on)
        self.bound_to("a", "wide")
        self.labelled("b", "by-memory", cpu="2", **on)
        self.bound_to("b", "deep")
        self.change(by_cpu=policy("by-cpu", resourceWeights={"memory": 100},
                                  pluginWeights={"NodeResourcesBalancedAllocation": 0}))
        self.event_of_reload(2)
        self.labelled("c", "by-cpu", cpu="2", **on)
        self.bound_to("c", "deep")

    def event_of_reload(self, count):
        self.reloads(self.schedulers[-1], "applied", count)

    def test_a_recording_has_the_policies(self):
        folder = self.path("recording")
        self.publish(policy("colour", nodeAffinity=only_on("green"), resourceWeights={"cpu": 10, "memory": 1}))
        scheduler = self.begin("--record", folder)
        for i in range(5):
            self.labelled("p%d" % i, "colour")
        self.all_bound(["p%d" % i for i in range(5)])
        self.change(colour=policy("colour", nodeAffinity=only_on("blue"), **SPOT))
        self.reloads(scheduler, "applied", 2)
        self.change(other="kind: Pod")
        self.reloads(scheduler, "refused", 1)
        for i in range(5, 10):
            self.labelled("p%d" % i, "colour")
        self.assertEqual(set(self.all_bound(["p%d" % i for i in range(5, 10)]).values()), {"blue"})
        self.assertEqual(scheduler.end(), 0)
        self.replayed(folder, 10)


class Folder(Policies):
    """The same with a folder of files."""

    def setUp(self):
        super().setUp()
        self.policies = self.path("policies")
        os.makedirs(self.policies, exist_ok=True)

    def publish(self, *policies):
        for name, text in data(*policies).items():
            self.write_policy(name, text)

    def write_policy(self, name, text):
        with open(os.path.join(self.policies, "." + name), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, os.path.join(self.policies, name))

    def change(self, **texts):
        for key, text in texts.items():
            name = key.replace("_", "-") + ".yaml"
            if text is None:
                os.remove(os.path.join(self.policies, name))
            else:
                self.write_policy(name, text if isinstance(text, str) else json.dumps(text))

    def begin(self, *flags):
        return self.start("--policy-dir", self.policies, *flags)

    def about_map(self, reason):
        """It is about the scheduler itself."""
        def look():
            return [event for event in self.api.list("Event", "default") + self.api.list("Event", "kube-system")
                    if event["reason"] == reason and event.get("note") and
                    (self.policies in event["note"] or reason == "PolicyReloaded")]
        return self.wait("there is the event " + reason, look)[-1]

    def remove(self, kind, name):
        if kind != "ConfigMap":
            super().remove(kind, name)
            return
        for file in os.listdir(self.policies):
            os.remove(os.path.join(self.policies, file))


if __name__ == "__main__":
    main()
