/* object.c: which table decodes a document, and the lists that documents may be. */
#include "api/object.h"

#include "api/extra_kinds.h"
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
    for (int i = KIND_UNKNOWN + 1; i < KIND_EXTRA_FIRST && is_known_version(version, group.len == 0); i++) {
        if (!str_eq(api_kinds[i].kind, kind))
            continue;
        split_version(api_kinds[i].api_version, &known_group, &known_version);
        bool moved = str_eq(known_group, STR("apps")) && str_eq(group, old_apps_group);
        if (moved || str_eq(group, known_group))
            return (enum api_kind)i;
    }
    return extra_kind_find(api_version, kind);
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
    if (object->kind == KIND_CLAIM_TEMPLATE && str_eq(api_version, STR("resource.k8s.io/v1beta1")))
        convert_claim(&((struct resource_claim_template *)object->ptr)->claim);
}

/* apiVersion or kind. Absent: *ret is left as it is. */
static int decode_name(struct record_reader *reader, yyjson_val *val, const char *key, struct str *ret)
{
    yyjson_val *found = yyjson_obj_get(val, key);
    return found && !yyjson_is_null(found) ? record_read_str(reader, PATH_FIELD(NULL, key), found, ret) : 0;
}

/* The kind by apiVersion and kind of the object itself. */
static int decode_own_kind(struct record_reader *reader, yyjson_val *val, struct object *ret)
{
    int r = decode_name(reader, val, "apiVersion", &ret->api_version);
    if (r == 0)
        r = decode_name(reader, val, "kind", &ret->kind_name);
    if (r < 0)
        return r;
    if (!ret->kind_name.len || !ret->api_version.len)
        return record_complain(reader, NULL, val, "expected apiVersion and kind, got no %s",
                               ret->kind_name.len ? "apiVersion" : "kind");
    ret->kind = object_kind_from(ret->api_version, ret->kind_name);
    return 0;
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
    return object_decode_as(doc, val, KIND_UNKNOWN, arena, ret, err);
}

int object_decode_as(const struct doc *doc, yyjson_val *val, enum api_kind kind, struct arena *arena,
                     struct object *ret, struct error *err)
{
    struct record_reader reader = object_reader(doc, arena, err);
    struct object object = { kind, .api_version = api_kinds[kind].api_version,
                             .kind_name = api_kinds[kind].kind };
    if (!yyjson_is_obj(val))
        return record_expected(&reader, NULL, val, "an object");
    int r = kind == KIND_UNKNOWN ? decode_own_kind(&reader, val, &object) : 0;
    if (r == 0 && object.kind != KIND_UNKNOWN) {
        const struct record_type *type = api_kinds[object.kind].type;
        object.ptr = object.meta = arena_zalloc(arena, type->size);
        object.meta->kind = (uint8_t)object.kind;
        r = record_read(&reader, NULL, val, type, object.ptr);
    }
    if (r < 0)
        return r;
    object_convert(&object, object.api_version);
    *ret = object;
    return 0;
}

bool object_is_identified(const struct object *object)
{
    return object->meta && object->meta->name.len &&
           (object->meta->namespace.len || !object->is_partial || !api_kinds[object->kind].namespaced);
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
