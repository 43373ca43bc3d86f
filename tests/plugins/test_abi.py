"""The rules of the plugin ABI that berth/plugin.h states: plugins that were built against an older header work, those
built against a longer one are rejected, and the header only grows where it may.

abi/plugin_revision_1.h is the header as it was in revision 1. Headers of later and of shorter structs are made from the
present one."""
import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BERTH = os.environ["BERTH"]
NEWER = "built against a newer berth/plugin.h than this berth has"

CLUSTER = """
{kind: Node, apiVersion: v1, metadata: {name: closed, labels: {closed: x}}, status: {allocatable: {cpu: 9, pods: 9}}}
---
{kind: Node, apiVersion: v1, metadata: {name: open}, status: {allocatable: {cpu: 1, pods: 9}}}
---
{kind: Node, apiVersion: v1, metadata: {name: other}, status: {allocatable: {cpu: 9, pods: 9}}}
---
{kind: Pod, apiVersion: v1, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: i}]}}
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Probe}]}}
  pluginConfig: [{name: Probe, args: {ratio: 0.096, number: 7, word: hello}}]
"""


def text_of(*path):
    with open(os.path.join(HERE, *path), encoding="utf-8") as file:
        return file.read()


PRESENT = text_of("..", "..", "include", "berth", "plugin.h")
FIRST = text_of("abi", "plugin_revision_1.h")


def grown(struct, member="int64_t of_the_future;"):
    """The present header with another member at the end of a struct."""
    changed, count = re.subn(r"(\nstruct %s \{.*?)\n\};" % struct, r"\1\n    %s\n};" % member, PRESENT, count=1,
                             flags=re.S)
    assert count == 1, struct
    return changed


class Plugins(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("cluster.yaml", CLUSTER), ("config.yaml", CONFIG)):
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
                file.write(text)

    def run_with(self, header, *defines):
        folder = self.folder.name
        os.makedirs(os.path.join(folder, "berth"), exist_ok=True)
        with open(os.path.join(folder, "berth", "plugin.h"), "w", encoding="utf-8") as file:
            file.write(header)
        plugin = os.path.join(folder, "probe.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-I", folder, *defines, "-o", plugin,
                        os.path.join(HERE, "abi", "probe.c")], check=True)
        return subprocess.run([BERTH, "simulate", "-f", os.path.join(folder, "cluster.yaml"), "--config",
                               os.path.join(folder, "config.yaml"), "--plugin", plugin, "-o", "json"],
                              capture_output=True, text=True, check=False)

    def assert_works(self, header, *defines):
        done = self.run_with(header, *defines)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'"node": ?"open"')
        self.assertIn("probe ratio=0.096000000000000002 number=7 word=hello scheduler=default-scheduler",
                      done.stderr)

    def test_the_present_header(self):
        self.assert_works(PRESENT)

    def test_revision_1(self):
        self.assert_works(FIRST)

    def test_shorter_structs(self):
        rules = PRESENT.replace("""    enum berth_hint_answer (*hint)(const struct berth_hint *hint, const struct berth_pod *pod,
                                   const struct berth_event *event);
};""", "};")
        self.assertNotEqual(rules, PRESENT)
        self.assert_works(rules, "-DWITHOUT_HINT")
        fields = re.sub(r"    size_t size; +/\* of BERTH_STRUCT and BERTH_LIST \*/\n\};", "};", PRESENT)
        fields = fields.replace("offsetof(type_, member_), NULL, 0 }", "offsetof(type_, member_), NULL }")
        self.assertNotIn("size_t size; ", fields)
        self.assert_works(fields)

    def test_longer_structs(self):
        for struct in ("berth_plugin", "berth_module", "berth_env", "berth_event_rule", "berth_field",
                       "berth_node_names", "berth_post_filter_result"):
            with self.subTest(struct=struct):
                done = self.run_with(grown(struct))
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(NEWER, done.stderr)

    def test_a_later_revision(self):
        later = re.sub(r"(#define BERTH_REVISION) (\d+)", lambda m: "%s %d" % (m[1], int(m[2]) + 1), PRESENT)
        functions = PRESENT.replace("struct berth_host {\n    uint32_t abi, size;",
                                    "struct berth_host {\n    uint32_t abi, size;\n    void (*added)(void);")
        for header in (later, functions):
            self.assertNotEqual(header, PRESENT)
            done = self.run_with(header)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(NEWER, done.stderr)


def bare(text):
    """Without comments, blanks and line ends."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", " ")
    return re.sub(r"\s+", " ", text)


def functions_of(header):
    """The list of functions, each as written."""
    start = header.index("#define BERTH_FUNCTIONS(F, V)")
    text = bare(header[start:header.index("struct berth_host {")])
    return [entry.strip() for entry in re.split(r"(?=\b[FV]\()", text)][3:]


def structs_of(header):
    return dict(re.findall(r"\bstruct (berth_\w+) \{(.*?)\};", bare(header)))


def numbers_of(header):
    numbers = {}
    for body in re.findall(r"\benum berth_\w+ \{(.*?)\}", bare(header)):
        for name, value in re.findall(r"(BERTH_\w+) = ([^,}]+)", body):
            numbers[name] = eval(value, {}, numbers)
    return numbers


class Growth(unittest.TestCase):
    """What was in revision 1 is as it was."""

    MAY_GROW = {"berth_plugin", "berth_module", "berth_env", "berth_event_rule", "berth_field", "berth_node_names",
                "berth_post_filter_result"}

    def test_functions(self):
        first, present = functions_of(FIRST), functions_of(PRESENT)
        self.assertGreater(len(first), 50)
        self.assertEqual(present[:len(first)], first)

    def test_structs(self):
        first, present = structs_of(FIRST), structs_of(PRESENT)
        self.assertGreater(len(first), 15)
        for name, body in first.items():
            if name in self.MAY_GROW:
                self.assertTrue(present[name].startswith(body.rstrip()), name)
            elif name != "berth_host":
                self.assertEqual(present[name], body, name)

    def test_numbers(self):
        first, present = numbers_of(FIRST), numbers_of(PRESENT)
        self.assertGreater(len(first), 50)
        for name, number in first.items():
            if name in ("BERTH_UPDATE", "BERTH_ALL_ACTIONS"):
                self.assertEqual(present[name] & number, number, name)
            else:
                self.assertEqual(present[name], number, name)

    def test_masks_include_what_comes(self):
        numbers = numbers_of(PRESENT)
        for bit in range(31):
            self.assertTrue(numbers["BERTH_ALL_ACTIONS"] >> bit & 1)
            self.assertEqual(numbers["BERTH_UPDATE"] >> bit & 1, bit > 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
