/* ui.c: see ui.h. The page may load scripts and styles of this server, ask this server, and nothing else: neither a
 * name in the cluster nor another site can make it do more. */
#include "serve/ui.h"

#include "report/assets.h"

#define INDEX "live/index.html"

const struct server_header ui_headers[UI_HEADERS] = {
    { STR("Content-Security-Policy"),
      STR("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'") },
    { STR("X-Content-Type-Options"), STR("nosniff") },
    { STR("Referrer-Policy"), STR("no-referrer") },
    { STR("Cross-Origin-Resource-Policy"), STR("same-origin") },
};

static const struct asset *asset_of(struct str path)
{
    struct str name = str_slice(path, sizeof(UI_PATH "/") - 1, path.len);
    return asset_find(name.len ? name : STR(INDEX));
}

static void redirect(struct serve_reply *reply)
{
    reply->status = 301;
    serve_reply_header(reply, "Location", STR("ui/")); /* relative: there may be a proxy in front */
}

void ui_show(const struct serve_request *request, struct serve_reply *reply)
{
    if (!str_is(request->method, "GET") && !str_is(request->method, "HEAD")) {
        serve_reply_error(reply, 405, "only GET");
        return;
    }
    if (str_is(request->path, UI_PATH)) {
        redirect(reply);
        return;
    }
    const struct asset *asset = asset_of(request->path);
    if (!asset) {
        serve_reply_error(reply, 404, "404 page not found");
        return;
    }
    serve_reply_header(reply, "Content-Type", str_from(asset->type));
    for (size_t i = 0; i < UI_HEADERS; i++)
        serve_reply_header(reply, ui_headers[i].name.ptr, ui_headers[i].value);
    strbuf_add(&reply->body, asset->text, asset->len);
    if (request->takes_gzip)
        serve_reply_gzip(reply);
}
