/* path.h: where in a configuration a value is, as a chain on the stack: profiles[0].plugins.filter.
 *
 * A link lives as long as the block that made it, so walking a tree costs nothing until somebody prints it. */
#ifndef CONFIG_PATH_H
#define CONFIG_PATH_H

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

/* NULL prints nothing. */
void path_print(struct strbuf *out, const struct path *path);
/* The value at the path below `root`, or the nearest one above it that exists; NULL only when root is. */
yyjson_val *path_resolve(yyjson_val *root, const struct path *path);

#endif
