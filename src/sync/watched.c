/* watched.c: see watched.h. */
#include "sync/watched.h"

#include "api/fields.h"
#include "base/percent.h"

#define WATCHED(name, resource, page_len, required, older, selector) \
    { KIND_##name, resource, page_len, required, older, selector, false, 0, NULL },
#define WATCHED_WITH(gate, name, resource, page_len, older) \
    { KIND_##name, resource, page_len, false, older, "", true, FEATURE_##gate, NULL },
const struct watched_kind watched_kinds[] = {
#include "sync/watched.def"
};
#undef WATCHED_WITH
#undef WATCHED

const size_t watched_kind_count = ARRAY_SIZE(watched_kinds);

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

bool watched_path(const struct watched_kind *watched, uint32_t version, struct strbuf *path)
{
    struct str group = api_kinds[watched->kind].api_version, newest = group;
    ptrdiff_t slash = str_find(group, '/');
    struct str name = version ? word_at(str_from(watched->older_versions), version - 1)
                              : str_slice(newest, (size_t)(slash + 1), newest.len);
    if (!name.len)
        return false;
    group = str_slice(group, 0, slash < 0 ? 0 : (size_t)slash);
    strbuf_puts(path, group.len ? "/apis/" : "/api/");
    strbuf_str(path, group);
    strbuf_puts(path, group.len ? "/" : "");
    strbuf_str(path, name);
    if (watched->namespace) {
        strbuf_puts(path, "/namespaces/");
        percent_encode(path, str_from(watched->namespace), "-._~");
    }
    strbuf_printf(path, "/%s?", watched->resource);
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
