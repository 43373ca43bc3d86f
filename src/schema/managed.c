/* managed.c: metadata.managedFields. */
#include "schema/managed.h"

#include "base/timestamp.h"
#include "codec/doc.h"
#include "schema/tree.h"

struct field_set *managed_new_set(struct managed *managed)
{
    return arena_new(&managed->arena, struct field_set);
}

static bool same_entry(const struct managed_entry *a, const struct managed_entry *b)
{
    return a->applied == b->applied && str_eq(a->manager, b->manager) &&
           str_eq(a->subresource, b->subresource) && (a->applied || str_eq(a->api_version, b->api_version));
}

struct managed_entry *managed_find(struct managed *managed, const struct managed_entry *same)
{
    vec_for(&managed->entries, entry)
        if (same_entry(entry, same))
            return entry;
    return NULL;
}

struct managed_entry *managed_get(struct managed *managed, const struct managed_entry *same)
{
    struct managed_entry *entry = managed_find(managed, same);
    if (!entry) {
        entry = vec_push(&managed->entries);
        *entry = *same;
        entry->manager = arena_str(&managed->arena, same->manager);
        entry->api_version = arena_str(&managed->arena, same->api_version);
        entry->subresource = arena_str(&managed->arena, same->subresource);
        entry->set = managed_new_set(managed);
    }
    return entry;
}

static struct str text_of(yyjson_val *object, const char *name)
{
    yyjson_val *val = yyjson_obj_get(object, name);
    return yyjson_is_str(val) ? doc_text(val) : (struct str){ 0 };
}

static bool read_entry(struct managed *managed, yyjson_val *val)
{
    struct str operation = text_of(val, "operation"), time = text_of(val, "time");
    struct timestamp parsed = { 0 };
    struct managed_entry entry = {
        .manager = text_of(val, "manager"),
        .api_version = text_of(val, "apiVersion"),
        .subresource = text_of(val, "subresource"),
        .applied = str_is(operation, "Apply"),
    };
    if ((!entry.applied && !str_is(operation, "Update")) || str_empty(entry.api_version) ||
        !str_is(text_of(val, "fieldsType"), "FieldsV1") || (time.len && !timestamp_parse(time, &parsed)))
        return false;
    entry.time = parsed.seconds;
    struct managed_entry *added = managed_get(managed, &entry);
    yyjson_val *fields = yyjson_obj_get(val, "fieldsV1");
    return !fields || field_set_read(added->set, fields, &managed->arena);
}

bool managed_read(struct managed *managed, yyjson_val *list)
{
    *managed = (struct managed){ 0 };
    size_t i, max;
    yyjson_val *val;
    yyjson_arr_foreach(doc_items(list), i, max, val) {
        /* Entries are looked up one by one: a client must not send thousands. */
        if (i >= 1000 || !read_entry(managed, val)) {
            managed_release(managed);
            *managed = (struct managed){ 0 };
            return false;
        }
    }
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    const struct managed_entry *x = a, *y = b;
    return COMPARE(y->applied, x->applied) ?: COMPARE(x->time, y->time) ?: str_cmp(x->manager, y->manager)
           ?: str_cmp(x->api_version, y->api_version)
           ?: str_cmp(x->subresource, y->subresource);
}

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, struct str text)
{
    if (text.len)
        yyjson_mut_obj_add_strncpy(doc, object, name, text.ptr, text.len);
}

yyjson_mut_val *managed_write(const struct managed *managed, yyjson_mut_doc *doc)
{
    if (!managed->entries.len)
        return NULL;
    qsort(managed->entries.items, managed->entries.len, sizeof(struct managed_entry), compare_entries);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    vec_for(&managed->entries, entry) {
        yyjson_mut_val *object = yyjson_mut_obj(doc);
        add_text(doc, object, "manager", entry->manager);
        yyjson_mut_obj_add_str(doc, object, "operation", entry->applied ? "Apply" : "Update");
        add_text(doc, object, "apiVersion", entry->api_version);
        char text[TIMESTAMP_LEN + 1];
        if (entry->time)
            add_text(doc, object, "time", timestamp_format(entry->time, text));
        yyjson_mut_obj_add_str(doc, object, "fieldsType", "FieldsV1");
        yyjson_mut_obj_add_val(doc, object, "fieldsV1", field_set_write(entry->set, doc));
        add_text(doc, object, "subresource", entry->subresource);
        yyjson_mut_arr_append(list, object);
    }
    return list;
}

void managed_prune(struct managed *managed)
{
    size_t kept = 0;
    for (size_t i = 0; i < managed->entries.len; i++) {
        struct managed_entry entry = managed->entries.items[i];
        if (field_set_empty(entry.set, FIELD_MEMBER))
            field_set_release(entry.set);
        else
            managed->entries.items[kept++] = entry;
    }
    managed->entries.len = kept;
}

/* The oldest updater that is not the one for old changes; NULL: none. */
static struct managed_entry *oldest_updater(struct managed *managed, const struct managed_entry * not)
{
    struct managed_entry *oldest = NULL;
    vec_for(&managed->entries, entry) {
        if (!entry->applied &&
            entry != not&&(!oldest || (COMPARE(entry->time, oldest->time)
                                           ?: str_cmp(entry->manager, oldest->manager)) < 0))
            oldest = entry;
    }
    return oldest;
}

void managed_cap(struct managed *managed, size_t max)
{
    for (;;) {
        size_t updaters = 0;
        vec_for(&managed->entries, entry)
            updaters += !entry->applied;
        if (updaters <= max)
            return;
        struct managed_entry *first = oldest_updater(managed, NULL);
        struct managed_entry *second = oldest_updater(managed, first);
        field_set_add(first->set, second->set, FIELD_MEMBER, &managed->arena);
        first->manager = STR("ancient-changes");
        first->subresource = (struct str){ 0 };
        first->time = second->time;
        field_set_release(second->set);
        *second = managed->entries.items[--managed->entries.len];
    }
}

void managed_release(struct managed *managed)
{
    vec_for(&managed->entries, entry)
        field_set_release(entry->set);
    vec_release(&managed->entries);
    arena_release(&managed->arena);
}
