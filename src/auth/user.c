/* user.c: copies of users, from one lifetime to another. */
#include "auth/user.h"

#include "api/labels.h"

bool user_in_group(const struct user *user, const char *group)
{
    return str_list_has(&user->groups, str_from(group));
}

void str_list_copy(struct arena *arena, const struct str_list *from, struct str_list *ret)
{
    ret->items = from->len ? arena_array(arena, struct str, from->len) : NULL;
    ret->len = from->len;
    for (uint32_t i = 0; i < from->len; i++)
        ret->items[i] = arena_str(arena, from->items[i]);
}

void user_copy(struct arena *arena, const struct user *from, struct user *ret)
{
    ret->name = arena_str(arena, from->name);
    ret->uid = arena_str(arena, from->uid);
    str_list_copy(arena, &from->groups, &ret->groups);
    ret->extra.items = from->extra.len ? arena_array(arena, struct user_extra, from->extra.len) : NULL;
    ret->extra.len = from->extra.len;
    for (uint32_t i = 0; i < from->extra.len; i++) {
        ret->extra.items[i].key = arena_str(arena, from->extra.items[i].key);
        str_list_copy(arena, &from->extra.items[i].values, &ret->extra.items[i].values);
    }
}

void str_list_add(struct arena *arena, struct str_list *list, struct str text)
{
    struct str *items = arena_array(arena, struct str, (size_t)list->len + 1);
    if (list->len)
        memcpy(items, list->items, list->len * sizeof(*items));
    items[list->len++] = text;
    list->items = items;
}
