/* test_loop.c: the event loop: calls from other threads, timers, descriptors, signals, blocking work; and files
 * that are reread. */
#include "net/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/thread.h"
#include "net/reread.h"
#include "support/test.h"

static struct loop *loop;

static int make(void **state _unused_)
{
    struct error err;
    return loop_new("test", &loop, &err);
}

static int end(void **state _unused_)
{
    loop_free(loop);
    return 0;
}

static void pause_ms(int ms)
{
    usleep((useconds_t)ms * 1000);
}

/* ---- calls ---- */
enum { POSTERS = 4, CALLS = 2000 };

struct poster {
    pthread_t thread;
    struct numbered {
        struct loop_call call;
        struct poster *poster;
        int number;
    } calls[CALLS];
    int next; /* of the loop's thread */
    bool in_order, on_loop;
};

static void count(struct loop_call *call)
{
    struct numbered *own = container_of(call, struct numbered, call);
    struct poster *poster = own->poster;
    poster->in_order = poster->in_order && own->number == poster->next++;
    poster->on_loop = poster->on_loop && loop_is_here(loop);
}

static void *post_all(void *context)
{
    struct poster *poster = context;
    for (int i = 0; i < CALLS; i++) {
        poster->calls[i] = (struct numbered){ { .run = count }, poster, i };
        loop_post(loop, &poster->calls[i].call);
    }
    return NULL;
}

static void nothing(void *context _unused_)
{
}

static void calls_of_many_threads_keep_their_order(void **state _unused_)
{
    static struct poster posters[POSTERS];
    for (int i = 0; i < POSTERS; i++) {
        posters[i].in_order = posters[i].on_loop = true;
        assert_int_equal(thread_start(&posters[i].thread, "poster", post_all, &posters[i]), 0);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(posters[i].thread, NULL);
    loop_run_wait(loop, nothing, NULL);
    for (int i = 0; i < POSTERS; i++) {
        assert_true(posters[i].in_order && posters[i].on_loop);
        assert_int_equal(posters[i].next, CALLS);
    }
    assert_false(loop_is_here(loop));
}

static int depth, depth_max, nested;

/* A posted call does not run inside the call that posts it; a waiting call does. */
static void nest(void *context _unused_)
{
    depth++;
    depth_max = MAX(depth_max, depth);
    if (nested++ == 0)
        loop_run(loop, nest, NULL);
    loop_run_wait(loop, nothing, NULL);
    depth--;
}

static void calls_do_not_nest(void **state _unused_)
{
    loop_run_wait(loop, nest, NULL);
    loop_run_wait(loop, nothing, NULL);
    assert_int_equal(nested, 2);
    assert_int_equal(depth_max, 1);
}

static void bump(void *context)
{
    ++*(int *)context;
}

static void posted_calls_run_before_the_loop_ends(void **state _unused_)
{
    int calls = 0;
    struct loop *other;
    struct error err;
    assert_int_equal(loop_new("other", &other, &err), 0);
    for (int i = 0; i < 100; i++)
        loop_run(other, bump, &calls);
    loop_free(other);
    assert_int_equal(calls, 100);
    loop_free(NULL);
}

/* ---- timers ---- */
struct ringer {
    struct loop_timer timer;
    char name;
    int rings, most;
    struct completion *ended;
};
static char order[16];

static void ring(struct loop_timer *timer)
{
    struct ringer *own = container_of(timer, struct ringer, timer);
    assert_true(monotonic_ns() >= timer->due_ns);
    size_t len = strlen(order);
    if (len + 1 < sizeof(order))
        order[len] = own->name;
    if (++own->rings < own->most)
        loop_timer_set(loop, timer, monotonic_ns());
    else if (own->ended)
        completion_done(own->ended);
}

static struct ringer ringers[5];

static void set_all(void *context _unused_)
{
    int64_t now_ns = monotonic_ns();
    for (int i = 0; i < 5; i++)
        ringers[i].timer.ring = ring;
    loop_timer_set(loop, &ringers[0].timer, now_ns + 30 * NS_PER_MS);
    loop_timer_set(loop, &ringers[1].timer, now_ns + 20 * NS_PER_MS);
    loop_timer_set(loop, &ringers[2].timer, now_ns + 10 * NS_PER_MS);
    loop_timer_set(loop, &ringers[3].timer, now_ns + NS_PER_MS);
    loop_timer_set(loop, &ringers[4].timer, INT64_MAX);
    loop_timer_set(loop, &ringers[0].timer, now_ns + 5 * NS_PER_MS); /* changed */
    loop_timer_stop(loop, &ringers[3].timer);
    loop_timer_stop(loop, &ringers[3].timer);
}

static void timers_expire_in_order(void **state _unused_)
{
    struct completion ended;
    completion_init(&ended);
    memset(order, 0, sizeof(order));
    for (int i = 0; i < 5; i++)
        ringers[i] = (struct ringer){ .name = (char)('a' + i), .most = 1 };
    ringers[1].ended = &ended;
    loop_run_wait(loop, set_all, NULL);
    assert_true(completion_wait(&ended, monotonic_ns() + 10 * NS_PER_S));
    loop_run_wait(loop, nothing, NULL);
    assert_string_equal(order, "acb");
    assert_int_equal(ringers[3].rings + ringers[4].rings, 0);
    completion_release(&ended);
}

static void set_one(void *context)
{
    struct ringer *own = context;
    loop_timer_set(loop, &own->timer, monotonic_ns());
}

/* A timer that is always due does not starve calls. */
static void a_timer_that_is_always_due_does_not_starve_calls(void **state _unused_)
{
    struct completion ended;
    completion_init(&ended);
    struct ringer own = { .timer.ring = ring, .most = 100000, .ended = &ended };
    loop_run_wait(loop, set_one, &own);
    loop_run_wait(loop, nothing, NULL);
    assert_false(completion_wait(&ended, 0));
    assert_true(completion_wait(&ended, monotonic_ns() + 60 * NS_PER_S));
    completion_release(&ended);
}

/* ---- descriptors ---- */
struct pair {
    struct loop_fd ends[2];
    int calls;
    struct completion *ended;
};

static void on_ready(struct loop_fd *fd, uint32_t events);
static struct pair pair;

static void add_pair(void *context _unused_)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(loop_add(loop, &pair.ends[i]), 0);
}

/* The first callback removes the other descriptor, whose event is pending as well. */
static void on_ready(struct loop_fd *fd, uint32_t events)
{
    assert_true(events & EPOLLIN);
    struct loop_fd *other = &pair.ends[fd == &pair.ends[0]];
    pair.calls++;
    loop_remove(loop, other);
    memset(other, 0, sizeof(*other));
    assert_int_equal(loop_change(loop, fd, 0), 0);
    completion_done(pair.ended);
}

static void a_removed_descriptor_is_not_called(void **state _unused_)
{
    int pipes[2][2];
    struct completion ended;
    completion_init(&ended);
    pair = (struct pair){ .ended = &ended };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe2(pipes[i], O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(write(pipes[i][1], "x", 1), 1);
        pair.ends[i] = (struct loop_fd){ .fd = pipes[i][0], .events = EPOLLIN, .ready = on_ready };
    }
    loop_run_wait(loop, add_pair, NULL);
    assert_true(completion_wait(&ended, monotonic_ns() + 10 * NS_PER_S));
    pause_ms(20);
    loop_run_wait(loop, nothing, NULL);
    assert_int_equal(pair.calls, 1);
    for (int i = 0; i < 4; i++)
        close(pipes[i / 2][i % 2]);
    completion_release(&ended);
}

/* ---- signals ---- */
static atomic_int received[64];

static void on_signal(void *user _unused_, int number)
{
    atomic_fetch_add(&received[number], 1);
}

static void await_signal(int number, int count)
{
    for (int i = 0; i < 1000 && atomic_load(&received[number]) < count; i++)
        pause_ms(10);
    assert_int_equal(atomic_load(&received[number]), count);
}

static void signals_are_calls(void **state _unused_)
{
    sigset_t set;
    struct error err;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR2); /* before the loop polls */
    assert_int_equal(loop_signals(loop, &set, on_signal, NULL, &err), 0);
    await_signal(SIGUSR2, 1);
    for (int i = 1; i <= 10; i++) {
        kill(getpid(), SIGTERM);
        await_signal(SIGTERM, i);
        kill(getpid(), SIGUSR2);
        await_signal(SIGUSR2, i + 1);
    }
}

/* ---- work ---- */
struct task {
    struct loop_work work;
    bool worked_elsewhere, ended_here;
    int times;
};

static void block(struct loop_work *work)
{
    container_of(work, struct task, work)->worked_elsewhere = !loop_is_here(loop);
    pause_ms(5);
}

static void on_blocked(struct loop_work *work)
{
    struct task *task = container_of(work, struct task, work);
    task->ended_here = loop_is_here(loop);
    if (++task->times < 3)
        loop_work(loop, work);
}

static void work_runs_in_a_worker_and_ends_in_the_loop(void **state _unused_)
{
    struct task task = { .work = { .work = block, .done = on_blocked } };
    loop_work(loop, &task.work);
    loop_work_wait(loop, &task.work);
    assert_true(task.worked_elsewhere && task.ended_here);
    assert_int_equal(task.times, 3);
}

static atomic_bool released;

static void hang(struct worker_job *job _unused_)
{
    while (!atomic_load(&released))
        pause_ms(1);
}

static void work_does_not_wait_for_plugins_that_block(void **state _unused_)
{
    static struct worker_job jobs[WORKERS_MAX + 10];
    struct task task = { .work = { .work = block, .done = on_blocked } };
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        jobs[i].run = hang;
        workers_submit(&jobs[i]);
    }
    loop_work(loop, &task.work);
    loop_work_wait(loop, &task.work);
    assert_int_equal(task.times, 3);
    assert_false(workers_wait(1));
    atomic_store(&released, true);
    assert_true(workers_wait(60000));
}

/* ---- rereading files ---- */
struct reader {
    struct reread reread;
    atomic_int reads, took;
    int64_t every_ns;
};

static void read_it(struct reread *reread)
{
    atomic_fetch_add(&container_of(reread, struct reader, reread)->reads, 1);
}

static int64_t take_it(struct reread *reread)
{
    struct reader *reader = container_of(reread, struct reader, reread);
    atomic_fetch_add(&reader->took, 1);
    return reader->every_ns == INT64_MAX ? INT64_MAX : monotonic_ns() + reader->every_ns;
}

static void read_now(void *context)
{
    reread_by(context, 0);
}

static void await_reads(struct reader *reader, int count)
{
    for (int i = 0; i < 1000 && atomic_load(&reader->took) < count; i++)
        pause_ms(10);
    assert_true(atomic_load(&reader->took) >= count);
}

static void files_are_read_again(void **state _unused_)
{
    struct reader reader = { .reread = { .read = read_it, .took = take_it }, .every_ns = NS_PER_MS };
    reread_start(&reader.reread, loop, monotonic_ns());
    await_reads(&reader, 5);
    reread_stop(&reader.reread);
    int reads = atomic_load(&reader.reads);
    pause_ms(10);
    assert_int_equal(atomic_load(&reader.reads), reads);
    reread_stop(&reader.reread);

    struct reader on_demand = { .reread = { .read = read_it, .took = take_it }, .every_ns = INT64_MAX };
    reread_start(&on_demand.reread, loop, INT64_MAX);
    pause_ms(10);
    assert_int_equal(atomic_load(&on_demand.reads), 0);
    loop_run_wait(loop, read_now, &on_demand.reread);
    await_reads(&on_demand, 1);
    loop_run_wait(loop, read_now, &on_demand.reread);
    await_reads(&on_demand, 2);
    reread_stop(&on_demand.reread);
    assert_int_equal(atomic_load(&on_demand.reads), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_many_threads_keep_their_order),
        cmocka_unit_test(calls_do_not_nest),
        cmocka_unit_test(posted_calls_run_before_the_loop_ends),
        cmocka_unit_test(timers_expire_in_order),
        cmocka_unit_test(a_timer_that_is_always_due_does_not_starve_calls),
        cmocka_unit_test(a_removed_descriptor_is_not_called),
        cmocka_unit_test(signals_are_calls),
        cmocka_unit_test(work_runs_in_a_worker_and_ends_in_the_loop),
        cmocka_unit_test(work_does_not_wait_for_plugins_that_block),
        cmocka_unit_test(files_are_read_again),
    };
    return cmocka_run_group_tests(tests, make, end);
}
