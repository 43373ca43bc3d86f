/* managed.h: the entries of metadata.managedFields, decoded. Used by apply.c. */
#ifndef SCHEMA_MANAGED_H
#define SCHEMA_MANAGED_H

#include "base/vec.h"
#include "schema/field_set.h"

struct managed_entry {
    struct str manager, api_version, subresource;
    bool applied; /* operation Apply, else Update */
    int64_t time; /* seconds since 1970; 0: none */
    struct field_set *set;
};

struct managed {
    VEC(struct managed_entry) entries;
    struct arena arena; /* texts and sets */
};

/* Decodes a list of entries. False, and nothing in it, if an entry is malformed. */
bool managed_read(struct managed *managed, yyjson_val *list);
/* The list, sorted as the API server does; NULL without entries. */
yyjson_mut_val *managed_write(const struct managed *managed, yyjson_mut_doc *doc);
struct managed_entry *managed_find(struct managed *managed, const struct managed_entry *same);
/* The entry, which is added without fields if there is none. */
struct managed_entry *managed_get(struct managed *managed, const struct managed_entry *same);
struct field_set *managed_new_set(struct managed *managed);
/* Entries without fields go. */
void managed_prune(struct managed *managed);
/* The oldest updaters become one entry until there are so many. */
void managed_cap(struct managed *managed, size_t max);
void managed_release(struct managed *managed);

#endif
