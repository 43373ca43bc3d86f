/* reviews.c: reviews that are under way, and those that are remembered. */
#include "auth/reviews.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <yyjson.h>

#include "auth/auth_metrics.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "client/rest.h"
#include "codec/record_rows.h"

enum {
    REMEMBERED_MAX = 8192,
    ANSWER_BYTES_MAX = 1 << 20,
    KEPT_BYTES_MAX = 64 << 10, /* of one answer; a larger one is not remembered */
    TRIES_MAX = 5,
    TRY_MS = 10000,
    FIRST_PAUSE_MS = 500,
    KEY_BYTES = 32,
};

static const struct {
    struct str kind, api_version, path;
    const char *failure; /* what is logged */
    int64_t total_ms;    /* for all tries together; 0: none */
} kinds[] = {
    [REVIEW_TOKEN] = { STR("TokenReview"), STR("authentication.k8s.io/v1"),
                       STR("/apis/authentication.k8s.io/v1/tokenreviews"),
                       "Failed to make webhook authenticator request", 10000 },
    [REVIEW_ACCESS] = { STR("SubjectAccessReview"), STR("authorization.k8s.io/v1"),
                        STR("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
                        "Failed to make webhook authorizer request", 0 },
};

struct pending_request {
    review_done done;
    void *context;
    int64_t since_ns;
};

/* A review: under way, or answered and remembered. */
struct entry {
    struct reviews *reviews;
    char key[KEY_BYTES];
    bool remember, pending;
    bool preferred;     /* the answer was yes the last time, a while ago */
    struct arena arena; /* the answer, once there is one */
    struct review review;
    int64_t until_ns;
    struct list_link link; /* among the remembered */
    VEC(struct pending_request) requests;
    struct strbuf body;
    int tries;
    int64_t deadline_ns, pause_ms;
    int64_t sent_ns; /* this try */
};

/* An answer on its way from the I/O thread to the server's. */
struct answer {
    struct entry *entry;
    int status;
    enum http_failure failure;
    int64_t patience_ms;
    struct strbuf body;
    struct str sentence;
    struct arena arena;
};

struct reviews {
    struct reviews_options options;
    unsigned char secret[32];
    struct strmap entries;  /* by key; pending and remembered */
    struct list remembered; /* struct entry, the least recently used first */
    size_t remembered_count;
    struct rng rng;
    bool stopped;
};

struct reviews *reviews_new(const struct reviews_options *options)
{
    struct reviews *reviews = xcalloc(1, sizeof(*reviews));
    reviews->options = *options;
    uint64_t seed = (uint64_t)monotonic_ns();
    if (RAND_bytes(reviews->secret, sizeof(reviews->secret)) == 1)
        memcpy(&seed, reviews->secret, sizeof(seed));
    rng_seed(&reviews->rng, seed);
    return reviews;
}

void reviews_stop(struct reviews *reviews)
{
    if (reviews)
        reviews->stopped = true;
}

static void entry_free(struct entry *entry)
{
    arena_release(&entry->arena);
    vec_release(&entry->requests);
    strbuf_release(&entry->body);
    free(entry);
}

void reviews_free(struct reviews *reviews)
{
    if (!reviews)
        return;
    map_for(&reviews->entries, slot)
        entry_free(slot->value);
    strmap_release(&reviews->entries);
    OPENSSL_cleanse(reviews->secret, sizeof(reviews->secret));
    free(reviews);
}

static struct str key_of(const struct entry *entry)
{
    return (struct str){ entry->key, KEY_BYTES };
}

static void forget(struct entry *entry)
{
    struct reviews *reviews = entry->reviews;
    if (entry->remember)
        strmap_remove(&reviews->entries, key_of(entry));
    if (!entry->pending) {
        list_remove(&reviews->remembered, &entry->link);
        reviews->remembered_count--;
    }
    entry_free(entry);
}

/* The status of either kind. */
struct review_status {
    bool authenticated, allowed, denied;
    struct str error, reason;
    struct user user;
};

#define T struct review_status
static const struct record_field status_fields[] = {
    F("authenticated", 0, BOOL, authenticated),
    F("allowed", 0, BOOL, allowed),
    F("denied", 0, BOOL, denied),
    F("error", 0, STR, error),
    F("reason", 0, STR, reason),
    F_STRUCT("user", 0, user, user),
};
TYPE(status)
#undef T

#define T struct review_spec
static const struct record_field attributes_fields[] = {
    F("path", 0, STR, path),
    F("verb", 0, STR, verb),
};
TYPE(attributes)
static const struct record_field spec_fields[] = {
    F("token", 0, STR, token),         F_PART("nonResourceAttributes", 0, attributes),
    F("user", 0, STR, user.name),      F("groups", 0, STRS, user.groups),
    F("extra", 0, EXTRAS, user.extra), F("uid", 0, STR, user.uid),
};
TYPE(spec)
#undef T

/* False: this is no review. In place: the API server sends the token back, and there is to be no copy of it. */
static bool decode(enum review_kind kind, struct strbuf *json, struct arena *arena, struct review *ret)
{
    struct review_status status = { 0 };
    struct record_reader reader = { .arena = arena, .keep = arena_str };
    strbuf_reserve(json, YYJSON_PADDING_SIZE);
    memset(json->text + json->len, 0, YYJSON_PADDING_SIZE);
    yyjson_doc *doc = yyjson_read_opts(json->text, json->len, YYJSON_READ_INSITU, NULL, NULL);
    yyjson_val *val = doc ? yyjson_obj_get(yyjson_doc_get_root(doc), "status") : NULL;
    bool ok = yyjson_is_obj(val) && record_read(&reader, NULL, val, &status_type, &status) == 0;
    yyjson_doc_free(doc);
    *ret = (struct review){ .answered = ok, .denied = status.denied, .user = status.user };
    ret->yes = kind == REVIEW_TOKEN ? status.authenticated : status.allowed;
    ret->reason = kind == REVIEW_TOKEN ? status.error : status.reason;
    return ok;
}

/* A token that could not be checked is answered with an error. */
static bool is_error(const struct entry *entry)
{
    const struct review *review = &entry->review;
    return !review->answered ||
           (entry->reviews->options.kind == REVIEW_TOKEN && !review->yes && review->reason.len);
}

/* Is the answer to be kept? Sets until when. */
static bool is_worth_keeping(struct entry *entry)
{
    const struct reviews_options *options = &entry->reviews->options;
    int64_t ttl = entry->review.yes ? options->yes_ns : options->no_ns;
    entry->until_ns = monotonic_ns() + ttl;
    return entry->remember && !is_error(entry) && ttl > 0 && entry->arena.total_bytes <= KEPT_BYTES_MAX;
}

/* Only tokens are looked up in memory with numbers kept of it. */
static struct metrics *token_metrics(const struct reviews *reviews)
{
    return reviews->options.kind == REVIEW_TOKEN ? reviews->options.metrics : NULL;
}

static void add_request(struct entry *entry, review_done done, void *context, int64_t since_ns)
{
    *vec_push(&entry->requests) = (struct pending_request){ done, context, since_ns };
    auth_metrics_tokens(token_metrics(entry->reviews), "blocked", 1);
}

static void answer_request(const struct entry *entry, const struct pending_request *request)
{
    struct metrics *metrics = token_metrics(entry->reviews);
    auth_metrics_tokens(metrics, "blocked", -1);
    auth_metrics_token(metrics, false, monotonic_ns() - request->since_ns);
    request->done(request->context, &entry->review);
}

static void finish(struct entry *entry)
{
    struct reviews *reviews = entry->reviews;
    auth_metrics_token_answered(token_metrics(reviews), !is_error(entry));
    strbuf_release(&entry->body);
    /* It is pending still: a callback that asks for the same again is answered here, too. */
    for (size_t i = 0; i < entry->requests.len; i++) {
        struct pending_request request = entry->requests.items[i];
        answer_request(entry, &request);
    }
    vec_release(&entry->requests);
    if (!is_worth_keeping(entry)) {
        forget(entry);
        return;
    }
    entry->pending = false;
    list_append(&reviews->remembered, &entry->link);
    if (++reviews->remembered_count > REMEMBERED_MAX)
        forget(list_first(&reviews->remembered, struct entry, link));
}

static void fail(struct entry *entry, struct str why)
{
    entry->review = (struct review){ .reason = arena_str(&entry->arena, why) };
    struct error err;
    error_set(&err, 0, STR_FMT, STR_ARG(why));
    log_error(&err, kinds[entry->reviews->options.kind].failure);
    finish(entry);
}

static void send_review(struct entry *entry, int64_t delay_ms);

/* As client-go's webhooks: what may pass by itself is tried again. */
static bool is_worth_another_try(const struct answer *answer)
{
    if (answer->failure == HTTP_FAILURE_BROKEN)
        return true;
    return answer->status == 500 || answer->status == 504 || answer->status == 429 || answer->patience_ms > 0;
}

static bool try_again(struct entry *entry, const struct answer *answer)
{
    if (entry->reviews->stopped || entry->tries >= TRIES_MAX || !is_worth_another_try(answer))
        return false;
    double jitter = 1.0 + 0.2 * (double)(rng_next(&entry->reviews->rng) >> 11) / (double)(UINT64_C(1) << 53);
    int64_t pause = (int64_t)((double)entry->pause_ms * jitter);
    if (entry->deadline_ns && monotonic_ns() + pause * NS_PER_MS >= entry->deadline_ns)
        return false;
    entry->pause_ms = entry->pause_ms * 3 / 2;
    send_review(entry, pause);
    return true;
}

/* On the server's thread. */
static void on_answer(void *context)
{
    struct answer *answer = context;
    struct entry *entry = answer->entry;
    bool yes = answer->failure == HTTP_FAILURE_NONE && answer->status >= 200 && answer->status < 300;
    auth_metrics_review(entry->reviews->options.metrics, entry->reviews->options.kind, answer->status,
                        monotonic_ns() - entry->sent_ns);
    if (yes && decode(entry->reviews->options.kind, &answer->body, &entry->arena, &entry->review))
        finish(entry);
    else if (yes)
        fail(entry, STR("the answer is not a review"));
    else if (!try_again(entry, answer))
        fail(entry, answer->sentence);
    strbuf_release(&answer->body);
    arena_release(&answer->arena);
    free(answer);
}

static void on_done(void *user, struct http_response *response)
{
    struct entry *entry = user;
    struct answer *answer = xcalloc(1, sizeof(*answer));
    answer->entry = entry;
    answer->status = response->status;
    answer->failure = response->failure;
    if (!rest_is_yes(response)) {
        struct api_status status = { 0 };
        rest_status(response, &answer->arena, &status);
        answer->sentence = rest_sentence(response, &status, &answer->arena);
        answer->sentence = arena_str(&answer->arena, answer->sentence);
        answer->patience_ms = rest_retry_after_ms(response, &status);
    }
    answer->body = *response->body;
    *response->body = (struct strbuf){ 0 };
    loop_run(server_loop(entry->reviews->options.server), on_answer, answer);
}

static const struct http_callbacks callbacks = { .on_done = on_done };

static void send_review(struct entry *entry, int64_t delay_ms)
{
    const struct reviews_options *options = &entry->reviews->options;
    int64_t left_ms =
        entry->deadline_ns ? (entry->deadline_ns - monotonic_ns()) / NS_PER_MS - delay_ms : TRY_MS;
    struct api_request request = {
        .method = "POST",
        .path = kinds[options->kind].path,
        .content_type = API_JSON,
        .accept = API_JSON,
        .body = strbuf_slice(&entry->body),
        .secret = true,
        .urgent = entry->preferred,
        .unlimited = entry->preferred,
        .timeout_ms = MAX(left_ms, 1),
        .delay_ms = delay_ms,
        .body_bytes_max = ANSWER_BYTES_MAX,
        .callbacks = &callbacks,
        .user = entry,
    };
    struct error err;
    entry->tries++;
    entry->sent_ns = monotonic_ns() + delay_ms * NS_PER_MS;
    int r = entry->reviews->stopped ? error_set(&err, -ESHUTDOWN, "the server is shutting down")
                                    : api_send(options->api, &request, NULL, &err);
    if (r < 0)
        fail(entry, str_from(err.text));
}

static void make_key(const struct reviews *reviews, struct str body, char ret[KEY_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
    unsigned int len = 0;
    HMAC(EVP_sha256(), reviews->secret, sizeof(reviews->secret), (const unsigned char *)body.ptr, body.len,
         digest, &len);
    memcpy(ret, digest, KEY_BYTES);
}

static void write_body(struct strbuf *out, enum review_kind kind, const struct review_spec *spec)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", kinds[kind].kind);
    json_member_str(&json, "apiVersion", kinds[kind].api_version);
    json_member_object(&json, "metadata");
    json_end_object(&json);
    json_key(&json, STR("spec"));
    record_write(&(struct record_writer){ .json = &json }, &spec_type, spec);
    json_end_object(&json);
}

/* The review that has this key, unless its time is over: then it is forgotten. */
static struct entry *find(struct reviews *reviews, const char key[KEY_BYTES], int64_t now_ns,
                          bool *ret_was_yes)
{
    struct entry *known = strmap_get(&reviews->entries, (struct str){ key, KEY_BYTES });
    if (!known || known->pending || now_ns < known->until_ns)
        return known;
    *ret_was_yes = known->review.yes;
    forget(known);
    return NULL;
}

void reviews_ask(struct reviews *reviews, const struct review_spec *spec, bool remember, review_done done,
                 void *context)
{
    int64_t now_ns = monotonic_ns(), total_ms = kinds[reviews->options.kind].total_ms;
    struct entry *entry = xcalloc(1, sizeof(*entry));
    entry->reviews = reviews;
    entry->body.secret = true;
    write_body(&entry->body, reviews->options.kind, spec);
    make_key(reviews, strbuf_slice(&entry->body), entry->key);
    struct entry *known = remember ? find(reviews, entry->key, now_ns, &entry->preferred) : NULL;
    if (known)
        entry_free(entry);
    if (known && known->pending) {
        add_request(known, done, context, now_ns);
        return;
    }
    if (known) {
        list_remove(&reviews->remembered, &known->link);
        list_append(&reviews->remembered, &known->link);
        auth_metrics_token(token_metrics(reviews), true, monotonic_ns() - now_ns);
        done(context, &known->review);
        return;
    }
    entry->remember = remember;
    entry->pending = true;
    entry->pause_ms = FIRST_PAUSE_MS;
    entry->deadline_ns = total_ms ? now_ns + total_ms * NS_PER_MS : 0;
    add_request(entry, done, context, now_ns);
    auth_metrics_tokens(token_metrics(reviews), "in_flight", 1);
    if (remember)
        strmap_put(&reviews->entries, key_of(entry), entry);
    send_review(entry, 0);
}
