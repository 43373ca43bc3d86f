/* Tests of whatif/simulate.c on random clusters: no node is overcommitted and no pod is lost. */
#include "unit/input/loaded.h"

#include "whatif/simulate.h"

static void add_line(struct strbuf *text, const char *kind, const char *name, const char *meta,
                     const char *rest)
{
    strbuf_printf(text,
                  "{\"apiVersion\": \"v1\", \"kind\": \"%s\", \"metadata\": {\"name\": \"%s\"%s}, %s}\n",
                  kind, name, meta, rest);
}

static void add_pod(struct rng *rng, struct strbuf *text, const char *name, int priority, int cpu_milli,
                    const char *placement)
{
    char meta[256], rest[256];
    snprintf(meta, sizeof(meta),
             ", \"ownerReferences\": [{\"apiVersion\": \"apps/v1\", \"kind\": \"ReplicaSet\", "
             "\"name\": \"r%d\", \"controller\": true}]",
             (int)rng_below(rng, 4));
    snprintf(rest, sizeof(rest),
             "\"spec\": {%s\"priority\": %d, \"containers\": [{\"name\": \"c\", \"resources\": "
             "{\"requests\": {\"cpu\": \"%dm\"}}}]}",
             placement, priority, cpu_milli);
    add_line(text, "Pod", name, rng_below(rng, 2) ? meta : "", rest);
}

/* A small node that a pod of low priority fills. */
static void add_node(struct rng *rng, struct strbuf *text, size_t number)
{
    char name[32], rest[256], placement[64];
    int cpu = (int)(1 + rng_below(rng, 6));
    snprintf(name, sizeof(name), "n%zu", number);
    snprintf(rest, sizeof(rest),
             "\"status\": {\"allocatable\": {\"cpu\": \"%d\", \"memory\": \"8Gi\", \"pods\": \"%d\"}}", cpu,
             (int)(1 + rng_below(rng, 8)));
    add_line(text, "Node", name, "", rest);
    snprintf(placement, sizeof(placement), "\"nodeName\": \"%s\", ", name);
    snprintf(name, sizeof(name), "running%zu", number);
    add_pod(rng, text, name, (int)rng_below(rng, 3), cpu * 1000, placement);
}

/* Pods of several priorities, half of them with a controller, for nodes that are full: preemption happens often. */
static void make_cluster(struct rng *rng, struct strbuf *text, size_t *ret_pods)
{
    char name[32];
    size_t nodes = 1 + rng_below(rng, 6), pods = rng_below(rng, 40);
    for (size_t i = 0; i < nodes; i++)
        add_node(rng, text, i);
    for (size_t i = 0; i < pods; i++) {
        snprintf(name, sizeof(name), "p%zu", i);
        add_pod(rng, text, name, (int)rng_below(rng, 5), (int)(1 + rng_below(rng, 8)) * 250, "");
    }
    *ret_pods = pods;
}

static void check_nodes(const struct input *input)
{
    const struct columns *col = &input->cluster.col;
    for (uint32_t row = 0; row < input->cluster.nodes.len; row++)
        for (uint32_t r = 0; r < col->resources; r++)
            assert_true(col->used[r][row] >= 0 && col->used[r][row] <= col->alloc[r][row]);
}

/* All pods, from the input or as replacements, are placed or wait; only placed pods are evicted. */
static void check_pods(const struct simulation *simulation, size_t pods)
{
    assert_int_equal(simulation->pods, pods + simulation->replaced);
    assert_int_equal(simulation->scheduled + simulation->waiting.len, simulation->pods);
    assert_true(simulation->victims.len <= simulation->scheduled + simulation->input->running);
    assert_true(simulation->replaced <= simulation->victims.len);
    assert_false(simulation->cut_short);
}

static void test_random_clusters(void **state)
{
    (void)state;
    enum { ROUNDS = 300 };
    struct rng rng = test_rng();
    size_t evictions = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct input input;
        struct simulation simulation;
        struct strbuf text = { 0 };
        struct error err = { "" };
        size_t pods;
        char path[] = "/tmp/berth-test-XXXXXX";
        make_cluster(&rng, &text, &pods);
        int fd = mkstemp(path);
        assert_true(fd >= 0 && write(fd, text.text, text.len) == (ssize_t)text.len);
        close(fd);
        const char *const paths[] = { path };
        if (input_open(&input, &(struct input_options){ .paths = paths, .paths_len = 1 }, &err) < 0)
            fail_msg("%s", err.text);
        unlink(path);
        if (simulate(&simulation, &input, &(struct sim_options){ .seed = (uint64_t)round }, &err) < 0)
            fail_msg("%s", err.text);
        check_nodes(&input);
        check_pods(&simulation, pods);
        evictions += simulation.victims.len;
        simulation_release(&simulation);
        input_release(&input);
        strbuf_release(&text);
    }
    assert_true(evictions > 0); /* otherwise the test proves nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
