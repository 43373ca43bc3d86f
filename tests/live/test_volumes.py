"""Pods and their volumes. There are no controllers: the tests play that of claims, and provisioners."""
from case import Case, main, node

ZONE = "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Volumes(Case):
    def storage_class(self, name, provisioner=NO_PROVISIONER, mode="WaitForFirstConsumer"):
        self.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
                     "provisioner": provisioner, "volumeBindingMode": mode})

    def claim(self, name, storage_class, volume=None):
        """With a volume, it is bound to it."""
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                "resources": {"requests": {"storage": "1Gi"}}}
        self.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec})
        if volume:
            self.bind(name, volume)

    def volume(self, name, storage_class, key, value, claim=None):
        """One that nodes with this label can use."""
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "capacity": {"storage": "1Gi"},
                "persistentVolumeReclaimPolicy": "Retain", "csi": {"driver": "csi.example.com", "volumeHandle": name},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}}}
        if claim:
            found = self.get("PersistentVolumeClaim", claim)
            spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": self.namespace,
                                "name": claim, "uid": found["metadata"]["uid"]}
        self.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
        self.patch("PersistentVolume", name, {"status": {"phase": "Bound" if claim else "Available"}}, "status")

    def bind(self, claim, volume):
        """As the controller does when a claim has a volume."""
        self.patch("PersistentVolumeClaim", claim, {
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": volume}})
        self.patch("PersistentVolumeClaim", claim, {"status": {"phase": "Bound"}}, "status")

    def user(self, name, *claims, **more):
        """A pod that uses claims."""
        return self.pod(name, volumes=[{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims],
                        **more)

    def chosen_node(self, claim):
        """The node that the scheduler has chosen for the volume of a claim."""
        return self.wait("a node is chosen for %s" % claim, lambda: self.get("PersistentVolumeClaim", claim)["metadata"].get(
            "annotations", {}).get(SELECTED))

    def test_a_volume_of_a_node_is_taken(self):
        self.nodes(3)
        self.storage_class("live-local")
        self.claim("data", "live-local")
        self.volume("live-disk", "live-local", "kubernetes.io/hostname", "node-2")
        self.start()
        self.user("web", "data")
        reference = self.wait("the volume is reserved", lambda: self.get("PersistentVolume", "live-disk")["spec"].get(
            "claimRef"), "web")
        self.assertEqual((reference["namespace"], reference["name"]), (self.namespace, "data"))
        self.pending("web")  # it waits until the claim is bound
        self.bind("data", "live-disk")
        self.bound_to("web", "node-2")

    def test_a_volume_is_provisioned(self):
        self.nodes(2)
        self.storage_class("live-later", "live.example.com")
        self.claim("data", "live-later")
        self.start()
        self.user("web", "data")
        chosen = self.chosen_node("data")
        self.pending("web")
        self.volume("live-made", "live-later", "kubernetes.io/hostname", chosen, claim="data")
        self.bind("data", "live-made")
        self.bound_to("web", chosen)
        self.user("next", "data")  # tied to the node of the volume
        self.bound_to("next", chosen)

    def test_provisioning_fails_once(self):
        self.nodes(1)
        self.storage_class("live-later", "live.example.com")
        self.claim("data", "live-later")
        self.start()
        self.user("web", "data")
        self.chosen_node("data")
        self.patch("PersistentVolumeClaim", "data", {"metadata": {"annotations": {SELECTED: None}}})
        self.assertEqual(self.chosen_node("data"), "node-0")
        self.volume("live-made", "live-later", "kubernetes.io/hostname", "node-0", claim="data")
        self.bind("data", "live-made")
        self.bound_to("web", "node-0")

    def test_a_missing_claim(self):
        self.nodes(1)
        self.storage_class("live-local")
        self.start()
        self.user("web", "data")
        self.rejected("web", 'persistentvolumeclaim "data" not found')
        self.volume("live-disk", "live-local", "kubernetes.io/hostname", "node-0")
        self.claim("data", "live-local")
        self.wait("the volume is reserved", lambda: self.get("PersistentVolume", "live-disk")["spec"].get("claimRef"), "web")
        self.bind("data", "live-disk")
        self.bound_to("web", "node-0")

    def test_the_zone_of_a_bound_volume(self):
        for i in range(3):
            self.create(node("node-%d" % i, labels={ZONE: "zone-%d" % i}))
        self.storage_class("live-zoned", "live.example.com", "Immediate")
        self.claim("data", "live-zoned")
        self.volume("live-disk", "live-zoned", ZONE, "zone-1", claim="data")
        self.bind("data", "live-disk")
        self.start()
        self.user("web", "data")
        self.bound_to("web", "node-1")
        self.user("elsewhere", "data", nodeSelector={ZONE: "zone-2"})
        self.rejected("elsewhere", "0/3 nodes are available: ")
        self.pending("elsewhere")

    def test_a_claim_that_is_not_bound(self):
        self.nodes(1)
        self.storage_class("live-now", "live.example.com", "Immediate")
        self.claim("data", "live-now")
        self.start()
        self.user("web", "data")
        self.rejected("web", "pod has unbound immediate PersistentVolumeClaims")
        self.volume("live-disk", "live-now", "kubernetes.io/hostname", "node-0", claim="data")
        self.bind("data", "live-disk")
        self.bound_to("web", "node-0")

    def test_no_volume_is_left(self):
        self.nodes(1)
        self.storage_class("live-local")
        self.claim("one", "live-local")
        self.claim("two", "live-local")
        self.volume("live-disk", "live-local", "kubernetes.io/hostname", "node-0")
        self.start()
        self.user("first", "one")
        self.wait("the volume is reserved", lambda: self.get("PersistentVolume", "live-disk")["spec"].get("claimRef"), "first")
        self.bind("one", "live-disk")
        self.bound_to("first", "node-0")
        self.user("second", "two")
        self.rejected("second", "1 node(s) didn't find available persistent volumes to bind")
        self.volume("live-disk-2", "live-local", "kubernetes.io/hostname", "node-0")
        self.wait("the volume is reserved", lambda: self.get("PersistentVolume", "live-disk-2")["spec"].get("claimRef"),
                  "second")
        self.bind("two", "live-disk-2")
        self.bound_to("second", "node-0")


if __name__ == "__main__":
    main()
