/* type.c: types, and the unification that the reference's checker does (less than Hindley-Milner: dyn fits
 * everything, and a parameter that meets two types keeps the more general one). */
#include "cel/type.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 200000, TEXT_DEPTH_MAX = 20 };

#define SIMPLE(id, type_kind, text, kind_of_value) \
    const struct cel_type cel_type_##id = { .kind = TYPE_##type_kind, \
                                            .name = text, \
                                            .value = CEL_##kind_of_value }
SIMPLE(error, ERROR, "!error!", KINDS);
SIMPLE(dyn, DYN, "dyn", KINDS);
SIMPLE(any, ANY, "google.protobuf.Any", KINDS);
SIMPLE(null, NULL, "null_type", NULL);
SIMPLE(bool, BOOL, "bool", BOOL);
SIMPLE(int, INT, "int", INT);
SIMPLE(uint, UINT, "uint", UINT);
SIMPLE(double, DOUBLE, "double", DOUBLE);
SIMPLE(string, STRING, "string", STRING);
SIMPLE(bytes, BYTES, "bytes", BYTES);
SIMPLE(duration, DURATION, "google.protobuf.Duration", DURATION);
SIMPLE(timestamp, TIMESTAMP, "google.protobuf.Timestamp", TIMESTAMP);
SIMPLE(device, STRUCT, "kubernetes.DRADevice", MAP);
SIMPLE(quantity, STRUCT, "kubernetes.Quantity", QUANTITY);
static SIMPLE(semver, STRUCT, "kubernetes.Semver", SEMVER);
static SIMPLE(url, STRUCT, "kubernetes.URL", URL);
static SIMPLE(format, STRUCT, "kubernetes.NamedFormat", FORMAT);
static SIMPLE(ip, OPAQUE, "net.IP", IP);
static SIMPLE(cidr, OPAQUE, "net.CIDR", CIDR);
static SIMPLE(optional_any, OPAQUE, "optional_type", OPTIONAL);
static const struct cel_type type_any_list = { TYPE_LIST, 0, "list", CEL_LIST, 1, { &cel_type_dyn } };
static const struct cel_type type_any_map = {
    TYPE_MAP, 0, "map", CEL_MAP, 2, { &cel_type_dyn, &cel_type_dyn }
};
static const struct cel_type type_any_type = { TYPE_TYPE, 0, "type", CEL_TYPE, 0, { NULL } };

/* Which names signatures use, and which expressions may use. */
static const struct {
    const char *name;
    const struct cel_type *type;
    bool in_signature, in_text;
} named[] = {
    { "bool", &cel_type_bool, true, true },
    { "bytes", &cel_type_bytes, true, true },
    { "double", &cel_type_double, true, true },
    { "int", &cel_type_int, true, true },
    { "uint", &cel_type_uint, true, true },
    { "string", &cel_type_string, true, true },
    { "dyn", &cel_type_dyn, true, false },
    { "any", &cel_type_any, true, false },
    { "duration", &cel_type_duration, true, false },
    { "timestamp", &cel_type_timestamp, true, false },
    { "quantity", &cel_type_quantity, true, false },
    { "semver", &cel_type_semver, true, false },
    { "url", &cel_type_url, true, false },
    { "format", &cel_type_format, true, false },
    { "ip", &cel_type_ip, true, false },
    { "cidr", &cel_type_cidr, true, false },
    { "list", &type_any_list, false, true },
    { "map", &type_any_map, false, true },
    { "null_type", &cel_type_null, false, true },
    { "type", &type_any_type, false, true },
    { "google.protobuf.Duration", &cel_type_duration, false, true },
    { "google.protobuf.Timestamp", &cel_type_timestamp, false, true },
    { "optional_type", &cel_type_optional_any, false, true },
    { "net.IP", &cel_type_ip, false, true },
    { "net.CIDR", &cel_type_cidr, false, true },
};

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
    return make(types, (struct cel_type){ .kind = TYPE_PARAM, .param = param, .value = CEL_KINDS });
}

const struct cel_type *cel_type_list(struct cel_types *types, const struct cel_type *item)
{
    return make(types, (struct cel_type){ TYPE_LIST, 0, "list", CEL_LIST, 1, { item } });
}

const struct cel_type *cel_type_map(struct cel_types *types, const struct cel_type *key,
                                    const struct cel_type *value)
{
    return make(types, (struct cel_type){ TYPE_MAP, 0, "map", CEL_MAP, 2, { key, value } });
}

const struct cel_type *cel_type_type(struct cel_types *types, const struct cel_type *of)
{
    return make(types, (struct cel_type){ TYPE_TYPE, 0, "type", CEL_TYPE, 1, { of } });
}

const struct cel_type *cel_type_optional(struct cel_types *types, const struct cel_type *of)
{
    return make(types,
                (struct cel_type){ TYPE_OPAQUE, 0, cel_type_optional_any.name, CEL_OPTIONAL, 1, { of } });
}

const struct cel_type *cel_type_named(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        if (named[i].in_text && str_is(name, named[i].name))
            return named[i].type;
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
    const struct cel_type *args[2] = { NULL, NULL }, *type = NULL;
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
    if (args[0])
        type = str_is(name, "list")  ? cel_type_list(types, args[0])
               : str_is(name, "map") ? cel_type_map(types, args[0], args[1])
               : str_is(name, "opt") ? cel_type_optional(types, args[0])
                                     : cel_type_type(types, args[0]);
    for (size_t i = 0; !type && i < ARRAY_SIZE(named); i++)
        if (named[i].in_signature && str_is(name, named[i].name))
            type = named[i].type;
    assert(type);
    return type;
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
    return type->kind == TYPE_DYN || type->kind == TYPE_ANY;
}

bool cel_type_is_optional(const struct cel_type *type)
{
    return type->kind == TYPE_OPAQUE && type->value == CEL_OPTIONAL && type->len == 1;
}

static bool same_name(const struct cel_type *a, const struct cel_type *b)
{
    return a->name == b->name || (a->name && b->name && strcmp(a->name, b->name) == 0);
}

bool cel_type_same(struct cel_types *types, const struct cel_type *a, const struct cel_type *b, bool loose)
{
    if (a == b)
        return true;
    if (!step(types) || a->kind != b->kind || a->len != b->len || !same_name(a, b))
        return false;
    if (a->kind == TYPE_PARAM)
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
    if (!step(types) || (within->kind == TYPE_PARAM && within->param == param->param))
        return false;
    if (within->kind == TYPE_PARAM) {
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
    if (!step(types) || cel_type_is_dyn(a) || a->kind == TYPE_PARAM)
        return true;
    if (cel_type_is_dyn(b) || b->kind == TYPE_PARAM || a->kind != b->kind)
        return false;
    if (a->kind == TYPE_TYPE)
        return true;
    if (!same_name(a, b) || a->len != b->len)
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
    if (type->kind == TYPE_PARAM && type->param == param->param)
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

static bool nullable(const struct cel_type *type)
{
    return type->kind == TYPE_OPAQUE || type->kind == TYPE_STRUCT || type->kind == TYPE_DURATION ||
           type->kind == TYPE_TIMESTAMP || type->kind == TYPE_NULL;
}

static bool assignable(struct cel_types *types, const struct cel_type *a, const struct cel_type *b)
{
    bool bound;
    if (!step(types))
        return false;
    if (b->kind == TYPE_PARAM) {
        if (substitute(types, a, b, &bound))
            return true;
        if (bound)
            return false;
    }
    if (a->kind == TYPE_PARAM)
        return substitute(types, b, a, &bound);
    if (cel_type_is_dyn(a) || cel_type_is_dyn(b) || a->kind == TYPE_ERROR || b->kind == TYPE_ERROR)
        return true;
    if (a->kind == TYPE_NULL || b->kind == TYPE_NULL)
        return nullable(a->kind == TYPE_NULL ? b : a);
    if (a->kind == TYPE_TYPE)
        return b->kind == TYPE_TYPE;
    if (a->kind != b->kind || !same_name(a, b) || a->len != b->len)
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
    while (type->kind == TYPE_PARAM && types->bound.items[type->param]) {
        if (!step(types))
            return &cel_type_dyn;
        type = types->bound.items[type->param];
    }
    if (type->kind == TYPE_PARAM)
        return to_dyn ? &cel_type_dyn : type;
    if (type->len == 0)
        return type;
    if (!step(types))
        return &cel_type_dyn;
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
    const char *name = type->name;
    if (!full)
        name = type->kind == TYPE_ANY         ? "any"
               : type->kind == TYPE_NULL      ? "null"
               : type->kind == TYPE_DURATION  ? "duration"
               : type->kind == TYPE_TIMESTAMP ? "timestamp"
                                              : name;
    if (type->kind == TYPE_PARAM)
        strbuf_printf(out, "_var%u", type->param);
    else
        strbuf_puts(out, name);
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
