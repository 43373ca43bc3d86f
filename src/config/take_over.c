/* take_over.c: see take_over.h. */
#include "config/take_over.h"

static const struct str default_lease = STR("kube-scheduler"), default_name = STR("default-scheduler");

static int read_one(struct str text, struct take_over *ret, struct error *err)
{
    struct str rest = text, names = text;
    ptrdiff_t slash = str_find(text, '/');
    *ret = (struct take_over){ 0 };
    if (slash >= 0) {
        ret->namespace = str_cut(&rest, '/');
        names = rest;
    }
    struct str scheduler = names;
    ret->lease = str_find(names, '=') >= 0 ? str_cut(&scheduler, '=') : names;
    ret->scheduler = scheduler;
    bool is_plain = str_find(names, '=') < 0;
    if (is_plain && (str_eq(names, default_lease) || str_eq(names, default_name))) {
        ret->lease = default_lease;
        ret->scheduler = default_name;
    }
    if (!ret->lease.len || !ret->scheduler.len || (slash >= 0 && !ret->namespace.len) ||
        str_find(names, '/') >= 0)
        return error_set(err, -EINVAL,
                         "--take-over: \"" STR_FMT
                         "\": expected NAME or LEASE=SCHEDULER, with NAMESPACE/ before it if need be",
                         STR_ARG(text));
    return 0;
}

int take_overs_read(const struct str_list *flag, struct arena *arena, struct take_overs *ret,
                    struct error *err)
{
    if (flag->len > TAKE_OVERS_MAX)
        return error_set(err, -E2BIG, "--take-over: more than %d schedulers", TAKE_OVERS_MAX);
    *ret = (struct take_overs){ .items = arena_array(arena, struct take_over, flag->len) };
    list_for(flag, text) {
        struct take_over *one = &ret->items[ret->len];
        int r = read_one(*text, one, err);
        if (r < 0)
            return r;
        for (uint32_t i = 0; i < ret->len; i++)
            if (str_eq(ret->items[i].scheduler, one->scheduler))
                return error_set(err, -EINVAL, "--take-over names scheduler " STR_FMT " twice",
                                 STR_ARG(one->scheduler));
        ret->len++;
    }
    return 0;
}

/* Its number; overs->len: none. */
static uint32_t find(const struct take_overs *overs, struct str scheduler)
{
    uint32_t i = 0;
    while (i < overs->len && !str_eq(overs->items[i].scheduler, scheduler))
        i++;
    return i;
}

int take_overs_apply(const struct take_overs *overs, uint64_t taken, struct arena *arena,
                     struct scheduler_config *config, struct error *err)
{
    uint32_t len = 0;
    uint64_t missing = taken;
    struct profile_config *profiles =
        arena_array(arena, struct profile_config, config->profiles.len + overs->len);
    list_for(&config->profiles, profile) {
        uint32_t number = find(overs, profile->scheduler_name);
        bool is_own = number == overs->len;
        if (!is_own)
            missing &= ~(UINT64_C(1) << number);
        if (is_own || taken >> number & 1)
            profiles[len++] = *profile;
    }
    if (!len)
        return error_set(
            err, -EINVAL,
            "--take-over names the scheduler of each profile: one has to be this scheduler's own");
    for (uint32_t i = 0; i < overs->len; i++)
        if (missing >> i & 1) {
            profiles[len] = profiles[0];
            profiles[len++].scheduler_name = overs->items[i].scheduler;
        }
    config->profiles.items = profiles;
    config->profiles.len = len;
    return 0;
}
