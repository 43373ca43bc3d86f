/* deployment.c: a ReplicaSet per template of a Deployment, and how many replicas each has while the newest one takes
 * over: at most maxSurge pods more than wanted, at most maxUnavailable less than wanted that are available.
 *
 * The ReplicaSet of a template is found by the template itself, so that going back to an older one (rollout undo) uses
 * its ReplicaSet again, with a new revision. Not followed: proportional scaling of several ReplicaSets in the middle of
 * a rollout, and progressDeadlineSeconds. */
#include <stdio.h>
#include <stdlib.h>

#include "controllers/controller.h"

#define REVISION "deployment.kubernetes.io/revision"
#define REVISION_HISTORY "deployment.kubernetes.io/revision-history"
#define HASH_LABEL "pod-template-hash"

struct set {
    struct stored *object; /* referenced */
    yyjson_doc *doc;
    yyjson_val *json;
    int64_t replicas, wanted; /* wanted: as it is to be now */
    int64_t available, ready, status_replicas, revision;
};

struct rollout {
    struct controllers *controllers;
    const struct api_resource *resource, *sets_resource;
    struct stored *object;
    yyjson_val *json;
    VEC(struct set) sets; /* the oldest first */
    struct set *newest;   /* that of the template; NULL: there is none */
    int64_t replicas, surge, unavailable;
};

/* ---- reading ---- */
/* Keys of annotations have dots, so they are no paths. */
static struct str annotation(yyjson_val *json, const char *key)
{
    return doc_text(yyjson_obj_get(tree_at(json, "metadata.annotations"), key));
}

static int64_t revision_of(yyjson_val *json)
{
    int64_t revision = 0;
    str_to_int64(annotation(json, REVISION), &revision);
    return revision;
}

static int by_age(const void *a, const void *b)
{
    const struct set *x = a, *y = b;
    return COMPARE(x->object->created, y->object->created);
}

/* Is it the template, but for the label that tells ReplicaSets apart? */
static bool has_template(const struct set *set, yyjson_val *template)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *own = yyjson_val_mut_copy(doc, tree_at(set->json, "spec.template"));
    yyjson_mut_val *labels = tree_mut_at(own, "metadata.labels");
    if (labels)
        tree_mut_remove(labels, HASH_LABEL);
    bool is_same = tree_mut_equal(own, yyjson_val_mut_copy(doc, template));
    yyjson_mut_doc_free(doc);
    return is_same;
}

static void read_sets(struct rollout *rollout)
{
    known_vec known = controlled_by(rollout->controllers, rollout->object->uid, rollout->sets_resource);
    vec_for(&known, one) {
        if ((*one)->is_terminating)
            continue;
        struct set *set = vec_push(&rollout->sets);
        *set = (struct set){ .object = stored_ref((*one)->object) };
        set->doc = yyjson_read(set->object->json.ptr, set->object->json.len, 0);
        set->json = yyjson_doc_get_root(set->doc);
        set->replicas = set->wanted = tree_int(set->json, "spec.replicas", 0);
        set->available = tree_int(set->json, "status.availableReplicas", 0);
        set->ready = tree_int(set->json, "status.readyReplicas", 0);
        set->status_replicas = tree_int(set->json, "status.replicas", 0);
        set->revision = revision_of(set->json);
    }
    vec_release(&known);
    vec_sort(&rollout->sets, by_age);
    vec_for(&rollout->sets, set)
        if (!rollout->newest && has_template(set, tree_at(rollout->json, "spec.template")))
            rollout->newest = set;
}

static void release(struct rollout *rollout)
{
    vec_for(&rollout->sets, set) {
        yyjson_doc_free(set->doc);
        stored_unref(set->object);
    }
    vec_release(&rollout->sets);
}

/* ---- the ReplicaSet of the template ---- */
static void write_template_hash(struct strbuf *out, yyjson_val *template, int64_t collisions)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    tree_write(template, &text);
    write_hash(out, strbuf_slice(&text), collisions);
}

static int64_t max_revision(const struct rollout *rollout)
{
    int64_t max = 0;
    vec_for(&rollout->sets, set)
        if (set != rollout->newest)
            max = MAX(max, set->revision);
    return max;
}

/* Those of the Deployment but for kubectl's own, and those that say what it is part of. */
static void put_annotations(yyjson_mut_doc *doc, yyjson_mut_val *meta, const struct rollout *rollout,
                            int64_t revision)
{
    char number[32];
    yyjson_mut_val *own = tree_mut_make(doc, meta, "annotations");
    yyjson_val *annotations = tree_at(rollout->json, "metadata.annotations"), *key, *val;
    size_t i, max;
    if (yyjson_is_obj(annotations))
        yyjson_obj_foreach(annotations, i, max, key, val) {
            if (!str_starts_with(doc_text(key), STR("deployment.kubernetes.io/")) &&
                !str_is(doc_text(key), "kubectl.kubernetes.io/last-applied-configuration"))
                tree_mut_put_str(doc, own, yyjson_get_str(key), doc_text(val));
        }
    struct str before = tree_mut_str(yyjson_mut_obj_get(own, REVISION));
    snprintf(number, sizeof(number), "%lld", (long long)revision);
    if (before.len && !str_is(before, number)) {
        _cleanup_(strbuf_release) struct strbuf history = { 0 };
        strbuf_str(&history, tree_mut_str(yyjson_mut_obj_get(own, REVISION_HISTORY)));
        strbuf_printf(&history, "%s" STR_FMT, history.len ? "," : "", STR_ARG(before));
        tree_mut_put_str(doc, own, REVISION_HISTORY, strbuf_slice(&history));
    }
    tree_mut_put_str(doc, own, REVISION, str_from(number));
    snprintf(number, sizeof(number), "%lld", (long long)rollout->replicas);
    tree_mut_put_str(doc, own, "deployment.kubernetes.io/desired-replicas", str_from(number));
    snprintf(number, sizeof(number), "%lld", (long long)(rollout->replicas + rollout->surge));
    tree_mut_put_str(doc, own, "deployment.kubernetes.io/max-replicas", str_from(number));
}

static void create_set(struct rollout *rollout)
{
    yyjson_val *template = tree_at(rollout->json, "spec.template");
    _cleanup_(strbuf_release) struct strbuf hash = { 0 }, name = { 0 };
    write_template_hash(&hash, template, tree_int(rollout->json, "status.collisionCount", 0));
    strbuf_printf(&name, STR_FMT "-%s", STR_ARG(rollout->object->name), hash.text);
    yyjson_mut_doc *doc = from_template(rollout->resource, rollout->object, NULL, strbuf_slice(&name), false);
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc), *meta = yyjson_mut_obj_get(object, "metadata");
    yyjson_mut_val *spec = tree_mut_make(doc, object, "spec");
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, template);
    tree_mut_put_str(doc, tree_mut_make(doc, copy, "metadata.labels"), HASH_LABEL, strbuf_slice(&hash));
    tree_mut_put(doc, meta, STR("labels"),
                 yyjson_mut_val_mut_copy(doc, tree_mut_at(copy, "metadata.labels")));
    put_annotations(doc, meta, rollout, max_revision(rollout) + 1);
    /* The rollout says how many, once the set is there. */
    tree_mut_put_int(doc, spec, "replicas", 0);
    int64_t min_ready_s = tree_int(rollout->json, "spec.minReadySeconds", 0);
    if (min_ready_s)
        tree_mut_put_int(doc, spec, "minReadySeconds", min_ready_s);
    yyjson_val *selector = tree_at(rollout->json, "spec.selector");
    yyjson_mut_val *own = selector ? yyjson_val_mut_copy(doc, selector) : yyjson_mut_obj(doc);
    tree_mut_put_str(doc, tree_mut_make(doc, own, "matchLabels"), HASH_LABEL, strbuf_slice(&hash));
    tree_mut_put(doc, spec, STR("selector"), own);
    tree_mut_put(doc, spec, STR("template"), copy);
    create_object(rollout->controllers, rollout->sets_resource, rollout->object->ns, doc);
}

/* ---- how many replicas ---- */
static int64_t sum_wanted(const struct rollout *rollout)
{
    int64_t sum = 0;
    vec_for(&rollout->sets, set)
        sum += set->wanted;
    return sum;
}

static int64_t sum_available(const struct rollout *rollout)
{
    int64_t sum = 0;
    vec_for(&rollout->sets, set)
        sum += set->available;
    return sum;
}

/* Takes up to `most` replicas from older sets, of each no more than `of()` says. */
static int64_t shrink(struct rollout *rollout, int64_t most, bool only_unavailable)
{
    int64_t taken = 0;
    vec_for(&rollout->sets, set) {
        if (set == rollout->newest || taken >= most)
            continue;
        int64_t can = only_unavailable ? MAX(set->wanted - set->available, 0) : set->wanted;
        int64_t take = MIN(can, most - taken);
        set->wanted -= take;
        taken += take;
    }
    return taken;
}

static void plan_rolling(struct rollout *rollout)
{
    struct set *newest = rollout->newest;
    int64_t room = rollout->replicas + rollout->surge - sum_wanted(rollout);
    if (newest->wanted > rollout->replicas)
        newest->wanted = rollout->replicas;
    else if (newest->wanted < rollout->replicas && room > 0)
        newest->wanted += MIN(room, rollout->replicas - newest->wanted);
    int64_t min_available = rollout->replicas - rollout->unavailable;
    int64_t newest_unavailable = MAX(newest->wanted - newest->available, 0);
    int64_t most = sum_wanted(rollout) - min_available - newest_unavailable;
    if (most <= 0)
        return;
    shrink(rollout, most, true);
    int64_t spare = MIN(sum_available(rollout), sum_wanted(rollout)) - min_available;
    if (spare > 0)
        shrink(rollout, MIN(spare, most), false);
}

static void plan_recreate(struct rollout *rollout)
{
    bool is_clear = true;
    vec_for(&rollout->sets, set) {
        if (set == rollout->newest)
            continue;
        set->wanted = 0;
        known_vec pods = controlled_by(rollout->controllers, set->object->uid, resource_named("", "pods"));
        is_clear = is_clear && !pods.len;
        vec_release(&pods);
    }
    if (is_clear)
        rollout->newest->wanted = rollout->replicas;
}

struct set_change {
    const struct rollout *rollout;
    const struct set *set;
    int64_t revision; /* 0: stays */
};

static int change_set(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct set_change *change = user;
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    tree_mut_put_int(doc, tree_mut_make(doc, object, "spec"), "replicas", change->set->wanted);
    if (change->revision)
        put_annotations(doc, tree_mut_make(doc, object, "metadata"), change->rollout, change->revision);
    return 0;
}

static void apply(struct rollout *rollout)
{
    int64_t revision = MAX(rollout->newest->revision, max_revision(rollout) + 1);
    vec_for(&rollout->sets, set) {
        struct set_change change = { rollout, set, set == rollout->newest ? revision : 0 };
        if (set->wanted != set->replicas || change.revision)
            change_object(rollout->controllers, rollout->sets_resource, set->object, SUB_NONE, change_set,
                          &change);
    }
    rollout->newest->revision = revision;
}

/* Sets without pods, beyond those that a rollback may want. */
static void forget_old(struct rollout *rollout)
{
    int64_t limit = tree_int(rollout->json, "spec.revisionHistoryLimit", 10), old = 0;
    vec_for(&rollout->sets, set)
        old += set != rollout->newest;
    vec_for(&rollout->sets, set) {
        if (old <= limit)
            return;
        if (set == rollout->newest || set->replicas || set->wanted || set->status_replicas)
            continue;
        delete_object(rollout->controllers, rollout->sets_resource, set->object, "Background", -1);
        old--;
    }
}

/* ---- status ---- */
static void put_progress(yyjson_mut_doc *doc, yyjson_mut_val *status, const struct rollout *rollout,
                         bool is_complete)
{
    char message[320];
    if (!rollout->newest)
        return;
    struct str name = rollout->newest->object->name;
    snprintf(message, sizeof(message),
             is_complete ? "ReplicaSet \"" STR_FMT "\" has successfully progressed."
                         : "ReplicaSet \"" STR_FMT "\" is progressing.",
             STR_ARG(name));
    put_condition(doc, status, "Progressing", true,
                  is_complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated", message, true);
}

static int put_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct rollout *rollout = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    int64_t replicas = 0, ready = 0, available = sum_available(rollout);
    vec_for(&rollout->sets, set) {
        replicas += set->status_replicas;
        ready += set->ready;
    }
    int64_t updated = rollout->newest ? rollout->newest->status_replicas : 0;
    bool has_enough = available >= rollout->replicas - rollout->unavailable;
    bool is_complete =
        updated == rollout->replicas && replicas == rollout->replicas && available == rollout->replicas;
    tree_mut_put_int(doc, status, "observedGeneration", tree_int(rollout->json, "metadata.generation", 0));
    put_count(doc, status, "replicas", replicas);
    put_count(doc, status, "updatedReplicas", updated);
    put_count(doc, status, "readyReplicas", ready);
    put_count(doc, status, "availableReplicas", available);
    put_count(doc, status, "unavailableReplicas", MAX(rollout->replicas - available, 0));
    put_condition(doc, status, "Available", has_enough,
                  has_enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                  has_enough ? "Deployment has minimum availability."
                             : "Deployment does not have minimum availability.",
                  true);
    put_progress(doc, status, rollout, is_complete);
    return 0;
}

static int put_revision(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct rollout *rollout = user;
    char number[32];
    snprintf(number, sizeof(number), "%lld", (long long)rollout->newest->revision);
    tree_mut_put_str(doc, tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "metadata.annotations"), REVISION,
                     str_from(number));
    return 0;
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *object, yyjson_val *json)
{
    if (!object || tree_at(json, "metadata.deletionTimestamp"))
        return;
    struct rollout rollout = { .controllers = controllers,
                               .resource = resource,
                               .sets_resource = resource_named("apps", "replicasets"),
                               .object = object,
                               .json = json,
                               .replicas = tree_int(json, "spec.replicas", 1) };
    bool recreates = str_is(tree_text(json, "spec.strategy.type"), "Recreate");
    rollout.surge = recreates ? 0
                              : share_of(tree_at(json, "spec.strategy.rollingUpdate.maxSurge"),
                                         rollout.replicas, 25, true);
    rollout.unavailable = recreates ? 0
                                    : share_of(tree_at(json, "spec.strategy.rollingUpdate.maxUnavailable"),
                                               rollout.replicas, 25, false);
    if (!recreates && !rollout.surge && !rollout.unavailable)
        rollout.unavailable = 1;
    rollout.unavailable = MIN(rollout.unavailable, rollout.replicas);
    read_sets(&rollout);
    bool is_paused = tree_bool(json, "spec.paused");
    if (!rollout.newest && !is_paused) {
        create_set(&rollout); /* comes back through the queue */
    } else if (rollout.newest) {
        if (recreates && !is_paused)
            plan_recreate(&rollout);
        else if (!is_paused || rollout.sets.len == 1)
            plan_rolling(&rollout);
        apply(&rollout);
        forget_old(&rollout);
        /* Through the status, as the reference does: annotations of the object itself make a generation. */
        change_object(controllers, resource, object, SUB_STATUS, put_revision, &rollout);
    }
    change_object(controllers, resource, object, SUB_STATUS, put_status, &rollout);
    release(&rollout);
}

const struct controller controller_deployment = {
    .name = "deployment", .group = "apps", .plural = "deployments", .sync = sync_object
};
