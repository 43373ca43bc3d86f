/* object.c: which table decodes a document, and the lists that documents may be. */
#include "api/object.h"

#include "api/fields.h"
#include "api/words.h"

/* Kinds that moved here from another group with the same fields. */
static const struct str old_apps_group = { "extensions", 10 };

/* "apps/v1" is group "apps", version "v1"; the core group is "". */
static void split_version(struct str api_version, struct str *ret_group, struct str *ret_version)
{
    ptrdiff_t slash = str_find(api_version, '/');
    *ret_group = str_slice(api_version, 0, slash < 0 ? 0 : (size_t)slash);
    *ret_version = str_slice(api_version, (size_t)(slash + 1), api_version.len);
}

/* v1, and the betas and alphas of it that have the same fields. The core group has had v1 only. */
static bool is_known_version(struct str version, bool core)
{
    static const char *const known[] = { "v1", "v1beta1", "v1beta2", "v1alpha1" };
    for (size_t i = 0; i < (core ? 1 : ARRAY_SIZE(known)); i++)
        if (str_is(version, known[i]))
            return true;
    return false;
}

enum api_kind object_kind_from(struct str api_version, struct str kind)
{
    struct str group, version, known_group, known_version;
    split_version(api_version, &group, &version);
    if (!is_known_version(version, group.len == 0))
        return KIND_UNKNOWN;
    for (int i = KIND_UNKNOWN + 1; i < KIND_COUNT; i++) {
        if (!str_eq(api_kinds[i].kind, kind))
            continue;
        split_version(api_kinds[i].api_version, &known_group, &known_version);
        bool moved = str_eq(known_group, STR("apps")) && str_eq(group, old_apps_group);
        return moved || str_eq(group, known_group) ? (enum api_kind)i : KIND_UNKNOWN;
    }
    return KIND_UNKNOWN;
}

/* An exact request had no object of its own in resource.k8s.io/v1beta1. */
static void convert_claim(struct resource_claim *claim)
{
    list_for(&claim->spec.requests, request)
        if (!request->exactly && !request->first_available.len)
            request->exactly = &request->beta;
}

/* An empty selector of policy/v1beta1 selects nothing; since v1 it selects everything. */
static void convert_pdb(struct pdb *pdb)
{
    struct label_selector *sel = pdb->selector;
    if (sel && sel->match_labels.len == 0 && sel->match_expressions.len == 0)
        pdb->selector = NULL;
}

void object_convert(const struct object *object, struct str api_version)
{
    if (object->kind == KIND_PDB && str_eq(api_version, STR("policy/v1beta1")))
        convert_pdb(object->ptr);
    if (object->kind == KIND_RESOURCE_CLAIM && str_eq(api_version, STR("resource.k8s.io/v1beta1")))
        convert_claim(object->ptr);
}

/* The object, by its kind. */
static int decode_one(struct record_reader *reader, const struct path *path, yyjson_val *val,
                      struct object *ret)
{
    if (ret->kind == KIND_UNKNOWN)
        return 0;
    const struct record_type *type = api_kinds[ret->kind].type;
    void *ptr = arena_zalloc(reader->arena, type->size);
    int r = record_read(reader, path, val, type, ptr);
    if (r < 0)
        return r;
    ret->ptr = ptr;
    ret->meta = ptr;
    object_convert(ret, ret->api_version);
    return 0;
}

/* apiVersion or kind. Absent: *ret is left as it is. */
static int decode_name(struct record_reader *reader, const struct path *path, yyjson_val *val,
                       const char *key, struct str *ret)
{
    yyjson_val *found = yyjson_obj_get(val, key);
    return found && !yyjson_is_null(found) ? record_read_str(reader, PATH_FIELD(path, key), found, ret) : 0;
}

/* The kind by apiVersion and kind of the object itself. */
static int decode_own_kind(struct record_reader *reader, const struct path *path, yyjson_val *val,
                           struct object *ret)
{
    int r = decode_name(reader, path, val, "apiVersion", &ret->api_version);
    if (r == 0)
        r = decode_name(reader, path, val, "kind", &ret->kind_name);
    if (r < 0)
        return r;
    if (!ret->kind_name.len || !ret->api_version.len)
        return record_complain(reader, path, val, "expected apiVersion and kind, got no %s",
                               ret->kind_name.len ? "apiVersion" : "kind");
    ret->kind = object_kind_from(ret->api_version, ret->kind_name);
    return 0;
}

/* As an object of that kind, whatever its own apiVersion and kind are; KIND_UNKNOWN: by these. */
static int decode_at(struct record_reader *reader, const struct path *path, yyjson_val *val,
                     enum api_kind kind, struct object *ret)
{
    struct object object = { .kind = kind };
    if (!yyjson_is_obj(val))
        return record_expected(reader, path, val, "an object");
    if (kind == KIND_UNKNOWN) {
        int r = decode_own_kind(reader, path, val, &object);
        if (r < 0)
            return r;
    } else {
        object.api_version = api_kinds[kind].api_version;
        object.kind_name = api_kinds[kind].kind;
    }
    int r = decode_one(reader, path, val, &object);
    if (r == 0)
        *ret = object;
    return r;
}

struct record_reader object_reader(const struct doc *doc, struct arena *arena, struct error *err)
{
    return (struct record_reader){
        .doc = doc, .arena = arena, .keep = doc_strings_stay(doc) ? NULL : words_keep, .err = err
    };
}

int object_decode(const struct doc *doc, yyjson_val *val, struct arena *arena, struct object *ret,
                  struct error *err)
{
    struct record_reader reader = object_reader(doc, arena, err);
    return decode_at(&reader, NULL, val, KIND_UNKNOWN, ret);
}

int object_decode_as(const struct doc *doc, yyjson_val *val, enum api_kind kind, struct arena *arena,
                     struct object *ret, struct error *err)
{
    struct record_reader reader = object_reader(doc, arena, err);
    return decode_at(&reader, NULL, val, kind, ret);
}

void object_encode_json(const struct object *object, const struct record_redactor *redactor,
                        struct json_writer *json)
{
    const struct kind_info *kind = &api_kinds[object->kind];
    json_begin_object(json);
    json_member_str(json, "apiVersion", kind->api_version);
    json_member_str(json, "kind", kind->kind);
    record_write_fields(&(struct record_writer){ json, redactor }, kind->type, object->ptr);
    json_end_object(json);
}

int object_walk_init(struct object_walk *walk, const struct doc *doc, struct error *err)
{
    /* Strings of this look stay where they are, so it needs no arena. */
    struct record_reader reader = { .doc = doc, .err = err };
    struct str kind = { 0 }, api_version = { 0 };
    *walk = (struct object_walk){ .doc = doc };
    if (!yyjson_is_obj(doc->root))
        return record_expected(&reader, NULL, doc->root, "an object");
    int r = decode_name(&reader, NULL, doc->root, "apiVersion", &api_version);
    if (r == 0)
        r = decode_name(&reader, NULL, doc->root, "kind", &kind);
    if (r < 0)
        return r;
    yyjson_val *items = yyjson_obj_get(doc->root, "items");
    if (!str_ends_with(kind, STR("List")) || !items)
        return 0;
    walk->items_kind = object_kind_from(api_version, str_slice(kind, 0, kind.len - strlen("List")));
    if (walk->items_kind == KIND_UNKNOWN && !str_eq(kind, STR("List")))
        return 0; /* a list of unknown objects is one unknown object */
    walk->is_list = true;
    if (walk->items_kind != KIND_UNKNOWN)
        walk->api_version = api_version;
    if (yyjson_is_null(items))
        return 0;
    if (!yyjson_is_arr(items))
        return record_expected(&reader, PATH_FIELD(NULL, "items"), items, "a list");
    yyjson_arr_iter_init(items, &walk->items);
    return 0;
}

int object_walk_next(struct object_walk *walk, struct arena *arena, struct object *ret, struct error *err)
{
    struct record_reader reader = object_reader(walk->doc, arena, err);
    yyjson_val *val = walk->is_list ? yyjson_arr_iter_next(&walk->items)
                      : walk->next  ? NULL
                                    : walk->doc->root;
    if (!val)
        return 0;
    const struct path *item = PATH_INDEX(PATH_FIELD(NULL, "items"), walk->next++);
    int r = decode_at(&reader, walk->is_list ? item : NULL, val, walk->items_kind, ret);
    if (r < 0)
        return r;
    object_convert(ret, walk->api_version);
    return 1;
}
