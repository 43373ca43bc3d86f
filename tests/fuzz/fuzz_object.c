/* Any document: its objects are decoded, or rejected with a place. Decoded objects satisfy the invariants of types.h:
 * maps and amounts are sorted, defaulting is idempotent, totals of pods have no name twice. */
#include "api/defaults.h"
#include "api/fields.h"
#include "api/pod_resources.h"
#include "fuzz/documents.h"
#include "fuzz/objects.h"

static void check_struct(const struct record_type *type, const char *ptr);

static void check_sorted(const struct str_map *map)
{
    for (uint32_t i = 1; i < map->len; i++)
        must(str_cmp(map->items[i - 1].key, map->items[i].key) < 0);
}

static void check_resources(const struct resource_list *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        must(list->items[i].amount.nano < 1000000000);
        must(i == 0 || str_cmp(list->items[i - 1].name, list->items[i].name) < 0);
    }
}

/* All lists have the same layout. */
static void check_list(const struct record_type *type, const struct str_list *list)
{
    const char *items = (const char *)list->items;
    must(items || !list->len);
    for (uint32_t i = 0; i < list->len; i++)
        check_struct(type, items + i * type->size);
}

static void check_field(const struct record_field *field, const char *at)
{
    if (field->kind == &record_PAIRS)
        check_sorted((const void *)at);
    else if (field->kind == &record_RESOURCES)
        check_resources((const void *)at);
    else if (field->kind == &record_STRUCT)
        check_struct(field->type, at);
    else if (field->kind == &record_PTR && *(const char *const *)at)
        check_struct(field->type, *(const char *const *)at);
    else if (field->kind == &record_LIST)
        check_list(field->type, (const void *)at);
}

static void check_struct(const struct record_type *type, const char *ptr)
{
    for (uint32_t i = 0; i < type->len; i++)
        check_field(&type->fields[i], ptr + type->fields[i].offset);
}

static void check_same(const struct resource_list *a, const struct resource_list *b)
{
    must(a->len == b->len);
    for (uint32_t i = 0; i < a->len; i++) {
        must(str_eq(a->items[i].name, b->items[i].name));
        must(quantity_cmp(a->items[i].amount, b->items[i].amount) == 0);
    }
}

static void check_pod(struct object *object, struct arena *arena)
{
    const struct pod *pod = object->ptr;
    struct pod_node_usage usage;
    struct resource_list fit, limits, again;
    const struct container_port **ports;
    const struct pod_requests_options opts = { .use_status = true,
                                               .use_status_pod_level = true,
                                               .largest_total = true };
    pod_node_requests(pod, opts, arena, &usage);
    pod_fit_requests(pod, opts, arena, &fit);
    pod_limits(pod, (struct pod_requests_options){ .use_status = true }, arena, &limits);
    check_resources(&usage.requests);
    check_resources(&fit);
    check_resources(&limits);
    for (uint32_t i = pod_host_ports(pod, arena, &ports); i > 0; i--)
        must(ports[i - 1]->host_port > 0);
    object_default(object, arena);
    pod_fit_requests(pod, opts, arena, &again);
    check_same(&fit, &again);
}

static void check_object(struct object *object, struct arena *arena)
{
    object_default(object, arena);
    if (!object->ptr)
        return;
    check_struct(api_kinds[object->kind].type, object->ptr);
    must(object->meta->uid.len && object->meta->resource_version.len);
    if (object->kind == KIND_POD)
        check_pod(object, arena);
}

static void visit(const struct doc *doc)
{
    fuzz_each_object(doc, check_object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_documents(data, size, false, visit);
    fuzz_documents(data, size, true, visit);
    return 0;
}
