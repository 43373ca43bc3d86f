/* json_path.h: the JSONPath of printer columns: `.spec.size`, `.status.conditions[?(@.type=="Ready")].status`,
 * `.metadata.labels['a\.b']`, `.spec.items[0].name`, `.spec.items[*].name`.
 *
 * That is what definitions use of kubectl's JSONPath. Recursive descent, unions and slices find nothing. */
#ifndef APISERVER_JSON_PATH_H
#define APISERVER_JSON_PATH_H

#include <yyjson.h>

#include "base/str.h"

/* The first value that the path finds; NULL: none, or it is no such path. */
yyjson_val *json_path_first(yyjson_val *root, struct str path);

#endif
