/* reviews.c: the answers that are remembered, and the questions that are under way. */
#include "auth/reviews.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <yyjson.h>

#include "auth/auth_metrics.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "client/rest.h"
#include "codec/json_writer.h"

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
    const char *yes, *reason; /* members of its status */
    const char *failure;      /* what is logged */
    int64_t total_ms;         /* for all tries together; 0: none */
} kinds[] = {
    [REVIEW_TOKEN] = { STR("TokenReview"), STR("authentication.k8s.io/v1"),
                       STR("/apis/authentication.k8s.io/v1/tokenreviews"), "authenticated", "error",
                       "Failed to make webhook authenticator request", 10000 },
    [REVIEW_ACCESS] = { STR("SubjectAccessReview"), STR("authorization.k8s.io/v1"),
                        STR("/apis/authorization.k8s.io/v1/subjectaccessreviews"), "allowed", "reason",
                        "Failed to make webhook authorizer request", 0 },
};

struct pending_request {
    review_done done;
    void *context;
    int64_t since_ns;
};

/* A question: under way, or answered and remembered. */
struct entry {
    struct reviews *reviews;
    char key[KEY_BYTES];
    bool remember, pending;
    bool preferred;     /* the answer was yes the last time, a while ago */
    struct arena arena; /* the answer, once there is one */
    struct review review;
    int64_t until_ns;
    struct entry *newer, *older; /* among the remembered, by use */
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
    struct strmap entries; /* by key; pending and remembered */
    struct entry *newest, *oldest;
    size_t remembered;
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
    if (entry->body.text)
        OPENSSL_cleanse(entry->body.text, entry->body.cap);
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

static void unlink_used(struct reviews *reviews, struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &reviews->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &reviews->oldest) = entry->newer;
    entry->newer = entry->older = NULL;
    reviews->remembered--;
}

static void link_newest(struct reviews *reviews, struct entry *entry)
{
    entry->older = reviews->newest;
    entry->newer = NULL;
    *(reviews->newest ? &reviews->newest->newer : &reviews->oldest) = entry;
    reviews->newest = entry;
    reviews->remembered++;
}

static void forget(struct reviews *reviews, struct entry *entry)
{
    if (entry->remember)
        strmap_remove(&reviews->entries, key_of(entry));
    if (!entry->pending)
        unlink_used(reviews, entry);
    entry_free(entry);
}

static struct str val_text(yyjson_val *val)
{
    return yyjson_is_str(val) ? (struct str){ yyjson_get_str(val), (uint32_t)yyjson_get_len(val) }
                              : (struct str){ 0 };
}

static void decode_list(yyjson_val *val, struct arena *arena, struct str_list *ret)
{
    size_t count = MIN(yyjson_arr_size(val), (size_t)USER_GROUPS_MAX), index, total;
    yyjson_val *item;
    *ret = (struct str_list){ .items = count ? arena_array(arena, struct str, count) : NULL };
    yyjson_arr_foreach(val, index, total, item) {
        if (ret->len < count)
            ret->items[ret->len++] = arena_str(arena, val_text(item));
    }
}

static void decode_user(yyjson_val *val, struct arena *arena, struct user *ret)
{
    ret->name = arena_str(arena, val_text(yyjson_obj_get(val, "username")));
    ret->uid = arena_str(arena, val_text(yyjson_obj_get(val, "uid")));
    decode_list(yyjson_obj_get(val, "groups"), arena, &ret->groups);
    yyjson_val *extra = yyjson_obj_get(val, "extra"), *key, *values;
    size_t count = MIN(yyjson_obj_size(extra), (size_t)USER_EXTRAS_MAX), index, total;
    ret->extra.items = count ? arena_array(arena, struct user_extra, count) : NULL;
    yyjson_obj_foreach(extra, index, total, key, values) {
        if (ret->extra.len == count)
            break;
        struct user_extra *to = &ret->extra.items[ret->extra.len++];
        to->key = arena_str(arena, val_text(key));
        decode_list(values, arena, &to->values);
    }
}

/* False: this is no review. */
static bool decode(enum review_kind kind, struct str json, struct arena *arena, struct review *ret)
{
    yyjson_doc *doc = yyjson_read(json.ptr ? json.ptr : "", json.len, 0);
    yyjson_val *status = doc ? yyjson_obj_get(yyjson_doc_get_root(doc), "status") : NULL;
    *ret = (struct review){ .answered = yyjson_is_obj(status) };
    if (ret->answered) {
        ret->yes = yyjson_is_true(yyjson_obj_get(status, kinds[kind].yes));
        ret->denied = yyjson_is_true(yyjson_obj_get(status, "denied"));
        ret->reason = arena_str(arena, val_text(yyjson_obj_get(status, kinds[kind].reason)));
        decode_user(yyjson_obj_get(status, "user"), arena, &ret->user);
    }
    yyjson_doc_free(doc);
    return ret->answered;
}

/* A token that could not be checked is answered with an error. */
static bool is_error(const struct entry *entry)
{
    const struct review *review = &entry->review;
    return !review->answered ||
           (entry->reviews->options.kind == REVIEW_TOKEN && !review->yes && review->reason.len);
}

/* Keeps the answer, unless it is an error. */
static void remember(struct entry *entry)
{
    struct reviews *reviews = entry->reviews;
    const struct review *review = &entry->review;
    int64_t ttl = review->yes ? reviews->options.yes_ns : reviews->options.no_ns;
    entry->pending = false;
    link_newest(reviews, entry);
    entry->until_ns = monotonic_ns() + ttl;
    if (!entry->remember || is_error(entry) || ttl <= 0 || entry->arena.total_bytes > KEPT_BYTES_MAX)
        forget(reviews, entry);
    else if (reviews->remembered > REMEMBERED_MAX)
        forget(reviews, reviews->oldest);
}

/* Only tokens are looked up in memory with numbers kept of it. */
static struct metrics *token_metrics(const struct reviews *reviews)
{
    return reviews->options.kind == REVIEW_TOKEN ? reviews->options.metrics : NULL;
}

static void add_request(struct entry *entry, review_done done, void *context, int64_t since_ns)
{
    *vec_push(&entry->requests) = (struct pending_request){ done, context, since_ns };
    auth_metrics_tokens_blocked(token_metrics(entry->reviews), 1);
}

static void answer_request(const struct entry *entry, const struct pending_request *request)
{
    struct metrics *metrics = token_metrics(entry->reviews);
    auth_metrics_tokens_blocked(metrics, -1);
    auth_metrics_token(metrics, false, monotonic_ns() - request->since_ns);
    request->done(request->context, &entry->review);
}

static void finish(struct entry *entry)
{
    auth_metrics_token_answered(token_metrics(entry->reviews), !is_error(entry));
    /* Callbacks may ask again: they must not find the entry while it is neither pending nor remembered. */
    if (entry->remember)
        strmap_remove(&entry->reviews->entries, key_of(entry));
    bool kept = entry->remember;
    entry->remember = false;
    strbuf_release(&entry->body);
    for (size_t i = 0; i < entry->requests.len; i++)
        answer_request(entry, &entry->requests.items[i]);
    vec_release(&entry->requests);
    entry->remember = kept;
    if (kept) {
        struct entry *other = strmap_get(&entry->reviews->entries, key_of(entry));
        entry->remember = !other; /* a callback has asked the same again */
        if (!other)
            strmap_put(&entry->reviews->entries, key_of(entry), entry);
    }
    remember(entry);
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
    if (yes &&
        decode(entry->reviews->options.kind, strbuf_slice(&answer->body), &entry->arena, &entry->review))
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
        answer->patience_ms = rest_patience_ms(response, &status);
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

static void make_key(const struct reviews *reviews, struct str question, char ret[KEY_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
    unsigned int len = 0;
    HMAC(EVP_sha256(), reviews->secret, sizeof(reviews->secret), (const unsigned char *)question.ptr,
         question.len, digest, &len);
    memcpy(ret, digest, KEY_BYTES);
}

void reviews_ask(struct reviews *reviews, struct str question, struct str body, bool remember_it,
                 review_done done, void *context)
{
    char key[KEY_BYTES];
    int64_t now_ns = monotonic_ns();
    make_key(reviews, question, key);
    struct entry *known = remember_it ? strmap_get(&reviews->entries, (struct str){ key, KEY_BYTES }) : NULL;
    bool preferred = false;
    if (known && !known->pending && now_ns >= known->until_ns) {
        preferred = known->review.yes;
        forget(reviews, known);
        known = NULL;
    }
    if (known && !known->pending) {
        unlink_used(reviews, known);
        link_newest(reviews, known);
        auth_metrics_token(token_metrics(reviews), true, monotonic_ns() - now_ns);
        done(context, &known->review);
        return;
    }
    if (known) {
        add_request(known, done, context, now_ns);
        return;
    }
    int64_t total_ms = kinds[reviews->options.kind].total_ms;
    struct entry *entry = xcalloc(1, sizeof(*entry));
    entry->reviews = reviews;
    memcpy(entry->key, key, KEY_BYTES);
    entry->remember = remember_it;
    entry->pending = true;
    entry->preferred = preferred;
    entry->pause_ms = FIRST_PAUSE_MS;
    entry->deadline_ns = total_ms ? now_ns + total_ms * NS_PER_MS : 0;
    strbuf_str(&entry->body, body);
    add_request(entry, done, context, now_ns);
    auth_metrics_token_asked(token_metrics(reviews));
    if (remember_it)
        strmap_put(&reviews->entries, key_of(entry), entry);
    send_review(entry, 0);
}

static void begin_review(struct json_writer *json, enum review_kind kind)
{
    json_begin_object(json);
    json_member_str(json, "kind", kinds[kind].kind);
    json_member_str(json, "apiVersion", kinds[kind].api_version);
    json_member_object(json, "metadata");
    json_end_object(json);
    json_member_object(json, "spec");
}

void review_token_body(struct strbuf *out, struct str token)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_review(&json, REVIEW_TOKEN);
    json_member_str(&json, "token", token);
    json_end_object(&json);
    json_end_object(&json);
}

void review_access_body(struct strbuf *out, const struct user *user, struct str verb, struct str path)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_review(&json, REVIEW_ACCESS);
    json_member_object(&json, "nonResourceAttributes");
    json_member_str(&json, "path", path);
    json_member_str(&json, "verb", verb);
    json_end_object(&json);
    json_member_str(&json, "user", user->name);
    if (user->groups.len)
        json_member_strs(&json, "groups", user->groups.items, user->groups.len);
    if (user->extra.len) {
        json_member_object(&json, "extra");
        for (uint32_t i = 0; i < user->extra.len; i++) {
            const struct user_extra *extra = &user->extra.items[i];
            json_key(&json, extra->key);
            json_begin_array(&json);
            for (uint32_t k = 0; k < extra->values.len; k++)
                json_str(&json, extra->values.items[k]);
            json_end_array(&json);
        }
        json_end_object(&json);
    }
    if (user->uid.len)
        json_member_str(&json, "uid", user->uid);
    json_end_object(&json);
    json_end_object(&json);
}
