"""Scheduling policies (docs/POLICIES.md): explain and simulate with them, what is wrong with a document, and missing rights."""
import os
import shutil
import unittest

import cli
import fake_api
import live

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "user-files")
LABEL = "scheduling.berth.dev/policy"

CLUSTER = [
    cli.node("plain", cpu="8"),
    cli.node("fast", cpu="8", labels={"node-type": "compute-optimized"}),
    cli.node("gpu", cpu="8", labels={"accelerator": "nvidia-tesla-v100"}),
    cli.node("spot", cpu="16", taints=[{"key": "spot-instance", "value": "true", "effect": "NoSchedule"}]),
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "batch-workload"}, "value": -5},
    cli.pod("train", cpu="1", labels={LABEL: "gpu-policy"}),
    cli.pod("job", cpu="1", labels={LABEL: "batch-policy"}),
    cli.pod("web", cpu="1"),
]

# The ConfigMap of docs/POLICIES.md, with the users' own files in it.
USERS = {name: open(os.path.join(FILES, name), encoding="utf-8").read()
         for name in ("default-policy.yaml", "gpu-policy.yaml", "batch-policy.yaml")}


def config_map(data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scheduling-policies", "namespace": "kube-system"},
            "data": data}


class Policies(cli.Case):
    def setUp(self):
        super().setUp()
        self.dir = self.path("policies")
        os.mkdir(self.dir)

    def users(self):
        for name in USERS:
            shutil.copy(os.path.join(FILES, name), self.dir)
        return "--policy-dir=" + self.dir

    def test_each_pod_has_the_policy_that_it_names(self):
        flag = self.users()
        train = self.explain(CLUSTER, "train", flag)
        self.assertEqual(train["policy"], {"name": "gpu-policy", "by": "label of the pod"})
        self.assertEqual(train["best"], ["gpu"])
        self.assertEqual(cli.by_node(train)["plain"]["plugin"], "NodeAffinity")
        job = self.explain(CLUSTER, "job", flag)
        self.assertEqual((job["policy"]["name"], job["priority"]), ("batch-policy", -5))
        self.assertTrue(cli.by_node(job)["spot"]["feasible"])
        web = self.explain(CLUSTER, "web", flag)
        self.assertEqual(web["policy"], {"name": "default-policy", "by": "default"})
        self.assertEqual(web["best"], ["fast"])
        self.assertEqual(cli.by_node(web)["fast"]["scores"]["NodeAffinity"], 200)
        self.assertFalse(cli.by_node(web)["spot"]["feasible"])

    def test_weights_of_resources(self):
        """(weight of cpu x free cpu + weight of memory x free memory) / 100, and storage counts where a node has some."""
        flag = self.users()
        score = cli.by_node(self.explain(CLUSTER, "job", flag))["plain"]["scores"]["NodeResourcesFit"]
        cpu, memory = 100 * 7 // 8, 100 * (8192 - 200) // 8192
        self.assertEqual(score, (70 * cpu + 30 * memory) // 100)
        self.assertNotEqual(score, cli.by_node(self.explain(CLUSTER, "job"))["plain"]["scores"]["NodeResourcesFit"])

    def test_the_table_says_what_a_policy_does(self):
        flag, cluster = self.users(), self.write("cluster.json", CLUSTER)
        shown = self.berth("explain", "-f", cluster, flag, "job").out
        self.assertIn("job  priority -5, scheduler default-scheduler\n\nPolicy batch-policy (label of the pod): resource "
                      "weights cpu 70, memory 30; tolerations; priority class batch-workload.\n", shown)
        self.assertNotIn("olicy", self.berth("explain", "-f", cluster, "job").out)

    def test_the_table_says_what_is_named_and_not_there(self):
        team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {LABEL: "gone"}}}
        objects = [one for one in CLUSTER if one["kind"] == "Node"] + [team] + [
            cli.pod("job", labels={LABEL: "batch-policy"}), cli.pod("web", labels={LABEL: "no-such"}),
            cli.pod("api", namespace="team"), cli.pod("own", namespace="team", labels={LABEL: "mine"}),
            cli.pod("none", namespace="team", labels={LABEL: ""}),
            cli.pod("named", namespace="team", labels={LABEL: "gpu-policy"})]
        flag, cluster = self.users(), self.write("cluster.json", objects)
        self.write("policies/mine.yaml", "{apiVersion: scheduling.k8s.io/v1, kind: SchedulingPolicy, metadata: {name: mine}, "
                   "spec: {namespaceSelector: {matchLabels: {mine: 'yes'}}, priorityClass: system-node-critical}}")
        for name, words in (
                ("job", "There is no PriorityClass batch-workload, so the pod keeps its own priority."),
                ("web", "The label of the pod names the policy no-such, which is not there."),
                ("team/api", "The label of its namespace names the policy gone, which is not there."),
                ("team/own", "The label of the pod names the policy mine, whose namespaceSelector does not match. "
                             "The label of its namespace names the policy gone, which is not there."),
                ("team/none", None), ("team/named", None)):
            shown = " ".join(self.berth("explain", "-f", cluster, flag, name).out.split())
            if words:
                self.assertIn(words, shown)
            else:
                self.assertNotIn("not there", shown)
            self.assertNotIn("not there", " ".join(self.berth("explain", "-f", cluster, name).out.split()))

    def test_a_config_map_among_the_objects(self):
        objects = CLUSTER + [config_map(USERS)]
        found = self.explain(objects, "train", "--policy-configmap=kube-system/scheduling-policies")
        self.assertEqual((found["policy"]["name"], found["best"]), ("gpu-policy", ["gpu"]))
        self.assertIsNone(self.explain(objects, "train")["policy"])

    def test_the_example(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "policies")
        found = self.berth("simulate", "-f", folder, "--policy-configmap=kube-system/scheduling-policies", "-o", "json")
        self.assertEqual(self.placed(found.json), {"ml/train": "gpu-1", "reports/nightly": "spot-1", "shop/web": "plain-1"})

    def test_simulate(self):
        flag = self.users()
        placed = self.placed(self.simulate(CLUSTER, flag))
        self.assertEqual((placed["default/train"], placed["default/web"]), ("gpu", "fast"))
        os.mkdir(self.path("empty"))
        self.assertEqual(self.simulate(CLUSTER, "--policy-dir=" + self.path("empty")), self.simulate(CLUSTER))

    def test_a_pod_on_its_node(self):
        """As if it were pending; and as a victim it has the priority of its policy."""
        objects = [cli.node("plain", cpu="1"), CLUSTER[4],
                   cli.pod("job", on="plain", cpu="1", labels={LABEL: "batch-policy"}), cli.pod("web", cpu="1")]
        flag = self.users()
        self.assertEqual(self.explain(objects, "job", flag, "--as-if-pending")["policy"]["name"], "batch-policy")
        found = self.explain(objects, "web", flag)
        self.assertEqual(found["preemption"]["candidates"], {"plain": {"victims": ["default/job"], "pdbViolations": 0}})
        self.assertEqual(self.explain(objects, "web")["preemption"]["candidates"], {})

    def test_what_is_wrong(self):
        cluster = self.write("cluster.json", CLUSTER)
        head = "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n"
        for text, words in ((head + "  resourceWeights: {cpu: 200}\n", ["p.yaml:5:26: spec.resourceWeights[cpu]", "1 and 100"]),
                            (head + "  priorityclass: x\n", ["p.yaml:5:3: spec.priorityclass: unknown field",
                                                             'did you mean "priorityClass"']),
                            (head + "  tolerations: {}\n", ["p.yaml:5:16: spec.tolerations: expected a list"]),
                            ("kind: Policy\n", ["p.yaml:1:7: kind: expected \"SchedulingPolicy\""])):
            self.write("policies/p.yaml", text)
            for command in (["simulate"], ["explain", "web"]):
                self.refuse(self.berth(*command, "-f", cluster, "--policy-dir", self.dir), self.dir, *words)
            self.refuse(self.berth("scheduler", "--policy-dir", self.dir, "--kubeconfig", self.write("k", "{}")),
                        self.dir, *words)

    def test_wrong_flags(self):
        cluster = self.write("cluster.json", CLUSTER)
        for flags, words in ((["--policy-dir=" + self.path("nothing")], ["nothing", "cannot be read"]),
                             (["--policy-configmap=one"], ["--policy-configmap: expected NAMESPACE/NAME"]),
                             (["--policy-configmap=a/b"], ["there is no such ConfigMap in the input",
                                                            "`kubectl -n a get configmap b -o yaml` prints it"]),
                             (["--policy-configmap=a/b", "--policy-dir=c"], ["exclude each other"])):
            self.refuse(self.berth("simulate", "-f", cluster, *flags), *words)
        for flags, words in ((["--policy-configmap=one"], ["expected NAMESPACE/NAME"]),
                             (["--policy-configmap=a/b", "--policy-dir=c"], ["exclude each other"])):
            self.refuse(self.berth("scheduler", *flags), *words)


class Rights(live.Live):
    """A scheduler that may not read its policies goes on without them, says so once, and asks again."""

    def make_api(self):
        api = fake_api.Server()
        self.addCleanup(api.stop)
        return api

    def test_forbidden(self):
        for resource in ("configmaps", "priorityclasses"):
            self.api.refused[resource] = 403
        self.api.set("nodes", fake_api.node("a", "2"))
        self.api.set("pods", fake_api.pod("p"))
        self.start("--policy-configmap=kube-system/scheduling-policies", config=self.config(
            leaderElection={"leaderElect": False},
            clientConnection={"kubeconfig": self.kubeconfig, "contentType": "application/json"}))
        self.wait_for(self.api.bindings, "the pod was not bound")
        path = "/api/v1/namespaces/kube-system/configmaps"

        def asked():
            with self.api.lock:
                return [details for method, asked, details in self.api.requests if method == "GET" and asked == path]
        self.wait_for(lambda: len(asked()) > 3, "it was not asked again")
        self.assertEqual({details["fieldSelector"] for details in asked()}, {"metadata.name=scheduling-policies"})
        self.assertEqual(self.log().count("Scheduling policies need an object that cannot be read"), 2)


if __name__ == "__main__":
    unittest.main()
