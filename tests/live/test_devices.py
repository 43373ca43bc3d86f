"""Devices of dynamic resource allocation: they are allocated before the pod is bound, and kept for it."""
from case import Case, main

DRIVER = "gpu.example.com"
VERSION = "resource.k8s.io/v1"


class Devices(Case):
    def device_class(self, name="live-gpu", expression='device.driver == "%s"' % DRIVER):
        self.create({"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": name},
                     "spec": {"selectors": [{"cel": {"expression": expression}}]}})

    def publish(self, where, count=1, **attributes):
        """The devices of a node."""
        devices = [{"name": "device-%d" % i} for i in range(count)]
        for device in devices:
            if attributes:
                device["attributes"] = attributes
        self.create({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": "live-" + where}, "spec": {
            "driver": DRIVER, "nodeName": where, "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
            "devices": devices}})

    def claim(self, name, expression=None, **more):
        exactly = {"deviceClassName": "live-gpu", **more}
        if expression:
            exactly["selectors"] = [{"cel": {"expression": expression}}]
        self.create({"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": {"name": name},
                     "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}})

    def user(self, name, claim, **more):
        """A pod that uses a claim."""
        return self.pod(name, resourceClaims=[{"name": "device", "resourceClaimName": claim}],
                        containers=[{"name": "c", "image": "i", "resources": {"claims": [{"name": "device"}]}}], **more)

    def allocated(self, claim):
        """The nodes and devices of a claim, sorted."""
        results = self.get("ResourceClaim", claim)["status"]["allocation"]["devices"]["results"]
        return sorted((row["pool"], row["device"]) for row in results)

    def test_a_device_is_allocated(self):
        self.nodes(3)
        self.device_class()
        self.publish("node-1")
        self.claim("gpu")
        self.claim("second")
        self.start()
        web = self.user("web", "gpu")
        self.bound_to("web", "node-1")
        self.assertEqual(self.allocated("gpu"), [("node-1", "device-0")])
        status = self.get("ResourceClaim", "gpu")["status"]
        self.assertEqual([(row["resource"], row["name"], row["uid"]) for row in status["reservedFor"]],
                         [("pods", "web", web["metadata"]["uid"])])
        # There is only one. When another is published, the waiting pod gets it.
        self.user("next", "second")
        self.rejected("next", "0/3 nodes are available: 3 cannot allocate all claims.")
        self.publish("node-2")
        self.bound_to("next", "node-2")
        self.assertEqual(self.allocated("second"), [("node-2", "device-0")])

    def test_several_devices(self):
        self.nodes(2)
        self.device_class()
        self.publish("node-0", 1)
        self.publish("node-1", 2)
        self.claim("two", count=2)
        self.start()
        self.user("web", "two")
        self.bound_to("web", "node-1")
        self.assertEqual(self.allocated("two"), [("node-1", "device-0"), ("node-1", "device-1")])

    def test_a_selector(self):
        self.nodes(2)
        self.device_class()
        self.publish("node-0", model={"string": "small"})
        self.publish("node-1", model={"string": "large"})
        self.claim("gpu", 'device.attributes["%s"].model == "large"' % DRIVER)
        self.start()
        self.user("web", "gpu")
        self.bound_to("web", "node-1")

    def test_a_claim_that_does_not_exist_yet(self):
        self.nodes(1)
        self.device_class()
        self.publish("node-0")
        self.start()
        self.user("web", "gpu")
        self.seen()
        self.pending("web")
        self.claim("gpu")
        self.bound_to("web", "node-0")

    def test_a_device_that_is_free_again(self):
        self.nodes(1)
        self.device_class()
        self.publish("node-0")
        self.claim("first")
        self.claim("second")
        self.start()
        self.user("web", "first")
        self.bound_to("web", "node-0")
        self.user("next", "second")
        self.rejected("next", "0/1 nodes are available: 1 cannot allocate all claims.")
        self.remove("Pod", "web")
        claim = self.get("ResourceClaim", "first")  # the controller of claims deallocates it
        claim["status"] = {}
        self.api.replace_status(claim)
        self.bound_to("next", "node-0")
        self.assertEqual(self.allocated("second"), [("node-0", "device-0")])

    def test_pods_that_share_a_claim(self):
        self.nodes(2)
        self.device_class()
        self.publish("node-1")
        self.claim("gpu")
        self.start()
        for name in "first", "second":
            self.user(name, "gpu")
        self.assertEqual(set(self.all_bound(["first", "second"]).values()), {"node-1"})
        status = self.get("ResourceClaim", "gpu")["status"]
        self.assertEqual(sorted(row["name"] for row in status["reservedFor"]), ["first", "second"])


if __name__ == "__main__":
    main()
