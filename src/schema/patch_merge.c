/* patch_merge.c: JSON merge patch (RFC 7386). null removes; an object is merged; anything else replaces. */
#include "schema/patch.h"
#include "schema/tree.h"

void patch_merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    struct members members, changes;
    members_open(&members, target);
    members_open(&changes, patch);
    vec_for(&changes.all, change) {
        yyjson_mut_val *old = members_get(&members, change->name);
        if (yyjson_mut_is_null(change->value)) {
            members_remove(&members, change->name);
        } else if (yyjson_mut_is_obj(change->value) && yyjson_mut_is_obj(old)) {
            patch_merge(doc, old, change->value);
        } else {
            /* A list or a scalar in place of an object is taken as it is, nulls of lists included. */
            if (!yyjson_mut_is_obj(old))
                tree_drop_nulls(change->value);
            members_set(&members, doc, change->name, change->value);
        }
    }
    members_drop(&changes);
    members_close(&members);
}
