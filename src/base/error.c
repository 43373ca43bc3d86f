/* error.c: sentences, cut at the end of their buffer and never in the middle of a control sequence. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

/* Input that ends up in a message must not drive the terminal that shows it. */
static void error_clean(struct error *err)
{
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

int error_set(struct error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    error_clean(err);
    return code;
}

int error_at(struct error *err, int code, const char *path, size_t line, size_t column, const char *format,
             ...)
{
    if (!err)
        return code;
    int used = 0;
    if (line && column)
        used = snprintf(err->text, sizeof(err->text), "%s:%zu:%zu: ", path, line, column);
    else if (line)
        used = snprintf(err->text, sizeof(err->text), "%s:%zu: ", path, line);
    else
        used = snprintf(err->text, sizeof(err->text), "%s: ", path);
    if (used > 0 && (size_t)used < sizeof(err->text)) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text + used, sizeof(err->text) - (size_t)used, format, args);
        va_end(args);
    }
    error_clean(err);
    return code;
}

void error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return;
    char head[256];
    va_list args;
    va_start(args, format);
    vsnprintf(head, sizeof(head), format, args);
    va_end(args);
    struct error old = *err;
    snprintf(err->text, sizeof(err->text), "%s: %.*s", head, (int)(sizeof(err->text) - sizeof(head) - 2),
             old.text);
    error_clean(err);
}

void error_mask(struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_masked(&text, str_from(err->text));
    error_set(err, 0, "%s", text.len ? text.text : "");
}
