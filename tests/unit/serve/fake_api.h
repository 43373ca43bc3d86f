/* fake_api.h: an API server with a few tokens and rules, which counts its requests and can be slow or broken.
 *
 *     token "mon"      -> user mon, group system:monitoring, extra and uid
 *     token "bob"      -> user bob
 *     any other token  -> not authenticated, with an error; "plain-no": without one
 *     access           -> mon is allowed everything; "denied" is denied, "both" is allowed and denied */
#ifndef UNIT_SERVE_FAKE_API_H
#define UNIT_SERVE_FAKE_API_H

#include "unit/net/raw_client.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "server/server.h"

struct fake_api {
    struct server *server;
    atomic_int tokens, accesses, maps, watches;
    atomic_int fail; /* number of reviews to answer with `fail_status` */
    atomic_int fail_status;
    atomic_int delay_ms; /* of each review, until the server stops */
    atomic_int waiting;  /* reviews that are delayed */
    atomic_bool stopping;
    atomic_bool hide_map; /* 403 */
    pthread_mutex_t lock;
    struct strbuf map; /* the ConfigMap's JSON */
    struct strbuf last_access;
};

struct fake_answer {
    struct server *server;
    uint64_t id;
    int status;
    const char *text;
};

static inline void fake_respond(void *context)
{
    const struct fake_answer *answer = context;
    const struct server_header type = { STR("Content-Type"), STR("application/json") };
    server_respond(
        answer->server, answer->id,
        &(struct server_response){
            .status = answer->status, .headers = &type, .header_count = 1, .body = str_from(answer->text) });
}

static inline void fake_reply(struct fake_api *api, uint64_t id, int status, const char *text)
{
    loop_run_wait(server_loop(api->server), fake_respond,
                  &(struct fake_answer){ api->server, id, status, text });
}

static inline const char *fake_token(struct str body)
{
    if (str_contains(body, STR("\"token\":\"mon\"")))
        return "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"mon\",\"uid\":\"7\",\"groups\":"
               "[\"system:monitoring\",\"system:authenticated\"],\"extra\":{\"k\":[\"v\",\"w\"]}}}}";
    if (str_contains(body, STR("\"token\":\"bob\"")))
        return "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"bob\"}}}";
    if (str_contains(body, STR("\"token\":\"plain-no\"")))
        return "{\"status\":{\"authenticated\":false}}";
    if (str_contains(body, STR("\"token\":\"nonsense\"")))
        return "[1,2";
    return "{\"status\":{\"authenticated\":false,\"error\":\"no such token\"}}";
}

static inline const char *fake_access(struct str body)
{
    if (str_contains(body, STR("\"user\":\"mon\"")))
        return "{\"status\":{\"allowed\":true}}";
    if (str_contains(body, STR("\"path\":\"/denied\"")))
        return "{\"status\":{\"allowed\":false,\"denied\":true,\"reason\":\"because <so>\"}}";
    if (str_contains(body, STR("\"path\":\"/both\"")))
        return "{\"status\":{\"allowed\":true,\"denied\":true}}";
    return "{\"status\":{\"allowed\":false}}";
}

struct fake_later {
    struct fake_api *api;
    uint64_t id;
    const char *text;
    int delay_ms;
};

static inline void *fake_wait(void *user)
{
    struct fake_later *later = user;
    struct fake_api *api = later->api;
    for (int64_t until = now_ms() + later->delay_ms; now_ms() < until && !atomic_load(&api->stopping);)
        sleep_ms(5);
    fake_reply(api, later->id, 201, later->text);
    free(later);
    atomic_fetch_sub(&api->waiting, 1);
    return NULL;
}

static inline void fake_review(struct fake_api *api, uint64_t id, const char *text)
{
    int left = atomic_load(&api->fail);
    if (left > 0) {
        atomic_store(&api->fail, left - 1);
        fake_reply(api, id, atomic_load(&api->fail_status),
                   "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"out of "
                   "<order>\","
                   "\"code\":500}");
        return;
    }
    if (!atomic_load(&api->delay_ms)) {
        fake_reply(api, id, 201, text);
        return;
    }
    /* Counts first, then checks `stopping`; fake_api_stop() does the opposite. */
    atomic_fetch_add(&api->waiting, 1);
    if (atomic_load(&api->stopping)) {
        fake_reply(api, id, 201, text);
        atomic_fetch_sub(&api->waiting, 1);
        return;
    }
    struct fake_later *later = xcalloc(1, sizeof(*later));
    *later = (struct fake_later){ api, id, text, atomic_load(&api->delay_ms) };
    pthread_t thread;
    pthread_create(&thread, NULL, fake_wait, later);
    pthread_detach(thread);
}

static inline void fake_map(struct fake_api *api, uint64_t id)
{
    atomic_fetch_add(&api->maps, 1);
    if (atomic_load(&api->hide_map)) {
        fake_reply(api, id, 403,
                   "{\"kind\":\"Status\",\"message\":\"configmaps is forbidden\",\"code\":403}");
        return;
    }
    pthread_mutex_lock(&api->lock);
    fake_reply(api, id, 200, api->map.text);
    pthread_mutex_unlock(&api->lock);
}

static inline void fake_on_request(void *user, struct server_request *request)
{
    struct fake_api *api = user;
    if (str_ends_with(request->path, STR("/tokenreviews"))) {
        atomic_fetch_add(&api->tokens, 1);
        fake_review(api, request->id, fake_token(request->body));
    } else if (str_ends_with(request->path, STR("/subjectaccessreviews"))) {
        atomic_fetch_add(&api->accesses, 1);
        pthread_mutex_lock(&api->lock);
        strbuf_clear(&api->last_access);
        strbuf_str(&api->last_access, request->body);
        pthread_mutex_unlock(&api->lock);
        fake_review(api, request->id, fake_access(request->body));
    } else if (str_contains(request->query, STR("watch=true"))) {
        /* A watch with one event. */
        atomic_fetch_add(&api->watches, 1);
        fake_reply(api, request->id, atomic_load(&api->hide_map) ? 403 : 200,
                   "{\"type\":\"ADDED\",\"object\":{}}\n");
    } else {
        fake_map(api, request->id);
    }
    server_request_free(request);
}

static inline void fake_api_start(struct fake_api *api)
{
    *api = (struct fake_api){ 0 };
    pthread_mutex_init(&api->lock, NULL);
    atomic_store(&api->fail_status, 500);
    strbuf_puts(&api->map, "{\"data\":{}}");
    struct server_options options = { .address = "127.0.0.1", .on_request = fake_on_request, .user = api };
    struct error err;
    if (server_new(&options, &api->server, &err) < 0 || server_start(api->server, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void fake_api_stop(struct fake_api *api)
{
    atomic_store(&api->stopping, true);
    while (atomic_load(&api->waiting))
        sleep_ms(1);
    server_free(api->server);
    api->server = NULL;
    strbuf_release(&api->map);
    strbuf_release(&api->last_access);
    pthread_mutex_destroy(&api->lock);
}

/* Reads a file into a JSON string. */
static inline void fake_put_file(struct strbuf *out, const char *dir, const char *name)
{
    char path[512], line[256];
    FILE *file = fopen(in_folder(dir, name, path), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        strbuf_add(out, line, strcspn(line, "\n"));
        strbuf_puts(out, "\\n");
    }
    fclose(file);
}

/* The ConfigMap: the CAs of clients and of front proxies. */
static inline void fake_api_trust(struct fake_api *api, const char *dir, const char *client_ca,
                                  const char *proxy_ca)
{
    pthread_mutex_lock(&api->lock);
    strbuf_clear(&api->map);
    strbuf_puts(&api->map, "{\"kind\":\"ConfigMap\",\"data\":{\"client-ca-file\":\"");
    fake_put_file(&api->map, dir, client_ca);
    strbuf_puts(&api->map, "\",\"requestheader-client-ca-file\":\"");
    fake_put_file(&api->map, dir, proxy_ca);
    strbuf_puts(&api->map, "\",\"requestheader-allowed-names\":\"[\\\"front-proxy\\\"]\","
                           "\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\","
                           "\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\","
                           "\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\"]\"}}");
    pthread_mutex_unlock(&api->lock);
}

/* A kubeconfig for this server. */
static inline void fake_api_kubeconfig(const struct fake_api *api, const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(
        file,
        "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: \"http://127.0.0.1:%d\"}\n"
        "users:\n- name: u\n  user: {}\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n"
        "current-context: x\n",
        server_port(api->server));
    fclose(file);
}

#endif
