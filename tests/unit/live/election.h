/* election.h: candidates for a Lease, with a simulated server, clock and faults. Time passes only in pass(),
 * also while a request is in flight, and pass() checks that no two candidates may write. */
#ifndef UNIT_CLIENT_ELECTION_H
#define UNIT_CLIENT_ELECTION_H

#include "support/test.h"

#include <yyjson.h>

#include "live/lease.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define PATH "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

enum { CANDIDATES = 3, FAULTS_MAX = 64 };

enum fault {
    FINE,
    UNREACHABLE,  /* nothing was sent */
    REQUEST_LOST, /* sent, and lost before the server */
    REPLY_LOST,   /* done, and the reply was lost */
    FORBIDDEN,
    BROKEN, /* 500 */
    JUNK,   /* 200 with an invalid body */
    STOLEN, /* done, but with another holder */
    RIVAL,  /* another candidate writes first */
};

/* The server and the clock that all candidates share. */
static int64_t clock_ns;
static char *stored; /* the Lease; NULL: there is none */
static int version;

struct candidate {
    struct leader_lease *lease;
    struct lease_host host;
    char name[16];
    enum fault faults[FAULTS_MAX]; /* of its next requests; later ones succeed */
    size_t fault_count, fault_next;
    int64_t latency_ns;
    double random;
    char requests[4096]; /* "GET 200,PUT 409," */
    char events[1024], leaders[1024];
    char body[4096]; /* of the last write */
    int started, lost, terms_ended, slow_paths;
    bool busy;
    int64_t due_ns;
    struct rng *fault_rng; /* random faults; NULL: only the faults above */
};

static struct candidate all[CANDIDATES];
static const char *ended; /* the identity of a process that is known to have ended; NULL: none */
static size_t all_count;
static bool is_coordinated; /* the server assigns the Lease */

/* ---- the server ---- */

static void store(const char *text)
{
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    assert_non_null(doc);
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(copy), "metadata");
    char number[16];
    snprintf(number, sizeof(number), "%d", ++version);
    yyjson_mut_obj_put(meta, yyjson_mut_str(copy, "resourceVersion"), yyjson_mut_strcpy(copy, number));
    yyjson_mut_obj_put(meta, yyjson_mut_str(copy, "uid"), yyjson_mut_str(copy, "u-1"));
    free(stored);
    stored = yyjson_mut_write(copy, 0, NULL);
    yyjson_mut_doc_free(copy);
    yyjson_doc_free(doc);
}

/* A field of a Lease, by its path; NULL: there is none. */
static const char *field_of(const char *text, const char *pointer)
{
    static char value[512];
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    yyjson_val *val = yyjson_doc_ptr_get(doc, pointer);
    if (yyjson_is_str(val))
        snprintf(value, sizeof(value), "%s", yyjson_get_str(val));
    else
        snprintf(value, sizeof(value), "%lld", (long long)yyjson_get_sint(val));
    yyjson_doc_free(doc);
    return val ? value : NULL;
}

#define assert_field(text, pointer, want) \
    do { \
        const char *got_ = field_of((text), (pointer)); \
        if (!got_ || strcmp(got_, (want)) != 0) \
            fail_msg("%s: %s, want %s", (pointer), got_ ? got_ : "(none)", (want)); \
    } while (0)

static void hold_by(const char *holder, int duration_s)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"berth\","
             "\"namespace\":\"kube-system\",\"labels\":{\"team\":\"a\"}},\"spec\":{\"holderIdentity\":\"%s\","
             "\"leaseDurationSeconds\":%d,\"acquireTime\":\"2001-01-01T00:00:00.000000Z\","
             "\"renewTime\":\"2001-01-01T00:00:%02d.000000Z\",\"leaseTransitions\":4,\"strategy\":"
             "\"OldestEmulation"
             "Version\",\"preferredHolder\":\"p\",\"later\":{\"x\":[1,2.5,null]}}}",
             holder, duration_s, version % 60);
    store(text);
}

static int serve(const char *method, const char *body)
{
    if (strcmp(method, "GET") == 0)
        return stored ? 200 : 404;
    if (strcmp(method, "POST") == 0) {
        if (stored)
            return 409;
        store(body);
        return 201;
    }
    char mine[64];
    if (!stored)
        return 404;
    snprintf(mine, sizeof(mine), "%s", field_of(body, "/metadata/resourceVersion"));
    if (strcmp(mine, field_of(stored, "/metadata/resourceVersion")) != 0)
        return 409;
    store(body);
    return 200;
}

/* ---- the clock and the server of a candidate ---- */

static int64_t simulated_now(void *user _unused_)
{
    return clock_ns;
}

static int64_t simulated_wall(void *user _unused_)
{
    return INT64_C(1700000000000000) + clock_ns / 1000;
}

static double simulated_random(void *user)
{
    struct candidate *c = user;
    return c->fault_rng ? (double)rng_below(c->fault_rng, 1000) / 1000 : c->random;
}

/* No two candidates may write at the same time. */
static void check_one_leader(void)
{
    size_t valid = 0;
    for (size_t i = 0; i < all_count; i++)
        valid += all[i].lease && lease_valid(all[i].lease);
    assert_true(valid <= 1);
}

static void step(struct candidate *c)
{
    c->busy = true;
    c->due_ns = lease_step(c->lease);
    c->busy = false;
}

/* Advances the clock; the other candidates do what is due meanwhile. */
static void pass(int64_t ns)
{
    int64_t end_ns = clock_ns + ns;
    for (;;) {
        struct candidate *next = NULL;
        for (size_t i = 0; i < all_count; i++)
            if (all[i].lease && !all[i].busy && all[i].due_ns <= end_ns &&
                (!next || all[i].due_ns < next->due_ns))
                next = &all[i];
        if (!next)
            break;
        clock_ns = MAX(clock_ns, next->due_ns);
        check_one_leader();
        step(next);
    }
    clock_ns = MAX(clock_ns, end_ns);
    check_one_leader();
}

static enum fault next_fault(struct candidate *c)
{
    if (c->fault_rng) {
        static const enum fault kinds[] = { UNREACHABLE, REQUEST_LOST, REPLY_LOST, REPLY_LOST, BROKEN, JUNK };
        c->latency_ns = (int64_t)rng_below(c->fault_rng, 2000) * MS;
        return rng_below(c->fault_rng, 3) ? FINE : kinds[rng_below(c->fault_rng, ARRAY_SIZE(kinds))];
    }
    return c->fault_next < c->fault_count ? c->faults[c->fault_next++] : FINE;
}

static void apply(struct candidate *c, enum fault fault, const char *method, const char *body,
                  struct http_response *ret)
{
    if (fault == RIVAL)
        hold_by("rival", 15);
    ret->outcome = fault == UNREACHABLE                           ? HTTP_UNSENT
                   : fault == REQUEST_LOST || fault == REPLY_LOST ? HTTP_LOST
                                                                  : HTTP_ANSWERED;
    ret->status = fault == FORBIDDEN ? 403 : fault == BROKEN ? 500 : 0;
    if (fault != UNREACHABLE && fault != REQUEST_LOST && !ret->status)
        ret->status = serve(method, body);
    if (fault == STOLEN)
        hold_by("webhook", 15);
    if (ret->outcome != HTTP_ANSWERED) {
        ret->status = 0;
        error_set(&ret->error, 0, "a fault of the test");
    } else {
        strbuf_puts(ret->body, fault == JUNK            ? "<html>"
                               : ret->status / 100 == 2 ? stored
                                                        : "{\"kind\":\"Status\",\"message\":\"no\"}");
    }
    size_t len = strlen(c->requests);
    snprintf(c->requests + len, sizeof(c->requests) - len, "%s %d,", method, ret->status);
}

static void simulated_send(void *user, const char *method, struct str path, struct str body,
                           int64_t timeout_ms,
                           void (*done)(struct leader_lease *lease, const struct http_response *response),
                           struct leader_lease *lease)
{
    struct candidate *c = user;
    enum fault fault = next_fault(c);
    bool collection = strcmp(method, "POST") == 0;
    assert_str(path, collection ? PATH : PATH "/berth");
    assert_true(timeout_ms > 0 && timeout_ms <= 5000);
    if (body.len)
        snprintf(c->body, sizeof(c->body), STR_FMT, STR_ARG(body));
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_str(&text, body);
    int64_t latency_ns = c->latency_ns;
    bool late = latency_ns > timeout_ms * MS;
    if (late) { /* it arrives, but the client has given up */
        latency_ns = timeout_ms * MS;
        fault = fault == FINE ? REPLY_LOST : fault;
    }
    pass(latency_ns / 2);
    _cleanup_(strbuf_release) struct strbuf answer = { 0 };
    struct http_response response = { .content_type = STR("application/json"), .body = &answer };
    apply(c, fault, method, text.text ? text.text : "", &response);
    pass(latency_ns - latency_ns / 2);
    done(lease, &response);
}

static enum presence simulated_look(void *user _unused_, struct str holder,
                                    struct leader_lease *lease _unused_)
{
    return ended && str_eq(holder, str_from(ended)) ? PRESENCE_ENDED : PRESENCE_UNKNOWN;
}

static void on_started(void *user)
{
    ((struct candidate *)user)->started++;
}

static void on_lost(void *user)
{
    struct candidate *c = user;
    c->lost++;
    assert_false(lease_valid(c->lease));
}

static void on_term_end(void *user)
{
    ((struct candidate *)user)->terms_ended++;
}

static void on_slow_path(void *user)
{
    ((struct candidate *)user)->slow_paths++;
}

static void on_new_leader(void *user, struct str identity)
{
    struct candidate *c = user;
    size_t len = strlen(c->leaders);
    snprintf(c->leaders + len, sizeof(c->leaders) - len, STR_FMT ",", STR_ARG(identity));
}

static void on_event(void *user, const struct event_subject *lease, struct str note)
{
    struct candidate *c = user;
    assert_str(lease->namespace, "kube-system");
    assert_str(lease->name, "berth");
    assert_str(lease->uid, "u-1");
    size_t len = strlen(c->events);
    snprintf(c->events + len, sizeof(c->events) - len, STR_FMT ",", STR_ARG(note));
}

static struct candidate *candidate_with(const char *name, int64_t lease_ms, int64_t renew_ms,
                                        int64_t retry_ms)
{
    struct candidate *c = &all[all_count++];
    *c = (struct candidate){ .due_ns = clock_ns };
    snprintf(c->name, sizeof(c->name), "%s", name);
    c->host = (struct lease_host){ simulated_now,  simulated_wall, simulated_random,
                                   simulated_send, simulated_look, c };
    struct lease_options options = {
        .namespace = STR("kube-system"),
        .name = STR("berth"),
        .identity = str_from(c->name),
        .lease_duration_ms = lease_ms,
        .renew_deadline_ms = renew_ms,
        .retry_period_ms = retry_ms,
        .on_started = on_started,
        .on_lost = on_lost,
        .on_term_end = on_term_end,
        .on_slow_path = on_slow_path,
        .coordinated = is_coordinated,
        .on_new_leader = on_new_leader,
        .on_event = on_event,
        .user = c,
        .host = &c->host,
    };
    struct error err;
    if (lease_new(&options, &c->lease, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static struct candidate *candidate(const char *name)
{
    return candidate_with(name, 15000, 10000, 2000);
}

static int each_before(void **state _unused_)
{
    clock_ns = 1000 * SECOND;
    all_count = 0;
    version = 0;
    ended = NULL;
    is_coordinated = false;
    return 0;
}

static int each_after(void **state _unused_)
{
    for (size_t i = 0; i < all_count; i++)
        lease_free(all[i].lease);
    all_count = 0;
    free(stored);
    stored = NULL;
    return 0;
}

#define faults(c, ...) \
    do { \
        const enum fault list_[] = { __VA_ARGS__ }; \
        memcpy((c)->faults, list_, sizeof(list_)); \
        (c)->fault_count = ARRAY_SIZE(list_); \
        (c)->fault_next = 0; \
    } while (0)

/* The requests since the last call. */
#define assert_requests(c, want) \
    do { \
        assert_string_equal((c)->requests, (want)); \
        (c)->requests[0] = '\0'; \
    } while (0)

/* A candidate that has just become the leader. */
static inline struct candidate *leader(const char *name)
{
    struct candidate *c = candidate(name);
    pass(0);
    assert_int_equal(c->started, 1);
    assert_true(lease_valid(c->lease));
    c->requests[0] = '\0';
    return c;
}

#endif
