/* library.c: all functions there are. */
#include "cel/run.h"

static const struct cel_overload *const tables[] = {
    cel_operators,    cel_lib_convert, cel_lib_text,     cel_lib_lists,  cel_lib_strings,
    cel_lib_optional, cel_lib_time,    cel_lib_quantity, cel_lib_semver, cel_lib_net,
    cel_lib_url,      cel_lib_format,  cel_lib_regex,
};

const struct cel_overload *cel_library_find(struct str function, size_t i)
{
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (const struct cel_overload *overload = tables[t]; overload->function; overload++)
            if (str_is(function, overload->function) && i-- == 0)
                return overload;
    return NULL;
}
