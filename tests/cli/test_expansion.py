"""Controllers in the input become the pods that they would still create."""
import collections
import json

import cli

NODES = [cli.node("n%d" % i, cpu="16") for i in range(3)]


class Counts(cli.Case):
    def made(self, *objects):
        """The number of pods for each name stem."""
        report = self.simulate([*NODES, *objects])
        self.assertEqual(report["summary"]["pending"], 0, report["pending"])
        return report

    def test_deployment(self):
        report = self.made(cli.workload("Deployment", "web", replicas=4))
        self.assertEqual(report["summary"]["expanded"], 4)
        for name in self.placed(report):
            self.assertRegex(name, r"^default/web-[bcdfghjklmnpqrstvwxz2456789]+-[bcdfghjklmnpqrstvwxz2456789]{5}$")

    def test_replicas_default_to_one(self):
        self.assertEqual(self.made(cli.workload("Deployment", "web"))["summary"]["expanded"], 1)
        self.assertEqual(self.made(cli.workload("ReplicaSet", "web"))["summary"]["expanded"], 1)

    def test_zero(self):
        self.assertEqual(self.made(cli.workload("Deployment", "web", replicas=0))["summary"]["expanded"], 0)

    def test_replica_set_with_pods(self):
        rs = cli.workload("ReplicaSet", "web", replicas=3)
        pods = [cli.pod("web-a", on="n0", owner=("ReplicaSet", "web")), cli.pod("web-b", owner=("ReplicaSet", "web"))]
        self.assertEqual(self.made(rs, *pods)["summary"]["expanded"], 1)

    def test_terminating_and_finished_pods_do_not_count(self):
        rs = cli.workload("ReplicaSet", "web", replicas=2)
        leaving = cli.pod("web-a", on="n0", owner=("ReplicaSet", "web"))
        leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        failed = cli.pod("web-b", on="n0", owner=("ReplicaSet", "web"), status={"phase": "Failed"})
        self.assertEqual(self.made(rs, leaving, failed)["summary"]["expanded"], 2)

    def test_pods_of_a_controller_of_that_name_before(self):
        rs = cli.workload("ReplicaSet", "web", replicas=1, meta_more={"uid": "new"})
        old = cli.pod("web-a", on="n0", owner=("ReplicaSet", "web"))
        old["metadata"]["ownerReferences"][0]["uid"] = "old"
        self.assertEqual(self.made(rs, old)["summary"]["expanded"], 1)

    def owned_set(self, name, replicas, revision):
        return cli.workload("ReplicaSet", name, replicas=replicas, meta_more={
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True,
                                 "uid": ""}]})

    def test_deployment_and_its_replica_set_count_once(self):
        report = self.made(cli.workload("Deployment", "web", replicas=3), self.owned_set("web-1", 3, 1))
        self.assertEqual(report["summary"]["expanded"], 3)
        self.assertTrue(all(name.startswith("default/web-1-") for name in self.placed(report)))

    def test_deployment_that_was_scaled(self):
        for wanted in (5, 2, 0):
            report = self.made(cli.workload("Deployment", "web", replicas=wanted), self.owned_set("web-1", 3, 1))
            self.assertEqual(report["summary"]["expanded"], wanted)

    def test_rollout(self):
        """The new set gets all missing pods; the old one keeps its pods."""
        old = [cli.pod("web-1-%d" % i, on="n0", owner=("ReplicaSet", "web-1")) for i in range(2)]
        report = self.made(cli.workload("Deployment", "web", replicas=6), self.owned_set("web-1", 2, 1),
                           self.owned_set("web-2", 3, 2), *old)
        self.assertEqual(collections.Counter(name.rsplit("-", 1)[0] for name in self.placed(report)),
                         {"default/web-2": 4})

    def test_deployment_with_pods_but_without_its_replica_set(self):
        pods = [cli.pod("web-abc-%d" % i, on="n0", owner=("ReplicaSet", "web-abc"),
                        labels={"app": "web", "pod-template-hash": "abc"}) for i in range(2)]
        report = self.made(cli.workload("Deployment", "web", replicas=3), *pods)
        self.assertEqual(report["summary"]["expanded"], 1)
        self.assertTrue(next(iter(self.placed(report))).startswith("default/web-abc-"))

    def test_stateful_set(self):
        sts = cli.workload("StatefulSet", "db", replicas=4)
        there = cli.pod("db-1", on="n0", owner=("StatefulSet", "db"))
        self.assertEqual(sorted(self.placed(self.made(sts, there))), ["default/db-0", "default/db-2", "default/db-3"])

    def test_stateful_set_ordinals(self):
        sts = cli.workload("StatefulSet", "db", replicas=2, ordinals={"start": 5})
        self.assertEqual(sorted(self.placed(self.made(sts))), ["default/db-5", "default/db-6"])

    def test_replication_controller(self):
        self.assertEqual(self.made(cli.workload("ReplicationController", "rc", replicas=2))["summary"]["expanded"], 2)

    def test_controllers_that_are_being_deleted(self):
        gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"):
            self.assertEqual(self.made(cli.workload(kind, "x", meta_more=gone))["summary"]["expanded"], 0, kind)


class Jobs(cli.Case):
    def expanded(self, status=None, pods=(), **spec):
        job = cli.workload("Job", "j", pod_spec_more={"restartPolicy": "Never"}, status=status, **spec)
        return self.simulate([*NODES, job, *pods])

    def test_counts(self):
        for want, spec, status in (
            (1, {}, None),
            (1, {"completions": 5}, None),
            (2, {"completions": 5, "parallelism": 2}, None),
            (1, {"completions": 5, "parallelism": 3}, {"succeeded": 4}),
            (0, {"completions": 5, "parallelism": 3}, {"succeeded": 5}),
            (3, {"parallelism": 3}, None),
            (0, {"parallelism": 3}, {"succeeded": 1}),
            (0, {"parallelism": 3, "suspend": True}, None),
            (0, {"completions": 2}, {"conditions": [{"type": "Failed", "status": "True"}]}),
            (1, {"completions": 2}, {"conditions": [{"type": "Failed", "status": "False"}]}),
            (0, {"completions": 2}, {"conditions": [{"type": "Complete", "status": "True"}]}),
        ):
            self.assertEqual(self.expanded(status=status, **spec)["summary"]["expanded"], want, (spec, status))

    def test_long_names(self):
        """The index stays, however long the name of the Job; also in the replacement of a victim."""
        owner = "j" * 63
        job = cli.workload("Job", owner, completions=12, parallelism=12, completionMode="Indexed",
                           pod_spec_more={"restartPolicy": "Never"})
        there = cli.pod("there", on="n", cpu="4", priority=-1, owner=("Job", owner))
        there["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "10"}
        high = cli.pod("high", cpu="4", priority=10)
        report = self.simulate([cli.node("n", cpu="6"), job, there, high])
        self.assertEqual(report["summary"]["preempted"], 1)
        names = [row["pod"]["name"] for row in report["placements"] if row["pod"]["name"] != "high"]
        self.assertEqual(len(set(names)), 12)
        for name in names:
            self.assertRegex(name, "^j{54,55}-[0-9]+-[a-z0-9]{5}$")

    def test_active_pods_count(self):
        there = cli.pod("j-x", on="n0", owner=("Job", "j"))
        self.assertEqual(self.expanded(pods=[there], completions=4, parallelism=3)["summary"]["expanded"], 2)

    def test_indexes(self):
        report = self.expanded(completions=6, parallelism=3, completionMode="Indexed",
                               status={"succeeded": 3, "completedIndexes": "0,2-3"})
        self.assertEqual(sorted(name.split("-")[1] for name in self.placed(report)), ["1", "4", "5"])

    def test_indexes_of_pods(self):
        there = cli.pod("j-0-x", on="n0", owner=("Job", "j"))
        there["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "0"}
        done = cli.pod("j-1-x", on="n0", owner=("Job", "j"), status={"phase": "Succeeded"})
        done["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "1"}
        report = self.expanded(pods=[there, done], completions=4, parallelism=2, completionMode="Indexed")
        self.assertEqual([name.split("-")[1] for name in self.placed(report)], ["2"])


class Daemons(cli.Case):
    def nodes_of(self, nodes, *objects, **more):
        report = self.simulate([*nodes, cli.workload("DaemonSet", "agent", **more), *objects])
        self.assertEqual(report["summary"]["pending"], 0, report["pending"])
        return sorted(self.placed(report).values())

    def test_every_node(self):
        self.assertEqual(self.nodes_of(NODES), ["n0", "n1", "n2"])

    def test_nodes_that_have_one(self):
        self.assertEqual(self.nodes_of(NODES, cli.pod("agent-x", on="n1", owner=("DaemonSet", "agent"))), ["n0", "n2"])

    def test_selector(self):
        nodes = [cli.node("a", labels={"disk": "ssd"}), cli.node("b")]
        self.assertEqual(self.nodes_of(nodes, pod_spec_more={"nodeSelector": {"disk": "ssd"}}), ["a"])

    def test_affinity(self):
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}]}}}
        nodes = [cli.node("a", labels={"disk": "ssd"}), cli.node("b")]
        self.assertEqual(self.nodes_of(nodes, pod_spec_more={"affinity": affinity}), ["b"])

    def test_taints(self):
        taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
        nodes = [cli.node("a", taints=[taint]), cli.node("b")]
        self.assertEqual(self.nodes_of(nodes), ["b"])
        self.assertEqual(self.nodes_of(nodes, pod_spec_more={"tolerations": [{"operator": "Exists"}]}), ["a", "b"])

    def test_standard_tolerations(self):
        """Cordoned and unhealthy nodes get daemon pods as well."""
        nodes = [cli.node(key, taints=[{"key": "node.kubernetes.io/" + key, "effect": effect}])
                 for key, effect in (("unschedulable", "NoSchedule"), ("not-ready", "NoExecute"),
                                     ("memory-pressure", "NoSchedule"))]
        nodes[0]["spec"]["unschedulable"] = True
        self.assertEqual(self.nodes_of(nodes), ["memory-pressure", "not-ready", "unschedulable"])
        no_network = [cli.node("a", taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}])]
        self.assertEqual(self.nodes_of(no_network), [])
        self.assertEqual(self.nodes_of(no_network, pod_spec_more={"hostNetwork": True}), ["a"])

    def test_full_node_keeps_it_waiting(self):
        report = self.simulate([cli.node("a", cpu="1"), cli.node("b"), cli.pod("p", on="a", cpu="1", priority=0),
                                cli.workload("DaemonSet", "agent")])
        self.assertEqual(list(self.placed(report).values()), ["b"])
        self.assertEqual(report["summary"]["pending"], 1)


class Ordered(cli.Case):
    """Pods of a StatefulSet are made one after the other, each when the one before has a node."""

    def order(self, *objects, nodes=NODES):
        self.result = self.berth("simulate", "-f", self.write("c.json", [*nodes, *objects]), "-o", "json")
        return [row["pod"]["name"] for row in self.result.json["placements"]]

    def test_later_pods_come_behind_others(self):
        sts = cli.workload("StatefulSet", "db", replicas=3)
        plain = [cli.pod("a"), cli.workload("ReplicaSet", "web", replicas=1)]
        names = self.order(sts, *plain)
        self.assertEqual(names[:2] + names[3:], ["a", "db-0", "db-1", "db-2"])
        self.assertTrue(names[2].startswith("web-"))
        sts["spec"]["podManagementPolicy"] = "Parallel"
        self.assertEqual(self.order(sts, *plain)[:4], ["a", "db-0", "db-1", "db-2"])
        self.assertEqual(self.result.json["summary"]["expanded"], 4)

    def test_a_pod_without_a_node_holds_the_others_back(self):
        sts = cli.workload("StatefulSet", "db", cpu="17", replicas=3, ordinals={"start": 5})
        self.assertEqual(self.order(sts), ["db-5"])
        self.assertEqual(self.result.err, "berth: warning: 2 pods of StatefulSet default/db are not made, because pod "
                                          "default/db-5 has no node (podManagementPolicy: OrderedReady)\n")
        self.assertEqual(self.order(sts, cli.pod("db-5", on="n0", owner=("StatefulSet", "db"))), ["db-6"])
        self.assertIn("1 pod of StatefulSet default/db is not made, because pod default/db-6 has", self.result.err)

    def test_what_is_there_is_kept(self):
        pods = [cli.pod("db-0", on="n0", owner=("StatefulSet", "db")), cli.pod("db-2", owner=("StatefulSet", "db"))]
        self.assertEqual(self.order(cli.workload("StatefulSet", "db", replicas=4), *pods), ["db-2", "db-1", "db-3"])

    def test_a_pod_that_loses_its_node_comes_before_the_next(self):
        nodes = [cli.node("a", cpu="2"), cli.node("b", cpu="2")]
        sts = cli.workload("StatefulSet", "db", cpu="2", replicas=3, pod_spec_more={"priority": 0})
        there = cli.pod("db-0", on="a", cpu="2", priority=0, owner=("StatefulSet", "db"))
        high = cli.pod("high", cpu="2", priority=10, nodeSelector={"kubernetes.io/hostname": "a"})
        self.assertEqual(self.order(sts, there, high, nodes=nodes)[-1], "db-0")
        self.assertIn("1 pod of StatefulSet default/db is not made, because pod default/db-0 has", self.result.err)

    def test_explain_makes_all(self):
        sts = cli.workload("StatefulSet", "db", replicas=3)
        self.assertEqual(len(self.explain([*NODES, sts], "db-2")["best"]), 3)


class Made(cli.Case):
    """How the plugins see generated pods."""

    def test_claims_of_a_stateful_set(self):
        sts = cli.workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=[
            {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "late",
                                                    "resources": {"requests": {"storage": "1Gi"}}}}])
        late = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
                "provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"}
        self.assertEqual(self.simulate([*NODES, sts, late])["summary"]["scheduled"], 2)
        now = {**late, "volumeBindingMode": "Immediate"}
        waiting = self.simulate([*NODES, sts, now])["pending"]
        self.assertEqual(len(waiting), 1)  # the second pod is made when the first one has a node
        self.assertIn("unbound immediate PersistentVolumeClaims", waiting[0]["message"])

    def test_default_storage_class(self):
        sts = cli.workload("StatefulSet", "db", volumeClaimTemplates=[
            {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                                                    "resources": {"requests": {"storage": "1Gi"}}}}])
        default = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/p",
                   "metadata": {"name": "d", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                   "volumeBindingMode": "WaitForFirstConsumer"}
        self.assertEqual(self.simulate([*NODES, sts, default])["summary"]["scheduled"], 1)

    def test_priorities(self):
        """Higher priorities come first, whatever the order of the input."""
        high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
                "value": 1000}
        usual = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "usual"},
                 "value": 10, "globalDefault": True}
        report = self.simulate([
            *NODES, cli.pod("zero", priority=0), cli.workload("ReplicaSet", "plain", replicas=1),
            cli.workload("ReplicaSet", "high", replicas=1, pod_spec_more={"priorityClassName": "high"}),
            cli.workload("ReplicaSet", "system", replicas=1,
                         pod_spec_more={"priorityClassName": "system-cluster-critical"}),
            cli.workload("ReplicaSet", "node", replicas=1,
                         pod_spec_more={"priorityClassName": "system-node-critical"}), high, usual])
        order = [row["pod"]["name"].split("-")[0] for row in report["placements"]]
        self.assertEqual(order, ["node", "system", "high", "plain", "zero"])

    def test_class_known_only_from_other_pods(self):
        report = self.simulate([
            *NODES, cli.pod("seen", on="n0", priorityClassName="high", priority=1000), cli.pod("zero", priority=0),
            cli.workload("ReplicaSet", "high", replicas=1, pod_spec_more={"priorityClassName": "high"})])
        self.assertTrue(report["placements"][0]["pod"]["name"].startswith("high-"))

    def test_unknown_class_is_a_warning(self):
        objects = [*NODES, cli.workload("ReplicaSet", "x", replicas=2, pod_spec_more={"priorityClassName": "lost"})]
        result = self.berth("simulate", "-f", self.write("c.json", objects))
        self.assertEqual(result.code, 0)
        self.assertIn("lost", result.err)

    def test_spread_over_hosts_by_default(self):
        """Default spreading finds the ReplicaSet that a Deployment would have."""
        report = self.simulate([*NODES, cli.workload("Deployment", "web", replicas=6)])
        self.assertEqual(sorted(collections.Counter(self.placed(report).values()).values()), [2, 2, 2])

    def test_match_label_keys(self):
        """One pod per host and revision: the old revision does not count."""
        anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname",
             "matchLabelKeys": ["pod-template-hash"]}]}}
        old = cli.pod("old", on="n0", labels={"app": "web", "pod-template-hash": "other"})
        report = self.simulate([NODES[0], old, cli.workload("Deployment", "web", pod_spec_more={"affinity": anti})])
        self.assertEqual(report["summary"]["scheduled"], 1)

    def test_node_name_in_a_template(self):
        report = self.simulate([*NODES, cli.workload("ReplicaSet", "x", replicas=2, pod_spec_more={"nodeName": "n1"})])
        self.assertEqual(report["summary"]["decisions"], 0)

    def test_names_are_the_same_every_time(self):
        objects = [*NODES, cli.workload("Deployment", "web", replicas=50)]
        first = self.simulate(objects)
        self.assertEqual(first, self.simulate(objects))
        self.assertEqual(len(self.placed(first)), 50)

    def test_long_names(self):
        report = self.simulate([*NODES, cli.workload("ReplicaSet", "x" * 80, replicas=2)])
        for name in self.placed(report):
            self.assertLessEqual(len(name.split("/")[1]), 63)


def with_uid(pod):
    """As an API server has it: admitted already."""
    pod["metadata"]["uid"] = "8d0e6f0a-0000-4000-8000-000000000001"
    return pod


class Written(cli.Case):
    """Objects without a uid are what a user would create: they get what an API server and its controllers give them."""

    def scheduled(self, *objects):
        return sorted(self.placed(self.simulate(list(objects))))

    def test_default_tolerations(self):
        node = cli.node("n", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
        self.assertEqual(self.scheduled(node, cli.pod("p"), with_uid(cli.pod("q"))), ["default/p"])

    def test_match_label_keys(self):
        anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname",
             "matchLabelKeys": ["rev"]}]}}
        running = cli.pod("old", on="n0", labels={"app": "web", "rev": "1"}, affinity=anti)
        pods = [cli.pod("new", labels={"app": "web", "rev": "2"}, affinity=anti),
                cli.pod("same", labels={"app": "web", "rev": "1"}, affinity=anti)]
        self.assertEqual(self.scheduled(NODES[0], running, *pods), ["default/new"])

    def claim(self, **spec):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}

    def test_default_storage_class(self):
        default = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/p",
                   "metadata": {"name": "d", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                   "volumeBindingMode": "WaitForFirstConsumer"}
        pod = cli.pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
        none, old = self.claim(storageClassName=""), self.claim()
        old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "other"}
        for claim, scheduled in ((self.claim(), ["default/p"]), (none, []), (old, [])):
            self.assertEqual(self.scheduled(NODES[0], default, pod, claim), scheduled)
        template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        pod = cli.pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])
        self.assertEqual(self.scheduled(NODES[0], default, pod), ["default/p"])
        self.assertEqual(self.scheduled(NODES[0], default, with_uid(pod)), [])

    def test_claims_from_templates(self):
        """A request for devices is for one of them, unless it says otherwise. Each pod has a claim of its own."""
        version, in_default = "resource.k8s.io/v1", {"name": "one", "namespace": "default"}
        devices = [{"name": "d%d" % i} for i in range(3)]
        pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
        objects = [
            NODES[0], {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
            {"apiVersion": version, "kind": "ResourceSlice", "metadata": {"name": "s"},
             "spec": {"driver": "gpu.example.com", "nodeName": "n0", "pool": pool, "devices": devices}}]
        wants = [{"name": "c", "resourceClaimTemplateName": "one"}]
        pods = [cli.pod("p" * 63, resourceClaims=wants),
                cli.workload("ReplicaSet", "r", replicas=3, pod_spec_more={"resourceClaims": wants})]
        for of, requests in ((version, [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]),
                             ("resource.k8s.io/v1beta1", [{"name": "r", "deviceClassName": "gpu"}])):
            template = {"apiVersion": of, "kind": "ResourceClaimTemplate", "metadata": in_default,
                        "spec": {"spec": {"devices": {"requests": requests}}}}
            result = self.berth("simulate", "-f", self.write("c.json", [*objects, template, *pods]), "-o", "json")
            self.assertEqual((result.json["summary"]["scheduled"], result.json["summary"]["pending"]), (3, 1))
            self.assertEqual(result.err, "")
        result = self.berth("simulate", "-f", self.write("c.json", [*objects, *pods]), "-o", "json")
        self.assertEqual(result.json["summary"]["scheduled"], 0)
        self.assertIn("(and 3 more) names ResourceClaimTemplate default/one, which is not in the input: no claim is made, "
                      "and no node can take the pod; `kubectl get resourceclaimtemplates -A -o json` prints it", result.err)


class WrittenVolumes(cli.Case):
    """Volumes and claims that no API server has seen."""

    @staticmethod
    def volume(name, size, node="n0", **more):
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/x"},
                         "nodeAffinity": affinity, "storageClassName": "manual", **more}}

    @staticmethod
    def claim(name, size="5Gi", **more):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual",
                         "resources": {"requests": {"storage": size}}, **more}}

    def bound(self, *objects):
        """Where the pods of claims go: the nodes of their volumes."""
        pods = [cli.pod("p-" + claim["metadata"]["name"], volumes=[
            {"name": "v", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}])
            for claim in objects if claim["kind"] == "PersistentVolumeClaim"]
        return {full.split("p-")[1]: node for full, node in self.placed(self.simulate([*NODES, *objects, *pods])).items()}

    def test_volumes_and_claims_that_a_user_wrote(self):
        """They are bound as by the controller of persistent volumes."""
        small, large = self.volume("a-large", "20Gi", "n1"), self.volume("b-small", "10Gi", "n2")
        self.assertEqual(self.bound(small, large, self.claim("c")), {"c": "n2"})  # the smallest that is large enough
        self.assertEqual(self.bound(small, large, self.claim("c"), self.claim("d"), self.claim("e")), {"c": "n2", "d": "n1"})
        self.assertEqual(self.bound(small, large, self.claim("c", volumeName="a-large")), {"c": "n1"})
        self.assertEqual(self.bound(small, large, self.claim("c", size="15Gi", volumeName="b-small")), {})
        self.assertEqual(self.bound(small, large, self.claim("c", accessModes=["ReadWriteMany"])), {})
        self.assertEqual(self.bound(small, self.claim("c", storageClassName="other")), {})
        reserved = self.volume("a", "50Gi", "n1", claimRef={"namespace": "default", "name": "d"})
        self.assertEqual(self.bound(reserved, large, self.claim("c"), self.claim("d")), {"c": "n2", "d": "n1"})

    def test_claims_that_wait_for_their_pod(self):
        late = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "manual"},
                "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        volumes = self.volume("a", "20Gi", "n1"), self.volume("b", "10Gi", "n2")
        self.assertIn(self.bound(late, *volumes, self.claim("c")), ({"c": "n1"}, {"c": "n2"}))
        self.assertEqual(self.bound(late, *volumes, self.claim("c", volumeName="a")), {"c": "n1"})

    def test_volumes_of_a_dump_are_as_they_were(self):
        kept = self.volume("a", "20Gi", "n1")
        kept["metadata"]["uid"] = "u"
        kept["status"] = {"phase": "Released"}
        self.assertEqual(self.bound(kept, self.claim("c")), {})


if __name__ == "__main__":
    cli.main()
