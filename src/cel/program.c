/* program.c: from a text to a program, and its evaluation. */
#include "cel/check.h"
#include "cel/parse.h"
#include "cel/run.h"

static bool is_scalar(const struct cel_type *type)
{
    return type->kind == CEL_BOOL || type->kind == CEL_INT || type->kind == CEL_STRING ||
           type->kind == CEL_SEMVER || type->kind == CEL_ANY || type->kind == CEL_DYN;
}

static int check_attribute(struct cel_checker *checker, const struct cel_type *type, struct error *err)
{
    if (is_scalar(type) || (type->kind == CEL_LIST && is_scalar(type->args[0])))
        return 0;
    struct str text = cel_type_text(&checker->types, type, true);
    return error_set(err, -EINVAL,
                     "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of "
                     "these scalars, not " STR_FMT,
                     STR_ARG(text));
}

/* The types that may come out, unless anything may. */
static int check_result(struct cel_checker *checker, const struct cel_node *root,
                        const struct cel_options *options, struct error *err)
{
    const struct cel_type *type = cel_type_resolve(&checker->types, root->type, true);
    if (options->attribute_result)
        return check_attribute(checker, type, err);
    if (options->any_result || type->kind == CEL_BOOL || type->kind == CEL_ANY ||
        ((options->rules & CEL_DYN_ATTRIBUTES) && type->kind == CEL_DYN))
        return 0;
    struct str text = cel_type_text(&checker->types, type, true);
    return error_set(err, -EINVAL, "must evaluate to bool or the unknown type, not " STR_FMT, STR_ARG(text));
}

static int check(struct cel_node *root, const struct cel_options *options, struct arena *arena,
                 struct cel_issues *issues, struct cel_program *program, struct error *err)
{
    struct cel_checker checker = {
        .types = { .arena = arena },
        .issues = issues,
        .rules = options->rules,
    };
    cel_check(&checker, root);
    if (issues->count == 0)
        cel_validate(&checker, root);
    if (checker.types.exhausted)
        cel_issue(issues, root->at, "expression is too complex");
    int r = issues->count ? cel_issues_report(issues, "compilation failed: ", err)
                          : check_result(&checker, root, options, err);
    program->slots_len = checker.slots_len;
    cel_types_release(&checker.types);
    return r ? r : cel_plan(root, options->rules, arena, err);
}

int cel_compile(struct str text, const struct cel_options *options, struct arena *arena,
                struct cel_program **ret, struct error *err)
{
    static const struct cel_options defaults = { 0 };
    options = options ? options : &defaults;
    if (text.len > CEL_TEXT_LEN_MAX)
        return error_set(err, -EINVAL, "compilation failed: the expression has more than %d bytes",
                         CEL_TEXT_LEN_MAX);
    text = arena_str(arena, text);
    struct cel_issues issues = { .text = text, .arena = arena };
    struct cel_node *root = cel_parse(text, options->rules, arena, &issues);
    if (!root || issues.count)
        return cel_issues_report(&issues, "compilation failed: ", err);
    struct cel_program *program = arena_new(arena, struct cel_program);
    int r = check(root, options, arena, &issues, program, err);
    if (r < 0)
        return r;
    program->root = root;
    program->rules = options->rules;
    program->cost_max = options->cost_max ? options->cost_max : CEL_COST_MAX;
    *ret = program;
    return 0;
}

int cel_eval(const struct cel_program *program, const struct cel_value *device, struct arena *scratch,
             struct cel_value *ret, uint64_t *ret_cost, struct error *err)
{
    struct cel_run run = {
        .scratch = scratch,
        .device = device,
        .slots = arena_array(scratch, struct cel_slot, program->slots_len),
        .cost_max = program->cost_max,
        .rules = program->rules,
    };
    struct cel_value value = cel_eval_node(&run, program->root);
    if (ret_cost)
        *ret_cost = run.cost;
    if (!str_empty(run.crash))
        return error_set(err, -EINVAL, "internal error: " STR_FMT, STR_ARG(run.crash));
    if (run.stopped)
        value = cel_stop(&run);
    if (cel_is_error(&value))
        return error_set(err, run.stopped ? -E2BIG : -EINVAL, STR_FMT, STR_ARG(value.text));
    *ret = value;
    return 0;
}
