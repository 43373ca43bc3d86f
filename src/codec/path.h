/* path.h: where in a document a value is, as a chain on the stack: profiles[0].plugins.filter, metadata.labels[app].
 *
 * A link lives as long as the block that made it, so walking a tree costs next to nothing until a path is printed. */
#ifndef CODEC_PATH_H
#define CODEC_PATH_H

#include <yyjson.h>

#include "base/str.h"

struct path {
    const struct path *parent; /* NULL: the first link */
    struct str name;           /* of a field, or of a map's key when `subscript` */
    size_t index;              /* when the name is absent */
    bool subscript;
};

#define PATH_FIELD(up, field) (&(const struct path){ .parent = (up), .name = str_from(field) })
#define PATH_INDEX(up, i) (&(const struct path){ .parent = (up), .index = (i) })
#define PATH_KEY(up, key) (&(const struct path){ .parent = (up), .name = (key), .subscript = true })

/* NULL prints nothing. Names come from documents: they are printed as path_print_shown() prints them. */
void path_print(struct strbuf *out, const struct path *path);
/* Text of unknown origin, for a message: on one line, and cut behind so many bytes. */
void path_print_shown(struct strbuf *out, struct str text, size_t bytes_max);
/* The value at the path below `root`, or the nearest one above it that exists; NULL only when root is. */
yyjson_val *path_resolve(yyjson_val *root, const struct path *path);

#endif
