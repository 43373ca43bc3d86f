/* watched.c: see watched.h. */
#include "sync/watched.h"

#include "api/extra_kinds.h"
#include "api/fields.h"
#include "base/percent.h"
#include "codec/doc.h"

#define WATCHED(name, resource, page_len, required, older, selector) \
    { KIND_##name, resource, page_len, required, older, selector, false, 0, false, NULL },
#define WATCHED_WITH(gate, name, resource, page_len, older) \
    { KIND_##name, resource, page_len, false, older, "", true, FEATURE_##gate, false, NULL },
const struct watched_kind watched_kinds[] = {
#include "sync/watched.def"
};
#undef WATCHED_WITH
#undef WATCHED

const size_t watched_kind_count = ARRAY_SIZE(watched_kinds);

struct watched_kind watched_for_plugins(enum api_kind kind, struct arena *arena)
{
    enum { PAGE_LEN = 500 };
    struct str group = api_kinds[kind].api_version, text = api_kinds[kind].kind;
    struct watched_kind ret = {
        .kind = kind,
        .resource = arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(group), STR_ARG(text)).ptr,
        .page_len = PAGE_LEN,
        .older_versions = "",
        .field_selector = "",
        .is_looked_up = true,
    };
    const struct extra_kind *extra = kind_is_extra(kind) ? extra_kind_of(kind) : NULL;
    if (extra && extra->name.len)
        ret.field_selector = arena_printf(arena, "metadata.name=" STR_FMT, STR_ARG(extra->name)).ptr;
    if (extra && extra->namespace.len)
        ret.namespace = extra->namespace.ptr;
    return ret;
}

/* Word `index` of a text of words with a space between them; empty: there is none. */
static struct str word_at(struct str words, uint32_t index)
{
    for (;; index--) {
        ptrdiff_t space = str_find(words, ' ');
        struct str word = str_slice(words, 0, space < 0 ? words.len : (size_t)space);
        if (index == 0 || !word.len)
            return word;
        words = str_slice(words, MIN(word.len + 1, words.len), words.len);
    }
}

static void put_group(struct strbuf *path, struct str group, struct str version)
{
    strbuf_puts(path, group.len ? "/apis/" : "/api/");
    strbuf_str(path, group);
    strbuf_puts(path, group.len ? "/" : "");
    strbuf_str(path, version);
}

/* ---- kinds that are looked up ---- */

void watched_lookup_path(const struct watched_kind *watched, struct strbuf *path)
{
    struct str version = api_kinds[watched->kind].api_version;
    strbuf_puts(path, str_find(version, '/') < 0 ? "/api/" : "/apis/");
    strbuf_str(path, version);
}

/* A resource whose name could leave the path is none. */
static bool is_resource(struct str name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9') ||
              name.ptr[i] == '-'))
            return false;
    return name.len > 0;
}

static yyjson_val *find_resource(yyjson_val *root, struct str kind)
{
    size_t i, max;
    yyjson_val *resource;
    yyjson_arr_foreach(doc_items(yyjson_obj_get(root, "resources")), i, max, resource)
        if (str_eq(doc_member_text(resource, "kind"), kind) && is_resource(doc_member_text(resource, "name")))
            return resource;
    return NULL;
}

static void put_resource(const struct watched_kind *watched, yyjson_val *resource, struct strbuf *out)
{
    strbuf_clear(out);
    if (watched->namespace && yyjson_get_bool(yyjson_obj_get(resource, "namespaced"))) {
        strbuf_puts(out, "namespaces/");
        percent_encode(out, str_from(watched->namespace), "-._~");
        strbuf_putc(out, '/');
    }
    strbuf_str(out, doc_member_text(resource, "name"));
}

int watched_look_up(const struct watched_kind *watched, struct strbuf *answer, struct strbuf *ret_resource,
                    struct error *err)
{
    struct doc_stream stream = { 0 };
    struct doc doc = { 0 };
    size_t len = answer->len;
    strbuf_reserve(answer, YYJSON_PADDING_SIZE);
    memset(answer->text + len, 0, YYJSON_PADDING_SIZE);
    doc_stream_init(&stream, "answer", answer->text, len);
    *answer = (struct strbuf){ 0 };
    int r = stream.yaml ? error_set(err, -EBADMSG, "the answer is not JSON")
                        : doc_stream_next(&stream, &doc, err);
    yyjson_val *resource = r > 0 ? find_resource(doc.root, api_kinds[watched->kind].kind) : NULL;
    if (resource)
        put_resource(watched, resource, ret_resource);
    doc_release(&doc);
    doc_stream_release(&stream);
    return r < 0 ? r : resource != NULL;
}

/* ---- paths ---- */

bool watched_path(const struct watched_kind *watched, uint32_t version, struct str found, struct strbuf *path)
{
    struct str group = api_kinds[watched->kind].api_version, newest = group;
    ptrdiff_t slash = str_find(group, '/');
    struct str name = version ? word_at(str_from(watched->older_versions), version - 1)
                              : str_slice(newest, (size_t)(slash + 1), newest.len);
    if (!name.len)
        return false;
    group = str_slice(group, 0, slash < 0 ? 0 : (size_t)slash);
    put_group(path, group, name);
    if (watched->namespace && !watched->is_looked_up) {
        strbuf_puts(path, "/namespaces/");
        percent_encode(path, str_from(watched->namespace), "-._~");
    }
    struct str resource = watched->is_looked_up ? found : str_from(watched->resource);
    strbuf_printf(path, "/" STR_FMT "?", STR_ARG(resource));
    if (watched->field_selector[0])
        watched_query(path, "fieldSelector", str_from(watched->field_selector));
    return true;
}

void watched_query(struct strbuf *path, const char *name, struct str value)
{
    if (path->len && path->text[path->len - 1] != '?')
        strbuf_putc(path, '&');
    strbuf_printf(path, "%s=", name);
    percent_encode(path, value, "-._~");
}
