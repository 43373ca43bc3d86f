"""The source tarball is the same whoever makes it, and the SBOM says what is in it and what the program is linked with."""
import hashlib
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

DIST = os.path.join(ROOT, "packaging", "dist")


def version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as file:
        text = file.read()
    return re.search(r"^    version: '(.+)'", text, re.M)[1], re.search(r"^released = '(.+)'", text, re.M)[1]


@unittest.skipUnless(shutil.which("git") and os.path.exists(os.path.join(ROOT, ".git")), "this is no clone of the repository")
class Tarball(cli.Case):
    @classmethod
    def setUpClass(cls):
        cls.out = cli.tempfile.TemporaryDirectory()
        cls.made = cls.run_in(ROOT, DIST, cls.out.name)
        with open(cls.made, "rb") as file:
            cls.content = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.out.cleanup()

    @staticmethod
    def run_in(folder, *command, **env):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True,
                              env={**os.environ, **env}).stdout.strip()

    def test_same_bytes(self):
        """In a clone with another path, other times and modes of files, and by a user with another mask, locale and zone."""
        clone = self.path("quite another/path")
        self.run_in("/", "git", "-c", "safe.directory=*", "clone", "-q", "--depth=1", "file://" + ROOT, clone)
        os.utime(os.path.join(clone, "Makefile"), (0, 0))
        os.chmod(os.path.join(clone, "README.md"), 0o600)
        with open(os.path.join(clone, "left-over"), "w", encoding="utf-8") as file:
            file.write("not committed")
        made = self.run_in(clone, "sh", "-c", "umask 077; exec packaging/dist out", TZ="Asia/Kolkata", LC_ALL="C")
        with open(os.path.join(clone, made), "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).hexdigest(), hashlib.sha256(self.content).hexdigest())

    def test_what_is_in_it(self):
        made = self.made
        self.assertEqual(os.path.basename(made), "berth-%s.tar.gz" % version()[0])
        with tarfile.open(made) as archive:
            members = archive.getmembers()
        names = [member.name for member in members]
        self.assertEqual(names, sorted(names))
        self.assertEqual({member.uid for member in members} | {member.gid for member in members}, {0})
        self.assertEqual({member.mode for member in members}, {0o644, 0o755})
        committed = self.run_in(ROOT, "git", "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")
        prefix = "berth-%s/" % version()[0]
        self.assertEqual(sorted(names), sorted(prefix + name for name in committed if name))

    @unittest.skipUnless(shutil.which("dpkg") and shutil.which("readelf"), "no dpkg or no readelf here")
    def test_sbom(self):
        made = self.made
        sbom = os.path.join(ROOT, "packaging", "sbom")
        text = self.run_in(ROOT, sbom, made, cli.BERTH)
        self.assertEqual(text, self.run_in("/", sbom, os.path.join(ROOT, made), os.path.abspath(cli.BERTH)))
        document = json.loads(text)
        self.assertEqual((document["spdxVersion"], document["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        source = document["packages"][0]
        self.assertIn({"algorithm": "SHA256", "checksumValue": hashlib.sha256(self.content).hexdigest()}, source["checksums"])
        files = {file["fileName"]: file for file in document["files"]}
        with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
            license_sum = hashlib.sha256(file.read()).hexdigest()
        self.assertEqual(files["./LICENSE"]["checksums"][1]["checksumValue"], license_sum)
        with tarfile.open(made) as archive:
            self.assertEqual(len(files), len(archive.getmembers()))
        linked = {row["relatedSpdxElement"] for row in document["relationships"] if row["relationshipType"] == "DYNAMIC_LINK"}
        by_id = {package["SPDXID"]: package for package in document["packages"]}
        names = {by_id[key]["name"] for key in linked}
        for part in ("libc6", "libcurl4", "libsqlite3", "libyaml", "libyyjson", "libnghttp2", "libssl", "zlib1g"):
            self.assertTrue(any(name.startswith(part) for name in names), (part, names))
        for key in linked:
            installed = self.run_in("/", "dpkg-query", "-W", "-f", "${Version}\n", by_id[key]["name"])
            self.assertIn(by_id[key]["versionInfo"], installed.splitlines())


class Version(cli.Case):
    """One version everywhere."""

    def read(self, *names):
        with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
            return file.read()

    def test_changelog(self):
        newest = re.search(r"^## (\S+) \((\S+)\)$", self.read("CHANGELOG.md"), re.M)
        self.assertEqual(newest.groups(), version())

    def test_manifests(self):
        """The images of the bases that run berth have the tag of this version; other bases name no image."""
        deploy, images = os.path.join(ROOT, "deploy"), 0
        for folder in os.listdir(deploy):
            if not os.path.isdir(os.path.join(deploy, folder)):
                continue
            manifests = [name for name in os.listdir(os.path.join(deploy, folder)) if name.endswith(".yaml")]
            runs = any(re.search(r"^ *(- )?image: ", self.read("deploy", folder, name), re.M) for name in manifests)
            tags = re.findall(r"newTag: (\S+)", self.read("deploy", folder, "kustomization.yaml"))
            self.assertEqual(set(tags), {version()[0]} if runs or tags else set(), folder)
            images += len(tags)
        self.assertGreaterEqual(images, 3)

    def test_libraries_of_the_debian_package(self):
        """Its Build-Depends has every library that the build needs."""
        control = self.read("packaging", "debian", "control").split("\n\n")[0]
        libraries = re.findall(r"^build (lib\S+-dev|zlib1g-dev) ", self.read("tools", "install-deps"), re.M)
        self.assertIn("libyaml-dev", libraries)
        for library in libraries:
            if library != "libc6-dev":  # is essential for building
                self.assertIn(" " + library, control)

    def test_program(self):
        self.assertTrue(self.berth("version").out.startswith("berth %s " % version()[0]))

    def test_documents(self):
        for path in (("docs", "INSTALL.md"), ("packaging", "image", "Containerfile"),
                     ("packaging", "image", "Containerfile.plugin")):
            found = re.findall(r"registry\.example\.com/berth[-\w]*:([\d.]*\d)", self.read(*path))
            self.assertEqual(set(found) or {version()[0]}, {version()[0]}, path)


if __name__ == "__main__":
    cli.main()
