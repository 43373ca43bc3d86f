/* list.c: lists. A page that is not the last has a token: the revision of the list, and the last object of the page.
 * Pages of one list are of one revision, as long as history has it. */
#include "apiserver/list.h"

#include <inttypes.h>
#include <stdio.h>

#include "apiserver/tree.h"
#include "base/base64.h"

int list_too_new(struct store *store, uint64_t revision, struct api_error *err)
{
    int r = api_error_set(err, 504, "Timeout",
                          "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, revision,
                          store_revision(store));
    err->retry_after_s = 1;
    *vec_push(&err->causes) = (struct api_cause){ .reason = "ResourceVersionTooLarge",
                                                  .message = STR("Too large resource version") };
    return r;
}

int list_revision(struct store *store, struct str text, uint64_t *ret, struct api_error *err)
{
    int64_t number = 0;
    if (text.len && (!str_to_int64(text, &number) || number < 0))
        return api_error_bad_request(err,
                                     "invalid resource version: resourceVersion: Invalid value: \"" STR_FMT
                                     "\": strconv.ParseUint: parsing \"" STR_FMT "\": invalid syntax",
                                     STR_ARG(text), STR_ARG(text));
    *ret = (uint64_t)number;
    return *ret > store_revision(store) ? list_too_new(store, *ret, err) : 0;
}

/* ---- tokens ---- */
static void write_token(uint64_t revision, const struct stored *last, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    struct json_writer writer = json_writer(&json, JSON_COMPACT);
    json_begin_object(&writer);
    json_member_str(&writer, "v", STR("meta.k8s.io/v1"));
    json_member_int(&writer, "rv", (int64_t)revision);
    json_member_str(&writer, "ns", last->ns);
    json_member_str(&writer, "name", last->name);
    json_end_object(&writer);
    base64_encode(out, strbuf_slice(&json));
}

static int read_token(struct str token, struct store_range *range, struct arena *arena, struct api_error *err)
{
    struct str reason = STR("illegal base64 data at input byte 0");
    char *bytes = arena_alloc(arena, base64_bytes_max(token.len));
    ptrdiff_t len = base64_decode(token, bytes);
    yyjson_doc *doc = len >= 0 ? tree_parse((struct str){ bytes, (uint32_t)len }, arena, &reason) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    int64_t revision = tree_int(root, "rv", 0);
    range->after_ns = arena_str(arena, tree_text(root, "ns"));
    range->after_name = arena_str(arena, tree_text(root, "name"));
    bool is_good = revision > 0 && range->after_name.len;
    range->revision = (uint64_t)revision;
    yyjson_doc_free(doc);
    return is_good ? 0
                   : api_error_bad_request(err, "invalid continue token: continue key is not valid: " STR_FMT,
                                           STR_ARG(reason));
}

/* ---- which part of the store ---- */
static int check_options(const struct api_options *options, struct api_error *err)
{
    struct str match = options->resource_version_match;
    if (!match.len)
        return 0;
    if (!options->resource_version.len)
        api_error_field(err, FIELD_FORBIDDEN, "resourceVersionMatch", (struct str){ 0 },
                        "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (options->continue_token.len)
        api_error_field(err, FIELD_FORBIDDEN, "resourceVersionMatch", (struct str){ 0 },
                        "resourceVersionMatch is forbidden when continue is provided");
    if (str_is(match, "Exact") && str_is(options->resource_version, "0"))
        api_error_field(err, FIELD_FORBIDDEN, "resourceVersionMatch", (struct str){ 0 },
                        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    return api_error_invalid(err, STR("meta.k8s.io"), STR("ListOptions"), (struct str){ 0 });
}

static int find_range(struct store *store, const struct api_request *request, struct store_range *ret,
                      struct arena *arena, struct api_error *err)
{
    const struct api_options *options = &request->options;
    *ret = (struct store_range){ .kind = request->resource->storage, .ns = request->namespace };
    int r = check_options(options, err);
    if (r < 0)
        return r;
    if (options->continue_token.len)
        return read_token(options->continue_token, ret, arena, err);
    uint64_t revision;
    r = list_revision(store, options->resource_version, &revision, err);
    if (r < 0)
        return r;
    ret->revision = str_is(options->resource_version_match, "Exact") ? revision : store_revision(store);
    return 0;
}

/* ---- the list ---- */
struct listing_state {
    struct registry *registry;
    const struct selection *selector;
    struct output_list list;
    struct stored *last;
};

static enum store_visited visit(void *user, struct stored *version)
{
    struct listing_state *state = user;
    if (state->selector && !selection_matches(state->selector, registry_parsed(state->registry, version)))
        return STORE_SKIPPED;
    output_list_item(&state->list, version->json);
    state->last = version;
    return STORE_COUNTS;
}

static void end_list(struct listing_state *state, const struct store_range *range, bool has_more)
{
    _cleanup_(strbuf_release) struct strbuf token = { 0 };
    char revision[32];
    int64_t remaining = 0;
    if (has_more && state->last) {
        struct store_range rest = *range;
        write_token(range->revision, state->last, &token);
        rest.after_ns = state->last->ns;
        rest.after_name = state->last->name;
        if (!state->selector) /* the server does not count what it has not selected */
            remaining = (int64_t)store_count(registry_store(state->registry), &rest);
    }
    snprintf(revision, sizeof(revision), "%" PRIu64, range->revision);
    output_list_end(&state->list, str_from(revision), strbuf_slice(&token), remaining);
}

static int write_page(struct registry *registry, const struct api_request *request, struct output *output,
                      const struct selection *selector, struct strbuf *out, struct arena *arena,
                      struct api_error *err)
{
    struct store *store = registry_store(registry);
    struct store_range range;
    int r = find_range(store, request, &range, arena, err);
    if (r < 0)
        return r;
    struct listing_state state = { .registry = registry, .selector = selector };
    output_list_begin(&state.list, output, (struct str){ 0 }, out);
    int64_t limit = MAX(request->options.limit, 0);
    r = store_page(store, &range, (size_t)limit, visit, &state);
    if (r == -ERANGE)
        return list_too_new(store, range.revision, err);
    if (r < 0 && request->options.continue_token.len)
        return api_error_expired(err, "The provided continue parameter is too old to display a consistent "
                                      "list result. You must start a new "
                                      "list without the continue parameter.");
    if (r < 0)
        return api_error_expired(err, "The resourceVersion for the provided list is too old.");
    end_list(&state, &range, r > 0);
    return 0;
}

int list_write(struct registry *registry, const struct api_request *request, struct output *output,
               struct strbuf *out, struct api_error *err)
{
    struct selection *selector;
    struct arena arena = { 0 };
    int r = selection_parse(request->resource, request->options.label_selector,
                            request->options.field_selector, &selector, err);
    if (r == 0)
        r = write_page(registry, request, output, selector, out, &arena, err);
    selection_free(selector);
    arena_release(&arena);
    return r;
}
