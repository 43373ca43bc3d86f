/* Controllers on a registry and a store in memory: workloads get their pods, rollouts keep their bounds, owners take
 * their dependents with them in the three ways, namespaces go when they are empty, Jobs complete. Pods name their node,
 * so that no scheduler is needed. */
#include "support/test.h"

#include "apiserver/bootstrap.h"
#include "apiserver/registry.h"
#include "apiserver/tree.h"
#include "controllers/controllers.h"

enum { PATIENCE_S = 30 };

struct fixture {
    struct loop *loop;
    struct store *store;
    struct registry *registry;
    struct controllers *controllers;
};

static void start_controllers(struct fixture *f)
{
    f->controllers = controllers_new(
        &(struct controllers_options){ .registry = f->registry, .loop = f->loop, .job_ms = 1 });
}

static void setup(struct fixture *f)
{
    static struct str kinds[128];
    static struct strbuf names[128];
    uint32_t count = 0;
    for (; resource_at(count); count++) {
        strbuf_clear(&names[count]);
        resource_write_name(resource_at(count), &names[count]);
        kinds[count] = strbuf_slice(&names[count]);
    }
    struct error err;
    *f = (struct fixture){ 0 };
    assert_int_equal(loop_new(NULL, &f->loop, &err), 0);
    assert_int_equal(
        store_open(&(struct store_options){ .kinds = kinds, .kind_count = count }, f->loop, &f->store, &err),
        0);
    f->registry = registry_new(&(struct registry_options){ .store = f->store, .seed = 1 });
    assert_int_equal(bootstrap_objects(f->registry, 1, &err), 0);
    for (uint32_t i = 0; i < count; i++)
        strbuf_release(&names[i]);
    start_controllers(f);
}

static void stop_controllers(struct fixture *f)
{
    controllers_free(f->controllers);
    loop_turn(f->loop);
}

static void teardown(struct fixture *f)
{
    stop_controllers(f);
    registry_free(f->registry);
    store_close(f->store);
    loop_free(f->loop);
}

/* ---- objects ---- */
static yyjson_mut_doc *parse(const char *json)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    assert_non_null(doc);
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_doc_free(doc);
    return copy;
}

static void create(struct fixture *f, const char *group, const char *plural, const char *ns, const char *json)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    yyjson_mut_doc *doc = parse(json);
    if (registry_create(f->registry, resource_named(group, plural), str_from(ns), doc,
                        &(struct write_options){ 0 }, &result, &err) < 0)
        fail_msg("%.*s", STR_ARG(err.message));
    registry_result_release(&result);
    api_error_release(&err);
    yyjson_mut_doc_free(doc);
}

static void delete(struct fixture *f, const char *group, const char *plural, const char *ns, const char *name,
                   const char *policy)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    struct delete_options options = { .propagation_policy = str_from(policy) };
    if (registry_delete(f->registry, resource_named(group, plural), str_from(ns), str_from(name), &options,
                        &result, &err) < 0)
        fail_msg("%.*s", STR_ARG(err.message));
    registry_result_release(&result);
    api_error_release(&err);
}

struct edit {
    const char *path, *key;
    const char *text; /* NULL: the number */
    int64_t number;
};

static int edit_object(void *user, yyjson_mut_doc *doc, struct api_error *err)
{
    (void)err;
    const struct edit *edit = user;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (edit->text) {
        yyjson_mut_val *container =
            yyjson_mut_arr_get_first(tree_mut_at(root, "spec.template.spec.containers"));
        tree_mut_put_str(doc, container, edit->key, str_from(edit->text));
    } else {
        tree_mut_put_int(doc, tree_mut_make(doc, root, edit->path), edit->key, edit->number);
    }
    return 0;
}

static void modify(struct fixture *f, const char *plural, const char *name, struct edit edit)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    if (registry_modify(f->registry, resource_named("apps", plural), STR("default"), str_from(name),
                        &(struct write_options){ 0 }, edit_object, &edit, &result, &err) < 0)
        fail_msg("%.*s", STR_ARG(err.message));
    registry_result_release(&result);
    api_error_release(&err);
}

static size_t count(struct fixture *f, const char *group, const char *plural, const char *ns)
{
    return store_count(f->store, &(struct store_range){ .kind = resource_named(group, plural)->storage,
                                                        .ns = str_from(ns) });
}

/* A value of an object as text: a string, or JSON. */
static bool value_is(struct fixture *f, const char *group, const char *plural, const char *name,
                     const char *path, const char *want)
{
    struct stored *object =
        store_get(f->store, resource_named(group, plural)->storage, STR("default"), str_from(name));
    if (!object)
        return false;
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *val = tree_at(yyjson_doc_get_root(doc), path);
    struct strbuf text = { 0 };
    if (yyjson_is_str(val))
        strbuf_str(&text, doc_text(val));
    else if (val)
        tree_write(val, &text);
    bool is = str_is(strbuf_slice(&text), want);
    strbuf_release(&text);
    yyjson_doc_free(doc);
    return is;
}

/* Turns of the loop until the condition holds. */
#define until(f, condition) \
    do { \
        int64_t until_ns_ = monotonic_ns() + PATIENCE_S * NS_PER_S; \
        while (!(condition)) { \
            loop_turn((f)->loop); \
            if (monotonic_ns() > until_ns_) \
                fail_msg("not in time: %s", #condition); \
        } \
    } while (0)

/* And until nothing changes for a while. */
static void settle(struct fixture *f)
{
    uint64_t revision = 0;
    for (int64_t quiet_ns = monotonic_ns(); monotonic_ns() - quiet_ns < 60 * NS_PER_MS;) {
        if (revision != store_revision(f->store)) {
            revision = store_revision(f->store);
            quiet_ns = monotonic_ns();
        }
        loop_turn(f->loop);
    }
}

#define TEMPLATE \
    "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"," \
    "\"image\":\"i:1\"}]}}"
#define SELECTOR "\"selector\":{\"matchLabels\":{\"a\":\"b\"}}"
#define REPLICA_SET \
    "{\"metadata\":{\"name\":\"rs\"},\"spec\":{\"replicas\":3," SELECTOR ",\"template\":" TEMPLATE "}}"
#define DEPLOYMENT \
    "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":4," SELECTOR ",\"template\":" TEMPLATE "}}"

static bool set_is_ready(struct fixture *f, const char *replicas)
{
    return value_is(f, "apps", "replicasets", "rs", "status.replicas", replicas) &&
           value_is(f, "apps", "replicasets", "rs", "status.readyReplicas", replicas) &&
           value_is(f, "apps", "replicasets", "rs", "status.availableReplicas", replicas);
}

static enum store_visited delete_first(void *user, struct stored *pod)
{
    struct fixture *f = user;
    delete (f, "", "pods", "default", pod->name.ptr, "");
    return STORE_STOP;
}

static void test_replica_set(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "apps", "replicasets", "default", REPLICA_SET);
    until(&f, set_is_ready(&f, "3"));
    modify(&f, "replicasets", "rs", (struct edit){ "spec", "replicas", .number = 5 });
    until(&f, set_is_ready(&f, "5"));
    modify(&f, "replicasets", "rs", (struct edit){ "spec", "replicas", .number = 2 });
    until(&f, set_is_ready(&f, "2") && count(&f, "", "pods", "") == 2);
    /* A pod that goes is replaced. */
    uint64_t before = store_revision(f.store);
    store_page(f.store, &(struct store_range){ .kind = resource_named("", "pods")->storage }, 0, delete_first,
               &f);
    until(&f,
          set_is_ready(&f, "2") && count(&f, "", "pods", "") == 2 && store_revision(f.store) > before + 3);
    settle(&f);
    assert_int_equal(count(&f, "", "pods", ""), 2);
    /* Nothing is written when nothing is to be done, also after a restart. */
    before = store_revision(f.store);
    stop_controllers(&f);
    start_controllers(&f);
    settle(&f);
    assert_int_equal(store_revision(f.store), before);
    teardown(&f);
}

/* ---- rollouts ---- */
static bool deployment_is(struct fixture *f, const char *replicas, const char *updated)
{
    return value_is(f, "apps", "deployments", "web", "status.replicas", replicas) &&
           value_is(f, "apps", "deployments", "web", "status.availableReplicas", replicas) &&
           value_is(f, "apps", "deployments", "web", "status.updatedReplicas", updated);
}

struct bounds {
    struct store_watcher watcher;
    struct fixture *f;
    int pods, ready, most, least;
};

static bool is_ready(const struct stored *pod)
{
    return pod && strstr(pod->json.ptr, "\"phase\":\"Running\"") &&
           !strstr(pod->json.ptr, "deletionTimestamp");
}

static void on_pod(struct store_watcher *watcher, const struct store_change *change)
{
    struct bounds *bounds = container_of(watcher, struct bounds, watcher);
    bounds->pods += (change->type == STORE_ADDED) - (change->type == STORE_DELETED);
    bounds->ready += (change->type != STORE_DELETED && is_ready(change->now)) - is_ready(change->old);
    bounds->most = MAX(bounds->most, bounds->pods);
    bounds->least = MIN(bounds->least, bounds->ready);
}

static struct str revision_of(struct fixture *f, char buf[static 32])
{
    struct stored *object =
        store_get(f->store, resource_named("apps", "deployments")->storage, STR("default"), STR("web"));
    const char *at = strstr(object->json.ptr, "deployment.kubernetes.io/revision\":\"");
    assert_non_null(at);
    return (struct str){ buf, (uint32_t)snprintf(buf, 32, "%ld", strtol(at + 36, NULL, 10)) };
}

static void test_deployment(void **state)
{
    (void)state;
    char buf[32];
    struct fixture f;
    setup(&f);
    create(&f, "apps", "deployments", "default", DEPLOYMENT);
    until(&f, deployment_is(&f, "4", "4"));
    settle(&f);
    assert_str(revision_of(&f, buf), "1");
    assert_true(value_is(&f, "apps", "deployments", "web", "status.observedGeneration", "1"));
    /* Another image: at most one pod more and one less, by the defaults of 25%. */
    struct bounds bounds = { { .kind = resource_named("", "pods")->storage, .changed = on_pod },
                             .f = &f,
                             .pods = 4,
                             .ready = 4,
                             .most = 4,
                             .least = 4 };
    assert_int_equal(store_subscribe(f.store, &bounds.watcher, store_revision(f.store)), 0);
    modify(&f, "deployments", "web", (struct edit){ NULL, "image", .text = "i:2" });
    until(&f, deployment_is(&f, "4", "4") && count(&f, "apps", "replicasets", "") == 2);
    settle(&f);
    assert_true(deployment_is(&f, "4", "4"));
    assert_int_equal(count(&f, "", "pods", ""), 4);
    assert_str(revision_of(&f, buf), "2");
    assert_in_range(bounds.most, 5, 6); /* a pod that terminates may still be there */
    assert_in_range(bounds.least, 3, 4);
    store_unsubscribe(f.store, &bounds.watcher);
    /* Back to the first one: its ReplicaSet is used again. */
    modify(&f, "deployments", "web", (struct edit){ NULL, "image", .text = "i:1" });
    until(&f, str_is(revision_of(&f, buf), "3"));
    settle(&f);
    assert_true(deployment_is(&f, "4", "4"));
    assert_int_equal(count(&f, "apps", "replicasets", ""), 2);
    modify(&f, "deployments", "web", (struct edit){ "spec", "replicas", .number = 7 });
    until(&f, deployment_is(&f, "7", "7"));
    /* Sets beyond the limit go. */
    modify(&f, "deployments", "web", (struct edit){ "spec", "revisionHistoryLimit", .number = 0 });
    until(&f, count(&f, "apps", "replicasets", "") == 1);
    teardown(&f);
}

static void test_recreate(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "apps", "deployments", "default",
           "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":3,\"strategy\":{\"type\":\"Recreate\"}"
           "," SELECTOR ",\"template\":" TEMPLATE "}}");
    until(&f, deployment_is(&f, "3", "3"));
    settle(&f);
    struct bounds bounds = { { .kind = resource_named("", "pods")->storage, .changed = on_pod },
                             .f = &f,
                             .pods = 3,
                             .ready = 3,
                             .most = 3,
                             .least = 3 };
    assert_int_equal(store_subscribe(f.store, &bounds.watcher, store_revision(f.store)), 0);
    modify(&f, "deployments", "web", (struct edit){ NULL, "image", .text = "i:2" });
    until(&f, deployment_is(&f, "3", "3") && count(&f, "apps", "replicasets", "") == 2);
    assert_int_equal(bounds.least, 0);
    assert_int_equal(bounds.most, 3);
    store_unsubscribe(f.store, &bounds.watcher);
    teardown(&f);
}

/* ---- owners ---- */
static void test_collector(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        size_t sets, pods; /* that are left */
    } cases[] = { { "Background", 0, 0 }, { "Foreground", 0, 0 }, { "Orphan", 1, 4 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        setup(&f);
        create(&f, "apps", "deployments", "default", DEPLOYMENT);
        until(&f, deployment_is(&f, "4", "4"));
        delete (&f, "apps", "deployments", "default", "web", cases[i].policy);
        until(&f, count(&f, "apps", "deployments", "") == 0);
        settle(&f);
        assert_int_equal(count(&f, "apps", "replicasets", ""), cases[i].sets);
        assert_int_equal(count(&f, "", "pods", ""), cases[i].pods);
        teardown(&f);
    }
}

/* In the foreground, the owner goes last. */
static void test_foreground_order(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "apps", "deployments", "default", DEPLOYMENT);
    until(&f, deployment_is(&f, "4", "4"));
    delete (&f, "apps", "deployments", "default", "web", "Foreground");
    until(&f, count(&f, "", "pods", "") == 0 || count(&f, "apps", "deployments", "") == 0);
    assert_int_equal(count(&f, "", "pods", ""), 0);
    until(&f, count(&f, "apps", "deployments", "") == 0);
    assert_int_equal(count(&f, "apps", "replicasets", ""), 0);
    teardown(&f);
}

static void test_namespace(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "", "namespaces", "", "{\"metadata\":{\"name\":\"x\"}}");
    until(&f, count(&f, "", "serviceaccounts", "x") == 1);
    create(&f, "apps", "deployments", "x", DEPLOYMENT);
    create(&f, "", "configmaps", "x", "{\"metadata\":{\"name\":\"c\"}}");
    until(&f, count(&f, "", "pods", "x") == 4);
    size_t namespaces = count(&f, "", "namespaces", "");
    delete (&f, "", "namespaces", "", "x", "");
    until(&f, count(&f, "", "namespaces", "") == namespaces - 1);
    assert_int_equal(count(&f, "", "pods", "x") + count(&f, "", "configmaps", "x") +
                         count(&f, "", "serviceaccounts", "x") + count(&f, "apps", "replicasets", "x"),
                     0);
    teardown(&f);
}

/* ---- Jobs ---- */
#define JOB_TEMPLATE \
    "\"template\":{\"spec\":{\"nodeName\":\"n\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":" \
    "\"c\",\"image\":" \
    "\"i\"}]}}"

static void test_job(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    struct bounds bounds = { { .kind = resource_named("", "pods")->storage, .changed = on_pod }, .f = &f };
    assert_int_equal(store_subscribe(f.store, &bounds.watcher, store_revision(f.store)), 0);
    create(&f, "batch", "jobs", "default",
           "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"completions\":5,\"parallelism\":2," JOB_TEMPLATE "}}");
    until(&f, value_is(&f, "batch", "jobs", "j", "status.succeeded", "5"));
    settle(&f);
    assert_int_equal(count(&f, "", "pods", ""), 5);
    assert_true(value_is(&f, "batch", "jobs", "j", "status.active", ""));
    create(&f, "batch", "jobs", "default",
           "{\"metadata\":{\"name\":\"k\"},\"spec\":{\"completions\":3,\"parallelism\":3,\"completionMode\":"
           "\"Indexed\"," JOB_TEMPLATE "}}");
    until(&f, value_is(&f, "batch", "jobs", "k", "status.succeeded", "3"));
    create(&f, "batch", "jobs", "default",
           "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"suspend\":true," JOB_TEMPLATE "}}");
    settle(&f);
    assert_int_equal(count(&f, "", "pods", ""), 8);
    store_unsubscribe(f.store, &bounds.watcher);
    teardown(&f);
}

/* ---- StatefulSets and volumes ---- */
#define STATEFUL_SET(policy) \
    "{\"metadata\":{\"name\":\"db\"},\"spec\":{\"replicas\":3,\"podManagementPolicy\":\"" policy \
    "\"," SELECTOR ",\"template\":" TEMPLATE \
    ",\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{\"storageClassName\":\"fast\"," \
    "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}]}}"
#define CLASS(name, mode) \
    "{\"metadata\":{\"name\":\"" name "\"},\"provisioner\":\"p\",\"reclaimPolicy\":\"Delete\"," \
    "\"volumeBindingMode\":\"" mode "\"}"

static bool stateful_is(struct fixture *f, const char *replicas, const char *updated)
{
    return value_is(f, "apps", "statefulsets", "db", "status.replicas", replicas) &&
           value_is(f, "apps", "statefulsets", "db", "status.readyReplicas", replicas) &&
           value_is(f, "apps", "statefulsets", "db", "status.updatedReplicas", updated);
}

static void test_stateful_set(void **state)
{
    (void)state;
    static const char *const sets[] = { STATEFUL_SET("OrderedReady"), STATEFUL_SET("Parallel") };
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        struct fixture f;
        setup(&f);
        create(&f, "storage.k8s.io", "storageclasses", "", CLASS("fast", "Immediate"));
        create(&f, "apps", "statefulsets", "default", sets[i]);
        until(&f, stateful_is(&f, "3", "3"));
        settle(&f);
        assert_true(value_is(&f, "", "pods", "db-2", "spec.hostname", "db-2"));
        assert_true(value_is(&f, "", "persistentvolumeclaims", "data-db-2", "status.phase", "Bound"));
        assert_int_equal(count(&f, "", "persistentvolumes", ""), 3);
        modify(&f, "statefulsets", "db", (struct edit){ NULL, "image", .text = "i:2" });
        until(&f, value_is(&f, "apps", "statefulsets", "db", "status.observedGeneration", "2"));
        until(&f, stateful_is(&f, "3", "3"));
        settle(&f);
        assert_int_equal(count(&f, "", "pods", ""), 3);
        assert_int_equal(count(&f, "apps", "controllerrevisions", ""), 2);
        modify(&f, "statefulsets", "db", (struct edit){ "spec", "replicas", .number = 1 });
        until(&f, stateful_is(&f, "1", "1") && count(&f, "", "pods", "") == 1);
        assert_true(value_is(&f, "", "pods", "db-0", "status.phase", "Running"));
        /* Claims stay; a volume goes with its claim. */
        assert_int_equal(count(&f, "", "persistentvolumeclaims", ""), 3);
        delete (&f, "", "persistentvolumeclaims", "default", "data-db-2", "");
        settle(&f);
        if (count(&f, "", "persistentvolumeclaims", "") == 2) /* nothing protects it */
            until(&f, count(&f, "", "persistentvolumes", "") == 2);
        teardown(&f);
    }
}

/* ---- one pod per node ---- */
#define DAEMON_SET "{\"metadata\":{\"name\":\"agent\"},\"spec\":{" SELECTOR ",\"template\":" TEMPLATE "}}"
#define NODE(name) "{\"metadata\":{\"name\":\"" name "\"}}"

static bool daemons_are(struct fixture *f, const char *desired, const char *updated)
{
    return value_is(f, "apps", "daemonsets", "agent", "status.desiredNumberScheduled", desired) &&
           value_is(f, "apps", "daemonsets", "agent", "status.updatedNumberScheduled", updated) &&
           value_is(f, "apps", "daemonsets", "agent", "status.numberAvailable", updated);
}

static enum store_visited highest_revision(void *user, struct stored *object)
{
    int64_t *max = user;
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    *max = MAX(*max, tree_int(yyjson_doc_get_root(doc), "revision", 0));
    yyjson_doc_free(doc);
    return STORE_COUNTS;
}

static int64_t newest_revision(struct fixture *f)
{
    int64_t max = 0;
    struct store_range range = { .kind = resource_named("apps", "controllerrevisions")->storage };
    store_page(f->store, &range, 0, highest_revision, &max);
    return max;
}

static void test_daemon_set(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "", "nodes", "", NODE("other"));
    create(&f, "apps", "daemonsets", "default", DAEMON_SET);
    until(&f, daemons_are(&f, "0", ""));
    settle(&f);
    assert_int_equal(count(&f, "", "pods", ""), 0);
    /* The template names a node, so it is the only one that it fits. */
    create(&f, "", "nodes", "", NODE("n"));
    until(&f, daemons_are(&f, "1", "1"));
    modify(&f, "daemonsets", "agent", (struct edit){ NULL, "image", .text = "i:2" });
    until(&f, newest_revision(&f) == 2 && daemons_are(&f, "1", "1"));
    settle(&f);
    assert_int_equal(count(&f, "", "pods", ""), 1);
    assert_int_equal(count(&f, "apps", "controllerrevisions", ""), 2);
    /* Back to the first template: its revision is the newest one again. */
    modify(&f, "daemonsets", "agent", (struct edit){ NULL, "image", .text = "i:1" });
    until(&f, newest_revision(&f) == 3 && daemons_are(&f, "1", "1"));
    settle(&f);
    assert_int_equal(count(&f, "apps", "controllerrevisions", ""), 2);
    uint64_t before = store_revision(f.store);
    stop_controllers(&f);
    start_controllers(&f);
    settle(&f);
    assert_int_equal(store_revision(f.store), before);
    delete (&f, "", "nodes", "", "n", "");
    until(&f, daemons_are(&f, "0", "") && count(&f, "", "pods", "") == 0);
    /* Revisions go with the set. */
    delete (&f, "apps", "daemonsets", "default", "agent", "Background");
    until(&f, count(&f, "apps", "controllerrevisions", "") == 0);
    teardown(&f);
}

#define CLAIM(name, class, more) \
    "{\"metadata\":{\"name\":\"" name "\"" more \
    "},\"spec\":{\"storageClassName\":\"" class "\",\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{" \
                                                "\"requests\":{\"storage\":\"2Gi\"}}}}"
#define VOLUME(name, size) \
    "{\"metadata\":{\"name\":\"" name \
    "\"},\"spec\":{\"storageClassName\":\"static\",\"capacity\":{\"storage\":\"" size \
    "\"},\"accessModes\":[\"ReadWriteOnce\"],\"persistentVolumeReclaimPolicy\":\"Retain\",\"hostPath\":{" \
    "\"path\":\"/x\"}}}"

static void test_claims(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "storage.k8s.io", "storageclasses", "", CLASS("late", "WaitForFirstConsumer"));
    create(&f, "", "persistentvolumes", "", VOLUME("small", "1Gi"));
    create(&f, "", "persistentvolumes", "", VOLUME("large", "9Gi"));
    create(&f, "", "persistentvolumes", "", VOLUME("fits", "3Gi"));
    create(&f, "", "persistentvolumeclaims", "default", CLAIM("a", "static", ""));
    until(&f, value_is(&f, "", "persistentvolumeclaims", "a", "status.phase", "Bound"));
    assert_true(value_is(&f, "", "persistentvolumeclaims", "a", "spec.volumeName", "fits"));
    /* Not before the scheduler has chosen a node. */
    create(&f, "", "persistentvolumeclaims", "default", CLAIM("b", "late", ""));
    settle(&f);
    assert_true(value_is(&f, "", "persistentvolumeclaims", "b", "spec.volumeName", ""));
    create(&f, "", "persistentvolumeclaims", "default",
           CLAIM("c", "late", ",\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n\"}"));
    until(&f, value_is(&f, "", "persistentvolumeclaims", "c", "status.phase", "Bound"));
    teardown(&f);
}

/* ---- disruption budgets ---- */
static bool budget_is(struct fixture *f, const char *name, const char *expected, const char *desired,
                      const char *healthy, const char *allowed)
{
    return value_is(f, "policy", "poddisruptionbudgets", name, "status.expectedPods", expected) &&
           value_is(f, "policy", "poddisruptionbudgets", name, "status.desiredHealthy", desired) &&
           value_is(f, "policy", "poddisruptionbudgets", name, "status.currentHealthy", healthy) &&
           value_is(f, "policy", "poddisruptionbudgets", name, "status.disruptionsAllowed", allowed);
}

#define BUDGET(name, rule) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" SELECTOR "," rule "}}"

static void test_budgets(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create(&f, "policy", "poddisruptionbudgets", "default", BUDGET("least", "\"minAvailable\":3"));
    create(&f, "policy", "poddisruptionbudgets", "default", BUDGET("share", "\"minAvailable\":\"60%\""));
    create(&f, "policy", "poddisruptionbudgets", "default", BUDGET("most", "\"maxUnavailable\":1"));
    create(&f, "apps", "deployments", "default", DEPLOYMENT);
    until(&f, deployment_is(&f, "4", "4"));
    until(&f, budget_is(&f, "least", "4", "3", "4", "1"));
    until(&f, budget_is(&f, "share", "4", "3", "4", "1"));
    until(&f, budget_is(&f, "most", "4", "3", "4", "1"));
    modify(&f, "deployments", "web", (struct edit){ "spec", "replicas", .number = 2 });
    until(&f, budget_is(&f, "least", "2", "3", "2", "0"));
    until(&f, budget_is(&f, "most", "2", "1", "2", "1"));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replica_set),
        cmocka_unit_test(test_deployment),
        cmocka_unit_test(test_recreate),
        cmocka_unit_test(test_collector),
        cmocka_unit_test(test_foreground_order),
        cmocka_unit_test(test_namespace),
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_stateful_set),
        cmocka_unit_test(test_daemon_set),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
