/* unknown_fields.c: one walk over an object beside its type; see unknown_fields.h. Values are judged in
 * field_values.h. */
#include "input/unknown_fields.h"

#include "codec/path.h"
#include "input/field_values.h"
#include "schema/schema.h"

enum {
    LIVE_BYTES_MAX = 4 << 20, /* of JSON: in longer ones objects of an API server are not looked at */
    NAME_SHOWN = 100,
    SLIPS_MAX = 2,    /* of the pen, in what is likely to be meant */
    LEVELS_BELOW = 3, /* that are searched for a field that stands too high */
};

/* An object within an object: where the walk is. */
struct place {
    const struct place *above; /* the object around it */
    const struct schema_type *type;
    const struct path *path; /* NULL: the whole object */
};

struct walk {
    struct unknown_fields *fields;
    const struct doc *doc;
    yyjson_val *object;
    struct str kind;
    bool is_written; /* by a user: no API server has seen it */
};

void unknown_fields_release(struct unknown_fields *fields)
{
    vec_release(&fields->rows);
    strmap_release(&fields->places);
    arena_release(&fields->arena);
}

void unknown_field_print(const struct unknown_field *field, struct strbuf *out)
{
    strbuf_str(out, field->sentence);
    if (field->objects > 1)
        strbuf_printf(out, " (and in %zu more object%s)", field->objects - 1, field->objects == 2 ? "" : "s");
}

/* ---- what may be meant ---- */

static void cut_back(struct strbuf *buf, size_t len)
{
    buf->len = len;
    buf->text[len] = '\0';
}

/* A field of that name further in: "template.spec.nodeSelector" for one of a Deployment's spec. */
static bool find_below(const struct schema_type *type, struct str name, unsigned levels, struct strbuf *path)
{
    if (levels == 0) {
        if (schema_field(type, name))
            strbuf_str(path, name);
        return schema_field(type, name);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct schema_field *field = &type->fields[i];
        bool is_list = field->value.kind == SCHEMA_LIST;
        const struct schema_value *value = is_list ? field->value.item : &field->value;
        if (value->kind != SCHEMA_OBJECT || str_is(field->name, "status") || str_is(field->name, "metadata"))
            continue;
        size_t len = path->len;
        strbuf_str(path, field->name);
        strbuf_puts(path, is_list ? "[]." : ".");
        if (find_below(value->type, name, levels - 1, path))
            return true;
        cut_back(path, len);
    }
    return false;
}

/* The field of the type whose name is nearest and has at most so many slips, or NULL. */
static const struct schema_field *find_nearest(const struct schema_type *type, struct str name, size_t slips)
{
    const struct schema_field *best = NULL;
    size_t near = slips + 1;
    for (uint32_t i = 0; i < type->field_count; i++) {
        size_t distance = str_distance(name, type->fields[i].name, true);
        if (distance < near) {
            near = distance;
            best = &type->fields[i];
        }
    }
    return best;
}

static void print_below(struct strbuf *out, const struct path *path)
{
    path_print(out, path);
    if (path)
        strbuf_putc(out, '.');
}

/* Prints the path from the top of the object if there is a field of that name further in. */
static bool print_inner(struct strbuf *out, const struct place *place, struct str name)
{
    size_t len = out->len;
    print_below(out, place->path);
    for (unsigned levels = 1; levels <= LEVELS_BELOW; levels++)
        if (find_below(place->type, name, levels, out))
            return true;
    cut_back(out, len);
    return false;
}

/* The same for one further out. */
static bool print_outer(struct strbuf *out, const struct place *place, struct str name)
{
    for (const struct place *above = place->above; above; above = above->above)
        if (schema_field(above->type, name)) {
            print_below(out, above->path);
            strbuf_str(out, name);
            return true;
        }
    return false;
}

static bool print_near(struct strbuf *out, const struct place *place, struct str name, size_t slips)
{
    const struct schema_field *near = find_nearest(place->type, name, slips);
    if (near)
        strbuf_str(out, near->name);
    return near;
}

/* Indented too far, misspelled, not far enough, or badly misspelled. */
static void print_meant(struct strbuf *out, const struct place *place, struct str name)
{
    size_t len = out->len;
    strbuf_puts(out, "; did you mean ");
    if (print_outer(out, place, name) || print_near(out, place, name, SLIPS_MAX) ||
        print_inner(out, place, name) || print_near(out, place, name, name.len / 3))
        strbuf_putc(out, '?');
    else
        cut_back(out, len);
}

/* ---- the rows ---- */

/* The kind, the path without what stands in brackets, and what is wrong there. */
static void print_key(const struct walk *walk, const struct path *where, struct str wrong, struct strbuf *key)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    path_print(&path, where);
    strbuf_printf(key, STR_FMT " ", STR_ARG(walk->kind));
    bool inside = false;
    for (size_t i = 0; i < path.len; i++) {
        inside = path.text[i] == '[' || (inside && path.text[i] != ']');
        if (!inside)
            strbuf_putc(key, path.text[i]);
    }
    strbuf_printf(key, " " STR_FMT, STR_ARG(wrong));
}

/* "FILE:LINE:COLUMN: Pod shop/web: " */
static void print_object(const struct walk *walk, const yyjson_val *at, struct strbuf *text)
{
    size_t line, column;
    yyjson_val *meta = yyjson_obj_get(walk->object, "metadata");
    struct str namespace = doc_member_text(meta, "namespace"), name = doc_member_text(meta, "name");
    if (str_empty(name))
        name = doc_member_text(meta, "generateName");
    doc_where(walk->doc, at, &line, &column);
    strbuf_printf(text, "%s:%zu:%zu: ", walk->doc->stream->path, line, column);
    path_print_shown(text, walk->kind, NAME_SHOWN);
    strbuf_putc(text, ' ');
    path_print_shown(text, namespace, NAME_SHOWN);
    if (!str_empty(namespace))
        strbuf_putc(text, '/');
    path_print_shown(text, name, NAME_SHOWN);
    strbuf_puts(text, ": ");
}

/* The row of this key. Of a new one, *ret_new is true. */
static struct unknown_field *find_row(struct unknown_fields *fields, struct str key, bool *ret_new)
{
    size_t at = (size_t)strmap_get(&fields->places, key);
    *ret_new = !at;
    if (!at) {
        *vec_push(&fields->rows) = (struct unknown_field){ 0 };
        at = fields->rows.len;
        strmap_put(&fields->places, arena_str(&fields->arena, key), (void *)at);
    }
    return &fields->rows.items[at - 1];
}

/* `wrong`: of a value. Of an unknown field, none: what may be meant is found here. */
static void report(const struct walk *walk, const struct place *place, const yyjson_val *at, struct str name,
                   struct str wrong)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 }, text = { 0 };
    const struct path path = { .parent = place->path, .name = name };
    bool is_new;
    print_key(walk, &path, wrong, &key);
    struct unknown_field *row = find_row(walk->fields, strbuf_slice(&key), &is_new);
    row->objects += row->last != walk->fields->objects;
    row->last = walk->fields->objects;
    if (!is_new)
        return;
    print_object(walk, at, &text);
    strbuf_puts(&text, wrong.len ? "" : "unknown field ");
    path_print(&text, &path);
    if (wrong.len)
        strbuf_printf(&text, ": " STR_FMT, STR_ARG(wrong));
    else
        print_meant(&text, place, name);
    row->sentence = arena_str(&walk->fields->arena, strbuf_slice(&text));
}

/* ---- the walk ---- */

static void walk_value(const struct walk *walk, const struct schema_value *value, yyjson_val *val,
                       const struct path *path, const struct place *above);

static void check_word(const struct walk *walk, const struct place *place, const struct schema_field *field,
                       yyjson_val *val)
{
    _cleanup_(strbuf_release) struct strbuf wrong = { 0 };
    if (field_word_refused(place->type, field, doc_text(val), &wrong))
        report(walk, place, val, field->name, strbuf_slice(&wrong));
}

static void check_amounts(const struct walk *walk, const struct place *place,
                          const struct schema_field *field, yyjson_val *amounts)
{
    size_t i, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(amounts, i, count, key, val) {
        _cleanup_(strbuf_release) struct strbuf wrong = { 0 };
        if (field_amount_refused(place->type, field, doc_text(key), val, &wrong))
            report(walk, place, key, field->name, strbuf_slice(&wrong));
    }
}

/* Words, lists of words, and amounts of resources. */
static void check_value(const struct walk *walk, const struct place *place, const struct schema_field *field,
                        yyjson_val *val)
{
    size_t i, count;
    yyjson_val *item;
    if (yyjson_is_str(val))
        check_word(walk, place, field, val);
    else if (yyjson_is_arr(val) && field->value.kind == SCHEMA_LIST && field->enum_words.len)
        yyjson_arr_foreach(val, i, count, item)
            check_word(walk, place, field, item);
    else if (yyjson_is_obj(val) && field->value.kind == SCHEMA_MAP)
        check_amounts(walk, place, field, val);
}

/* Is this in the status, which is not the user's? */
static bool is_in_status(const struct path *path)
{
    while (path && path->parent)
        path = path->parent;
    return path && str_is(path->name, "status");
}

static bool has_required(const struct schema_type *type)
{
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].required)
            return true;
    return false;
}

/* A spec that is left out is an empty one. */
static bool is_required(const struct schema_field *field)
{
    return field->required || (str_is(field->name, "spec") && field->value.kind == SCHEMA_OBJECT &&
                               has_required(field->value.type));
}

static void check_required(const struct walk *walk, yyjson_val *object, const struct place *place)
{
    for (uint32_t i = 0; i < place->type->field_count; i++) {
        const struct schema_field *field = &place->type->fields[i];
        yyjson_val *val = yyjson_obj_getn(object, field->name.ptr, field->name.len);
        if ((!val || yyjson_is_null(val)) && is_required(field))
            report(walk, place, object, field->name, STR("this field is required"));
    }
}

/* An operator and as many values as it takes. */
static void check_requirement(const struct walk *walk, yyjson_val *object, const struct place *place)
{
    _cleanup_(strbuf_release) struct strbuf wrong = { 0 };
    if (field_values_refused(place->type, object, &wrong))
        report(walk, place, object, STR("values"), strbuf_slice(&wrong));
}

/* A workload must select the pods of its template. */
static void check_selector(const struct walk *walk, yyjson_val *spec, const struct place *place)
{
    size_t i, count;
    yyjson_val *key, *val, *template = yyjson_obj_get(spec, "template");
    yyjson_val *meta = yyjson_obj_get(template, "metadata"), *labels = yyjson_obj_get(meta, "labels");
    yyjson_val *wanted = yyjson_obj_get(yyjson_obj_get(spec, "selector"), "matchLabels");
    struct path below = { .parent = place->path, .name = STR("template") };
    struct path path = { .parent = &below, .name = STR("metadata") };
    if (!template || !schema_field(place->type, STR("template")))
        return;
    yyjson_obj_foreach(wanted, i, count, key, val) {
        _cleanup_(strbuf_release) struct strbuf wrong = { 0 };
        if (str_eq(doc_text(val), doc_member_text(labels, yyjson_get_str(key))))
            continue;
        strbuf_puts(&wrong, "the selector wants ");
        path_print_shown(&wrong, doc_text(key), NAME_SHOWN);
        strbuf_putc(&wrong, '=');
        path_print_shown(&wrong, doc_text(val), NAME_SHOWN);
        report(walk, &(const struct place){ place, place->type, &path }, labels ?: meta ?: template,
               STR("labels"), strbuf_slice(&wrong));
    }
}

/* An API server would add what the RuntimeClass says to a new pod. */
static void check_runtime(const struct walk *walk, yyjson_val *spec, const struct place *place)
{
    struct unknown_field *row = &walk->fields->runtime;
    struct str class = doc_member_text(spec, "runtimeClassName");
    if (!str_is(place->type->name, "PodSpec") || str_empty(class) || yyjson_obj_get(spec, "overhead"))
        return;
    if (row->objects++)
        return;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    print_object(walk, yyjson_obj_get(spec, "runtimeClassName"), &text);
    strbuf_puts(&text, "RuntimeClass ");
    path_print_shown(&text, class, NAME_SHOWN);
    strbuf_puts(&text,
                " is not read: the overhead, nodeSelector and tolerations that it adds to pods are left out, "
                "unless the pod has them");
    row->sentence = arena_str(&walk->fields->arena, strbuf_slice(&text));
}

static void walk_object(const struct walk *walk, yyjson_val *object, const struct place *place)
{
    size_t i, count;
    yyjson_val *key, *val;
    if (walk->is_written && !is_in_status(place->path)) {
        check_required(walk, object, place);
        check_requirement(walk, object, place);
        check_selector(walk, object, place);
        check_runtime(walk, object, place);
    }
    yyjson_obj_foreach(object, i, count, key, val) {
        struct str name = doc_text(key);
        const struct schema_field *field = schema_field(place->type, name);
        if (!field && !place->type->open)
            report(walk, place, key, name, (struct str){ 0 });
        if (!field)
            continue;
        check_value(walk, place, field, val);
        if (unsafe_yyjson_is_ctn(val))
            walk_value(walk, &field->value, val, &(const struct path){ .parent = place->path, .name = name },
                       place);
    }
}

static void walk_value(const struct walk *walk, const struct schema_value *value, yyjson_val *val,
                       const struct path *path, const struct place *above)
{
    size_t i, count;
    yyjson_val *key, *item;
    if (value->kind == SCHEMA_OBJECT && yyjson_is_obj(val)) {
        walk_object(walk, val, &(const struct place){ above, value->type, path });
    } else if (value->kind == SCHEMA_LIST && yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, count, item)
            walk_value(walk, value->item, item, PATH_INDEX(path, i), above);
    } else if (value->kind == SCHEMA_MAP && yyjson_is_obj(val) && value->item->kind >= SCHEMA_OBJECT) {
        yyjson_obj_foreach(val, i, count, key, item)
            walk_value(walk, value->item, item, PATH_KEY(path, doc_text(key)), above);
    }
}

static bool came_from_server(yyjson_val *object)
{
    yyjson_val *meta = yyjson_obj_get(object, "metadata");
    return !str_empty(doc_member_text(meta, "uid")) && !str_empty(doc_member_text(meta, "resourceVersion"));
}

/* ---- kinds ---- */

/* "apps/v1": "apps" and "v1"; "v1": "" and "v1". */
static struct str split_version(struct str api_version, struct str *ret_version)
{
    ptrdiff_t slash = str_find(api_version, '/');
    *ret_version = str_slice(api_version, slash < 0 ? 0 : (size_t)slash + 1, api_version.len);
    return str_slice(api_version, 0, slash < 0 ? 0 : (size_t)slash);
}

/* The type of Kubernetes whose kind and group are nearest. NULL: none is near, or it is one of Kubernetes. */
static const struct schema_type *find_kind(struct str kind, struct str api_version)
{
    struct str version, group = split_version(api_version, &version);
    const struct schema_type *const *types, *best = NULL;
    size_t count = schema_types(&types), near = SLIPS_MAX + 1;
    for (size_t i = 0; i < count; i++) {
        if (str_empty(types[i]->kind) || !str_eq(version, types[i]->version))
            continue;
        size_t of_kind = str_distance(kind, types[i]->kind, true);
        size_t of_group = str_distance(group, types[i]->group, true);
        if (of_kind > SLIPS_MAX || of_group > SLIPS_MAX || of_kind + of_group >= near)
            continue;
        near = of_kind + of_group;
        best = types[i];
    }
    return near == 0 && str_eq(kind, best->kind) ? NULL : best;
}

/* The type of Kubernetes of that kind in another group, where this group is one of Kubernetes and does not have the
 * kind: "v1" of a Deployment. NULL: none; groups of others have kinds of the same names. */
static const struct schema_type *find_moved(struct str kind, struct str api_version)
{
    struct str version, group = split_version(api_version, &version);
    const struct schema_type *const *types, *found = NULL;
    size_t count = schema_types(&types);
    bool is_known = false;
    for (size_t i = 0; i < count; i++) {
        bool is_of_group = !str_empty(types[i]->kind) && str_eq(types[i]->group, group);
        is_known |= is_of_group;
        if (!str_eq(types[i]->kind, kind))
            continue;
        if (is_of_group)
            return NULL;
        found = found ?: types[i];
    }
    return is_known ? found : NULL;
}

bool unknown_kind_check(struct unknown_fields *fields, const struct doc *doc, yyjson_val *object,
                        struct str kind, struct str version)
{
    const struct schema_type *meant = find_moved(kind, version) ?: find_kind(kind, version);
    if (!meant)
        return false;
    _cleanup_(strbuf_release) struct strbuf key = { 0 }, text = { 0 };
    const struct walk walk = { .fields = fields, .doc = doc, .object = object, .kind = kind };
    strbuf_printf(&key, STR_FMT " " STR_FMT, STR_ARG(version), STR_ARG(kind));
    bool is_new;
    struct unknown_field *row = find_row(fields, strbuf_slice(&key), &is_new);
    row->objects++;
    if (!is_new)
        return true;
    print_object(&walk, yyjson_obj_get(object, str_eq(kind, meant->kind) ? "apiVersion" : "kind"), &text);
    path_print_shown(&text, version, NAME_SHOWN);
    strbuf_puts(&text, " has no kind ");
    path_print_shown(&text, kind, NAME_SHOWN);
    strbuf_puts(&text, "; did you mean ");
    if (!str_empty(meant->group))
        strbuf_printf(&text, STR_FMT "/", STR_ARG(meant->group));
    strbuf_printf(&text, STR_FMT " " STR_FMT "?", STR_ARG(meant->version), STR_ARG(meant->kind));
    row->sentence = arena_str(&fields->arena, strbuf_slice(&text));
    return true;
}

void unknown_fields_check(struct unknown_fields *fields, const struct doc *doc, yyjson_val *object,
                          struct str kind, struct str version)
{
    if (!doc->stream->yaml && doc->stream->len > LIVE_BYTES_MAX && came_from_server(object))
        return;
    struct str plain, group = split_version(version, &plain);
    const struct schema_type *type = schema_of(group, plain, kind);
    bool is_written = str_empty(doc_member_text(yyjson_obj_get(object, "metadata"), "uid"));
    const struct walk walk = { fields, doc, object, kind, is_written };
    fields->objects++;
    if (type)
        walk_object(&walk, object, &(const struct place){ NULL, type, NULL });
}
