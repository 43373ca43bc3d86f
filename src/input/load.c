/* load.c: from documents to objects; see load.h. */
#include "input/load.h"

#include <stdio.h>

#include "api/defaults.h"
#include "api/extra_kinds.h"
#include "api/fields.h"
#include "api/object.h"

enum { KINDS_SHOWN = 20, KIND_LEN_SHOWN = 63, UNKNOWN_SHOWN = 20 };

void load_release(struct load *load)
{
    documents_release(&load->documents);
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        vec_release(&load->objects[kind]);
        strmap_release(&load->by_name[kind]);
    }
    vec_release(&load->written);
    vec_release(&load->finished);
    vec_release(&load->ignored);
    vec_release(&load->implied);
    strmap_release(&load->ignored_places);
    unknown_fields_release(&load->unknown);
    strbuf_release(&load->key);
    arena_release(&load->arena);
}

/* ---- the table of objects ---- */

struct str full_name(struct strbuf *buf, struct str namespace, struct str name)
{
    strbuf_clear(buf);
    strbuf_str(buf, namespace);
    strbuf_putc(buf, '/');
    strbuf_str(buf, name);
    return strbuf_slice(buf);
}

void *load_find(const struct load *load, enum api_kind kind, struct str namespace, struct str name)
{
    _cleanup_(strbuf_release) struct strbuf buf = { 0 };
    size_t place = (size_t)strmap_get(&load->by_name[kind], full_name(&buf, namespace, name));
    return place ? load->objects[kind].items[place - 1] : NULL;
}

/* Puts the object in its table; returns the place of one with the same name that was there (then nothing is done), or
 * SIZE_MAX. */
static size_t insert(struct load *load, enum api_kind kind, struct meta *object)
{
    struct str full = full_name(&load->key, object->namespace, object->name);
    size_t place = (size_t)strmap_get(&load->by_name[kind], full);
    if (place)
        return place - 1;
    *vec_push(&load->objects[kind]) = object;
    strmap_put(&load->by_name[kind], arena_str(&load->arena, full), (void *)load->objects[kind].len);
    return SIZE_MAX;
}

void load_add(struct load *load, enum api_kind kind, struct meta *object)
{
    insert(load, kind, object);
}

void load_put(struct load *load, enum api_kind kind, struct meta *object)
{
    size_t place = insert(load, kind, object);
    if (place != SIZE_MAX)
        load->objects[kind].items[place] = object;
}

/* The list has changed: names lead to other places. */
static void index_names(struct load *load, enum api_kind kind)
{
    strmap_release(&load->by_name[kind]);
    for (size_t i = 0; i < load->objects[kind].len; i++) {
        const struct meta *object = load->objects[kind].items[i];
        struct str full = full_name(&load->key, object->namespace, object->name);
        strmap_put(&load->by_name[kind], arena_str(&load->arena, full), (void *)(i + 1));
    }
}

void load_retain(struct load *load, enum api_kind kind, bool (*keeps)(void *user, const struct meta *object),
                 void *user)
{
    object_vec *objects = &load->objects[kind];
    size_t len = 0;
    vec_for(objects, object)
        if (keeps(user, *object))
            objects->items[len++] = *object;
    if (len == objects->len)
        return;
    objects->len = len;
    index_names(load, kind);
}

void load_save(const struct load *load, struct load_state *ret)
{
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        vec_for(&load->objects[kind], object)
            *vec_push(&ret->objects[kind]) = *object;
}

void load_fork(struct load *ret, const struct load *from, const struct load_state *state)
{
    *ret = (struct load){ .reads_config_maps = from->reads_config_maps };
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        vec_for(&state->objects[kind], object)
            *vec_push(&ret->objects[kind]) = *object;
        index_names(ret, (enum api_kind)kind);
    }
    vec_for(&from->finished, pod)
        *vec_push(&ret->finished) = *pod;
    vec_for(&from->written, object)
        *vec_push(&ret->written) = *object;
}

void load_state_release(struct load_state *state)
{
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        vec_release(&state->objects[kind]);
}

static int compare_meta(const void *a, const void *b)
{
    const struct meta *x = *(struct meta *const *)a, *y = *(struct meta *const *)b;
    return str_cmp(x->namespace, y->namespace) ?: str_cmp(x->name, y->name);
}

struct meta **load_sorted(const struct load *load, enum api_kind kind)
{
    const object_vec *objects = &load->objects[kind];
    struct meta **sorted = xcalloc(objects->len + 1, sizeof(*sorted));
    if (objects->len)
        memcpy(sorted, objects->items, objects->len * sizeof(*sorted));
    bool in_order = true;
    for (size_t i = 1; i < objects->len && in_order; i++)
        in_order = compare_meta(&sorted[i - 1], &sorted[i]) <= 0;
    if (!in_order)
        qsort(sorted, objects->len, sizeof(*sorted), compare_meta);
    return sorted;
}

static bool is_finished(const struct pod *pod)
{
    return str_is(pod->status.phase, "Succeeded") || str_is(pod->status.phase, "Failed");
}

static void keep(struct load *load, enum api_kind kind, struct meta *object)
{
    if (kind == KIND_POD && is_finished((const struct pod *)object)) {
        *vec_push(&load->finished) = (struct pod *)object;
        return;
    }
    size_t place = insert(load, kind, object);
    if (place == SIZE_MAX)
        return;
    load->objects[kind].items[place] = object;
    if (load->duplicates++ == 0)
        load->duplicate =
            arena_printf(&load->arena, STR_FMT " " STR_FMT "%s" STR_FMT, STR_ARG(api_kinds[kind].kind),
                         STR_ARG(object->namespace), object->namespace.len ? "/" : "", STR_ARG(object->name));
}

static void count_ignored(struct load *load, struct str kind, size_t place)
{
    if (!place) {
        *vec_push(&load->ignored) = (struct kind_count){ arena_str(&load->arena, kind), 0 };
        place = load->ignored.len;
        strmap_put(&load->ignored_places, load->ignored.items[place - 1].kind, (void *)place);
    }
    load->ignored.items[place - 1].count++;
}

/* ---- documents ---- */

static bool reads(const struct load *load, enum api_kind kind)
{
    return kind == KIND_CLAIM_TEMPLATE ||
           (kind_is_modelled(kind) && (kind != KIND_CONFIG_MAP || load->reads_config_maps));
}

/* A kind by its name alone; KIND_UNKNOWN: none that is read. */
static enum api_kind kind_named(const struct load *load, struct str kind)
{
    for (int i = KIND_UNKNOWN + 1; i < KIND_LIVE_FIRST; i++)
        if (str_eq(api_kinds[i].kind, kind) && reads(load, (enum api_kind)i))
            return (enum api_kind)i;
    return KIND_UNKNOWN;
}

/* Of another group or version than those that are known, most likely: then that is reported as well. */
static int ignore(struct load *load, const struct doc *doc, yyjson_val *val, struct str kind,
                  struct str version, struct error *err)
{
    enum api_kind meant = kind_named(load, kind);
    if (meant != KIND_UNKNOWN && str_empty(version))
        return doc_error(doc, val, -EINVAL, err, "apiVersion: a " STR_FMT " needs one, such as " STR_FMT,
                         STR_ARG(kind), STR_ARG(api_kinds[meant].api_version));
    if (meant != KIND_UNKNOWN)
        kind = arena_printf(&load->arena, STR_FMT " " STR_FMT, STR_ARG(version), STR_ARG(kind));
    size_t place = (size_t)strmap_get(&load->ignored_places, kind);
    struct str plain = meant != KIND_UNKNOWN ? api_kinds[meant].kind : kind;
    if (place || !unknown_kind_check(&load->unknown, doc, val, plain, version))
        count_ignored(load, kind, place);
    return 0;
}

static int load_as(struct load *load, const struct doc *doc, yyjson_val *val, enum api_kind known,
                   struct str kind, struct str version, struct error *err)
{
    struct object object;
    int r = object_decode_as(doc, val, known, &load->arena, &object, err);
    if (r < 0)
        return r;
    object_convert(&object, version);
    if (str_empty(object.meta->name))
        return doc_error(doc, val, -EINVAL, err, "metadata.name: a " STR_FMT " needs a name", STR_ARG(kind));
    if (str_empty(object.meta->uid) && (known == KIND_POD || known == KIND_PVC || known == KIND_PV))
        *vec_push(&load->written) = object.meta;
    object_default(&object, &load->arena);
    unknown_fields_check(&load->unknown, doc, val, kind, version);
    keep(load, known, object.meta);
    return 0;
}

/* A ConfigMap may be both: policies, and of a kind that a plugin names. */
static int load_object(void *user, const struct doc *doc, yyjson_val *val, struct str kind,
                       struct str version, struct error *err)
{
    struct load *load = user;
    enum api_kind known = object_kind_from(version, kind), extra = extra_kind_find(version, kind);
    if (!reads(load, known))
        known = KIND_UNKNOWN;
    if (known == KIND_UNKNOWN && extra == KIND_UNKNOWN)
        return ignore(load, doc, val, kind, version, err);
    int r = known != KIND_UNKNOWN ? load_as(load, doc, val, known, kind, version, err) : 0;
    if (r == 0 && extra != KIND_UNKNOWN && extra != known)
        r = load_as(load, doc, val, extra, kind, version, err);
    return r;
}

int load_path(struct load *load, const char *path, struct error *err)
{
    load->documents.visit = load_object;
    load->documents.user = load;
    return documents_read(&load->documents, path, err);
}

/* ---- warnings ---- */

/* Kinds and names come from files: what would move a terminal's cursor is shown as '?'. */
void load_print_warning(struct strbuf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)text->text[i] < 0x20 || text->text[i] == 0x7f)
            text->text[i] = '?';
    fprintf(stderr, "berth: warning: %s\n", text->text);
}

static int by_count(const void *a, const void *b)
{
    const struct kind_count *x = a, *y = b;
    return COMPARE(y->count, x->count) ?: str_cmp(x->kind, y->kind);
}

static void warn_ignored(const struct load *load)
{
    size_t total = 0;
    vec_for(&load->ignored, row)
        total += row->count;
    if (!total)
        return;
    vec_sort(&load->ignored, by_count);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "ignored %zu object%s of kinds it does not use:", total, total == 1 ? "" : "s");
    size_t shown = MIN(load->ignored.len, (size_t)KINDS_SHOWN);
    for (size_t i = 0; i < shown; i++) {
        struct str kind = str_slice(load->ignored.items[i].kind, 0, KIND_LEN_SHOWN);
        strbuf_printf(&text, "%s " STR_FMT " (%zu)", i ? "," : "", STR_ARG(kind),
                      load->ignored.items[i].count);
    }
    if (load->ignored.len > shown)
        strbuf_printf(&text, " and %zu more kinds", load->ignored.len - shown);
    load_print_warning(&text);
}

static void print_unknown(const struct load *load, const char *prefix, size_t count)
{
    for (size_t i = 0; i < MIN(count, (size_t)UNKNOWN_SHOWN); i++) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        unknown_field_print(&load->unknown.rows.items[i], &text);
        fprintf(stderr, "berth: %s%s\n", prefix, text.text);
    }
    if (count > UNKNOWN_SHOWN)
        fprintf(stderr, "berth: %s%zu more fields like these\n", prefix, count - UNKNOWN_SHOWN);
}

int load_refuse_unknown(const struct load *load, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t count = load->unknown.rows.len;
    if (!count)
        return 0;
    print_unknown(load, "", count - 1);
    unknown_field_print(&load->unknown.rows.items[count - 1], &text);
    return error_set(err, -EINVAL, "%s", text.text);
}

void load_warn(const struct load *load)
{
    print_unknown(load, "warning: ", load->unknown.rows.len);
    if (load->unknown.runtime.objects) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        unknown_field_print(&load->unknown.runtime, &text);
        load_print_warning(&text);
    }
    warn_ignored(load);
    if (!load->duplicates)
        return;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "%zu object%s came again, such as " STR_FMT "; the last one counts",
                  load->duplicates, load->duplicates == 1 ? "" : "s", STR_ARG(load->duplicate));
    load_print_warning(&text);
}
