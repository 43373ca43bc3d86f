/* metrics_form.c: Accept, and Accept-Encoding. Whatever makes no sense there is passed over, so that everybody gets a
 * page. */
#include "serve/metrics_form.h"

#include "serve/negotiate.h"
#include "server/server_parse.h"

#define TEXT "text/plain; version=0.0.4; charset=utf-8; escaping="

/* The first one is for who does not say. */
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

static void skip_space(struct str *text)
{
    while (text->len && (text->ptr[0] == ' ' || text->ptr[0] == '\t'))
        *text = str_slice(*text, 1, text->len);
}

/* Steps over the character; false: it is not there. */
static bool skip(struct str *text, char c)
{
    if (!text->len || text->ptr[0] != c)
        return false;
    *text = str_slice(*text, 1, text->len);
    return true;
}

/* A name, or nothing. */
static struct str take_name(struct str *text)
{
    uint32_t len = 0;
    while (len < text->len && (text->ptr[len] == '/' || parse_is_token((struct str){ text->ptr + len, 1 })))
        len++;
    struct str name = str_slice(*text, 0, len);
    *text = str_slice(*text, len, text->len);
    return name;
}

/* "0", "1", and a fraction; negative: something else. */
static double take_quality(struct str *text)
{
    double quality = skip(text, '1') ? 1 : skip(text, '0') ? 0 : -1;
    if (quality < 0 || !skip(text, '.'))
        return quality;
    for (double place = 0.1; text->len && text->ptr[0] >= '0' && text->ptr[0] <= '9'; place /= 10) {
        quality += (text->ptr[0] - '0') * place;
        *text = str_slice(*text, 1, text->len);
    }
    return quality;
}

struct wish {
    struct str name;
    double quality;
};

/* The next one of a header's value. False: the rest of the value is nothing, or makes no sense. */
static bool next_wish(struct str *text, struct wish *ret)
{
    *ret = (struct wish){ take_name(text), 1 };
    if (!ret->name.len)
        return false;
    skip_space(text);
    if (skip(text, ';')) {
        skip_space(text);
        if (!skip(text, 'q') || !skip(text, '=') || (ret->quality = take_quality(text)) < 0)
            return false;
        skip_space(text);
    }
    if (skip(text, ','))
        skip_space(text);
    else
        *text = (struct str){ 0 };
    return true;
}

bool metrics_form_takes_gzip(const struct server_header *headers, size_t count)
{
    double plain = -1, gzip = -1;
    for (size_t i = 0; i < count; i++) {
        struct str text = headers[i].value;
        struct wish wish;
        if (!str_eq_fold(headers[i].name, STR("accept-encoding")))
            continue;
        while (next_wish(&text, &wish)) {
            bool any = str_is(wish.name, "*");
            if (any || str_is(wish.name, "identity"))
                plain = MAX(plain, wish.quality);
            if (any || str_is(wish.name, "gzip"))
                gzip = MAX(gzip, wish.quality);
        }
    }
    return gzip > 0 && gzip > plain;
}
