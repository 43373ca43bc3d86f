/* extender.c: see extender.h. Each extender has an HTTP client of its own: one that does not answer delays its own
 * requests only. */
#include "extender/extender.h"

#include <stdlib.h>

#include "config/config.h"
#include "extender/args.h"
#include "extender/pending.h"
#include "extender/reply.h"

enum { IN_FLIGHT_MAX = 256, PENDING_MAX = 1 << 16, CONNECT_MS = 30000, TIMEOUT_MS_DEFAULT = 5000 };
static const int64_t TIMEOUT_MS_MAX = (int64_t)365 * 24 * 3600 * 1000;

const char *const extender_verb_names[] = { "filter", "prioritize", "preempt", "bind" };

struct http_extender {
    struct extender base;
    struct http_extenders *all;
    const struct extender_config *config;
    struct extender_target target;
    struct pending_request request; /* that the core thread waits for, or will */
};

struct http_extenders {
    struct http_extenders_options options;
    struct pending_requests *pending, *own_pending;
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

/* Texts of the configuration end with a zero. */
static struct round_trip round_trip_to(struct http_extender *self, enum extender_verb verb,
                                       struct strbuf *body)
{
    const struct extender_config *config = self->config;
    const struct str verbs[] = { [EXTENDER_FILTER] = config->filter_verb,
                                 [EXTENDER_PRIORITIZE] = config->prioritize_verb,
                                 [EXTENDER_PREEMPT] = config->preempt_verb,
                                 [EXTENDER_BIND] = config->bind_verb };
    struct round_trip trip = {
        .target = &self->target, .verb = verb, .verb_text = verbs[verb].ptr, .body = *body
    };
    put_url(&trip.url, config, verbs[verb]);
    *body = (struct strbuf){ 0 };
    return trip;
}

/* ---- filter, prioritize, preempt ---- */
/* Takes the body over. `r` below 0: there is none, and receive() says why. */
static void send_request(struct http_extender *self, enum extender_verb verb, struct strbuf *body, int r,
                         const struct error *err)
{
    if (r == 0) {
        pending_begin(&self->request, self->all->pending, round_trip_to(self, verb, body));
        return;
    }
    self->request = (struct pending_request){ .error = *err };
    strbuf_release(body);
}

static void send_nodes(struct http_extender *self, enum extender_verb verb, struct cycle *cycle,
                       struct row_list nodes)
{
    struct strbuf body = { 0 };
    struct error err;
    int r = args_nodes(&body, cycle, nodes, self->config->node_cache_capable, &err);
    send_request(self, verb, &body, r, &err);
}

/* pending_release() follows. */
static int receive(struct http_extender *self, struct cycle *cycle, struct reply *ret, struct error *err)
{
    *ret = (struct reply){ .extender = self->base.name, .cycle = cycle };
    return pending_end(&self->request, &ret->text, err);
}

static int filter(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                  struct extender_filtered *ret, struct error *err)
{
    struct http_extender *self = self_of(extender);
    struct reply reply;
    send_nodes(self, EXTENDER_FILTER, cycle, nodes);
    int r = receive(self, cycle, &reply, err);
    if (r == 0)
        r = reply_filter(&reply, self->config->node_cache_capable, nodes, ret, err);
    pending_release(&self->request);
    return r;
}

static void begin_score(struct extender *extender, struct cycle *cycle, struct row_list nodes)
{
    send_nodes(self_of(extender), EXTENDER_PRIORITIZE, cycle, nodes);
}

static int end_score(struct extender *extender, struct cycle *cycle, struct row_list nodes _unused_,
                     struct extender_scores *ret, struct error *err)
{
    struct http_extender *self = self_of(extender);
    struct reply reply;
    int r = receive(self, cycle, &reply, err);
    if (r == 0)
        r = reply_score(&reply, ret, err);
    pending_release(&self->request);
    return r;
}

static int preempt(struct extender *extender, struct cycle *cycle, const struct preempt_candidate *candidates,
                   uint32_t len, struct preempt_candidate **ret, uint32_t *ret_len, struct error *err)
{
    struct http_extender *self = self_of(extender);
    struct strbuf body = { 0 };
    struct error problem;
    struct reply reply;
    int r = args_preempt(&body, cycle, candidates, len, self->config->node_cache_capable, &problem);
    send_request(self, EXTENDER_PREEMPT, &body, r, &problem);
    r = receive(self, cycle, &reply, err);
    if (r == 0)
        r = reply_preempt(&reply, ret, ret_len, err);
    pending_release(&self->request);
    return r;
}

/* ---- bind ---- */
struct bind {
    struct http_extenders *all;
    uint64_t ticket;
    struct round_trip trip;
};

static void bind_free(struct bind *bind)
{
    round_trip_release(&bind->trip);
    free(bind);
}

/* An empty text: it is bound. */
static void tell(const struct bind *bind, struct str problem)
{
    const struct http_extenders_options *options = &bind->all->options;
    options->on_answer(
        options->user, bind->ticket,
        &(struct answer){ .kind = problem.len ? ANSWER_REFUSED : ANSWER_DONE, .message = problem });
}

static void bind_done(void *user, struct strbuf *answer, const struct error *problem)
{
    struct bind *bind = user;
    struct arena arena = { 0 };
    struct str message = STR("");
    struct error err;
    if (!problem && reply_bind(strbuf_slice(answer), &arena, &message, &err) < 0)
        problem = &err;
    tell(bind, problem ? str_from(problem->text) : message);
    arena_release(&arena);
    bind_free(bind);
}

static bool bind_may_leave(void *user)
{
    const struct http_extenders_options *options = &((struct bind *)user)->all->options;
    return !options->may_bind || options->may_bind(options->user);
}

static void bind_pod(struct extender *extender, const struct effect *effect)
{
    struct http_extender *self = self_of(extender);
    struct bind *bind = xcalloc(1, sizeof(*bind));
    struct strbuf body = { 0 };
    struct error err;
    args_bind(&body, effect);
    *bind = (struct bind){ .all = self->all,
                           .ticket = effect->ticket,
                           .trip = round_trip_to(self, EXTENDER_BIND, &body) };
    bind->trip.may_leave = bind_may_leave;
    bind->trip.on_done = bind_done;
    bind->trip.user = bind;
    if (round_trip_send(&bind->trip, NULL, &err) == 0)
        return;
    tell(bind, str_from(err.text));
    bind_free(bind);
}

static const struct extender_calls calls = { filter, begin_score, end_score, preempt, bind_pod };

/* ---- life ---- */
/* enableHTTPS without a CA accepts any certificate. */
static int make_tls(const struct extender_config *config, struct tls_config **ret, struct error *err)
{
    const struct extender_tls_config *given = config->tls;
    struct tls_options options = { 0 };
    if (!given && !config->enable_https)
        return 0;
    if (given)
        options = (struct tls_options){ .ca_file = given->ca_file.ptr,
                                        .cert_file = given->cert_file.ptr,
                                        .key_file = given->key_file.ptr,
                                        .ca_data = given->ca_data,
                                        .cert_data = given->cert_data,
                                        .key_data = given->key_data,
                                        .server_name = given->server_name.ptr,
                                        .insecure = given->insecure };
    options.insecure |= config->enable_https && !(given && (given->ca_file.len || given->ca_data.len));
    return tls_config_new(&options, ret, err);
}

static int64_t timeout_ms(const struct extender_config *config)
{
    if (config->http_timeout_ns <= 0)
        return TIMEOUT_MS_DEFAULT;
    return MIN(MAX(config->http_timeout_ns / NS_PER_MS, 1), TIMEOUT_MS_MAX);
}

/* Its name in logs and explanations. */
static struct str name_of(struct arena *arena, const struct extender_config *config)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    strbuf_masked(&name, config->url_prefix);
    return arena_str(arena, strbuf_slice(&name));
}

static int add(struct http_extenders *all, const struct extender_config *config, struct error *err)
{
    struct http_extender *self = arena_new(&all->arena, struct http_extender);
    *self = (struct http_extender){
        .base = { .calls = &calls,
                  .name = name_of(&all->arena, config),
                  .filters = config->filter_verb.len,
                  .prioritizes = config->prioritize_verb.len,
                  .preempts = config->preempt_verb.len,
                  .binds = config->bind_verb.len && !all->options.binds_nothing,
                  .ignorable = config->ignorable,
                  .weight = config->weight,
                  .managed = config->managed_resources.items,
                  .managed_len = config->managed_resources.len },
        .all = all,
        .config = config,
        .target = { .timeout_ms = timeout_ms(config) },
    };
    all->table.items[all->table.len++] = &self->base;
    int r = make_tls(config, &self->target.tls, err);
    if (r < 0)
        return r;
    return http_client_new(&(struct http_options){ .name = "extender",
                                                   .in_flight_max = IN_FLIGHT_MAX,
                                                   .pending_max = PENDING_MAX,
                                                   .connect_ms = CONNECT_MS },
                           &self->target.client, err);
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
    all->own_pending = options->pending ? NULL : pending_requests_new();
    all->pending = options->pending ? options->pending : all->own_pending;
    all->table.items = arena_array(&all->arena, struct extender *, config->extenders.len);
    int r = 0;
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
    for (uint32_t i = 0; i < all->table.len; i++) {
        http_client_free(self_of(all->table.items[i])->target.client);
        tls_config_unref(self_of(all->table.items[i])->target.tls);
    }
    pending_requests_free(all->own_pending);
    arena_release(&all->arena);
    free(all);
}

struct extender_share http_extender_share(const struct http_extenders *all, uint32_t index,
                                          enum extender_verb verb)
{
    const struct extender_count *count = &self_of(all->table.items[index])->target.counts[verb];
    return (struct extender_share){ .calls = atomic_load(&count->calls),
                                    .failures = atomic_load(&count->failures),
                                    .total_ns = (int64_t)atomic_load(&count->total_ns) };
}

const struct extenders *http_extenders_table(const struct http_extenders *all)
{
    return all ? &all->table : NULL;
}

uint64_t extenders_source_kinds(const struct scheduler_config *config)
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
