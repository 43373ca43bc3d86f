"""Configurations and policies as users have them, as they are (tests/cli/user-files): each does what it says."""
import os

from case import Case, main, node

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "user-files")


class UserFiles(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("kube-scheduler does not read v1beta3, and has no such plugins")

    def read(self, name):
        with open(os.path.join(FILES, name), encoding="utf-8") as file:
            return file.read()

    def begin(self, name, *flags):
        """The file says nothing about the connection and the lease."""
        return self.start("--legacy-flags", "--kubeconfig", self.path("user.kubeconfig"), "--leader-elect=false", *flags,
                          name="user", config=self.read(name))

    def node(self, name, more=None, **fields):
        one = node(name, **fields)
        one["status"]["allocatable"].update(more or {})
        self.create(one)

    def placed(self, name, where, requests=None, **more):
        """A pod that goes to this node."""
        self.pod(name, containers=[{"name": "c", "image": "i", "resources": {
            "requests": {"cpu": "10m", **(requests or {})}, "limits": requests or {}}}], **more)
        self.bound_to(name, where)

    def test_gpu_scheduler(self):
        self.node("cards", {"nvidia.com/gpu": "4"})
        self.node("plain")
        self.begin("gpu-scheduler.yaml")
        self.placed("train", "cards", {"nvidia.com/gpu": "1"}, schedulerName="gpu-scheduler")
        for i in range(3):
            self.placed("web-%d" % i, "plain", schedulerName="gpu-scheduler")

    def test_cost_optimizer(self):
        self.node("bought")
        self.node("rented", labels={"karpenter.sh/capacity-type": "spot"})
        self.begin("cost-optimizer.yaml")
        for i in range(3):
            self.placed("web-%d" % i, "rented", schedulerName="cost-optimizer")

    def test_latency_sensitive(self):
        table = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "network-latency", "namespace": "kube-system"},
                 "data": {"zones": "near far 30\n"}}
        self.api.ask("POST", "/api/v1/namespaces/kube-system/configmaps", table)
        self.addCleanup(self.api.clear, "/api/v1/namespaces/kube-system/configmaps/network-latency")
        for name in ("near", "far"):
            self.node(name, labels={"topology.kubernetes.io/zone": name})
        self.pod("db", cpu="10m", labels={"app": "shop"}, nodeName="near")
        self.begin("latency-sensitive.yaml")
        for i in range(3):
            self.placed("web-%d" % i, "near", labels={"app": "shop"}, schedulerName="latency-sensitive")

    def test_all_plugins_by_name(self):
        self.node("other", labels={"kubernetes.io/arch": "s390x"})
        self.node("wanted", labels={"kubernetes.io/arch": "amd64"})
        self.begin("full-v1beta3.yaml")
        for i in range(3):
            self.placed("web-%d" % i, "wanted")  # by the added affinity

    def test_policies(self):
        names = ("default-policy", "gpu-policy", "batch-policy")
        self.create({"apiVersion": "v1", "kind": "ConfigMap",
                     "metadata": {"name": "scheduling-policies", "namespace": self.namespace},
                     "data": {name + ".yaml": self.read(name + ".yaml") for name in names}})
        self.node("cards", {"nvidia.com/gpu": "4"}, labels={"accelerator": "nvidia-tesla-v100"})
        self.node("fast", labels={"node-type": "compute-optimized"})
        self.node("spot", taints=[{"key": "spot-instance", "value": "true", "effect": "NoSchedule"}])
        self.start("--policy-configmap", self.namespace + "/scheduling-policies")
        self.placed("train", "cards", {"nvidia.com/gpu": "1"}, labels={"scheduling.berth.dev/policy": "gpu-policy"})
        self.placed("web", "fast")
        self.placed("batch", "spot", labels={"scheduling.berth.dev/policy": "batch-policy"},
                    nodeSelector={"kubernetes.io/hostname": "spot"})


if __name__ == "__main__":
    main()
