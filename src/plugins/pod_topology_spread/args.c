/* args.c: see args.h. Ranges and sentences are those of the reference. */
#include "plugins/pod_topology_spread/args.h"

#include "api/fields.h"
#include "base/map.h"
#include "codec/record_rows.h"

#define T struct pod_topology_spread_args
static const struct record_field args_fields[] = {
    F_LIST("defaultConstraints", 0, default_constraints, spread_constraint),
    F("defaultingType", 0, STR, defaulting_type),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void complete(void *ret, const struct features *features _unused_, struct arena *arena _unused_)
{
    struct pod_topology_spread_args *args = ret;
    if (str_empty(args->defaulting_type))
        args->defaulting_type = STR("System");
}

static void validate_defaulting_type(const struct pod_topology_spread_args *args, const struct path *path,
                                     struct problems *problems)
{
    static const char *const types[] = { "System", "List" };
    bool system = str_is(args->defaulting_type, "System");
    if (!system && !str_is(args->defaulting_type, "List")) {
        problem_unsupported(problems, path, args->defaulting_type, types, ARRAY_SIZE(types));
    } else if (system && args->default_constraints.len) {
        problem_json(problems, path, STR("\"System\""), "when .defaultConstraints are not empty");
    }
}

static void validate_constraint(const struct spread_constraint *constraint, const struct path *path,
                                struct problems *problems)
{
    static const char *const actions[] = { "DoNotSchedule", "ScheduleAnyway" };
    const struct path *key_at = PATH_FIELD(path, "topologyKey"),
                      *action_at = PATH_FIELD(path, "whenUnsatisfiable");
    struct str action = constraint->when_unsatisfiable;
    if (constraint->max_skew <= 0)
        problem_int(problems, PATH_FIELD(path, "maxSkew"), constraint->max_skew,
                    "not in valid range (0, inf)");
    if (str_empty(constraint->topology_key))
        problem_required(problems, key_at, "can not be empty");
    else
        problem_label_key(problems, key_at, constraint->topology_key);
    if (str_empty(action))
        problem_required(problems, action_at, "can not be empty");
    else if (!str_is(action, actions[0]) && !str_is(action, actions[1]))
        problem_unsupported(problems, action_at, action, actions, ARRAY_SIZE(actions));
    if (constraint->selector)
        problem_forbidden(problems, PATH_FIELD(path, "labelSelector"),
                          "constraint must not define a selector, as they deduced for each pod");
}

static void validate(const void *args_, const struct path *path, const struct features *features _unused_,
                     struct problems *problems)
{
    const struct pod_topology_spread_args *args = args_;
    struct arena scratch = { 0 };
    struct strmap seen = { 0 };
    validate_defaulting_type(args, PATH_FIELD(path, "defaultingType"), problems);
    for (uint32_t i = 0; i < args->default_constraints.len; i++) {
        struct spread_constraint *constraint = &args->default_constraints.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "defaultConstraints"), i);
        validate_constraint(constraint, at, problems);
        struct str pair =
            arena_printf(&scratch, "{" STR_FMT ", " STR_FMT "}", STR_ARG(constraint->topology_key),
                         STR_ARG(constraint->when_unsatisfiable));
        if (strmap_put(&seen, pair, constraint))
            problem_duplicate(problems, at, pair);
    }
    strmap_release(&seen);
    arena_release(&scratch);
}

const struct plugin_args_kind pod_topology_spread_args_kind = {
    .type = &args_type,
    .complete = complete,
    .validate = validate,
};
