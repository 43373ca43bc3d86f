"""What `record` asks a real API server: objects, patches, odd manifests, sequences of writers."""
import json


def pod_spec(**more):
    return dict({"containers": [{"name": "c", "image": "example/i:1"}]}, **more)


def named(version, kind, name, **more):
    return dict({"apiVersion": version, "kind": kind, "metadata": {"name": name}}, **more)


TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {
    "containers": [
        {"name": "main", "image": "example/main:1", "args": ["-v"], "env": [
            {"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}],
         "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443, "name": "https"}],
         "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
         "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
         "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        {"name": "side", "image": "example/side"}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "nodeSelector": {"disk": "ssd"},
    "imagePullSecrets": [{"name": "s1"}, {"name": "s2"}],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "w"}}]}}

OBJECTS = {
    "deployment": named("apps/v1", "Deployment", "d", spec={
        "replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "10%"}}}),
    "pod": dict(named("v1", "Pod", "p", spec=TEMPLATE["spec"]),
                metadata={"name": "p", "labels": {"a": "1", "b": "2"}, "annotations": {"x": "y"},
                          "finalizers": ["example.com/one", "example.com/two"]}),
    "service": named("v1", "Service", "s", spec={
        "selector": {"a": "b"}, "clusterIP": "None",
        "ports": [{"port": 80, "name": "a"}, {"port": 443, "name": "b", "targetPort": "https"}]}),
    "configmap": named("v1", "ConfigMap", "c", data={"a": "1", "b": "2", "c": "3"}),
    "node": dict(named("v1", "Node", "record-node", spec={
        "taints": [{"key": "t", "value": "1", "effect": "NoSchedule"}], "podCIDRs": ["10.1.0.0/24"],
        "podCIDR": "10.1.0.0/24"}), metadata={"name": "record-node", "labels": {"zone": "a"}}),
    "pdb": named("policy/v1", "PodDisruptionBudget", "b", spec={
        "minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}),
    "slice": named("resource.k8s.io/v1", "ResourceSlice", "r", spec={
        "driver": "example.com", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d0", "attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "1Gi"}}}]}),
}


def containers(*items):
    return {"spec": {"template": {"spec": {"containers": list(items)}}}}


def template(**more):
    return {"spec": {"template": {"spec": more}}}


def json_patches():
    spec = "/spec/template/spec"
    many = [
        [{"op": "add", "path": "/spec/replicas", "value": 5}],
        [{"op": "replace", "path": "/spec/replicas", "value": 0}],
        [{"op": "remove", "path": "/spec/replicas"}],
        [{"op": "remove", "path": "/spec/nope"}],
        [{"op": "remove", "path": "/nope/deep"}],
        [{"op": "add", "path": "/metadata/labels", "value": {}},
         {"op": "add", "path": "/metadata/labels/example.com~1a", "value": "b"}],
        [{"op": "add", "path": "/metadata/labels/x", "value": "b"}],
        [{"op": "add", "path": "/metadata/annotations", "value": {"a~b": "1"}},
         {"op": "test", "path": "/metadata/annotations/a~0b", "value": "1"},
         {"op": "remove", "path": "/metadata/annotations/a~0b"}],
        [{"op": "test", "path": "/spec/replicas", "value": 2}, {"op": "add", "path": "/spec/paused", "value": True}],
        [{"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "add", "path": "/spec/paused", "value": True}],
        [{"op": "test", "path": "/spec/replicas", "value": "2"}],
        [{"op": "test", "path": "/spec/missing", "value": None}],
        [{"op": "test", "path": "/spec/missing"}],
        [{"op": "test", "path": "/spec/missing", "value": 1}],
        [{"op": "test", "path": "/spec/selector", "value": {"matchLabels": {"app": "a"}}}],
        [{"op": "test", "path": "/spec/selector", "value": {"matchLabels": {"app": "b"}}}],
        [{"op": "test", "path": spec + "/containers/0/args", "value": ["-v"]}],
        [{"op": "test", "path": spec + "/containers/0/args", "value": ["-x"]}],
        [{"op": "add", "path": spec + "/containers/0/args/-", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/0", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/1", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/2", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/-1", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/-2", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/-3", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/x", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/+1", "value": "-w"}],
        [{"op": "add", "path": spec + "/containers/0/args/01", "value": "-w"}],
        [{"op": "remove", "path": spec + "/containers/0/env/1"}],
        [{"op": "remove", "path": spec + "/containers/0/env/-1"}],
        [{"op": "remove", "path": spec + "/containers/0/env/3"}],
        [{"op": "remove", "path": spec + "/containers/0/env/-4"}],
        [{"op": "remove", "path": spec + "/containers/0/env/-"}],
        [{"op": "replace", "path": spec + "/containers/0/env/-1", "value": {"name": "Z", "value": "9"}}],
        [{"op": "replace", "path": spec + "/containers/0/env/7", "value": {"name": "Z", "value": "9"}}],
        [{"op": "replace", "path": spec + "/containers/1", "value": {"name": "new", "image": "n"}}],
        [{"op": "replace", "path": spec + "/terminationGracePeriodSeconds", "value": 5}],
        [{"op": "replace", "path": spec + "/priorityClassName", "value": "high"}],
        [{"op": "move", "from": spec + "/containers/1", "path": spec + "/containers/0"}],
        [{"op": "move", "from": spec + "/containers/0/args", "path": spec + "/containers/1/args"}],
        [{"op": "move", "from": spec + "/nope", "path": spec + "/containers/1/args"}],
        [{"op": "move", "path": spec + "/containers/1/args"}],
        [{"op": "copy", "from": spec + "/containers/0/env", "path": spec + "/containers/1/env"}],
        [{"op": "copy", "from": spec + "/containers/0/args", "path": spec + "/containers/0/command"},
         {"op": "add", "path": spec + "/containers/0/command/0", "value": "run"}],
        [{"op": "copy", "from": spec + "/nope/x", "path": spec + "/containers/1/env"}],
        [{"op": "copy", "from": "/spec/nope", "path": "/spec/replicas"}],
        [{"op": "jump", "path": "/spec/replicas"}],
        [{"path": "/spec/replicas"}],
        [{"op": "add", "value": 1}],
        [{"op": "add", "path": "", "value": {}}],
        [{"op": "add", "path": "spec/paused", "value": True}],
        [{"op": "add", "path": "x/spec/paused", "value": True}],
        [{"op": "add", "path": "/spec/replicas/x", "value": 1}],
        [{"op": "add", "path": "/spec/replicas", "value": "five"}],
        [{"op": "add", "path": "/spec/replicas", "value": 1.5}],
        [{"op": "add", "path": "/spec/replicas", "value": 3000000000}],
        [{"op": "add", "path": "/spec/unknown", "value": 1}],
        [{"op": "add", "path": "/spec/replicas", "value": 7, "why": "x"}],
        [{"op": 1, "path": "/spec/replicas"}],
        [{"op": "add", "path": ["a"]}],
        ["x"], "x", 1, True, {}, [], [None], [[]],
        [{"op": "add", "path": "/spec/replicas", "value": 3}, {"op": "remove", "path": "/spec/nope"}],
        [{"op": "add", "path": "/spec/strategy", "value": {"type": "Recreate"}}],
        [{"op": "replace", "path": "/spec/strategy/rollingUpdate/maxSurge", "value": "30%"}],
    ]
    for patch in many:
        yield "deployment", "json", patch
    for patch in many[56:58]:
        for validation in ("Strict", "Ignore", "Warn"):
            yield "deployment", "json", patch, validation
    yield "deployment", "json", '[{"op":"add","path":"/spec/replicas","value":1'
    yield "deployment", "json", [{"op": "test", "path": "/spec/replicas", "value": 2}] * 10001
    yield "deployment", "json", [{"op": "replace", "path": "/spec/replicas", "value": 3}] * 500
    yield "pod", "json", [{"op": "remove", "path": "/metadata/finalizers"}]
    yield "pod", "json", [{"op": "remove", "path": "/metadata/finalizers/0"}]
    yield "configmap", "json", [{"op": "add", "path": "/data/d~1e", "value": "4"}]
    yield "configmap", "json", [{"op": "add", "path": "/data/", "value": "4"}]
    yield "configmap", "json", [{"op": "add", "path": "/data/d", "value": 4}]
    yield "configmap", "json", [{"op": "add", "path": "/data", "value": []}]


def merge_patches():
    many = [
        {"spec": {"replicas": 4}}, {"spec": {"replicas": None}}, {"spec": None}, {}, {"metadata": None},
        {"metadata": {"labels": {"a": "b", "c": None}}}, {"metadata": {"annotations": {"a": "b"}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "x", "image": "y"}]}}}},
        {"spec": {"template": {"spec": {"nodeSelector": {"disk": None, "zone": "a"}}}}},
        {"spec": {"template": {"spec": {"nodeSelector": None}}}},
        {"spec": {"template": {"spec": {"securityContext": {"runAsUser": 1, "runAsGroup": None}}}}},
        {"spec": {"template": {"spec": {"affinity": {"nodeAffinity": None}}}}},
        {"spec": {"template": {"spec": {"affinity": {"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": None}}}}}},
        {"spec": {"template": {"spec": {"tolerations": [{"key": "b", "operator": "Exists", "value": None}]}}}},
        {"spec": {"strategy": {"rollingUpdate": None, "type": "Recreate"}}},
        {"spec": {"strategy": None}}, {"spec": {"replicas": "x"}}, {"spec": {"replicas": {}}}, {"spec": []},
        {"spec": {"template": {"spec": {"containers": {}}}}}, {"spec": {"unknown": 1}}, {"spec": {"unknown": None}},
        {"nope": {"a": {"b": 1}}}, {"spec": {"template": "x"}}, {"kind": "Deployment", "apiVersion": "apps/v1"},
        {"spec": {"minReadySeconds": 5, "paused": False, "revisionHistoryLimit": 0}},
        {"spec": {"template": {"metadata": {"labels": None}}}},
        {"spec": {"template": {"spec": {"hostNetwork": False, "hostPID": True, "priorityClassName": ""}}}},
        [], "x", 1, None, True,
    ]
    for patch in many:
        yield "deployment", "merge", json.dumps(patch)
    for validation in ("Strict", "Ignore", "Warn"):
        yield "deployment", "merge", {"spec": {"unknown": 1, "replicas": 3}}, validation
        yield "deployment", "merge", '{"spec":{"replicas":3,"replicas":4}}', validation
        yield "deployment", "merge", '{"spec":{"replicas":"x","nope":4}}', validation
    yield "deployment", "merge", '{"spec":'
    yield "pod", "merge", {"metadata": {"finalizers": None, "labels": {"a": None}}}
    yield "pod", "merge", {"metadata": {"finalizers": ["example.com/three"]}}
    yield "service", "merge", {"spec": {"ports": [{"port": 81}]}}
    yield "service", "merge", {"spec": {"selector": {"a": None, "c": "d"}}}
    yield "configmap", "merge", {"data": {"a": None, "b": "", "z": "9"}}
    yield "configmap", "merge", {"data": {"a": 1}}
    yield "configmap", "merge", {"binaryData": {"x": "AAECAw=="}}
    yield "configmap", "merge", {"binaryData": {"x": "A!"}}
    yield "configmap", "merge", {"immutable": True}
    yield "node", "merge", {"spec": {"unschedulable": True, "taints": None}}
    yield "pdb", "merge", {"spec": {"minAvailable": None, "maxUnavailable": "50%"}}
    yield "slice", "merge", {"spec": {"pool": {"generation": 2}}}


def strategic_patches():
    many = [
        {"spec": {"replicas": 4}}, {"spec": {"replicas": None}}, {}, {"spec": {"paused": True}},
        {"metadata": {"labels": {"x": "y"}}}, {"metadata": {"labels": {"x": None}}},
        {"metadata": {"annotations": {"a": None}}},
        containers({"name": "main", "image": "new"}), containers({"name": "third", "image": "t"}),
        containers({"name": "third", "image": "t"}, {"name": "side", "image": "s2"}),
        containers({"name": "side", "$patch": "delete"}), containers({"name": "none", "$patch": "delete"}),
        containers({"$patch": "delete"}), containers({"$patch": "replace"}, {"name": "only", "image": "o"}),
        containers({"name": "only", "image": "o"}, {"$patch": "replace"}),
        containers({"$patch": "merge", "name": "main"}), containers({"$patch": "odd", "name": "main"}),
        containers({"image": "x"}), containers(), containers("x"), containers(["x"]), containers(None),
        containers({"name": "main", "args": ["a", "b"]}), containers({"name": "main", "args": None}),
        containers({"name": "main", "env": [{"name": "B", "value": "9"}]}),
        containers({"name": "main", "env": [{"name": "D", "value": "4"}, {"name": "A", "value": "0"}]}),
        containers({"name": "main", "env": [{"name": "B", "$patch": "delete"}, {"name": "E", "value": "5"}]}),
        containers({"name": "main", "env": [{"name": "B", "value": None,
                                             "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
        containers({"name": "main", "env": [{"$patch": "replace"}]}),
        containers({"name": "main", "env": None}),
        containers({"name": "main", "ports": [{"containerPort": 80, "name": "web"}]}),
        containers({"name": "main", "ports": [{"containerPort": 8080, "protocol": "UDP"}]}),
        containers({"name": "main", "ports": [{"containerPort": 80, "$patch": "delete"}]}),
        containers({"name": "main", "livenessProbe": {"tcpSocket": {"port": 1}, "httpGet": None}}),
        containers({"name": "main", "livenessProbe": {"$patch": "replace", "tcpSocket": {"port": 1}}}),
        containers({"name": "main", "livenessProbe": {"$patch": "delete"}}),
        containers({"name": "main", "resources": {"limits": {"cpu": "1"}, "requests": {"memory": None}}}),
        containers({"name": "main", "resources": {"$retainKeys": ["limits"], "limits": {"cpu": "1"}}}),
        containers({"name": "main", "volumeMounts": [{"mountPath": "/v", "name": "w"}]}),
        template(tolerations=[{"key": "z", "operator": "Exists"}]), template(tolerations=None),
        template(nodeSelector={"disk": None, "zone": "b"}), template(nodeSelector={"$patch": "replace", "q": "r"}),
        template(nodeSelector={"$patch": "delete"}), template(nodeSelector={"$retainKeys": ["zone"], "zone": "b"}),
        template(nodeSelector={"$retainKeys": ["zone"], "other": "b"}), template(nodeSelector={"$retainKeys": "x"}),
        template(volumes=[{"name": "w", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}]),
        template(volumes=[{"name": "x", "emptyDir": {"medium": "Memory"}}]),
        template(volumes=[{"name": "w", "configMap": {"name": "other"}}]),
        template(volumes=[{"name": "w", "$patch": "delete"}]),
        template(imagePullSecrets=[{"name": "s3"}, {"name": "s1"}]),
        template(imagePullSecrets=[{"name": "s1", "$patch": "delete"}]),
        template(**{"$setElementOrder/containers": [{"name": "side"}, {"name": "main"}]}),
        template(**{"$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
                    "containers": [{"name": "main", "image": "m3"}]}),
        template(**{"$setElementOrder/containers": [{"name": "third"}, {"name": "main"}],
                    "containers": [{"name": "third", "image": "t"}]}),
        template(**{"$setElementOrder/containers": [{"name": "main"}, {"name": "third"}, {"name": "side"}],
                    "containers": [{"name": "third", "image": "t"}, {"name": "side", "image": "x"}]}),
        template(**{"$setElementOrder/containers": [{"name": "main"}],
                    "containers": [{"name": "side", "$patch": "delete"}]}),
        template(**{"$setElementOrder/containers": [{"name": "main"}],
                    "containers": [{"name": "third", "image": "t"}]}),
        template(**{"$setElementOrder/containers": "x"}),
        template(**{"$setElementOrder/containers": [{"nokey": 1}]}),
        template(**{"$setElementOrder": [{"name": "side"}]}),
        template(**{"$setElementOrder/volumes": [{"name": "w"}, {"name": "v"}]}),
        template(**{"$setElementOrder/imagePullSecrets": [{"name": "s2"}, {"name": "s4"}, {"name": "s1"}],
                    "imagePullSecrets": [{"name": "s4"}]}),
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"strategy": {"$retainKeys": ["type", "rollingUpdate"], "rollingUpdate": {"maxSurge": 2}}}},
        {"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}},
        {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}},
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "40%"}}}},
        {"$patch": "delete"}, {"$patch": "odd"}, {"$patch": "merge"}, {"spec": {"$patch": "delete"}},
        {"spec": {"selector": {"matchLabels": {"app": "a"}}}}, {"spec": {"replicas": "x"}}, {"spec": {"replicas": 1.0}},
        {"spec": {"replicas": 1.5}}, {"spec": {"paused": "true"}}, {"spec": {"template": []}}, {"spec": "x"},
        {"metadata": {"labels": []}}, {"metadata": {"labels": {"a": 1}}}, {"metadata": {"labels": {"a": {"b": "c"}}}},
        template(containers="x"), template(containers={}), template(dnsPolicy=3), template(hostNetwork=1),
        {"spec": {"unknown": 1}}, {"spec": {"unknown": {"$patch": "delete"}}}, [], "x", 1, None,
        {"metadata": {"name": "other"}},
    ]
    for patch in many:
        yield "deployment", "strategic", json.dumps(patch)
    for validation in ("Strict", "Ignore", "Warn"):
        yield "deployment", "strategic", {"spec": {"z": 1, "b": 2, "template": {"y": 1}}}, validation
        yield "deployment", "strategic", '{"spec":{"replicas":3,"replicas":4,"x":1}}', validation
    yield "deployment", "strategic", '{"spec":'
    yield from strategic_others()


def strategic_others():
    finalizers = [
        {"metadata": {"finalizers": ["example.com/three"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/one"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/none"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/one", "example.com/two"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": None}},
        {"metadata": {"$deleteFromPrimitiveList": ["example.com/one"]}},
        {"metadata": {"$deleteFromPrimitiveList/nope": ["example.com/one"]}},
        {"metadata": {"$setElementOrder/finalizers": ["example.com/two", "example.com/one"]}},
        {"metadata": {"$setElementOrder/finalizers": ["example.com/two", "example.com/three", "example.com/one"],
                      "finalizers": ["example.com/three"]}},
        {"metadata": {"$setElementOrder/finalizers": ["example.com/two"],
                      "$deleteFromPrimitiveList/finalizers": ["example.com/one"]}},
        {"metadata": {"finalizers": ["example.com/two", "example.com/zero"]}},
        {"metadata": {"finalizers": None}}, {"metadata": {"finalizers": []}},
        {"metadata": {"finalizers": [1]}}, {"metadata": {"labels": {"a": None, "c": "3"}}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u1"}]}},
        {"metadata": {"annotations": {"$patch": "replace", "n": "m"}}},
    ]
    for patch in finalizers:
        yield "pod", "strategic", patch
    for ports in ([{"port": 80, "name": "z"}], [{"port": 81, "name": "c"}], [{"port": 443, "$patch": "delete"}],
                  [{"$patch": "replace"}, {"port": 1}], [{"name": "a"}], [{"port": "80"}]):
        yield "service", "strategic", {"spec": {"ports": ports}}
    yield "service", "strategic", {"spec": {"selector": {"c": "d"}}}
    yield "service", "strategic", {"spec": {"$setElementOrder/ports": [{"port": 443}, {"port": 80}]}}
    yield "configmap", "strategic", {"data": {"a": None, "d": "4"}}
    yield "configmap", "strategic", {"data": {"$patch": "replace", "d": "4"}}
    yield "configmap", "strategic", {"data": {"$retainKeys": ["a", "d"], "d": "4"}}
    for taints in ([{"key": "t", "effect": "NoExecute"}], [{"key": "u", "effect": "NoExecute"}],
                   [{"key": "t", "$patch": "delete"}], None):
        yield "node", "strategic", {"spec": {"taints": taints}}
    yield "node", "strategic", {"spec": {"unschedulable": True}}
    yield "node", "strategic", {"metadata": {"labels": {"zone": "b"}}}
    yield "pdb", "strategic", {"spec": {"selector": {"matchLabels": {"c": "d"}}}}
    yield "pdb", "strategic", {"spec": {"selector": {"$patch": "replace", "matchLabels": {"c": "d"}}}}
    yield "pdb", "strategic", {"spec": {"minAvailable": "50%"}}
    yield "slice", "strategic", {"spec": {"devices": [{"name": "d1"}]}}
    yield "slice", "strategic", {"spec": {"pool": {"generation": 3}}}


def patches():
    yield from json_patches()
    yield from merge_patches()
    yield from strategic_patches()


# ---- fields and types ----

def with_spec(version, kind, spec):
    return json.dumps(named(version, kind, "x", spec=spec))


def pod(**spec):
    return json.dumps(named("v1", "Pod", "x", spec=pod_spec(**spec)))


def container(**fields):
    return json.dumps(named("v1", "Pod", "x", spec={"containers": [dict({"name": "c", "image": "i"}, **fields)]}))


def checks():
    base = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"%s},"spec":{"containers":[{"name":"c","image":"i"%s}]%s}%s}'
    texts = [base % parts for parts in (
        ("", "", "", ""), (',"foo":1', "", "", ""), ("", ',"foo":1,"bar":2', ',"baz":{}', ',"top":[]'),
        (',"labels":{"a":"1","a":"2"}', "", "", ""), ("", ',"name":"d"', ',"hostNetwork":true,"hostNetwork":false', ""),
        (',"name":"y","name":"z"', "", "", ',"spec":null'), (',"labels":{"a":1}', "", "", ""),
        (',"labels":["a"]', "", "", ""), (',"annotations":{"a":{"b":"c"}}', "", "", ""), (',"labels":null', "", "", ""),
        ("", ',"env":[{"name":"A","vale":"1"},{"name":"B","valueFrom":{"fieldRef":{"x":1}}}]', "", ""),
        (',"ownerReferences":[{"name":"a","x":1}]', "", "", ""), (',"creationTimestamp":null', "", "", ""),
        (',"creationTimestamp":"2020-01-01T00:00:00Z"', "", "", ""), (',"creationTimestamp":"yesterday"', "", "", ""),
        (',"creationTimestamp":1', "", "", ""), (',"generation":"1"', "", "", ""),
        ("", "", ',"nodeSelector":{"a":"b","a":"c"}', ""))]
    texts += [container(**fields) for fields in (
        {"image": 1}, {"image": True}, {"image": []}, {"image": {}}, {"image": None}, {"imagePullPolicy": 1},
        {"args": "x"}, {"args": [1]}, {"args": {"a": 1}}, {"tty": "true"}, {"tty": 1},
        {"ports": [{"containerPort": "80"}]}, {"ports": [{"containerPort": 80.5}]}, {"ports": [{"containerPort": 80.0}]},
        {"ports": [{"containerPort": 99999999999}]}, {"ports": {}}, {"ports": ["x"]},
        {"resources": {"requests": {"cpu": "1", "memory": "x"}}}, {"resources": {"requests": {"cpu": 1}}},
        {"resources": {"requests": {"cpu": 1.5}}}, {"resources": {"requests": {"cpu": True}}},
        {"resources": {"requests": "x"}}, {"resources": {"requests": ["x"]}}, {"resources": {"limitz": {}}},
        {"livenessProbe": {"httpGet": {"port": True}}}, {"livenessProbe": {"httpGet": {"port": 1.5}}},
        {"livenessProbe": {"httpGet": {"port": "http"}}}, {"livenessProbe": {"httpGet": {"port": 80}}},
        {"livenessProbe": []}, {"livenessProbe": {"httpGet": {"port": 80, "x": 1}, "z": 1}},
        {"securityContext": {"capabilities": {"add": "x"}}}, {"securityContext": {"capabilities": {"add": [1]}}})]
    texts += [pod(**fields) for fields in (
        {"restartPolicy": 1}, {"nodeSelector": {"a": 1}}, {"nodeSelector": "x"}, {"priority": "1"},
        {"terminationGracePeriodSeconds": "x"}, {"terminationGracePeriodSeconds": 1e3},
        {"tolerations": [{"key": "a", "tolerationSeconds": "5", "bad": 1}]}, {"volumes": [{"name": "v", "emptydir": {}}]},
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}},
        {"overhead": {"cpu": "zz"}}, {"securityContext": {"sysctls": {}}}, {"schedulingGates": [{"nam": "x"}]})]
    texts += [
        with_spec("apps/v1", "Deployment", {"replicas": "1"}),
        with_spec("apps/v1", "Deployment", {"replicas": 1, "templat": {}, "selector": {"matchLabels": {"a": "b"}}}),
        with_spec("apps/v1", "Deployment", {"strategy": {"rollingUpdate": {"maxSurge": {}}}}),
        with_spec("apps/v1", "Deployment", "x"), with_spec("apps/v1", "Deployment", []),
        with_spec("batch/v1", "Job", {"template": {"spec": pod_spec(x=1)}, "y": 1}),
        with_spec("v1", "Service", {"ports": [{"port": "80", "nodeport": 1}]}),
        with_spec("v1", "PersistentVolumeClaim", {"accessModes": "x"}),
        with_spec("v1", "PersistentVolumeClaim", {"accessModes": [1]}),
        with_spec("v1", "PersistentVolumeClaim", {"resources": {"requests": {"storage": "1Gx"}}}),
        with_spec("policy/v1", "PodDisruptionBudget", {"minAvailable": True}),
        with_spec("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [{"name": "a", "exact": {"count": "1"}}]}}),
        with_spec("resource.k8s.io/v1", "ResourceSlice", {"devices": [{"name": "d", "attributes": {"a": {"int": "x"}}}]}),
        with_spec("coordination.k8s.io/v1", "Lease", {"renewTime": "now"}),
        with_spec("coordination.k8s.io/v1", "Lease", {"renewTime": 1}),
        with_spec("coordination.k8s.io/v1", "Lease", {"leaseDurationSeconds": 1, "x": 1}),
        json.dumps(named("v1", "Secret", "x", data={"a": "AA=="})), json.dumps(named("v1", "Secret", "x", data={"a": "!"})),
        json.dumps(named("v1", "Secret", "x", data={"a": 1})), json.dumps(named("v1", "ConfigMap", "x", data={"a": 1})),
        json.dumps(named("v1", "ConfigMap", "x", data="a", dat={})), json.dumps(named("v1", "ConfigMap", "x", immutable="no")),
        json.dumps(named("v1", "ConfigMap", "x", **{"f%d" % i: 1 for i in range(120)})),
    ]
    for text in texts:
        for validation in ("Strict", "Warn"):
            yield text, validation
    yield texts[1], "Ignore"


# ---- defaults ----

def manifests():
    tpl = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()}
    never = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(restartPolicy="Never")}
    selector = {"matchLabels": {"a": "b"}}
    probe = {"httpGet": {"port": 80}}
    yield named("v1", "Pod", "x", spec=pod_spec())
    yield named("v1", "Pod", "x", spec={"containers": [
        {"name": "c", "image": "i:1", "livenessProbe": probe, "readinessProbe": {"exec": {"command": ["a"]}},
         "startupProbe": {"grpc": {"port": 1}}, "lifecycle": {"preStop": {"httpGet": {"port": "p"}},
                                                              "postStart": {"exec": {"command": ["a"]}}},
         "ports": [{"containerPort": 1}, {"containerPort": 2, "protocol": "UDP"}],
         "env": [{"name": "A"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                 {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
         "resources": {"limits": {"cpu": "1", "memory": "1024Mi"}, "requests": {"cpu": "0.1"}},
         "securityContext": {"capabilities": {}, "runAsNonRoot": False}},
        {"name": "d", "image": "i@sha256:" + "a" * 64, "imagePullPolicy": "Never", "resources": {"limits": {"cpu": "2000m"}}},
        {"name": "e", "image": "reg:5000/i"}, {"name": "f", "image": "i:latest", "command": [], "args": None}],
        "initContainers": [{"name": "g", "image": "i:2", "restartPolicy": "Always"}],
        "volumes": [{"name": "a"}, {"name": "b", "configMap": {"name": "b"}}, {"name": "c", "secret": {"secretName": "s"}},
                    {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                    {"name": "e", "hostPath": {"path": "/x"}},
                    {"name": "f", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {"items": [
                        {"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}},
                    {"name": "g", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0}},
                    {"name": "h", "ephemeral": {"volumeClaimTemplate": {"spec": {
                        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
                    {"name": "j", "rbd": {"monitors": ["m"], "image": "i"}},
                    {"name": "k", "azureDisk": {"diskName": "d", "diskURI": "https://u"}}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
        "tolerations": [{"key": "a", "operator": "Exists"}], "hostNetwork": True, "nodeName": "", "serviceAccountName": "default"})
    yield named("v1", "Pod", "x", spec=pod_spec(hostNetwork=False, hostPID=False, enableServiceLinks=False,
                                                terminationGracePeriodSeconds=0, priority=0, schedulerName="s",
                                                dnsPolicy="Default", securityContext={"runAsUser": 0}, nodeSelector={},
                                                tolerations=[], imagePullSecrets=[]))
    yield named("v1", "Pod", "x", spec=pod_spec(
        resources={"limits": {"cpu": "2", "memory": "1Gi"}}, overhead={"cpu": "100m"} if False else None))
    yield named("apps/v1", "Deployment", "x", spec={"selector": selector, "template": tpl})
    yield named("apps/v1", "Deployment", "x", spec={"selector": selector, "template": tpl, "replicas": 0,
                                                    "strategy": {"type": "Recreate"}, "paused": False})
    yield named("apps/v1", "Deployment", "x", spec={"selector": selector, "template": tpl,
                                                    "strategy": {"rollingUpdate": {"maxSurge": 3}}})
    yield named("apps/v1", "ReplicaSet", "x", spec={"selector": selector, "template": tpl})
    yield named("apps/v1", "StatefulSet", "x", spec={
        "selector": selector, "template": tpl, "serviceName": "s", "volumeClaimTemplates": [{
            "metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"],
                                                "resources": {"requests": {"storage": "1024Mi"}}}}]})
    yield named("apps/v1", "StatefulSet", "x", spec={
        "selector": selector, "template": tpl, "serviceName": "s", "updateStrategy": {"type": "OnDelete"},
        "podManagementPolicy": "Parallel"})
    yield named("apps/v1", "StatefulSet", "x", spec={
        "selector": selector, "template": tpl, "serviceName": "s", "updateStrategy": {"rollingUpdate": {}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}})
    yield named("apps/v1", "DaemonSet", "x", spec={"selector": selector, "template": tpl})
    yield named("apps/v1", "DaemonSet", "x", spec={"selector": selector, "template": tpl,
                                                   "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}})
    yield named("apps/v1", "DaemonSet", "x", spec={"selector": selector, "template": tpl, "updateStrategy": {"type": "OnDelete"}})
    yield named("apps/v1", "ControllerRevision", "x", revision=1, data={"a": {"b": 1}})
    yield named("batch/v1", "Job", "x", spec={"template": never, "manualSelector": True, "selector": selector})
    yield named("batch/v1", "Job", "x", spec={"template": never, "manualSelector": True, "selector": selector,
                                              "completions": 3, "completionMode": "Indexed", "parallelism": 2,
                                              "backoffLimitPerIndex": 1})
    yield named("batch/v1", "Job", "x", spec={"template": never, "manualSelector": True, "selector": selector, "parallelism": 2,
                                              "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [
                                                  {"type": "DisruptionTarget"}]}]}})
    yield named("batch/v1", "CronJob", "x", spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": never}}})
    yield named("v1", "Service", "x", spec={"clusterIP": "None", "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b", "targetPort": "x"}]})
    yield named("v1", "Service", "x", spec={"type": "ExternalName", "externalName": "a.example.com"})
    yield named("v1", "Service", "x", spec={"clusterIP": "None", "ports": [{"port": 80}], "sessionAffinity": "ClientIP"})
    yield named("v1", "ConfigMap", "x", data={}, binaryData={"a": "AAE="}, immutable=False)
    yield named("v1", "Secret", "x", stringData={"a": "b"}, data={"c": "AAE="})
    yield named("v1", "ServiceAccount", "x")
    yield named("v1", "Namespace", "record-x")
    yield named("v1", "Node", "x", status={"capacity": {"cpu": "4000m", "memory": "8388608Ki"}})
    yield named("v1", "Node", "x", spec={"unschedulable": False, "taints": []})
    yield named("v1", "PersistentVolumeClaim", "x", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
    yield named("v1", "PersistentVolume", "x", spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1024Mi"},
                                                     "hostPath": {"path": "/x"}})
    yield named("v1", "PersistentVolume", "x", spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                                                     "csi": {"driver": "d.example.com", "volumeHandle": "h"}, "volumeMode": "Block",
                                                     "persistentVolumeReclaimPolicy": "Delete"})
    yield named("v1", "Endpoints", "x", subsets=[{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}])
    yield named("v1", "LimitRange", "x", spec={"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}}]})
    yield named("v1", "ResourceQuota", "x", spec={"hard": {"pods": "10"}})
    yield named("v1", "ReplicationController", "x", spec={"template": tpl})
    yield named("v1", "Event", "x", involvedObject={"namespace": "record-schema"}, reason="r", message="m", type="Normal")
    yield named("events.k8s.io/v1", "Event", "x", regarding={"namespace": "record-schema"}, reason="r", type="Normal", action="a",
                reportingController="c", reportingInstance="i", eventTime="2020-01-01T00:00:00.500000Z")
    yield named("policy/v1", "PodDisruptionBudget", "x", spec={"minAvailable": 1, "selector": selector})
    yield named("policy/v1", "PodDisruptionBudget", "x", spec={"maxUnavailable": "10%", "selector": {}})
    yield named("scheduling.k8s.io/v1", "PriorityClass", "x", value=5)
    yield named("scheduling.k8s.io/v1", "PriorityClass", "x", value=0, globalDefault=False, preemptionPolicy="Never")
    yield named("storage.k8s.io/v1", "StorageClass", "x", provisioner="example.com/p")
    yield named("storage.k8s.io/v1", "StorageClass", "x", provisioner="example.com/p", volumeBindingMode="WaitForFirstConsumer",
                reclaimPolicy="Retain", allowVolumeExpansion=False)
    yield named("storage.k8s.io/v1", "CSINode", "x", spec={"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["a"]}]})
    yield named("storage.k8s.io/v1", "CSIDriver", "d.example.com", spec={})
    yield named("storage.k8s.io/v1", "CSIStorageCapacity", "x", storageClassName="s", capacity="1024Mi", nodeTopology={})
    yield named("storage.k8s.io/v1", "VolumeAttachment", "x", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}})
    yield named("resource.k8s.io/v1", "ResourceClaim", "x", spec={"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "c"}}, {"name": "q", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]},
        {"name": "t", "exactly": {"deviceClassName": "c", "allocationMode": "All"}}]}})
    yield named("resource.k8s.io/v1", "ResourceClaim", "x", spec={"devices": {"requests": [{"name": "r", "exactly": {
        "deviceClassName": "c", "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b"}]}}]}})
    yield named("resource.k8s.io/v1", "ResourceClaimTemplate", "x", spec={"spec": {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "c", "count": 2, "allocationMode": "ExactCount"}}]}}})
    yield named("resource.k8s.io/v1", "DeviceClass", "x", spec={"selectors": [{"cel": {"expression": "true"}}]})
    yield named("resource.k8s.io/v1", "DeviceClass", "x", spec={})
    yield named("resource.k8s.io/v1", "ResourceSlice", "x", spec={
        "driver": "d", "nodeName": "n", "pool": {"name": "p", "generation": 0, "resourceSliceCount": 1},
        "devices": [{"name": "d0", "capacity": {"m": {"value": "1024Mi"}}, "attributes": {"a": {"bool": True}, "b": {"int": 0}}}]})
    yield named("coordination.k8s.io/v1", "Lease", "x", spec={"holderIdentity": "h", "renewTime": "2020-01-01T00:00:00.000000Z"})
    yield named("coordination.k8s.io/v1", "Lease", "x")
    yield named("node.k8s.io/v1", "RuntimeClass", "x", handler="h", overhead={"podFixed": {"cpu": "100m"}})
    yield named("rbac.authorization.k8s.io/v1", "ClusterRole", "record-x", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    yield named("rbac.authorization.k8s.io/v1", "RoleBinding", "x", roleRef={"kind": "Role", "name": "r"}, subjects=[
        {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "d"}])
    yield named("discovery.k8s.io/v1", "EndpointSlice", "x", addressType="IPv4", endpoints=[{"addresses": ["1.2.3.4"]}], ports=[{"port": 80}])
    yield named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "xs.example.com", spec={
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "xs", "kind": "X"}, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]})
    yield named("networking.k8s.io/v1", "NetworkPolicy", "x", spec={"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]})


# ---- server-side apply ----

def step(how, manager, obj, **more):
    return dict({"how": how, "manager": manager, "object": obj}, **more)


def config_map(**data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}


def deployment(*items, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": dict({
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
            "containers": list(items) or [{"name": "c", "image": "i"}]}}}, **spec)}


def scripts():
    apply, update = "apply", "update"
    yield [step(apply, "a", config_map(x="1"), name="one applier"), step(apply, "a", config_map(x="2", y="3")),
           step(apply, "a", config_map(y="3")), step(apply, "a", config_map(y="3"))]
    yield [step(apply, "a", config_map(x="1"), name="conflict"), step(apply, "b", config_map(x="2")),
           step(apply, "b", config_map(x="2", y="1")), step(apply, "b", config_map(x="2"), force=True),
           step(apply, "a", config_map(x="1")), step(apply, "a", config_map())]
    yield [step(apply, "a", config_map(x="1"), name="shared value"), step(apply, "b", config_map(x="1")),
           step(apply, "a", config_map()), step(apply, "b", config_map())]
    yield [step("create", "kubectl-create", config_map(x="1", z="9"), name="created, then applied"),
           step(apply, "a", config_map(x="2")), step(apply, "a", config_map(x="2"), force=True),
           step(apply, "a", config_map(x="2", z="9")), step(apply, "a", config_map())]
    yield [step(apply, "a", config_map(x="1", y="2"), name="updates take over"), step(update, "u", {"data": {"x": "5"}}),
           step(apply, "a", config_map(x="1", y="2")), step(update, "u", {"data": {"y": None}}),
           step(update, "u", {"metadata": {"labels": {"l": "1"}}}), step("merge", "p", {"data": {"q": "1"}}),
           step("merge", "p", {"data": {"q": None}}), step("merge", "u", {"data": {"n": "1"}})]
    yield [step(apply, "a", deployment(), name="workload"),
           step(apply, "b", {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3}}),
           step(apply, "a", deployment(replicas=2)), step(apply, "a", deployment(replicas=2), force=True),
           step(apply, "a", deployment({"name": "c", "image": "j"}, {"name": "d", "image": "k"})),
           step(apply, "a", deployment({"name": "d", "image": "k"})),
           step("strategic", "kubectl-edit", {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "z"}]}}}}),
           step(apply, "a", deployment({"name": "d", "image": "k"})),
           step("merge", "scaler", {"spec": {"replicas": 7}}, status=False),
           step("merge", "ctl", {"status": {"replicas": 1, "observedGeneration": 1, "conditions": [
               {"type": "Available", "status": "True"}]}}, status=True),
           step(apply, "a", deployment({"name": "d", "image": "z"}))]
    yield [step(apply, "a", deployment({"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                                        "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}), name="nested lists"),
           step(apply, "b", deployment({"name": "c", "env": [{"name": "C", "value": "3"}], "ports": [{"containerPort": 81}]})),
           step(apply, "b", deployment({"name": "c", "env": [{"name": "A", "value": "3"}]})),
           step(apply, "a", deployment({"name": "c", "image": "i", "env": [{"name": "B", "value": "2"}]})),
           step(apply, "b", deployment({"name": "c"})),
           step(apply, "a", deployment({"name": "c", "image": "i", "args": ["a", "b"]})),
           step(apply, "b", deployment({"name": "c", "args": ["b"]})),
           step(apply, "b", deployment({"name": "c", "args": ["b"]}), force=True)]
    meta = lambda **m: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": m}
    yield [step(apply, "a", meta(finalizers=["example.com/a", "example.com/b"], labels={"l": "1"}), name="sets and labels"),
           step(apply, "b", meta(finalizers=["example.com/b", "example.com/c"], labels={"m": "1"}, annotations={"x": "y"})),
           step(apply, "a", meta(finalizers=["example.com/b"])), step(apply, "b", meta(labels={"l": "2"})),
           step(apply, "a", meta(finalizers=[])), step(update, "cleaner", {"metadata": {"finalizers": None}})]
    yield [step(apply, "a", meta(ownerReferences=[{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "1"}]), name="owners"),
           step(apply, "b", meta(ownerReferences=[{"apiVersion": "v1", "kind": "X", "name": "m", "uid": "2"}])),
           step(apply, "a", meta())]
    pod_obj = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}],
                                                         "nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}}
    yield [step(apply, "a", pod_obj, name="pod"), step(apply, "b", {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"x": "y"}}}),
           step("merge", "kubelet", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, status=True),
           step("strategic", "sched", {"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}, status=True),
           step("strategic", "kubelet", {"status": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}}, status=True),
           step(apply, "a", pod_obj)]
    svc = lambda **s: {"apiVersion": "v1", "kind": "Service", "spec": dict({"clusterIP": "None"}, **s)}
    yield [step(apply, "a", svc(selector={"a": "b"}, ports=[{"port": 80, "name": "h"}]), name="atomic map"),
           step(apply, "b", svc(selector={"c": "d"})), step(apply, "b", svc(selector={"c": "d"}), force=True),
           step(apply, "a", svc(ports=[{"port": 80, "name": "h"}, {"port": 80, "protocol": "UDP", "name": "u"}])),
           step(apply, "a", svc(ports=[{"port": 80, "protocol": "UDP", "name": "u"}]))]
    odd = lambda **m: dict({"apiVersion": "v1", "kind": "ConfigMap"}, **m)
    for obj in (odd(dat={"a": "b"}), odd(data={"a": 1}), odd(data="x"), odd(data={"a": None}), odd(data=None),
                odd(metadata={"managedFields": [{"manager": "x"}]}), odd(immutable="x"),
                odd(metadata={"finalizers": ["example.com/a", "example.com/a"]})):
        yield [step(apply, "a", obj, name="odd")]
    for item in ({"image": "x"}, {"name": "c", "nope": 1}, {"name": 1}, "x"):
        yield [step(apply, "a", deployment(item), name="odd element")]
    yield [step(apply, "a", deployment({"name": "c", "image": "i"}, {"name": "c", "image": "j"}), name="duplicate key")]
    last = '{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"1"}}\n'
    annotated = dict(config_map(x="1", y="1"), metadata={"annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": last}})
    yield [step("create", "kubectl-client-side-apply", annotated, name="client-side before"),
           step(apply, "kubectl", config_map(x="2")), step(apply, "kubectl", config_map(x="2", y="2")),
           step(apply, "other", config_map(x="3"))]
    yield [step(apply, "a", config_map(x="1", y="1"), name="several conflicts"), step(apply, "c", config_map(z="1")),
           step("merge", "u", {"data": {"w": "1"}}), step(apply, "b", config_map(x="2", y="2", z="2", w="2")),
           step(apply, "b", config_map(x="2", y="2")), step(apply, "b", config_map(x="2", y="2", z="2", w="2"), force=True)]
