/* reload.c: see reload.h.
 *
 * The work is done in turns in the worker pool (net/reread.h), one at a time: a turn alone touches the file, the
 * generation under way and the watch. The core's thread answers and gives generations back, others request a reload or
 * read the configuration: what they share stands below `lock`. */
#include "cmd/reload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/plugins.h"
#include "cmd/reload_trial.h"
#include "config/change.h"
#include "net/file_watch.h"
#include "net/reread.h"
#include "observe/families.h"

enum { SLOW_TURN_MS = 10000 };

enum reload_result { RELOAD_APPLIED, RELOAD_REFUSED, RELOAD_UNCHANGED, RELOAD_RESULT_COUNT };

static const struct str result_names[RELOAD_RESULT_COUNT] = {
    [RELOAD_APPLIED] = STR("applied"),
    [RELOAD_REFUSED] = STR("refused"),
    [RELOAD_UNCHANGED] = STR("unchanged"),
};

struct reload {
    struct reload_options options;
    struct arena arena;
    struct scheduler_config fixed;  /* what counts after a restart only, as it is */
    struct file_watch *watch;       /* NULL: there is no file that could be read again */
    struct config_generation *next; /* the core has it and did not answer yet */
    struct metric *results[RELOAD_RESULT_COUNT], *success, *success_at;
    struct reread turns;
    uint64_t tried;         /* the last `taken` that was tried, whatever came of it */
    atomic_bool looking;    /* a turn is at the file */
    bool hangs;             /* it has been there for so long that this was logged */
    struct loop_fd inotify; /* of the watch; silent during a turn */
    bool watches;           /* it is known to the loop */
    int stop;               /* an eventfd that ends a trial which is under way */

    pthread_mutex_t lock;
    bool is_running;
    struct config_generation *current; /* in effect */
    struct list generations;           /* struct config_generation */
    bool requested;                    /* a look at the file */
    uint64_t taken;                    /* as in struct config_generation: what is wanted */
    struct reload_answer {
        bool is_there;
        int result;
        struct error error;
    } answer; /* of the core, about `next` */
};

static int64_t now_ms(void)
{
    return monotonic_ns() / NS_PER_MS;
}

static void begin_turn(void *context)
{
    reread_by(&((struct reload *)context)->turns, 0);
}

/* Under the lock: there is something to do. */
static void wake(struct reload *reload)
{
    if (reload->is_running)
        loop_run(reload->options.loop, begin_turn, reload);
}

static struct str path_of(const struct reload *reload)
{
    return reload->options.flags->config;
}

/* ---- generations ---- */
static void free_all(struct list *list)
{
    list_for_each(list, struct config_generation, generation, link)
        config_generation_free(generation);
}

void reload_retired(struct reload *reload, void *owner)
{
    struct config_generation *generation = owner;
    pthread_mutex_lock(&reload->lock);
    if (generation)
        generation->retired = true;
    wake(reload);
    pthread_mutex_unlock(&reload->lock);
}

/* The core may give the present one back before it is known that another has taken its place. */
static void free_retired(struct reload *reload)
{
    struct list retired = { 0 };
    pthread_mutex_lock(&reload->lock);
    list_for_each(&reload->generations, struct config_generation, generation, link)
        if (generation->retired && generation != reload->current) {
            list_remove(&reload->generations, &generation->link);
            list_append(&retired, &generation->link);
        }
    pthread_mutex_unlock(&reload->lock);
    free_all(&retired);
}

static void discard(struct reload *reload, struct config_generation *generation)
{
    pthread_mutex_lock(&reload->lock);
    list_remove(&reload->generations, &generation->link);
    pthread_mutex_unlock(&reload->lock);
    config_generation_free(generation);
}

/* ---- what came of it ---- */
/* The counter is the last: a reader that sees it change finds the gauges as they belong to it. */
static void count(struct reload *reload, enum reload_result result)
{
    gauge_set(reload->success, result != RELOAD_REFUSED);
    if (result == RELOAD_APPLIED)
        gauge_set(reload->success_at, (double)time(NULL));
    counter_add(reload->results[result], 1);
}

static void refuse(struct reload *reload, const struct error *err)
{
    count(reload, RELOAD_REFUSED);
    log_error(err, "Configuration refused, nothing changes", log_str("file", path_of(reload)),
              log_int("generation", (int64_t)reload->current->number));
    reload->options.on_event(reload->options.user, true, str_from(err->text));
}

static void warn_of_fixed(const struct reload *reload, const struct config_generation *generation)
{
    if (generation->fixed.len)
        log_warning("Some changes of the configuration need a restart", log_str("file", path_of(reload)),
                    log_str("fields", strbuf_slice(&generation->fixed)));
}

static void leave(struct reload *reload)
{
    count(reload, RELOAD_UNCHANGED);
    log_info(0, "Configuration unchanged", log_str("file", path_of(reload)),
             log_int("generation", (int64_t)reload->current->number));
}

static void apply(struct reload *reload, struct config_generation *generation)
{
    _cleanup_(strbuf_release) struct strbuf changes = { 0 }, note = { 0 };
    config_describe_change(strbuf_slice(&reload->current->json), strbuf_slice(&generation->json), &changes);
    generation->number = reload->current->number + 1;
    pthread_mutex_lock(&reload->lock);
    reload->current = generation;
    pthread_mutex_unlock(&reload->lock);
    count(reload, RELOAD_APPLIED);
    log_info(0, "Configuration reloaded", log_str("file", path_of(reload)),
             log_int("generation", (int64_t)generation->number), log_str("changes", strbuf_slice(&changes)));
    warn_of_fixed(reload, generation);
    strbuf_printf(&note, "Generation %llu of the configuration is in effect: %s",
                  (unsigned long long)generation->number, changes.text);
    if (generation->fixed.len)
        strbuf_printf(&note, "; a restart is needed for %s", generation->fixed.text);
    reload->options.on_event(reload->options.user, false, strbuf_slice(&note));
}

/* ---- a new file ---- */
static void on_answer(void *user, int result, const struct error *err)
{
    struct reload *reload = user;
    pthread_mutex_lock(&reload->lock);
    reload->answer.is_there = true;
    reload->answer.result = result;
    if (result < 0)
        reload->answer.error = *err;
    wake(reload);
    pthread_mutex_unlock(&reload->lock);
}

static void submit(struct reload *reload, struct config_generation *generation)
{
    pthread_mutex_lock(&reload->lock);
    list_append(&reload->generations, &generation->link);
    pthread_mutex_unlock(&reload->lock);
    reload->next = generation;
    core_reconfigure(reload->options.core,
                     &(struct engine_setup){ .config = &generation->config,
                                             .registry = plugins_registry(),
                                             .extenders = http_extenders_table(generation->extenders),
                                             .owner = generation },
                     on_answer, reload);
}

static void finish(struct reload *reload, struct reload_answer *answer)
{
    struct config_generation *generation = reload->next;
    reload->next = NULL;
    if (answer->result < 0) {
        error_prefix(&answer->error, STR_FMT, STR_ARG(path_of(reload)));
        refuse(reload, &answer->error);
        discard(reload, generation);
    } else {
        apply(reload, generation);
    }
}

/* Comments and the order of fields are no change. */
static bool means_the_same(struct reload *reload, struct config_generation *generation)
{
    struct strbuf *text = &reload->current->text, old = *text;
    if (!str_eq(strbuf_slice(&generation->json), strbuf_slice(&reload->current->json)))
        return false;
    *text = generation->text;
    generation->text = old;
    warn_of_fixed(reload, generation);
    return true;
}

/* Warnings that the present one did not have. */
static void warn(const struct reload *reload, const struct config_generation *generation)
{
    vec_for(&generation->warnings.list, sentence) {
        bool known = false;
        vec_for(&reload->current->warnings.list, before)
            known |= str_eq(*before, *sentence);
        if (!known)
            log_warning("Configuration", log_str("warning", *sentence));
    }
}

/* Plugins from files are tried elsewhere first: one that crashes or hangs would take the scheduler with it. */
static int complete(struct reload *reload, struct config_generation *generation, struct error *err)
{
    int r = reload_try(generation, reload->options.argv, reload->stop, err);
    if (r == 0)
        r = config_generation_connect(generation, reload->options.flags, &reload->options.extenders,
                                      reload->options.io, err);
    if (r < 0)
        error_prefix(err, STR_FMT, STR_ARG(path_of(reload)));
    return r;
}

static uint64_t taken_of(struct reload *reload)
{
    pthread_mutex_lock(&reload->lock);
    uint64_t taken = reload->taken;
    pthread_mutex_unlock(&reload->lock);
    return taken;
}

/* The file as it is in effect, with other schedulers' pods. */
static void retake(struct reload *reload, uint64_t taken)
{
    const struct reload_options *options = &reload->options;
    const struct str text = strbuf_slice(&reload->current->text);
    struct config_generation *generation;
    struct error err;
    reload->tried = taken;
    if (config_generation_read(options->flags, options->features, reload->current->has_text ? &text : NULL,
                               &reload->fixed, taken, &generation, &err) < 0) {
        refuse(reload, &err);
        return;
    }
    if (complete(reload, generation, &err) == 0) {
        submit(reload, generation);
        return;
    }
    refuse(reload, &err);
    config_generation_free(generation);
}

static void consider(struct reload *reload, struct str text)
{
    const struct reload_options *options = &reload->options;
    struct config_generation *generation;
    struct error err;
    int r;
    if (str_eq(text, strbuf_slice(&reload->current->text))) {
        leave(reload);
        return;
    }
    if (config_generation_read(options->flags, options->features, &text, &reload->fixed, taken_of(reload),
                               &generation, &err) < 0) {
        refuse(reload, &err);
        return;
    }
    warn(reload, generation);
    if (means_the_same(reload, generation)) {
        leave(reload);
    } else if ((r = complete(reload, generation, &err)) == 0) {
        submit(reload, generation);
        return;
    } else if (r != -ECANCELED) {
        refuse(reload, &err);
    }
    config_generation_free(generation);
}

static void look_now(struct reload *reload)
{
    struct error err;
    if (!reload->watch) {
        log_info(0, path_of(reload).len ? "Nothing to reload: the configuration cannot be read twice"
                                        : "Nothing to reload: there is no --config");
        return;
    }
    atomic_store(&reload->looking, true);
    int r = file_watch_read(reload->watch, now_ms(), &err);
    atomic_store(&reload->looking, false);
    if (r < 0)
        refuse(reload, &err);
    else
        consider(reload, file_watch_text(reload->watch));
}

static void look(struct reload *reload)
{
    struct error err;
    atomic_store(&reload->looking, true);
    enum file_watch_news news = file_watch_look(reload->watch, now_ms(), &err);
    atomic_store(&reload->looking, false);
    switch (news) {
    case FILE_WATCH_NOTHING:
        return;
    case FILE_WATCH_CHANGED:
        consider(reload, file_watch_text(reload->watch));
        return;
    case FILE_WATCH_LOST:
        log_warning("Configuration file cannot be read, nothing changes", log_str("err", str_from(err.text)));
        return;
    case FILE_WATCH_BACK:
        log_info(0, "Configuration file is back", log_str("file", path_of(reload)));
        return;
    }
}

/* ---- turns ---- */
static void turn(struct reread *turns)
{
    struct reload *reload = container_of(turns, struct reload, turns);
    pthread_mutex_lock(&reload->lock);
    struct reload_answer answer = reload->answer;
    reload->answer.is_there = false;
    bool requested = reload->requested && (!reload->next || answer.is_there);
    uint64_t taken = reload->taken;
    if (requested)
        reload->requested = false;
    pthread_mutex_unlock(&reload->lock);
    if (answer.is_there)
        finish(reload, &answer);
    free_retired(reload);
    if (requested)
        look_now(reload);
    else if (!reload->next && taken != reload->current->taken && taken != reload->tried)
        retake(reload, taken);
    else if (reload->watch && !reload->next)
        look(reload);
}

static void on_inotify(struct loop_fd *inotify, uint32_t events _unused_)
{
    struct reload *reload = container_of(inotify, struct reload, inotify);
    loop_change(reload->options.loop, inotify, 0);
    reread_by(&reload->turns, 0);
}

/* A turn takes its time. A trial of plugins may; the file should not, but a mount may hang. */
static void on_slow_turn(struct reread *turns)
{
    struct reload *reload = container_of(turns, struct reload, turns);
    if (!atomic_load(&reload->looking) || reload->hangs)
        return;
    reload->hangs = true;
    log_warning("Configuration file cannot be read, nothing changes",
                log_str("err", STR("reading it takes too long")), log_str("file", path_of(reload)));
}

/* While the core has a generation, the file has to wait. */
static int64_t sleep_until(struct reread *turns)
{
    struct reload *reload = container_of(turns, struct reload, turns);
    if (reload->hangs)
        log_info(0, "Configuration file is back", log_str("file", path_of(reload)));
    reload->hangs = false;
    if (!reload->watch || reload->next)
        return INT64_MAX;
    if (!reload->watches && reload->inotify.fd >= 0)
        reload->watches = loop_add(reload->options.loop, &reload->inotify) == 0;
    else if (reload->watches)
        loop_change(reload->options.loop, &reload->inotify, EPOLLIN);
    return file_watch_due_ms(reload->watch) * NS_PER_MS;
}

/* ---- from outside ---- */
struct reload *reload_new(struct config_generation *first)
{
    struct reload *reload = xcalloc(1, sizeof(*reload));
    pthread_mutex_init(&reload->lock, NULL);
    reload->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    reload->current = first;
    list_append(&reload->generations, &first->link);
    config_copy_fixed(&first->config, &reload->arena, &reload->fixed);
    return reload;
}

static void start_counting(struct reload *reload)
{
    struct metrics *metrics = reload->options.metrics;
    for (size_t i = 0; i < RELOAD_RESULT_COUNT; i++)
        reload->results[i] = metric_get(metrics, FAMILY_BERTH_CONFIG_RELOADS_TOTAL, &result_names[i]);
    reload->success = metric_get(metrics, FAMILY_BERTH_CONFIG_LAST_RELOAD_SUCCESS, NULL);
    reload->success_at = metric_get(metrics, FAMILY_BERTH_CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS, NULL);
    gauge_set(reload->success, 1); /* of the start */
    gauge_set(reload->success_at, (double)time(NULL));
}

int reload_start(struct reload *reload, const struct reload_options *options, struct error *err)
{
    reload->options = *options;
    start_counting(reload);
    if (reload->stop < 0)
        return error_set(err, -EMFILE, "no descriptor is left for an eventfd");
    if (reload->current->has_text)
        reload->watch =
            file_watch_new(&(struct file_watch_options){ .path = options->flags->config.ptr,
                                                         .known = strbuf_slice(&reload->current->text) },
                           now_ms());
    int fd = reload->watch ? file_watch_fd(reload->watch) : -1;
    reload->inotify = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = on_inotify };
    reload->turns =
        (struct reread){ .read = turn, .took = sleep_until, .slow = on_slow_turn, .slow_ms = SLOW_TURN_MS };
    pthread_mutex_lock(&reload->lock);
    reload->is_running = true;
    bool requested = reload->requested;
    pthread_mutex_unlock(&reload->lock);
    reread_start(&reload->turns, options->loop, reload->watch || requested ? monotonic_ns() : INT64_MAX);
    return 0;
}

static void stop_watching(void *context)
{
    struct reload *reload = context;
    if (reload->watches)
        loop_remove(reload->options.loop, &reload->inotify);
    reload->watches = false;
}

void reload_stop(struct reload *reload)
{
    if (!reload || !reload->is_running)
        return;
    pthread_mutex_lock(&reload->lock);
    reload->is_running = false;
    pthread_mutex_unlock(&reload->lock);
    (void)!write(reload->stop, &(uint64_t){ 1 }, sizeof(uint64_t));
    reread_stop(&reload->turns);
    loop_run_wait(reload->options.loop, stop_watching, reload);
}

void reload_free(struct reload *reload)
{
    if (!reload)
        return;
    reload_stop(reload);
    file_watch_free(reload->watch);
    free_all(&reload->generations);
    if (reload->stop >= 0)
        close(reload->stop);
    pthread_mutex_destroy(&reload->lock);
    arena_release(&reload->arena);
    free(reload);
}

void reload_now(struct reload *reload)
{
    pthread_mutex_lock(&reload->lock);
    reload->requested = true;
    wake(reload);
    pthread_mutex_unlock(&reload->lock);
}

void reload_take_over(struct reload *reload, uint64_t taken)
{
    pthread_mutex_lock(&reload->lock);
    reload->taken = taken;
    wake(reload);
    pthread_mutex_unlock(&reload->lock);
}

void reload_write_json(struct reload *reload, struct strbuf *out)
{
    pthread_mutex_lock(&reload->lock);
    strbuf_str(out, strbuf_slice(&reload->current->json));
    pthread_mutex_unlock(&reload->lock);
}
