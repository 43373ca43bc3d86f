"""Files and flags of older releases: what is accepted with a warning, what is refused, and what is said about it."""
import os
import re

import cli
import live
from cli import node, pod

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "user-files")
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Needs(cli.Case):
    """A plugin that is disabled where it prepares: there is a warning exactly where pods then fail."""

    def default_plugins(self):
        written = self.path("defaults.yaml")
        result = self.berth("scheduler", "--master=https://127.0.0.1:1", "--write-config-to", written)
        self.assertEqual(result.code, 0, result.err)
        with open(written, encoding="utf-8") as file:
            found = re.findall(r"^      - name: (\w+)$", file.read(), re.M)
        self.assertGreater(len(found), 15)
        return found

    def check(self, plugin, point):
        cluster = self.write("cluster.json", [node("a"), node("b"), pod("p")])
        config = self.write("config.yaml", HEAD + "profiles: [{plugins: {%s: {disabled: [{name: %s}]}}}]\n" % (point, plugin))
        result = self.berth("simulate", "-f", cluster, "--config", config, "-o", "json", "--no-timing")
        self.assertEqual(result.code, 0, result.err)
        warned = "the plugin %s is enabled at" % plugin in result.err
        fails = not self.placed(result.json)
        self.assertEqual(warned, fails, (plugin, point, result.err, result.out))
        if warned:
            self.assertIn("but not at %s, without which it fails" % point, result.err)
        return warned

    def test_every_default_plugin(self):
        plugins = self.default_plugins()
        warned = {point: [plugin for plugin in plugins if self.check(plugin, point)] for point in ("preFilter", "preScore")}
        self.assertEqual(warned["preScore"], ["TaintToleration", "PodTopologySpread", "InterPodAffinity"])
        self.assertIn("NodeResourcesFit", warned["preFilter"])
        self.assertNotIn("NodeAffinity", warned["preFilter"])

    def test_a_file_without_a_mistake_has_no_warning(self):
        cluster = self.write("cluster.json", [node("a"), node("b"), pod("p")])
        config = self.write("config.yaml", HEAD)
        self.assertEqual(self.berth("simulate", "-f", cluster, "--config", config).err, "")


class Files(cli.Case):
    """Files as users have them, as they are."""

    def setUp(self):
        super().setUp()
        self.cluster = self.write("cluster.json", [node("a"), node("b"), pod("p", schedulerName="s")])

    def written(self, *flags, code=0):
        """The configuration in effect, and the warnings."""
        result = self.berth("scheduler", *flags, "--write-config-to", self.path("in-effect.yaml"))
        self.assertEqual(result.code, code, result.err)
        with open(self.path("in-effect.yaml"), encoding="utf-8") as file:
            return file.read(), re.findall(r'^W.*warning="(.*)"$', result.err.replace(r"\"", "'"), re.M)

    def user_file(self, name):
        with open(os.path.join(FILES, name), encoding="utf-8") as file:
            return file.read()

    def test_all_plugins_by_name_in_v1beta3(self):
        config, warnings = self.written("--master=https://127.0.0.1:1", "--config", os.path.join(FILES, "full-v1beta3.yaml"))
        self.assertTrue(config.startswith("apiVersion: kubescheduler.config.k8s.io/v1\n"), config)
        self.assertIn("percentageOfNodesToScore: 50\n", config)
        self.assertEqual(len(warnings), 4)
        self.assertIn("kube-scheduler v1.29 removed kubescheduler.config.k8s.io/v1beta3; it is read as "
                      "kubescheduler.config.k8s.io/v1, which is the version to write", warnings[0])
        for warning, plugin in zip(warnings[1:], ("EBSLimits", "GCEPDLimits", "AzureDiskLimits")):
            self.assertIn("the plugin %s no longer exists; NodeVolumeLimits (limits of CSI drivers) covers it" % plugin, warning)
            self.assertNotIn(plugin, config)

    def test_it_is_read_in_the_same_way_by_every_command(self):
        objects = [node("a", labels={"kubernetes.io/arch": "amd64"}), node("b", labels={"kubernetes.io/arch": "s390x"}), pod("p")]
        cluster = self.write("cluster.json", objects)
        file = os.path.join(FILES, "full-v1beta3.yaml")
        result = self.berth("simulate", "-f", cluster, "--config", file, "-o", "json", "--no-timing")
        self.assertEqual(self.placed(result.json), {"default/p": "a"}) # by the added affinity
        warnings = result.err
        self.assertEqual(warnings.count("warning: "), 4)
        result = self.berth("explain", "-f", cluster, "--config", file, "-o", "json", "p")
        self.assertEqual((result.code, result.err), (0, warnings))

    def test_weights_and_constraints_of_that_file_count(self):
        """Spreading has weight 2, and by the default constraints the zone without pods of the service is better."""
        labels = [{"kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": zone}
                  for zone in ("full", "empty")]
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "default"},
                   "spec": {"selector": {"app": "x"}}}
        objects = [node(one["kubernetes.io/hostname"], labels=one) for one in labels]
        objects += [service, pod("old", labels={"app": "x"}, on="full"), pod("p", labels={"app": "x"})]
        nodes = cli.by_node(self.explain(objects, "p", "--config", os.path.join(FILES, "full-v1beta3.yaml")))
        scores = {name: row["scores"] for name, row in nodes.items()}
        self.assertEqual(scores["empty"]["PodTopologySpread"], 200)
        self.assertLess(scores["full"]["PodTopologySpread"], 200)
        self.assertEqual(scores["empty"]["TaintToleration"], 100)
        placed = self.placed(self.simulate(objects, "--config", os.path.join(FILES, "full-v1beta3.yaml")))
        self.assertEqual(placed, {"default/p": "empty"})

    def test_plugins_of_ones_own(self):
        """They must be loaded; and what else is wrong is said once they are gone."""
        name = os.path.join(FILES, "custom-plugins.yaml")
        for plugin in ("CustomFilterPlugin", "CustomScorePlugin"):
            text = self.user_file("custom-plugins.yaml")
            if plugin == "CustomScorePlugin":
                text = text.replace("      - name: CustomFilterPlugin\n", "")
                name = self.write("custom-plugins.yaml", text)
            self.refuse(self.berth("simulate", "-f", self.cluster, "--config", name), "custom-plugins.yaml:",
                        'Plugin "%s" does not exist; load it with --plugin FILE.so or --plugin-dir DIR' % plugin)
        name = self.write("custom-plugins.yaml", re.sub(r"      - name: Custom\w+\n", "", self.user_file("custom-plugins.yaml")))
        result = self.berth("simulate", "-f", self.cluster, "--config", name)
        self.assertIn("warning: profile custom-scheduler: the plugin InterPodAffinity is enabled at score, but not at "
                      "preScore, without which it fails: a pod that fits on several nodes is not scheduled; disable it "
                      "at score as well, or enable it at preScore\n", result.err)

    def test_an_alias(self):
        text = re.sub(r"      - name: (NetworkLatency|LoadBalancing)Plugin\n        weight: \d+\n", "",
                      self.user_file("latency-sensitive.yaml"))
        config, warnings = self.written("--master=https://127.0.0.1:1", "--leader-elect=false",
                                        "--config", self.write("config.yaml", text))
        self.assertIn("profiles[0].plugins.score.enabled[0]: NodeAffinityPlugin is read as NodeAffinity, which is the name "
                      "to write", warnings)
        self.assertIn("    score:\n      enabled:\n      - name: NodeAffinity\n        weight: 30\n", config)

    def test_a_second_scheduler_on_the_lease_of_the_first(self):
        deployment = self.user_file("gpu-scheduler-deployment.yaml")
        text = re.sub(r"^    ", "", deployment.split("gpu-scheduler-config.yaml: |\n")[1], flags=re.M)
        text = re.sub(r"  plugins:\n.*", "", text, flags=re.S)
        flags = ["--master=https://127.0.0.1:1", "--config", self.write("gpu-scheduler-config.yaml", text), "--v=2"]
        warning = self.written(*flags)[1][-1]
        for word in ("kube-system/kube-scheduler", "set leaderElection.resourceName (such as gpu-scheduler)",
                     "leaderElection.leaderElect: false"):
            self.assertIn(word, warning)
        # A command that takes no lease has nothing to say of it.
        self.assertNotIn("lease", self.berth("simulate", "-f", self.cluster, "--config", flags[2]).err)
        for advice in ("leaderElection: {resourceName: gpu-scheduler}\n", "leaderElection: {leaderElect: false}\n"):
            self.write("gpu-scheduler-config.yaml", text + advice)
            self.assertEqual(len(self.written(*flags)[1]), 1)

    def test_a_policy(self):
        config = self.write("policy.cfg", '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}]}')
        for command in (["scheduler"], ["simulate", "-f", self.cluster], ["explain", "-f", self.cluster, "p"]):
            self.refuse(self.berth(*command, "--config", config), "policy.cfg:1:", "no scheduling Policy since v1.23",
                        "write a KubeSchedulerConfiguration")


class Folder(cli.Case):
    """A ConfigMap that is mounted over the file makes --config a folder."""

    def mount(self, **files):
        """As a kubelet does: the files are links into a hidden folder."""
        for name, text in files.items():
            self.write("mount/..2026/" + name, text)
            os.symlink("..2026/" + name, self.path("mount/" + name))
        os.makedirs(self.path("mount"), exist_ok=True)
        return self.path("mount")

    def scheduler(self, *flags):
        return self.berth("scheduler", "--master=https://127.0.0.1:1", "--write-config-to", self.path("in-effect.yaml"), *flags)

    def test_the_only_configuration_is_read(self):
        folder = self.mount(config=HEAD + "parallelism: 7\n", notes="# none\n", other="apiVersion: v1\nkind: Pod\n",
                            broken="a: [1\n")
        result = self.scheduler("--config", folder)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("--config=%s is a folder: its file config is read; write --config=%s/config" % (folder, folder), result.err)
        with open(self.path("in-effect.yaml"), encoding="utf-8") as file:
            self.assertIn("parallelism: 7\n", file.read())
        cluster = self.write("cluster.json", [node("a"), pod("p")])
        result = self.berth("simulate", "-f", cluster, "--config", folder)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("write --config=%s/config" % folder, result.err)

    def test_mistakes_in_it_name_the_file(self):
        folder = self.mount(config=HEAD + "parallelism: much\n")
        self.refuse(self.scheduler("--config", folder), folder + "/config:3:14: parallelism:")

    def test_several(self):
        folder = self.mount(a=HEAD, b=HEAD)
        self.refuse(self.scheduler("--config", folder), folder + ": is a folder, expected a file",
                    "write --config=%s/a or --config=%s/b\n" % (folder, folder))

    def test_none(self):
        folder = self.mount(notes="kind: Notes\n")
        for command in (["scheduler"], ["simulate", "-f", self.write("cluster.json", [node("a")])]):
            self.refuse(self.berth(*command, "--config", folder), folder + ": is a folder, expected a file",
                        "no file in it is a KubeSchedulerConfiguration", "write --config=%s/KEY" % folder)


class Flags(cli.Case):
    """Flags that kube-scheduler no longer has."""

    def static_pod(self, config_text):
        """The flags of the manifest, with files that exist here. The ConfigMap is mounted over the file."""
        with open(os.path.join(FILES, "static-pod.yaml"), encoding="utf-8") as file:
            flags = re.findall(r"^    - (--\S+)$", file.read(), re.M)
        self.assertEqual(len(flags), 18)
        self.write("scheduler-config.yaml/config.yaml", config_text)
        self.write("scheduler.conf", '{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", '
                   '"cluster": {"server": "https://127.0.0.1:6443"}}], "users": [{"name": "u", "user": {"token": "t"}}], '
                   '"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}')
        return [flag.replace("/etc/kubernetes", self.folder.name) for flag in flags if not flag.startswith("--tls-")]

    def test_they_are_refused(self):
        """By default as in kube-scheduler, with what to write instead."""
        flags = self.static_pod(HEAD)
        for flag, since, instead in (("--port", "v1.24 removed it", "use --secure-port"),
                                     ("--percentage-of-nodes-to-score", "does not have it", "set percentageOfNodesToScore"),
                                     ("--logtostderr", "v1.26 removed it", "log lines go to standard error")):
            self.refuse(self.berth("scheduler", *flags), "unknown flag: %s (kube-scheduler %s): " % (flag, since), instead,
                        "with --legacy-flags it is accepted, with a warning")
            flags = [given for given in flags if not given.startswith(flag + "=")]
        result = self.berth("scheduler", *flags, "--write-config-to", self.path("in-effect.yaml"))
        self.assertEqual(result.code, 0, result.err)

    def test_a_static_pod_with_legacy_flags(self):
        for text, kubeconfig, percentage in ((HEAD, self.path("scheduler.conf"), 50),
                                             (HEAD + "percentageOfNodesToScore: 30\n", self.path("scheduler.conf"), 30)):
            flags = self.static_pod(text)
            result = self.berth("scheduler", *flags, "--legacy-flags", "--write-config-to", self.path("in-effect.yaml"))
            self.assertEqual(result.code, 0, result.err)
            with open(self.path("in-effect.yaml"), encoding="utf-8") as file:
                config = file.read()
            self.assertIn("kubeconfig: %s\n" % kubeconfig, config)
            self.assertIn("percentageOfNodesToScore: %d\n" % percentage, config)
            for word in ("--port (kube-scheduler v1.24 removed it): it is ignored", "--percentage-of-nodes-to-score (", "--logtostderr (",
                         "is a folder: its file config.yaml is read", "--kubeconfig counts only if the configuration file",
                         "--kube-api-qps is ignored, because there is a configuration file; set clientConnection.qps there"):
                self.assertEqual(result.err.count(word), 1, (word, result.err))

    def test_the_page_of_help_has_the_flag(self):
        page = self.berth("scheduler", "--help").out
        self.assertIn("--legacy-flags", page.split("Berth flags:")[1].split("Global flags:")[0])
        for flag in ("--port ", "--logtostderr "):
            self.assertNotIn("      " + flag, page)


class Running(live.Live):
    """The static pod of a cluster that was upgraded many times."""

    def manifest(self):
        """All of its flags, with other paths and ports."""
        with open(os.path.join(FILES, "static-pod.yaml"), encoding="utf-8") as file:
            flags = re.findall(r"^    - (--\S+)$", file.read(), re.M)
        live.make_pair(self.folder.name, "kube-scheduler")
        paths = {"/etc/kubernetes/pki": self.folder.name, "/etc/kubernetes/scheduler.conf": self.kubeconfig,
                 "/etc/kubernetes/scheduler-config.yaml": self.path("mount")}
        for path, here in paths.items():
            flags = [flag.replace(path, here) for flag in flags]
        return [flag for flag in flags if not flag.startswith(("--secure-port", "--bind-address"))]

    def mount(self, version, text):
        """As a kubelet does it: one link decides which files are there."""
        self.write("mount/..%s/config.yaml" % version, HEAD.replace("/v1\n", "/v1beta3\n") + text)
        os.symlink("..%s" % version, self.path("mount/..next"))
        os.replace(self.path("mount/..next"), self.path("mount/..data"))
        if not os.path.lexists(self.path("mount/config.yaml")):
            os.symlink("..data/config.yaml", self.path("mount/config.yaml"))

    def test_it_runs_and_follows_the_config_map(self):
        self.mount("1", "podMaxBackoffSeconds: 20\n")
        process = self.start(*self.manifest(), "--legacy-flags", config=self.path("mount"))
        self.wait_for_line("Successfully acquired lease")
        self.wait_for_line("Caches are synced")
        self.mount("2", "podMaxBackoffSeconds: 30\n")
        self.wait_for_line("Configuration reloaded")
        self.assertRegex(self.log(), r'"Configuration reloaded" file="[^"]*/mount/config.yaml" generation=1 changes="podMaxBackoffSeconds"')
        self.assertEqual(self.end(process), 0, self.log())

    def test_a_kubeconfig_that_does_not_count(self):
        config = self.write("config.yaml", HEAD)
        # There is no cluster around it.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBERNETES_")}
        process = self.start("--kubeconfig", self.kubeconfig, config=config)
        self.assertEqual(process.wait(), 2, self.log())
        self.assertIn("--kubeconfig is ignored beside --config (set clientConnection.kubeconfig in %s, or let the flag count "
                      "with --legacy-flags): no cluster to talk to" % config, self.log())
        process = self.start("--kubeconfig", self.kubeconfig, "--legacy-flags", config=config)
        self.wait_for_line("Successfully acquired lease")
        self.assertEqual(self.end(process), 0, self.log())


if __name__ == "__main__":
    cli.main()
