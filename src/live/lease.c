/* lease.c: the state machine of leader election, one attempt at a time, and the thread that runs it.
 *
 *     attempt:  leading, and seen lately?  ──yes──▶ PUT ──200──▶ renewed
 *                          │ no                      │ anything else, a lost answer too
 *                          ▼                         ▼
 *                    GET ◀────────────────────────────
 *                     ├─ 404 ──────────────────────▶ POST
 *                     ├─ another's, seen to change within its duration ──▶ not ours
 *                     ├─ nobody's, or ended, and we lead ──▶ not ours any more
 *                     └─ ours, nobody's, or ended ──▶ PUT
 *
 * Every PUT carries the resource version of what was read, so that of two who try only one is answered with a
 * yes. Nothing but such a yes makes a leader; an answer that did not come makes none, and the Lease is read
 * again. The time of a renewal counts from before it was sent. A leader that was followed does not lead again, even
 * if who followed has gone: what that one wrote is not known here.
 *
 * `record`, `state` and all that is not atomic belong to the thread that steps. */
#include "live/lease.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "client/rest.h"
#include "live/lease_guard.h"
#include "live/lease_record.h"
#include "live/lease_world.h"

#define JITTER_FACTOR 1.2

enum { RELEASE_ATTEMPTS = 3 };
enum lease_state { LEASE_NEW, LEASE_ACQUIRING, LEASE_LEADING, LEASE_OVER };

struct leader_lease {
    struct lease_options options; /* its texts in the arena */
    struct arena arena;
    struct api_world *own_world; /* NULL: a test's */
    const struct lease_world *world;
    struct str collection_path, path, lock_name; /* lock_name: "namespace/name" */
    int64_t request_timeout_ms;
    int32_t duration_s;    /* that the Lease tells others, which knows whole seconds only */
    int64_t valid_span_ms; /* after a renewal was sent, see lease_valid() */
    int64_t guard_span_ms; /* likewise, until the guard looks: see lease_guard_writer() */

    enum lease_state state;
    struct lease_record record;     /* as it was read or written last */
    struct strbuf reported;         /* the leader that on_new_leader was told */
    bool wrote;                     /* was a write of ours sent, whatever came of it? */
    int64_t round_until_ns;         /* a renewal is being tried until then; 0: none */
    _Atomic int64_t observed_ns;    /* when its spec was seen to change last */
    _Atomic int64_t valid_until_ns; /* see lease_valid() */
    atomic_bool leading, released;  /* released: whatever comes, it is not valid */
    struct lease_guard guard;
    atomic_bool guarded;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop, gives_back, has_thread;
    pthread_t thread;
};

static int64_t now_ns(const struct leader_lease *lease)
{
    return lease->world->now_ns(lease->world->user);
}

static bool holds(const struct leader_lease *lease)
{
    return str_eq(strbuf_slice(&lease->record.holder), lease->options.identity);
}

/* Is whoever holds it entitled to, by what we saw and our clock? */
static bool fresh(const struct leader_lease *lease, int64_t at_ns)
{
    return lease->record.text.len && lease->observed_ns + lease->record.duration_s * NS_PER_S > at_ns;
}

bool lease_valid(const struct leader_lease *lease)
{
    return !atomic_load(&lease->released) && now_ns(lease) < atomic_load(&lease->valid_until_ns);
}

void lease_guard_writer(struct leader_lease *lease, bool (*at_risk)(const void *user), const void *user)
{
    struct error err;
    if (!atomic_load(&lease->guarded) && !atomic_exchange(&lease->guarded, true) &&
        lease_guard_begin(&lease->guard, at_risk, user, &err) < 0)
        log_error(&err, "The lease is not guarded against a stop of this process");
}

int lease_check(const struct leader_lease *lease, int64_t tolerated_ms, struct error *err)
{
    int64_t limit_ns = (lease->options.lease_duration_ms + tolerated_ms) * NS_PER_MS;
    if (!atomic_load(&lease->leading) || now_ns(lease) - atomic_load(&lease->observed_ns) <= limit_ns)
        return 0;
    return error_set(err, -ETIMEDOUT, "failed election to renew leadership on lease " STR_FMT,
                     STR_ARG(lease->options.name));
}

/* Requests */

static void answer_release(struct lease_answer *answer)
{
    strbuf_release(&answer->body);
}

/* Sends a request, and waits until `until_ns` at most. Returns the status, 0: no answer. `err` is filled in
 * unless it was a yes. */
static int ask(struct leader_lease *lease, const char *method, struct str path, struct str body,
               int64_t until_ns, struct lease_answer *ret, struct error *err)
{
    int64_t left_ms = (until_ns - now_ns(lease)) / NS_PER_MS;
    *ret = (struct lease_answer){ .outcome = HTTP_UNSENT };
    if (left_ms <= 0) {
        error_set(err, 0, "no time is left");
        return 0;
    }
    lease->wrote |= body.len > 0;
    lease->world->exchange(lease->world->user, method, path, body, MIN(left_ms, lease->request_timeout_ms),
                           ret);
    if (ret->outcome != HTTP_ANSWERED) {
        *err = ret->error;
        return 0;
    }
    if (ret->status != 200 && ret->status != 201)
        lease_refusal(ret->status, strbuf_slice(&ret->body), err);
    return ret->status;
}

/* A Lease that the server sent. */
static int take(struct leader_lease *lease, const struct lease_answer *answer, bool ours, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf before = { 0 };
    strbuf_str(&before, strbuf_slice(&lease->record.spec));
    int r = lease_record_read(&lease->record, strbuf_slice(&answer->body), err);
    if (r == 0 && (ours || !str_eq(strbuf_slice(&before), strbuf_slice(&lease->record.spec))))
        atomic_store(&lease->observed_ns, now_ns(lease));
    if (r == 0 && !holds(lease))
        atomic_store(&lease->valid_until_ns, 0); /* the server knows better */
    return r;
}

static int read_lease(struct leader_lease *lease, int64_t until_ns, struct error *err)
{
    _cleanup_(answer_release) struct lease_answer answer;
    int status = ask(lease, "GET", lease->path, (struct str){ 0 }, until_ns, &answer, err);
    return status == 200 ? take(lease, &answer, false, err) : status == 404 ? -ENOENT : -EIO;
}

/* PUT, or POST where there is none yet. */
static int write_lease(struct leader_lease *lease, const struct lease_change *change, int64_t until_ns,
                       struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    _cleanup_(answer_release) struct lease_answer answer;
    bool exists = lease->record.text.len > 0;
    lease_record_write(&lease->record, lease->options.namespace, lease->options.name, change, &body);
    int status = ask(lease, exists ? "PUT" : "POST", exists ? lease->path : lease->collection_path,
                     strbuf_slice(&body), until_ns, &answer, err);
    if (status != 200 && status != 201)
        return status == 409 ? -EEXIST : -EIO;
    int r = take(lease, &answer, true, err);
    if (r == 0 && !str_eq(strbuf_slice(&lease->record.holder), change->holder))
        r = error_set(err, -EIO, "the server changed the holder on the way");
    return r;
}

/* Writes ourselves as the holder. */
static int hold(struct leader_lease *lease, int64_t until_ns, struct error *err)
{
    bool same_term = lease->record.text.len && holds(lease);
    int32_t transitions = lease->record.transitions;
    struct lease_change change = {
        .holder = lease->options.identity,
        .duration_s = lease->duration_s,
        .transitions = same_term || !lease->record.text.len ? transitions
                       : transitions < INT32_MAX            ? transitions + 1
                                                            : transitions,
        .renew_us = lease->world->wall_us(lease->world->user),
        .new_term = !same_term,
    };
    int64_t sent_ns = now_ns(lease);
    int r = write_lease(lease, &change, until_ns, err);
    if (r < 0)
        return r;
    atomic_store(&lease->valid_until_ns, sent_ns + lease->valid_span_ms * NS_PER_MS);
    lease_guard_move(&lease->guard, sent_ns + lease->guard_span_ms * NS_PER_MS,
                     sent_ns + lease->duration_s * NS_PER_S);
    return 0;
}

/* An attempt */

static bool read_and_hold(struct leader_lease *lease, int64_t start_ns, int64_t until_ns)
{
    struct error err;
    int r = read_lease(lease, until_ns, &err);
    if (r < 0 && r != -ENOENT) {
        log_error(&err, "Error retrieving lease lock", log_str("lock", lease->lock_name));
        return false;
    }
    if (r == -ENOENT) {
        lease_record_release(&lease->record);
        lease->record = (struct lease_record){ 0 };
        atomic_store(&lease->valid_until_ns, 0);
    } else if (lease->record.holder.len && !holds(lease) && fresh(lease, start_ns)) {
        log_info(4, "Lease is held by and has not yet expired", log_str("lock", lease->lock_name),
                 log_str("holder", strbuf_slice(&lease->record.holder)));
        return false;
    } else if (lease->state == LEASE_LEADING && !holds(lease)) {
        log_info(0, "Lease was held by another in between", log_str("lock", lease->lock_name));
        return false;
    }
    bool exists = r == 0;
    if (hold(lease, until_ns, &err) == 0)
        return true;
    log_error(&err, exists ? "Failed to update lease" : "Error initially creating lease lock",
              log_str("lock", lease->lock_name));
    return false;
}

static bool attempt(struct leader_lease *lease, int64_t until_ns)
{
    struct error err;
    int64_t start_ns = now_ns(lease);
    if (lease->record.text.len && holds(lease) && fresh(lease, start_ns)) {
        if (hold(lease, until_ns, &err) == 0)
            return true;
        log_info(2, "Failed to update lease optimistically, falling back to slow path",
                 log_str("lock", lease->lock_name), log_str("err", str_from(err.text)));
    }
    if (lease->state == LEASE_LEADING && lease->options.on_slow_path)
        lease->options.on_slow_path(lease->options.user);
    return read_and_hold(lease, start_ns, until_ns);
}

static void report_leader(struct leader_lease *lease)
{
    struct str holder = strbuf_slice(&lease->record.holder);
    if (str_eq(holder, strbuf_slice(&lease->reported)))
        return;
    strbuf_clear(&lease->reported);
    strbuf_str(&lease->reported, holder);
    if (lease->options.on_new_leader)
        lease->options.on_new_leader(lease->options.user, holder);
}

static void event(const struct leader_lease *lease, const char *what)
{
    const struct lease_options *o = &lease->options;
    _cleanup_(strbuf_release) struct strbuf note = { 0 };
    struct event_subject subject = {
        .namespace = o->namespace,
        .name = o->name,
        .uid = strbuf_slice(&lease->record.uid),
        .resource_version = strbuf_slice(&lease->record.resource_version),
    };
    strbuf_printf(&note, STR_FMT " %s", STR_ARG(o->identity), what);
    if (o->on_event)
        o->on_event(o->user, &subject, strbuf_slice(&note));
}

static int64_t acquire(struct leader_lease *lease)
{
    bool acquired = attempt(lease, INT64_MAX);
    report_leader(lease);
    if (!acquired) {
        log_info(4, "Failed to acquire lease", log_str("lock", lease->lock_name));
        double stretch = 1 + JITTER_FACTOR * lease->world->random(lease->world->user);
        return now_ns(lease) + (int64_t)((double)lease->options.retry_period_ms * stretch) * NS_PER_MS;
    }
    lease->state = LEASE_LEADING;
    atomic_store(&lease->leading, true);
    event(lease, "became leader");
    log_info(0, "Successfully acquired lease", log_str("lock", lease->lock_name));
    if (lease->options.on_started)
        lease->options.on_started(lease->options.user);
    return now_ns(lease);
}

static void lose(struct leader_lease *lease)
{
    lease->state = LEASE_OVER;
    atomic_store(&lease->valid_until_ns, 0);
    atomic_store(&lease->leading, false);
    log_info(0, "Failed to renew lease", log_str("lock", lease->lock_name),
             log_str("err", STR("context deadline exceeded")));
    event(lease, "stopped leading");
    if (lease->options.on_lost)
        lease->options.on_lost(lease->options.user);
}

/* A round begins every retry_period after the last one ended, and has renew_deadline to succeed; within it
 * there is an attempt every retry_period. */
static int64_t renew(struct leader_lease *lease)
{
    int64_t start_ns = now_ns(lease), retry_ns = lease->options.retry_period_ms * NS_PER_MS;
    if (!lease->round_until_ns)
        lease->round_until_ns = start_ns + lease->options.renew_deadline_ms * NS_PER_MS;
    bool renewed = start_ns < lease->round_until_ns && attempt(lease, lease->round_until_ns);
    report_leader(lease);
    int64_t end_ns = now_ns(lease);
    if (renewed) {
        log_info(5, "Successfully renewed lease", log_str("lock", lease->lock_name));
        lease->round_until_ns = 0;
        return end_ns + retry_ns;
    }
    if (end_ns < lease->round_until_ns)
        return MIN(MAX(start_ns + retry_ns, end_ns), lease->round_until_ns);
    if (!atomic_load(&lease->released))
        lose(lease);
    return INT64_MAX;
}

int64_t lease_step(struct leader_lease *lease)
{
    if (lease->state == LEASE_NEW) {
        log_info(0, "Attempting to acquire leader lease...", log_str("lock", lease->lock_name));
        lease->state = LEASE_ACQUIRING;
    }
    switch (lease->state) {
    case LEASE_ACQUIRING:
        return acquire(lease);
    case LEASE_LEADING:
        return renew(lease);
    default:
        return INT64_MAX;
    }
}

/* The end */

/* Frees the Lease if we hold it, as far as the server knows: a write whose answer was lost may have made us
 * so. One that is still on its way makes for a conflict; then it is looked at again. */
static int clear_holder(struct leader_lease *lease, struct error *err)
{
    int64_t until_ns = now_ns(lease) + lease->options.renew_deadline_ms * NS_PER_MS;
    int r = -EEXIST;
    for (int i = 0; i < RELEASE_ATTEMPTS && r == -EEXIST; i++) {
        r = read_lease(lease, until_ns, err);
        if (r < 0 || !holds(lease))
            return r == -ENOENT ? 0 : r;
        const struct lease_change change = {
            .duration_s = 1,
            .transitions = lease->record.transitions,
            .renew_us = lease->world->wall_us(lease->world->user),
            .new_term = true,
        };
        r = write_lease(lease, &change, until_ns, err);
    }
    return r;
}

static void give_back(struct leader_lease *lease)
{
    struct error err;
    if (lease->state == LEASE_OVER)
        return;
    lease->state = LEASE_OVER;
    atomic_store(&lease->leading, false);
    if (lease->wrote && clear_holder(lease, &err) < 0)
        log_error(&err, "Failed to release lease", log_str("lock", lease->lock_name));
}

/* The thread */

static bool wait_until(struct leader_lease *lease, int64_t until_ns)
{
    pthread_mutex_lock(&lease->lock);
    for (int64_t left_ns; !lease->stop && (left_ns = until_ns - now_ns(lease)) > 0;) {
        /* The clock of the lease is none that one can wait by: in steps, then. */
        int64_t wake_ns = monotonic_ns() + MIN(left_ns, NS_PER_S);
        struct timespec wake = { wake_ns / NS_PER_S, wake_ns % NS_PER_S };
        pthread_cond_timedwait(&lease->changed, &lease->lock, &wake);
    }
    bool stop = lease->stop;
    pthread_mutex_unlock(&lease->lock);
    return !stop;
}

static void *run(void *user)
{
    struct leader_lease *lease = user;
    int64_t next_ns = 0;
    while (wait_until(lease, next_ns))
        next_ns = lease_step(lease);
    if (lease->gives_back) {
        if (lease->own_world)
            api_world_interrupt(lease->own_world, false);
        give_back(lease);
    }
    return NULL;
}

static void end_thread(struct leader_lease *lease, bool gives_back)
{
    if (!lease->has_thread)
        return;
    pthread_mutex_lock(&lease->lock);
    lease->stop = true;
    lease->gives_back = gives_back;
    pthread_cond_signal(&lease->changed);
    if (lease->own_world)
        api_world_interrupt(lease->own_world, true);
    pthread_mutex_unlock(&lease->lock);
    pthread_join(lease->thread, NULL);
    lease->has_thread = false;
}

void lease_renounce(struct leader_lease *lease)
{
    atomic_store(&lease->released, true);
}

void lease_release(struct leader_lease *lease)
{
    lease_renounce(lease);
    if (lease->has_thread)
        end_thread(lease, true);
    else
        give_back(lease);
}

int lease_start(struct leader_lease *lease, struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(&lease->thread, NULL, run, lease);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r < 0)
        return error_set(err, r, "no thread for leader election: %s", strerror(-r));
    pthread_setname_np(lease->thread, "lease");
    lease->has_thread = true;
    return 0;
}

/* The rules of client-go. */
static int check_options(const struct lease_options *o, struct error *err)
{
    static const int64_t ms_max = INT64_C(1000) * INT32_MAX;
    const char *wrong = NULL;
    if (o->lease_duration_ms <= o->renew_deadline_ms)
        wrong = "leaseDuration must be greater than renewDeadline";
    else if ((double)o->renew_deadline_ms <= JITTER_FACTOR * (double)o->retry_period_ms)
        wrong = "renewDeadline must be greater than retryPeriod*JitterFactor";
    else if (o->retry_period_ms < 1)
        wrong = "retryPeriod must be greater than zero";
    else if (o->lease_duration_ms > ms_max)
        wrong = "leaseDuration is too long";
    else if (!o->identity.len)
        wrong = "Lock identity is empty";
    return wrong ? error_set(err, -EINVAL, "%s", wrong) : 0;
}

static void name_paths(struct leader_lease *lease)
{
    struct arena *arena = &lease->arena;
    struct lease_options *o = &lease->options;
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    o->namespace = arena_str(arena, o->namespace);
    o->name = arena_str(arena, o->name);
    o->identity = arena_str(arena, o->identity);
    lease->lock_name = arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(o->namespace), STR_ARG(o->name));
    strbuf_puts(&path, "/apis/coordination.k8s.io/v1");
    rest_path(&path, o->namespace, "leases", (struct str){ 0 });
    lease->collection_path = arena_str(arena, strbuf_slice(&path));
    strbuf_clear(&path);
    strbuf_puts(&path, "/apis/coordination.k8s.io/v1");
    rest_path(&path, o->namespace, "leases", o->name);
    lease->path = arena_str(arena, strbuf_slice(&path));
}

int lease_new(const struct lease_options *options, struct leader_lease **ret, struct error *err)
{
    int r = check_options(options, err);
    if (r < 0)
        return r;
    struct leader_lease *lease = xcalloc(1, sizeof(*lease));
    pthread_condattr_t attributes;
    lease->options = *options;
    name_paths(lease);
    lease->request_timeout_ms = MAX(options->renew_deadline_ms / 2, 1000);
    lease->duration_s = (int32_t)(options->lease_duration_ms / 1000);
    lease->valid_span_ms = MIN(options->renew_deadline_ms, lease->duration_s * INT64_C(1000));
    /* Three quarters of the time between the two: the rest is for a busy machine. */
    lease->guard_span_ms = (lease->valid_span_ms + lease->duration_s * INT64_C(3000)) / 4;
    if (!options->world)
        lease->own_world = api_world_new(options->api);
    lease->world = options->world ? options->world : api_world_get(lease->own_world);
    pthread_mutex_init(&lease->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&lease->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *ret = lease;
    return 0;
}

void lease_free(struct leader_lease *lease)
{
    if (!lease)
        return;
    atomic_store(&lease->released, true);
    end_thread(lease, false);
    lease_guard_end(&lease->guard);
    api_world_free(lease->own_world);
    lease_record_release(&lease->record);
    strbuf_release(&lease->reported);
    pthread_cond_destroy(&lease->changed);
    pthread_mutex_destroy(&lease->lock);
    arena_release(&lease->arena);
    free(lease);
}
