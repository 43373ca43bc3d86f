#!/usr/bin/env python3
"""The report of `berth simulate --html`: its numbers are those of -o json, and it can be used with mouse and keyboard."""
import browser
from cli import full_name, node, pod, workload

ZONE, TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"


def cluster():
    """Two zones; a Deployment with more pods than fit, a pod that preempts one, a gate, a cordoned node."""
    nodes = [node("n%d" % i, labels={ZONE: "zone-" + "ab"[i % 2], TYPE: "large" if i < 2 else "small", "pool": "p%d" % (i % 3)},
                  cpu="8" if i < 2 else "4") for i in range(6)]
    nodes.append(node("closed", labels={ZONE: "zone-b", TYPE: "small"}, unschedulable=True))
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}]
    pods = [pod("old-%d" % i, on="n%d" % i, cpu="3", priority=-5) for i in range(6)]
    pods += [pod("important", cpu="4", priorityClassName="high"), pod("whale", cpu="100"),
             pod("held", schedulingGates=[{"name": "example.com/wait"}])]
    return [*nodes, *classes, *pods, workload("Deployment", "web", cpu="1", namespace="shop", replicas=20)]


class TestSimulation(browser.Case):
    def simulation(self, objects=None, *arguments):
        return self.report("simulate", "-f", self.write("cluster.json", objects or cluster()), *arguments)

    def tile(self, words):
        tiles = dict(zip(self.page.texts(".tile dt"), self.page.texts(".tile dd")))
        return tiles[words]

    def rows(self, caption, *columns):
        """Cells of a table that is found by its caption, of the rows that are in the document."""
        return self.page.run("""const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === arguments[0]);
            return [...table.querySelectorAll("tbody tr:not(.spacer)")].map((row) =>
                arguments[1].map((at) => row.children[at].innerText.trim()));""", caption, columns)

    def sort(self, caption, column):
        self.page.run("""const table = [...document.querySelectorAll("table")].find((t) => t.caption.textContent === arguments[0]);
            table.querySelectorAll("thead button")[arguments[1]].click();""", caption, column)

    def test_numbers(self):
        page, document = self.simulation()
        summary = document["summary"]
        self.assertIn("cluster.json", page.text("h1"))
        self.assertEqual(self.tile("placements"), str(summary["scheduled"]))
        self.assertEqual(self.tile("pods wait"), str(summary["pending"]))
        self.assertEqual(self.tile("pods preempted"), str(summary["preempted"]))
        self.assertGreater(summary["preempted"], 0)
        cpu = document["resources"]["cpuMilli"]
        self.assertEqual(self.tile("cpu requested"), "%d %% → %d %%" % (
            round(100 * cpu["before"] / cpu["allocatable"]), round(100 * cpu["after"] / cpu["allocatable"])))
        self.sort("Workloads", 2)
        placed = {row[0]: int(row[1]) for row in self.rows("Workloads", 0, 2)}
        self.assertEqual(placed["shop/web"], next(w["placed"] for w in document["workloads"] if w["name"] == "web"))

    def test_nodes(self):
        page, document = self.simulation()
        self.assertEqual(page.count("#nodes canvas"), 2)
        self.assertIn("Before: nodes by use of cpu", page.attribute("#nodes canvas", "aria-label"))
        page.choose("#nodes .controls select", "memory")
        self.assertIn("nodes by use of memory", page.attribute("#nodes canvas", "aria-label"))
        page.choose("#nodes .controls select", "cpu")
        groups = page.run("return [...document.querySelectorAll('#nodes .controls select')[1].options].map((o) => o.text);")
        self.assertEqual(groups, ["zone", "instance type", "nothing", "pool"])
        rows = self.rows("Nodes", 0, 3)
        self.assertEqual([row[0] for row in rows], sorted(n["name"] for n in document["nodes"]))
        for name, share in rows:
            found = next(n for n in document["nodes"] if n["name"] == name)
            percent = 100 * found["after"]["cpuMilli"] / found["allocatable"]["cpuMilli"]
            self.assertAlmostEqual(float(share.split()[0]), percent, delta=0.51)
        self.sort("Nodes", 3)
        first = page.attribute("#nodes th[aria-sort]:nth-child(4)", "aria-sort")
        self.assertEqual(first, "descending")
        shares = [float(row[0].split()[0]) for row in self.rows("Nodes", 3)]
        self.assertEqual(shares, sorted(shares, reverse=True))
        page.click("#nodes tbody tr button")
        self.assertIn(ZONE, page.text(".details .labels"))

    def test_keyboard(self):
        page, document = self.simulation()
        page.press("Tab")
        self.assertIn("Skip to the content", page.focused())
        page.press("Enter")
        page.run("document.querySelector('#nodes canvas').focus();")
        page.press("ArrowRight")
        spoken = page.text("#announcer")
        self.assertRegex(spoken, r"^(n\d|closed).*, Before: cpu .* of .* cores .*, After: cpu ")
        name = spoken.split(",")[0].split(" ")[0]
        page.press("Enter")
        self.assertTrue(page.text(".details h3").startswith(name))
        found = next(n for n in document["nodes"] if n["name"] == name)
        self.assertIn("%s cores" % (found["allocatable"]["cpuMilli"] // 1000), page.text(".details table"))
        page.press("Escape")
        self.assertTrue(page.run("return document.querySelector('.hint').hidden;"))
        page.press("Home", "End", "ArrowUp", "ArrowDown", "ArrowLeft")

    def test_pointer(self):
        page, _ = self.simulation()
        page.run("document.querySelector('#nodes .controls select:last-of-type').value;")
        page.point("#nodes canvas", 0.02, 0.5)
        self.assertIn("of 8 cores", page.text(".hint"))
        page.point("#queue .plot", 0.5, 0.5)
        self.assertIn("decision", page.text(".hint"))

    def test_workload(self):
        page, document = self.simulation()
        web = next(w for w in document["workloads"] if w["name"] == "web")
        self.assertEqual(page.text("#workloads h3"), "shop/web: %d pods on %d nodes" % (web["placed"], len(web["nodes"])))
        zones = dict.fromkeys(("zone-a", "zone-b"), 0)
        for name, pods in web["nodes"].items():
            zones[next(n["labels"][ZONE] for n in document["nodes"] if n["name"] == name)] += pods
        bars = dict(zip(page.texts("#workloads .bar-label"), page.texts("#workloads .bar-total")))
        self.assertEqual(bars, {zone: str(pods) for zone, pods in zones.items()})
        page.click("#workloads figcaption button")
        self.assertEqual(page.attribute("#workloads figcaption button", "aria-expanded"), "true")
        self.assertEqual(dict(self.rows("Pods by zone", 0, 1)), bars)

    def test_pending(self):
        page, document = self.simulation()
        reasons = page.texts("#pending summary")
        gated = [row for row in document["pending"] if row["gated"]]
        self.assertTrue(any(text.startswith("1 pod blocked by a scheduling gate") for text in reasons), reasons)
        self.assertEqual([full_name(row["pod"]) for row in gated], ["default/held"])
        self.assertEqual(sum(int(text.split()[0]) for text in reasons), document["summary"]["pending"])
        self.assertIn("Insufficient cpu", page.text("#pending .legend"))

    def test_queue(self):
        page, document = self.simulation()
        woken = [row for row in document["placements"] if row["wokenBy"]]
        self.assertTrue(woken)
        self.assertTrue(all(row["attempt"] > 1 for row in woken))
        events = {row[0]: int(row[1]) for row in self.rows("Wake-ups by event", 0, 1)}
        self.assertEqual(events, {event: sum(row["wokenBy"] == event for row in woken)
                                  for event in {row["wokenBy"] for row in woken}})
        victims = self.rows("Preemptions", 2)
        self.assertEqual([row[0] for row in victims], [", ".join(full_name(v) for v in row["victims"])
                                                      for row in document["placements"] if row["victims"]])
        page.click("#queue figcaption button")
        last = self.page.run("""const scroller = document.querySelector("#queue figure .scroller");
            scroller.scrollTop = 1e6; return new Promise((done) => setTimeout(() =>
                done([...scroller.querySelectorAll("tbody tr:not(.spacer)")].pop().innerText), 100));""")
        self.assertTrue(last.startswith("decision %d\t" % len(document["placements"])), last)

    def test_hostile_names(self):
        """Names and labels are data: nothing of them becomes markup or a script."""
        evil = node("n1", labels={"pool": "</script><img src=x onerror=alert(1)>", ZONE: "<b>z</b>"})
        page, document = self.simulation([evil, pod("web")])
        self.assertEqual(page.count("img, b"), 0)
        self.assertEqual(document["nodes"][0]["labels"][ZONE], "<b>z</b>")
        page.click("#nodes tbody button")
        self.assertIn("<img src=x onerror=alert(1)>", page.text(".labels"))

    def test_dark(self):
        page, _ = self.simulation()
        colour = "return getComputedStyle(document.body).backgroundColor;"
        light = page.run(colour)
        page.scheme("dark")
        page.wait(colour.replace("return", "return '%s' !==" % light))
        self.assertLess(sum(int(part) for part in page.run(colour)[4:-1].split(",")), 200)

    def test_small_window(self):
        page, _ = self.simulation()
        page.size(400, 800)
        self.addCleanup(page.size, 1280, 900)
        page.wait("return document.documentElement.scrollWidth === 400;")
        # The times below a chart do not touch one another.
        boxes = page.wait("""const ticks = [...document.querySelectorAll("#queue svg .tick")].filter((t) => /decision/.test(t.textContent));
            return ticks.length && ticks.map((tick) => [tick.getBoundingClientRect().left, tick.getBoundingClientRect().right]);""")
        self.assertGreater(len(boxes), 1)
        for before, after in zip(boxes, boxes[1:]):
            self.assertGreater(after[0], before[1] + 4)

    def test_changes(self):
        objects = [*cluster(), workload("ReplicaSet", "set", cpu="100m", replicas=1),
                   pod("set-1", on="n0", owner=("ReplicaSet", "set"), labels={"app": "set"})]
        page, document = self.simulation(objects, "--drain", "n0", "--add", "2=n1")
        self.assertIn(document["answer"]["text"], page.text("#changes"))
        self.assertIn("set-1", [row["pod"]["name"] for row in document["moved"]])
        self.assertIn("default/old-0", page.text("#changes .warn"))
        self.assertEqual(self.rows("Changes", 0, 2), [[row["change"], row["name"]] for row in document["changes"]])
        self.assertEqual(self.rows("Pods that leave", 0, 2), [[full_name(row["pod"]), row["from"]] for row in document["moved"]])
        added = [row["name"] for row in document["nodes"] if row["before"] is None]
        self.assertEqual(len(added), 2)
        changed = {row["name"]: row["change"] for row in document["nodes"]}
        last = len(page.texts("#nodes thead th")) - 1
        self.assertEqual({name: change for name, change in self.rows("Nodes", 0, last)},
                         {name: change or "–" for name, change in changed.items()})
        page.run("document.querySelector('#nodes canvas').focus();")
        page.press("Home")
        while not any(page.text("#announcer").startswith(name) for name in added):
            page.press("ArrowRight")
        self.assertIn("Before: not there, After: cpu ", page.text("#announcer"))
        page.press("Enter")
        self.assertIn(page.text(".details h3"), added)

    def test_nodes_that_are_needed(self):
        objects = [node("n0", cpu="4"), workload("Deployment", "web", cpu="1", namespace="shop", replicas=11)]
        page, document = self.simulation(objects, "--add-until-placed", "n0")
        self.assertTrue(document["growth"]["enough"])
        self.assertIn("2 more nodes like n0 are enough for all pods; with 1, 3 pods would wait.", page.text("#growth"))
        page, document = self.simulation([*objects, pod("whale", cpu="9")], "--add-until-placed", "n0")
        self.assertEqual(page.text("#growth .verdict"), document["growth"]["text"])
        self.assertIn("With 2 more nodes like n0, 1 pod would wait", document["growth"]["text"])
        objects = [node("n%d" % i) for i in range(4)] + [pod("one", on="n0")]
        page, document = self.simulation(objects, "--removable")
        self.assertIn("%d nodes could go together" % document["removable"]["count"], page.text("#removable"))
        self.assertEqual({row[0]: row[1] == "yes" for row in self.rows("Nodes that could go", 0, 1)},
                         {row["name"]: row["removable"] for row in document["removable"]["nodes"]})

    def test_empty(self):
        page, document = self.simulation([node("n1")])
        self.assertEqual(document["summary"]["decisions"], 0)
        self.assertEqual(self.tile("placements"), "0")
        self.assertEqual(page.count("#pending"), 0)

    def test_large(self):
        """A large document is compressed in the file; the page reads it."""
        nodes = [node("node-%04d" % i, labels={ZONE: "zone-%d" % (i % 3)}) for i in range(2000)]
        page, document = self.simulation([*nodes, workload("Deployment", "web", cpu="1", replicas=4000)])
        with open(self.path("report.html"), encoding="utf-8") as file:
            self.assertNotIn("node-0001", file.read())
        self.assertEqual(self.tile("placements"), "4,000")
        self.assertEqual(document["summary"]["scheduled"], 4000)
        self.assertLess(page.count("tr"), 400)  # only rows that are seen

    def test_cannot_be_written(self):
        path = self.write("cluster.json", cluster())
        result = self.berth("simulate", "-f", path, "--html", "/nowhere/report.html")
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertIn("/nowhere/report.html: cannot be written: No such file or directory", result.err)


if __name__ == "__main__":
    browser.main()
