/* zpages.c: the same facts as plain text for people, or as an object of config.k8s.io for clients that ask for one. */
#include "serve/zpages.h"

#include <stdio.h>
#include <time.h>

#define COMPONENT "kube-scheduler"
#define GROUP "config.k8s.io"

static const enum media offered[] = { MEDIA_JSON, MEDIA_YAML, MEDIA_TEXT };

/* Text is the page itself, anything else one of these kinds. */
static bool allows(void *user, enum media media, const struct convert *convert)
{
    if (media == MEDIA_TEXT)
        return negotiate_plainly(NULL, media, convert);
    return str_is(convert->kind, user) && str_is(convert->group, GROUP) &&
           (str_is(convert->version, "v1beta1") || str_is(convert->version, "v1alpha1"));
}

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
    *ret = negotiate(request, offered, ARRAY_SIZE(offered), allows, (void *)kind);
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

static yyjson_mut_doc *begin_object(const struct negotiated *how, const char *page, struct arena *arena,
                                    struct serve_reply *reply)
{
    struct str type = arena_printf(arena, "%s;g=" GROUP ";v=" STR_FMT ";as=" STR_FMT,
                                   how->media == MEDIA_YAML ? "application/yaml" : "application/json",
                                   STR_ARG(how->convert.version), STR_ARG(how->convert.kind));
    serve_reply_header(reply, "Content-Type", type);
    if (str_is(how->convert.version, "v1alpha1"))
        serve_reply_header(reply, "Warning",
                           arena_printf(arena,
                                        "299 - \"This version of the %s endpoint is deprecated. Please use a "
                                        "newer version.\"",
                                        page));
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *metadata = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_strncpy(doc, root, "kind", how->convert.kind.ptr, how->convert.kind.len);
    struct str version = arena_printf(arena, GROUP "/" STR_FMT, STR_ARG(how->convert.version));
    yyjson_mut_obj_add_strncpy(doc, root, "apiVersion", version.ptr, version.len);
    yyjson_mut_obj_add_str(doc, metadata, "name", COMPONENT);
    yyjson_mut_obj_add_val(doc, root, "metadata", metadata);
    return doc;
}

static yyjson_mut_val *text_val(yyjson_mut_doc *doc, struct str text)
{
    return yyjson_mut_strn(doc, text.ptr ? text.ptr : "", text.len);
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
    yyjson_mut_doc *doc = begin_object(&how, "flagz", request->arena, reply);
    yyjson_mut_val *flags = yyjson_mut_obj(doc);
    for (uint32_t i = 0; i < zpages->flags.len; i++)
        yyjson_mut_obj_add(flags, text_val(doc, zpages->flags.items[i].key),
                           text_val(doc, zpages->flags.items[i].value));
    yyjson_mut_obj_add_val(doc, yyjson_mut_doc_get_root(doc), "flags", flags);
    reply_object(reply, &how, doc);
    yyjson_mut_doc_free(doc);
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
    yyjson_mut_doc *doc = begin_object(&how, "statusz", request->arena, reply);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *paths = yyjson_mut_arr(doc);
    time_t started = (time_t)zpages->started_s;
    struct tm tm;
    char when[32];
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&started, &tm));
    yyjson_mut_obj_add_strcpy(doc, root, "startTime", when);
    yyjson_mut_obj_add_sint(doc, root, "uptimeSeconds", up_s);
    yyjson_mut_obj_add_str(doc, root, "goVersion", "none");
    yyjson_mut_obj_add_val(doc, root, "binaryVersion", text_val(doc, zpages->version));
    yyjson_mut_obj_add_val(doc, root, "emulationVersion", text_val(doc, zpages->emulated));
    for (uint32_t i = 0; i < zpages->paths.len; i++)
        yyjson_mut_arr_append(paths, text_val(doc, zpages->paths.items[i]));
    yyjson_mut_obj_add_val(doc, root, "paths", paths);
    reply_object(reply, &how, doc);
    yyjson_mut_doc_free(doc);
}
