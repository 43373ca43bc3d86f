"""Broken, huge and malicious input ends in one error line, in bounded time and memory."""
import json
import resource
import subprocess

import cli

MEGABYTES_MAX = 1024


class Hostile(cli.Case):
    def run_limited(self, *args, stdin=b"", megabytes=MEGABYTES_MAX):
        """Like berth(), within a minute. Memory is limited unless a sanitizer is in use."""
        import os

        def limit():
            if not any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")) and not cli.sanitized():
                resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        done = subprocess.run([cli.BERTH, *args], input=stdin, capture_output=True, timeout=60, preexec_fn=limit,
                              check=False)
        return cli.Result(done)

    def refused(self, text, *words):
        if isinstance(text, str):
            text = text.encode()
        result = self.run_limited("simulate", "-f", "-", stdin=text)
        self.refuse(result, *words)
        self.assertEqual(len(result.err.strip().splitlines()), 1, result.err)

    def test_not_objects(self):
        for text in ("just words", "42", "[1, 2]", '"text"', "- a\n- b\n", "{}", '{"kind": 3}', "kind: [Pod]"):
            self.refused(text)

    def test_truncated(self):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [cli.node("n1"), cli.pod("p")]}, indent=1)
        for cut in range(1, len(text) - 1, 37):
            self.refused(text[:cut], "standard input")

    def test_broken_yaml(self):
        for text in ("a: [", "a: b: c", "\tkind: Pod", "kind: Pod\n  metadata: x", "&a [*a]", "a: *unknown",
                     "kind: Pod\nkind: Node\nmetadata: {name: x}\n---\n]"):
            self.refused(text)

    def test_deep(self):
        self.refused("[" * 100000, "standard input")
        self.refused('{"a":' * 100000, "standard input")
        self.refused("kind: Pod\nmetadata: " + "[" * 5000, "standard input")
        deep = '{"apiVersion":"v1","kind":"List","items":[' * 60 + "]}" * 60
        self.refused(deep)

    def test_bomb_of_aliases(self):
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += ["a%d: &a%d [%s]" % (i, i, ", ".join(["*a%d" % (i - 1)] * 10)) for i in range(1, 12)]
        self.refused("\n".join(lines))

    def test_binary(self):
        self.refused(bytes(range(256)) * 10)
        self.refused(b"\x00" * 1000)
        self.refused(b'{"kind": "Pod", "metadata": {"name": "\xff\xfe"}')

    def test_too_many_replicas(self):
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"):
            huge = cli.workload(kind, "huge", replicas=2147483647)
            self.refused(json.dumps([cli.node("n1"), huge]), "huge", "2147483647")
        job = cli.workload("Job", "huge", parallelism=2147483647)
        self.refused(json.dumps([cli.node("n1"), job]), "huge")

    def test_many_indexes(self):
        job = cli.workload("Job", "j", completions=2147483647, parallelism=1, completionMode="Indexed",
                           status={"completedIndexes": "0-2147483645"})
        result = self.run_limited("simulate", "-f", "-", "-o", "json",
                                  stdin=json.dumps({"kind": "List", "items": [cli.node("n1"), job]}).encode())
        self.assertEqual(result.json["summary"]["expanded"], 1)
        odd = cli.workload("Job", "j", completions=10, parallelism=1, completionMode="Indexed",
                           status={"completedIndexes": ",-,x-,9-1,99999999999999999999,0-9223372036854775807"})
        self.assertEqual(self.run_limited("simulate", "-f", "-", stdin=json.dumps([cli.node("n1"), odd]).encode()).code, 0)

    def test_numbers_out_of_range(self):
        self.refused(json.dumps({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "x"},
                                 "spec": {"replicas": 1e30}}), "replicas")
        negative = cli.workload("Deployment", "x", replicas=-5)
        self.assertEqual(self.run_limited("simulate", "-f", "-", stdin=json.dumps([cli.node("n1"), negative]).encode()).code, 0)

    def test_many_unknown_kinds(self):
        text = "\n".join('{"apiVersion":"x/v1","kind":"K%d","metadata":{"name":"n"}}' % i for i in range(50000))
        text += json.dumps(cli.node("n1"))
        result = self.run_limited("simulate", "-f", "-", stdin=text.encode())
        self.assertEqual(result.code, 0)
        self.assertIn("ignored 50000 objects", result.err)
        self.assertLess(len(result.err), 2000)

    def test_strange_names(self):
        odd = ["", " ", "a/b", "\u0000", "x" * 100000, "\u202e", "%s%n", "\"quoted\""]
        for name in odd:
            objects = {"kind": "List", "items": [cli.node("n1"), cli.pod(name), cli.node(name)]}
            result = self.run_limited("simulate", "-f", "-", "-o", "json", stdin=json.dumps(objects).encode())
            self.assertIn(result.code, (0, 2))
            if result.code == 0:
                self.assertEqual(len(result.json["placements"]), 1)

    def many_wants(self, spec, others=()):
        """300 nodes, and a pod that none of them takes: with requests, half of them have too little cpu as well."""
        nodes = [cli.node("n%d" % i, cpu=str(1 + i % 2)) for i in range(300)]
        pod = cli.pod("p", cpu="2" if "requests" in spec else "1")
        for key, value in spec.items():
            if key == "requests":
                pod["spec"]["containers"][0]["resources"]["requests"].update(value)
            else:
                pod["spec"][key] = value
        return json.dumps({"kind": "List", "apiVersion": "v1", "items": nodes + [pod] + list(others)}).encode()

    def test_nodes_that_lack_thousands_of_things(self):
        """What each node lacks is not kept for each node: a tenant's pod would fill the memory of the scheduler."""
        names = ["example.com/a-resource-of-some-length-%d" % i for i in range(8000)]
        version = {"apiVersion": "resource.k8s.io/v1"}
        claim = [{**version, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
                 {**version, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {
                     "driver": "d", "allNodes": True, "devices": [{"name": "d"}],
                     "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}},
                 {**version, "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default"}, "spec": {
                     "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}]
        requests = {name: "1" for name in names}
        devices = {"requests": requests, "resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
        done = self.run_limited("simulate", "-f", "-", "-o", "json", stdin=self.many_wants(devices, claim),
                                megabytes=150)
        self.assertEqual(done.json["summary"]["pending"], 1)
        self.assertIn("150 Insufficient cpu", done.json["placements"][0]["message"])
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": name, "labelSelector": {"matchLabels": {"app": name}}} for name in names]}}
        for spec in {"requests": requests}, {"affinity": affinity}, {"nodeSelector": {name: "x" for name in names}}:
            done = self.run_limited("explain", "p", "-f", "-", "-o", "json", stdin=self.many_wants(spec),
                                    megabytes=150)
            self.assertEqual(done.json["rejections"][0]["nodes"], 150 if "requests" in spec else 300)
            why = done.json["nodes"][0]["why"]
            self.assertEqual(len(why), 33)
            self.assertRegex(why[-1]["sentence"], "^79[67][0-9] more$")

    def test_circular_owners(self):
        def owned(name, by):
            return cli.workload("ReplicaSet", name, replicas=1, meta_more={"ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "controller": True, "uid": ""}]})
        objects = {"kind": "List", "items": [cli.node("n1"), owned("a", "b"), owned("b", "a")]}
        result = self.run_limited("simulate", "-f", "-", "-o", "json", stdin=json.dumps(objects).encode())
        self.assertEqual(result.json["summary"]["scheduled"], 2)


if __name__ == "__main__":
    cli.main()
