/* image_name.c: a colon behind the last slash is a tag or a digest; one before it is a registry's port. */
#include "api/image_name.h"

struct str image_name_normalize(struct str name, struct arena *arena)
{
    if (str_rfind(name, ':') > str_rfind(name, '/'))
        return name;
    return arena_printf(arena, STR_FMT ":latest", STR_ARG(name));
}
