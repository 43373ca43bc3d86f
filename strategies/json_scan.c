/* json_scan.c: see json_scan.h. */
#include "json_scan.h"

#include <math.h>
#include <stdlib.h>

struct scan {
    const char *at, *end;
    struct berth_str keys[JSON_SCAN_DEPTH_MAX];
    uint32_t depth;
    json_visit visit;
    void *context;
};

static bool scan_value(struct scan *scan, uint32_t nested);

/* The next character that is no blank; 0 at the end. */
static char peek(struct scan *scan)
{
    while (scan->at < scan->end && memchr(" \t\r\n", *scan->at, 4))
        scan->at++;
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool take(struct scan *scan, char wanted)
{
    if (peek(scan) != wanted)
        return false;
    scan->at++;
    return true;
}

static bool scan_text(struct scan *scan, struct berth_str *ret)
{
    if (!take(scan, '"'))
        return false;
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    if (scan->at >= scan->end)
        return false;
    *ret = (struct berth_str){ start, (uint32_t)(scan->at++ - start) };
    return true;
}

static bool scan_member(struct scan *scan, uint32_t nested)
{
    struct berth_str key;
    if (scan->depth == JSON_SCAN_DEPTH_MAX || !scan_text(scan, &key) || !take(scan, ':'))
        return false;
    scan->keys[scan->depth++] = key;
    bool ok = scan_value(scan, nested);
    scan->depth--;
    return ok;
}

/* What stands between the brackets; the opening one has been read. */
static bool scan_items(struct scan *scan, char end, uint32_t nested)
{
    if (take(scan, end))
        return true;
    do
        if (!(end == '}' ? scan_member : scan_value)(scan, nested + 1))
            return false;
    while (take(scan, ','));
    return take(scan, end);
}

bool json_number(struct berth_str text, double *ret)
{
    char copy[64], *end;
    if (!text.len || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    double number = strtod(copy, &end);
    if (strspn(copy, "+-.0123456789eE") != text.len || *end || !isfinite(number))
        return false;
    *ret = number;
    return true;
}

static bool scan_word(struct scan *scan)
{
    const char *start = scan->at;
    double number;
    while (scan->at < scan->end && !memchr(",]} \t\r\n", *scan->at, 7))
        scan->at++;
    struct berth_str word = { start, (uint32_t)(scan->at - start) };
    if (berth_is(word, "null"))
        return true;
    if (!berth_is(word, "true") && !berth_is(word, "false") && !json_number(word, &number))
        return false;
    return scan->visit(scan->context, scan->keys, scan->depth, word, false);
}

static bool scan_value(struct scan *scan, uint32_t nested)
{
    struct berth_str text;
    char first = peek(scan);
    if (nested > 2 * JSON_SCAN_DEPTH_MAX)
        return false;
    if (first == '{' || first == '[') {
        scan->at++;
        return scan_items(scan, first == '{' ? '}' : ']', nested);
    }
    if (first == '"')
        return scan_text(scan, &text) && scan->visit(scan->context, scan->keys, scan->depth, text, true);
    return first && scan_word(scan);
}

bool json_scan(struct berth_str text, json_visit visit, void *context)
{
    struct scan scan = { .at = text.ptr, .end = text.ptr + text.len, .visit = visit, .context = context };
    return text.len && scan_value(&scan, 0) && !peek(&scan);
}
