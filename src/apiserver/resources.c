/* resources.c: the table of resources.
 *
 * Lookups are by one hash map of "group/version/plural". Custom rows keep their slot after they were removed, so that
 * a number always means the same resource. */
#include "apiserver/resources.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/map.h"
#include "base/vec.h"

#define X(name, text) [VERB_NUMBER_##name] = text,
static const char *const verb_names[] = { API_VERBS(X) };
#undef X

#define X(name, text, of, in, at, what) \
    [SUB_NUMBER_##name] = { STR(text), STR(of), STR(in), STR(at), (what) },
const struct subresource_row subresource_rows[SUB_NUMBER_COUNT] = { SUBRESOURCES(X) };
#undef X

#define NAMESPACED true
#define CLUSTER false
#define RESOURCE(in, at, many, one, type, scope, shorts, cats, what, parts) \
    { .group = STR(in), \
      .version = STR(at), \
      .plural = STR(many), \
      .singular = STR(one), \
      .kind = STR(type), \
      .short_names = STR(shorts), \
      .categories = STR(cats), \
      .verbs = (what), \
      .subresources = (parts), \
      .namespaced = scope },
static struct api_resource built_in[] = {
#include "apiserver/resources.def"
};

struct custom {
    struct str key; /* first, see strmap_make() */
    struct api_resource row;
    yyjson_doc *definition; /* of the row */
    bool is_served;
};

static struct {
    struct strmap by_path; /* of struct api_resource */
    struct strmap customs; /* of struct custom, those that were removed too */
    struct custom *slots[RESOURCES_CUSTOM_MAX];
    uint32_t custom_count;
    uint64_t changes, listed_changes;
    VEC(const struct api_resource *) listed;
    bool is_filled;
} table;

static void path_of(struct str group, struct str version, struct str plural, struct strbuf *out)
{
    strbuf_str(out, group);
    strbuf_putc(out, '/');
    strbuf_str(out, version);
    strbuf_putc(out, '/');
    strbuf_str(out, plural);
}

static void put_path(struct api_resource *row)
{
    struct strbuf path = { 0 };
    path_of(row->group, row->version, row->plural, &path);
    struct str key = str_dup(strbuf_slice(&path)); /* lives as long as the process */
    strmap_put(&table.by_path, key, row);
    strbuf_release(&path);
}

/* Events of both groups are the same objects. */
static uint32_t storage_of(uint32_t number)
{
    if (str_is(built_in[number].group, "events.k8s.io"))
        for (uint32_t i = 0; i < number; i++)
            if (str_empty(built_in[i].group) && str_is(built_in[i].plural, "events"))
                return i;
    return number;
}

static void fill(void)
{
    if (table.is_filled)
        return;
    table.is_filled = true;
    for (uint32_t i = 0; i < ARRAY_SIZE(built_in); i++) {
        built_in[i].number = i;
        built_in[i].storage = storage_of(i);
        put_path(&built_in[i]);
    }
}

const char *verb_name(enum api_verb verb)
{
    for (size_t i = 0; i < VERB_NUMBER_COUNT; i++)
        if (verb == (enum api_verb)(1 << i))
            return verb_names[i];
    return "";
}

enum subresource subresource_find(struct str name)
{
    for (size_t i = 0; i < SUB_NUMBER_COUNT; i++)
        if (str_eq(subresource_rows[i].name, name))
            return (enum subresource)(1 << i);
    return SUB_NONE;
}

const struct subresource_row *subresource_row(enum subresource subresource)
{
    for (size_t i = 0; i < SUB_NUMBER_COUNT; i++)
        if (subresource == (enum subresource)(1 << i))
            return &subresource_rows[i];
    return NULL;
}

uint32_t resources_max(void)
{
    return (uint32_t)ARRAY_SIZE(built_in) + RESOURCES_CUSTOM_MAX;
}

const struct api_resource *resource_at(uint32_t number)
{
    fill();
    if (number < ARRAY_SIZE(built_in))
        return &built_in[number];
    uint32_t slot = number - (uint32_t)ARRAY_SIZE(built_in);
    if (slot >= table.custom_count || !table.slots[slot]->is_served)
        return NULL;
    return &table.slots[slot]->row;
}

const struct api_resource *resource_of_storage(uint32_t storage)
{
    if (storage < ARRAY_SIZE(built_in))
        return resource_at(storage);
    for (uint32_t i = 0; i < table.custom_count; i++)
        if (table.slots[i]->is_served && table.slots[i]->row.storage == storage)
            return &table.slots[i]->row;
    return NULL;
}

/* ---- the order of discovery ---- */
/* "v2beta1" is {2, beta, 1}. Stable versions come before beta before alpha, higher numbers before lower ones; other
 * names come last. */
struct version_rank {
    int stability;
    int64_t major, minor;
};

static bool take_number(struct str *rest, int64_t *ret)
{
    uint32_t len = 0;
    while (len < rest->len && rest->ptr[len] >= '0' && rest->ptr[len] <= '9')
        len++;
    bool is_number = len && rest->ptr[0] != '0' && str_to_int64(str_slice(*rest, 0, len), ret);
    *rest = str_slice(*rest, len, rest->len);
    return is_number;
}

static struct version_rank rank_of(struct str version)
{
    static const struct str stages[] = { STR("alpha"), STR("beta") };
    struct version_rank rank = { 0 };
    struct str rest = version;
    if (!str_starts_with(rest, STR("v")))
        return rank;
    rest = str_slice(rest, 1, rest.len);
    if (!take_number(&rest, &rank.major))
        return (struct version_rank){ 0 };
    rank.stability = 3;
    for (int i = 0; i < (int)ARRAY_SIZE(stages); i++)
        if (str_starts_with(rest, stages[i])) {
            rest = str_slice(rest, stages[i].len, rest.len);
            rank.stability = take_number(&rest, &rank.minor) ? i + 1 : 0;
        }
    return rest.len || !rank.stability ? (struct version_rank){ 0 } : rank;
}

static int by_version(struct str a, struct str b)
{
    struct version_rank x = rank_of(a), y = rank_of(b);
    return COMPARE(y.stability, x.stability) ?: COMPARE(y.major, x.major) ?: COMPARE(y.minor, x.minor) ?: str_cmp(a, b);
}

static int by_listing(const void *a, const void *b)
{
    const struct api_resource *x = *(const struct api_resource *const *)a,
                              *y = *(const struct api_resource *const *)b;
    int order = COMPARE(x->is_custom, y->is_custom);
    if (order || !x->is_custom)
        return order ?: COMPARE(x->number, y->number);
    return str_cmp(x->group, y->group) ?: by_version(x->version, y->version) ?: str_cmp(x->plural, y->plural);
}

size_t resources_listed(const struct api_resource *const **ret)
{
    fill();
    if (!table.listed.len || table.listed_changes != table.changes) {
        vec_clear(&table.listed);
        for (uint32_t i = 0; i < resources_max(); i++)
            if (resource_at(i))
                *vec_push(&table.listed) = resource_at(i);
        vec_sort(&table.listed, by_listing);
        table.listed_changes = table.changes;
    }
    *ret = table.listed.items;
    return table.listed.len;
}

const struct api_resource *resource_find(struct str group, struct str version, struct str plural)
{
    fill();
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    path_of(group, version, plural, &path);
    const struct api_resource *row = strmap_get(&table.by_path, strbuf_slice(&path));
    return row ? resource_at(row->number) : NULL;
}

const struct api_resource *resource_named(const char *group, const char *plural)
{
    fill();
    for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
        if (str_is(built_in[i].group, group) && str_is(built_in[i].plural, plural))
            return &built_in[i];
    return NULL;
}

static void copy_texts(struct api_resource *to, const struct api_resource *from)
{
    const struct str *texts[] = { &from->group,      &from->version,        &from->plural,
                                  &from->singular,   &from->kind,           &from->short_names,
                                  &from->categories, &from->stored_version, &from->list_kind };
    struct str *places[] = { &to->group,       &to->version,    &to->plural,         &to->singular, &to->kind,
                             &to->short_names, &to->categories, &to->stored_version, &to->list_kind };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        free((void *)places[i]->ptr);
        *places[i] = str_dup(*texts[i]);
    }
}

const struct api_resource *resource_register(const struct api_resource *row)
{
    fill();
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    path_of(row->group, row->version, row->plural, &path);
    struct custom *custom = strmap_get(&table.customs, strbuf_slice(&path));
    bool is_new = !custom;
    if (is_new && table.custom_count == RESOURCES_CUSTOM_MAX)
        return NULL;
    if (is_new)
        custom = strmap_make(&table.customs, strbuf_slice(&path), sizeof(*custom));
    copy_texts(&custom->row, row);
    yyjson_doc_free(custom->definition);
    yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, row->definition));
    custom->definition = yyjson_mut_doc_imut_copy(copy, NULL);
    yyjson_mut_doc_free(copy);
    custom->row.definition = yyjson_doc_get_root(custom->definition);
    custom->row.storage = row->storage;
    custom->row.verbs = row->verbs;
    custom->row.subresources = row->subresources;
    custom->row.namespaced = row->namespaced;
    custom->row.is_custom = true;
    custom->is_served = true;
    table.changes++;
    if (is_new) {
        custom->row.number = (uint32_t)ARRAY_SIZE(built_in) + table.custom_count;
        table.slots[table.custom_count++] = custom;
        strmap_put(&table.by_path, custom->key, &custom->row);
    }
    return &custom->row;
}

void resource_unregister(const struct api_resource *resource)
{
    struct custom *custom = container_of(resource, struct custom, row);
    assert(resource->is_custom);
    custom->is_served = false;
    table.changes++;
}

uint64_t resources_changes(void)
{
    return table.changes;
}

void resource_write_name(const struct api_resource *resource, struct strbuf *out)
{
    strbuf_str(out, resource->plural);
    if (resource->group.len) {
        strbuf_putc(out, '.');
        strbuf_str(out, resource->group);
    }
}

void resource_write_version(const struct api_resource *resource, struct strbuf *out)
{
    if (resource->group.len) {
        strbuf_str(out, resource->group);
        strbuf_putc(out, '/');
    }
    strbuf_str(out, resource->version);
}

void resource_write_stored_version(const struct api_resource *resource, struct strbuf *out)
{
    struct api_resource stored = resource->is_custom ? *resource : *resource_at(resource->storage);
    if (resource->is_custom)
        stored.version = resource->stored_version;
    resource_write_version(&stored, out);
}
