"""Files that a running scheduler reads again, on a mount that hangs (hanging_files.c) or replaced by something that
cannot be read. It goes on with what it had, says so, and ends when it is told to."""
import contextlib
import http.client
import os
import ssl
import unittest

import live

HANGING_FILES = os.environ.get("HANGING_FILES", "build/tests/cli/hanging_files.so")


class Files(live.Live):
    tls = True

    def setUp(self):
        super().setUp()
        self.cert, self.key = live.make_pair(self.folder.name, "serving")
        self.ca, _ = live.make_pair(self.folder.name, "clients")
        self.proxy_ca, _ = live.make_pair(self.folder.name, "proxies")
        self.token = self.write("token", "t")
        self.write_kubeconfig({"tokenFile": self.token})

    def start_all(self):
        """With every kind of file that is read again."""
        self.environment = {**os.environ, "LD_PRELOAD": HANGING_FILES,
                            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        process = self.start("--tls-cert-file", self.cert, "--tls-private-key-file", self.key,
                             "--client-ca-file", self.ca, "--requestheader-client-ca-file", self.proxy_ca,
                             "--authentication-skip-lookup",
                             "--authorization-always-allow-paths=/healthz,/livez,/readyz,/readyz/*,/metrics")
        self.wait_for_line("Successfully acquired lease")
        self.wait_for(lambda: self.get("/readyz")[0] == 200)
        return process

    def get(self, path):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30,
                                                 context=ssl._create_unverified_context())
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def hang(self, path):
        os.mkfifo(path + ".hangs")

    def opens(self, path):
        with contextlib.suppress(FileNotFoundError):
            return os.path.getsize(path + ".opens")
        return 0

    def release(self, path):
        fifo = os.open(path + ".hangs", os.O_WRONLY)
        os.remove(path + ".hangs")
        os.close(fifo)

    def assert_alive(self):
        for page in ("/healthz", "/livez"):
            self.assertEqual(self.get(page), (200, "ok"))

    def wait_for_failing(self, *names):
        def failing():
            status, text = self.get("/readyz")
            return status == 500 and all("[-]%s failed" % name in text for name in names)
        self.wait_for(failing, "/readyz does not name " + ", ".join(names))

    def usable(self):
        lines = [line.split(" ") for line in self.get("/metrics")[1].splitlines()]
        return {line[0].split('"')[1]: int(line[1]) for line in lines if line[0].startswith("berth_credential_usable{")}

    def test_hanging_files(self):
        process = self.start_all()
        self.assertEqual(set(self.usable().values()), {1})
        self.assertNotIn("credential", self.get("/readyz?verbose")[1])
        files = [self.cert, self.ca, self.token]
        for path in files:
            self.hang(path)
        self.api.unauthorized = True  # the token is read again soon
        self.wait_for(lambda: all(self.opens(path) for path in files), "the files are not read again")
        self.assert_alive()
        self.wait_for_failing("serving-certificate", "client-ca", "api-credentials")
        self.assert_alive()
        self.assertEqual(self.usable(), {"serving-certificate": 0, "client-ca": 0, "api-credentials": 0})
        self.assertIn(self.ca + ": reading it takes longer than", self.get("/readyz/client-ca")[1])
        # What hangs is not opened again.
        self.assertEqual([self.opens(path) for path in files], [1, 1, 1])
        # The other file of the same set is read nevertheless.
        os.replace(self.cert, self.proxy_ca)
        os.symlink(self.proxy_ca, self.cert)
        for path in files[:2]:
            self.release(path)
        self.wait_for(lambda: self.usable()["serving-certificate"] and self.usable()["client-ca"])
        for line in ("The serving certificate can be read again", "The certificate authorities can be read again"):
            self.assertEqual(self.log().count(line), 1)
        for line in ("Cannot reload the serving certificate", "Cannot read a certificate authority"):
            self.assertEqual(self.log().count(line), 1, self.log())
        # The token still hangs.
        self.assertEqual(self.end(process), 0)

    def test_hanging_configuration(self):
        process = self.start_all()
        self.hang(self.path("scheduler.yaml"))
        self.wait_for(lambda: self.opens(self.path("scheduler.yaml")), "it is not read again")
        self.assert_alive()
        self.wait_for_line("Configuration file cannot be read, nothing changes")
        self.assertEqual(self.get("/readyz")[0], 200)
        self.assertEqual(self.end(process), 0)

    def test_replaced_by_fifos(self):
        process = self.start_all()
        for path in (self.key, self.proxy_ca):
            os.remove(path)
            os.mkfifo(path)
        self.wait_for_failing("serving-certificate", "client-ca")
        self.assertIn(self.key + ": is not a regular file", self.get("/readyz/serving-certificate")[1])
        self.assert_alive()
        self.assertEqual(self.end(process), 0)

    def test_a_certificate_that_is_wrong(self):
        process = self.start_all()
        _, other_key = live.make_pair(self.folder.name, "other")
        os.replace(other_key, self.key)
        self.wait_for_failing("serving-certificate")
        self.assertIn("does not belong to the certificate", self.get("/readyz/serving-certificate")[1])
        self.assert_alive()
        self.assertEqual(self.end(process), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
