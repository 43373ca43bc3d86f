/* check_call.c: which overloads of a function fit the types of its arguments. */
#include "cel/check.h"
#include "cel/parse.h"
#include "cel/run.h"

static const struct cel_overload *const tables[] = {
    cel_operators,    cel_lib_convert, cel_lib_text,     cel_lib_lists,  cel_lib_strings,
    cel_lib_optional, cel_lib_time,    cel_lib_quantity, cel_lib_semver, cel_lib_net,
    cel_lib_url,      cel_lib_format,  cel_lib_regex,
};

/* The i-th overload of this function over all tables, NULL behind the last. */
static const struct cel_overload *find_overload(const struct cel_checker *checker, struct str function,
                                                size_t i)
{
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (const struct cel_overload *overload = tables[t]; overload->function; overload++)
            if ((overload->needs & ~checker->rules) == 0 && (overload->lacks & checker->rules) == 0 &&
                str_is(function, overload->function) && i-- == 0)
                return overload;
    return NULL;
}

static void check_logic(struct cel_checker *checker, struct cel_node *node)
{
    node->type = cel_type_plain(CEL_BOOL);
    for (size_t i = 0; i < node->call.len; i++) {
        const struct cel_node *arg = node->call.args[i];
        if (!cel_check_fits(checker, arg->type, cel_type_plain(CEL_BOOL))) {
            cel_check_mismatch(checker, arg, cel_type_plain(CEL_BOOL), arg->type);
            node->type = cel_type_plain(CEL_UNKNOWN);
        }
    }
}

static void no_overload(struct cel_checker *checker, struct cel_node *node)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    const struct cel_call *call = &node->call;
    for (size_t i = 0; i < call->len; i++) {
        const struct cel_type *type = cel_type_resolve(&checker->types, call->args[i]->type, true);
        if (i == 0 && !call->member)
            strbuf_putc(&text, '(');
        if (i > (call->member ? 1 : 0))
            strbuf_puts(&text, ", ");
        strbuf_str(&text, cel_type_text(&checker->types, type, false));
        if (i == 0 && call->member)
            strbuf_puts(&text, ".(");
    }
    strbuf_puts(&text, call->len ? ")" : "()");
    cel_issue(checker->issues, node->at, "found no matching overload for '" STR_FMT "' applied to '%s'",
              STR_ARG(call->function), text.text);
    node->type = cel_type_plain(CEL_UNKNOWN);
}

/* CEL_KINDS: any. */
static uint8_t kind_of_values(const struct cel_type *type)
{
    return (uint8_t)MIN(type->kind, CEL_KINDS);
}

/* Whether the next alternative of a signature fits; then what it takes and gives. */
static bool fits(struct cel_checker *checker, const struct cel_call *call, const char **alternatives,
                 struct cel_candidate *ret, const struct cel_type **ret_type)
{
    const struct cel_type *signature[CEL_ARGS_MAX + 1], *args[CEL_ARGS_MAX];
    if (cel_type_signature(&checker->types, alternatives, signature) != call->len + 1)
        return false;
    for (size_t i = 0; i < call->len; i++) {
        args[i] = call->args[i]->type;
        ret->kinds[i] = kind_of_values(signature[i]);
        for (size_t j = 0; j < 2; j++)
            ret->parts[i][j] = j < signature[i]->len ? kind_of_values(signature[i]->args[j]) : CEL_KINDS;
    }
    if (!cel_type_assign(&checker->types, args, signature, call->len))
        return false;
    *ret_type = cel_type_resolve(&checker->types, signature[call->len], false);
    return true;
}

static void resolve(struct cel_checker *checker, struct cel_node *node)
{
    struct cel_call *call = &node->call;
    VEC(struct cel_candidate) found = { 0 };
    const struct cel_overload *overload;
    const struct cel_type *result = NULL, *type;
    for (size_t i = 0; call->len <= CEL_ARGS_MAX && (overload = find_overload(checker, call->function, i));
         i++) {
        const char *alternatives = overload->signature;
        while (*alternatives && !!(overload->flags & CEL_MEMBER) == call->member) {
            struct cel_candidate candidate = { .overload = overload };
            if (!fits(checker, call, &alternatives, &candidate, &type))
                continue;
            *vec_push(&found) = candidate;
            if (!result)
                result = type;
            else if (!cel_type_is_dyn(result) && !cel_type_same(&checker->types, type, result, false))
                result = cel_type_plain(CEL_DYN);
        }
    }
    if (result) {
        call->candidates =
            arena_copy(checker->types.arena, struct cel_candidate, found.items, found.len, found.len);
        call->candidates_len = (uint32_t)found.len;
        node->type = result;
    } else {
        no_overload(checker, node);
    }
    vec_release(&found);
}

/* a.b.f(x) may be the function a.b.f. */
static void become_namespaced(struct cel_checker *checker, struct cel_node *node)
{
    struct cel_call *call = &node->call;
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    if (!call->member || !cel_check_qualified(call->args[0], &name))
        return;
    strbuf_putc(&name, '.');
    strbuf_str(&name, call->function);
    if (!find_overload(checker, strbuf_slice(&name), 0))
        return;
    call->function = arena_str(checker->types.arena, strbuf_slice(&name));
    call->args++;
    call->len--;
    call->member = false;
}

static void check_opt_select(struct cel_checker *checker, struct cel_node *node)
{
    struct cel_node *field = node->call.args[1];
    cel_check(checker, field);
    const struct cel_type *type =
        cel_check_field(checker, node, node->call.args[0], field->literal.text, true);
    node->type = cel_type_resolve(&checker->types, type, false);
}

void cel_check_call(struct cel_checker *checker, struct cel_node *node)
{
    struct cel_call *call = &node->call;
    if (str_is(call->function, FN_OPT_SELECT)) {
        call->op = OP_OPT_SELECT;
        check_opt_select(checker, node);
        return;
    }
    if (!call->member && call->function.len > 0 && call->function.ptr[0] == '.')
        call->function = str_slice(call->function, 1, call->function.len);
    become_namespaced(checker, node);
    for (size_t i = call->member ? 1 : 0; i < call->len; i++)
        cel_check(checker, call->args[i]);
    if (call->member)
        cel_check(checker, call->args[0]);
    const struct cel_overload *first = find_overload(checker, call->function, 0);
    call->op = first ? first->op : OP_CALL;
    if (!first)
        cel_check_undeclared(checker, node, call->function);
    else if (call->op == OP_AND || call->op == OP_OR)
        check_logic(checker, node);
    else
        resolve(checker, node);
}
