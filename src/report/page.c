/* page.c: puts a document and the assets into one HTML page; see page.h. */
#include "report/page.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "codec/gzip.h"
#include "report/assets.h"

enum { READABLE_BYTES_MAX = 512 * 1024 };

static bool is_in_reports(const struct asset *asset)
{
    return !str_starts_with(str_from(asset->path), STR("live/"));
}

static bool is_script(const struct asset *asset)
{
    return str_ends_with(str_from(asset->path), STR(".js"));
}

static bool is_style(const struct asset *asset)
{
    return str_ends_with(str_from(asset->path), STR(".css"));
}

static void add_text(struct strbuf *out, struct str text)
{
    for (uint32_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '<':
            strbuf_puts(out, "&lt;");
            break;
        case '>':
            strbuf_puts(out, "&gt;");
            break;
        case '&':
            strbuf_puts(out, "&amp;");
            break;
        case '"':
            strbuf_puts(out, "&quot;");
            break;
        default:
            strbuf_putc(out, text.ptr[i]);
        }
    }
}

/* JSON inside of a script element: "</script" or "<!--" in a string would end the element or begin a comment. In JSON
 * '<' and the line separators U+2028 and U+2029 are only parts of strings, where an escape means the same. */
static void add_json(struct strbuf *out, struct str json)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < json.len; i++) {
        bool separator = json.ptr[i] == '\xe2' && json.len - i >= 3 && json.ptr[i + 1] == '\x80' &&
                         (json.ptr[i + 2] == '\xa8' || json.ptr[i + 2] == '\xa9');
        if (json.ptr[i] != '<' && !separator)
            continue;
        strbuf_str(out, str_slice(json, from, i));
        strbuf_puts(out, !separator ? "\\u003c" : json.ptr[i + 2] == '\xa8' ? "\\u2028" : "\\u2029");
        i += separator ? 2 : 0;
        from = i + 1;
    }
    strbuf_str(out, str_slice(json, from, json.len));
}

/* A small document as it is, a large one as gzip in base64; ui/report/main.js reads both. */
static void add_data(struct strbuf *out, struct str json)
{
    _cleanup_(strbuf_release) struct strbuf packed = { 0 };
    bool is_packed = json.len > READABLE_BYTES_MAX && gzip_encode(json.ptr, json.len, &packed) == 0;
    strbuf_printf(out, "<script type=\"%s\" id=\"data\">",
                  is_packed ? "application/gzip;base64" : "application/json");
    if (is_packed)
        base64_encode(out, strbuf_slice(&packed));
    else
        add_json(out, json);
    strbuf_puts(out, "</script>\n");
}

static void add_hashes(struct strbuf *out, const char *directive, bool (*matches)(const struct asset *asset))
{
    strbuf_printf(out, "; %s", directive);
    for (size_t i = 0; i < assets_len; i++)
        if (is_in_reports(&assets[i]) && matches(&assets[i]))
            strbuf_printf(out, " 'sha256-%s'", assets[i].sha256);
}

static void add_elements(struct strbuf *out, const char *element, bool (*matches)(const struct asset *asset))
{
    for (size_t i = 0; i < assets_len; i++) {
        if (!is_in_reports(&assets[i]) || !matches(&assets[i]))
            continue;
        strbuf_printf(out, "<%s>", element);
        strbuf_add(out, assets[i].text, assets[i].len);
        strbuf_printf(out, "</%s>\n", element);
    }
}

void report_page(struct str title, struct str json, struct strbuf *out)
{
    strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "base-uri 'none'; form-action 'none'; img-src data:");
    add_hashes(out, "script-src", is_script);
    add_hashes(out, "style-src", is_style);
    strbuf_puts(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"generator\" content=\"berth " BERTH_VERSION "\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<title>");
    add_text(out, title);
    strbuf_puts(out, "</title>\n");
    add_elements(out, "style", is_style);
    strbuf_puts(out, "</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
                     "<noscript>This report is drawn by the script inside of it: please allow scripts for "
                     "this file. It loads nothing.</noscript>\n");
    add_data(out, json);
    add_elements(out, "script", is_script);
    strbuf_puts(out, "</body>\n</html>\n");
}

int report_write(const char *path, struct str title, struct str json, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf page = { 0 };
    report_page(title, json, &page);
    FILE *file = fopen(path, "we");
    if (!file)
        return error_at(err, -errno, path, 0, 0, "cannot be written: %s", strerror(errno));
    struct stat status;
    bool is_plain = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    errno = 0;
    bool bad = fwrite(page.text, 1, page.len, file) != page.len;
    bad |= fclose(file) != 0;
    if (!bad)
        return 0;
    int failure = errno ? errno : EIO;
    if (is_plain) /* and not a device */
        unlink(path);
    return error_at(err, -failure, path, 0, 0, "cannot be written: %s", strerror(failure));
}
