/* extender.c: see extender.h. All extenders share one client of net/http, that is one thread. */
#include "extender/extender.h"

#include <stdlib.h>

#include "config/config.h"
#include "extender/ask.h"
#include "extender/call.h"
#include "extender/reply.h"

enum { IN_FLIGHT_MAX = 256, PENDING_MAX = 1 << 16, CONNECT_MS = 30000, TIMEOUT_MS_DEFAULT = 5000 };
static const int64_t NS_PER_MS = 1000000;

struct http_extender {
    struct extender base;
    struct http_extenders *all;
    const struct extender_config *config;
    struct call_target target;
    struct call score;        /* between begin and end */
    struct error score_error; /* why there is none */
    bool scoring;
};

struct http_extenders {
    struct http_extenders_options options;
    struct http_client *client;
    struct extenders table;
    struct arena arena;
};

static struct http_extender *self_of(struct extender *extender)
{
    return container_of(extender, struct http_extender, base);
}

static void put_url(struct strbuf *out, const struct extender_config *config, struct str verb)
{
    struct str prefix = config->url_prefix;
    while (prefix.len && prefix.ptr[prefix.len - 1] == '/')
        prefix.len--;
    strbuf_printf(out, STR_FMT "/" STR_FMT, STR_ARG(prefix), STR_ARG(verb));
}

static void begin(struct http_extender *self, struct call *call, struct str verb, struct strbuf *question)
{
    struct strbuf url = { 0 };
    put_url(&url, self->config, verb);
    call_begin(call, &self->target, &url, question);
}

/* Texts of the configuration end with a zero. */
static int end(struct http_extender *self, struct call *call, struct str verb, struct cycle *cycle,
               struct reply *ret, struct error *err)
{
    *ret = (struct reply){ .extender = self->base.name, .cycle = cycle };
    return call_end(call, verb.ptr, &ret->text, err);
}

/* ---- questions ---- */
static int filter(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                  struct extender_filtered *ret, struct error *err)
{
    struct http_extender *self = self_of(extender);
    struct str verb = self->config->filter_verb;
    _cleanup_(strbuf_release) struct strbuf question = { 0 };
    struct call call;
    struct reply reply;
    int r = ask_nodes(&question, cycle, nodes, self->config->node_cache_capable, err);
    if (r < 0)
        return r;
    begin(self, &call, verb, &question);
    r = end(self, &call, verb, cycle, &reply, err);
    if (r == 0)
        r = reply_filter(&reply, self->config->node_cache_capable, nodes, ret, err);
    call_release(&call);
    return r;
}

static void begin_score(struct extender *extender, struct cycle *cycle, struct row_list nodes)
{
    struct http_extender *self = self_of(extender);
    _cleanup_(strbuf_release) struct strbuf question = { 0 };
    self->scoring =
        ask_nodes(&question, cycle, nodes, self->config->node_cache_capable, &self->score_error) == 0;
    if (self->scoring)
        begin(self, &self->score, self->config->prioritize_verb, &question);
}

static int end_score(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                     struct extender_scores *ret, struct error *err)
{
    struct http_extender *self = self_of(extender);
    struct reply reply;
    (void)nodes;
    if (!self->scoring)
        return error_set(err, -EINVAL, "%s", self->score_error.text);
    int r = end(self, &self->score, self->config->prioritize_verb, cycle, &reply, err);
    if (r == 0)
        r = reply_score(&reply, ret, err);
    call_release(&self->score);
    self->scoring = false;
    return r;
}

static int preempt(struct extender *extender, struct cycle *cycle, const struct preempt_candidate *candidates,
                   uint32_t len, struct preempt_candidate **ret, uint32_t *ret_len, struct error *err)
{
    struct http_extender *self = self_of(extender);
    struct str verb = self->config->preempt_verb;
    _cleanup_(strbuf_release) struct strbuf question = { 0 };
    struct call call;
    struct reply reply;
    int r = ask_preempt(&question, cycle, candidates, len, self->config->node_cache_capable, err);
    if (r < 0)
        return r;
    begin(self, &call, verb, &question);
    r = end(self, &call, verb, cycle, &reply, err);
    if (r == 0)
        r = reply_preempt(&reply, ret, ret_len, err);
    call_release(&call);
    return r;
}

/* ---- bind ---- */
struct bind {
    struct http_extender *self;
    uint64_t ticket;
    struct strbuf url;
};

static void bind_free(struct bind *bind)
{
    strbuf_release(&bind->url);
    free(bind);
}

static void tell(struct bind *bind, const struct error *problem)
{
    const struct http_extenders_options *options = &bind->self->all->options;
    options->on_answer(options->user, bind->ticket,
                       &(struct answer){ .kind = problem ? ANSWER_REFUSED : ANSWER_DONE,
                                         .message = problem ? str_from(problem->text) : STR("") });
}

static void bind_done(void *user, struct http_response *response)
{
    struct bind *bind = user;
    struct arena arena = { 0 };
    struct str message = STR("");
    struct error err;
    int r = call_verdict(bind->self->config->bind_verb.ptr, bind->url.text, response->outcome,
                         response->status, &response->error, &err);
    if (r == 0)
        r = reply_bind(strbuf_slice(response->body), &arena, &message, &err);
    if (r == 0 && message.len)
        r = error_set(&err, -EREMOTEIO, STR_FMT, STR_ARG(message));
    tell(bind, r < 0 ? &err : NULL);
    arena_release(&arena);
    bind_free(bind);
}

static bool bind_may_leave(void *user)
{
    const struct http_extenders_options *options = &((struct bind *)user)->self->all->options;
    return !options->may_bind || options->may_bind(options->user);
}

static void bind_pod(struct extender *extender, const struct effect *effect)
{
    static const struct http_header headers[] = { { "Content-Type", "application/json" } };
    static const struct http_callbacks callbacks = { .on_done = bind_done };
    struct http_extender *self = self_of(extender);
    struct bind *bind = xcalloc(1, sizeof(*bind));
    _cleanup_(strbuf_release) struct strbuf question = { 0 };
    struct error err;
    *bind = (struct bind){ .self = self, .ticket = effect->ticket };
    put_url(&bind->url, self->config, self->config->bind_verb);
    ask_bind(&question, effect);
    const struct http_request request = {
        .method = "POST",
        .url = bind->url.text,
        .headers = headers,
        .header_count = ARRAY_SIZE(headers),
        .body = strbuf_slice(&question),
        .tls = self->target.tls,
        .timeout_ms = self->target.timeout_ms,
        .body_bytes_max = call_answer_bytes_max(question.len),
        .may_leave = bind_may_leave,
        .callbacks = &callbacks,
        .user = bind,
    };
    if (http_send(self->all->client, &request, NULL, &err) == 0)
        return;
    tell(bind, &err);
    bind_free(bind);
}

static const struct extender_calls calls = { filter, begin_score, end_score, preempt, bind_pod };

/* ---- life ---- */
/* Without an authority to trust, everybody is believed: that is what enableHTTPS means. */
static int make_tls(const struct extender_config *config, struct tls_config **ret, struct error *err)
{
    const struct extender_tls_config *given = config->tls;
    struct tls_options options = { 0 };
    if (!given && !config->enable_https)
        return 0;
    if (given)
        options = (struct tls_options){ .ca_file = given->ca_file.len ? given->ca_file.ptr : NULL,
                                        .cert_file = given->cert_file.len ? given->cert_file.ptr : NULL,
                                        .key_file = given->key_file.len ? given->key_file.ptr : NULL,
                                        .ca_data = given->ca_data,
                                        .cert_data = given->cert_data,
                                        .key_data = given->key_data,
                                        .server_name = given->server_name.len ? given->server_name.ptr : NULL,
                                        .insecure = given->insecure };
    options.insecure |= config->enable_https && !options.ca_file && !options.ca_data.len;
    return tls_config_new(&options, ret, err);
}

static int64_t timeout_ms(const struct extender_config *config)
{
    if (config->http_timeout_ns <= 0)
        return TIMEOUT_MS_DEFAULT;
    return MAX(config->http_timeout_ns / NS_PER_MS, 1);
}

static int add(struct http_extenders *all, const struct extender_config *config, struct error *err)
{
    struct http_extender *self = arena_new(&all->arena, struct http_extender);
    *self = (struct http_extender){
        .base = { .calls = &calls,
                  .name = config->url_prefix,
                  .filters = config->filter_verb.len,
                  .prioritizes = config->prioritize_verb.len,
                  .preempts = config->preempt_verb.len,
                  .binds = config->bind_verb.len,
                  .ignorable = config->ignorable,
                  .weight = config->weight,
                  .managed = config->managed_resources.items,
                  .managed_len = config->managed_resources.len },
        .all = all,
        .config = config,
        .target = { .client = all->client, .timeout_ms = timeout_ms(config) },
    };
    all->table.items[all->table.len++] = &self->base;
    return make_tls(config, &self->target.tls, err);
}

int http_extenders_new(const struct http_extenders_options *options, struct http_extenders **ret,
                       struct error *err)
{
    const struct scheduler_config *config = options->config;
    *ret = NULL;
    if (!config->extenders.len)
        return 0;
    struct http_extenders *all = xcalloc(1, sizeof(*all));
    all->options = *options;
    all->table.items = arena_array(&all->arena, struct extender *, config->extenders.len);
    int r = http_client_new(&(struct http_options){ .in_flight_max = IN_FLIGHT_MAX,
                                                    .pending_max = PENDING_MAX,
                                                    .connect_ms = CONNECT_MS },
                            &all->client, err);
    for (uint32_t i = 0; i < config->extenders.len && r == 0; i++)
        r = add(all, &config->extenders.items[i], err);
    if (r < 0) {
        error_prefix(err, "couldn't build extenders");
        http_extenders_free(all);
        return r;
    }
    *ret = all;
    return 0;
}

void http_extenders_free(struct http_extenders *all)
{
    if (!all)
        return;
    http_client_free(all->client);
    for (uint32_t i = 0; i < all->table.len; i++)
        tls_config_unref(self_of(all->table.items[i])->target.tls);
    arena_release(&all->arena);
    free(all);
}

const struct extenders *http_extenders_table(const struct http_extenders *all)
{
    return all ? &all->table : NULL;
}

uint64_t extenders_whole_kinds(const struct scheduler_config *config)
{
    uint64_t kinds = 0;
    list_for(&config->extenders, extender) {
        bool looks = extender->filter_verb.len || extender->prioritize_verb.len;
        if (looks || extender->preempt_verb.len)
            kinds |= (uint64_t)1 << KIND_POD;
        if (looks && !extender->node_cache_capable)
            kinds |= (uint64_t)1 << KIND_NODE;
    }
    return kinds;
}
