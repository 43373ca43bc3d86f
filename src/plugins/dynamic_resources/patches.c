/* patches.c: bodies of requests; see grant.h. Lists of consumers and finalizers are merged by the API server. */
#include "plugins/dynamic_resources/grant.h"

#include "api/fields.h"
#include "api/object.h"
#include "plugins/dynamic_resources/claims.h"

static const struct str any_version = { 0 };

/* A body that is being written. */
struct body {
    struct strbuf text;
    struct json_writer json;
};

static void member(struct json_writer *json, const char *key, struct str value)
{
    if (value.len)
        json_member_str(json, key, value);
}

/* Begins the object and its metadata. Another uid is refused, another version is a conflict. */
static void begin(struct body *body, struct str uid, struct str version)
{
    body->json = json_writer(&body->text, JSON_COMPACT);
    json_begin_object(&body->json);
    json_key(&body->json, STR("metadata"));
    json_begin_object(&body->json);
    member(&body->json, "uid", uid);
    member(&body->json, "resourceVersion", version);
}

static void begin_status(struct body *body, struct str uid, struct str version)
{
    begin(body, uid, version);
    json_end_object(&body->json);
    json_key(&body->json, STR("status"));
    json_begin_object(&body->json);
}

static struct str end(struct body *body, struct arena *arena)
{
    json_end_object(&body->json);
    json_end_object(&body->json);
    struct str text = arena_str(arena, strbuf_slice(&body->text));
    strbuf_release(&body->text);
    return text;
}

struct str patch_finalizer(const struct resource_claim *claim, bool wanted, struct arena *arena)
{
    struct body body = { 0 };
    begin(&body, claim->meta.uid, claim->meta.resource_version);
    json_key(&body.json, wanted ? STR("finalizers") : STR("$deleteFromPrimitiveList/finalizers"));
    json_begin_array(&body.json);
    json_str(&body.json, STR(CLAIM_FINALIZER));
    json_end_array(&body.json);
    return end(&body, arena);
}

static void put_consumer(struct json_writer *json, const struct event_subject *pod)
{
    json_key(json, STR("reservedFor"));
    json_begin_array(json);
    json_begin_object(json);
    json_member_str(json, "resource", STR("pods"));
    json_member_str(json, "name", pod->name);
    json_member_str(json, "uid", pod->uid);
    json_end_object(json);
    json_end_array(json);
}

struct str patch_allocation(const struct resource_claim *claim, const struct allocation_result *allocation,
                            struct opt_time timestamp, const struct event_subject *pod, struct arena *arena)
{
    struct body body = { 0 };
    struct allocation_result patch = allocation ? *allocation : (struct allocation_result){ 0 };
    bool timed = claim->status.allocation && claim->status.allocation->timestamp.set;
    begin_status(&body, claim->meta.uid, claim->meta.resource_version);
    patch.timestamp = timestamp;
    if (allocation || (!timed && timestamp.set)) {
        json_key(&body.json, STR("allocation"));
        record_write(&(struct record_writer){ .json = &body.json }, api_allocation_type, &patch);
    }
    put_consumer(&body.json, pod);
    return end(&body, arena);
}

struct str patch_release(const struct resource_claim *claim, struct str pod_uid, struct arena *arena)
{
    struct body body = { 0 };
    begin_status(&body, claim->meta.uid, any_version);
    json_key(&body.json, STR("reservedFor"));
    json_begin_array(&body.json);
    json_begin_object(&body.json);
    json_member_str(&body.json, "$patch", STR("delete"));
    json_member_str(&body.json, "uid", pod_uid);
    json_end_object(&body.json);
    json_end_array(&body.json);
    return end(&body, arena);
}

struct str patch_deallocation(const struct resource_claim *claim, struct arena *arena)
{
    static const char *const gone[] = { "allocation", "devices", "reservedFor" };
    struct body body = { 0 };
    begin_status(&body, claim->meta.uid, claim->meta.resource_version);
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
        json_key(&body.json, str_from(gone[i]));
        json_null(&body.json);
    }
    return end(&body, arena);
}

struct str patch_new_claim(const struct resource_claim *claim, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct json_writer json = json_writer(&text, JSON_COMPACT);
    struct resource_claim bare = { .meta = claim->meta, .spec = claim->spec };
    bare.meta.uid = bare.meta.resource_version = (struct str){ 0 };
    object_encode_json(&(struct object){ .kind = KIND_RESOURCE_CLAIM, .ptr = &bare }, NULL, &json);
    return arena_str(arena, strbuf_slice(&text));
}

struct str patch_pod_claim(const struct event_subject *pod, struct str claim_name,
                           const struct extended_claim *extended, struct arena *arena)
{
    struct body body = { 0 };
    begin_status(&body, pod->uid, any_version);
    json_key(&body.json, STR("extendedResourceClaimStatus"));
    json_begin_object(&body.json);
    json_key(&body.json, STR("requestMappings"));
    json_begin_array(&body.json);
    list_for(&extended->mappings, mapping) {
        json_begin_object(&body.json);
        json_member_str(&body.json, "containerName", mapping->container);
        json_member_str(&body.json, "resourceName", mapping->resource);
        json_member_str(&body.json, "requestName", mapping->request);
        json_end_object(&body.json);
    }
    json_end_array(&body.json);
    json_member_str(&body.json, "resourceClaimName", claim_name);
    json_end_object(&body.json);
    return end(&body, arena);
}

struct str patch_node_claims(const struct event_subject *pod, const struct node_claim_list *list,
                             struct arena *arena)
{
    struct body body = { 0 };
    begin_status(&body, pod->uid, any_version);
    json_key(&body.json, STR("nodeAllocatableResourceClaimStatuses"));
    json_begin_array(&body.json);
    list_for(list, claim)
        record_write(&(struct record_writer){ .json = &body.json }, &node_claim_type, claim);
    json_end_array(&body.json);
    return end(&body, arena);
}
