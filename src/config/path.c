/* path.c: printing and following paths. */
#include "config/path.h"

void path_print(struct strbuf *out, const struct path *path)
{
    if (!path)
        return;
    path_print(out, path->parent);
    if (path->subscript)
        strbuf_printf(out, "[" STR_FMT "]", STR_ARG(path->name));
    else if (path->name.ptr)
        strbuf_printf(out, "%s" STR_FMT, path->parent ? "." : "", STR_ARG(path->name));
    else
        strbuf_printf(out, "[%zu]", path->index);
}

/* NULL as soon as a link is missing; *ret_last keeps the last value that was there. */
static yyjson_val *follow(yyjson_val *root, const struct path *path, yyjson_val **ret_last)
{
    if (!path) {
        *ret_last = root;
        return root;
    }
    yyjson_val *above = follow(root, path->parent, ret_last);
    yyjson_val *here = NULL;
    if (path->name.ptr)
        here = yyjson_obj_getn(above, path->name.ptr, path->name.len);
    else
        here = yyjson_arr_get(above, path->index);
    if (here)
        *ret_last = here;
    return here;
}

yyjson_val *path_resolve(yyjson_val *root, const struct path *path)
{
    yyjson_val *last = NULL;
    follow(root, path, &last);
    return last;
}
