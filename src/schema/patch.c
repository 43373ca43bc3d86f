/* patch.c: from the text of a patch to the new object. */
#include "schema/patch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/quote.h"
#include "codec/doc.h"
#include "schema/tree.h"

int schema_error(struct schema_error *err, int code, const char *reason, const char *format, ...)
{
    err->code = code;
    err->reason = reason;
    err->cause_at = 0;
    strbuf_clear(&err->message);
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    va_end(args);
    strbuf_add(&err->message, text, (size_t)MAX(len, 0));
    free(text);
    return -EINVAL;
}

void schema_error_release(struct schema_error *err)
{
    strbuf_release(&err->message);
    *err = (struct schema_error){ 0 };
}

/* The patched object is not one: `"" is invalid: patch: Invalid value: "{...}": unknown field`. */
static int invalid(struct schema_error *err, struct str value, struct str why)
{
    err->code = 422;
    err->reason = "Invalid";
    strbuf_clear(&err->message);
    strbuf_puts(&err->message, " \"\" is invalid: patch: ");
    err->cause_at = err->message.len;
    strbuf_puts(&err->message, "Invalid value: ");
    quote_go(&err->message, value);
    strbuf_printf(&err->message, ": " STR_FMT, STR_ARG(why));
    return -EINVAL;
}

static const char *json_word(yyjson_val *val)
{
    return yyjson_is_str(val)    ? "string"
           : yyjson_is_bool(val) ? "bool"
           : yyjson_is_num(val)  ? "number"
                                 : "array";
}

/* ---- the patch itself ---- */

static int bad_operation(struct schema_error *err, yyjson_val *val, const char *into)
{
    return schema_error(err, 400, "BadRequest", "error decoding patch: json: cannot unmarshal %s into Go %s",
                        yyjson_is_obj(val) ? "object" : json_word(val), into);
}

/* A list of {op, path, from, value}. Other fields are problems, as duplicates are. */
static int check_operations(const struct patch_request *request, yyjson_val *patch,
                            struct schema_problems *problems, struct schema_error *err)
{
    if (!yyjson_is_arr(patch) && !yyjson_is_null(patch))
        return bad_operation(err, patch, "value of type []handlers.jsonPatchOp");
    size_t i, max, j, members;
    yyjson_val *operation, *key, *val;
    yyjson_arr_foreach(patch, i, max, operation) {
        if (yyjson_is_null(operation))
            continue;
        if (!yyjson_is_obj(operation))
            return bad_operation(err, operation, "value of type handlers.jsonPatchOp");
        yyjson_obj_foreach(operation, j, members, key, val) {
            struct str name = doc_text(key);
            bool text = str_is(name, "op") || str_is(name, "path") || str_is(name, "from");
            if (text && !yyjson_is_str(val) && !yyjson_is_null(val)) {
                char into[64];
                snprintf(into, sizeof(into), "struct field jsonPatchOp." STR_FMT " of type string",
                         STR_ARG(name));
                return bad_operation(err, val, into);
            }
            if (!text && !str_is(name, "value") && problems->strict.len < SCHEMA_STRICT_MAX &&
                request->validation != FIELDS_IGNORE) {
                struct strbuf path = { 0 };
                strbuf_printf(&path, "[%zu]." STR_FMT, i, STR_ARG(name));
                struct str quoted = quote_go_arena(&problems->arena, strbuf_slice(&path));
                *vec_push(&problems->strict) =
                    arena_printf(&problems->arena, "json patch unknown field " STR_FMT, STR_ARG(quoted));
                strbuf_release(&path);
            }
        }
    }
    if (max > PATCH_OPERATIONS_MAX)
        return schema_error(
            err, 413, "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is %d, got %zu",
            PATCH_OPERATIONS_MAX, max);
    return 0;
}

static int check_patch(const struct patch_request *request, yyjson_val *patch,
                       struct schema_problems *problems, struct schema_error *err)
{
    if (!tree_depth_within(patch, SCHEMA_DEPTH_MAX))
        return schema_error(err, 400, "BadRequest", "error decoding patch: exceeded max depth");
    if (request->type == PATCH_JSON)
        return check_operations(request, patch, problems, err);
    if (yyjson_is_null(patch))
        return request->type == PATCH_MERGE ? schema_error(err, 400, "BadRequest", "Invalid JSON Patch") : 0;
    if (!yyjson_is_obj(patch))
        return schema_error(err, 400, "BadRequest",
                            "%sjson: cannot unmarshal %s into Go value of type map[string]interface {}",
                            request->type == PATCH_MERGE ? "error decoding patch: " : "", json_word(patch));
    if (request->validation != FIELDS_IGNORE)
        schema_check(NULL, patch, SCHEMA_DECODED, problems);
    return 0;
}

static int apply(const struct patch_request *request, yyjson_mut_doc *doc, yyjson_val *object,
                 yyjson_val *patch, struct schema_error *err)
{
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, object);
    int r = 0;
    if (request->type == PATCH_JSON)
        r = patch_json(doc, &root, patch, err);
    else if (request->type == PATCH_MERGE)
        patch_merge(doc, root, yyjson_val_mut_copy(doc, patch));
    else if (yyjson_is_obj(patch))
        r = patch_strategic(doc, &root, yyjson_val_mut_copy(doc, patch), request->schema, err);
    yyjson_mut_doc_set_root(doc, root);
    return r;
}

/* ---- the new object ---- */

static int check_result(const struct patch_request *request, yyjson_mut_doc *doc, yyjson_val *patch,
                        struct schema_problems *problems, struct schema_error *err)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (!tree_mut_depth_within(root, SCHEMA_DEPTH_MAX))
        return schema_error(err, 422, "Invalid",
                            "the server rejected our request due to an error in our request");
    yyjson_doc *object = yyjson_mut_val_imut_copy(root, NULL);
    enum schema_form form = request->type == PATCH_STRATEGIC ? SCHEMA_CONVERTED : SCHEMA_DECODED;
    size_t strict = problems->strict.len;
    if (request->schema || !yyjson_mut_is_obj(root))
        schema_check(request->schema, yyjson_doc_get_root(object), form, problems);
    if (!yyjson_mut_is_obj(root) && !problems->wrong.ptr)
        problems->wrong = STR("json: cannot unmarshal array into Go value of type map[string]interface {}");
    yyjson_doc_free(object);
    if (request->validation == FIELDS_IGNORE)
        problems->strict.len = strict;
    bool refused = problems->wrong.ptr || (request->validation == FIELDS_STRICT && problems->strict.len);
    if (!refused)
        return 0;
    struct strbuf value = { 0 }, why = { 0 };
    if (problems->wrong.ptr)
        strbuf_str(&why, problems->wrong);
    else
        schema_strict_text(problems, &why);
    if (request->type == PATCH_STRATEGIC) {
        yyjson_mut_doc *scratch = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *copy = yyjson_val_mut_copy(scratch, patch);
        tree_drop_duplicates(copy);
        tree_print_go(&value, copy);
        yyjson_mut_doc_free(scratch);
    } else {
        size_t len;
        char *text = yyjson_mut_val_write(root, 0, &len);
        strbuf_add(&value, text ? text : "", text ? len : 0);
        free(text);
    }
    invalid(err, strbuf_slice(&value), strbuf_slice(&why));
    strbuf_release(&value);
    strbuf_release(&why);
    return -EINVAL;
}

int patch_apply(const struct patch_request *request, yyjson_val *object, struct patch_result *ret,
                struct schema_error *err)
{
    *ret = (struct patch_result){ 0 };
    yyjson_doc *parsed = yyjson_read(request->patch.ptr, request->patch.len, 0);
    if (!parsed)
        return schema_error(err, 400, "BadRequest", "invalid JSON patch");
    yyjson_val *patch = yyjson_doc_get_root(parsed);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    int r = check_patch(request, patch, &ret->problems, err);
    if (r == 0)
        r = apply(request, doc, object, patch, err);
    if (r == 0)
        r = check_result(request, doc, patch, &ret->problems, err);
    yyjson_doc_free(parsed);
    if (r < 0)
        yyjson_mut_doc_free(doc);
    else
        ret->doc = doc;
    return r;
}
