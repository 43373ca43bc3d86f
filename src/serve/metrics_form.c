/* metrics_form.c: Accept, and Accept-Encoding. What makes no sense there is passed over: every client gets a page. */
#include "serve/metrics_form.h"

#include "serve/negotiate.h"
#include "server/server_parse.h"

#define TEXT "text/plain; version=0.0.4; charset=utf-8; escaping="

/* The first one is for clients that do not say. */
static const struct {
    const char *escaping;
    struct str type;
} forms[] = {
    { "underscores", STR(TEXT "underscores") },
    { "allow-utf-8", STR(TEXT "allow-utf-8") },
    { "dots", STR(TEXT "dots") },
    { "values", STR(TEXT "values") },
};

struct str metrics_form_type(struct str accept)
{
    struct accept_clause clauses[ACCEPT_CLAUSES_MAX];
    size_t count = accept_parse(accept, clauses), form = 0;
    for (size_t i = 0; i < count; i++) {
        struct str escaping = accept_param(clauses[i].params, "escaping");
        struct str version = accept_param(clauses[i].params, "version");
        for (size_t j = 0; j < ARRAY_SIZE(forms); j++)
            if (str_is(escaping, forms[j].escaping))
                form = j;
        /* What comes after the text itself does not count any more. */
        if (str_is(clauses[i].type, "text") && str_is(clauses[i].subtype, "plain") &&
            (!version.len || str_is(version, "0.0.4")))
            break;
    }
    return forms[form].type;
}

/* "0" or "1" and a fraction; negative: something else. What follows is left in the text. */
static double take_quality(struct str *text)
{
    if (!text->len || (text->ptr[0] != '0' && text->ptr[0] != '1'))
        return -1;
    double quality = text->ptr[0] - '0', place = 0.1;
    uint32_t at = 1;
    if (at < text->len && text->ptr[at] == '.')
        for (at++; at < text->len && text->ptr[at] >= '0' && text->ptr[at] <= '9'; at++, place /= 10)
            quality += (text->ptr[at] - '0') * place;
    *text = str_slice(*text, at, text->len);
    return quality;
}

/* The next coding of a header's value, as "gzip;q=0.5". False: the rest of the value is nothing, or makes no sense. */
static bool next_coding(struct str *text, struct str *ret_name, double *ret_quality)
{
    struct str item = str_trim(str_cut(text, ','), " \t");
    uint32_t len = 0;
    while (len < item.len && (item.ptr[len] == '/' || parse_is_token((struct str){ item.ptr + len, 1 })))
        len++;
    *ret_name = str_slice(item, 0, len);
    *ret_quality = 1;
    item = str_trim(str_slice(item, len, item.len), " \t");
    if (str_starts_with(item, STR(";"))) {
        item = str_trim(str_slice(item, 1, item.len), " \t");
        if (!str_starts_with(item, STR("q=")))
            return false;
        item = str_slice(item, 2, item.len);
        *ret_quality = take_quality(&item);
    }
    if (item.len) /* what follows does not count */
        *text = (struct str){ 0 };
    return len && *ret_quality >= 0;
}

bool metrics_form_takes_gzip(const struct server_header *headers, size_t count)
{
    double plain = -1, gzip = -1;
    for (size_t i = 0; i < count; i++) {
        struct str text = headers[i].value;
        struct str name;
        double quality;
        if (!str_eq_fold(headers[i].name, STR("accept-encoding")))
            continue;
        while (next_coding(&text, &name, &quality)) {
            bool any = str_is(name, "*");
            if (any || str_is(name, "identity"))
                plain = MAX(plain, quality);
            if (any || str_is(name, "gzip"))
                gzip = MAX(gzip, quality);
        }
    }
    return gzip > 0 && gzip > plain;
}
