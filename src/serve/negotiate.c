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

static bool is_offered(const struct negotiated *found, const char *kind)
{
    const struct convert *convert = &found->convert;
    if (!kind || found->media == MEDIA_TEXT)
        return !convert->group.len && !convert->version.len && !convert->kind.len;
    return str_is(convert->kind, kind) && str_is(convert->group, CONVERT_GROUP) &&
           (str_is(convert->version, "v1beta1") || str_is(convert->version, "v1alpha1"));
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
                            const char *kind)
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
                is_offered(&found, kind))
                return found;
        }
    return (struct negotiated){ .media = MEDIA_NONE };
}

enum json_style reply_style(const struct negotiated *how)
{
    bool pretty = how->media != MEDIA_YAML && (how->pretty || how->media == MEDIA_NONE);
    return pretty ? JSON_PRETTY : JSON_COMPACT;
}

void reply_object(struct serve_reply *reply, const struct negotiated *how, struct str json)
{
    if (how->media == MEDIA_YAML) {
        yaml_write(&reply->body, json);
        return;
    }
    /* As encoding/json writes for the web: these three bytes occur in strings only. */
    for (uint32_t i = 0; i < json.len; i++) {
        if (strchr("&<>", json.ptr[i]))
            strbuf_printf(&reply->body, "\\u%04x", json.ptr[i]);
        else
            strbuf_putc(&reply->body, json.ptr[i]);
    }
    if (reply_style(how) == JSON_COMPACT)
        strbuf_putc(&reply->body, '\n');
}

void reply_status(struct serve_reply *reply, const struct serve_request *request, int code,
                  const char *reason, struct str message, bool details)
{
    static const enum media offered[] = { MEDIA_JSON, MEDIA_YAML };
    struct negotiated how = negotiate(request, offered, ARRAY_SIZE(offered), NULL);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct json_writer json = json_writer(&text, reply_style(&how));
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("Status"));
    json_member_str(&json, "apiVersion", STR("v1"));
    json_member_object(&json, "metadata");
    json_end_object(&json);
    json_member_str(&json, "status", STR("Failure"));
    json_member_str(&json, "message", message);
    json_member_str(&json, "reason", str_from(reason));
    if (details) {
        json_member_object(&json, "details");
        json_end_object(&json);
    }
    json_member_int(&json, "code", code);
    json_end_object(&json);
    reply->status = code;
    serve_reply_header(reply, "Content-Type", str_from(medias[how.media].text));
    reply_object(reply, &how, strbuf_slice(&text));
}
