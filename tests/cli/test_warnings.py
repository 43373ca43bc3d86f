"""What the commands say about input that may give a wrong answer: misspelled fields, objects that are missing."""
import json

import cli

NODE = cli.node("n1")


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
        self.assertEqual((len(warnings), warnings[-1]), (21, "5 more fields are unknown"))

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

    def test_control_characters_are_not_printed(self):
        pod = cli.pod("p\u001b[31m", **{"x\u001b[2J": 1})
        pod["metadata"]["namespace"] = "\u001b"
        text = "\n".join(self.warnings(json.dumps([pod]), name="a.json"))
        self.assertNotIn("\u001b", text)
        self.assertIn("Pod ?/p?[31m: unknown field spec.x?[2J", text)


if __name__ == "__main__":
    cli.main()
