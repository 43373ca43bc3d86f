/* extra_kinds.c: an array that grows and never changes; see extra_kinds.h. */
#include "api/extra_kinds.h"

#include <stdatomic.h>

#include "api/fields.h"

static struct extra_kind extras[EXTRA_KINDS_MAX];
static _Atomic uint32_t extras_len; /* those below do not change any more */
static atomic_flag adding = ATOMIC_FLAG_INIT;

uint32_t extra_kind_count(void)
{
    return atomic_load_explicit(&extras_len, memory_order_acquire);
}

const struct extra_kind *extra_kind_of(enum api_kind kind)
{
    assert(kind_is_extra(kind));
    return &extras[kind - KIND_EXTRA_FIRST];
}

static bool is_it(const struct extra_kind *extra, const struct extra_kind *wanted)
{
    return str_eq(extra->kind, wanted->kind) && str_eq(extra->api_version, wanted->api_version) &&
           str_eq(extra->namespace, wanted->namespace) && str_eq(extra->name, wanted->name);
}

static enum api_kind find(const struct extra_kind *wanted)
{
    uint32_t len = extra_kind_count();
    for (uint32_t i = 0; i < len; i++)
        if (is_it(&extras[i], wanted))
            return (enum api_kind)(KIND_EXTRA_FIRST + i);
    return KIND_UNKNOWN;
}

enum api_kind extra_kind_find(struct str api_version, struct str kind)
{
    return find(&(struct extra_kind){ .api_version = api_version, .kind = kind });
}

/* For the life of the process: as long as plugins stay, which name it. */
static struct str keep(struct str text)
{
    char *copy = xcalloc((size_t)text.len + 1, 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    return (struct str){ copy, text.len };
}

static enum api_kind add(const struct extra_kind *wanted)
{
    enum api_kind known = find(wanted);
    uint32_t len = extra_kind_count();
    if (known != KIND_UNKNOWN || len == EXTRA_KINDS_MAX)
        return known;
    extras[len] = (struct extra_kind){ keep(wanted->api_version), keep(wanted->kind), keep(wanted->namespace),
                                       keep(wanted->name) };
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, STR_FMT "/" STR_FMT, STR_ARG(wanted->api_version), STR_ARG(wanted->kind));
    extras[len].text = keep(strbuf_slice(&text));
    fields_name_kind((enum api_kind)(KIND_EXTRA_FIRST + len), extras[len].api_version, extras[len].kind);
    atomic_store_explicit(&extras_len, len + 1, memory_order_release);
    return (enum api_kind)(KIND_EXTRA_FIRST + len);
}

enum api_kind extra_kind_add(const struct extra_kind *wanted, struct error *err)
{
    if (!wanted->kind.len || !wanted->api_version.len) {
        error_set(err, -EINVAL, "expected a kind such as v1/ConfigMap or example.com/v1/Widget");
        return KIND_UNKNOWN;
    }
    while (atomic_flag_test_and_set(&adding))
        ; /* another thread is about to have added one */
    enum api_kind kind = add(wanted);
    atomic_flag_clear(&adding);
    if (kind == KIND_UNKNOWN)
        error_set(err, -E2BIG,
                  "plugins of this process have named %d kinds of objects already, the most there can be",
                  EXTRA_KINDS_MAX);
    return kind;
}

/* ---- their names in one text: "v1/ConfigMap", "v1/ConfigMap kube-system/latency" ---- */

static struct str until(struct str *rest, char end)
{
    ptrdiff_t at = str_find(*rest, end);
    struct str part = str_slice(*rest, 0, at < 0 ? rest->len : (size_t)at);
    *rest = at < 0 ? (struct str){ 0 } : str_slice(*rest, (size_t)at + 1, rest->len);
    return part;
}

struct extra_kind extra_kind_parse(struct str text)
{
    struct str whose = text, names = until(&whose, ' ');
    size_t slash = names.len;
    while (slash > 0 && names.ptr[slash - 1] != '/')
        slash--;
    struct extra_kind parsed = { .kind = str_slice(names, slash, names.len),
                                 .api_version = str_slice(names, 0, slash ? slash - 1 : 0) };
    parsed.namespace = until(&whose, '/');
    parsed.name = whose;
    return parsed;
}

void extra_kind_print(enum api_kind kind, struct strbuf *out)
{
    const struct extra_kind *extra = extra_kind_of(kind);
    strbuf_str(out, extra->text);
    if (extra->namespace.len || extra->name.len)
        strbuf_printf(out, " " STR_FMT "/" STR_FMT, STR_ARG(extra->namespace), STR_ARG(extra->name));
}

enum api_kind extra_kind_named(struct str text)
{
    struct extra_kind parsed = extra_kind_parse(text);
    return parsed.api_version.len ? find(&parsed) : KIND_UNKNOWN;
}

uint64_t extra_kinds_of_servers(uint64_t kinds)
{
    uint64_t ret = 0;
    for (uint32_t i = 0; i < extra_kind_count(); i++)
        if (!str_starts_with(extras[i].api_version, STR("metrics.berth.dev/")))
            ret |= UINT64_C(1) << (KIND_EXTRA_FIRST + i);
    return ret & kinds;
}

/* ConfigMaps are of a kind of the tables, too. */
bool extra_kind_has_same_objects(enum api_kind a, enum api_kind b)
{
    return a == b ||
           ((kind_is_extra(a) || kind_is_extra(b)) && str_eq(api_kinds[a].kind, api_kinds[b].kind) &&
            str_eq(api_kinds[a].api_version, api_kinds[b].api_version));
}
