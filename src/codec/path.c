/* path.c: printing and following paths. */
#include "codec/path.h"

enum { NAME_BYTES_MAX = 320 }; /* of a label key: 253 for its prefix, and 63 */

void path_print_shown(struct strbuf *out, struct str text, size_t bytes_max)
{
    for (size_t i = 0; i < text.len && i < bytes_max; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        strbuf_putc(out, c < ' ' || c == 0x7f ? '?' : (char)c);
    }
    if (text.len > bytes_max)
        strbuf_puts(out, "...");
}

void path_print(struct strbuf *out, const struct path *path)
{
    if (!path)
        return;
    path_print(out, path->parent);
    if (!path->name.ptr) {
        strbuf_printf(out, "[%zu]", path->index);
        return;
    }
    if (path->subscript || path->parent)
        strbuf_putc(out, path->subscript ? '[' : '.');
    path_print_shown(out, path->name, NAME_BYTES_MAX);
    if (path->subscript)
        strbuf_putc(out, ']');
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
