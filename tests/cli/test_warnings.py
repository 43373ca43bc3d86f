"""What the commands say about input that may give a wrong answer: misspelled fields, objects that are missing."""
import json
import os
import re

import cli

NODE = cli.node("n1")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Misspelled(cli.Case):
    def warnings(self, text, *args, name="a.yaml"):
        self.write("node.json", [NODE])
        result = self.berth("simulate", "-f", self.path("node.json"), "-f", self.write(name, text), "--no-timing", *args)
        self.assertEqual(result.code, 0, result.err)
        return result.err.replace(self.folder.name + "/", "").replace("berth: warning: ", "").splitlines()

    def test_place_path_and_what_is_meant(self):
        self.assertEqual(self.warnings(
            "apiVersion: v1\n"
            "kind: Pod\n"
            "metadata: {name: p, namespace: shop}\n"
            "spec:\n"
            "  priortyClassName: high\n"
            "  tolerations: [{key: a}, {key: b, opertor: Exists}]\n"
            "  containers:\n"
            "  - name: c\n"
            "    image: i\n"
            "    resources: {request: {cpu: 1}}\n"), [
                "a.yaml:5:3: Pod shop/p: unknown field spec.priortyClassName; did you mean priorityClassName?",
                "a.yaml:6:36: Pod shop/p: unknown field spec.tolerations[1].opertor; did you mean operator?",
                "a.yaml:10:17: Pod shop/p: unknown field spec.containers[0].resources.request; did you mean requests?"])

    def test_a_field_at_the_wrong_level(self):
        deployment = cli.workload("Deployment", "web", replicas=1, nodeSelector={"a": "b"})
        deployment["spec"]["template"]["spec"]["containers"][0]["tolerations"] = []
        deployment["spec"]["template"]["spec"]["image"] = "i"
        warnings = "\n".join(self.warnings(json.dumps(deployment), name="a.json"))
        self.assertIn("unknown field spec.nodeSelector; did you mean spec.template.spec.nodeSelector?", warnings)
        self.assertIn("containers[0].tolerations; did you mean spec.template.spec.tolerations?", warnings)
        self.assertIn("spec.template.spec.image; did you mean spec.template.spec.containers[].image?", warnings)

    def test_json_has_places_too(self):
        text = '{"apiVersion": "v1", "kind": "Node",\n "metadata": {"name": "n2"},\n "sepc": {}}'
        self.assertEqual(self.warnings(text, name="b.json"),
                         ["b.json:3:2: Node n2: unknown field sepc; did you mean spec?"])

    def test_nothing_is_near(self):
        text = "{apiVersion: v1, kind: Node, metadata: {name: n2}, spec: {xylophone: 1}}"
        self.assertEqual(self.warnings(text), ["a.yaml:1:59: Node n2: unknown field spec.xylophone"])

    def test_equal_ones_are_one_warning_with_a_count(self):
        pods = [cli.pod("p%d" % i, nodeNam="x") for i in range(5)]
        for pod in pods:
            pod["spec"]["containers"] *= 2
            pod["spec"]["containers"][0]["ressources"] = {}
        self.assertEqual([line.split("; ")[1] for line in self.warnings(json.dumps(pods), name="a.json")], [
            "did you mean resources? (and in 4 more objects)", "did you mean nodeName? (and in 4 more objects)"])

    def test_many_different_ones_are_cut(self):
        pod = cli.pod("p", **{"qqqqqqqq%d" % i: 1 for i in range(25)})
        warnings = self.warnings(json.dumps([pod]), name="a.json")
        self.assertEqual((len(warnings), warnings[-1]), (21, "5 more fields like these"))

    def test_items_of_a_typed_list(self):
        text = "{apiVersion: v1, kind: PodList, items: [{metadata: {name: p}, spec: {containers: [], nodname: a}}]}"
        self.assertIn("Pod p: unknown field spec.nodname; did you mean nodeName?", self.warnings(text)[0])

    def test_a_misspelled_kind(self):
        text = "---\n".join("{apiVersion: %s, kind: %s, metadata: {name: x}}\n" % of for of in (
            ("apps/v1", "Deploymnet"), ("app/v1", "Deployment"), ("apps/v1", "Deploymnet")))
        self.assertEqual(self.warnings(text), [
            "a.yaml:1:29: Deploymnet x: apps/v1 has no kind Deploymnet; did you mean apps/v1 Deployment? "
            "(and in 1 more object)",
            "a.yaml:3:14: Deployment x: app/v1 has no kind Deployment; did you mean apps/v1 Deployment?"])

    def test_what_kubernetes_knows_is_silent(self):
        pod = cli.pod("p", dnsPolicy="Default", hostname="x", securityContext={"runAsUser": 1}, os={"name": "linux"})
        pod["metadata"]["managedFields"] = [{"fieldsV1": {"f:spec": {"f:x": {}}}}]
        pod["metadata"]["annotations"] = {"any": "thing"}
        pod["spec"]["containers"][0]["livenessProbe"] = {"httpGet": {"path": "/", "port": "http"}}
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "date": {"a": "b"}}
        self.assertEqual(self.warnings(json.dumps([pod, config_map]), name="a.json"),
                         ["ignored 1 object of kinds it does not use: ConfigMap (1)"])

    def test_long_dumps_of_a_server_are_believed(self):
        """Nothing unknown can be in them. A short file may be one of their objects that was edited."""
        pod = cli.pod("p", nodeNam="x")
        pod["metadata"].update(uid="9ce1f1c5-4bd0-4b7f-8c1c-a5d3ba7e2d7f", resourceVersion="7")
        self.assertEqual(len(self.warnings(json.dumps([pod]), name="a.json")), 1)
        self.assertEqual(len(self.warnings(json.dumps([pod]) + " " * (5 << 20), name="a.json")), 0)
        del pod["metadata"]["uid"]
        self.assertEqual(len(self.warnings(json.dumps([pod]) + " " * (5 << 20), name="a.json")), 1)

    def test_strict(self):
        pod = cli.pod("p", nodeNam="x", priortyClassName="y")
        path = self.write("a.json", [NODE, pod])
        for command in (["simulate"], ["explain", "p"]):
            result = self.berth(*command, "-f", path, "--strict")
            self.refuse(result, "Pod default/p: unknown field spec.nodeNam; did you mean nodeName?\nberth: ",
                        "spec.priortyClassName; did you mean priorityClassName?\n")
            self.assertNotIn("warning", result.err)
            self.assertEqual(self.berth(*command, "-f", self.write("b.json", [NODE, cli.pod("p")]), "--strict").code, 0)

    def test_values_that_an_api_server_refuses(self):
        text = ("apiVersion: v1\n"
                "kind: Pod\n"
                "metadata: {name: p}\n"
                "spec:\n"
                "  tolerations: [{key: a, operator: Exists, effect: NoSchedul}, {key: b, effect: NoExecute}]\n"
                "  preemptionPolicy: Sometimes\n"
                "  restartPolicy: ''\n"
                "  topologySpreadConstraints:\n"
                "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: doNotSchedule,\n"
                "     labelSelector: {matchExpressions: [{key: a, operator: IsIn, values: [b]}]}}\n"
                "  containers:\n"
                "  - name: c\n"
                "    resources:\n"
                "      requests: {cpu: -1, memroy: 1Gi, hugepages-2Mi: 4Mi, example.com/gpu: 1}\n"
                "      limits: {gpu: 1}\n")
        self.assertEqual(self.warnings(text), [
            "a.yaml:5:52: Pod p: spec.tolerations[0].effect: unsupported value \"NoSchedul\"; did you mean NoSchedule?",
            "a.yaml:6:21: Pod p: spec.preemptionPolicy: unsupported value \"Sometimes\"; expected Never or PreemptLowerPriority",
            "a.yaml:9:56: Pod p: spec.topologySpreadConstraints[0].whenUnsatisfiable: unsupported value \"doNotSchedule\"; did "
            "you mean DoNotSchedule?",
            "a.yaml:10:60: Pod p: spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator: unsupported "
            "value \"IsIn\"; did you mean In?",
            "a.yaml:14:18: Pod p: spec.containers[0].resources.requests: the amount of cpu is negative",
            "a.yaml:14:27: Pod p: spec.containers[0].resources.requests: there is no resource memroy; did you mean memory?",
            "a.yaml:15:16: Pod p: spec.containers[0].resources.limits: there is no resource gpu"])
        claim_of_two = claim("data", accessModes=["ReadWriteOnce", "ReadWriteTwice"])
        self.assertIn("spec.accessModes: unsupported value \"ReadWriteTwice\"; did you mean ReadWriteOnce?",
                      self.warnings(json.dumps([claim_of_two]), name="a.json")[0])
        node = cli.node("n2")
        node["status"]["allocatable"]["attachable-volumes-csi-x"] = node["status"]["allocatable"]["pod"] = "1"
        self.assertEqual([line.split(": ", 2)[2] for line in self.warnings(json.dumps([node]), name="a.json")],
                         ["status.allocatable: there is no resource pod; did you mean pods?"])
        self.refuse(self.berth("simulate", "-f", self.path("node.json"), "-f", self.write("a.yaml", text), "--strict"),
                    "unsupported value \"NoSchedul\"", "the amount of cpu is negative")

    def test_what_an_api_server_requires(self):
        """Of objects that a user wrote, and not of their status."""
        text = ("apiVersion: v1\n"
                "kind: Pod\n"
                "metadata: {name: p}\n"
                "spec:\n"
                "  containers: [{name: c}]\n"
                "  topologySpreadConstraints:\n"
                "  - {topologyKey: zone}\n"
                "---\n"
                "{apiVersion: v1, kind: Pod, metadata: {name: empty}}\n"
                "---\n"
                "{apiVersion: v1, kind: Pod, metadata: {name: stored, uid: u}, spec: {}}\n"
                "---\n"
                "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, status: {disruptionsAllowed: 1}}\n")
        self.assertEqual(self.warnings(text), [
            "a.yaml:7:5: Pod p: spec.topologySpreadConstraints[0].maxSkew: this field is required",
            "a.yaml:7:5: Pod p: spec.topologySpreadConstraints[0].whenUnsatisfiable: this field is required",
            "a.yaml:9:1: Pod empty: spec: this field is required"])

    def test_requirements_that_nothing_meets(self):
        def terms(*expressions):
            required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", **expression} for expression in expressions]}]}
            return cli.pod("p", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
        right = terms({"operator": "In", "values": ["a"]}, {"operator": "Gt", "values": ["4"]}, {"operator": "Exists"})
        wrong = terms({"operator": "NotIn"}, {"operator": "Lt", "values": ["four"]}, {"operator": "Gt", "values": ["1", "2"]},
                      {"operator": "DoesNotExist", "values": ["a"]})
        self.assertEqual(self.warnings(json.dumps([right]), name="a.json"), [])
        self.assertEqual([line.split("matchExpressions")[1] for line in self.warnings(json.dumps([wrong]), name="a.json")], [
            "[0].values: the operator NotIn wants values",
            "[1].values: the operator Lt wants one value, a whole number",
            "[2].values: the operator Gt wants one value, a whole number",
            "[3].values: the operator DoesNotExist takes no values"])

    def test_a_selector_that_does_not_select_the_template(self):
        web = cli.workload("Deployment", "web", labels={"app": "web", "tier": "front"})
        self.assertEqual(self.warnings(json.dumps([web]), name="a.json"), [])
        web["spec"]["template"]["metadata"]["labels"] = {"app": "wev", "tier": "front"}
        [line] = self.warnings(json.dumps([web]), name="a.json")
        self.assertIn("Deployment default/web: spec.template.metadata.labels: the selector wants app=web", line)
        del web["spec"]["template"]["metadata"]
        self.assertEqual(len(self.warnings(json.dumps([web]), name="a.json")), 2)

    def test_runtime_classes(self):
        """They may add to requests, selectors and tolerations; nothing to refuse."""
        pods = [cli.pod("p%d" % i, runtimeClassName="kata") for i in range(2)]
        [line] = self.warnings(json.dumps(pods), "--strict", name="a.json")
        self.assertRegex(line, r"^a.json:1:\d+: Pod default/p0: RuntimeClass kata is not read: the overhead, nodeSelector and "
                         r"tolerations that it adds .* \(and in 1 more object\)$")
        self.assertEqual(self.warnings(json.dumps([cli.pod("p", runtimeClassName="kata", overhead={"cpu": "1"})]), name="a.json"), [])
        pods[0]["metadata"]["uid"] = "u"  # an API server has added it
        self.assertEqual(self.warnings(json.dumps(pods[:1]), name="a.json"), [])

    def test_a_kind_of_another_group(self):
        """Kinds of others may have the same name."""
        def meant(version, kind):
            text = "{apiVersion: %s, kind: %s, metadata: {name: x}}\n" % (version, kind)
            return [line.split(": ", 1)[1] for line in self.warnings(text)]
        self.assertEqual(meant("v1", "Deployment"), ["Deployment x: v1 has no kind Deployment; did you mean apps/v1 Deployment?"])
        self.assertEqual(meant("apps/v1", "Job"), ["Job x: apps/v1 has no kind Job; did you mean batch/v1 Job?"])
        self.assertEqual(meant("apps.kruise.io/v1alpha1", "StatefulSet"),
                         ["apps.kruise.io/v1alpha1 StatefulSet (1)"])
        self.assertEqual(meant("autoscaling/v2beta2", "HorizontalPodAutoscaler"), ["HorizontalPodAutoscaler (1)"])

    def test_control_characters_are_not_printed(self):
        pod = cli.pod("p\u001b[31m", **{"x\u001b[2J": 1})
        pod["metadata"]["namespace"] = "\u001b"
        text = "\n".join(self.warnings(json.dumps([pod]), name="a.json"))
        self.assertNotIn("\u001b", text)
        self.assertIn("Pod ?/p?[31m: unknown field spec.x?[2J", text)


def claim(name, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": cli.meta(name, "default"), "spec": spec}


def volumes(*names):
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]


def namespaces(*names):
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": name}}}
            for name in names]


def apart(selector):
    term = {"labelSelector": {}, "topologyKey": "kubernetes.io/hostname", "namespaceSelector": selector}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


class Incomplete(cli.Case):
    """What pods refer to and the files do not have."""

    def warnings(self, *objects, command=("simulate",)):
        result = self.berth(*command, "-f", self.write("a.json", [NODE, *objects]))
        self.assertEqual(result.code, 0, result.err)
        return result.err.replace("berth: warning: ", "").splitlines()

    def test_controllers(self):
        pods = [cli.pod("p%d" % i, owner=("ReplicaSet", "web")) for i in range(3)]
        self.assertEqual(self.warnings(*pods), [
            "pod default/p0 (and 2 more) belongs to ReplicaSet default/web, which is not in the input: the pod may not be "
            "spread over nodes and zones as it would be by default; `kubectl get rs -A -o json` prints it"])
        self.assertEqual(self.warnings(*pods, cli.workload("ReplicaSet", "web", replicas=3)), [])

    def test_controllers_that_change_nothing(self):
        spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]
        self.assertEqual(self.warnings(
            cli.pod("a", owner=("ReplicaSet", "web"), topologySpreadConstraints=spread),
            cli.pod("b", on="n1", owner=("ReplicaSet", "web")), cli.pod("c", owner=("Job", "web")),
            cli.pod("d", on="n1", owner=("Node", "n1"))), [])

    def test_a_deployment_has_its_replica_set(self):
        labels = {"app": "web", "pod-template-hash": "abc"}
        self.assertEqual(self.warnings(cli.workload("Deployment", "web", replicas=2),
                                       cli.pod("web-abc-x", labels=labels, owner=("ReplicaSet", "web-abc"))), [])

    def test_claims_volumes_and_classes(self):
        pods = [cli.pod("a", volumes=volumes("gone")), cli.pod("b", volumes=volumes("gone", "lost")),
                cli.pod("c", volumes=volumes("bound")), cli.pod("d", volumes=volumes("unbound"))]
        claims = [claim("bound", volumeName="pv-1", storageClassName="fast"), claim("unbound", storageClassName="fast")]
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {}}
        fast = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "x"}
        pvc, pv, storage = self.warnings(*pods, *claims)
        self.assertEqual(pvc, "pod default/a (and 1 more) uses PersistentVolumeClaim default/gone, which is not in the "
                              "input: no node can take the pod; `kubectl get pvc -A -o json` prints it")
        self.assertEqual(pv, "pod default/c uses PersistentVolume pv-1, which is not in the input: no node can take the "
                             "pod; `kubectl get pv -o json` prints it")
        self.assertEqual(storage, "pod default/d has a claim of StorageClass fast, which is not in the input: no volume is "
                                  "provisioned for the claim, and the pod waits for one; `kubectl get sc -o json` prints it")
        self.assertEqual(self.warnings(*pods, *claims, volume, fast, claim("gone", storageClassName=""),
                                       claim("lost", storageClassName="")), [])

    def test_priority_classes(self):
        pods = [cli.pod("p", priorityClassName="high"), cli.pod("q", priorityClassName="system-node-critical")]
        self.assertEqual(self.warnings(*pods), [
            "pod default/p names PriorityClass high, which is not in the input: its priority is taken as 0, in the queue and "
            "for preemption; `kubectl get pc -o json` prints it"])
        high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
        self.assertEqual(self.warnings(*pods, high), [])
        self.assertEqual(self.warnings(*pods, cli.pod("r", on="n1", priorityClassName="high", priority=7)), [])

    def test_devices(self):
        def pod(name):
            return cli.pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}])
        version = "resource.k8s.io/v1"
        of = {"apiVersion": version, "kind": "ResourceClaim", "metadata": {"name": "there"},
              "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}
        gpu = {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
        self.assertEqual(self.warnings(pod("gone"), pod("there"), of), [
            "pod default/gone uses ResourceClaim default/gone, which is not in the input: no node can take the pod; "
            "`kubectl get resourceclaims -A -o json` prints it",
            "pod default/there has a claim of DeviceClass gpu, which is not in the input: no node can take the pod; "
            "`kubectl get deviceclasses -o json` prints it"])
        self.assertEqual(self.warnings(pod("there"), of, gpu), [])

    def test_namespaces(self):
        """Also the selector of a pod that runs counts."""
        pods = [cli.pod("a", on="n1", affinity=apart({"matchLabels": {"team": "x"}})), cli.pod("b", namespace="x")]
        self.assertEqual(self.warnings(*pods), [
            "pod default/a has a namespaceSelector, which may select Namespace default, which is not in the input: only the "
            "label kubernetes.io/metadata.name of it is known; `kubectl get ns -o json` prints it"])
        self.assertEqual(self.warnings(*pods, *namespaces("default", "x")), [])
        for selector in ({}, {"matchLabels": {"kubernetes.io/metadata.name": "x"}}):
            self.assertEqual(self.warnings(cli.pod("a", affinity=apart(selector)), cli.pod("b", namespace="x")), [])

    def test_a_namespace_that_is_only_mentioned_has_its_name(self):
        by_name = apart({"matchLabels": {"kubernetes.io/metadata.name": "x"}})
        pods = [cli.pod("a", on="n1", namespace="x"), cli.pod("b", namespace="y", affinity=by_name)]
        self.assertEqual(self.placed(self.simulate([NODE, *pods])), {})
        pods[0]["metadata"]["namespace"] = "z"
        self.assertEqual(self.placed(self.simulate([NODE, *pods])), {"y/b": "n1"})

    def test_pods_of_templates(self):
        deployment = cli.workload("Deployment", "web", replicas=3, pod_spec_more={"priorityClassName": "high"})
        self.assertRegex(self.warnings(deployment)[0], r"^pod default/web-\S+ \(and 2 more\) names PriorityClass high, ")

    def test_explain_is_about_its_pod(self):
        pods = [cli.pod("a", volumes=volumes("gone")), cli.pod("b", volumes=volumes("lost"))]
        warning, = self.warnings(*pods, command=("explain", "b"))
        self.assertIn("pod default/b uses PersistentVolumeClaim default/lost, ", warning)

    def test_capacity_is_about_what_waits_and_about_copies(self):
        web = cli.pod("web", volumes=volumes("lost"), priorityClassName="high", owner=("ReplicaSet", "web"),
                      affinity=apart({"matchLabels": {"team": "x"}}))
        waits = cli.pod("waits", volumes=volumes("gone"))
        found = self.warnings(waits, command=("capacity", self.write("web.json", [web])))
        self.assertEqual([re.sub(r"web-\w+", "web-1", line).split(", which ")[0] for line in found], [
            "pod default/web-1 belongs to ReplicaSet default/web",
            "pod default/web-1 has a namespaceSelector",
            "pod default/web-1 names PriorityClass high",
            "pod default/waits (and 1 more) uses PersistentVolumeClaim default/gone"])

    def test_all_that_wait_are_explained(self):
        pods = [cli.pod("a", volumes=volumes("gone")), cli.pod("b", volumes=volumes("lost"), namespace="shop")]
        warning, = self.warnings(*pods, command=("explain",))
        self.assertIn("pod default/a (and 1 more) uses PersistentVolumeClaim default/gone, ", warning)
        warning, = self.warnings(*pods, command=("explain", "-n", "shop"))
        self.assertIn("pod shop/b uses PersistentVolumeClaim shop/lost, ", warning)

    def test_pods_of_other_schedulers(self):
        self.assertNotIn("not in the input", "\n".join(self.warnings(
            cli.pod("a", volumes=volumes("gone"), schedulerName="another"))))

    def test_examples_are_complete(self):
        for command in (["simulate"], ["explain", "shop/checkout"]):
            result = self.berth(*command, "-f", os.path.join(ROOT, "examples/cluster.yaml"),
                                "-f", os.path.join(ROOT, "examples/workloads.yaml"))
            self.assertNotIn("not in the input", result.err)


class KubectlLine(cli.Case):
    """One list of kinds, which tests/unit/input/test_kubectl.c compares with those that are read."""

    def kinds(self, text):
        return re.findall(r"^ +kinds=.+$", text, re.M)

    def test_texts_name_the_same(self):
        lines = [line.strip() for line in self.kinds(self.berth("help", "simulate").out)]
        self.assertEqual(len(lines), 4)
        for command in "explain", "cluster":
            self.assertEqual([line.strip() for line in self.kinds(self.berth("help", command).out)], lines)
        for document in ("README.md", "docs/CLI.md", "docs/CLUSTER.md"):
            with open(os.path.join(ROOT, document), encoding="utf-8") as file:
                self.assertEqual([line.strip() for line in self.kinds(file.read())], lines, document)


if __name__ == "__main__":
    cli.main()
