"""More important pods take the place of less important ones."""
from case import Case, condition, main, node


class Preemption(Case):
    def setUp(self):
        super().setUp()
        for name, value, more in (("live-low", 10, {}), ("live-middle", 100, {}), ("live-high", 1000, {}),
                                  ("live-polite", 1000, {"preemptionPolicy": "Never"})):
            self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value,
                         "metadata": {"name": name}, **more})

    def placed(self, name, where, importance, **more):
        """A pod that runs on a node, and takes all of it."""
        self.pod(name, on=where, **{"cpu": "4", "priorityClassName": "live-" + importance, **more})

    def budget(self, app, allowed):
        """A PodDisruptionBudget of which so many pods may be evicted. The test plays its controller."""
        made = self.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app},
                            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}})
        made["status"] = {"disruptionsAllowed": allowed, "currentHealthy": 1 + allowed, "desiredHealthy": 1,
                          "expectedPods": 1 + allowed, "observedGeneration": made["metadata"]["generation"]}
        self.api.replace_status(made)

    def test_the_whole_course(self):
        """A nomination, an eviction with a grace period, room that is kept, a binding."""
        self.nodes(1)
        self.placed("victim", "node-0", "low", terminationGracePeriodSeconds=600)
        scheduler = self.start()
        vip = self.pod("vip", cpu="4", priorityClassName="live-high")
        self.wait_for_pod("vip", "is nominated", lambda one: one["status"].get("nominatedNodeName") == "node-0")
        self.rejected("vip", "0/1 nodes are available: 1 Insufficient cpu.")
        victim = self.wait_for_pod("victim", "is deleted", lambda one: one["metadata"].get("deletionTimestamp"))
        self.assertEqual(victim["metadata"]["deletionGracePeriodSeconds"], 600)
        target = condition(victim, "DisruptionTarget")
        self.assertEqual((target["status"], target["reason"], target["message"]),
                         ("True", "PreemptionByScheduler",
                          "default-scheduler: preempting to accommodate a higher priority pod"))
        event = self.event("victim", "Preempted")
        self.assertEqual(event["note"], "Preempted by pod %s on node node-0" % vip["metadata"]["uid"])
        # A less important pod does not get the room, neither now nor when the victim is gone.
        self.pod("thief", cpu="4", priorityClassName="live-middle")
        self.rejected("thief", "0/1 nodes are available: 1 Insufficient cpu.")
        self.assertEqual(self.metric(scheduler, "scheduler_preemption_victims_sum"), 1)
        self.remove("Pod", "victim")
        self.bound_to("vip", "node-0")
        self.pending("thief")

    def test_the_least_important_ones_go(self):
        self.nodes(3)
        self.placed("a", "node-0", "middle")
        self.placed("b", "node-1", "low")
        self.placed("c-1", "node-2", "low", cpu="2")
        self.placed("c-2", "node-2", "low", cpu="2")
        self.start()
        self.pod("vip", cpu="4", priorityClassName="live-high")
        self.bound_to("vip", "node-1")  # one victim instead of two
        self.gone("Pod", "b")
        for name in "a", "c-1", "c-2":
            self.assertNotIn("deletionTimestamp", self.get("Pod", name)["metadata"], name)

    def test_only_as_many_as_needed(self):
        self.nodes(1)
        self.placed("large", "node-0", "low", cpu="3")
        self.placed("small", "node-0", "low", cpu="1")
        self.start()
        self.pod("vip", cpu="3", priorityClassName="live-high")
        self.bound_to("vip", "node-0")
        self.gone("Pod", "large")
        self.assertNotIn("deletionTimestamp", self.get("Pod", "small")["metadata"])

    def test_budgets_are_respected(self):
        self.nodes(2)
        self.placed("guarded", "node-0", "low", labels={"app": "guarded"})
        self.placed("other", "node-1", "middle")
        self.budget("guarded", 0)
        self.start()
        self.pod("vip", cpu="4", priorityClassName="live-high")
        self.bound_to("vip", "node-1")
        self.gone("Pod", "other")
        self.assertNotIn("deletionTimestamp", self.get("Pod", "guarded")["metadata"])

    def test_a_budget_that_allows_it(self):
        self.nodes(2)
        self.placed("guarded", "node-0", "low", labels={"app": "guarded"})
        self.placed("other", "node-1", "middle")
        self.budget("guarded", 1)
        self.start()
        self.pod("vip", cpu="4", priorityClassName="live-high")
        self.bound_to("vip", "node-0")
        self.assertNotIn("deletionTimestamp", self.get("Pod", "other")["metadata"])

    def test_a_pod_that_must_not_preempt(self):
        self.nodes(1)
        self.placed("runs", "node-0", "low")
        self.start()
        self.pod("polite", cpu="4", priorityClassName="live-polite")
        self.rejected("polite", "not eligible due to preemptionPolicy=Never")
        self.assertNotIn("deletionTimestamp", self.get("Pod", "runs")["metadata"])
        self.assertNotIn("nominatedNodeName", self.get("Pod", "polite")["status"])
        self.remove("Pod", "runs")
        self.bound_to("polite", "node-0")

    def test_equals_stay(self):
        self.nodes(1)
        self.placed("runs", "node-0", "high")
        self.start()
        self.pod("equal", cpu="4", priorityClassName="live-high")
        self.rejected("equal", "No preemption victims found for incoming pod")
        self.assertNotIn("deletionTimestamp", self.get("Pod", "runs")["metadata"])

    def test_a_nominated_pod_takes_another_node(self):
        self.nodes(1)
        self.placed("victim", "node-0", "low", terminationGracePeriodSeconds=600)
        self.start()
        self.pod("vip", cpu="4", priorityClassName="live-high")
        self.wait_for_pod("vip", "is nominated", lambda one: one["status"].get("nominatedNodeName") == "node-0")
        self.create(node("node-1"))
        self.bound_to("vip", "node-1")


if __name__ == "__main__":
    main()
