/* label_check.c: whether the reference can parse a selector, and its error if it cannot.
 *
 * The sentences are those of k8s.io/apimachinery's field errors: "path: Invalid value: what: why", several of them in
 * brackets, none twice. Decoders call this on every selector, so a good one costs a look at its bytes and no memory. */
#include "api/labels.h"
#include "api/names.h"

#include <errno.h>
#include <stdio.h>

enum { PROBLEM_BYTES_MAX = 8192, SENTENCES_MAX = 256 };

/* ---- the rules ---- */

static bool is_key(struct str key)
{
    return !name_check_label_key(key).len;
}

static bool is_value(struct str value)
{
    return !name_check_label_value(value).len;
}

/* What the number of values must be for an operator on labels. */
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

static bool is_requirement(const struct selector_requirement *req)
{
    int64_t number;
    if (req->op == OP_INVALID || !is_key(req->key) || values_problem(req->op, req->values.len))
        return false;
    list_for(&req->values, value)
        if (!is_value(*value) || (compares_numbers(req->op) && !str_to_int64(*value, &number)))
            return false;
    return true;
}

static bool is_field_requirement(const struct selector_requirement *req)
{
    return (req->op == OP_IN || req->op == OP_NOT_IN) && req->values.len == 1;
}

static bool is_term(const struct node_selector_term *term)
{
    list_for(&term->match_expressions, req)
        if (!is_requirement(req))
            return false;
    list_for(&term->match_fields, req)
        if (!is_field_requirement(req))
            return false;
    return true;
}

/* ---- the sentences ---- */

struct sentence {
    size_t from, len;
};

struct problems {
    struct strbuf text; /* all of them, ", " between two */
    struct sentence sentences[SENTENCES_MAX];
    size_t len;
    size_t from; /* of the one being written */
};

/* False when there are too many: a hostile selector may have a million problems, and err holds a thousand bytes. */
static bool begin(struct problems *problems)
{
    if (problems->text.len > PROBLEM_BYTES_MAX || problems->len == SENTENCES_MAX)
        return false;
    if (problems->len)
        strbuf_puts(&problems->text, ", ");
    problems->from = problems->text.len;
    return true;
}

static void end(struct problems *problems)
{
    struct strbuf *text = &problems->text;
    size_t from = problems->from, len = text->len - from;
    for (size_t i = 0; i < problems->len; i++) {
        const struct sentence *known = &problems->sentences[i];
        if (known->len == len && memcmp(text->text + known->from, text->text + from, len) == 0) {
            text->len = from - strlen(", ");
            text->text[text->len] = '\0';
            return;
        }
    }
    problems->sentences[problems->len++] = (struct sentence){ from, len };
}

static int finish(struct problems *problems, struct error *err)
{
    int r = problems->len ? -EINVAL : 0;
    if (problems->len == 1)
        error_set(err, r, "%s", problems->text.text);
    else if (problems->len)
        error_set(err, r, "[%s]", problems->text.text);
    strbuf_release(&problems->text);
    return r;
}

/* As Go's %q, or as its JSON encoder. */
static void put_quoted(struct strbuf *out, struct str text, bool json)
{
    static const char plain[] = "\a\b\f\n\r\t\v", escaped[] = "abfnrtv";
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        const char *named = c ? strchr(plain, c) : NULL;
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (named && !(json && (c == '\a' || c == '\v')))
            strbuf_printf(out, "\\%c", escaped[named - plain]);
        else if (json && (c < ' ' || c == '<' || c == '>' || c == '&'))
            strbuf_printf(out, "\\u%04x", c);
        else if (c < ' ' || (c == 0x7f && !json))
            strbuf_printf(out, "\\x%02x", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_putc(out, '"');
}

static void put_list(struct strbuf *out, const struct str_list *values)
{
    if (!values->items) {
        strbuf_puts(out, "null");
        return;
    }
    strbuf_putc(out, '[');
    list_for(values, value) {
        if (value != values->items)
            strbuf_putc(out, ',');
        put_quoted(out, *value, true);
        if (out->len > PROBLEM_BYTES_MAX)
            break;
    }
    strbuf_putc(out, ']');
}

static void put_faults(struct strbuf *out, struct name_faults faults)
{
    for (size_t i = 0; i < faults.len; i++)
        strbuf_printf(out, "%s%s", i ? "; " : "", faults.items[i]);
}

static void report_unsupported(struct problems *problems, const char *path, struct str operator,
                               const char * supported)
{
    if (!begin(problems))
        return;
    strbuf_printf(&problems->text, "%soperator: Unsupported value: ", path);
    put_quoted(&problems->text, operator, true);
    strbuf_printf(&problems->text, ": supported values: %s", supported);
    end(problems);
}

static void report_values(struct problems *problems, const char *path, const struct str_list *values,
                          const char *problem)
{
    if (!begin(problems))
        return;
    strbuf_printf(&problems->text, "%svalues: Invalid value: ", path);
    put_list(&problems->text, values);
    strbuf_printf(&problems->text, ": %s", problem);
    end(problems);
}

/* `path` is empty or ends in a dot. */
static void report_requirement(struct problems *problems, const char *path,
                               const struct selector_requirement *req)
{
    struct strbuf *out = &problems->text;
    int64_t number;
    if (!is_key(req->key) && begin(problems)) {
        strbuf_printf(out, "%skey: Invalid value: ", path);
        put_quoted(out, req->key, false);
        strbuf_puts(out, ": ");
        put_faults(out, name_check_label_key(req->key));
        end(problems);
    }
    const char *problem = values_problem(req->op, req->values.len);
    if (problem)
        report_values(problems, path, &req->values, problem);
    for (uint32_t i = 0; i < req->values.len && compares_numbers(req->op); i++) {
        if (str_to_int64(req->values.items[i], &number) || !begin(problems))
            continue;
        strbuf_printf(out, "%svalues[%u]: Invalid value: ", path, i);
        put_quoted(out, req->values.items[i], false);
        strbuf_puts(out, ": for 'Gt', 'Lt' operators, the value must be an integer");
        end(problems);
    }
    for (uint32_t i = 0; i < req->values.len; i++) {
        if (is_value(req->values.items[i]) || !begin(problems))
            continue;
        strbuf_printf(out, "%svalues[%u][" STR_FMT "]: Invalid value: ", path, i, STR_ARG(req->key));
        put_quoted(out, req->values.items[i], false);
        strbuf_puts(out, ": ");
        put_faults(out, name_check_label_value(req->values.items[i]));
        end(problems);
    }
}

static void report_term(struct problems *problems, const char *term_path,
                        const struct node_selector_term *term)
{
    char path[128];
    for (uint32_t i = 0; i < term->match_expressions.len; i++) {
        const struct selector_requirement *req = &term->match_expressions.items[i];
        snprintf(path, sizeof(path), "%smatchExpressions[%u].", term_path, i);
        if (req->op == OP_INVALID)
            report_unsupported(problems, path, req->operator,
                               "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"");
        else
            report_requirement(problems, path, req);
    }
    for (uint32_t i = 0; i < term->match_fields.len; i++) {
        const struct selector_requirement *req = &term->match_fields.items[i];
        snprintf(path, sizeof(path), "%smatchFields[%u].", term_path, i);
        if (req->op != OP_IN && req->op != OP_NOT_IN)
            report_unsupported(problems, path, req->operator, "\"In\", \"NotIn\"");
        else if (req->values.len != 1)
            report_values(problems, path, &req->values, "must have one element");
    }
}

/* One requirement of a label selector; its paths begin in itself. */
static int refuse_requirement(const struct selector_requirement *req, struct error *err)
{
    if (!err)
        return -EINVAL;
    struct problems problems = { 0 };
    report_requirement(&problems, "", req);
    return finish(&problems, err);
}

static int refuse_operator(struct str operator, struct error * err)
{
    _cleanup_(strbuf_release) struct strbuf quoted = { 0 };
    put_quoted(&quoted, operator, false);
    return error_set(err, -EINVAL, "%s is not a valid label selector operator", quoted.text);
}

int label_selector_check(const struct label_selector *sel, struct error *err)
{
    if (!sel)
        return 0;
    list_for(&sel->match_labels, pair) {
        if (is_key(pair->key) && is_value(pair->value))
            continue;
        struct selector_requirement equals = { pair->key, { 0 }, OP_IN, { &pair->value, 1 } };
        return refuse_requirement(&equals, err);
    }
    list_for(&sel->match_expressions, req) {
        if (req->op == OP_INVALID || compares_numbers(req->op))
            return refuse_operator(req->operator, err);
        if (is_requirement(req))
            continue;
        struct selector_requirement shown = *req;
        if (!shown.values.len) /* the reference copies the values, and a copy of an empty list is no list */
            shown.values.items = NULL;
        return refuse_requirement(&shown, err);
    }
    return 0;
}

int node_selector_term_check(const struct node_selector_term *term, struct error *err)
{
    if (is_term(term))
        return 0;
    if (!err)
        return -EINVAL;
    struct problems problems = { 0 };
    report_term(&problems, "", term);
    return finish(&problems, err);
}

int node_selector_check(const struct node_selector *sel, struct error *err)
{
    struct problems problems = { 0 };
    char path[64];
    for (uint32_t i = 0; sel && i < sel->terms.len; i++) {
        if (is_term(&sel->terms.items[i]))
            continue;
        snprintf(path, sizeof(path), "nodeSelectorTerms[%u].", i);
        report_term(&problems, path, &sel->terms.items[i]);
    }
    return finish(&problems, err);
}

int preferred_node_terms_check(const struct preferred_node_term *terms, uint32_t len, struct error *err)
{
    struct problems problems = { 0 };
    char path[64];
    for (uint32_t i = 0; i < len; i++) {
        if (terms[i].weight == 0 || is_term(&terms[i].preference))
            continue;
        snprintf(path, sizeof(path), "[%u].", i);
        report_term(&problems, path, &terms[i].preference);
    }
    return finish(&problems, err);
}
