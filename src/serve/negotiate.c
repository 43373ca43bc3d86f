/* negotiate.c: Accept, and the objects that answer to it. */
#include "serve/negotiate.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec/yaml_writer.h"

/* Passes over what is not "name=value". */
static bool next_param(struct str *params, struct str *ret_name, struct str *ret_value)
{
    while (params->len) {
        struct str value = str_cut(params, ';'), name = str_cut(&value, '=');
        if (!value.len || str_find(value, '=') >= 0)
            continue;
        *ret_name = str_trim(name, " ");
        *ret_value = value;
        return true;
    }
    return false;
}

struct str accept_param(struct str params, const char *name)
{
    struct str key, value, found = { 0 };
    while (next_param(&params, &key, &value))
        if (str_is(key, name))
            found = str_trim(value, " ");
    return found;
}

static double quality(struct str params)
{
    struct str name, value;
    double q = 1;
    while (next_param(&params, &name, &value)) {
        char number[32], *end;
        if (!str_is(name, "q"))
            continue;
        snprintf(number, sizeof(number), STR_FMT, STR_ARG(value));
        q = strtod(number, &end);
        if (number[0] == ' ' || *end)
            q = 0;
    }
    return q;
}

/* Before the others: better quality, or what is said more exactly, whatever its quality. */
static bool comes_before(const struct accept_clause *a, const struct accept_clause *b)
{
    bool star_a = str_is(a->type, "*"), star_b = str_is(b->type, "*");
    bool sub_a = str_is(a->subtype, "*"), sub_b = str_is(b->subtype, "*");
    return a->q > b->q || (!star_a && star_b) || (!sub_a && sub_b);
}

size_t accept_parse(struct str accept, struct accept_clause clauses[ACCEPT_CLAUSES_MAX])
{
    size_t count = 0;
    while (accept.len && count < ACCEPT_CLAUSES_MAX) {
        struct str params = str_trim(str_cut(&accept, ','), " "), type = str_cut(&params, ';');
        struct accept_clause clause = { .params = params, .q = quality(params) };
        struct str subtype = str_trim(type, " ");
        clause.type = str_trim(str_cut(&subtype, '/'), " ");
        clause.subtype = str_trim(subtype, " ");
        if (str_is(clause.type, "*") && !clause.subtype.len)
            clause.subtype = STR("*");
        if (!clause.subtype.len || str_find(clause.subtype, '/') >= 0)
            continue;
        size_t at = count++;
        for (; at > 0 && comes_before(&clause, &clauses[at - 1]); at--)
            clauses[at] = clauses[at - 1];
        clauses[at] = clause;
    }
    return count;
}

static const struct {
    const char *type, *subtype, *text;
} medias[] = {
    [MEDIA_NONE] = { "application", "json", "application/json" },
    [MEDIA_JSON] = { "application", "json", "application/json" },
    [MEDIA_YAML] = { "application", "yaml", "application/yaml" },
    [MEDIA_TEXT] = { "text", "plain", "text/plain" },
};

static bool matches(const struct accept_clause *clause, enum media media)
{
    if (str_is(clause->type, "*"))
        return str_is(clause->subtype, "*");
    return str_is(clause->type, medias[media].type) &&
           (str_is(clause->subtype, "*") || str_is(clause->subtype, medias[media].subtype));
}

/* False: it asks for something that does not exist. */
static bool read_params(struct str params, struct negotiated *ret)
{
    struct str name, value;
    while (next_param(&params, &name, &value)) {
        value = str_trim(value, " ");
        if (str_is(name, "as"))
            ret->convert.kind = value;
        else if (str_is(name, "g"))
            ret->convert.group = value;
        else if (str_is(name, "v"))
            ret->convert.version = value;
        else if (str_is(name, "pretty"))
            ret->pretty = ret->pretty || str_is(value, "1");
        else if ((str_is(name, "stream") || str_is(name, "sv")) && value.len)
            return false;
    }
    return true;
}

bool negotiate_plainly(void *user _unused_, enum media media _unused_, const struct convert *convert)
{
    return !convert->group.len && !convert->version.len && !convert->kind.len;
}

/* Browsers and command line clients get it indented, unless they say. */
static bool is_for_people(const struct serve_request *request)
{
    struct str agent = request->user_agent, pretty;
    if (serve_query(request->query, "pretty", request->arena, &pretty) && pretty.len)
        return str_is(pretty, "1") || str_is(pretty, "t") || str_is(pretty, "T") || str_is(pretty, "true") ||
               str_is(pretty, "TRUE") || str_is(pretty, "True");
    return str_starts_with(agent, STR("curl")) || str_starts_with(agent, STR("Wget")) ||
           str_starts_with(agent, STR("Mozilla/5.0"));
}

struct negotiated negotiate(const struct serve_request *request, const enum media *offered, size_t count,
                            media_allows allows, void *user)
{
    bool pretty = is_for_people(request);
    if (!request->accept.len)
        return (struct negotiated){ .media = offered[0], .pretty = pretty };
    struct accept_clause clauses[ACCEPT_CLAUSES_MAX];
    size_t clause_count = accept_parse(request->accept, clauses);
    for (size_t i = 0; i < clause_count; i++)
        for (size_t j = 0; j < count; j++) {
            struct negotiated found = { .media = offered[j], .pretty = pretty };
            if (matches(&clauses[i], offered[j]) && read_params(clauses[i].params, &found) &&
                allows(user, offered[j], &found.convert))
                return found;
        }
    return (struct negotiated){ .media = MEDIA_NONE };
}

/* As encoding/json writes for the web: these three bytes occur in strings only. */
static void escape_html(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '&' || text[i] == '<' || text[i] == '>')
            strbuf_printf(out, "\\u%04x", text[i]);
        else
            strbuf_putc(out, text[i]);
    }
}

void reply_object(struct serve_reply *reply, const struct negotiated *how, yyjson_mut_doc *doc)
{
    bool is_yaml = how->media == MEDIA_YAML, pretty = !is_yaml && (how->pretty || how->media == MEDIA_NONE);
    size_t len = 0;
    char *text = yyjson_mut_write(doc, pretty ? YYJSON_WRITE_PRETTY_TWO_SPACES : 0, &len);
    if (text && is_yaml)
        yaml_write(&reply->body, (struct str){ text, (uint32_t)len });
    else if (text)
        escape_html(&reply->body, text, len);
    if (!pretty && !is_yaml)
        strbuf_putc(&reply->body, '\n');
    free(text);
}

void reply_status(struct serve_reply *reply, const struct serve_request *request, int code,
                  const char *reason, struct str message, bool details)
{
    static const enum media offered[] = { MEDIA_JSON, MEDIA_YAML };
    struct negotiated how = negotiate(request, offered, ARRAY_SIZE(offered), negotiate_plainly, NULL);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "Status");
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "v1");
    yyjson_mut_obj_add_val(doc, root, "metadata", yyjson_mut_obj(doc));
    yyjson_mut_obj_add_str(doc, root, "status", "Failure");
    yyjson_mut_obj_add_strncpy(doc, root, "message", message.ptr ? message.ptr : "", message.len);
    yyjson_mut_obj_add_str(doc, root, "reason", reason);
    if (details)
        yyjson_mut_obj_add_val(doc, root, "details", yyjson_mut_obj(doc));
    yyjson_mut_obj_add_int(doc, root, "code", code);
    reply->status = code;
    serve_reply_header(reply, "Content-Type", str_from(medias[how.media].text));
    reply_object(reply, &how, doc);
    yyjson_mut_doc_free(doc);
}
