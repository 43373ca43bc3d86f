"""Pods get a node that fits, and wait with a reason while there is none."""
from case import Case, condition, main, node, pod
from server import Refused

ZONE = "topology.kubernetes.io/zone"


def selector(app):
    return {"matchLabels": {"app": app}}


def term(app, key=ZONE):
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, "labelSelector": selector(app)}]}


class Binding(Case):
    def test_a_pod_is_bound(self):
        self.nodes(1)
        scheduler = self.start()
        self.pod("web")
        web = self.wait_for_pod("web", "is scheduled", lambda web: condition(web, "PodScheduled").get("status") == "True")
        self.assertEqual(web["spec"]["nodeName"], "node-0")
        event = self.event("web", "Scheduled", "Successfully assigned %s/web to node-0" % self.namespace)
        self.assertEqual((event["type"], event["action"], event["reportingController"]),
                         ("Normal", "Binding", "default-scheduler"))
        self.wait("it is counted", lambda: self.metric(scheduler, "scheduler_schedule_attempts_total", result="scheduled",
                                                       profile="default-scheduler") == 1)

    def test_a_pod_is_bound_once(self):
        self.nodes(2)
        self.start()
        self.pod("web")
        other = "node-1" if self.bound("web") == "node-0" else "node-0"
        with self.assertRaises(Refused) as refused:
            self.api.ask("POST", self.api.path("Pod", self.namespace, "web", "binding"), {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"},
                "target": {"kind": "Node", "name": other}})
        self.assertEqual((refused.exception.code, refused.exception.reason), (409, "Conflict"))

    def test_a_burst(self):
        self.nodes(5, cpu="4")
        scheduler = self.start()
        names = ["pod-%d" % i for i in range(100)]
        self.create_all([pod(name, cpu="200m", terminationGracePeriodSeconds=0) for name in names])
        self.all_bound(names)  # the nodes are full: 20 pods each
        self.wait("all are counted", lambda: self.metric(scheduler, "scheduler_schedule_attempts_total",
                                                         result="scheduled") == 100)
        self.pod("late", cpu="200m")
        self.rejected("late", "0/5 nodes are available: 5 Insufficient cpu.")
        self.remove("Pod", "pod-42")
        self.bound("late")

    def test_pods_of_other_schedulers(self):
        self.nodes(1)
        self.start()
        self.pod("others", schedulerName="another")
        self.seen()
        others = self.get("Pod", "others")
        self.assertEqual((others["spec"].get("nodeName"), condition(others, "PodScheduled")), (None, {}))


class Rules(Case):
    def zones(self):
        for i in range(3):
            self.create(node("node-%d" % i, labels={ZONE: "zone-%d" % i}))

    def test_a_spread_constraint(self):
        self.zones()
        self.create(node("node-3", labels={ZONE: "zone-0"}))
        self.start()
        names = ["pod-%d" % i for i in range(6)]
        for name in names:
            self.pod(name, labels={"app": "web"}, topologySpreadConstraints=[{
                "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector("web")}])
        nodes = list(self.all_bound(names).values())
        self.assertEqual([nodes.count("node-0") + nodes.count("node-3"), nodes.count("node-1"), nodes.count("node-2")],
                         [2, 2, 2])

    def test_affinity_between_pods(self):
        self.zones()
        self.start()
        self.pod("near", affinity={"podAffinity": term("db")})
        self.rejected("near", "0/3 nodes are available: 3 node(s) didn't match pod affinity rules.")
        self.pod("db", labels={"app": "db"}, nodeSelector={ZONE: "zone-1"})
        self.bound_to("db", "node-1")
        self.bound_to("near", "node-1")
        for i in range(3):
            self.pod("apart-%d" % i, labels={"app": "apart"}, affinity={"podAntiAffinity": term("apart")})
        self.assertEqual(sorted(self.all_bound(["apart-%d" % i for i in range(3)]).values()), ["node-0", "node-1", "node-2"])
        self.pod("apart-3", labels={"app": "apart"}, affinity={"podAntiAffinity": term("apart")})
        self.rejected("apart-3", "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.")

    def test_node_affinity(self):
        self.zones()
        self.start()
        self.pod("web", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-2", "zone-9"]}]}]}}})
        self.bound_to("web", "node-2")
        self.pod("picky", nodeSelector={"disk": "fast"})
        self.rejected("picky", "3 node(s) didn't match Pod's node affinity/selector")
        self.patch("Node", "node-0", {"metadata": {"labels": {"disk": "fast"}}})
        self.bound_to("picky", "node-0")

    def test_taints(self):
        self.create(node("node-0", taints=[{"key": "batch", "value": "yes", "effect": "NoSchedule"}]))
        self.start()
        self.pod("plain")
        self.rejected("plain", "0/1 nodes are available: 1 node(s) had untolerated taint")
        self.pod("batch", tolerations=[{"key": "batch", "operator": "Exists"}])
        self.bound_to("batch", "node-0")
        self.pending("plain")
        self.patch("Node", "node-0", {"spec": {"taints": None}})
        self.bound_to("plain", "node-0")

    def test_a_cordoned_node(self):
        self.create(node("node-0", unschedulable=True))
        self.start()
        self.pod("web")
        self.rejected("web", "0/1 nodes are available: 1 node(s) were unschedulable.")
        self.patch("Node", "node-0", {"spec": {"unschedulable": False}})
        self.bound_to("web", "node-0")

    def test_host_ports(self):
        self.nodes(1)
        self.start()
        port = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]}]
        self.pod("first", containers=port)
        self.bound("first")
        self.pod("second", containers=port)
        self.rejected("second", "1 node(s) didn't have free ports for the requested pod ports")
        self.remove("Pod", "first")
        self.bound("second")


class Waiting(Case):
    def test_gates(self):
        self.nodes(1)
        self.start()
        web = self.pod("web", schedulingGates=[{"name": "example.com/one"}, {"name": "example.com/two"}])
        self.assertEqual(condition(web, "PodScheduled").get("reason"), "SchedulingGated")
        self.seen()
        self.pending("web")
        self.patch("Pod", "web", {"spec": {"schedulingGates": [{"name": "example.com/two"}]}})
        self.seen("later")
        self.pending("web")
        self.patch("Pod", "web", {"spec": {"schedulingGates": None}})
        self.bound("web")

    def test_until_a_node_is_added(self):
        scheduler = self.start()
        self.pod("web", cpu="6")
        self.rejected("web", "no nodes available to schedule pods")
        self.create(node("small", cpu="4"))
        self.waits("web", "0/1 nodes are available: 1 Insufficient cpu.")
        self.wait("it is counted", lambda: self.metric(scheduler, "scheduler_pending_pods", queue="unschedulable") == 1)
        self.create(node("large", cpu="8"))
        self.bound_to("web", "large")
        self.wait("it is counted", lambda: self.metric(scheduler, "scheduler_pending_pods", queue="unschedulable") == 0)

    def test_until_a_node_grows(self):
        self.create(node("node-0", cpu="1"))
        self.start()
        self.pod("web", cpu="2")
        self.rejected("web", "0/1 nodes are available: 1 Insufficient cpu.")
        self.patch("Node", "node-0", {"status": {"allocatable": {"cpu": "2"}, "capacity": {"cpu": "2"}}}, "status")
        self.bound_to("web", "node-0")

    def test_in_the_order_of_priority(self):
        """The queue gives a more important pod its turn first."""
        self.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000,
                     "preemptionPolicy": "Never", "metadata": {"name": "live-first"}})
        self.pod("second", cpu="4")
        self.pod("first", cpu="4", priorityClassName="live-first")
        self.nodes(1)
        self.start()
        self.bound("first")
        self.rejected("second", "0/1 nodes are available: 1 Insufficient cpu.")


if __name__ == "__main__":
    main()
