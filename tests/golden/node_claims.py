#!/usr/bin/env python3
"""Random cases about devices that take some of a node's own resources (gate DRANodeAllocatableResources).

usage: node_claims.py --release 1.MINOR --seed N --count N FOLDER

Writes the input of cases: objects and a pending pod, without what kube-scheduler says about it. The two releases have
different fields for what a device takes, and for what a pod's status says about it.
"""
import argparse
import json
import os
import random

DRIVERS = ["cpu.example.com", "gpu.example.com"]
NAMESPACE = "default"


def meta(name, **more):
    return dict({"name": name, "namespace": NAMESPACE, "uid": "uid-" + name}, **more)


class Cluster:
    def __init__(self, rng, release):
        self.rng, self.divided = rng, release != "1.36"
        self.objects, self.devices = [], []
        self.extended = None  # a resource that devices stand for

    def maybe(self, share):
        return self.rng.random() < share

    # ---- nodes and slices ----

    def add_node(self, name):
        huge = self.maybe(0.7)
        allocatable = {"cpu": self.rng.choice(["4", "6500m", "8", "16", "32"]), "pods": "20",
                       "memory": self.rng.choice(["8Gi", "17Gi", "20000M", "64Gi"]),
                       "ephemeral-storage": self.rng.choice(["10Gi", "20Gi"])}
        if huge:
            allocatable["hugepages-2Mi"] = self.rng.choice(["64Mi", "1Gi"])
        self.objects.append({"apiVersion": "v1", "kind": "Node",
                             "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name,
                                                                   "zone": self.rng.choice("ab")}},
                             "status": {"allocatable": allocatable, "capacity": allocatable}})

    def amount(self, resource):
        if resource == "cpu":
            return self.rng.choice(["1", "2", "500m", "1500m", "0.25", "3", "100u"])
        if resource == "hugepages-2Mi":
            return self.rng.choice(["2Mi", "32Mi", "64Mi", "0"])
        return self.rng.choice(["1Gi", "512Mi", "2Gi", "1500M", "3Gi", "100M", "1e9"])

    def multiplier(self):
        return self.rng.choice(["1", "2", "500m", "1Ki", "3", "0.1"])

    def resources(self):
        names = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi"]
        return self.rng.sample(names, self.rng.choice([1, 1, 2, 3]))

    def taken_total(self, capacity):
        taken = {}
        for resource in self.resources():
            entry = {}
            if capacity and self.maybe(0.7):
                entry["capacityKey"] = self.rng.choice(capacity)
                if self.maybe(0.6):
                    entry["allocationMultiplier"] = self.multiplier()
            elif self.maybe(0.9):
                entry["allocationMultiplier"] = self.amount(resource)
            taken[resource] = entry
        return {"nodeAllocatableResourceMappings": taken}

    def taken_divided(self, capacity):
        taken = {}
        for resource in self.resources():
            entry = {}
            if self.maybe(0.6):
                if capacity and self.maybe(0.7):
                    entry["mapping"] = {"capacityKey": self.rng.choice(capacity),
                                        "capacityMultiplier": self.multiplier()}
                else:
                    entry["mapping"] = {"deviceMultiplier": self.amount(resource)}
            if not entry or self.maybe(0.3):
                overhead = {}
                if self.maybe(0.6):
                    overhead["perPod"] = self.amount(resource)
                if not overhead or self.maybe(0.5):
                    overhead["perContainer"] = self.amount(resource)
                entry["overhead"] = overhead
            taken[resource] = entry
        return {"nodeAllocatableResources": taken}

    def device(self, name):
        device = {"name": name, "attributes": {"kind": {"string": self.rng.choice(["a", "b"])}}}
        capacity = []
        if self.maybe(0.4):
            device["allowMultipleAllocations"] = True
            capacity = ["cores", "ram"]
            device["capacity"] = {"cores": {"value": "8", "requestPolicy": {
                                      "default": "1", "validRange": {"min": "1", "step": "1", "max": "8"}}},
                                  "ram": {"value": "8Gi"}}
        if self.maybe(0.8):
            keys = list(capacity)
            if self.maybe(0.03):
                keys = ["cores"]  # of a device without capacity: an error
                device.setdefault("capacity", {"cores": {"value": "4"}})
            device.update(self.taken_divided(keys) if self.divided else self.taken_total(keys))
        return device

    def add_slices(self, nodes):
        for driver in DRIVERS:
            spec = {"selectors": [{"cel": {"expression": 'device.driver == "%s"' % driver}}]}
            if driver == DRIVERS[1] and self.maybe(0.25):
                spec["extendedResourceName"] = self.extended = "example.com/gpu"
            self.objects.append({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
                                 "metadata": {"name": driver}, "spec": spec})
            for node in nodes:
                if self.maybe(0.8):
                    self.add_slice(driver, "%s-%s" % (driver.split(".")[0], node), {"nodeName": node}, [node])
            if self.maybe(0.15):
                self.add_slice(driver, "%s-all" % driver.split(".")[0], {"allNodes": True}, nodes)
            if self.maybe(0.15):
                self.add_slice(driver, "%s-each" % driver.split(".")[0], {"perDeviceNodeSelection": True}, nodes)

    def add_slice(self, driver, pool, where, nodes):
        devices = [self.device("dev-%d" % i) for i in range(self.rng.randint(1, 4))]
        for device in devices:
            at = nodes
            if "perDeviceNodeSelection" in where:
                at = [self.rng.choice(nodes)]
                device["nodeName"] = at[0]
            self.devices.append((driver, pool, device, at, "nodeName" in where))
        self.objects.append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
                             "metadata": {"name": pool + "-slice"},
                             "spec": dict({"driver": driver, "devices": devices, "pool": {
                                 "name": pool, "generation": 1, "resourceSliceCount": 1}}, **where)})

    # ---- claims ----

    def request(self, name):
        exactly = {"deviceClassName": self.rng.choice(DRIVERS), "allocationMode": "ExactCount",
                   "count": self.rng.choice([1, 1, 1, 2])}
        if self.maybe(0.3):
            exactly["selectors"] = [{"cel": {"expression": 'device.attributes["%s"].kind == "a"'
                                             % exactly["deviceClassName"]}}]
        if self.maybe(0.3):
            exactly["capacity"] = {"requests": {"cores": self.rng.choice(["1", "2", "3"])}}
        return {"name": name, "exactly": exactly}

    def allocation(self, request):
        driver, pool, device, nodes, own = self.rng.choice(self.devices)
        result = {"request": request, "driver": driver, "pool": pool, "device": device["name"]}
        if device.get("allowMultipleAllocations"):
            result["shareID"] = "5f0f8c0e-0000-4000-8000-%012d" % self.rng.randrange(10 ** 9)
            result["consumedCapacity"] = {"cores": "2", "ram": "2Gi"}
        if self.maybe(0.04):
            result["device"] = "gone"
        allocation = {"devices": {"results": [result]}}
        if own or self.maybe(0.5):
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [self.rng.choice(nodes)]}]}]}
        return allocation

    def add_claim(self, name, pod, others):
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta(name),
                 "spec": {"devices": {"requests": [self.request("r%d" % i) for i in range(self.rng.choice([1, 1, 2]))]}}}
        if self.devices and self.maybe(0.4):
            status = claim["status"] = {"allocation": self.allocation("r0")}
            users = [one for one in [pod] if self.maybe(0.2)] + [one for one in others if self.maybe(0.25)]
            if users:
                status["reservedFor"] = [{"resource": "pods", "name": one, "uid": "uid-" + one} for one in users]
        self.objects.append(claim)

    # ---- pods ----

    def pod_status(self, claims, containers):
        statuses = []
        for claim in sorted(claims):
            status = {"resourceClaimName": claim, "containers": self.rng.sample(containers, self.rng.randint(0, len(containers)))}
            if not self.divided:
                status["resources"] = {name: self.amount(name) for name in self.resources()}
            else:
                if self.maybe(0.7):
                    status["mapping"] = [{"name": name, "quantity": self.amount(name)} for name in sorted(self.resources())]
                if "mapping" not in status or self.maybe(0.5):
                    status["overhead"] = [self.overhead(name) for name in sorted(self.resources())]
            statuses.append(status)
        return statuses

    def overhead(self, name):
        overhead = {"name": name}
        if self.maybe(0.6):
            overhead["perPod"] = self.amount(name)
        if len(overhead) == 1 or self.maybe(0.5):
            overhead["perContainer"] = self.amount(name)
        return overhead

    def container(self, name, claims, limits, level):
        resources = {}
        if self.maybe(0.7):
            resources["requests"] = {"cpu": self.rng.choice(["100m", "1", "250m"])}
            if self.maybe(0.5):
                resources["requests"]["memory"] = self.rng.choice(["128Mi", "1Gi"])
        if limits and self.maybe(0.7):
            resources["limits"] = {"cpu": self.rng.choice(["1", "3"]), "memory": self.rng.choice(["1Gi", "4Gi"])}
            resources.setdefault("requests", {}).setdefault("cpu", "100m")
            resources["requests"].setdefault("memory", "64Mi")
        if self.maybe(0.3 if level else 0.08):
            resources.setdefault("limits", {})["hugepages-2Mi"] = "2Mi"
            resources.setdefault("requests", {})["hugepages-2Mi"] = "2Mi"
            resources["requests"].setdefault("cpu", "100m")
        named = [{"name": claim} for claim in claims if self.maybe(0.7)]
        if named:
            resources["claims"] = named
        return {"name": name, "image": "img", "resources": resources}

    def add_pending(self, name, claims):
        level = self.maybe(0.35)
        spec = {"priority": 100, "containers": [self.container("c%d" % i, claims, level, level)
                                                for i in range(self.rng.randint(1, 3))]}
        if self.maybe(0.3):
            spec["initContainers"] = [self.container("i0", claims, False, level)]
            if self.maybe(0.5):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        if level:
            spec["resources"] = {"requests": {"cpu": self.rng.choice(["3", "4", "5"]), "memory": "5Gi"}}
            if self.maybe(0.7):
                spec["resources"]["limits"] = {"cpu": self.rng.choice([spec["resources"]["requests"]["cpu"], "6"]),
                                               "memory": self.rng.choice(["5Gi", "9Gi"])}
            if self.maybe(0.2) or '"hugepages' in json.dumps(spec):  # otherwise the API server adds some
                huge = self.rng.choice(["8Mi", "64Mi"])
                spec["resources"]["requests"]["hugepages-2Mi"] = huge
                spec["resources"].setdefault("limits", {})["hugepages-2Mi"] = huge
        if self.maybe(0.15):
            spec["overhead"] = {"cpu": "100m"}
        if self.extended and self.maybe(0.7):
            for kind in ("requests", "limits"):
                spec["containers"][0]["resources"].setdefault(kind, {})[self.extended] = "1"
        spec["resourceClaims"] = [{"name": "by-" + claim, "resourceClaimName": claim} for claim in claims]
        for container in spec["containers"] + spec.get("initContainers", []):
            for one in container["resources"].get("claims", []):
                one["name"] = "by-" + one["name"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name), "spec": spec, "status": {"phase": "Pending"}}
        if self.maybe(0.1):
            pod["status"]["nodeAllocatableResourceClaimStatuses"] = self.pod_status(claims, ["c0"])
        self.objects.append(pod)

    def add_running(self, name, node, claims):
        spec = {"nodeName": node, "priority": self.rng.choice([0, 0, 100]),
                "containers": [{"name": "c0", "image": "img", "resources": {"requests": {
                    "cpu": self.rng.choice(["100m", "1"]), "memory": "64Mi"}}}, {"name": "c1", "image": "img"}]}
        status = {"phase": "Running", "startTime": "2026-01-01T00:00:%02dZ" % self.rng.randint(0, 59)}
        if self.maybe(0.2):
            spec["resources"] = {"requests": {"cpu": "2"}}
        if self.maybe(0.2):
            status["containerStatuses"] = [{"name": "c0", "image": "img", "imageID": "img", "ready": True, "restartCount": 0,
                                            "allocatedResources": {"cpu": "1500m", "memory": "64Mi"},
                                            "resources": {"requests": {"cpu": self.rng.choice(["1", "2"]), "memory": "64Mi"}}}]
        if self.maybe(0.6):
            status["nodeAllocatableResourceClaimStatuses"] = self.pod_status(claims or ["other-" + name], ["c0", "c1"])
        self.objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta(name), "spec": spec, "status": status})


def make(rng, release):
    cluster = Cluster(rng, release)
    nodes = ["n%d" % i for i in range(rng.randint(2, 4))]
    for node in nodes:
        cluster.add_node(node)
    cluster.add_slices(nodes)
    running = ["run%d" % i for i in range(rng.randint(0, 6))]
    claims = ["claim%d" % i for i in range(rng.choice([1, 1, 2, 3]))]
    for claim in claims:
        cluster.add_claim(claim, "pending", running)
    for name in running:
        cluster.add_running(name, rng.choice(nodes), [claim for claim in claims if rng.random() < 0.2])
    cluster.add_pending("pending", claims)
    return cluster.objects


def main():
    parser = argparse.ArgumentParser(description="Write random cases about devices that take resources of their node.")
    parser.add_argument("--release", choices=["1.36", "1.37"], required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("folder")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for i in range(options.count):
        name = "nodeclaims-%d-%04d" % (options.seed, i)
        case = {"name": name, "config": None, "pod": "%s/pending" % NAMESPACE, "expect": {},
                "gates": "DRANodeAllocatableResources=true",
                "objects": make(random.Random("%s %d %d" % (options.release, options.seed, i)), options.release)}
        with open(os.path.join(options.folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(case, file, indent=1)


if __name__ == "__main__":
    main()
