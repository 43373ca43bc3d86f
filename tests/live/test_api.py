"""What schedulers rely on of the API server, without a scheduler: the embedded one must not differ from kube-apiserver."""
import urllib.parse

from case import Case, condition, main, node_of
from server import Refused


class API(Case):
    def refused(self, code, reason, call, *args, **more):
        with self.assertRaises(Refused) as refused:
            call(*args, **more)
        self.assertEqual((refused.exception.code, refused.exception.reason), (code, reason), refused.exception)

    def subresource(self, name, sub, body):
        return self.api.ask("POST", self.api.path("Pod", self.namespace, name, sub), body)

    def bind(self, name, where="node-0", **metadata):
        return self.subresource(name, "binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {
            "name": name, **metadata}, "target": {"apiVersion": "v1", "kind": "Node", "name": where}})

    def watch(self, count, selector="", **query):
        """The first events of pods: their types, and the names of objects or the annotations of bookmarks."""
        query = urllib.parse.urlencode({"fieldSelector": selector, **query})
        return [(event["type"], event["object"]["metadata"].get("name") or event["object"]["metadata"].get("annotations"))
                for event in self.api.watch("Pod", query, count, self.namespace)]


class Bindings(API):
    def test_what_a_binding_does(self):
        before = self.pod("web")
        self.assertEqual(condition(before, "PodScheduled"), {})
        self.bind("web", uid=before["metadata"]["uid"], annotations={"example.com/why": "it fits"})
        web = self.get("Pod", "web")
        self.assertEqual(node_of(web), "node-0")  # which need not exist
        self.assertEqual(web["metadata"]["annotations"], {"example.com/why": "it fits"})
        scheduled = condition(web, "PodScheduled")
        self.assertEqual((scheduled["status"], scheduled.get("reason")), ("True", None))
        self.assertEqual(web["status"]["phase"], "Pending")

    def test_bindings_that_are_refused(self):
        self.refused(404, "NotFound", self.bind, "missing")
        self.pod("web")
        self.refused(409, "Conflict", self.bind, "web", uid="another")
        self.bind("web")
        self.refused(409, "Conflict", self.bind, "web")
        self.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
        self.refused(409, "Conflict", self.bind, "gated")
        self.pod("deleted", on="node-0", terminationGracePeriodSeconds=600)
        self.api.delete("Pod", "deleted", self.namespace)
        self.refused(409, "Conflict", self.bind, "deleted")


class Pods(API):
    def test_gates_change_the_generation(self):
        web = self.pod("web", schedulingGates=[{"name": "example.com/wait"}])
        gated = condition(web, "PodScheduled")
        self.assertEqual((web["metadata"]["generation"], gated["status"], gated["reason"]), (1, "False", "SchedulingGated"))
        self.patch("Pod", "web", {"spec": {"schedulingGates": None}})
        self.assertEqual(self.get("Pod", "web")["metadata"]["generation"], 2)
        self.patch("Pod", "web", {"metadata": {"labels": {"a": "b"}}})
        self.assertEqual(self.get("Pod", "web")["metadata"]["generation"], 2)

    def test_a_status_patch_keeps_other_conditions(self):
        self.pod("web")
        path = self.api.path("Pod", self.namespace, "web", "status")
        for kind in "First", "Second":
            self.api.ask("PATCH", path, {"status": {"conditions": [{"type": kind, "status": "True"}]}},
                         "application/strategic-merge-patch+json")
        self.api.ask("PATCH", path, {"status": {"conditions": [{"type": "First", "status": "False"}],
                                                "nominatedNodeName": "node-7"}, "spec": {"nodeName": "ignored"}},
                     "application/strategic-merge-patch+json")
        web = self.get("Pod", "web")
        self.assertEqual((condition(web, "First")["status"], condition(web, "Second")["status"]), ("False", "True"))
        self.assertEqual((web["status"]["nominatedNodeName"], node_of(web)), ("node-7", ""))

    def test_deletion(self):
        """A pod with a node has its grace period, one without is gone at once."""
        web = self.pod("web", on="node-0", terminationGracePeriodSeconds=600)
        other = {"uid": "another"}
        self.refused(409, "Conflict", self.api.delete, "Pod", "web", self.namespace, preconditions=other)
        self.api.delete("Pod", "web", self.namespace, preconditions={"uid": web["metadata"]["uid"]})
        web = self.get("Pod", "web")
        self.assertEqual(web["metadata"]["deletionGracePeriodSeconds"], 600)
        self.assertEqual(web["metadata"]["generation"], 2)
        self.pod("waits", terminationGracePeriodSeconds=600)
        self.api.delete("Pod", "waits", self.namespace)
        self.assertIsNone(self.api.find("Pod", "waits", self.namespace))
        self.refused(404, "NotFound", self.api.delete, "Pod", "waits", self.namespace)

    def test_priority(self):
        self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7, "metadata": {"name": "live-7"},
                     "preemptionPolicy": "Never"})
        spec = self.pod("web", priorityClassName="live-7")["spec"]
        self.assertEqual((spec["priority"], spec["preemptionPolicy"]), (7, "Never"))
        spec = self.pod("plain")["spec"]
        self.assertEqual((spec["priority"], spec["preemptionPolicy"]), (0, "PreemptLowerPriority"))
        self.refused(403, "Forbidden", self.pod, "wrong", priorityClassName="live-missing")

    def test_evictions_obey_budgets(self):
        budget = self.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guard"},
                              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})
        budget["status"] = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
                            "observedGeneration": budget["metadata"]["generation"]}
        self.api.replace_status(budget)
        for name in "first", "second":
            self.pod(name, on="node-0", labels={"app": "guarded"})
            self.patch("Pod", name, {"status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True"}]}}, "status")
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
        self.subresource("first", "eviction", {**eviction, "metadata": {"name": "first"}})
        self.assertIsNone(self.api.find("Pod", "first", self.namespace))
        self.assertEqual(self.get("PodDisruptionBudget", "guard")["status"]["disruptionsAllowed"], 0)
        self.refused(429, "TooManyRequests", self.api.ask_once, "POST",
                     self.api.path("Pod", self.namespace, "second", "eviction"),
                     {**eviction, "metadata": {"name": "second"}}, "application/json")


class Writes(API):
    def test_concurrency(self):
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "lead"},
                 "spec": {"holderIdentity": "a"}}
        first = self.create(lease)
        self.refused(409, "AlreadyExists", self.api.create, lease)
        path = self.api.path("Lease", self.namespace, "lead")
        second = self.api.ask("PUT", path, {**first, "spec": {"holderIdentity": "b"}})
        self.assertNotEqual(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"])
        self.refused(409, "Conflict", self.api.ask, "PUT", path, {**first, "spec": {"holderIdentity": "c"}})
        self.assertEqual(self.api.ask("PUT", path, second)["metadata"]["resourceVersion"],  # nothing has changed
                         second["metadata"]["resourceVersion"])

    def test_finalizers(self):
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "finalizers": ["example.com/x"]}})
        self.remove("ConfigMap", "kept")
        self.assertIn("deletionTimestamp", self.get("ConfigMap", "kept")["metadata"])
        self.patch("ConfigMap", "kept", {"metadata": {"finalizers": None}})
        self.assertIsNone(self.api.find("ConfigMap", "kept", self.namespace))


class Watches(API):
    def test_events_since_a_version(self):
        version = self.api.version("Pod", self.namespace)
        self.pod("web")
        self.bind("web")
        self.remove("Pod", "web")
        self.assertEqual(self.watch(4, resourceVersion=version),  # a pod is marked before it goes
                         [("ADDED", "web"), ("MODIFIED", "web"), ("MODIFIED", "web"), ("DELETED", "web")])

    def test_other_objects_go_at_once(self):
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}})
        version = self.api.version("ConfigMap", self.namespace)
        self.remove("ConfigMap", "map")
        event = self.api.watch("ConfigMap", "resourceVersion=" + version, 1, self.namespace)[0]
        self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("DELETED", "map"))
        self.assertNotIn("deletionTimestamp", event["object"]["metadata"])

    def test_a_selection(self):
        """An object that leaves it is deleted, to this watch, and one that enters it is added."""
        version = self.api.version("Pod", self.namespace)
        self.pod("web")
        self.pod("gone")
        self.bind("web")
        self.patch("Pod", "gone", {"status": {"phase": "Failed"}}, "status")
        self.remove("Pod", "web")
        self.assertEqual(self.watch(3, "spec.nodeName=node-0", resourceVersion=version),
                         [("ADDED", "web"), ("MODIFIED", "web"), ("DELETED", "web")])
        running = "status.phase!=Succeeded,status.phase!=Failed"
        self.assertEqual(self.watch(4, running, resourceVersion=version),
                         [("ADDED", "web"), ("ADDED", "gone"), ("MODIFIED", "web"), ("DELETED", "gone")])

    def test_initial_events(self):
        self.pod("web")
        self.pod("other")
        events = self.watch(3, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")
        self.assertEqual(sorted(events[:2]), [("ADDED", "other"), ("ADDED", "web")])
        self.assertEqual(events[2], ("BOOKMARK", {"k8s.io/initial-events-end": "true"}))


if __name__ == "__main__":
    main()
