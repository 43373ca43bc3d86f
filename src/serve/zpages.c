/* zpages.c: the same facts as plain text for people, or as an object of config.k8s.io for clients that ask for one. */
#include "serve/zpages.h"

#include <stdio.h>
#include <time.h>

#define COMPONENT "kube-scheduler"

static const enum media offered[] = { MEDIA_JSON, MEDIA_YAML, MEDIA_TEXT };

static void begin_text(struct serve_reply *reply, const char *page)
{
    serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    strbuf_printf(&reply->body,
                  "\n" COMPONENT
                  " %s\nWarning: This endpoint is not meant to be machine parseable, has no formatting "
                  "compatibility guarantees and is for debugging purposes only.\n",
                  page);
}

/* Settles on a form. False: the reply says that there is none. */
static bool settle(const struct serve_request *request, const char *kind, struct serve_reply *reply,
                   struct negotiated *ret)
{
    *ret = negotiate(request, offered, ARRAY_SIZE(offered), kind);
    if (!request->accept.len)
        ret->media = MEDIA_TEXT;
    if (ret->media != MEDIA_NONE)
        return true;
    reply_status(
        reply, request, 406, "NotAcceptable",
        STR("only the following media types are accepted: application/json, application/yaml, text/plain"),
        false);
    return false;
}

static struct json_writer begin_object(const struct negotiated *how, const char *page, struct arena *arena,
                                       struct serve_reply *reply, struct strbuf *out)
{
    struct str kind = how->convert.kind, version = how->convert.version;
    serve_reply_header(reply, "Content-Type",
                       arena_printf(arena, "%s;g=" CONVERT_GROUP ";v=" STR_FMT ";as=" STR_FMT,
                                    how->media == MEDIA_YAML ? "application/yaml" : "application/json",
                                    STR_ARG(version), STR_ARG(kind)));
    if (str_is(version, "v1alpha1"))
        serve_reply_header(reply, "Warning",
                           arena_printf(arena,
                                        "299 - \"This version of the %s endpoint is deprecated. Please use a "
                                        "newer version.\"",
                                        page));
    struct json_writer json = json_writer(out, reply_style(how));
    json_begin_object(&json);
    json_member_str(&json, "kind", kind);
    json_member_str(&json, "apiVersion", arena_printf(arena, CONVERT_GROUP "/" STR_FMT, STR_ARG(version)));
    json_member_object(&json, "metadata");
    json_member_str(&json, "name", STR(COMPONENT));
    json_end_object(&json);
    return json;
}

void zpages_flagz(const struct zpages *zpages, const struct serve_request *request, struct serve_reply *reply)
{
    struct negotiated how;
    if (!settle(request, "Flagz", reply, &how))
        return;
    if (how.media == MEDIA_TEXT) {
        begin_text(reply, "flagz");
        for (uint32_t i = 0; i < zpages->flags.len; i++)
            strbuf_printf(&reply->body, STR_FMT ":" STR_FMT "\n", STR_ARG(zpages->flags.items[i].key),
                          STR_ARG(zpages->flags.items[i].value));
        return;
    }
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct json_writer json = begin_object(&how, "flagz", request->arena, reply, &text);
    json_member_object(&json, "flags");
    for (uint32_t i = 0; i < zpages->flags.len; i++)
        json_member_str(&json, zpages->flags.items[i].key.ptr, zpages->flags.items[i].value);
    json_end_object(&json);
    json_end_object(&json);
    reply_object(reply, &how, strbuf_slice(&text));
}

static void statusz_text(const struct zpages *zpages, int64_t up_s, struct serve_reply *reply)
{
    time_t started = (time_t)zpages->started_s;
    struct tm tm;
    char when[64] = "";
    strftime(when, sizeof(when), "%a %b %e %H:%M:%S %Z %Y", localtime_r(&started, &tm));
    begin_text(reply, "statusz");
    strbuf_printf(&reply->body, "\nStarted: %s\nUp: %lld hr %02lld min %02lld sec\nGo version: none\n", when,
                  (long long)up_s / 3600, (long long)up_s / 60 % 60, (long long)up_s % 60);
    strbuf_printf(&reply->body, "Binary version: " STR_FMT "\nEmulation version: " STR_FMT "\nPaths:",
                  STR_ARG(zpages->version), STR_ARG(zpages->emulated));
    for (uint32_t i = 0; i < zpages->paths.len; i++)
        strbuf_printf(&reply->body, " " STR_FMT, STR_ARG(zpages->paths.items[i]));
    strbuf_putc(&reply->body, '\n');
}

void zpages_statusz(const struct zpages *zpages, const struct serve_request *request,
                    struct serve_reply *reply)
{
    struct negotiated how;
    int64_t up_s = MAX((int64_t)time(NULL) - zpages->started_s, 0);
    if (!settle(request, "Statusz", reply, &how))
        return;
    if (how.media == MEDIA_TEXT) {
        statusz_text(zpages, up_s, reply);
        return;
    }
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct json_writer json = begin_object(&how, "statusz", request->arena, reply, &text);
    time_t started = (time_t)zpages->started_s;
    struct tm tm;
    char when[32];
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&started, &tm));
    json_member_str(&json, "startTime", str_from(when));
    json_member_int(&json, "uptimeSeconds", up_s);
    json_member_str(&json, "goVersion", STR("none"));
    json_member_str(&json, "binaryVersion", zpages->version);
    json_member_str(&json, "emulationVersion", zpages->emulated);
    json_member_strs(&json, "paths", zpages->paths.items, zpages->paths.len);
    json_end_object(&json);
    reply_object(reply, &how, strbuf_slice(&text));
}
