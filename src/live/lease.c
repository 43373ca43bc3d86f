/* lease.c: the state machine of leader election, one attempt at a time, on the loop of the api.
 *
 *     attempt:  leading, and seen lately?  ──yes──▶ PUT ──200──▶ renewed
 *                          │ no                      │ anything else, a lost answer too
 *                          ▼                         ▼
 *                    GET ◀────────────────────────────
 *                     ├─ 404 ──────────────────────▶ POST
 *                     ├─ another's, seen to change within its duration, and not known to have ended ──▶ not ours
 *                     ├─ held by none, or ended, and we lead ──▶ not ours any more
 *                     └─ ours, held by none, or ended ──▶ PUT
 *
 * Every PUT carries the resource version of what was read, so that of two candidates only one is answered with a
 * yes. Nothing but such a yes makes a leader; an answer that did not come makes none, and the Lease is read
 * again. The time of a renewal counts from before it was sent. A leader that was followed does not lead again, even
 * if the follower has gone: what it wrote is not known here.
 *
 * One request is under way at a time. What follows its answer is in `then`: the next request of the attempt, or the end
 * of it, which says when the next attempt is due.
 *
 * `record`, `state` and all that is not atomic belong to the loop's thread. */
#include "live/lease.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "live/lease_impl.h"

#define JITTER_FACTOR 1.2

enum { RELEASE_ATTEMPTS = 3, OVERDUE_LOOKS = 4 };

static int64_t now_ns(const struct leader_lease *lease)
{
    return lease->host.now_ns(lease->host.user);
}

static bool holds(const struct leader_lease *lease)
{
    return str_eq(strbuf_slice(&lease->record.holder), lease->options.identity);
}

/* Until when the holder is entitled to it, by what we saw and our clock. What one that has ended sent may be on its
 * way for as long as what a leader sends at the end of its lease. */
static int64_t entitled_until_ns(const struct leader_lease *lease)
{
    int64_t seen_ns = lease->observed_ns, ends_ns = seen_ns + lease->record.duration_s * NS_PER_S;
    int64_t on_its_way_ns = lease->duration_s * NS_PER_S - lease->valid_span_ms * NS_PER_MS;
    return lease->ended_ns ? MIN(ends_ns, MAX(seen_ns, lease->ended_ns) + on_its_way_ns) : ends_ns;
}

static bool fresh(const struct leader_lease *lease, int64_t at_ns)
{
    return lease->record.text.len && entitled_until_ns(lease) > at_ns;
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

/* ---- requests ---- */

/* Requests that were sent before are looked at soon: on_expiry(). */
static void end_validity(struct leader_lease *lease)
{
    atomic_store(&lease->valid_until_ns, 0);
    if (lease->loop && lease->state == LEASE_LEADING)
        loop_timer_set(lease->loop, &lease->expiry, monotonic_ns());
}

/* A Lease that the server sent. */
static int take(struct leader_lease *lease, const struct http_response *response, bool ours,
                struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf before = { 0 };
    strbuf_str(&before, strbuf_slice(&lease->record.spec));
    int r = lease_record_read(&lease->record, strbuf_slice(response->body), err);
    if (r == 0 && (ours || !str_eq(strbuf_slice(&before), strbuf_slice(&lease->record.spec))))
        atomic_store(&lease->observed_ns, now_ns(lease));
    if (r == 0 && !holds(lease))
        end_validity(lease); /* the server knows better */
    return r;
}

/* The status, 0: no answer. `err` is filled in unless it was a yes. */
static int status_of(const struct http_response *response, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_status status = { 0 };
    if (rest_is_yes(response))
        return response->status;
    rest_status(response, &arena, &status);
    error_set(err, 0, STR_FMT, STR_ARG(rest_sentence(response, &status, &arena)));
    return response->outcome == HTTP_ANSWERED ? response->status : 0;
}

static void on_read(struct leader_lease *lease, const struct http_response *response)
{
    struct error err = { 0 };
    int status = status_of(response, &err);
    int r = status == 200 ? take(lease, response, false, &err) : status == 404 ? -ENOENT : -EIO;
    lease->then(lease, r, &err);
}

static void on_written(struct leader_lease *lease, const struct http_response *response)
{
    struct error err = { 0 };
    int status = status_of(response, &err);
    int r = rest_is_yes(response) ? take(lease, response, true, &err) : status == 409 ? -EEXIST : -EIO;
    if (r == 0 && !str_eq(strbuf_slice(&lease->record.holder), lease->holder))
        r = error_set(&err, -EIO, "the server changed the holder on the way");
    lease->then(lease, r, &err);
}

/* Sends a request that may take until lease->until_ns. */
static void send_request(struct leader_lease *lease, const char *method, struct str path, struct str body,
                         response_fn *done)
{
    int64_t left_ms = (lease->until_ns - now_ns(lease)) / NS_PER_MS;
    if (left_ms <= 0) {
        lease_respond_without(lease, done, HTTP_UNSENT, "no time is left");
        return;
    }
    lease->wrote |= body.len > 0;
    lease->host.send(lease->host.user, method, path, body, MIN(left_ms, lease->request_timeout_ms), done,
                     lease);
}

static void read_lease(struct leader_lease *lease, next_fn *then)
{
    lease->then = then;
    send_request(lease, "GET", lease->path, (struct str){ 0 }, on_read);
}

/* PUT, or POST where there is none yet. */
static void write_lease(struct leader_lease *lease, const struct lease_change *change, next_fn *then)
{
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    bool exists = lease->record.text.len > 0;
    lease_record_write(&lease->record, lease->options.namespace, lease->options.name, change, &body);
    lease->holder = change->holder;
    lease->sent_ns = now_ns(lease);
    lease->then = then;
    send_request(lease, exists ? "PUT" : "POST", exists ? lease->path : lease->collection_path,
                 strbuf_slice(&body), on_written);
}

/* Writes ourselves as the holder. */
static void hold(struct leader_lease *lease, next_fn *then)
{
    bool exists = lease->record.text.len, same_term = exists && holds(lease);
    int32_t transitions = lease->record.transitions;
    const struct lease_change change = {
        .holder = lease->options.identity,
        .duration_s = lease->duration_s,
        .transitions = transitions + (exists && !same_term && transitions < INT32_MAX),
        .renew_us = lease->host.wall_us(lease->host.user),
        .new_term = !same_term,
    };
    write_lease(lease, &change, then);
}

/* Timers run by another clock than the lease: they look again. */
static void on_expiry(struct loop_timer *timer)
{
    struct leader_lease *lease = container_of(timer, struct leader_lease, expiry);
    int64_t left_ns = atomic_load(&lease->valid_until_ns) - now_ns(lease);
    if (left_ns > 0)
        loop_timer_set(lease->loop, timer, monotonic_ns() + left_ns);
    else if (lease->options.on_expired)
        lease->options.on_expired(lease->options.user);
}

/* The Lease is ours: others may take it when it ends, counted from before it was sent. */
static void set_valid(struct leader_lease *lease)
{
    if (lease->loop)
        loop_timer_set(lease->loop, &lease->expiry, monotonic_ns());
    atomic_store(&lease->valid_until_ns, lease->sent_ns + lease->valid_span_ms * NS_PER_MS);
    lease_guard_move(&lease->guard, lease->sent_ns + lease->guard_span_ms * NS_PER_MS,
                     lease->sent_ns + lease->duration_s * NS_PER_S);
}

/* ---- an attempt ---- */

static void attempted(struct leader_lease *lease, bool succeeded);

static void on_slow_held(struct leader_lease *lease, int r, struct error *err)
{
    if (r == 0)
        set_valid(lease);
    else
        log_error(err,
                  lease->creates               ? "Error initially creating lease lock"
                  : lease->options.coordinated ? "Failed to update lock"
                                               : "Failed to update lease",
                  log_str("lock", lease->lock_name));
    attempted(lease, r == 0);
}

/* The Lease was read, so the server answers: what the holder sent before it ended will soon have arrived. */
static void look_at_holder(struct leader_lease *lease)
{
    struct str holder = strbuf_slice(&lease->record.holder);
    bool is_others = holder.len && !holds(lease);
    if (!is_others || !str_eq(holder, strbuf_slice(&lease->reported)))
        lease->ended_ns = 0; /* nothing is known of the holder, or it is a new one */
    if (is_others && !lease->ended_ns && lease->host.look &&
        lease->host.look(lease->host.user, holder, lease) == PRESENCE_ENDED) {
        log_info(2, "The process that holds the lease has ended", log_str("lock", lease->lock_name),
                 log_str("holder", holder));
        lease->ended_ns = now_ns(lease);
    }
}

/* May the Lease, which was read, be written? */
static bool may_take(struct leader_lease *lease)
{
    if (lease->record.holder.len && !holds(lease) && fresh(lease, lease->start_ns)) {
        log_info(4, "Lease is held by and has not yet expired", log_str("lock", lease->lock_name),
                 log_str("holder", strbuf_slice(&lease->record.holder)));
        return false;
    }
    if (lease->state == LEASE_LEADING && !holds(lease)) {
        log_info(0, "Lease was held by another in between", log_str("lock", lease->lock_name));
        return false;
    }
    return true;
}

/* The same where the API server assigns it. A candidate that did not take what it was given in time leaves it to be
 * assigned again; the leader's Lease is its own until it says otherwise. */
static bool may_take_assigned(struct leader_lease *lease)
{
    const struct log_value lock = log_str("lock", lease->lock_name);
    if (lease->state == LEASE_ACQUIRING && !fresh(lease, lease->start_ns)) {
        log_info(0, "Lease has expired", lock);
    } else if (!holds(lease)) {
        log_info(6, "Lease is held and has not yet expired", lock,
                 log_str("holder", strbuf_slice(&lease->record.holder)));
    } else if (lease->record.preferred.len) {
        log_info(4, "Lease is marked as 'end of term'", lock);
        lease->term_ended = lease->state == LEASE_LEADING;
    } else {
        if (lease->options.on_slow_path)
            lease->options.on_slow_path(lease->options.user);
        return true;
    }
    return false;
}

/* There is no Lease: a new one is written, unless that is left to the API server. */
static bool may_create(struct leader_lease *lease)
{
    struct strbuf uid = lease->record.uid; /* that events are about */
    lease->record.uid = (struct strbuf){ 0 };
    lease_record_release(&lease->record);
    lease->record = (struct lease_record){ .uid = uid };
    end_validity(lease);
    if (!lease->options.coordinated)
        return true;
    log_info(0, "Lease lock not found", log_str("lock", lease->lock_name));
    lease->followed |= lease->state == LEASE_LEADING;
    return false;
}

static void on_slow_read(struct leader_lease *lease, int r, struct error *err)
{
    bool goes_on = false;
    lease->creates = r == -ENOENT;
    if (r == -ENOENT) {
        goes_on = may_create(lease);
    } else if (r < 0) {
        log_error(err, "Error retrieving lease lock", log_str("lock", lease->lock_name));
    } else if (lease->options.coordinated) {
        goes_on = may_take_assigned(lease);
    } else {
        look_at_holder(lease);
        goes_on = may_take(lease);
    }
    lease->followed |= r == 0 && lease->state == LEASE_LEADING && !holds(lease);
    if (goes_on)
        hold(lease, on_slow_held);
    else
        attempted(lease, false);
}

static void read_and_hold(struct leader_lease *lease)
{
    if (lease->state == LEASE_LEADING && !lease->options.coordinated && lease->options.on_slow_path)
        lease->options.on_slow_path(lease->options.user);
    read_lease(lease, on_slow_read);
}

static void on_fast_held(struct leader_lease *lease, int r, struct error *err)
{
    if (r == 0) {
        set_valid(lease);
        attempted(lease, true);
        return;
    }
    log_info(2, "Failed to update lease optimistically, falling back to slow path",
             log_str("lock", lease->lock_name), log_str("err", str_from(err->text)));
    read_and_hold(lease);
}

static void attempt(struct leader_lease *lease, int64_t until_ns)
{
    lease->start_ns = now_ns(lease);
    lease->until_ns = until_ns;
    if (!lease->options.coordinated && !lease->overdue && lease->record.text.len && holds(lease) &&
        fresh(lease, lease->start_ns))
        hold(lease, on_fast_held);
    else
        read_and_hold(lease);
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

/* When the next attempt is due. The clock of the lease is none that a timer has: in steps, then. */
static void set_timer(struct leader_lease *lease)
{
    if (!lease->loop)
        return;
    int64_t left_ns = MAX(lease->due_ns - now_ns(lease), 0);
    loop_timer_set(lease->loop, &lease->timer,
                   lease->due_ns == INT64_MAX ? INT64_MAX : monotonic_ns() + MIN(left_ns, NS_PER_S));
}

static int64_t acquired(struct leader_lease *lease, bool succeeded)
{
    report_leader(lease);
    if (!succeeded) {
        log_info(4, "Failed to acquire lease", log_str("lock", lease->lock_name));
        double stretch = 1 + JITTER_FACTOR * lease->host.random(lease->host.user);
        int64_t now = now_ns(lease), ends_ns = entitled_until_ns(lease);
        int64_t due_ns = now + (int64_t)((double)lease->options.retry_period_ms * stretch) * NS_PER_MS;
        bool is_held = !lease->options.coordinated && lease->record.holder.len && ends_ns > now;
        return is_held ? MIN(due_ns, ends_ns) : due_ns; /* no later than it can be had */
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

/* Nothing is decided from now on. What is on its way may be finished for as long as the Lease is valid. */
static void end_term(struct leader_lease *lease)
{
    log_info(0, "The term has ended, the lease is given back", log_str("lock", lease->lock_name),
             log_str("preferredHolder", strbuf_slice(&lease->record.preferred)));
    event(lease, "stopped leading");
    if (lease->options.on_term_end)
        lease->options.on_term_end(lease->options.user);
}

/* A round begins every retry_period after the last one ended, and has renew_deadline to succeed; within it
 * there is an attempt every retry_period. After a round in vain the Lease may still be this process's, if no server
 * could be asked: then no other leads either, and this process goes on once it has read that this is so. It does not
 * write the Lease before: where only answers are lost, others must see it end. */
static int64_t renewed(struct leader_lease *lease, bool succeeded)
{
    int64_t end_ns = now_ns(lease), retry_ns = lease->options.retry_period_ms * NS_PER_MS;
    int64_t look_ns = retry_ns / OVERDUE_LOOKS; /* a read that nothing answers costs little */
    report_leader(lease);
    if (lease->term_ended) {
        end_term(lease);
        return INT64_MAX;
    }
    if (succeeded) {
        log_info(5, "Successfully renewed lease", log_str("lock", lease->lock_name));
        lease->round_until_ns = 0;
        lease->overdue = false;
        return end_ns + retry_ns;
    }
    if (end_ns < lease->round_until_ns && !(lease->overdue && lease->followed))
        return MIN(MAX(lease->start_ns + (lease->overdue ? look_ns : retry_ns), end_ns),
                   lease->round_until_ns);
    if (atomic_load(&lease->released))
        return INT64_MAX;
    if (lease->followed) {
        lose(lease);
        return INT64_MAX;
    }
    if (!lease->overdue)
        log_warning("The lease was not renewed in time, nothing is written until it is",
                    log_str("lock", lease->lock_name));
    lease->overdue = true;
    lease->round_until_ns = 0;
    return end_ns + look_ns;
}

static void attempted(struct leader_lease *lease, bool succeeded)
{
    lease->due_ns = lease->state == LEASE_LEADING ? renewed(lease, succeeded) : acquired(lease, succeeded);
    set_timer(lease);
}

static void renew(struct leader_lease *lease)
{
    lease->start_ns = now_ns(lease);
    if (!lease->round_until_ns)
        lease->round_until_ns = lease->start_ns + lease->options.renew_deadline_ms * NS_PER_MS;
    if (lease->start_ns < lease->round_until_ns)
        attempt(lease, lease->round_until_ns);
    else
        attempted(lease, false);
}

int64_t lease_step(struct leader_lease *lease)
{
    lease->due_ns = INT64_MAX;
    if (lease->state == LEASE_NEW) {
        log_info(0, "Attempting to acquire leader lease...", log_str("lock", lease->lock_name));
        lease->state = LEASE_ACQUIRING;
    }
    if (lease->state == LEASE_ACQUIRING)
        attempt(lease, INT64_MAX);
    else if (lease->state == LEASE_LEADING)
        renew(lease);
    return lease->due_ns;
}

/* ---- the end ---- */

/* Nothing goes on, and no response comes. */
static void stop(void *context)
{
    struct leader_lease *lease = context;
    loop_timer_stop(lease->loop, &lease->timer);
    loop_timer_stop(lease->loop, &lease->expiry);
    presence_forget(&lease->presence);
    lease_api_abandon(lease);
}

static void gave_back(struct leader_lease *lease, int r, struct error *err)
{
    if (r < 0)
        log_error(err, "Failed to release lease", log_str("lock", lease->lock_name));
    if (lease->released_at)
        completion_done(lease->released_at);
}

static void on_cleared(struct leader_lease *lease, int r, struct error *err);

static void on_read_to_clear(struct leader_lease *lease, int r, struct error *err)
{
    if (r < 0 || !holds(lease)) {
        gave_back(lease, r == -ENOENT ? 0 : r, err);
        return;
    }
    const struct lease_change change = {
        .duration_s = 1,
        .transitions = lease->record.transitions,
        .renew_us = lease->host.wall_us(lease->host.user),
        .new_term = true,
    };
    write_lease(lease, &change, on_cleared);
}

/* A write of ours that was still on its way makes for a conflict; then the Lease is read again. */
static void on_cleared(struct leader_lease *lease, int r, struct error *err)
{
    if (r == -EEXIST && --lease->releases > 0)
        read_lease(lease, on_read_to_clear);
    else
        gave_back(lease, r, err);
}

/* Frees the Lease if we hold it, as far as the server knows: a write whose answer was lost may have made us so. */
static void give_back(void *context)
{
    struct leader_lease *lease = context;
    bool was_over = lease->state == LEASE_OVER;
    if (lease->loop)
        stop(lease);
    lease->state = LEASE_OVER;
    lease->releases = RELEASE_ATTEMPTS;
    lease->until_ns = now_ns(lease) + lease->options.renew_deadline_ms * NS_PER_MS;
    if (!was_over)
        atomic_store(&lease->leading, false);
    if (!was_over && lease->wrote)
        read_lease(lease, on_read_to_clear);
    else
        gave_back(lease, 0, NULL);
}

void lease_renounce(struct leader_lease *lease)
{
    atomic_store(&lease->released, true);
}

void lease_release(struct leader_lease *lease)
{
    lease_renounce(lease);
    if (!lease->loop) {
        give_back(lease);
        return;
    }
    struct completion released;
    completion_init(&released);
    lease->released_at = &released;
    loop_run(lease->loop, give_back, lease);
    completion_wait(&released, INT64_MAX);
    lease->released_at = NULL;
    completion_release(&released);
}

static int64_t attempt_now(struct leader_lease *lease)
{
    lease->due_ns = now_ns(lease);
    set_timer(lease);
    return lease->due_ns;
}

/* The next attempt is due; one that is under way asks when it has read the Lease. */
static void on_holder_ended(struct presence_watch *watch)
{
    struct leader_lease *lease = container_of(watch, struct leader_lease, presence);
    if (!lease->under_way && lease->state == LEASE_ACQUIRING)
        attempt_now(lease);
}

int64_t lease_retry(struct leader_lease *lease)
{
    bool failed =
        lease->state == LEASE_LEADING && !lease->term_ended && (lease->round_until_ns || lease->overdue);
    if (!lease->under_way && (failed || lease->state == LEASE_ACQUIRING))
        return attempt_now(lease);
    return lease->due_ns;
}

static void on_timer(struct loop_timer *timer)
{
    struct leader_lease *lease = container_of(timer, struct leader_lease, timer);
    if (now_ns(lease) < lease->due_ns)
        set_timer(lease);
    else
        lease_step(lease);
}

static void start(void *context)
{
    set_timer(context);
}

void lease_start(struct leader_lease *lease)
{
    lease->loop = api_loop(lease->options.api);
    loop_run(lease->loop, start, lease);
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
    lease->options = *options;
    name_paths(lease);
    lease->request_timeout_ms = MAX(options->renew_deadline_ms / 2, 1000);
    lease->duration_s = (int32_t)(options->lease_duration_ms / 1000);
    lease->valid_span_ms = MIN(options->renew_deadline_ms, lease->duration_s * INT64_C(1000));
    /* Three quarters of the time between the two: the rest is for a busy machine. */
    lease->guard_span_ms = (lease->valid_span_ms + lease->duration_s * INT64_C(3000)) / 4;
    lease->host = options->host ? *options->host : lease_api_host;
    lease->timer.ring = on_timer;
    lease->timeout.ring = lease_api_timeout;
    lease->expiry.ring = on_expiry;
    lease->presence.on_end = on_holder_ended;
    *ret = lease;
    return 0;
}

void lease_free(struct leader_lease *lease)
{
    if (!lease)
        return;
    atomic_store(&lease->released, true);
    if (lease->loop)
        loop_run_wait(lease->loop, stop, lease);
    lease_guard_end(&lease->guard);
    lease_record_release(&lease->record);
    strbuf_release(&lease->reported);
    arena_release(&lease->arena);
    free(lease);
}
