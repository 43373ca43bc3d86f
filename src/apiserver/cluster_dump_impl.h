/* cluster_dump_impl.h: what the files of a dump share. */
#ifndef APISERVER_CLUSTER_DUMP_IMPL_H
#define APISERVER_CLUSTER_DUMP_IMPL_H

#include <stdlib.h>

#include "apiserver/cluster_dump.h"
#include "base/map.h"
#include "base/vec.h"
#include "input/documents.h"

struct dump_item {
    const struct doc *doc;
    yyjson_val *val;
    struct str kind, version, ns, name;
    const struct api_resource *resource; /* NULL: the server has none */
    size_t rank;                         /* objects of lower ranks are created first */
    struct str uid;                      /* after uids were settled */
};

struct cluster_dump {
    struct documents documents;
    struct arena arena;
    VEC(struct dump_item) items;
    struct strmap by_name; /* item number + 1 by kind, namespace and name */
    struct strmap wanted;  /* struct str *: uids that references have, by the same */
    struct strmap complaints;
    struct strbuf key; /* scratch */
};

/* dump_revisions.c: after all objects were created. */
void dump_settle_revisions(struct cluster_dump *dump, struct registry *registry);

#endif
