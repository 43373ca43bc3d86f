"""Input as users have it: files, folders, standard input, Lists, several documents, JSON lines."""
import gzip
import json
import os
import time

import cli
import terminal

NODE = cli.node("n1")
POD = cli.pod("p")
YAML = """\
# a comment first
apiVersion: v1
kind: Node
metadata:
  name: n1
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
"""


class Forms(cli.Case):
    def check(self, *args, stdin=b""):
        result = self.berth("simulate", "-o", "json", "--no-timing", *args, stdin=stdin)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.placed(result.json), {"default/p": "n1"})
        return result

    def test_list(self):
        self.assertEqual(self.check("-f", self.write("a.json", [NODE, POD])).err, "")

    def test_several_documents(self):
        self.check("-f", self.write("a.yaml", YAML))
        self.check("-f", self.write("b.yaml", "---\n" + YAML + "---\n---\n"))

    def test_byte_order_mark_and_crlf(self):
        self.check("-f", self.write("a.yaml", b"\xef\xbb\xbf" + YAML.replace("\n", "\r\n").encode()))

    def test_json_lines(self):
        self.check("-f", self.write("a.jsonl", json.dumps(NODE) + "\n\n" + json.dumps(POD) + "\n"))

    def test_pretty_json_values_one_after_another(self):
        self.check("-f", self.write("a.json", json.dumps(NODE, indent=4) + "\n" + json.dumps(POD, indent=4)))

    def test_array(self):
        self.check("-f", self.write("a.json", json.dumps([NODE, POD])))

    def test_typed_lists_with_items_without_kind(self):
        bare_node = {key: NODE[key] for key in ("metadata", "spec", "status")}
        bare_pod = {key: POD[key] for key in ("metadata", "spec", "status")}
        text = json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [bare_node]})
        text += json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [bare_pod]})
        self.check("-f", self.write("a.json", text))

    def test_list_in_a_list(self):
        inner = {"apiVersion": "v1", "kind": "List", "items": [POD]}
        self.check("-f", self.write("a.json", [NODE, inner]))

    def test_empty_list(self):
        null_items = '{"apiVersion":"v1","kind":"PodList","items":null}'
        for name, empty in (("a.json", []), ("b.json", null_items)):
            result = self.berth("simulate", "-f", self.write(name, empty), "-f", self.write("n.json", [NODE]), "-o", "json")
            self.assertEqual(result.json["summary"]["decisions"], 0)

    def test_standard_input(self):
        self.check("-f", "-", stdin=YAML)
        self.check("-f", self.write("n.json", [NODE]), "-f", "-", stdin=json.dumps(POD))

    def test_standard_input_twice(self):
        self.refuse(self.berth("simulate", "-f", "-", "-f", "-", stdin=YAML), "standard input", "only once")

    def test_kinds_of_other_versions(self):
        self.refuse(self.berth("simulate", "-f", self.write("a.yaml", "kind: Pod\nmetadata: {name: p}\n")),
                    "a.yaml:1:1", "apiVersion: a Pod needs one, such as v1")
        other = {**POD, "apiVersion": "v2", "metadata": {"name": "q"}}
        self.assertIn("v2 Pod (1)", self.check("-f", self.write("b.json", [NODE, POD, other])).err)

    def test_folder(self):
        self.write("folder/deep/er/node.yml", json.dumps(NODE))
        self.write("folder/pod.yaml", YAML.split("---\n")[1])
        self.write("folder/README.md", "not an object at all: [")
        self.write("folder/.hidden/x.yaml", "broken: [")
        self.check("-f", self.path("folder"))

    def test_folder_without_objects(self):
        self.write("folder/README.md", "nothing")
        self.refuse(self.berth("simulate", "-f", self.path("folder")), "*.yaml")

    def test_folder_that_contains_itself(self):
        self.write("folder/a.json", [NODE, POD])
        os.symlink(self.path("folder"), self.path("folder/again"))
        self.check("-f", self.path("folder"))

    def test_missing_file(self):
        self.refuse(self.berth("simulate", "-f", self.path("no.yaml")), "no.yaml")

    def test_compressed(self):
        """Also members one behind another, as `cat a.gz b.gz` makes them."""
        packed = gzip.compress(YAML.encode())
        self.check("-f", self.write("a.yaml.gz", packed))
        self.check("-f", "-", stdin=packed)
        self.check("-f", self.write("b", gzip.compress(json.dumps(NODE).encode()) + gzip.compress(json.dumps(POD).encode())))
        self.write("folder/deep/a.yaml.gz", packed)
        self.write("folder/notes.gz", b"nothing")
        self.check("-f", self.path("folder"))

    def test_compressed_and_damaged(self):
        packed = gzip.compress(YAML.encode())
        for damaged in (packed[:-9], packed[:5], packed + b"more", b"\x1f\x8b\x08\x00abc",
                        packed[:-8] + b"\0\0\0\0" + packed[-4:]):
            self.refuse(self.berth("simulate", "-f", self.write("a.gz", damaged)),
                        "a.gz: is compressed with gzip, and damaged or cut off")
        self.refuse(self.berth("simulate", "-f", self.write("a.gz", gzip.compress(b"a: [1"))), "a.gz:2:1: did not find expected")


class Progress(cli.Case):
    def test_a_warning_has_a_line_of_its_own(self):
        """Also behind the progress of a file that comes slowly: that line is wiped out first."""
        objects = [cli.node("n%d" % i) for i in range(600)]
        first, slow = self.write("first.json", objects), self.path("slow.json")
        os.mkfifo(slow)
        term = terminal.Terminal(self, "simulate", "-f", first, "-f", slow)
        with open(slow, "w", encoding="utf-8") as file:
            time.sleep(1.1)  # progress is shown from the first second on
            json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, file)
        term.until(lambda: "came again" in term.text, "the warning")
        self.assertIn("berth: reading " + slow, term.text)
        self.assertRegex(term.text, "\r\x1b\\[Kberth: warning: 600 objects came again")
        self.assertEqual(term.end(), 0)


class Mistakes(cli.Case):
    """What is given in place of objects: one sentence that says what it is, and exit code 2."""

    def refuse_text(self, text, *words):
        self.refuse(self.berth("simulate", "-f", self.write("a.yaml", text)), *words)

    def test_tables_of_kubectl(self):
        for table in ("NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   3d    v1.37.0\n",
                      "NAMESPACE   NAME  READY  STATUS  RESTARTS     AGE\r\na   b   1/1   Running   2 (3d ago)   x: y\r\n"):
            self.refuse_text(table, "a.yaml:1:1: is a table as kubectl prints it", "`-o yaml` or `-o json`")
        self.refuse_text("NAME: x\n", "kind: a Kubernetes object needs a kind")

    def test_descriptions_of_kubectl(self):
        self.refuse(self.berth("simulate", "-f", self.write("d.txt", "Name:         web\nNamespace:    default\nEvents:       <none>\n")),
                    "d.txt:1:1: is what `kubectl describe` prints for people", "-o yaml")

    def test_tabs(self):
        self.refuse_text("kind: Pod\nmetadata:\n\tname: p\n", "a.yaml:3:1: a tab, but YAML is indented with spaces")
        self.refuse_text("kind: Pod\nmetadata:\n  labels:\n    \ta: b\n", "a.yaml:4:5: a tab, but")

    def test_utf_16(self):
        for encoding in "utf-16", "utf-16-le", "utf-16-be":
            self.refuse_text(YAML.encode(encoding), "a.yaml:1:1: the text is UTF-16", "iconv -f UTF-16 -t UTF-8")

    def test_nothing(self):
        for command in (["simulate"], ["explain", "p"]):
            for text in "", "\n# nothing\n---\n", '{"kind": "List", "apiVersion": "v1", "items": []}':
                self.refuse(self.berth(*command, "-f", self.write("a.yaml", text)), "berth: the input has no objects\n")
            other = self.write("b.yaml", "{kind: Foo, apiVersion: example.com/v1, metadata: {name: x}}")
            self.refuse(self.berth(*command, "-f", other), "Foo (1)", "no objects of kinds that decisions depend on\n")

    def test_no_nodes(self):
        path = self.write("a.json", [POD])
        for command in (["simulate"], ["explain", "p"]):
            self.refuse(self.berth(*command, "-f", path), "the input has no nodes, so that nothing can be decided; "
                                                          "`kubectl get nodes -o json` prints them\n")


class Contents(cli.Case):
    def run_objects(self, objects):
        return self.berth("simulate", "-f", self.write("c.json", objects), "-o", "json", "--no-timing")

    def test_unknown_kinds_are_one_warning(self):
        extra = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": n}} for n in "ab"]
        extra.append({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}})
        result = self.run_objects([NODE, POD, *extra])
        self.assertEqual(result.code, 0)
        self.assertEqual(result.err, "berth: warning: ignored 3 objects of kinds it does not use: "
                                     "ConfigMap (2), Foo (1)\n")

    def test_kind_of_another_group_is_unknown(self):
        knative = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "x"}}
        self.assertIn("Service (1)", self.run_objects([NODE, knative]).err)

    def test_last_of_two_counts(self):
        result = self.run_objects([cli.node("n1", cpu="1"), cli.pod("p", cpu="2"), cli.node("n1", cpu="4")])
        self.assertEqual(self.placed(result.json), {"default/p": "n1"})
        self.assertIn("1 object came again, such as Node n1", result.err)

    def test_finished_pods_hold_nothing(self):
        done = [cli.pod(name, on="n1", cpu="4", status={"phase": phase})
                for name, phase in (("a", "Succeeded"), ("b", "Failed"))]
        report = self.run_objects([NODE, *done, cli.pod("p", cpu="4")]).json
        self.assertEqual(self.placed(report), {"default/p": "n1"})
        self.assertEqual(report["summary"]["running"], 0)

    def test_objects_without_names_or_kinds(self):
        self.refuse(self.run_objects([{"apiVersion": "v1", "kind": "Pod", "metadata": {}}]), "c.json:1:", "name")
        self.refuse(self.run_objects([{"apiVersion": "v1", "metadata": {"name": "x"}}]), "kind")
        self.refuse(self.run_objects(["text"]), "expected a Kubernetes object, not the string \"text\"")
        self.refuse(self.run_objects([5]), "expected a Kubernetes object, not a number")
        nothing = self.write("nothing.yaml", "No resources found in default namespace.\n")
        self.refuse(self.berth("simulate", "-f", nothing), "not the string \"No resources found in default namespace.\"\n")
        self.refuse(self.run_objects(["é" * 40 + "\u001b[2J" + "é" * 40]), "\"" + "é" * 40 + "?[2J" + "é" * 16 + "...\"")

    def test_wrong_type_names_file_line_and_field(self):
        path = self.write("bad.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  priority: high\n")
        self.refuse(self.berth("simulate", "-f", path), "bad.yaml:5:", "spec.priority")

    def test_bad_quantity(self):
        self.refuse(self.run_objects([cli.node("n", cpu="four")]), "cpu")

    def test_bad_configuration(self):
        path = self.write("c.json", [NODE])
        config = self.write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                           "kind: KubeSchedulerConfiguration\nparalellism: 3\n")
        self.refuse(self.berth("simulate", "-f", path, "--config", config), "config.yaml:3:", "paralellism")


if __name__ == "__main__":
    cli.main()
