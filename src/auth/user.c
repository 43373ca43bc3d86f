/* user.c: see user.h. */
#include "auth/user.h"

#include "api/labels.h"
#include "codec/record_rows.h"

const struct record_kind record_EXTRAS = RECORD_MAP_OF(STRS, struct user_extra, values);

#define T struct user
static const struct record_field user_fields[] = {
    F("username", 0, STR, name),
    F("uid", 0, STR, uid),
    F("groups", 0, STRS, groups),
    F("extra", 0, EXTRAS, extra),
};
TYPE_SHARED(user)
#undef T

bool user_in_group(const struct user *user, const char *group)
{
    return str_list_has(&user->groups, str_from(group));
}

void str_list_add(struct arena *arena, struct str_list *list, struct str text)
{
    list->items = arena_copy(arena, struct str, list->items, list->len, (size_t)list->len + 1);
    list->items[list->len++] = text;
}
