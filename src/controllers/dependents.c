/* dependents.c: which objects name which others as their owners, and facts about pods, kept up with the store. */
#include <stdlib.h>

#include "base/timestamp.h"
#include "controllers/controller.h"

static void key_of(struct strbuf *key, uint32_t storage, struct str ns, struct str name)
{
    strbuf_printf(key, "%u " STR_FMT "/" STR_FMT, storage, STR_ARG(ns), STR_ARG(name));
}

struct known *known_find(struct controllers *controllers, const struct api_resource *resource, struct str ns,
                         struct str name)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    key_of(&key, resource->storage, ns, name);
    return strmap_get(&controllers->known, strbuf_slice(&key));
}

struct owner *owner_find(struct controllers *controllers, struct str uid)
{
    return strmap_get(&controllers->owners, uid);
}

static void leave_owners(struct controllers *controllers, struct known *known)
{
    vec_for(&known->owners, link) {
        struct owner *owner = (*link)->owner;
        list_remove(&owner->dependents, &(*link)->link);
        if (list_empty(&owner->dependents)) {
            strmap_remove(&controllers->owners, owner->uid);
            free(owner);
        }
        free(*link);
    }
    vec_release(&known->owners);
}

static void forget(struct controllers *controllers, struct known *known)
{
    leave_owners(controllers, known);
    host_join(controllers, known, STR(""));
    stored_unref(known->object);
    strmap_remove(&controllers->known, known->key);
    free(known);
}

void dependents_release(struct controllers *controllers)
{
    map_for(&controllers->known, slot)
        forget(controllers, slot->value);
    strmap_release(&controllers->known);
    strmap_release(&controllers->owners);
    hosts_release(controllers);
}

static void join_owners(struct controllers *controllers, struct known *known, yyjson_val *references)
{
    yyjson_val *reference;
    size_t i, max;
    if (!yyjson_is_arr(references))
        return;
    yyjson_arr_foreach(references, i, max, reference) {
        struct str uid = tree_text(reference, "uid");
        struct owner *owner = strmap_make(&controllers->owners, uid, sizeof(*owner));
        struct owner_link *link = xcalloc(1, sizeof(*link));
        *link = (struct owner_link){ .of = known,
                                     .owner = owner,
                                     .controls = tree_bool(reference, "controller"),
                                     .blocks = tree_bool(reference, "blockOwnerDeletion") };
        list_append(&owner->dependents, &link->link);
        *vec_push(&known->owners) = link;
    }
}

static int64_t seconds_of(struct str text)
{
    struct timestamp time;
    return timestamp_parse(text, &time) ? time.seconds : 0;
}

static void note_pod(struct controllers *controllers, struct known *known, yyjson_val *json)
{
    static const char *const phases[] = { "", "Pending", "Running", "Succeeded", "Failed" };
    struct str phase = tree_text(json, "status.phase");
    known->phase = PHASE_NONE;
    for (size_t i = 1; i < ARRAY_SIZE(phases); i++)
        if (str_is(phase, phases[i]))
            known->phase = (enum pod_phase)i;
    host_join(controllers, known, tree_text(json, "spec.nodeName"));
    known->has_node = known->host != NULL;
    if (known->is_terminating && !known->ending_ns)
        known->ending_ns = monotonic_ns();
    known->is_ready = false;
    yyjson_val *conditions = tree_at(json, "status.conditions"), *condition;
    size_t i, max;
    if (yyjson_is_arr(conditions))
        yyjson_arr_foreach(conditions, i, max, condition) {
            if (!str_is(tree_text(condition, "type"), "Ready"))
                continue;
            known->is_ready = str_is(tree_text(condition, "status"), "True");
            known->ready_s = seconds_of(tree_text(condition, "lastTransitionTime"));
        }
}

void dependents_follow(struct controllers *controllers, const struct api_resource *resource,
                       const struct store_change *change)
{
    struct stored *object = change->now;
    struct known *known = known_find(controllers, resource, object->ns, object->name);
    if (change->type == STORE_DELETED) {
        if (known)
            forget(controllers, known);
        return;
    }
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *json = yyjson_doc_get_root(doc), *references = tree_at(json, "metadata.ownerReferences");
    bool is_pod = str_empty(resource->group) && str_is(resource->plural, "pods");
    /* Another object of the same name has its own times. */
    if (known && !str_eq(known->object->uid, object->uid)) {
        forget(controllers, known);
        known = NULL;
    }
    if (!is_pod && !yyjson_arr_size(references)) {
        if (known)
            forget(controllers, known);
        yyjson_doc_free(doc);
        return;
    }
    if (!known) {
        _cleanup_(strbuf_release) struct strbuf key = { 0 };
        key_of(&key, resource->storage, object->ns, object->name);
        known = strmap_make(&controllers->known, strbuf_slice(&key), sizeof(*known));
        known->resource = resource;
        known->created_s = seconds_of(tree_text(json, "metadata.creationTimestamp"));
    }
    stored_unref(known->object);
    known->object = stored_ref(object);
    known->is_terminating = tree_at(json, "metadata.deletionTimestamp") != NULL;
    leave_owners(controllers, known);
    join_owners(controllers, known, references);
    if (is_pod)
        note_pod(controllers, known, json);
    yyjson_doc_free(doc);
}

bool known_is_active(const struct known *pod)
{
    return !pod->is_terminating && pod->phase != PHASE_SUCCEEDED && pod->phase != PHASE_FAILED;
}

known_vec controlled_by(struct controllers *controllers, struct str uid, const struct api_resource *resource)
{
    known_vec found = { 0 };
    struct owner *owner = owner_find(controllers, uid);
    if (owner)
        list_for_each(&owner->dependents, struct owner_link, link, link)
            if (link->controls && link->of->resource == resource)
                *vec_push(&found) = link->of;
    return found;
}
