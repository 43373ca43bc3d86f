/* semver.c: semantic versions, as github.com/blang/semver reads and orders them. Build data is checked and does not
 * count. */
#include "cel/value.h"

#include <stdio.h>

struct prerelease {
    struct str text;
    uint64_t number;
    bool is_number;
};

struct cel_semver {
    struct str text; /* as it is written */
    uint64_t major, minor, patch;
    struct prerelease *pre;
    size_t pre_len;
};

static int order_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_prereleases(const struct prerelease *a, const struct prerelease *b)
{
    if (a->is_number != b->is_number)
        return a->is_number ? -1 : 1;
    if (a->is_number)
        return order_numbers(a->number, b->number);
    int order = str_cmp(a->text, b->text);
    return (order > 0) - (order < 0);
}

int cel_semver_order(const struct cel_semver *a, const struct cel_semver *b)
{
    int order = order_numbers(a->major, b->major);
    order = order ? order : order_numbers(a->minor, b->minor);
    order = order ? order : order_numbers(a->patch, b->patch);
    if (order || (a->pre_len == 0 && b->pre_len == 0))
        return order;
    if (a->pre_len == 0 || b->pre_len == 0)
        return a->pre_len == 0 ? 1 : -1;
    for (size_t i = 0; i < a->pre_len && i < b->pre_len; i++) {
        order = order_prereleases(&a->pre[i], &b->pre[i]);
        if (order)
            return order;
    }
    return order_numbers(a->pre_len, b->pre_len);
}

static bool only(struct str text, bool letters)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool digit = c >= '0' && c <= '9';
        if (!digit && !(letters && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-')))
            return false;
    }
    return true;
}

static int parse_number(struct str text, const char *name, uint64_t *ret, struct error *err)
{
    if (!only(text, false))
        return error_set(err, -EINVAL, "Invalid character(s) found in %s number \"" STR_FMT "\"", name,
                         STR_ARG(text));
    if (text.len > 1 && text.ptr[0] == '0')
        return error_set(err, -EINVAL, "%c%s number must not contain leading zeroes \"" STR_FMT "\"",
                         name[0] - 32, name + 1, STR_ARG(text));
    if (!cel_parse_uint(text, ret))
        return error_set(err, -EINVAL, "strconv.ParseUint: parsing \"" STR_FMT "\": %s", STR_ARG(text),
                         text.len ? "value out of range" : "invalid syntax");
    return 0;
}

/* What stands before the next dot; *rest is what is behind it, with a NULL pointer at the end. */
static struct str take_part(struct str *rest)
{
    ptrdiff_t dot = str_find(*rest, '.');
    struct str part = dot < 0 ? *rest : str_slice(*rest, 0, (size_t)dot);
    *rest = dot < 0 ? (struct str){ NULL, 0 } : str_slice(*rest, (size_t)dot + 1, rest->len);
    return part;
}

static int parse_prerelease(struct str text, struct prerelease *ret, struct error *err)
{
    if (text.len == 0)
        return error_set(err, -EINVAL, "Prerelease is empty");
    ret->text = text;
    ret->is_number = only(text, false);
    if (!ret->is_number && !only(text, true))
        return error_set(err, -EINVAL, "Invalid character(s) found in prerelease \"" STR_FMT "\"",
                         STR_ARG(text));
    if (ret->is_number && text.len > 1 && text.ptr[0] == '0')
        return error_set(err, -EINVAL,
                         "Numeric PreRelease version must not contain leading zeroes \"" STR_FMT "\"",
                         STR_ARG(text));
    if (ret->is_number && !cel_parse_uint(text, &ret->number))
        return error_set(err, -EINVAL, "strconv.ParseUint: parsing \"" STR_FMT "\": value out of range",
                         STR_ARG(text));
    return 0;
}

static int parse_prereleases(struct str text, struct arena *arena, struct cel_semver *version,
                             struct error *err)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '.';
    version->pre = arena_array(arena, struct prerelease, count);
    for (struct str rest = text; version->pre_len < count; version->pre_len++) {
        int r = parse_prerelease(take_part(&rest), &version->pre[version->pre_len], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_build(struct str text, struct error *err)
{
    for (struct str rest = text;;) {
        struct str part = take_part(&rest);
        if (part.len == 0)
            return error_set(err, -EINVAL, "Build meta data is empty");
        if (!only(part, true))
            return error_set(err, -EINVAL, "Invalid character(s) found in build meta data \"" STR_FMT "\"",
                             STR_ARG(part));
        if (!rest.ptr)
            return 0;
    }
}

static int parse(struct str text, struct arena *arena, struct cel_semver *ret, struct error *err)
{
    if (text.len == 0)
        return error_set(err, -EINVAL, "Version string empty");
    struct str rest = text, major = take_part(&rest), minor = rest.ptr ? take_part(&rest) : rest;
    if (!rest.ptr)
        return error_set(err, -EINVAL, "No Major.Minor.Patch elements found");
    ptrdiff_t plus = str_find(rest, '+');
    struct str patch = plus < 0 ? rest : str_slice(rest, 0, (size_t)plus);
    ptrdiff_t dash = str_find(patch, '-');
    struct str pre = dash < 0 ? (struct str){ NULL, 0 } : str_slice(patch, (size_t)dash + 1, patch.len);
    patch = dash < 0 ? patch : str_slice(patch, 0, (size_t)dash);
    int r = parse_number(major, "major", &ret->major, err);
    r = r ? r : parse_number(minor, "minor", &ret->minor, err);
    r = r ? r : parse_number(patch, "patch", &ret->patch, err);
    if (r == 0 && dash >= 0)
        r = parse_prereleases(pre, arena, ret, err);
    if (r == 0 && plus >= 0)
        r = check_build(str_slice(rest, (size_t)plus + 1, rest.len), err);
    return r;
}

int cel_semver(struct str text, struct arena *arena, struct cel_value *ret, struct error *err)
{
    struct cel_semver *version = arena_new(arena, struct cel_semver);
    version->text = arena_str(arena, text);
    int r = parse(version->text, arena, version, err);
    if (r == 0)
        *ret = (struct cel_value){ .kind = CEL_SEMVER, .semver = version };
    return r;
}

struct str cel_semver_text(const struct cel_semver *version)
{
    return version->text;
}

/* "v01.2" is 1.2.0. Without a patch there may be no pre-release. */
static int normalize(struct str text, struct arena *arena, struct str *ret, struct error *err)
{
    if (text.len > 0 && text.ptr[0] == 'v')
        text = str_slice(text, 1, text.len);
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct str rest = { text.ptr ? text.ptr : "", text.len }, part = { NULL, 0 };
    size_t count = 0;
    for (; count < 3 && rest.ptr; count++) {
        part = count == 2 ? rest : take_part(&rest);
        size_t zeros = 0;
        while (part.len > 1 && zeros < part.len && part.ptr[zeros] == '0')
            zeros++;
        struct str kept = str_slice(part, zeros, part.len);
        strbuf_puts(&out, count ? "." : "");
        if (part.len > 1 && (kept.len == 0 || kept.ptr[0] < '0' || kept.ptr[0] > '9'))
            strbuf_putc(&out, '0');
        strbuf_str(&out, kept);
    }
    if (count < 3 && (str_find(part, '+') >= 0 || str_find(part, '-') >= 0))
        return error_set(err, -EINVAL, "short version cannot contain PreRelease/Build meta data");
    for (; count < 3; count++)
        strbuf_puts(&out, ".0");
    *ret = arena_str(arena, strbuf_slice(&out));
    return 0;
}

CEL_FUNCTION(to_semver)
{
    struct error err = { "" };
    struct str text = args[0].text;
    struct cel_value value;
    if (!cel_take(run, 4 * (size_t)text.len + sizeof(struct cel_semver)))
        return cel_stop(run);
    int r = len > 1 && args[1].boolean ? normalize(text, run->scratch, &text, &err) : 0;
    r = r ? r : cel_semver(text, run->scratch, &value, &err);
    return r ? cel_fail(run, "%s", err.text) : value;
}

CEL_FUNCTION(is_semver)
{
    struct cel_value value = to_semver(run, args, len);
    return run->stopped ? cel_stop(run) : cel_bool(!cel_is_error(&value));
}

CEL_RETURNS(compare_to, cel_int(cel_semver_order(args[0].semver, args[1].semver)))
CEL_RETURNS(is_greater, cel_bool(cel_semver_order(args[0].semver, args[1].semver) > 0))
CEL_RETURNS(is_less, cel_bool(cel_semver_order(args[0].semver, args[1].semver) < 0))
CEL_RETURNS(major, cel_int((int64_t)args->semver->major))
CEL_RETURNS(minor, cel_int((int64_t)args->semver->minor))
CEL_RETURNS(patch, cel_int((int64_t)args->semver->patch))

const struct cel_overload cel_lib_semver[] = {
    { "semver", "string -> semver; string, bool -> semver", to_semver, 0, COST_LENGTH },
    { "isSemver", "string -> bool; string, bool -> bool", is_semver, 0, COST_LENGTH },
    { "isGreaterThan", "semver, semver -> bool", is_greater, CEL_MEMBER },
    { "isLessThan", "semver, semver -> bool", is_less, CEL_MEMBER },
    { "compareTo", "semver, semver -> int", compare_to, CEL_MEMBER },
    { "major", "semver -> int", major, CEL_MEMBER },
    { "minor", "semver -> int", minor, CEL_MEMBER },
    { "patch", "semver -> int", patch, CEL_MEMBER },
    { 0 },
};
