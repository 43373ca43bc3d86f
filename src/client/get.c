/* get.c: see get.h. */
#include "client/get.h"

#include <yyjson.h>

#include "base/thread.h"
#include "client/api.h"

enum { BODY_BYTES_MAX = 256 << 20, WORDS_LEN_MAX = 300 };

struct wait {
    struct completion answered;
    int status;
    struct strbuf body;
    struct error error;
};

static void on_done(void *user, struct http_response *response)
{
    struct wait *wait = user;
    wait->status = response->status;
    wait->error = response->error;
    if (response->body) {
        wait->body = *response->body;
        *response->body = (struct strbuf){ 0 };
    }
    completion_done(&wait->answered);
}

/* What a Status says, or the first line of another answer; without what a terminal would obey. */
static void say_status(const struct wait *wait, struct error *err)
{
    char words[WORDS_LEN_MAX + 1] = "";
    yyjson_doc *doc = wait->body.len ? yyjson_read(wait->body.text, wait->body.len, 0) : NULL;
    yyjson_val *message = yyjson_obj_get(yyjson_doc_get_root(doc), "message");
    const char *text = yyjson_is_str(message) ? yyjson_get_str(message) : wait->body.text;
    size_t len = yyjson_is_str(message) ? yyjson_get_len(message) : wait->body.len;
    for (size_t i = 0; i < len && i < WORDS_LEN_MAX && (unsigned char)text[i] >= ' '; i++)
        words[i] = text[i];
    yyjson_doc_free(doc);
    error_set(err, -EACCES, "the answer is %d%s%s", wait->status, words[0] ? ": " : "", words);
}

static int ask(struct api *api, struct api_request request, struct strbuf *ret, struct error *err)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct wait wait = { 0 };
    request.accept = API_JSON;
    request.unlimited = true;
    request.body_bytes_max = BODY_BYTES_MAX;
    request.callbacks = &callbacks;
    request.user = &wait;
    completion_init(&wait.answered);
    int r = api_send(api, &request, NULL, err);
    if (r == 0)
        completion_wait(&wait.answered, INT64_MAX);
    completion_release(&wait.answered);
    if (r == 0 && wait.status == 0)
        r = error_set(err, -EIO, "%s", wait.error.text);
    if (r == 0 && wait.status != 200 && wait.status != 201) {
        say_status(&wait, err);
        r = -EACCES;
    }
    if (r == 0) {
        *ret = wait.body;
        return 0;
    }
    strbuf_release(&wait.body);
    return r;
}

int client_get_again(struct api *api, struct str path, int64_t timeout_ms, struct strbuf *ret,
                     struct error *err)
{
    return ask(api,
               (struct api_request){ .method = "GET", .path = path, .gzip = true, .timeout_ms = timeout_ms },
               ret, err);
}

int client_send(const struct kube_access *access, const char *method, struct str path,
                const char *content_type, struct str body, int64_t timeout_ms, struct strbuf *ret,
                struct error *err)
{
    struct api *api;
    int r = api_new(&(struct api_options){ .access = access, .qps = -1 }, &api, err);
    if (r < 0)
        return r;
    r = ask(api,
            (struct api_request){ .method = method,
                                  .path = path,
                                  .content_type = content_type,
                                  .body = body,
                                  .timeout_ms = timeout_ms },
            ret, err);
    api_free(api);
    return r;
}

int client_get(const struct kube_access *access, struct str path, int64_t timeout_ms, struct strbuf *ret,
               struct error *err)
{
    return client_send(access, "GET", path, NULL, (struct str){ 0 }, timeout_ms, ret, err);
}
