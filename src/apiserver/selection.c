/* selection.c: parsing of selectors, with the messages of k8s.io/apimachinery, and matching on JSON.
 *
 * The lexer of label selectors knows identifiers and the signs  ) , ! == = in != ( notin > <. */
#include "apiserver/selection.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/names.h"
#include "apiserver/tree.h"

enum requirement_op {
    REQUIRE_IN,
    REQUIRE_NOT_IN,
    REQUIRE_EXISTS,
    REQUIRE_ABSENT,
    REQUIRE_GREATER,
    REQUIRE_LESS
};

struct requirement {
    struct str key;
    enum requirement_op op;
    struct str *values;
    size_t value_count;
};

struct field_requirement {
    struct str path, value;
    bool is_equal;
    const char *absent; /* what an absent field reads as */
};

struct selection {
    VEC(struct requirement) labels;
    VEC(struct field_requirement) fields;
    struct arena arena;
};

enum { SELECTOR_TERMS_MAX = 1000 };

/* ---- label selectors ---- */
enum token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_COMMA,
    TOKEN_NOT,
    TOKEN_EQUALS,
    TOKEN_NOT_EQUALS,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_IN,
    TOKEN_NOT_IN,
    TOKEN_GREATER,
    TOKEN_LESS
};

struct lexer {
    struct str rest;
    enum token token;
    struct str text; /* of the token */
};

static bool is_sign(char c)
{
    return c && strchr("=!(),><", c);
}

static bool is_space(char c)
{
    return c && strchr(" \t\r\n", c);
}

static const struct {
    const char *text;
    enum token token;
} signs[] = {
    { "==", TOKEN_EQUALS }, { "!=", TOKEN_NOT_EQUALS }, { "=", TOKEN_EQUALS },
    { "!", TOKEN_NOT },     { "(", TOKEN_OPEN },        { ")", TOKEN_CLOSE },
    { ",", TOKEN_COMMA },   { ">", TOKEN_GREATER },     { "<", TOKEN_LESS },
};

static void lex(struct lexer *lexer)
{
    struct str rest = lexer->rest;
    while (rest.len && is_space(rest.ptr[0]))
        rest = str_slice(rest, 1, rest.len);
    uint32_t len = 0;
    lexer->token = TOKEN_END;
    if (rest.len && is_sign(rest.ptr[0])) {
        for (size_t i = 0; i < ARRAY_SIZE(signs) && !len; i++)
            if (str_starts_with(rest, str_from(signs[i].text))) {
                lexer->token = signs[i].token;
                len = (uint32_t)strlen(signs[i].text);
            }
    } else if (rest.len) {
        while (len < rest.len && !is_sign(rest.ptr[len]) && !is_space(rest.ptr[len]))
            len++;
        struct str word = str_slice(rest, 0, len);
        lexer->token = str_is(word, "in") ? TOKEN_IN : str_is(word, "notin") ? TOKEN_NOT_IN : TOKEN_WORD;
    }
    lexer->text = str_slice(rest, 0, len);
    lexer->rest = str_slice(rest, len, rest.len);
}

static int unexpected(const struct lexer *lexer, const char *wanted, struct api_error *err)
{
    return api_error_bad_request(err, "unable to parse requirement: found '" STR_FMT "', expected: %s",
                                 STR_ARG(lexer->text), wanted);
}

/* A value may be missing altogether: "a=" is the empty one. Words such as "in" are values here. */
static bool is_value(enum token token)
{
    return token == TOKEN_WORD || token == TOKEN_IN || token == TOKEN_NOT_IN;
}

static void add_value(struct selection *selector, struct requirement *req, struct str value)
{
    struct str *more = arena_array(&selector->arena, struct str, req->value_count + 1);
    if (req->value_count)
        memcpy(more, req->values, req->value_count * sizeof(*more));
    more[req->value_count++] = arena_str(&selector->arena, value);
    req->values = more;
}

static int parse_set(struct selection *selector, struct requirement *req, struct lexer *lexer,
                     struct api_error *err)
{
    lex(lexer);
    if (lexer->token != TOKEN_OPEN)
        return unexpected(lexer, "'('", err);
    lex(lexer);
    for (;;) {
        if (req->value_count > SELECTOR_TERMS_MAX)
            return api_error_bad_request(err, "unable to parse requirement: too many values");
        if (is_value(lexer->token)) {
            add_value(selector, req, lexer->text);
            lex(lexer);
        } else if (lexer->token == TOKEN_COMMA || lexer->token == TOKEN_CLOSE) {
            add_value(selector, req, STR(""));
        } else {
            return unexpected(lexer, "',', ')' or identifier", err);
        }
        if (lexer->token == TOKEN_CLOSE)
            break;
        if (lexer->token != TOKEN_COMMA)
            return unexpected(lexer, "',' or ')'", err);
        lex(lexer);
    }
    lex(lexer);
    return 0;
}

/* The lexer stands at the operator. */
static int parse_operator(struct selection *selector, struct requirement *req, struct lexer *lexer,
                          struct api_error *err)
{
    switch (lexer->token) {
    case TOKEN_END:
    case TOKEN_COMMA:
        req->op = REQUIRE_EXISTS;
        return 0;
    case TOKEN_IN:
    case TOKEN_NOT_IN:
        req->op = lexer->token == TOKEN_IN ? REQUIRE_IN : REQUIRE_NOT_IN;
        return parse_set(selector, req, lexer, err);
    case TOKEN_EQUALS:
    case TOKEN_NOT_EQUALS:
    case TOKEN_GREATER:
    case TOKEN_LESS:
        req->op = lexer->token == TOKEN_EQUALS       ? REQUIRE_IN
                  : lexer->token == TOKEN_NOT_EQUALS ? REQUIRE_NOT_IN
                  : lexer->token == TOKEN_GREATER    ? REQUIRE_GREATER
                                                     : REQUIRE_LESS;
        lex(lexer);
        if (lexer->token == TOKEN_COMMA || lexer->token == TOKEN_END) {
            add_value(selector, req, STR(""));
            return 0;
        }
        if (!is_value(lexer->token))
            return unexpected(lexer, "identifier", err);
        add_value(selector, req, lexer->text);
        lex(lexer);
        return 0;
    default:
        return unexpected(lexer, "in, notin, =, ==, !=, gt, lt", err);
    }
}

static int check_requirement(const struct requirement *req, struct api_error *err)
{
    struct name_faults faults = name_check_label_key(req->key);
    if (faults.len)
        return api_error_bad_request(err,
                                     "unable to parse requirement: <nil>: Invalid value: \"" STR_FMT "\": %s",
                                     STR_ARG(req->key), faults.items[0]);
    for (size_t i = 0; i < req->value_count; i++) {
        faults = name_check_label_value(req->values[i]);
        if (faults.len)
            return api_error_bad_request(err,
                                         "unable to parse requirement: values[%zu][" STR_FMT
                                         "]: Invalid value: \"" STR_FMT "\": %s",
                                         i, STR_ARG(req->key), STR_ARG(req->values[i]), faults.items[0]);
    }
    return 0;
}

static int parse_labels(struct selection *selector, struct str text, struct api_error *err)
{
    struct lexer lexer = { .rest = text };
    lex(&lexer);
    while (lexer.token != TOKEN_END) {
        struct requirement req = { .op = REQUIRE_EXISTS };
        bool is_not = lexer.token == TOKEN_NOT;
        if (is_not)
            lex(&lexer);
        if (lexer.token != TOKEN_WORD)
            return unexpected(&lexer, "!, identifier, or ','", err);
        req.key = arena_str(&selector->arena, lexer.text);
        lex(&lexer);
        int r = is_not ? 0 : parse_operator(selector, &req, &lexer, err);
        if (is_not)
            req.op = REQUIRE_ABSENT;
        if (r == 0)
            r = check_requirement(&req, err);
        if (r < 0)
            return r;
        *vec_push(&selector->labels) = req;
        if (lexer.token != TOKEN_COMMA && lexer.token != TOKEN_END)
            return unexpected(&lexer, "',' or 'end of string'", err);
        if (lexer.token == TOKEN_COMMA) {
            lex(&lexer);
            if (lexer.token == TOKEN_END)
                return unexpected(&lexer, "identifier after ','", err);
        }
        if (selector->labels.len > SELECTOR_TERMS_MAX)
            return api_error_bad_request(err, "unable to parse requirement: too many terms");
    }
    return 0;
}

/* ---- field selectors ---- */
/* Which fields a resource has besides metadata.name and metadata.namespace; and what an absent one reads as. */
static const struct {
    const char *group, *plural, *path, *absent, *at;
} selectable[] = {
    { "", "pods", "spec.nodeName", "" },
    { "", "pods", "spec.restartPolicy", "" },
    { "", "pods", "spec.schedulerName", "" },
    { "", "pods", "spec.serviceAccountName", "" },
    { "", "pods", "spec.hostNetwork", "false" },
    { "", "pods", "status.phase", "" },
    { "", "pods", "status.podIP", "" },
    { "", "pods", "status.nominatedNodeName", "" },
    { "", "nodes", "spec.unschedulable", "false" },
    { "", "namespaces", "status.phase", "" },
    { "", "secrets", "type", "" },
    { "", "services", "spec.clusterIP", "" },
    { "", "services", "spec.type", "" },
    { "", "replicationcontrollers", "status.replicas", "0" },
    { "apps", "replicasets", "status.replicas", "0" },
    { "batch", "jobs", "status.successful", "0", "status.succeeded" },
    { "resource.k8s.io", "resourceslices", "spec.nodeName", "" },
    { "resource.k8s.io", "resourceslices", "spec.driver", "" },
    { "", "events", "involvedObject.kind", "" },
    { "", "events", "involvedObject.namespace", "" },
    { "", "events", "involvedObject.name", "" },
    { "", "events", "involvedObject.uid", "" },
    { "", "events", "involvedObject.apiVersion", "" },
    { "", "events", "involvedObject.resourceVersion", "" },
    { "", "events", "involvedObject.fieldPath", "" },
    { "", "events", "reason", "" },
    { "", "events", "reportingComponent", "" },
    { "", "events", "source", "", "source.component" },
    { "", "events", "type", "" },
    { "events.k8s.io", "events", "regarding.kind", "", "involvedObject.kind" },
    { "events.k8s.io", "events", "regarding.namespace", "", "involvedObject.namespace" },
    { "events.k8s.io", "events", "regarding.name", "", "involvedObject.name" },
    { "events.k8s.io", "events", "regarding.uid", "", "involvedObject.uid" },
    { "events.k8s.io", "events", "reason", "" },
    { "events.k8s.io", "events", "reportingController", "", "reportingComponent" },
    { "events.k8s.io", "events", "type", "" },
};

/* Of a custom resource: the selectableFields of its definition. */
static bool is_selectable(const struct api_resource *resource, struct str path)
{
    yyjson_val *field;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(resource->definition, "selectableFields")), i, max, field) {
        struct str own = tree_text(field, "jsonPath");
        if (own.len && own.ptr[0] == '.' && str_eq(str_slice(own, 1, own.len), path))
            return true;
    }
    return false;
}

static int find_field(const struct api_resource *resource, struct str path, struct field_requirement *req,
                      struct api_error *err)
{
    req->absent = "";
    if (str_is(path, "metadata.name") || (str_is(path, "metadata.namespace") && resource->namespaced))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(selectable); i++)
        if (str_is(path, selectable[i].path) && str_is(resource->group, selectable[i].group) &&
            str_is(resource->plural, selectable[i].plural)) {
            req->absent = selectable[i].absent;
            if (selectable[i].at)
                req->path = str_from(selectable[i].at);
            return 0;
        }
    if (is_selectable(resource, path))
        return 0;
    return api_error_bad_request(err, "field label not supported: " STR_FMT, STR_ARG(path));
}

/* Up to the next comma that no backslash stands before. */
static struct str cut_term(struct str *rest)
{
    uint32_t i = 0;
    while (i < rest->len && rest->ptr[i] != ',')
        i += rest->ptr[i] == '\\' && i + 1 < rest->len ? 2 : 1;
    struct str term = str_slice(*rest, 0, i);
    *rest = i < rest->len ? str_slice(*rest, i + 1, rest->len) : (struct str){ 0 };
    return term;
}

static struct str unescape(struct str text, struct arena *arena)
{
    char *out = arena_alloc(arena, (size_t)text.len + 1);
    uint32_t len = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\\' && i + 1 < text.len && strchr("\\,=", text.ptr[i + 1]))
            i++;
        out[len++] = text.ptr[i];
    }
    out[len] = '\0';
    return (struct str){ out, len };
}

static int parse_field(struct selection *selector, const struct api_resource *resource, struct str term,
                       struct api_error *err)
{
    ptrdiff_t at = str_find(term, '=');
    if (at <= 0)
        return api_error_bad_request(err, "invalid selector: '" STR_FMT "'; can't understand '" STR_FMT "'",
                                     STR_ARG(term), STR_ARG(term));
    bool is_not = term.ptr[at - 1] == '!';
    struct str value = str_slice(term, (size_t)at + 1, term.len);
    if (!is_not && value.len && value.ptr[0] == '=')
        value = str_slice(value, 1, value.len);
    struct field_requirement req = { .is_equal = !is_not };
    req.path = arena_str(&selector->arena, str_slice(term, 0, (size_t)at - is_not));
    req.value = unescape(value, &selector->arena);
    int r = find_field(resource, req.path, &req, err);
    if (r == 0)
        *vec_push(&selector->fields) = req;
    return r;
}

static int parse_fields(struct selection *selector, const struct api_resource *resource, struct str text,
                        struct api_error *err)
{
    while (text.len) {
        struct str term = cut_term(&text);
        int r = term.len ? parse_field(selector, resource, term, err) : 0;
        if (r < 0)
            return r;
        if (selector->fields.len > SELECTOR_TERMS_MAX)
            return api_error_bad_request(err, "invalid selector: too many terms");
    }
    return 0;
}

int selection_parse(const struct api_resource *resource, struct str labels, struct str fields,
                    struct selection **ret, struct api_error *err)
{
    *ret = NULL;
    if (!labels.len && !fields.len)
        return 0;
    struct selection *selector = xcalloc(1, sizeof(*selector));
    int r = parse_labels(selector, labels, err);
    if (r == 0)
        r = parse_fields(selector, resource, fields, err);
    if (r == 0)
        *ret = selector;
    else
        selection_free(selector);
    return r;
}

void selection_free(struct selection *selector)
{
    if (!selector)
        return;
    vec_release(&selector->labels);
    vec_release(&selector->fields);
    arena_release(&selector->arena);
    free(selector);
}

/* ---- matching ---- */
static bool has_value(const struct requirement *req, struct str value)
{
    for (size_t i = 0; i < req->value_count; i++)
        if (str_eq(req->values[i], value))
            return true;
    return false;
}

static bool label_matches(const struct requirement *req, yyjson_val *labels)
{
    yyjson_val *label = yyjson_obj_getn(labels, req->key.ptr, req->key.len);
    int64_t have, bound;
    switch (req->op) {
    case REQUIRE_IN:
        return label && has_value(req, doc_text(label));
    case REQUIRE_NOT_IN:
        return !label || !has_value(req, doc_text(label));
    case REQUIRE_EXISTS:
        return label;
    case REQUIRE_ABSENT:
        return !label;
    case REQUIRE_GREATER:
    case REQUIRE_LESS:
        if (!label || !str_to_int64(doc_text(label), &have) || !str_to_int64(req->values[0], &bound))
            return false;
        return req->op == REQUIRE_GREATER ? have > bound : have < bound;
    }
    return false;
}

static bool field_matches(const struct field_requirement *req, yyjson_val *object)
{
    char path[128], number[32];
    snprintf(path, sizeof(path), STR_FMT, STR_ARG(req->path));
    yyjson_val *val = tree_at(object, path);
    struct str have = str_from(req->absent);
    if (yyjson_is_str(val))
        have = doc_text(val);
    else if (yyjson_is_bool(val))
        have = yyjson_is_true(val) ? STR("true") : STR("false");
    else if (yyjson_is_int(val))
        have = (struct str){ number, (uint32_t)snprintf(number, sizeof(number), "%lld",
                                                        (long long)yyjson_get_sint(val)) };
    return str_eq(have, req->value) == req->is_equal;
}

bool selection_matches(const struct selection *selector, yyjson_val *object)
{
    if (!selector)
        return true;
    yyjson_val *labels = selector->labels.len ? tree_at(object, "metadata.labels") : NULL;
    vec_for(&selector->labels, req)
        if (!label_matches(req, labels))
            return false;
    vec_for(&selector->fields, req)
        if (!field_matches(req, object))
            return false;
    return true;
}
