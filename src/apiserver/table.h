/* table.h: the columns that `kubectl get` shows of each resource, as kube-apiserver computes them. */
#ifndef APISERVER_TABLE_H
#define APISERVER_TABLE_H

#include <yyjson.h>

#include "apiserver/resources.h"

/* The list of column definitions, appended. */
void table_write_columns(const struct api_resource *resource, struct strbuf *out);
/* The list of an object's cells, appended. */
void table_write_cells(const struct api_resource *resource, yyjson_val *object, struct strbuf *out);

#endif
