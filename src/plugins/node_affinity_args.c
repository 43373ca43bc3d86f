/* node_affinity_args.c: see node_affinity_args.h. Ranges and sentences are those of the reference. */
#include "plugins/node_affinity_args.h"

#include "api/names.h"
#include "codec/record_rows.h"
#include "config/arg_types.h"

#define T struct node_affinity_args
static const struct record_field args_fields[] = {
    F_PTR("addedAffinity", 0, added_affinity, node_affinity),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void problem_values(struct problems *problems, const struct path *path, const struct str_list *values,
                           const char *detail)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    strbuf_puts(&json, values->items ? "[" : "null");
    list_for(values, value) {
        strbuf_puts(&json, value == values->items ? "" : ",");
        print_json(&json, *value);
    }
    strbuf_puts(&json, values->items ? "]" : "");
    problem_json(problems, path, strbuf_slice(&json), detail);
}

/* The faults of one name as one problem. */
static void problem_name(struct problems *problems, const struct path *path, struct str name,
                         struct name_faults faults)
{
    _cleanup_(strbuf_release) struct strbuf detail = { 0 };
    for (size_t i = 0; i < faults.len; i++)
        strbuf_printf(&detail, "%s%s", i ? "; " : "", faults.items[i]);
    if (faults.len)
        problem_text(problems, path, name, detail.text);
}

static void validate_values(const struct selector_requirement *requirement, const struct path *at,
                            struct problems *problems)
{
    const struct str_list *values = &requirement->values;
    switch (requirement->op) {
    case OP_IN:
    case OP_NOT_IN:
        if (!values->len)
            problem_values(problems, at, values, "for 'in', 'notin' operators, values set can't be empty");
        break;
    case OP_EXISTS:
    case OP_DOES_NOT_EXIST:
        if (values->len)
            problem_values(problems, at, values, "values set must be empty for exists and does not exist");
        break;
    case OP_GT:
    case OP_LT:
        if (values->len != 1)
            problem_values(problems, at, values, "for 'Gt', 'Lt' operators, exactly one value is required");
        for (uint32_t i = 0; i < values->len; i++) {
            int64_t number;
            if (!str_to_int64(values->items[i], &number))
                problem_text(problems, PATH_INDEX(at, i), values->items[i],
                             "for 'Gt', 'Lt' operators, the value must be an integer");
        }
        break;
    case OP_INVALID:
        break;
    }
    for (uint32_t i = 0; i < values->len; i++)
        problem_name(problems, PATH_KEY(PATH_INDEX(at, i), requirement->key), values->items[i],
                     name_check_label_value(values->items[i]));
}

static void validate_expression(const struct selector_requirement *requirement, const struct path *path,
                                struct problems *problems)
{
    static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };
    if (requirement->op == OP_INVALID) {
        problem_unsupported(problems, PATH_FIELD(path, "operator"), requirement->operator, operators,
                            ARRAY_SIZE(operators));
        return;
    }
    problem_name(problems, PATH_FIELD(path, "key"), requirement->key, name_check_label_key(requirement->key));
    validate_values(requirement, PATH_FIELD(path, "values"), problems);
}

static void validate_field(const struct selector_requirement *requirement, const struct path *path,
                           struct problems *problems)
{
    static const char *const operators[] = { "In", "NotIn" };
    if (requirement->op != OP_IN && requirement->op != OP_NOT_IN)
        problem_unsupported(problems, PATH_FIELD(path, "operator"), requirement->operator, operators,
                            ARRAY_SIZE(operators));
    else if (requirement->values.len != 1)
        problem_values(problems, PATH_FIELD(path, "values"), &requirement->values, "must have one element");
}

static void validate_term(const struct node_selector_term *term, const struct path *path,
                          struct problems *problems)
{
    for (uint32_t i = 0; i < term->match_expressions.len; i++)
        validate_expression(&term->match_expressions.items[i],
                            PATH_INDEX(PATH_FIELD(path, "matchExpressions"), i), problems);
    for (uint32_t i = 0; i < term->match_fields.len; i++)
        validate_field(&term->match_fields.items[i], PATH_INDEX(PATH_FIELD(path, "matchFields"), i),
                       problems);
}

static void validate(const void *args_, const struct path *path, const struct features *features _unused_,
                     struct problems *problems)
{
    const struct node_affinity *affinity = ((const struct node_affinity_args *)args_)->added_affinity;
    if (!affinity)
        return;
    const struct path *at = PATH_FIELD(path, "addedAffinity");
    const struct path *terms =
        PATH_FIELD(PATH_FIELD(at, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
    for (uint32_t i = 0; affinity->required && i < affinity->required->terms.len; i++)
        validate_term(&affinity->required->terms.items[i], PATH_INDEX(terms, i), problems);
    const struct path *preferred = PATH_FIELD(at, "preferredDuringSchedulingIgnoredDuringExecution");
    for (uint32_t i = 0; i < affinity->preferred.len; i++)
        if (affinity->preferred.items[i].weight) /* others are never looked at */
            validate_term(&affinity->preferred.items[i].preference, PATH_INDEX(preferred, i), problems);
}

const struct plugin_args_kind node_affinity_args_kind = {
    .type = &args_type,
    .validate = validate,
};
