/* type.c: types, and the unification that the reference's checker does (less than Hindley-Milner: dyn fits
 * everything, and a parameter that meets two types keeps the more general one). */
#include "cel/type.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 200000, TEXT_DEPTH_MAX = 20 };

/* How signatures name the types that have no short name of their own. */
static const char *const short_names[CEL_PARAM] = {
    [CEL_DURATION] = "duration",
    [CEL_TIMESTAMP] = "timestamp",
    [CEL_QUANTITY] = "quantity",
    [CEL_SEMVER] = "semver",
    [CEL_URL] = "url",
    [CEL_FORMAT] = "format",
    [CEL_IP] = "ip",
    [CEL_CIDR] = "cidr",
    [CEL_ANY] = "any",
};

const struct cel_type *cel_type_plain(enum cel_kind kind)
{
    static const struct cel_type plain[] = {
        { CEL_NULL },      { CEL_BOOL },     { CEL_INT },    { CEL_UINT },     { CEL_DOUBLE },
        { CEL_STRING },    { CEL_BYTES },    { CEL_LIST },   { CEL_MAP },      { CEL_DURATION },
        { CEL_TIMESTAMP }, { CEL_OPTIONAL }, { CEL_TYPE },   { CEL_QUANTITY }, { CEL_SEMVER },
        { CEL_URL },       { CEL_IP },       { CEL_CIDR },   { CEL_FORMAT },   { CEL_ERROR },
        { CEL_DYN },       { CEL_ANY },      { CEL_DEVICE }, { CEL_UNKNOWN },
    };
    return &plain[kind];
}

void cel_types_release(struct cel_types *types)
{
    vec_release(&types->bound);
    vec_release(&types->trail);
}

static bool step(struct cel_types *types)
{
    if (++types->steps > STEPS_MAX)
        types->exhausted = true;
    return !types->exhausted;
}

static const struct cel_type *make(struct cel_types *types, struct cel_type type)
{
    struct cel_type *copy = arena_new(types->arena, struct cel_type);
    *copy = type;
    return copy;
}

const struct cel_type *cel_type_param(struct cel_types *types)
{
    uint32_t param = (uint32_t)types->bound.len;
    *vec_push(&types->bound) = NULL;
    return make(types, (struct cel_type){ .kind = CEL_PARAM, .param = param });
}

const struct cel_type *cel_type_of(struct cel_types *types, enum cel_kind kind, const struct cel_type *a,
                                   const struct cel_type *b)
{
    return make(types, (struct cel_type){ .kind = kind, .len = b ? 2 : 1, .args = { a, b } });
}

const struct cel_type *cel_type_named(struct cel_types *types, struct str name)
{
    const struct cel_type *dyn = cel_type_plain(CEL_DYN);
    for (enum cel_kind kind = CEL_NULL; kind <= CEL_CIDR; kind++) {
        if ((kind > CEL_TYPE && kind < CEL_IP) || !str_is(name, cel_kind_name(kind)))
            continue;
        if (kind == CEL_LIST || kind == CEL_MAP)
            return cel_type_of(types, kind, dyn, kind == CEL_MAP ? dyn : NULL);
        return cel_type_plain(kind);
    }
    return NULL;
}

/* One type of a signature; `letters` are its parameters so far. */
static const struct cel_type *parse_type(struct cel_types *types, const char **text,
                                         const struct cel_type *letters[static 26])
{
    const char *p = *text;
    size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    struct str name = { p, (uint32_t)len };
    p += len;
    const struct cel_type *args[2] = { NULL, NULL };
    if (*p == '(') {
        p++;
        args[0] = parse_type(types, &p, letters);
        if (*p == ',') {
            p += 2;
            args[1] = parse_type(types, &p, letters);
        }
        p++;
    }
    *text = p;
    if (len == 1) {
        size_t letter = (size_t)(name.ptr[0] - 'A');
        if (!letters[letter])
            letters[letter] = cel_type_param(types);
        return letters[letter];
    }
    if (str_is(name, "opt"))
        return cel_type_of(types, CEL_OPTIONAL, args[0], NULL);
    enum cel_kind kind = CEL_NULL;
    while (kind < CEL_PARAM && !str_is(name, short_names[kind] ? short_names[kind] : cel_kind_name(kind)))
        kind++;
    assert(kind < CEL_PARAM);
    return args[0] ? cel_type_of(types, kind, args[0], args[1]) : cel_type_plain(kind);
}

size_t cel_type_signature(struct cel_types *types, const char **text, const struct cel_type *ret[static 5])
{
    const struct cel_type *letters[26] = { NULL };
    const char *p = *text;
    size_t len = 0;
    while (*p && *p != ';') {
        p += strncmp(p, "-> ", 3) == 0 ? 3 : 0;
        ret[len++] = parse_type(types, &p, letters);
        p += strspn(p, ", ");
    }
    *text = p + strspn(p, "; ");
    return len;
}

bool cel_type_is_dyn(const struct cel_type *type)
{
    return type->kind == CEL_DYN || type->kind == CEL_ANY;
}

bool cel_type_is_optional(const struct cel_type *type)
{
    return type->kind == CEL_OPTIONAL && type->len == 1;
}

bool cel_type_same(struct cel_types *types, const struct cel_type *a, const struct cel_type *b, bool loose)
{
    if (a == b)
        return true;
    if (!step(types) || a->kind != b->kind || a->len != b->len)
        return false;
    if (a->kind == CEL_PARAM)
        return loose || a->param == b->param;
    for (size_t i = 0; i < a->len; i++)
        if (!cel_type_same(types, a->args[i], b->args[i], loose))
            return false;
    return true;
}

static void bind(struct cel_types *types, const struct cel_type *param, const struct cel_type *type)
{
    *vec_push(&types->trail) = (struct type_change){ param->param, types->bound.items[param->param] };
    types->bound.items[param->param] = type;
}

/* Whether `param` is no part of `within`: nothing may stand for something that holds itself. */
static bool absent(struct cel_types *types, const struct cel_type *param, const struct cel_type *within)
{
    if (!step(types) || (within->kind == CEL_PARAM && within->param == param->param))
        return false;
    if (within->kind == CEL_PARAM) {
        const struct cel_type *bound = types->bound.items[within->param];
        return !bound || absent(types, param, bound);
    }
    for (size_t i = 0; i < within->len; i++)
        if (!absent(types, param, within->args[i]))
            return false;
    return true;
}

static bool less_specific(struct cel_types *types, const struct cel_type *a, const struct cel_type *b)
{
    if (!step(types) || cel_type_is_dyn(a) || a->kind == CEL_PARAM)
        return true;
    if (cel_type_is_dyn(b) || b->kind == CEL_PARAM || a->kind != b->kind)
        return false;
    if (a->kind == CEL_TYPE)
        return true;
    if (a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (!less_specific(types, a->args[i], b->args[i]))
            return false;
    return true;
}

const struct cel_type *cel_type_most_general(struct cel_types *types, const struct cel_type *a,
                                             const struct cel_type *b)
{
    return less_specific(types, a, b) ? a : b;
}

static bool assignable(struct cel_types *types, const struct cel_type *a, const struct cel_type *b);

/* Lets `param` stand for `type`, or for what both it and its present meaning are. */
static bool substitute(struct cel_types *types, const struct cel_type *type, const struct cel_type *param,
                       bool *ret_bound)
{
    *ret_bound = true;
    if (type->kind == CEL_PARAM && type->param == param->param)
        return true;
    const struct cel_type *bound = types->bound.items[param->param];
    if (bound) {
        if (cel_type_same(types, type, bound, false))
            return true;
        if (!assignable(types, type, bound))
            return false;
        const struct cel_type *general = cel_type_most_general(types, type, bound);
        if (absent(types, param, general))
            bind(types, param, general);
        return true;
    }
    *ret_bound = false;
    if (!absent(types, param, type))
        return false;
    bind(types, param, type);
    return true;
}

static bool nullable(enum cel_kind kind)
{
    return kind == CEL_NULL || kind == CEL_DEVICE ||
           (kind >= CEL_DURATION && kind <= CEL_FORMAT && kind != CEL_TYPE);
}

static bool assignable(struct cel_types *types, const struct cel_type *a, const struct cel_type *b)
{
    bool bound;
    if (!step(types))
        return false;
    if (b->kind == CEL_PARAM) {
        if (substitute(types, a, b, &bound))
            return true;
        if (bound)
            return false;
    }
    if (a->kind == CEL_PARAM)
        return substitute(types, b, a, &bound);
    if (cel_type_is_dyn(a) || cel_type_is_dyn(b) || a->kind == CEL_UNKNOWN || b->kind == CEL_UNKNOWN)
        return true;
    if (a->kind == CEL_NULL || b->kind == CEL_NULL)
        return nullable(a->kind == CEL_NULL ? b->kind : a->kind);
    if (a->kind == CEL_TYPE)
        return b->kind == CEL_TYPE;
    if (a->kind != b->kind || a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (!assignable(types, a->args[i], b->args[i]))
            return false;
    return true;
}

bool cel_type_assign(struct cel_types *types, const struct cel_type *const *a,
                     const struct cel_type *const *b, size_t len)
{
    vec_clear(&types->trail);
    bool fits = true;
    for (size_t i = 0; fits && i < len; i++)
        fits = assignable(types, a[i], b[i]);
    while (!fits && types->trail.len > 0) {
        struct type_change change = types->trail.items[--types->trail.len];
        types->bound.items[change.param] = change.before;
    }
    return fits;
}

const struct cel_type *cel_type_resolve(struct cel_types *types, const struct cel_type *type, bool to_dyn)
{
    while (type->kind == CEL_PARAM && types->bound.items[type->param]) {
        if (!step(types))
            return cel_type_plain(CEL_DYN);
        type = types->bound.items[type->param];
    }
    if (type->kind == CEL_PARAM)
        return to_dyn ? cel_type_plain(CEL_DYN) : type;
    if (type->len == 0)
        return type;
    if (!step(types))
        return cel_type_plain(CEL_DYN);
    struct cel_type copy = *type;
    bool changed = false;
    for (size_t i = 0; i < type->len; i++) {
        copy.args[i] = cel_type_resolve(types, type->args[i], to_dyn);
        changed |= copy.args[i] != type->args[i];
    }
    return changed ? make(types, copy) : type;
}

static void print(struct strbuf *out, const struct cel_type *type, bool full, size_t depth)
{
    if (depth > TEXT_DEPTH_MAX || out->len > 500) {
        strbuf_puts(out, "...");
        return;
    }
    bool is_short =
        !full && (type->kind == CEL_ANY || type->kind == CEL_DURATION || type->kind == CEL_TIMESTAMP);
    if (type->kind == CEL_PARAM)
        strbuf_printf(out, "_var%u", type->param);
    else if (type->kind == CEL_NULL && !full)
        strbuf_puts(out, "null");
    else
        strbuf_puts(out, is_short ? short_names[type->kind] : cel_kind_name(type->kind));
    for (size_t i = 0; i < type->len; i++) {
        strbuf_puts(out, i ? ", " : "(");
        print(out, type->args[i], full, depth + 1);
    }
    if (type->len)
        strbuf_putc(out, ')');
}

struct str cel_type_text(struct cel_types *types, const struct cel_type *type, bool full)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    print(&out, type, full, 0);
    return arena_str(types->arena, strbuf_slice(&out));
}
