/* issues.c: collecting and printing what is wrong with a text. */
#include "cel/issues.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

void cel_issue(struct cel_issues *issues, size_t at, const char *format, ...)
{
    issues->count++;
    if (issues->len == CEL_ISSUES_MAX)
        return;
    va_list args;
    va_start(args, format);
    issues->items[issues->len++] =
        (struct cel_issue){ .at = at, .message = arena_vprintf(issues->arena, format, args) };
    va_end(args);
}

/* The line with `at` in it, where it begins, and its number from 1. */
static struct str line_of(struct str text, size_t at, size_t *ret_from, size_t *ret_line)
{
    size_t from = 0, line = 1;
    at = MIN(at, text.len);
    for (size_t i = 0; i < at; i++) {
        if (text.ptr[i] == '\n') {
            from = i + 1;
            line++;
        }
    }
    const char *end = text.len > from ? memchr(text.ptr + from, '\n', text.len - from) : NULL;
    *ret_from = from;
    *ret_line = line;
    return str_slice(text, from, end ? (size_t)(end - text.ptr) : text.len);
}

static void print(struct strbuf *out, struct str text, const struct cel_issue *issue)
{
    size_t from, line, bytes;
    if (issue->at == CEL_ISSUE_NOWHERE) {
        strbuf_printf(out, "ERROR: <input>:-1:0: " STR_FMT, STR_ARG(issue->message));
        return;
    }
    struct str snippet = line_of(text, issue->at, &from, &line);
    struct str before = str_slice(snippet, 0, MIN(issue->at - MIN(from, issue->at), snippet.len));
    strbuf_printf(out, "ERROR: <input>:%zu:%zu: " STR_FMT "\n | ", line, utf8_runes(before) + 1,
                  STR_ARG(issue->message));
    for (size_t i = 0; i < snippet.len; i++)
        strbuf_putc(out, snippet.ptr[i] == '\t' ? ' ' : snippet.ptr[i]);
    strbuf_puts(out, "\n | ");
    for (size_t at = 0; at < before.len; at += bytes) {
        utf8_rune_at(before, at, &bytes);
        strbuf_puts(out, bytes > 1 ? "\uff0e" : ".");
    }
    if (before.len < snippet.len)
        utf8_rune_at(snippet, before.len, &bytes);
    strbuf_puts(out, before.len < snippet.len && bytes > 1 ? "\uff3e" : "^");
}

/* error_set() makes one line of what it gets; here the lines are part of the message. */
static int write_lines(struct error *err, const char *prefix, const char *text)
{
    if (!err)
        return -EINVAL;
    snprintf(err->text, sizeof(err->text), "%s%s", prefix, text);
    for (char *p = err->text; *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7F)
            *p = '?';
    return -EINVAL;
}

int cel_issues_report(struct cel_issues *issues, const char *prefix, struct error *err)
{
    for (size_t i = 1; i < issues->len; i++) { /* stable */
        struct cel_issue issue = issues->items[i];
        size_t j = i;
        for (; j > 0 && issues->items[j - 1].at > issue.at; j--)
            issues->items[j] = issues->items[j - 1];
        issues->items[j] = issue;
    }
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    for (size_t i = 0; i < issues->len; i++) {
        strbuf_puts(&out, i ? "\n" : "");
        print(&out, issues->text, &issues->items[i]);
    }
    return write_lines(err, prefix, out.text ? out.text : "");
}
