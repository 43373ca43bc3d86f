/* request.c: paths and queries of the Kubernetes API. */
#include "apiserver/request.h"

#include "base/utf8.h"

/* ---- the query ---- */
/* What is no UTF-8 becomes U+FFFD: a text of a query can get into an object, such as the name of a field manager. */
static struct str decode(struct str text, struct arena *arena)
{
    char *out = arena_alloc(arena, (size_t)text.len + 1);
    uint32_t len = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%' && i + 2 < text.len && hex_digit(text.ptr[i + 1]) >= 0 &&
            hex_digit(text.ptr[i + 2]) >= 0) {
            c = (char)(hex_digit(text.ptr[i + 1]) * 16 + hex_digit(text.ptr[i + 2]));
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        out[len++] = c;
    }
    out[len] = '\0';
    return utf8_mended((struct str){ out, len }, arena);
}

struct str query_value(struct str query, const char *name, struct arena *arena)
{
    while (query.len) {
        struct str value = str_cut(&query, '&');
        struct str key = decode(str_cut(&value, '='), arena);
        if (str_is(key, name))
            return value.ptr ? decode(value, arena) : STR("");
    }
    return (struct str){ 0 };
}

enum option_type {
    OPTION_STR,
    OPTION_INT64,
    OPTION_IS_TRUE,
    OPTION_MAYBE_BOOL,
    OPTION_MAYBE_INT64,
    OPTION_DRY
};

static const struct {
    const char *name;
    enum option_type type;
    size_t offset;
} options[] = {
    { "labelSelector", OPTION_STR, offsetof(struct api_options, label_selector) },
    { "fieldSelector", OPTION_STR, offsetof(struct api_options, field_selector) },
    { "resourceVersion", OPTION_STR, offsetof(struct api_options, resource_version) },
    { "resourceVersionMatch", OPTION_STR, offsetof(struct api_options, resource_version_match) },
    { "continue", OPTION_STR, offsetof(struct api_options, continue_token) },
    { "limit", OPTION_INT64, offsetof(struct api_options, limit) },
    { "timeoutSeconds", OPTION_INT64, offsetof(struct api_options, timeout_s) },
    { "watch", OPTION_IS_TRUE, offsetof(struct api_options, watch) },
    { "allowWatchBookmarks", OPTION_IS_TRUE, offsetof(struct api_options, allow_bookmarks) },
    { "sendInitialEvents", OPTION_MAYBE_BOOL, offsetof(struct api_options, send_initial_events) },
    { "fieldManager", OPTION_STR, offsetof(struct api_options, field_manager) },
    { "fieldValidation", OPTION_STR, offsetof(struct api_options, field_validation) },
    { "dryRun", OPTION_DRY, offsetof(struct api_options, dry_run) },
    { "force", OPTION_IS_TRUE, offsetof(struct api_options, force) },
    { "pretty", OPTION_IS_TRUE, offsetof(struct api_options, pretty) },
    { "gracePeriodSeconds", OPTION_MAYBE_INT64, offsetof(struct api_options, grace_s) },
    { "propagationPolicy", OPTION_STR, offsetof(struct api_options, propagation_policy) },
    { "orphanDependents", OPTION_MAYBE_BOOL, offsetof(struct api_options, orphan_dependents) },
};

static bool is_false(struct str text)
{
    return str_is(text, "0") || str_is(text, "false");
}

static int read_number(struct str text, int64_t *ret, struct api_error *err)
{
    if (str_to_int64(text, ret))
        return 0;
    return api_error_bad_request(err, "strconv.ParseInt: parsing \"" STR_FMT "\": invalid syntax",
                                 STR_ARG(text));
}

static int read_option(size_t i, struct str text, struct api_options *ret, struct api_error *err)
{
    void *at = (char *)ret + options[i].offset;
    int64_t number = 0;
    int r = 0;
    switch (options[i].type) {
    case OPTION_STR:
        *(struct str *)at = text;
        break;
    case OPTION_INT64:
        r = text.len ? read_number(text, at, err) : 0;
        break;
    case OPTION_IS_TRUE:
        *(bool *)at = !is_false(text);
        break;
    case OPTION_MAYBE_BOOL:
        *(struct opt_bool *)at = (struct opt_bool){ .set = true, .value = !is_false(text) };
        break;
    case OPTION_MAYBE_INT64:
        r = text.len ? read_number(text, &number, err) : 0;
        *(struct opt_int64 *)at = (struct opt_int64){ .set = text.len > 0, .value = number };
        break;
    case OPTION_DRY:
        if (text.len && !str_is(text, "All"))
            return api_error_bad_request(err, "Invalid value: []string{\"" STR_FMT "\"}: must be All",
                                         STR_ARG(text));
        *(bool *)at = text.len > 0;
    }
    return r;
}

static int read_options(struct str query, struct arena *arena, struct api_options *ret, struct api_error *err)
{
    for (size_t i = 0; query.len && i < ARRAY_SIZE(options); i++) {
        struct str text = query_value(query, options[i].name, arena);
        int r = text.ptr ? read_option(i, text, ret, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the path ---- */
bool api_request_split(struct str path, struct str *ret_group, struct str *ret_version, struct str *ret_rest)
{
    struct str rest = str_trim(path, "/");
    struct str root = str_cut(&rest, '/');
    bool is_core = str_is(root, "api");
    if (!is_core && !str_is(root, "apis"))
        return false;
    *ret_group = is_core ? STR("") : str_cut(&rest, '/');
    *ret_version = str_cut(&rest, '/');
    *ret_rest = rest;
    return ret_version->len > 0;
}

enum { PARTS_MAX = 8 };

static size_t split_parts(struct str rest, struct str parts[static PARTS_MAX])
{
    size_t count = 0;
    while (rest.len && count < PARTS_MAX)
        parts[count++] = str_cut(&rest, '/');
    return rest.len ? PARTS_MAX + 1 : count;
}

static bool is_namespace_part(struct str text)
{
    return str_is(text, "status") || str_is(text, "finalize");
}

/* RESOURCE[/NAME[/SUBRESOURCE]], below namespaces/NAMESPACE or not. */
static int find_resource(const struct str *parts, size_t count, struct api_request *ret,
                         struct api_error *err)
{
    bool in_namespace = count > 2 && str_is(parts[0], "namespaces") && !is_namespace_part(parts[2]);
    if (in_namespace) {
        ret->namespace = parts[1];
        parts += 2;
        count -= 2;
    }
    ret->resource = count && count <= 3 ? resource_find(ret->group, ret->version, parts[0]) : NULL;
    if (!ret->resource || (in_namespace && !ret->resource->namespaced))
        return api_error_no_resource(err);
    if (count > 1)
        ret->name = parts[1];
    if (count > 2) {
        ret->subresource = subresource_find(parts[2]);
        if (!(ret->subresource & ret->resource->subresources))
            return api_error_no_resource(err);
    }
    /* Objects of a namespace are read across namespaces, but only as a collection. */
    if (ret->resource->namespaced && !in_namespace && count > 1)
        return api_error_no_resource(err);
    return 0;
}

static int find_verb(struct str method, struct api_request *ret, struct api_error *err)
{
    bool is_one = ret->name.len > 0;
    if (str_is(method, "GET") || str_is(method, "HEAD"))
        ret->verb = is_one ? VERB_GET : ret->options.watch ? VERB_WATCH : VERB_LIST;
    else if (str_is(method, "POST"))
        ret->verb = VERB_CREATE;
    else if (str_is(method, "PUT") && is_one)
        ret->verb = VERB_UPDATE;
    else if (str_is(method, "PATCH") && is_one)
        ret->verb = VERB_PATCH;
    else if (str_is(method, "DELETE"))
        ret->verb = is_one ? VERB_DELETE : VERB_DELETECOLLECTION;
    else
        return api_error_no_method(err);
    uint32_t allowed = ret->subresource ? subresource_row(ret->subresource)->verbs : ret->resource->verbs;
    bool is_collection = !is_one && ret->verb == VERB_CREATE;
    if (!(allowed & ret->verb) || (ret->verb == VERB_CREATE && is_one && !ret->subresource))
        return api_error_no_method(err);
    if (is_collection && ret->resource->namespaced && !ret->namespace.len)
        return api_error_no_method(err);
    return 0;
}

int api_request_parse(struct str method, struct str path, struct str query, struct arena *arena,
                      struct api_request *ret, struct api_error *err)
{
    struct str rest, parts[PARTS_MAX];
    *ret = (struct api_request){ 0 };
    if (!api_request_split(path, &ret->group, &ret->version, &rest))
        return api_error_no_resource(err);
    int r = read_options(query, arena, &ret->options, err);
    if (r < 0)
        return r;
    size_t count = split_parts(rest, parts);
    const struct str *first = parts;
    /* The older way to ask for a watch: /api/v1/watch/pods. */
    if (count && count <= PARTS_MAX && str_is(parts[0], "watch")) {
        ret->options.watch = true;
        first++;
        count--;
    }
    r = find_resource(first, count, ret, err);
    if (r == 0)
        r = find_verb(method, ret, err);
    return r;
}
