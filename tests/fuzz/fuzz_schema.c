/* What clients of the embedded API server write: field validation, defaulting, the three patches, server-side apply.
 *
 * The input is lines. The first one says what to do: a letter each for the kind (p, d, s, c: Pod, Deployment, Service,
 * custom), the operation (j, m, s, a: JSON patch, merge patch, strategic merge patch, apply) and fieldValidation
 * (s, i, w). The second line is the object, the third one the patch. */
#include "fuzz/fuzz.h"
#include "schema/apply.h"
#include "schema/defaults.h"
#include "schema/tree.h"

static const struct schema_type *type_of(char letter)
{
    switch (letter) {
    case 'p':
        return schema_of(STR(""), STR("v1"), STR("Pod"));
    case 'd':
        return schema_of(STR("apps"), STR("v1"), STR("Deployment"));
    case 's':
        return schema_of(STR(""), STR("v1"), STR("Service"));
    default:
        return schema_of_custom();
    }
}

/* Defaulting what is complete changes nothing, and what it gives passes the check. */
static void check_defaults(const struct schema_type *type, yyjson_mut_doc *doc)
{
    schema_set_defaults(type, doc);
    yyjson_mut_doc *again = yyjson_mut_doc_mut_copy(doc, NULL);
    schema_set_defaults(type, again);
    must(tree_equal(yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(again)));
    yyjson_mut_doc_free(again);
    yyjson_doc *stored = yyjson_mut_doc_imut_copy(doc, NULL);
    struct schema_problems problems = { 0 };
    schema_check(type, yyjson_doc_get_root(stored), SCHEMA_DECODED, &problems);
    must(!problems.wrong.ptr && !problems.strict.len);
    schema_problems_release(&problems);
    yyjson_doc_free(stored);
}

static struct apply_request request_of(const struct schema_type *type, bool custom)
{
    return (struct apply_request){
        .type = type,
        .manager = STR("fuzzer"),
        .group = custom ? STR("") : type->group,
        .version = custom ? STR("v1") : type->version,
        .kind = custom ? STR("Custom") : type->kind,
        .has_status = true,
        .now = 1,
    };
}

static void check_patch(const struct schema_type *type, struct str what, yyjson_val *object, struct str text)
{
    struct patch_request request = {
        .type = what.ptr[1] == 'j'   ? PATCH_JSON
                : what.ptr[1] == 'm' ? PATCH_MERGE
                                     : PATCH_STRATEGIC,
        .schema = type,
        .validation = what.ptr[2] == 's'   ? FIELDS_STRICT
                      : what.ptr[2] == 'i' ? FIELDS_IGNORE
                                           : FIELDS_WARN,
        .patch = text,
    };
    struct patch_result result;
    struct schema_error err = { 0 };
    if (patch_apply(&request, object, &result, &err) == 0) {
        struct apply_request track = request_of(type, what.ptr[0] == 'c');
        check_defaults(type, result.doc);
        apply_track(&track, object, result.doc);
        yyjson_mut_doc_free(result.doc);
    } else
        must(err.code >= 400 && err.message.len);
    schema_problems_release(&result.problems);
    schema_error_release(&err);
}

/* Applying twice changes nothing the second time. */
static void check_apply(const struct schema_type *type, struct str what, yyjson_val *object, struct str text)
{
    struct apply_request request = request_of(type, what.ptr[0] == 'c');
    request.force = what.ptr[2] == 's';
    yyjson_doc *patch = yyjson_read(text.ptr, text.len, 0);
    struct apply_result result;
    struct schema_error err = { 0 };
    if (!patch)
        return;
    if (apply_merge(&request, object, yyjson_doc_get_root(patch), &result, &err) == 0) {
        yyjson_doc *live = yyjson_mut_doc_imut_copy(result.doc, NULL);
        struct apply_result again;
        must(apply_merge(&request, yyjson_doc_get_root(live), yyjson_doc_get_root(patch), &again, &err) == 0);
        yyjson_mut_doc_free(again.doc);
        apply_result_release(&again);
        yyjson_doc_free(live);
        yyjson_mut_doc_free(result.doc);
    } else
        must(err.code >= 400 && err.message.len);
    apply_result_release(&result);
    schema_error_release(&err);
    yyjson_doc_free(patch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, (uint32_t)size };
    struct str what = str_cut(&rest, '\n'), object = str_cut(&rest, '\n');
    if (what.len != 3 || !object.len || !rest.len)
        return 0;
    const struct schema_type *type = type_of(what.ptr[0]);
    yyjson_doc *doc = yyjson_read(object.ptr, object.len, 0);
    struct schema_problems problems = { 0 };
    if (doc)
        schema_check(type, yyjson_doc_get_root(doc), SCHEMA_DECODED, &problems);
    /* Only objects that pass are stored. */
    if (doc && yyjson_is_obj(yyjson_doc_get_root(doc)) && !problems.wrong.ptr) {
        yyjson_mut_doc *stored = yyjson_doc_mut_copy(doc, NULL);
        tree_drop_duplicates(yyjson_mut_doc_get_root(stored));
        check_defaults(type, stored);
        yyjson_doc *live = yyjson_mut_doc_imut_copy(stored, NULL);
        if (what.ptr[1] == 'a')
            check_apply(type, what, yyjson_doc_get_root(live), rest);
        else
            check_patch(type, what, yyjson_doc_get_root(live), rest);
        yyjson_doc_free(live);
        yyjson_mut_doc_free(stored);
    }
    schema_problems_release(&problems);
    yyjson_doc_free(doc);
    return 0;
}
