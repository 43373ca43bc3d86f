"""The image: its root file system is complete, so the program and a plugin run in it; and it is what its manifest says."""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import cli  # noqa: E402

IMAGE = os.path.join(ROOT, "packaging", "image")
SIZE_MAX = 60e6  # of the unpacked layer; docs/INSTALL.md has the size that was measured
PLUGIN = "/usr/local/lib/berth/plugins/gang.so"
STRATEGIES = "/usr/local/lib/berth/strategies"


def enter(root):
    """The beginning of a command line that runs a program with another root, or None."""
    for start in (["chroot", root], ["unshare", "--user", "--map-root-user", "chroot", root]):
        if subprocess.run([*start, "/usr/local/bin/berth", "version"], capture_output=True, check=False).returncode == 0:
            return start
    return None


@unittest.skipIf(cli.sanitized(), "a sanitized program needs more than the image has")
@unittest.skipUnless(shutil.which("cc"), "there is no cc here")
class Image(cli.Case):
    @classmethod
    def setUpClass(cls):
        cls.made = cli.tempfile.TemporaryDirectory()
        place = cls.made.name
        installed = os.path.join(place, "installed", "usr", "local", "bin")
        os.makedirs(installed)
        shutil.copy(cli.BERTH, installed)
        shutil.copytree(os.path.join(os.environ.get("BUILD", "build"), "strategies"),
                        os.path.join(place, "installed", STRATEGIES.lstrip("/")), symlinks=True,
                        ignore=shutil.ignore_patterns("*.p"))
        subprocess.run(["cc", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "include"), "-o", place + "/gang.so",
                        os.path.join(ROOT, "examples", "plugins", "gang.c")], check=True)
        subprocess.run([IMAGE + "/rootfs", os.path.join(place, "installed"), place + "/rootfs", place + "/gang.so"], check=True)
        cls.config, cls.root = cls.unpack(cls.pack(place + "/rootfs"))

    @classmethod
    def pack(cls, root):
        with open(root + ".tar", "wb") as file:
            subprocess.run([IMAGE + "/oci", root, "registry.example.com/berth:0.1.0", "1700000000"], stdout=file, stderr=subprocess.DEVNULL, check=True)
        return root + ".tar"

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    @classmethod
    def unpack(cls, image):
        """The configuration, after all digests were checked, and the root file system, as a runtime would unpack it."""
        layout, root = cls.made.name + "/layout", cls.made.name + "/root"
        with tarfile.open(image) as archive:
            archive.extractall(layout)

        def blob(descriptor):
            with open(os.path.join(layout, "blobs", *descriptor["digest"].split(":")), "rb") as file:
                content = file.read()
            assert descriptor["digest"] == "sha256:" + hashlib.sha256(content).hexdigest()
            assert descriptor["size"] == len(content)
            return content

        with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
            index = json.load(file)
        assert set(index["manifests"][0]["annotations"].values()) == {"registry.example.com/berth:0.1.0"}
        manifest = json.loads(blob(index["manifests"][0]))
        config = json.loads(blob(manifest["config"]))
        layer = gzip.decompress(blob(manifest["layers"][0]))
        assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
        assert len(layer) < SIZE_MAX, "the image has %d bytes" % len(layer)
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            archive.extractall(root)
        return config, root

    def test_same_bytes(self):
        """Of the same files, written in another order at another time."""
        sums = set()
        for place, names in (("one", "abc"), ("two", "cab")):
            for name in names:
                self.write(place + "/etc/" + name, name)
            os.symlink("a", self.path(place + "/etc/link"))
            with open(self.pack(self.path(place)), "rb") as file:
                sums.add(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(len(sums), 1)

    def test_it_runs(self):
        config, root = self.config, self.root
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/local/bin/kube-scheduler"])
        start = enter(root)
        if not start:
            self.skipTest("neither chroot nor a user namespace is permitted here")
        for name in ("cluster.yaml", "workloads.yaml"):
            shutil.copy(os.path.join(ROOT, "examples", name), root + "/tmp")
        shutil.copy(os.path.join(ROOT, "examples", "plugins", "gang.yaml"), root + "/tmp")
        shutil.copy(os.path.join(ROOT, "deploy", "with-plugin", "scheduler.yaml"), root + "/tmp")

        def run(*command):
            done = subprocess.run([*start, *command], capture_output=True, check=False, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        self.assertRegex(run(*config["config"]["Entrypoint"], "--version"), r"^Kubernetes v1\.\d+\.\d+\+berth")
        report = run("/usr/local/bin/berth", "simulate", "-f", "/tmp/cluster.yaml", "-f", "/tmp/workloads.yaml", "--config",
                     "/tmp/gang.yaml", "--plugin", PLUGIN, "-o", "json", "--no-timing")
        self.assertTrue(json.loads(report)["placements"])
        run("/usr/local/bin/kube-scheduler", "--config=/tmp/scheduler.yaml", "--master=https://127.0.0.1:1",
            "--plugin=" + PLUGIN, "--write-config-to=/tmp/written")
        with open(root + "/tmp/written", encoding="utf-8") as file:
            self.assertIn("- name: Gang", file.read())

    def test_strategies(self):
        """Each is there, and runs in the image; aliases are links."""
        names = sorted(os.listdir(self.root + STRATEGIES))
        self.assertIn("NodeMetadata.so", names)
        self.assertEqual(os.readlink(self.root + STRATEGIES + "/GpuPriority.so"), "GPUPriorityPlugin.so")
        start = enter(self.root)
        if not start:
            self.skipTest("neither chroot nor a user namespace is permitted here")
        shutil.copy(os.path.join(ROOT, "examples", "cluster.yaml"), self.root + "/tmp")
        for name in names:
            config = os.path.join(ROOT, "examples", "strategies", name.replace(".so", ".yaml"))
            if not os.path.exists(config):
                continue
            shutil.copy(config, self.root + "/tmp/strategy.yaml")
            with open(config, encoding="utf-8") as file:
                used = set(re.findall(r"name: (\w+)", file.read())) | {name.replace(".so", "")}
            plugins = ["--plugin=%s/%s.so" % (STRATEGIES, one) for one in sorted(used) if one + ".so" in names]
            done = subprocess.run([*start, "/usr/local/bin/berth", "simulate", "-f", "/tmp/cluster.yaml", "--config",
                                   "/tmp/strategy.yaml", *plugins], capture_output=True, check=False, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_nothing_is_missing_and_there_is_no_shell(self):
        root = self.root
        for name in ("berth", "kube-scheduler"):
            self.assertTrue(os.path.exists(os.path.join(root, "usr/local/bin", name)))
        self.assertFalse(os.path.exists(root + "/bin/sh"))
        self.assertTrue(os.path.getsize(root + "/etc/ssl/certs/ca-certificates.crt"))
        libraries = subprocess.run(["ldd", cli.BERTH], capture_output=True, check=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(", libraries):
            self.assertTrue(os.path.exists(root + library), library)

    def test_the_plugin_is_where_the_manifest_loads_it(self):
        with open(os.path.join(ROOT, "deploy", "with-plugin", "kustomization.yaml"), encoding="utf-8") as file:
            self.assertIn("--plugin=" + PLUGIN, file.read())
        with open(os.path.join(IMAGE, "Containerfile.plugin"), encoding="utf-8") as file:
            self.assertIn(PLUGIN, file.read())


if __name__ == "__main__":
    cli.main()
