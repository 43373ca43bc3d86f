/* problems.c: collecting and printing what is wrong.
 *
 * No more is kept than a struct error can hold: hostile input has as many mistakes as it likes. */
#include "codec/problems.h"

#include "base/duration.h"

static bool said_already(const struct problems *problems, size_t new_at)
{
    const char *sentence = problems->text.text + new_at;
    for (size_t at = 0; at < new_at; at += strlen(problems->text.text + at) + 1)
        if (strcmp(problems->text.text + at, sentence) == 0)
            return true;
    return false;
}

/* value and detail may be NULL. */
static void add(struct problems *problems, const struct path *path, const char *kind, const char *value,
                const char *detail)
{
    if (problems->text.len > sizeof(((struct error *)0)->text))
        return;
    size_t at = problems->text.len;
    path_print(&problems->text, path);
    strbuf_printf(&problems->text, ": %s", kind);
    if (value)
        strbuf_printf(&problems->text, ": %s", value);
    if (detail && *detail)
        strbuf_printf(&problems->text, ": %s", detail);
    if (said_already(problems, at)) {
        problems->text.len = at;
        return;
    }
    strbuf_putc(&problems->text, '\0');
    if (problems->count++ == 0)
        problems->first = path_resolve(problems->root, path);
}

static const char invalid[] = "Invalid value", duplicate[] = "Duplicate value";

static void add_str(struct problems *problems, const struct path *path, const char *kind, struct str value,
                    void (*print)(struct strbuf *, struct str), const char *detail)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    print(&text, value);
    add(problems, path, kind, text.text ? text.text : "", detail);
}

void problem_int(struct problems *problems, const struct path *path, int64_t value, const char *detail)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "%lld", (long long)value);
    add(problems, path, invalid, text.text, detail);
}

void problem_text(struct problems *problems, const struct path *path, struct str value, const char *detail)
{
    add_str(problems, path, invalid, value, quote_go, detail);
}

void problem_json(struct problems *problems, const struct path *path, struct str json, const char *detail)
{
    add_str(problems, path, invalid, json, strbuf_str, detail);
}

void problem_duration(struct problems *problems, const struct path *path, int64_t ns, const char *detail)
{
    char text[DURATION_TEXT_MAX];
    duration_format(ns, text);
    add_str(problems, path, invalid, str_from(text), print_json, detail);
}

void problem_required(struct problems *problems, const struct path *path, const char *detail)
{
    add(problems, path, "Required value", NULL, detail);
}

void problem_forbidden(struct problems *problems, const struct path *path, const char *detail)
{
    add(problems, path, "Forbidden", NULL, detail);
}

void problem_duplicate(struct problems *problems, const struct path *path, struct str value)
{
    add_str(problems, path, duplicate, value, quote_go, NULL);
}

void problem_duplicate_json(struct problems *problems, const struct path *path, struct str json)
{
    add_str(problems, path, duplicate, json, strbuf_str, NULL);
}

void problem_unsupported(struct problems *problems, const struct path *path, struct str value,
                         const char *const *supported, size_t count)
{
    _cleanup_(strbuf_release) struct strbuf detail = { 0 };
    strbuf_puts(&detail, "supported values: ");
    for (size_t i = 0; i < count; i++) {
        strbuf_puts(&detail, i ? ", " : "");
        quote_go(&detail, str_from(supported[i]));
    }
    add_str(problems, path, "Unsupported value", value, print_json, detail.text);
}

int problems_report(const struct problems *problems, const struct doc *doc, const char *prefix,
                    struct error *err)
{
    if (!problems->count)
        return 0;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_puts(&text, problems->count > 1 ? "[" : "");
    for (size_t at = 0; at < problems->text.len; at += strlen(problems->text.text + at) + 1) {
        strbuf_puts(&text, at ? ", " : "");
        strbuf_puts(&text, problems->text.text + at);
    }
    strbuf_puts(&text, problems->count > 1 ? "]" : "");
    if (doc && problems->first)
        return doc_error(doc, problems->first, -EINVAL, err, "%s%s", prefix, text.text);
    return error_set(err, -EINVAL, "%s%s", prefix, text.text);
}

void problems_release(struct problems *problems)
{
    strbuf_release(&problems->text);
    *problems = (struct problems){ 0 };
}
