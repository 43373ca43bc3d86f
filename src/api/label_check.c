/* label_check.c: whether the reference can parse a selector, and its error if it cannot.
 *
 * The sentences are those of k8s.io/apimachinery's field errors; see codec/problems.h. Decoders call this on every
 * selector, so a good one costs a look at its bytes and no memory. */
#include "api/labels.h"
#include "api/names.h"

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

/* What is wrong with the number of values for an operator on labels; NULL: nothing. */
static const char *values_problem(enum selector_op op, uint32_t count)
{
    switch (op) {
    case OP_IN:
    case OP_NOT_IN:
        return count ? NULL : "for 'in', 'notin' operators, values set can't be empty";
    case OP_EXISTS:
    case OP_DOES_NOT_EXIST:
        return count ? "values set must be empty for exists and does not exist" : NULL;
    case OP_GT:
    case OP_LT:
        return count == 1 ? NULL : "for 'Gt', 'Lt' operators, exactly one value is required";
    case OP_INVALID:
        break;
    }
    return NULL;
}

static bool compares_numbers(enum selector_op op)
{
    return op == OP_GT || op == OP_LT;
}

/* A requirement on labels with a known operator. */
static void check_requirement(const struct selector_requirement *req, const struct path *path,
                              struct problems *problems)
{
    const struct path *at = PATH_FIELD(path, "values");
    const char *problem = values_problem(req->op, req->values.len);
    int64_t number;
    problem_name(problems, PATH_FIELD(path, "key"), req->key, name_check_label_key(req->key));
    if (problem)
        problem_values(problems, at, &req->values, problem);
    for (uint32_t i = 0; i < req->values.len && compares_numbers(req->op); i++)
        if (!str_to_int64(req->values.items[i], &number))
            problem_text(problems, PATH_INDEX(at, i), req->values.items[i],
                         "for 'Gt', 'Lt' operators, the value must be an integer");
    for (uint32_t i = 0; i < req->values.len; i++)
        problem_name(problems, PATH_KEY(PATH_INDEX(at, i), req->key), req->values.items[i],
                     name_check_label_value(req->values.items[i]));
}

static void check_field(const struct selector_requirement *req, const struct path *path,
                        struct problems *problems)
{
    static const char *const operators[] = { "In", "NotIn" };
    if (req->op != OP_IN && req->op != OP_NOT_IN)
        problem_unsupported(problems, PATH_FIELD(path, "operator"), req->operator, operators,
                            ARRAY_SIZE(operators));
    else if (req->values.len != 1)
        problem_values(problems, PATH_FIELD(path, "values"), &req->values, "must have one element");
}

void node_selector_term_problems(const struct node_selector_term *term, const struct path *path,
                                 struct problems *problems)
{
    static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };
    for (uint32_t i = 0; i < term->match_expressions.len; i++) {
        const struct selector_requirement *req = &term->match_expressions.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "matchExpressions"), i);
        if (req->op == OP_INVALID)
            problem_unsupported(problems, PATH_FIELD(at, "operator"), req->operator, operators,
                                ARRAY_SIZE(operators));
        else
            check_requirement(req, at, problems);
    }
    for (uint32_t i = 0; i < term->match_fields.len; i++)
        check_field(&term->match_fields.items[i], PATH_INDEX(PATH_FIELD(path, "matchFields"), i), problems);
}

static int report(struct problems *problems, struct error *err)
{
    int r = problems_report(problems, NULL, "", err);
    problems_release(problems);
    return r;
}

static int refuse_operator(struct str operator, struct error * err)
{
    _cleanup_(strbuf_release) struct strbuf quoted = { 0 };
    quote_go(&quoted, operator);
    return error_set(err, -EINVAL, "%s is not a valid label selector operator", quoted.text);
}

int label_selector_check(const struct label_selector *sel, struct error *err)
{
    struct problems problems = { 0 };
    if (!sel)
        return 0;
    list_for(&sel->match_labels, pair) {
        struct selector_requirement equals = { pair->key, { 0 }, OP_IN, { &pair->value, 1 } };
        check_requirement(&equals, NULL, &problems);
        if (problems.count)
            return report(&problems, err);
    }
    list_for(&sel->match_expressions, req) {
        if (req->op == OP_INVALID || compares_numbers(req->op))
            return refuse_operator(req->operator, err);
        struct selector_requirement shown = *req;
        if (!shown.values.len) /* the reference copies the values, and a copy of an empty list is no list */
            shown.values.items = NULL;
        check_requirement(&shown, NULL, &problems);
        if (problems.count)
            return report(&problems, err);
    }
    return 0;
}

int node_selector_term_check(const struct node_selector_term *term, struct error *err)
{
    struct problems problems = { 0 };
    node_selector_term_problems(term, NULL, &problems);
    return report(&problems, err);
}

int node_selector_check(const struct node_selector *sel, struct error *err)
{
    struct problems problems = { 0 };
    for (uint32_t i = 0; sel && i < sel->terms.len; i++)
        node_selector_term_problems(&sel->terms.items[i],
                                    PATH_INDEX(PATH_FIELD(NULL, "nodeSelectorTerms"), i), &problems);
    return report(&problems, err);
}

int preferred_node_terms_check(const struct preferred_node_term *terms, uint32_t len, struct error *err)
{
    struct problems problems = { 0 };
    for (uint32_t i = 0; i < len; i++)
        if (terms[i].weight)
            node_selector_term_problems(&terms[i].preference, PATH_INDEX(NULL, i), &problems);
    return report(&problems, err);
}
