/* legacy_flags.c: flags that kube-scheduler does not have, or no longer has, one table (legacy_flags.def).
 *
 * kube-scheduler refuses them, and so do we; the sentence says what to write. With --legacy-flags each has the effect
 * that its user must expect, if there is one, and a warning. They are read when the command line has ended: the flag
 * that allows them may stand anywhere. */
#include "config/flags.h"

#define REMOVED(release) "kube-scheduler " release " removed it"
#define REMOVED_LONG_AGO "kube-scheduler removed it"
#define NEVER "kube-scheduler does not have it"
#define DOES(text) .effect = (text)
#define IGNORED DOES("it is ignored")
#define IGNORED_IF(value) IGNORED, .only = (value)
#define SAME_AS(flag) DOES("it is read by its present name"), .same_as = FLAG_##flag, .has_same = true
#define REFUSED DOES(NULL)

static const struct legacy_flag_info {
    const char *name;
    enum flag_kind kind;
    const char *history, *instead;
    const char *effect; /* with --legacy-flags; NULL: it is refused nevertheless */
    const char *only;   /* the one value that is accepted; NULL: any */
    enum flag same_as;  /* if has_same: today's name of the flag */
    bool has_same;
} legacy_flags[LEGACY_COUNT] = {
#define LEGACY(member, of_kind, long_name, past, effect, advice) \
    [LEGACY_##member] = { \
        .name = long_name, .kind = FLAG_KIND_##of_kind, .history = past, .instead = advice, effect \
    },
#include "config/legacy_flags.def"
#undef LEGACY
};

const char *legacy_flag_name(enum legacy_flag flag)
{
    return legacy_flags[flag].name;
}

enum flag_kind legacy_flag_kind(enum legacy_flag flag)
{
    return legacy_flags[flag].kind;
}

static int refuse(const struct legacy_flag_info *info, struct error *err)
{
    return error_set(err, -EINVAL, "unknown flag: --%s (%s): %s%s", info->name, info->history, info->instead,
                     info->effect ? "; with --legacy-flags it is accepted, with a warning" : "");
}

/* Is the text a value of that kind? */
static int check_value(struct arena *arena, const struct legacy_flag_info *info, struct str value,
                       struct error *err)
{
    union {
        flag_type_BOOL flag;
        flag_type_INT number;
        flag_type_INT32 small;
        flag_type_STRING text;
    } unused;
    struct error why;
    _cleanup_(strbuf_release) struct strbuf shown = { 0 };
    int r = flag_kinds[info->kind].read(arena, value, false, &unused, &why);
    quote_go(&shown, str_slice(value, 0, MIN(value.len, 200u)));
    if (r < 0)
        return error_set(err, r, "invalid argument %s for \"--%s\" flag: %s", shown.text, info->name,
                         why.text);
    if (info->only && !str_is(value, info->only))
        return error_set(
            err, -EINVAL,
            "invalid argument %s for \"--%s\" flag: --legacy-flags accepts only %s here (%s); %s", shown.text,
            info->name, info->only, info->history, info->instead);
    return 0;
}

int legacy_flags_read(struct scheduler_flags *flags, struct error *err)
{
    for (int i = 0; i < LEGACY_COUNT; i++) {
        const struct legacy_flag_info *info = &legacy_flags[i];
        if (!flags->legacy[i].ptr)
            continue;
        if (!flags->legacy_flags || !info->effect)
            return refuse(info, err);
        int r = check_value(&flags->arena, info, flags->legacy[i], err);
        if (r < 0)
            return r;
        if (info->has_same && !flags->given[info->same_as])
            *(struct str *)((char *)flags + flag_infos[info->same_as].offset) = flags->legacy[i];
        if (info->has_same)
            flags->given[info->same_as] = true;
    }
    return 0;
}

void legacy_flags_warn(struct scheduler_flags *flags, struct warnings *warnings)
{
    for (int i = 0; i < LEGACY_COUNT && warnings; i++)
        if (flags->legacy[i].ptr)
            *vec_push(&warnings->list) =
                arena_printf(&flags->arena, "--%s (%s): %s; %s", legacy_flags[i].name,
                             legacy_flags[i].history, legacy_flags[i].effect, legacy_flags[i].instead);
}

struct opt_int32 legacy_percentage(const struct scheduler_flags *flags)
{
    struct str text = flags->legacy[LEGACY_percentage_of_nodes_to_score];
    struct opt_int32 found = { 0 };
    struct error why;
    found.set = text.ptr && flag_kinds[FLAG_KIND_INT32].read(NULL, text, false, &found.value, &why) == 0;
    return found;
}
