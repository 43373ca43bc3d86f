/* Equal pods share a class; fields that the built-in plugins read distinguish classes. Labels and affinity terms are
 * shared between classes; their numbers are reused, their epochs are not. */
#include "support/fixture.h"

#include "plugins/registry.h"

#define SPEC "containers: [{name: c, image: app, resources: {requests: {cpu: 1}}}]"
#define NAMED(name, meta, spec, status) \
    "{kind: Pod, metadata: {name: " name meta "}, spec: {" spec "}, status: {" status "}}"
#define META(meta) ", " meta, SPEC, ""
#define SPECS(spec) "", spec, ""
#define MORE(spec) "", SPEC ", " spec, ""
#define STATUS(status) "", SPEC, status
#define CONTAINER(fields) \
    "", "containers: [{name: c, image: app, resources: {requests: {cpu: 1}}, " fields "}]", ""

struct facet_case {
    const char *name, *meta, *spec, *status;
};

/* Each pod differs from all others in one field that scheduling depends on. */
static const struct facet_case facets[] = {
    { "plain", "", SPEC, "" },
    /* metadata */
    { "namespace", META("namespace: other") },
    { "a label", META("labels: {a: b}") },
    { "another value", META("labels: {a: c}") },
    { "an empty value", META("labels: {a: ''}") },
    { "key and value shifted", META("labels: {ab: ''}") },
    { "two labels", META("labels: {a: b, c: d}") },
    { "a controller",
      META("ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, controller: true}]") },
    { "its name",
      META("ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs2, controller: true}]") },
    { "its kind",
      META("ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: rs, controller: true}]") },
    { "its version",
      META("ownerReferences: [{apiVersion: v1, kind: ReplicaSet, name: rs, controller: true}]") },
    { "a controller without fields", META("ownerReferences: [{controller: true}]") },
    /* spec */
    { "scheduler", MORE("schedulerName: mine") },
    { "host network", MORE("hostNetwork: true") },
    { "host users", MORE("hostUsers: true") },
    { "no host users", MORE("hostUsers: false") },
    { "node selector", MORE("nodeSelector: {a: b}") },
    { "an empty affinity", MORE("affinity: {}") },
    { "an empty node affinity", MORE("affinity: {nodeAffinity: {}}") },
    { "required nodes, none",
      MORE("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: []}}}") },
    { "required nodes", MORE("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                             "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}") },
    { "required nodes by field",
      MORE("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [{matchFields: [{key: a, operator: Exists}]}]}}}") },
    { "another operator",
      MORE("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: DoesNotExist}]}]}}}") },
    { "values",
      MORE("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [x, z]}]}]}}}") },
    { "preferred nodes",
      MORE("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
           "preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}") },
    { "their weight",
      MORE("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 2, "
           "preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}") },
    { "pod affinity",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t}]}}") },
    { "pod affinity, empty selector",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "[{topologyKey: t, labelSelector: {}}]}}") },
    { "pod affinity, selector",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "[{topologyKey: t, labelSelector: {matchLabels: {a: b}}}]}}") },
    { "pod affinity, expression",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "[{topologyKey: t, labelSelector: {matchExpressions: [{key: a, operator: In, "
           "values: [b]}]}}]}}") },
    { "pod affinity, topology",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: u}]}}") },
    { "pod affinity, namespaces",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "[{topologyKey: t, namespaces: [x]}]}}") },
    { "pod affinity, all namespaces",
      MORE("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "[{topologyKey: t, namespaceSelector: {}}]}}") },
    { "preferred pod affinity",
      MORE("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
           "1, podAffinityTerm: {topologyKey: t}}]}}") },
    { "its weight",
      MORE("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
           "2, podAffinityTerm: {topologyKey: t}}]}}") },
    { "pod anti-affinity", MORE("affinity: {podAntiAffinity: "
                                "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t}]}}") },
    { "an empty pod anti-affinity", MORE("affinity: {podAntiAffinity: {}}") },
    { "preferred pod anti-affinity",
      MORE("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
           "[{weight: 1, podAffinityTerm: {topologyKey: t}}]}}") },
    { "toleration", MORE("tolerations: [{key: a, operator: Exists}]") },
    { "toleration, value", MORE("tolerations: [{key: a, value: v}]") },
    { "toleration, operator", MORE("tolerations: [{key: a, value: v, operator: Equal}]") },
    { "toleration, effect", MORE("tolerations: [{key: a, operator: Exists, effect: NoSchedule}]") },
    { "toleration of all", MORE("tolerations: [{operator: Exists}]") },
    { "spread",
      MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: DoNotSchedule}]") },
    { "spread, skew",
      MORE("topologySpreadConstraints: [{maxSkew: 2, topologyKey: t, whenUnsatisfiable: DoNotSchedule}]") },
    { "spread, topology",
      MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: u, whenUnsatisfiable: DoNotSchedule}]") },
    { "spread, soft",
      MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: ScheduleAnyway}]") },
    { "spread, selector", MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: "
                               "DoNotSchedule, labelSelector: {}}]") },
    { "spread, domains", MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: "
                              "DoNotSchedule, minDomains: 3}]") },
    { "spread, affinity policy",
      MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: "
           "DoNotSchedule, nodeAffinityPolicy: Ignore}]") },
    { "spread, taints policy",
      MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: "
           "DoNotSchedule, nodeTaintsPolicy: Honor}]") },
    { "spread, label keys",
      MORE("topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: "
           "DoNotSchedule, matchLabelKeys: [k]}]") },
    { "overhead", MORE("overhead: {cpu: 1}") },
    { "pod-level requests", MORE("resources: {requests: {cpu: 1}}") },
    { "pod-level limits", MORE("resources: {limits: {cpu: 1}}") },
    { "a claim", MORE("volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]") },
    { "a disk", MORE("volumes: [{name: v, gcePersistentDisk: {pdName: d}}]") },
    { "an image volume", MORE("volumes: [{name: v, image: {reference: r}}]") },
    { "two image volumes",
      MORE("volumes: [{name: v, image: {reference: r}}, {name: w, image: {reference: r}}]") },
    { "devices", MORE("resourceClaims: [{name: d, resourceClaimName: c}]") },
    /* containers */
    { "no containers", SPECS("") },
    { "image", SPECS("containers: [{name: c, image: app2, resources: {requests: {cpu: 1}}}]") },
    { "amount", SPECS("containers: [{name: c, image: app, resources: {requests: {cpu: 1001m}}}]") },
    { "a tiny bit more",
      SPECS("containers: [{name: c, image: app, resources: {requests: {cpu: 1000000001n}}}]") },
    { "resource", SPECS("containers: [{name: c, image: app, resources: {requests: {memory: 1}}}]") },
    { "limits",
      SPECS("containers: [{name: c, image: app, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}]") },
    { "a second container", MORE("initContainers: [{name: i, image: app}]") },
    { "a sidecar", MORE("initContainers: [{name: i, image: app, restartPolicy: Always}]") },
    { "host port", CONTAINER("ports: [{containerPort: 1, hostPort: 80}]") },
    { "host port, protocol", CONTAINER("ports: [{containerPort: 1, hostPort: 80, protocol: UDP}]") },
    { "host port, address", CONTAINER("ports: [{containerPort: 1, hostPort: 80, hostIP: 10.0.0.1}]") },
    { "restart rules", CONTAINER("restartPolicyRules: [{action: RestartAllContainers}]") },
    /* status: resources during a resize */
    { "allocated", STATUS("containerStatuses: [{name: c, allocatedResources: {cpu: 2}}]") },
    { "allocated elsewhere", STATUS("containerStatuses: [{name: d, allocatedResources: {cpu: 2}}]") },
    { "enforced", STATUS("containerStatuses: [{name: c, resources: {requests: {cpu: 2}}}]") },
    { "of an init container", STATUS("initContainerStatuses: [{name: c, allocatedResources: {cpu: 2}}]") },
    { "pod-level allocation", STATUS("allocatedResources: {cpu: 2}") },
    { "pod-level enforcement", STATUS("resources: {requests: {cpu: 2}}") },
    { "a resize is infeasible",
      STATUS("conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}]") },
    { "a resize is deferred",
      STATUS("conditions: [{type: PodResizePending, status: 'True', reason: Deferred}]") },
};

static void read_all(struct fixture *f)
{
    for (uint32_t i = 0; i < builtin_plugins.len; i++)
        plugin_reads(builtin_plugins.items[i], &f->cluster);
}

static void load_facet(struct fixture *f, size_t i, const char *suffix)
{
    char name[32];
    snprintf(name, sizeof(name), "p%zu%s", i, suffix);
    fixture_loadf(f, NAMED("%s", "%s", "%s", "%s"), name, facets[i].meta, facets[i].spec, facets[i].status);
}

static void test_facets(void **state)
{
    (void)state;
    struct fixture f;
    const struct pod_class *classes[ARRAY_SIZE(facets)];
    FIXTURE_BARE(&f);
    read_all(&f);
    for (size_t i = 0; i < ARRAY_SIZE(facets); i++) {
        load_facet(&f, i, "");
        classes[i] = f.last_pod->class;
        for (size_t k = 0; k < i; k++)
            if (classes[k] == classes[i])
                fail_msg("\"%s\" and \"%s\" share a class", facets[k].name, facets[i].name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(facets); i++) {
        load_facet(&f, i, "-again");
        if (f.last_pod->class != classes[i])
            fail_msg("two equal pods (%s) have two classes", facets[i].name);
        assert_int_equal(f.last_pod->class->refs, 2);
    }
    assert_int_equal(f.cluster.classes.len, ARRAY_SIZE(facets));
    fixture_release(&f);
}

/* Fields that identify one pod, or that no plugin reads. */
static const char *const irrelevant[] = {
    NAMED("p0", ", uid: u, annotations: {a: b}, creationTimestamp: '2026-01-01T00:00:00Z'", SPEC, ""),
    NAMED("p1", "", SPEC ", priority: 7, priorityClassName: high, preemptionPolicy: Never", ""),
    NAMED("p2", "", SPEC ", nodeName: here", ""),
    NAMED("p3", "", SPEC, "nominatedNodeName: here, phase: Pending"),
    NAMED("p4", "", SPEC, "conditions: [{type: Ready, status: 'True'}]"),
    NAMED("p5", ", deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [x]", SPEC, ""),
    NAMED("p6", ", ownerReferences: [{apiVersion: v1, kind: Node, name: here}]", SPEC, ""),
    NAMED("p7", "", SPEC ", schedulingGates: [{name: g}], terminationGracePeriodSeconds: 3", ""),
    NAMED("p8", "", "containers: [{name: other, image: app, resources: {requests: {cpu: 1000m}}}]", ""),
    NAMED("p9", "", SPEC ", volumes: [{name: tmp}]", ""),
    NAMED("p10", "", SPEC ", os: {name: linux}, serviceAccountName: other", ""),
};

static void test_irrelevant(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    read_all(&f);
    fixture_load(&f, NAMED("plain", "", SPEC, ""));
    const struct pod_class *plain = f.last_pod->class;
    for (size_t i = 0; i < ARRAY_SIZE(irrelevant); i++) {
        fixture_load(&f, irrelevant[i]);
        if (f.last_pod->class != plain)
            fail_msg("a class of its own: %s", irrelevant[i]);
    }
    fixture_release(&f);
}

/* ---- labels that are unique per pod ---- */
#define WEB(number, node) \
    "{kind: Pod, metadata: {name: web-" number \
    ", labels: {app: web, statefulset.kubernetes.io/pod-name: web-" number \
    ", apps.kubernetes.io/pod-index: '" number "'}}, spec: {" node SPEC "}}\n---\n"

static bool share_a_class(const struct fixture *f, const char *a, const char *b)
{
    return fixture_pod(f, a)->class == fixture_pod(f, b)->class;
}

/* Terms that may read such a label, which then distinguishes classes. */
static const char *const readers[] = {
    "{kind: Service, metadata: {name: s}, spec: {selector: {statefulset.kubernetes.io/pod-name: web-1}}}",
    "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {selector: "
    "{matchExpressions: "
    "[{key: apps.kubernetes.io/pod-index, operator: Exists}]}}}",
    "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: w}, spec: {selector: {matchLabels: "
    "{apps.kubernetes.io/pod-index: '1'}}}}",
    "{kind: Pod, metadata: {name: q}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, "
    "whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [apps.kubernetes.io/pod-index]}]}}",
    "{kind: Pod, metadata: {name: q}, spec: {affinity: {podAntiAffinity: "
    "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, labelSelector: {matchLabels: "
    "{statefulset.kubernetes.io/pod-name: web-0}}}]}}}}",
};

static void test_unique_labels(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        struct fixture f;
        FIXTURE_BARE(&f);
        read_all(&f);
        fixture_load(&f, "{kind: Node, metadata: {name: host}}");
        fixture_load(&f, WEB("0", "nodeName: host, ") WEB("1", "nodeName: host, ") WEB("2", ""));
        assert_true(share_a_class(&f, "web-0", "web-1"));
        assert_true(share_a_class(&f, "web-0", "web-2"));
        assert_int_equal(fixture_pod(&f, "web-0")->class->labels->placed.len, 2);
        fixture_load(&f, readers[i]);
        if (share_a_class(&f, "web-0", "web-1") || share_a_class(&f, "web-0", "web-2"))
            fail_msg("still one class: %s", readers[i]);
        for (int pod = 0; pod < 3; pod++) {
            const struct pod_info *info = fixture_pod(&f, pod == 0 ? "web-0" : pod == 1 ? "web-1" : "web-2");
            assert_ptr_equal(info->class->sample, info);
            assert_int_equal(info->class->refs, 1);
            assert_int_equal(info->class->labels->placed.len, pod < 2);
        }
        cluster_remove_pod(&f.cluster, fixture_pod(&f, "web-1"));
        fixture_load(&f, WEB("1", "nodeName: host, "));
        assert_false(share_a_class(&f, "web-0", "web-1"));
        fixture_release(&f);
    }
}

/* A later profile reads more fields: existing pods get other classes. */
static void test_reads_later(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NAMED("a", "", SPEC, "") "\n---\n" NAMED("b", "", SPEC ", os: {name: linux}", ""));
    assert_true(share_a_class(&f, "a", "b"));
    pod_key_read(&f.cluster, "spec.os");
    assert_false(share_a_class(&f, "a", "b"));
    assert_int_equal(f.cluster.classes.len, 2);
    fixture_release(&f);
}

static void test_paths(void **state)
{
    (void)state;
    struct key_path path;
    struct error err;
    assert_int_equal(pod_key_resolve("spec.containers[].ports[].hostPort", &path, &err), 0);
    assert_int_equal(path.lists_len, 2);
    assert_int_equal(pod_key_resolve("spec.colour", &path, &err), -EINVAL);
    assert_string_equal(err.text, "a pod has no field \"spec.colour\"");
    assert_int_equal(pod_key_resolve("spec.tolerations[].colour", &path, &err), -EINVAL);
    assert_int_equal(pod_key_resolve("spec.hostNetwork[].a", &path, &err), -EINVAL);
    assert_string_equal(err.text, "a pod has no list \"spec.hostNetwork\"");
}

/* ---- contents of a class ---- */
static int64_t amount_of(const struct amount *items, uint32_t len, uint32_t resource)
{
    for (uint32_t i = 0; i < len; i++)
        if (items[i].resource == resource)
            return items[i].value;
    return -1;
}

static void test_compiled(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    uint32_t gpu;
    assert_true(cluster_resource(&f.cluster, STR("example.com/gpu"), &gpu));
    fixture_load(
        &f, "{kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {overhead: {memory: 5}, containers: ["
            "{name: c, resources: {requests: {cpu: 300m, example.com/gpu: 2, made-up: 3, pods: 9}}, ports: "
            "[{containerPort: 1}, {containerPort: 2, hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}, "
            "{containerPort: 3, hostPort: 80}]}, {name: d}], affinity: {podAntiAffinity: "
            "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 4, podAffinityTerm: {topologyKey: "
            "t}}]}}}}");
    const struct pod_class *cls = f.last_pod->class;
    const struct intern *syms = &f.cluster.syms;
    assert_int_equal(cls->fit_len, 3); /* neither uncounted resources nor pods */
    assert_int_equal(amount_of(cls->fit, cls->fit_len, RES_CPU), 300);
    assert_int_equal(amount_of(cls->fit, cls->fit_len, RES_MEMORY), 5);
    assert_int_equal(amount_of(cls->fit, cls->fit_len, gpu), 2);
    assert_int_equal(amount_of(cls->used.items, cls->used.len, RES_CPU), 300);
    assert_int_equal(cls->used.nonzero_cpu_milli, 400); /* 100m for the container without requests */
    assert_int_equal(cls->used.nonzero_memory, 2 * 200 * 1024 * 1024 + 5);
    assert_int_equal(cls->ports_len, 2);
    assert_str(intern_text(syms, cls->ports[0].ip), "10.0.0.1");
    assert_str(intern_text(syms, cls->ports[0].protocol), "UDP");
    assert_str(intern_text(syms, cls->ports[1].ip), "0.0.0.0");
    assert_str(intern_text(syms, cls->ports[1].protocol), "TCP");
    assert_true(cls->has_affinity_section);
    assert_int_equal(cls->preferred.len, 1);
    assert_int_equal(cls->preferred.items[0].weight, -4);
    assert_int_equal(cls->anti.len, 0);
    assert_str(intern_text(syms, cls->labels->namespace), "default");
    fixture_release(&f);
}

/* ---- sharing below classes ---- */
#define APART(name, cpu, app) \
    "{kind: Pod, metadata: {name: " name ", labels: {app: " app \
    "}}, spec: {containers: [{name: c, resources: {requests: " \
    "{cpu: " cpu \
    "}}}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, " \
    "labelSelector: {matchLabels: {app: web}}}]}}}}"

static void test_owners(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, APART("a", "1", "web"));
    const struct pod_class *first = f.last_pod->class;
    fixture_load(&f, APART("b", "2", "web"));
    const struct pod_class *second = f.last_pod->class;
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(first->labels, second->labels);
    assert_ptr_equal(first->terms, second->terms);
    assert_int_equal(f.cluster.label_owners.len, 1);
    fixture_load(&f, APART("c", "1", "db"));
    const struct pod_class *third = f.last_pod->class;
    assert_int_not_equal(third->labels->number, first->labels->number);
    assert_ptr_equal(third->terms, first->terms); /* the terms are the same */

    /* The number of unused labels is reused, with another epoch. */
    uint32_t number = third->labels->number, epoch = third->labels->epoch;
    cluster_remove_pod(&f.cluster, fixture_pod(&f, "c"));
    fixture_load(&f, APART("d", "1", "cache"));
    assert_int_equal(f.last_pod->class->labels->number, number);
    assert_int_not_equal(f.last_pod->class->labels->epoch, epoch);
    /* The same labels again get a new epoch too, since cached results may be older. */
    cluster_remove_pod(&f.cluster, f.last_pod);
    fixture_load(&f, APART("c", "1", "db"));
    assert_int_not_equal(f.last_pod->class->labels->epoch, epoch);

    uint32_t terms_number = first->terms->number, terms_epoch = first->terms->epoch;
    cluster_remove_pod(&f.cluster, fixture_pod(&f, "a"));
    cluster_remove_pod(&f.cluster, fixture_pod(&f, "b"));
    cluster_remove_pod(&f.cluster, fixture_pod(&f, "c"));
    assert_int_equal(f.cluster.term_owners.len, 0);
    fixture_load(&f, APART("e", "1", "web"));
    assert_int_equal(f.last_pod->class->terms->number, terms_number);
    assert_int_not_equal(f.last_pod->class->terms->epoch, terms_epoch);
    fixture_release(&f);
}

/* The same terms in another namespace select other pods. */
static void test_terms_and_namespaces(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, APART("a", "1", "web"));
    const struct term_owner *here = f.last_pod->class->terms;
    const struct label_owner *labels_here = f.last_pod->class->labels;
    fixture_load(&f,
                 "{kind: Pod, metadata: {name: a, namespace: other, labels: {app: web}}, spec: {affinity: "
                 "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, "
                 "labelSelector: {matchLabels: {app: web}}}]}}}}");
    const struct term_owner *there = f.last_pod->class->terms;
    assert_ptr_not_equal(here, there);
    assert_true(pod_term_matches(&f.cluster, &here->anti.items[0], labels_here, false));
    assert_false(pod_term_matches(&f.cluster, &there->anti.items[0], labels_here, false));
    fixture_release(&f);
}

/* A class keeps its sample pod alive. */
static int freed;

static void count_free(void *context, const struct pod *pod)
{
    (void)pod;
    assert_ptr_equal(context, &freed);
    freed++;
}

static void test_sample(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    freed = 0;
    f.cluster.pod_free = count_free;
    f.cluster.pod_free_context = &freed;
    fixture_load(&f, NAMED("first", "", SPEC, ""));
    struct pod_info *first = f.last_pod;
    fixture_load(&f, NAMED("second", "", SPEC, ""));
    struct pod_class *cls = f.last_pod->class;
    cluster_remove_pod(&f.cluster, first);
    assert_int_equal(freed, 0);
    assert_ptr_equal(cls->sample, first);
    assert_ptr_equal(cls->sample->class, cls); /* the sample leads back to its class */
    assert_str(cls->sample->api->meta.name, "first");
    assert_null(cluster_find_pod(&f.cluster, STR("default"), STR("first")));
    cluster_remove_pod(&f.cluster, f.last_pod);
    assert_int_equal(freed, 2);
    assert_int_equal(f.cluster.classes.len, 0);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facets),        cmocka_unit_test(test_irrelevant),
        cmocka_unit_test(test_unique_labels), cmocka_unit_test(test_reads_later),
        cmocka_unit_test(test_paths),         cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_owners),        cmocka_unit_test(test_terms_and_namespaces),
        cmocka_unit_test(test_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
