/* parse.c: recursive descent over the grammar of CEL.
 *
 *     expr     = or [ "?" or ":" expr ]
 *     or       = and { "||" and }          and = relation { "&&" relation }
 *     relation = sum { ("<" | ... | "in") sum }
 *     sum      = product { ("+" | "-") product }      product = unary { ("*" | "/" | "%") unary }
 *     unary    = { "!" } member | { "-" } member
 *     member   = primary { "." [ "?" ] name | "." name "(" args ")" | "[" [ "?" ] expr "]" }
 *
 * The first syntax error ends it. Nesting is limited, as in the reference, so that neither this nor anything
 * that walks the tree later runs out of stack. */
#include "cel/parse.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"

enum { NESTING_MAX = 250 };

typedef VEC(struct cel_node *) node_vec;

struct parser {
    struct cel_lexer lexer;
    struct cel_token token; /* the next one */
    struct arena *arena;
    struct cel_issues *issues;
    uint32_t rules; /* enum cel_rule */
    int nesting;
    bool failed;
};

struct cel_node *cel_node_new(struct arena *arena, enum cel_node_kind kind, size_t at)
{
    struct cel_node *node = arena_new(arena, struct cel_node);
    node->kind = kind;
    node->at = (uint32_t)at;
    return node;
}

struct cel_node *cel_node_literal(struct arena *arena, size_t at, struct cel_value value)
{
    struct cel_node *node = cel_node_new(arena, NODE_LITERAL, at);
    node->literal = value;
    return node;
}

struct cel_node *cel_node_ident(struct arena *arena, size_t at, struct str name)
{
    struct cel_node *node = cel_node_new(arena, NODE_IDENT, at);
    node->ident.name = name;
    node->ident.slot = -1;
    return node;
}

static uint16_t deepest(struct cel_node *const *items, size_t len)
{
    uint16_t depth = 0;
    for (size_t i = 0; i < len; i++)
        depth = MAX(depth, items[i]->depth);
    return depth;
}

struct cel_node *cel_node_items(struct arena *arena, size_t at, enum cel_node_kind kind,
                                struct cel_node *const *keys, struct cel_node *const *values, size_t len)
{
    struct cel_node *node = cel_node_new(arena, kind, at);
    node->items.keys = arena_copy(arena, struct cel_node *, keys, keys ? len : 0, keys ? len : 0);
    node->items.values = arena_copy(arena, struct cel_node *, values, len, len);
    node->items.len = (uint32_t)len;
    node->depth = MAX(deepest(values, len), deepest(keys, keys ? len : 0));
    return node;
}

struct cel_node *cel_node_call(struct arena *arena, size_t at, struct str function, bool member,
                               struct cel_node *const *args, size_t len)
{
    struct cel_node *node = cel_node_new(arena, NODE_CALL, at);
    node->call.function = function;
    node->call.member = member;
    node->call.args = arena_copy(arena, struct cel_node *, args, len, len);
    node->call.len = (uint32_t)len;
    node->depth = deepest(args, len);
    return node;
}

struct cel_node *cel_node_part(const struct cel_node *node, size_t i)
{
    switch (node->kind) {
    case NODE_LITERAL:
    case NODE_IDENT:
        return NULL;
    case NODE_SELECT:
        return i == 0 ? node->select.operand : NULL;
    case NODE_CALL:
        return i < node->call.len ? node->call.args[i] : NULL;
    case NODE_LIST:
        return i < node->items.len ? node->items.values[i] : NULL;
    case NODE_MAP:
        return i < node->items.len       ? node->items.keys[i]
               : i < 2 * node->items.len ? node->items.values[i - node->items.len]
                                         : NULL;
    case NODE_FOLD: {
        const struct cel_fold *fold = &node->fold;
        struct cel_node *const parts[] = { fold->init, fold->range, fold->condition, fold->step,
                                           fold->result };
        return i < ARRAY_SIZE(parts) ? parts[i] : NULL;
    }
    }
    return NULL;
}

static void *fail(struct parser *p, size_t at, const char *message)
{
    if (!p->failed)
        cel_issue(p->issues, at, "%s", message);
    p->failed = true;
    return NULL;
}

static void advance(struct parser *p)
{
    p->token = cel_lex(&p->lexer);
    if (p->token.kind == TOKEN_ERROR)
        p->failed = true;
}

static void *unexpected(struct parser *p)
{
    if (!p->failed) {
        struct str text = p->token.kind == TOKEN_END ? STR("<EOF>") : p->token.text;
        cel_issue(p->issues, p->token.at, "Syntax error: mismatched input '" STR_FMT "'", STR_ARG(text));
    }
    p->failed = true;
    return NULL;
}

static bool accept(struct parser *p, int kind)
{
    if (p->failed || p->token.kind != kind)
        return false;
    advance(p);
    return true;
}

static bool expect(struct parser *p, int kind)
{
    if (accept(p, kind))
        return true;
    unexpected(p);
    return false;
}

/* One level deeper than its parts. */
static struct cel_node *nest(struct parser *p, struct cel_node *node)
{
    if (++node->depth > NESTING_MAX)
        return fail(p, CEL_ISSUE_NOWHERE, "max recursion depth exceeded");
    return node;
}

static struct cel_node *parse_expr(struct parser *p);

static struct cel_node *call_or_macro(struct parser *p, size_t at, struct str function, bool member,
                                      struct cel_node **args, size_t len)
{
    struct cel_node *node =
        cel_macro_expand(p->arena, p->issues, at, function, member, args, len, &p->failed);
    if (p->failed)
        return NULL;
    return node ? node : cel_node_call(p->arena, at, function, member, args, len);
}

/* `at`: where it begins, with its sign. */
static struct cel_node *parse_int(struct parser *p, size_t at, bool negative)
{
    struct cel_token token = p->token;
    token.at = at;
    advance(p);
    bool hex = token.text.len > 2 && token.text.ptr[1] == 'x';
    bool is_unsigned = token.kind == TOKEN_UINT;
    size_t end = token.text.len - (is_unsigned ? 1 : 0);
    uint64_t value = 0;
    for (size_t i = hex ? 2 : 0; i < end; i++) {
        char c = token.text.ptr[i];
        unsigned digit = (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        if (__builtin_mul_overflow(value, hex ? 16u : 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return fail(p, token.at, is_unsigned ? "invalid uint literal" : "invalid int literal");
    }
    if (is_unsigned)
        return cel_node_literal(p->arena, token.at,
                                (struct cel_value){ .kind = CEL_UINT, .uinteger = value });
    if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return fail(p, token.at, "invalid int literal");
    int64_t number = negative ? (int64_t)(0 - value) : (int64_t)value;
    return cel_node_literal(p->arena, token.at, cel_int(number));
}

static struct cel_node *parse_double(struct parser *p, size_t at, bool negative)
{
    struct cel_token token = p->token;
    token.at = at;
    advance(p);
    char *text = arena_strndup(p->arena, token.text.ptr, token.text.len);
    double value = strtod(text, NULL);
    if (isinf(value))
        return fail(p, token.at, "invalid double literal");
    return cel_node_literal(p->arena, token.at,
                            (struct cel_value){ .kind = CEL_DOUBLE, .number = negative ? -value : value });
}

static struct cel_node *parse_text(struct parser *p)
{
    struct cel_token token = p->token;
    advance(p);
    struct cel_value value = { .kind = token.kind == TOKEN_BYTES ? CEL_BYTES : CEL_STRING };
    const char *problem = cel_lex_unquote(token, p->arena, &value.text);
    if (problem)
        return fail(p, token.at, problem);
    return cel_node_literal(p->arena, token.at, value);
}

/* Marks of the items with a ? before them, in the arena; NULL: none has one. */
static bool *copy_marks(struct parser *p, const bool *marks, size_t len)
{
    if (!len || !memchr(marks, true, len))
        return NULL;
    return memcpy(arena_alloc(p->arena, len), marks, len);
}

/* A list, or a map if `is_map`. Each item may have a ? before it, and a comma may come last, or alone. */
static struct cel_node *parse_items(struct parser *p, bool is_map)
{
    size_t at = p->token.at;
    int end = is_map ? '}' : ']';
    node_vec keys = { 0 }, values = { 0 };
    VEC(bool) marks = { 0 };
    advance(p);
    while (!p->failed && p->token.kind != end) {
        if (values.len == 0 && accept(p, ','))
            break;
        *vec_push(&marks) = accept(p, '?');
        struct cel_node *item = parse_expr(p);
        *vec_push(&keys) = item;
        if (item && is_map)
            item = expect(p, ':') ? parse_expr(p) : NULL;
        if (!item)
            break;
        *vec_push(&values) = item;
        if (!accept(p, ','))
            break;
    }
    struct cel_node *node = NULL;
    if (expect(p, end)) {
        node = cel_node_items(p->arena, at, is_map ? NODE_MAP : NODE_LIST, is_map ? keys.items : NULL,
                              values.items, values.len);
        node->items.optional = copy_marks(p, marks.items, marks.len);
    }
    vec_release(&keys);
    vec_release(&values);
    vec_release(&marks);
    return node;
}

static bool parse_args(struct parser *p, node_vec *args)
{
    while (!p->failed && p->token.kind != ')') {
        struct cel_node *arg = parse_expr(p);
        if (!arg)
            break;
        *vec_push(args) = arg;
        if (!accept(p, ','))
            break;
        if (p->token.kind == ')')
            unexpected(p);
    }
    return expect(p, ')');
}

static struct cel_node *parse_call(struct parser *p, struct str function, struct cel_node *target)
{
    size_t at = p->token.at;
    advance(p);
    node_vec args = { 0 };
    if (target)
        *vec_push(&args) = target;
    struct cel_node *node = NULL;
    if (parse_args(p, &args))
        node = call_or_macro(p, at, function, target != NULL, args.items, args.len);
    vec_release(&args);
    return node;
}

static bool is_reserved(struct str name)
{
    static const char *const reserved[] = {
        "as",  "break", "const",   "continue",  "else",   "for", "function", "if",    "import",
        "let", "loop",  "package", "namespace", "return", "var", "void",     "while",
    };
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
        if (str_is(name, reserved[i]))
            return true;
    return false;
}

static struct cel_node *parse_name(struct parser *p)
{
    size_t at = p->token.at;
    bool dot = accept(p, '.');
    struct cel_token token = p->token;
    if (!expect(p, TOKEN_IDENT))
        return NULL;
    if (is_reserved(token.text)) {
        cel_issue(p->issues, at, "reserved identifier: " STR_FMT, STR_ARG(token.text));
        p->failed = true;
        return NULL;
    }
    struct str name =
        dot ? arena_printf(p->arena, "." STR_FMT, STR_ARG(token.text)) : arena_str(p->arena, token.text);
    if (p->token.kind == '(')
        return parse_call(p, name, NULL);
    return cel_node_ident(p->arena, token.at, name);
}

static struct cel_node *parse_primary(struct parser *p)
{
    struct cel_token token = p->token;
    switch (token.kind) {
    case TOKEN_IDENT:
    case '.':
        return parse_name(p);
    case '(': {
        advance(p);
        struct cel_node *node = parse_expr(p);
        return node && expect(p, ')') ? node : NULL;
    }
    case '[':
    case '{':
        return parse_items(p, token.kind == '{');
    case TOKEN_INT:
    case TOKEN_UINT:
        return parse_int(p, token.at, false);
    case TOKEN_DOUBLE:
        return parse_double(p, token.at, false);
    case TOKEN_STRING:
    case TOKEN_BYTES:
        return parse_text(p);
    case TOKEN_TRUE:
    case TOKEN_FALSE:
        advance(p);
        return cel_node_literal(p->arena, token.at, cel_bool(token.kind == TOKEN_TRUE));
    case TOKEN_NULL:
        advance(p);
        return cel_node_literal(p->arena, token.at, (struct cel_value){ .kind = CEL_NULL });
    default:
        return unexpected(p);
    }
}

static struct cel_node *parse_select(struct parser *p, struct cel_node *operand)
{
    size_t at = p->token.at;
    advance(p);
    bool optional = accept(p, '?');
    struct cel_token token = p->token;
    bool quoted = token.kind == TOKEN_QUOTED_IDENT;
    if (quoted && !(p->rules & CEL_QUOTED_FIELDS))
        cel_issue(p->issues, token.at, "unsupported syntax: '`'");
    if (!expect(p, quoted ? TOKEN_QUOTED_IDENT : TOKEN_IDENT))
        return NULL;
    struct str name = quoted ? str_slice(token.text, 1, token.text.len - 1) : token.text;
    struct str field = arena_str(p->arena, name);
    if (!optional && !quoted && p->token.kind == '(') {
        struct cel_node *call = parse_call(p, field, operand);
        return call ? nest(p, call) : NULL;
    }
    struct cel_node *node;
    if (optional) {
        struct cel_node *args[] = { operand, cel_node_literal(p->arena, token.at, cel_string(field)) };
        node = cel_node_call(p->arena, at, STR(FN_OPT_SELECT), false, args, 2);
    } else {
        node = cel_node_new(p->arena, NODE_SELECT, at);
        node->select.operand = operand;
        node->select.field = field;
        node->depth = operand->depth;
    }
    return nest(p, node);
}

static struct cel_node *parse_index(struct parser *p, struct cel_node *operand)
{
    size_t at = p->token.at;
    advance(p);
    bool optional = accept(p, '?');
    struct cel_node *args[] = { operand, parse_expr(p) };
    if (!args[1] || !expect(p, ']'))
        return NULL;
    struct str function = optional ? STR(FN_OPT_INDEX) : STR(FN_INDEX);
    return nest(p, cel_node_call(p->arena, at, function, false, args, 2));
}

static struct cel_node *parse_member(struct parser *p, struct cel_node *node)
{
    while (node && !p->failed) {
        if (p->token.kind == '.')
            node = parse_select(p, node);
        else if (p->token.kind == '[')
            node = parse_index(p, node);
        else
            return node;
    }
    return NULL;
}

static struct cel_node *parse_unary(struct parser *p)
{
    int sign = p->token.kind;
    size_t at = p->token.at, count = 0;
    if (sign != '!' && sign != '-')
        return parse_member(p, parse_primary(p));
    while (p->token.kind == sign && !p->failed) {
        count++;
        advance(p);
    }
    /* One minus before a number belongs to it. */
    if (sign == '-' && count == 1 && p->token.kind == TOKEN_INT)
        return parse_member(p, parse_int(p, at, true));
    if (sign == '-' && count == 1 && p->token.kind == TOKEN_DOUBLE)
        return parse_member(p, parse_double(p, at, true));
    struct cel_node *node = parse_member(p, parse_primary(p));
    if (!node || count % 2 == 0)
        return node;
    return cel_node_call(p->arena, at, sign == '!' ? STR(FN_NOT) : STR(FN_NEGATE), false, &node, 1);
}

static const struct binary {
    int token, level; /* 2 binds tighter than 1, and 1 than 0 */
    struct str function;
} binaries[] = {
    { '*', 2, STR("_*_") },       { '/', 2, STR("_/_") },       { '%', 2, STR("_%_") },
    { '+', 1, STR("_+_") },       { '-', 1, STR("_-_") },       { '<', 0, STR("_<_") },
    { '>', 0, STR("_>_") },       { TOKEN_LE, 0, STR("_<=_") }, { TOKEN_GE, 0, STR("_>=_") },
    { TOKEN_EQ, 0, STR("_==_") }, { TOKEN_NE, 0, STR("_!=_") }, { TOKEN_IN, 0, STR(FN_IN) },
};

static const struct binary *binary_at(const struct parser *p, int level)
{
    for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
        if (binaries[i].level == level && binaries[i].token == p->token.kind)
            return &binaries[i];
    return NULL;
}

static struct cel_node *parse_binary(struct parser *p, int level)
{
    struct cel_node *node = level > 2 ? parse_unary(p) : parse_binary(p, level + 1);
    const struct binary *op;
    while (level <= 2 && node && !p->failed && (op = binary_at(p, level))) {
        size_t at = p->token.at;
        advance(p);
        struct cel_node *args[] = { node, parse_binary(p, level + 1) };
        node = args[1] ? nest(p, cel_node_call(p->arena, at, op->function, false, args, 2)) : NULL;
    }
    return node;
}

static struct cel_node *parse_logic(struct parser *p, bool is_or)
{
    struct cel_node *node = is_or ? parse_logic(p, false) : parse_binary(p, 0);
    int token = is_or ? TOKEN_OR : TOKEN_AND;
    if (!node || p->token.kind != token)
        return node;
    size_t at = p->token.at;
    node_vec terms = { 0 };
    *vec_push(&terms) = node;
    while (node && accept(p, token)) {
        node = is_or ? parse_logic(p, false) : parse_binary(p, 0);
        if (node)
            *vec_push(&terms) = node;
    }
    if (node)
        node = cel_node_call(p->arena, at, is_or ? STR(FN_OR) : STR(FN_AND), false, terms.items, terms.len);
    vec_release(&terms);
    return node;
}

static struct cel_node *parse_expr(struct parser *p)
{
    if (++p->nesting > NESTING_MAX)
        return fail(p, CEL_ISSUE_NOWHERE, "expression recursion limit exceeded: 250");
    struct cel_node *node = parse_logic(p, true);
    if (node && p->token.kind == '?' && !p->failed) {
        size_t at = p->token.at;
        advance(p);
        struct cel_node *args[] = { node, parse_logic(p, true), NULL };
        args[2] = args[1] && expect(p, ':') ? parse_expr(p) : NULL;
        node = args[2] ? nest(p, cel_node_call(p->arena, at, STR(FN_CONDITIONAL), false, args, 3)) : NULL;
    }
    p->nesting--;
    return p->failed ? NULL : node;
}

struct cel_node *cel_parse(struct str text, uint32_t rules, struct arena *arena, struct cel_issues *issues)
{
    struct parser p = {
        .lexer = { .text = text, .issues = issues }, .arena = arena, .issues = issues, .rules = rules
    };
    advance(&p);
    struct cel_node *node = p.failed ? NULL : parse_expr(&p);
    if (node && p.token.kind != TOKEN_END)
        node = unexpected(&p);
    return p.failed ? NULL : node;
}
