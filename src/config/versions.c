/* versions.c: the table of releases. */
#include "config/versions.h"

static const struct release releases[] = {
#define BEHAVIOUR(minor, name, since) .name = (minor) >= (since),
#define RELEASE(minor_, version_) \
    { .minor = minor_, .minor_text = #minor_, .version = version_, BEHAVIOURS(BEHAVIOUR, minor_) },
    RELEASES(RELEASE)
#undef RELEASE
#undef BEHAVIOUR
};

bool release_has(const struct release *release, enum behaviour behaviour)
{
    static const size_t members[] = {
#define BEHAVIOUR(minor, name, since) [BEHAVIOUR_##name] = offsetof(struct release, name),
        BEHAVIOURS(BEHAVIOUR, )
#undef BEHAVIOUR
    };
    return *(const bool *)((const char *)release + members[behaviour]);
}

bool release_row_applies(const struct release *release, enum behaviour since, enum behaviour until)
{
    return (since == BEHAVIOUR_NONE || release_has(release, since)) &&
           (until == BEHAVIOUR_NONE || !release_has(release, until));
}

const struct release *release_of(int64_t minor)
{
    for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
        if (releases[i].minor == minor)
            return &releases[i];
    return NULL;
}

size_t release_index(const struct release *release)
{
    return (size_t)(release - releases);
}

const struct release *release_default(void)
{
    return release_of(RELEASE_DEFAULT);
}

void release_list(struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
        strbuf_printf(out, "%s1.%d",
                      i == 0                         ? ""
                      : i + 1 < ARRAY_SIZE(releases) ? ", "
                                                     : " and ",
                      releases[i].minor);
}
