/* The store in a file: it is the same after each restart, also after kill -9 at any moment, with nothing missing of
 * what was acknowledged; files that are damaged, foreign or in use are refused with a sentence.
 *
 * BERTH_STORE_KILLS=N: how often the writer is killed [20]. */
#include "support/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apiserver/store.h"
#include "base/thread.h"
#include "base/vec.h"
#include "net/loop.h"

enum { PODS, NODES, KINDS, NAMES = 60 };

static const struct str kinds[] = { STR("pods"), STR("nodes") };
static char folder[64];

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* ---- a sequence of changes that follows from the number of the revision ---- */
struct object {
    uint64_t revision; /* 0: none */
    struct strbuf json;
};

struct model {
    uint64_t revision;
    struct object objects[KINDS][NAMES];
};

static struct rng rng_of(uint64_t revision)
{
    struct rng rng;
    rng_seed(&rng, revision);
    return rng;
}

struct step {
    uint32_t kind, name;
    bool deletes;
    size_t padding;
};

static struct step step_of(uint64_t revision)
{
    struct rng rng = rng_of(revision);
    struct step step = { .kind = (uint32_t)rng_below(&rng, KINDS), .name = (uint32_t)rng_below(&rng, NAMES) };
    step.deletes = rng_below(&rng, 3) == 0;
    step.padding = rng_below(&rng, 3000);
    return step;
}

static struct str name_of(uint32_t name, char buf[static 16])
{
    return (struct str){ buf, (uint32_t)snprintf(buf, 16, "object-%03u", name) };
}

static void json_of(struct strbuf *out, uint64_t revision)
{
    strbuf_printf(out, "{\"revision\":\"%llu\",\"text\":\"", (unsigned long long)revision);
    for (size_t i = step_of(revision).padding; i-- > 0;)
        strbuf_putc(out, (char)('a' + (revision + i) % 26));
    strbuf_puts(out, "\"}");
}

/* A deletion of what does not exist creates it. */
static void model_step(struct model *model)
{
    struct step step = step_of(++model->revision);
    struct object *object = &model->objects[step.kind][step.name];
    object->revision = step.deletes && object->revision ? 0 : model->revision;
    strbuf_clear(&object->json);
    if (object->revision)
        json_of(&object->json, object->revision);
}

static void model_release(struct model *model)
{
    for (size_t i = 0; i < KINDS * NAMES; i++)
        strbuf_release(&model->objects[i / NAMES][i % NAMES].json);
}

static void change_store(struct store *store)
{
    char buf[16];
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    uint64_t revision = store_next_revision(store);
    struct step step = step_of(revision);
    struct str name = name_of(step.name, buf), ns = step.kind == PODS ? STR("default") : STR("");
    json_of(&json, revision);
    if (!step.deletes || !store_delete(store, step.kind, ns, name, strbuf_slice(&json)))
        store_put(store, step.kind, ns, name, STR("uid"), strbuf_slice(&json));
}

/* ---- the store on its loop ---- */
struct disk_store {
    struct loop *loop;
    struct store *store;
    struct error err;
    int result;
    size_t history_max;
};

static void on_failure(void *user _unused_, const char *sentence)
{
    fail_msg("%s", sentence);
}

static int try_open(struct disk_store *own, const char *path, size_t history_max)
{
    *own = (struct disk_store){ 0 };
    assert_int_equal(loop_new("store", &own->loop, &own->err), 0);
    struct store_options options = { .path = path,
                                     .kinds = kinds,
                                     .kind_count = KINDS,
                                     .history_max = history_max,
                                     .on_failure = on_failure };
    own->result = store_open(&options, own->loop, &own->store, &own->err);
    return own->result;
}

static void close_store(struct disk_store *own)
{
    store_close(own->store);
    loop_free(own->loop);
}

static void open_store(struct disk_store *own, const char *path, size_t history_max)
{
    if (try_open(own, path, history_max) < 0)
        fail_msg("%s", own->err.text);
}

/* ---- comparison ---- */
static enum store_visited check_object(void *user, struct stored *version)
{
    const struct model *model = user;
    uint32_t name = (uint32_t)strtoul(version->name.ptr + 7, NULL, 10);
    const struct object *want = &model->objects[version->kind][name];
    assert_int_equal(version->revision, want->revision);
    assert_true(str_eq(version->json, strbuf_slice(&want->json)));
    assert_str(version->uid, "uid");
    return STORE_COUNTS;
}

static void check_state(struct store *store, const struct model *model)
{
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        struct store_range range = { .kind = kind, .revision = model->revision };
        size_t count = 0;
        for (size_t i = 0; i < NAMES; i++)
            count += model->objects[kind][i].revision != 0;
        assert_int_equal(store_count(store, &range), count);
        assert_int_equal(store_page(store, &range, 0, check_object, (void *)model), 0);
    }
}

struct follower {
    struct store_watcher watcher;
    uint64_t revision;
};

static void on_change(struct store_watcher *watcher, const struct store_change *change)
{
    struct follower *follower = container_of(watcher, struct follower, watcher);
    assert_int_equal(change->now->revision, ++follower->revision);
    assert_int_equal(change->now->kind, step_of(follower->revision).kind);
}

/* All of it: the objects at each revision that history has, and a watch from the oldest one. */
static void check_store(struct disk_store *own)
{
    struct store *store = own->store;
    _cleanup_(model_release) struct model model = { .revision = 1 };
    while (model.revision < store_oldest(store))
        model_step(&model);
    for (;; model_step(&model)) {
        check_state(store, &model);
        if (model.revision == store_revision(store))
            break;
    }
    struct follower follower = { { .kind = STORE_ALL, .changed = on_change }, store_oldest(store) };
    assert_int_equal(store_subscribe(store, &follower.watcher, store_oldest(store)), 0);
    assert_int_equal(follower.revision, store_revision(store));
    store_unsubscribe(store, &follower.watcher);
    assert_int_equal(store_durable(store), store_revision(store));
}

/* ---- the writer: another process, which acknowledges revisions on its standard output ---- */
enum { IN_FLIGHT = 20 };

struct acknowledged {
    struct store_waiter waiter;
    struct disk_store *own;
};

static void write_next(struct acknowledged *slot);

static void on_durable(struct store_waiter *waiter)
{
    struct acknowledged *slot = container_of(waiter, struct acknowledged, waiter);
    uint64_t revision = store_durable(slot->own->store);
    if (write(STDOUT_FILENO, &revision, sizeof(revision)) != sizeof(revision))
        _exit(1);
    write_next(slot);
}

static void write_next(struct acknowledged *slot)
{
    change_store(slot->own->store);
    store_when_durable(slot->own->store, store_revision(slot->own->store), &slot->waiter);
}

static void begin_writing(void *context)
{
    struct disk_store *own = context;
    static struct acknowledged slots[IN_FLIGHT];
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        slots[i] = (struct acknowledged){ .waiter.durable = on_durable, .own = own };
        write_next(&slots[i]);
    }
}

static int writer_main(const char *path, const char *history_max)
{
    struct disk_store own;
    if (try_open(&own, path, strtoul(history_max, NULL, 10)) < 0) {
        fprintf(stderr, "%s\n", own.err.text);
        return 1;
    }
    loop_run(own.loop, begin_writing, &own);
    for (;;)
        pause();
}

/* Lets the writer go for a while, and kills it. The last revision that it acknowledged. */
static uint64_t write_and_kill(const char *path, struct rng *rng)
{
    int ends[2];
    char history[16];
    snprintf(history, sizeof(history), "%u", rng_below(rng, 2) ? 40 : 2000);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "writer", path, history, NULL);
        _exit(127);
    }
    close(ends[1]);
    struct pollfd poll_fd = { .fd = ends[0], .events = POLLIN };
    /* From its first acknowledgement on; sometimes earlier. */
    if (rng_below(rng, 5))
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
    usleep((useconds_t)rng_below(rng, 60000));
    kill(pid, SIGKILL);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    uint64_t last = 0, revision;
    while (read(ends[0], &revision, sizeof(revision)) == sizeof(revision))
        last = MAX(last, revision);
    close(ends[0]);
    return last;
}

static void test_kills(void **state)
{
    (void)state;
    const char *text = getenv("BERTH_STORE_KILLS"), *path = path_of("kills.db");
    unsigned long kills = text ? strtoul(text, NULL, 10) : 20;
    struct rng rng = test_rng();
    uint64_t last = 0;
    for (unsigned long i = 0; i < kills; i++) {
        last = MAX(last, write_and_kill(path, &rng));
        struct disk_store own;
        open_store(&own, path, 0);
        if (store_revision(own.store) < last)
            fail_msg("revision %llu was acknowledged, and the newest one is %llu", (unsigned long long)last,
                     (unsigned long long)store_revision(own.store));
        check_store(&own);
        close_store(&own);
    }
    printf("%lu kills, %llu changes acknowledged\n", kills, (unsigned long long)last);
    assert_true(last > 0);
}

/* ---- restarts ---- */
static void write_some(void *context)
{
    struct disk_store *own = context;
    for (int i = 0; i < 500; i++)
        change_store(own->store);
    assert_true(store_durable(own->store) < store_revision(own->store));
}

static void test_restarts(void **state)
{
    (void)state;
    const char *path = path_of("restarts.db");
    uint64_t revision = 1;
    for (int i = 0; i < 6; i++) {
        struct disk_store own;
        open_store(&own, path, i % 2 ? 30 : 5000);
        assert_int_equal(store_revision(own.store), revision);
        check_store(&own);
        loop_run_wait(own.loop, write_some, &own);
        revision = store_revision(own.store);
        close_store(&own);
    }
}

/* A kind that the options do not name. */
static void put_widget(void *context)
{
    struct disk_store *own = context;
    store_put(own->store, store_kind(own->store, STR("widgets.example.com")), STR("a"), STR("w"), STR("u"),
              STR("{}"));
}

static void test_other_kinds(void **state)
{
    (void)state;
    struct disk_store own;
    open_store(&own, path_of("kinds.db"), 0);
    loop_run_wait(own.loop, put_widget, &own);
    close_store(&own);
    open_store(&own, path_of("kinds.db"), 0);
    uint32_t kind = store_kind(own.store, STR("widgets.example.com"));
    assert_int_equal(kind, KINDS);
    assert_non_null(store_get(own.store, kind, STR("a"), STR("w")));
    close_store(&own);
}

/* ---- files that cannot be used ---- */
static void refused(const char *path, const char *want)
{
    struct disk_store own;
    assert_true(try_open(&own, path, 0) < 0);
    if (!strstr(own.err.text, want))
        fail_msg("\"%s\" instead of \"%s\"", own.err.text, want);
    loop_free(own.loop);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static void test_unusable_files(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof(text));
    write_file(path_of("foreign"), text, sizeof(text));
    refused(path_of("foreign"), "is not a database of berth cluster");
    struct stat stat_of;
    assert_int_equal(stat(path_of("foreign"), &stat_of), 0);
    assert_int_equal(stat_of.st_size, sizeof(text));
    refused(path_of("no/such/folder"), "unable to open database file");
    refused(folder, "unable to open database file");

    struct disk_store own;
    open_store(&own, path_of("used.db"), 0);
    refused(path_of("used.db"), "is in use by another process");
    loop_run_wait(own.loop, write_some, &own);
    close_store(&own);
}

/* Wherever a file is damaged: it is refused, or what it holds is not affected. */
static void test_damaged_files(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct disk_store own;
    open_store(&own, path_of("whole.db"), 100);
    loop_run_wait(own.loop, write_some, &own);
    close_store(&own);
    int fd = open(path_of("whole.db"), O_RDONLY | O_CLOEXEC);
    struct stat stat_of;
    assert_int_equal(fstat(fd, &stat_of), 0);
    size_t len = (size_t)stat_of.st_size;
    char *bytes = xmalloc(len);
    assert_int_equal(read(fd, bytes, len), len);
    close(fd);
    int refusals = 0;
    for (int i = 0; i < 60; i++) {
        size_t at = i % 3 ? rng_below(&rng, len) : rng_below(&rng, 4096);
        char *copy = xmalloc(len);
        memcpy(copy, bytes, len);
        copy[at] ^= (char)(1 + rng_below(&rng, 255));
        write_file(path_of("damaged.db"), copy, i % 10 == 9 ? at : len);
        free(copy);
        struct disk_store damaged;
        if (try_open(&damaged, path_of("damaged.db"), 0) < 0) {
            assert_non_null(strstr(damaged.err.text, "damaged.db"));
            assert_null(strchr(damaged.err.text, '\n'));
            loop_free(damaged.loop);
            refusals++;
        } else {
            if (store_revision(damaged.store) > 1) /* not cut down to an empty file */
                check_store(&damaged);
            close_store(&damaged);
        }
        unlink(path_of("damaged.db-wal"));
    }
    assert_true(refusals > 20);
    free(bytes);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/berth-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "kills.db",      "kills.db-wal", "restarts.db",  "restarts.db-wal",
                                         "kinds.db",      "kinds.db-wal", "foreign",      "used.db",
                                         "used.db-wal",   "whole.db",     "whole.db-wal", "damaged.db",
                                         "damaged.db-wal" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[0], "writer") == 0)
        return writer_main(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kills),         cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_other_kinds),   cmocka_unit_test(test_unusable_files),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
