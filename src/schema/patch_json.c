/* patch_json.c: JSON patch (RFC 6902), as kube-apiserver applies it.
 *
 * It differs from the RFC: negative indexes count from the end; `replace` of a missing member adds it; the text before
 * the first slash of a path is ignored; `test` of a missing member succeeds for null. Every failure is one answer, so
 * there are no texts here. */
#include <errno.h>
#include <stdlib.h>

#include "codec/doc.h"
#include "schema/patch.h"
#include "schema/tree.h"

struct run {
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    size_t steps, copied;
    struct strbuf part; /* a decoded part of a path */
};

/* ~1 is a slash and ~0 a tilde. */
static struct str decode_part(struct strbuf *out, struct str part)
{
    strbuf_clear(out);
    for (size_t i = 0; i < part.len; i++) {
        bool escaped =
            part.ptr[i] == '~' && i + 1 < part.len && (part.ptr[i + 1] == '0' || part.ptr[i + 1] == '1');
        strbuf_putc(out, !escaped ? part.ptr[i] : part.ptr[i + 1] == '0' ? '~' : '/');
        i += escaped;
    }
    return out->text ? strbuf_slice(out) : STR("");
}

/* The number of an element, as Go's Atoi() reads it, negative ones from the end; -1: none. */
static int64_t element(struct str name, size_t len)
{
    struct str digits = name;
    if (digits.len && digits.ptr[0] == '+')
        digits = str_slice(digits, 1, digits.len);
    int64_t number;
    if (!digits.len || (digits.ptr[0] == '-' && digits.ptr != name.ptr) || !str_to_int64(digits, &number))
        return -1;
    if (number < 0)
        number += (int64_t)len;
    return number < (int64_t)len ? MAX(number, -1) : -1;
}

static bool spend(struct run *run, size_t steps)
{
    run->steps += steps + 1;
    return run->steps <= PATCH_STEPS_MAX;
}

/* The last member of a name counts, as in a decoder. */
static yyjson_mut_val *member_of(yyjson_mut_val *object, struct str name)
{
    size_t i, max;
    yyjson_mut_val *key, *value, *found = NULL;
    yyjson_mut_obj_foreach(object, i, max, key, value) if (str_eq(mut_str(key), name)) found = value;
    return found;
}

static yyjson_mut_val *child(struct run *run, yyjson_mut_val *parent, struct str name)
{
    if (yyjson_mut_is_obj(parent))
        return spend(run, yyjson_mut_obj_size(parent)) ? member_of(parent, name) : NULL;
    size_t len = yyjson_mut_arr_size(parent);
    int64_t at = element(name, len);
    return at >= 0 && spend(run, (size_t)at) ? yyjson_mut_arr_get(parent, (size_t)at) : NULL;
}

/* Finds the parent of the path's last part, whose name is left in run->part. */
static yyjson_mut_val *resolve(struct run *run, struct str path, struct str *ret_name)
{
    str_cut(&path, '/');
    yyjson_mut_val *at = run->root;
    while (path.ptr) {
        struct str name = decode_part(&run->part, str_cut(&path, '/'));
        if (!path.ptr) {
            *ret_name = name;
            return at;
        }
        at = child(run, at, name);
        if (!at || !yyjson_mut_is_ctn(at))
            return NULL;
    }
    return NULL;
}

/* ---- changes of one place ---- */

static bool add(struct run *run, yyjson_mut_val *parent, struct str name, yyjson_mut_val *val)
{
    if (yyjson_mut_is_obj(parent)) {
        if (!spend(run, yyjson_mut_obj_size(parent)))
            return false;
        return yyjson_mut_obj_put(parent, yyjson_mut_strncpy(run->doc, name.ptr, name.len), val);
    }
    if (str_is(name, "-"))
        return yyjson_mut_arr_append(parent, val);
    int64_t at = element(name, yyjson_mut_arr_size(parent) + 1);
    return at >= 0 && spend(run, (size_t)at) && yyjson_mut_arr_insert(parent, val, (size_t)at);
}

static bool take_out(struct run *run, yyjson_mut_val *parent, struct str name)
{
    yyjson_mut_val *old = child(run, parent, name);
    if (!old)
        return false;
    if (yyjson_mut_is_obj(parent))
        return yyjson_mut_obj_remove_keyn(parent, name.ptr, name.len) != NULL;
    return yyjson_mut_arr_remove(parent, (size_t)element(name, yyjson_mut_arr_size(parent))) != NULL;
}

static bool replace(struct run *run, yyjson_mut_val *parent, struct str name, yyjson_mut_val *val)
{
    if (yyjson_mut_is_obj(parent))
        return add(run, parent, name, val);
    int64_t at = element(name, yyjson_mut_arr_size(parent));
    return at >= 0 && spend(run, (size_t)at) && yyjson_mut_arr_replace(parent, (size_t)at, val);
}

/* ---- operations ---- */

static yyjson_val *text_of(yyjson_val *operation, const char *name)
{
    yyjson_val *val = yyjson_obj_get(operation, name);
    return yyjson_is_str(val) ? val : NULL;
}

static yyjson_mut_val *value_of(struct run *run, yyjson_val *operation)
{
    yyjson_val *val = yyjson_obj_get(operation, "value");
    return val ? yyjson_val_mut_copy(run->doc, val) : yyjson_mut_null(run->doc);
}

static bool op_add(struct run *run, yyjson_val *operation, struct str path)
{
    struct str name;
    yyjson_mut_val *parent = resolve(run, path, &name);
    return parent && add(run, parent, name, value_of(run, operation));
}

static bool op_remove(struct run *run, yyjson_val *operation _unused_, struct str path)
{
    struct str name;
    yyjson_mut_val *parent = resolve(run, path, &name);
    return parent && take_out(run, parent, name);
}

static bool op_replace(struct run *run, yyjson_val *operation, struct str path)
{
    if (str_empty(path)) {
        yyjson_mut_val *val = value_of(run, operation);
        if (!yyjson_mut_is_ctn(val))
            return false;
        run->root = val;
        return true;
    }
    struct str name;
    yyjson_mut_val *parent = resolve(run, path, &name);
    return parent && replace(run, parent, name, value_of(run, operation));
}

static bool op_move(struct run *run, yyjson_val *operation, struct str path)
{
    struct str name;
    yyjson_val *from = text_of(operation, "from");
    yyjson_mut_val *parent = from ? resolve(run, doc_text(from), &name) : NULL;
    yyjson_mut_val *val = parent ? child(run, parent, name) : NULL;
    if (!val || !take_out(run, parent, name))
        return false;
    parent = resolve(run, path, &name);
    return parent && add(run, parent, name, val);
}

static bool op_copy(struct run *run, yyjson_val *operation, struct str path)
{
    struct str name;
    yyjson_val *from = text_of(operation, "from");
    yyjson_mut_val *parent = from ? resolve(run, doc_text(from), &name) : NULL;
    if (!parent)
        return false;
    yyjson_mut_val *val = child(run, parent, name);
    if (!val && yyjson_mut_is_arr(parent))
        return false;
    if (val && !tree_mut_depth_within(val, SCHEMA_DEPTH_MAX))
        return false;
    yyjson_mut_val *copy = val ? yyjson_mut_val_mut_copy(run->doc, val) : yyjson_mut_null(run->doc);
    size_t len = 0;
    free(val ? yyjson_mut_val_write(copy, 0, &len) : NULL);
    run->copied += len;
    if (run->copied > PATCH_COPY_BYTES_MAX)
        return false;
    parent = resolve(run, path, &name);
    return parent && add(run, parent, name, copy);
}

static bool op_test(struct run *run, yyjson_val *operation, struct str path)
{
    yyjson_mut_val *want = value_of(run, operation), *have = run->root;
    if (!str_empty(path)) {
        struct str name;
        yyjson_mut_val *parent = resolve(run, path, &name);
        if (!parent)
            return false;
        have = child(run, parent, name);
        if (!have && yyjson_mut_is_arr(parent))
            return false;
        if (!have || yyjson_mut_is_null(have))
            return yyjson_mut_is_null(want);
    }
    /* Ends where the trees differ, so that depth and time are bounded by the value of the operation. */
    return tree_equal(want, have);
}

static const struct {
    const char *name;
    bool (*run)(struct run *run, yyjson_val *operation, struct str path);
} operations[] = {
    { "add", op_add },   { "remove", op_remove }, { "replace", op_replace },
    { "move", op_move }, { "copy", op_copy },     { "test", op_test },
};

static bool run_operation(struct run *run, yyjson_val *operation)
{
    yyjson_val *name = text_of(operation, "op"), *path = text_of(operation, "path");
    for (size_t i = 0; name && path && i < ARRAY_SIZE(operations); i++)
        if (str_is(doc_text(name), operations[i].name))
            return operations[i].run(run, operation, doc_text(path));
    return false;
}

int patch_json(yyjson_mut_doc *doc, yyjson_mut_val **root, yyjson_val *list, struct schema_error *err)
{
    struct run run = { .doc = doc, .root = *root };
    bool ok = true;
    size_t i, max;
    yyjson_val *operation;
    yyjson_arr_foreach(doc_items(list), i, max, operation) {
        if (!(ok = run_operation(&run, operation)))
            break;
    }
    *root = run.root;
    strbuf_release(&run.part);
    if (run.steps > PATCH_STEPS_MAX)
        return schema_error(err, 413, "RequestEntityTooLarge", "The JSON patch takes too many steps");
    return ok ? 0
              : schema_error(err, 422, "Invalid",
                             "the server rejected our request due to an error in our request");
}
