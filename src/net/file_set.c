/* file_set.c: see file_set.h.
 *
 * A job owns all that it touches while it reads. Its way back is `job->set`, which file_set_free() takes away under the
 * lock below: a job that has lost its set frees itself. Everything else is the loop's thread's, but for `problem`. */
#include "net/file_set.h"

#include <pthread.h>
#include <stdlib.h>

#include "net/file.h"

enum { BYTES_MAX_DEFAULT = 1 << 20, INTERVAL_MS_DEFAULT = 60000, HANG_MS_DEFAULT = 10000, RETRY_MS = 1000 };

struct job {
    struct worker_job work;
    struct loop_call back;
    struct file_set *set; /* NULL: nothing waits for it any more */
    size_t index;
    uint64_t round;
    size_t bytes_max;
    struct file_reading reading; /* with a path of its own */
};

struct file_set {
    struct file_set_options options;
    struct loop *loop; /* NULL: not started */
    struct loop_timer timer;
    struct file_reading *readings;
    struct job **jobs; /* by file; NULL: none is under way */
    size_t awaited;    /* jobs of this round that are under way */
    bool reading;      /* a round is */
    uint64_t round;    /* its number */
    int64_t due_ns;    /* of the next round */

    pthread_mutex_t lock;
    int problem; /* 0: none */
    struct error why;
};

/* Guards `set` of all jobs between the loop and the pool. */
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;

static void job_free(struct job *job)
{
    strbuf_release(&job->reading.text);
    free((char *)job->reading.path);
    free(job);
}

static void read_file(struct file_reading *reading, size_t bytes_max)
{
    reading->result = file_read(reading->path, bytes_max, &reading->text, &reading->err);
}

/* ---- a round ---- */
static void set_problem(struct file_set *set, int problem, const struct error *why)
{
    pthread_mutex_lock(&set->lock);
    bool is_new = problem ? !set->problem || strcmp(set->why.text, why->text) != 0 : set->problem;
    set->problem = problem;
    if (problem)
        set->why = *why;
    pthread_mutex_unlock(&set->lock);
    if (is_new && set->options.on_problem)
        set->options.on_problem(set->options.user, problem ? why->text : NULL);
}

/* Of a round that is complete as far as it will be. */
static int take(struct file_set *set, struct error *err)
{
    struct error why;
    for (size_t i = 0; i < set->options.count; i++)
        if (set->jobs[i])
            set->readings[i].result =
                error_set(&set->readings[i].err, -ETIMEDOUT, "%s: reading it takes longer than %lld ms",
                          set->readings[i].path, (long long)set->options.hang_ms);
    int r = set->options.take(set->options.user, set->readings, &why);
    for (size_t i = set->options.count; i-- > 0;) {
        const struct file_reading *reading = &set->readings[i];
        if (reading->result < 0) {
            why = reading->err;
            r = reading->result;
        }
        strbuf_release(&set->readings[i].text);
    }
    return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}

static void end_round(struct file_set *set)
{
    struct error err;
    int r = take(set, &err);
    set->reading = false;
    set->awaited = 0;
    set_problem(set, r, &err);
    int64_t pause_ms = r < 0 ? MIN(set->options.interval_ms, RETRY_MS) : set->options.interval_ms;
    file_set_read_by(set, monotonic_ns() + pause_ms * NS_PER_MS);
}

static void on_read(struct loop_call *call)
{
    struct job *job = container_of(call, struct job, back);
    struct file_set *set = job->set;
    if (set) {
        struct file_reading *reading = &set->readings[job->index];
        set->jobs[job->index] = NULL;
        if (set->reading && set->round == job->round) {
            reading->result = job->reading.result;
            reading->err = job->reading.err;
            reading->text = job->reading.text;
            job->reading.text = (struct strbuf){ 0 };
            if (--set->awaited == 0)
                end_round(set);
        } else {
            file_set_read_by(set, 0); /* it has come too late: what is in the file now? */
        }
    }
    job_free(job);
}

static void run_job(struct worker_job *work)
{
    struct job *job = container_of(work, struct job, work);
    read_file(&job->reading, job->bytes_max);
    pthread_mutex_lock(&sets_lock);
    bool is_awaited = job->set;
    if (is_awaited)
        loop_post(job->set->loop, &job->back);
    pthread_mutex_unlock(&sets_lock);
    if (!is_awaited)
        job_free(job);
}

static void start_job(struct file_set *set, size_t index)
{
    struct job *job = xcalloc(1, sizeof(*job));
    *job = (struct job){ .work = { .urgent = true, .run = run_job },
                         .back.run = on_read,
                         .set = set,
                         .index = index,
                         .round = set->round,
                         .bytes_max = set->options.bytes_max,
                         .reading.path = strdup(set->readings[index].path) };
    set->jobs[index] = job;
    set->awaited++;
    workers_submit(&job->work);
}

/* A file whose last read has not ended is not awaited again. */
static void begin_round(struct file_set *set)
{
    set->reading = true;
    set->round++;
    set->due_ns = INT64_MAX;
    for (size_t i = 0; i < set->options.count; i++)
        if (!set->jobs[i])
            start_job(set, i);
    if (set->awaited)
        loop_timer_set(set->loop, &set->timer, monotonic_ns() + set->options.hang_ms * NS_PER_MS);
    else
        end_round(set);
}

static void on_timer(struct loop_timer *timer)
{
    struct file_set *set = container_of(timer, struct file_set, timer);
    if (set->reading)
        end_round(set);
    else
        begin_round(set);
}

/* ---- from outside ---- */
struct file_set *file_set_new(const struct file_set_options *options)
{
    struct file_set *set = xcalloc(1, sizeof(*set));
    set->options = *options;
    struct file_set_options *own = &set->options;
    own->bytes_max = own->bytes_max ? own->bytes_max : BYTES_MAX_DEFAULT;
    own->interval_ms = own->interval_ms ? own->interval_ms : INTERVAL_MS_DEFAULT;
    own->hang_ms = own->hang_ms ? own->hang_ms : HANG_MS_DEFAULT;
    own->paths = NULL;
    set->readings = xcalloc(own->count, sizeof(*set->readings));
    set->jobs = xcalloc(own->count, sizeof(struct job *));
    for (size_t i = 0; i < own->count; i++)
        set->readings[i].path = strdup(options->paths[i]);
    set->timer.ring = on_timer;
    set->due_ns = INT64_MAX;
    pthread_mutex_init(&set->lock, NULL);
    return set;
}

int file_set_read(struct file_set *set, struct error *err)
{
    for (size_t i = 0; i < set->options.count; i++)
        read_file(&set->readings[i], set->options.bytes_max);
    return take(set, err);
}

void file_set_read_by(struct file_set *set, int64_t due_ns)
{
    set->due_ns = MIN(set->due_ns, due_ns);
    if (!set->reading)
        loop_timer_set(set->loop, &set->timer, set->due_ns);
}

static void start(void *context)
{
    struct file_set *set = context;
    file_set_read_by(set, monotonic_ns() + set->options.interval_ms * NS_PER_MS);
}

void file_set_start(struct file_set *set, struct loop *loop)
{
    set->loop = loop;
    loop_run_wait(loop, start, set);
}

int file_set_check(struct file_set *set, struct error *err)
{
    if (!set)
        return 0;
    pthread_mutex_lock(&set->lock);
    int problem = set->problem;
    if (problem)
        error_set(err, problem, "%s", set->why.text);
    pthread_mutex_unlock(&set->lock);
    return problem;
}

static void stop(void *context)
{
    struct file_set *set = context;
    loop_timer_stop(set->loop, &set->timer);
    pthread_mutex_lock(&sets_lock);
    for (size_t i = 0; i < set->options.count; i++)
        if (set->jobs[i])
            set->jobs[i]->set = NULL;
    pthread_mutex_unlock(&sets_lock);
}

void file_set_stop(struct file_set *set)
{
    if (!set || !set->loop)
        return;
    loop_run_wait(set->loop, stop, set);
    set->loop = NULL;
}

void file_set_free(struct file_set *set)
{
    if (!set)
        return;
    file_set_stop(set);
    for (size_t i = 0; i < set->options.count; i++) {
        strbuf_release(&set->readings[i].text);
        free((char *)set->readings[i].path);
    }
    free(set->readings);
    free(set->jobs);
    pthread_mutex_destroy(&set->lock);
    free(set);
}
