"""`berth cluster --data`, killed at any moment under load: every write that was acknowledged is there after a restart, and
a watch goes on where it was, with every change once, or gets 410.

BERTH_CLUSTER_KILLS=N: how often it is killed [3]."""
import http.client
import json
import os
import random
import tempfile
import threading
import time

import cli
import dev_cluster

KILLS = int(os.environ.get("BERTH_CLUSTER_KILLS", "3"))
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS, OBJECTS_MAX = 4, 20
GONE = (OSError, http.client.HTTPException, ValueError)


class Writer:
    """Objects that only it writes. What it sent and was not acknowledged may have happened or not."""

    def __init__(self, number):
        self.number, self.made, self.count = number, 0, 0
        self.acknowledged = {}  # text by name
        self.maybe = {}  # of the write under way: its name, and the text or None for a deletion
        self.versions = set()  # of writes that were acknowledged, and not looked for yet

    def step(self, cluster, connection):
        names = list(self.acknowledged)
        choice = random.random()
        text = str(random.random()) + "x" * random.randrange(2000)
        if not names or (choice < 0.4 and len(names) < OBJECTS_MAX):
            self.made += 1
            name = "map-%d-%d" % (self.number, self.made)
            method, path, want = "POST", CONFIG_MAPS, 201
        else:
            name = random.choice(names)
            method, path, want = ("PUT" if choice < 0.85 else "DELETE"), CONFIG_MAPS + "/" + name, 200
        body = None if method == "DELETE" else {"metadata": {"name": name}, "data": {"text": text}}
        self.maybe = {name: None if method == "DELETE" else text}
        status, answer = cluster.request(method, path, body, connection=connection)
        if status != want:
            raise AssertionError("%s %s: %s" % (method, name, answer))
        if method == "DELETE":
            del self.acknowledged[name]
        else:
            self.acknowledged[name] = text
            self.versions.add(int(answer["metadata"]["resourceVersion"]))
        self.maybe = {}
        self.count += 1

    def run(self, cluster, problems):
        connection = cluster.connect()
        try:
            while True:
                self.step(cluster, connection)
        except GONE:
            pass
        except AssertionError as err:
            problems.append(str(err))
        finally:
            connection.close()

    def settle(self, found):
        """Compares with what is there; the write that was under way is known then. Returns what is wrong."""
        for name, text in self.maybe.items():
            if found.get(name) == text:
                self.acknowledged.pop(name, None)
                if text is not None:
                    self.acknowledged[name] = text
        self.maybe = {}
        own = {name: text for name, text in found.items() if name.startswith("map-%d-" % self.number)}
        return [name for name in own.keys() | self.acknowledged.keys() if own.get(name) != self.acknowledged.get(name)]


class Watch:
    """Goes on behind the last revision that it has seen."""

    def __init__(self, revision):
        self.last, self.seen, self.known, self.expired = revision, set(), {}, 0

    def note(self, event, problems):
        if event["type"] == "ERROR":
            if event["object"]["code"] != 410:
                problems.append(str(event))
            self.expired += 1
            return
        meta = event["object"]["metadata"]
        revision = int(meta["resourceVersion"])
        if revision <= self.last:
            problems.append("revision %d came after %d" % (revision, self.last))
        if (meta["name"] in self.known) == (event["type"] == "ADDED"):
            problems.append("%s of %s at %d" % (event["type"], meta["name"], revision))
        self.last = revision
        self.seen.add(revision)
        if event["type"] == "DELETED":
            self.known.pop(meta["name"], None)
        else:
            self.known[meta["name"]] = event["object"]["data"]["text"]

    def run(self, cluster, problems, until=None):
        """Until the connection ends, or the revision is there."""
        connection = cluster.connect()
        try:
            connection.request("GET", "%s?watch=1&resourceVersion=%d" % (CONFIG_MAPS, self.last), headers=cluster.headers())
            answer = connection.getresponse()
            while until is None or (self.last < until and not self.expired):
                line = answer.readline()
                if not line.endswith(b"\n"):
                    break
                self.note(json.loads(line), problems)
        except GONE:
            pass
        finally:
            connection.close()


class Kills(cli.Case):
    def found(self):
        status, answer = self.cluster.request("GET", CONFIG_MAPS)
        self.assertEqual(status, 200)
        texts = {item["metadata"]["name"]: item["data"]["text"] for item in answer["items"] if "text" in item.get("data", {})}
        return texts, int(answer["metadata"]["resourceVersion"])

    def load_and_kill(self):
        problems = []
        threads = [threading.Thread(target=writer.run, args=(self.cluster, problems)) for writer in self.writers]
        threads.append(threading.Thread(target=self.watch.run, args=(self.cluster, problems)))
        for thread in threads:
            thread.start()
        while not any(writer.count for writer in self.writers) and self.cluster.is_alive() and not problems:
            time.sleep(0.01)
        time.sleep(random.random() ** 2)
        self.cluster.kill()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def check(self):
        texts, revision = self.found()
        for writer in self.writers:
            self.assertEqual(writer.settle(texts), [])
            self.assertLessEqual(max(writer.versions, default=0), revision)
        problems = []
        status, marker = self.cluster.request("POST", CONFIG_MAPS, {"metadata": {"generateName": "marker-"}, "data": {"text": ""}})
        self.assertEqual(status, 201)
        self.watch.run(self.cluster, problems, until=int(marker["metadata"]["resourceVersion"]))
        self.assertEqual(problems, [])
        texts, revision = self.found()
        if self.watch.expired:
            self.expired += 1
            self.watch = Watch(revision)
            self.watch.known = texts
        else:
            self.assertEqual(self.watch.known, texts)
            for writer in self.writers:
                self.assertEqual(writer.versions - self.watch.seen, set())
        for writer in self.writers:
            writer.versions = set()
        self.watch.seen = set()

    def test_kills(self):
        with tempfile.TemporaryDirectory() as folder:
            self.cluster = dev_cluster.Cluster(folder, "--nodes", "1", "--data", os.path.join(folder, "cluster.db"))
            self.addCleanup(lambda: self.cluster.is_alive() and self.cluster.kill())
            self.writers = [Writer(i) for i in range(WRITERS)]
            texts, revision = self.found()
            self.watch, self.expired = Watch(revision), 0
            self.watch.known = texts
            for _ in range(KILLS):
                self.load_and_kill()
                self.cluster.start()
                self.check()
            self.assertEqual(self.cluster.stop(), 0, self.cluster.printed())
            count = sum(writer.count for writer in self.writers)
            print("%d kills, %d writes acknowledged, %d watches got 410" % (KILLS, count, self.expired))
            self.assertGreater(count, 0)


if __name__ == "__main__":
    cli.main()
