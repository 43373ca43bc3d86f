"""What tenants write costs memory in proportion, and as long as it is there."""
from case import Case, cli, main, node

NODES, PODS, KEYS = 500, 12, 8000
MIB = 1024  # KiB, as /proc has them


def keys(number, count=KEYS):
    return ["example.com/key-%d-%d" % (number, i) for i in range(count)]


def labels(number):
    return {"labels": {key: "v" for key in keys(number)}}


def constraints(number):
    return {"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
         "labelSelector": {"matchLabels": {"app": "x"}}} for key in keys(number, 3000)]}


class Memory(Case):
    def setUp(self):
        super().setUp()
        self.berth_only("this is about berth's memory")
        if cli.sanitized():
            self.skipTest("a sanitizer keeps memory that was freed")

    def resident(self):
        """Of the scheduler's own, in KiB."""
        with open("/proc/%d/status" % self.schedulers[0].process.pid, encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    def check_pods(self, make, each):
        """Pods take so many KiB each at most, and give nearly all of it back."""
        self.create_all([node("node-%d" % i) for i in range(NODES)])
        self.start()
        self.seen("first")
        before = self.resident()
        names = ["large-%d" % i for i in range(PODS)]
        for i, name in enumerate(names):
            self.pod(name, cpu="1m", **make(i))
        self.all_bound(names)
        self.seen("second")
        self.assertLess(self.resident() - before, PODS * each)
        for name in names:
            self.remove("Pod", name)
        self.wait("memory is given back", lambda: self.resident() - before < 12 * MIB)

    def test_labels(self):
        self.check_pods(labels, 5 * MIB)

    def test_topology_keys_that_no_node_has(self):
        self.check_pods(constraints, 4 * MIB)


if __name__ == "__main__":
    main()
