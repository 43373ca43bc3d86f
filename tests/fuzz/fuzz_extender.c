/* Any bytes as the reply of an extender to each verb; and as a pod or a node that is passed on as a full object. The
 * result is valid in the cluster, or an error. The first byte selects the verb. */
#include "extender/full_objects.h"
#include "extender/reply.h"

#include "fuzz/fuzz.h"

enum { NODES = 4, REQUESTED = 3, PODS = 6 };

struct setup {
    struct cluster cluster;
    struct node nodes[NODES];
    struct pod pods[PODS], pod;
    char names[NODES + PODS][4];
    struct arena arena;
    struct cycle cycle;
};

static struct str name_of(struct setup *setup, size_t at, char prefix, size_t number)
{
    snprintf(setup->names[at], sizeof(setup->names[at]), "%c%zu", prefix, number);
    return str_from(setup->names[at]);
}

/* Nodes n0 to n3; pods p0 to p5 with uids like their names, two on each of the first three. */
static void setup_init(struct setup *setup)
{
    memset(setup, 0, sizeof(*setup));
    cluster_init(&setup->cluster);
    for (size_t i = 0; i < NODES; i++) {
        setup->nodes[i].meta.name = name_of(setup, i, 'n', i);
        cluster_set_node(&setup->cluster, &setup->nodes[i]);
    }
    for (size_t i = 0; i < PODS; i++) {
        struct pod *pod = &setup->pods[i];
        pod->meta.name = pod->meta.uid = name_of(setup, NODES + i, 'p', i);
        pod->meta.namespace = STR("d");
        pod->spec.node_name = setup->nodes[i / 2].meta.name;
        cluster_add_pod(&setup->cluster, pod);
    }
    setup->pod.meta = (struct meta){ .name = STR("q"), .namespace = STR("d"), .uid = STR("q") };
    struct pod_info *info = cluster_add_pod(&setup->cluster, &setup->pod);
    setup->cycle = (struct cycle){
        .cluster = &setup->cluster, .info = info, .pod = &setup->pod, .arena = &setup->arena
    };
}

static void setup_release(struct setup *setup)
{
    cluster_release(&setup->cluster);
    arena_release(&setup->arena);
}

static void must_explain(int r, const struct error *err)
{
    must(r < 0 && err->text[0]);
}

static void check_filter(struct setup *setup, const struct reply *reply, bool node_names)
{
    uint32_t requested[REQUESTED] = { 0, 1, 2 };
    struct extender_filtered filtered;
    struct error err = { 0 };
    bool seen[NODES] = { false }, refused[NODES] = { false };
    int r = reply_filter(reply, node_names, (struct row_list){ requested, REQUESTED }, &filtered, &err);
    if (r != 0) {
        must_explain(r, &err);
        return;
    }
    must(filtered.len <= REQUESTED && filtered.refusals_len <= NODES);
    for (uint32_t i = 0; i < filtered.len; i++) {
        must(filtered.rows[i] < REQUESTED && !seen[filtered.rows[i]]);
        seen[filtered.rows[i]] = true;
    }
    for (uint32_t i = 0; i < filtered.refusals_len; i++) {
        must(filtered.refusals[i].row < NODES && !refused[filtered.refusals[i].row]);
        refused[filtered.refusals[i].row] = true;
        must(filtered.refusals[i].message.ptr);
    }
    (void)setup;
}

static void check_score(const struct reply *reply)
{
    struct extender_scores scores;
    struct error err = { 0 };
    int r = reply_score(reply, &scores, &err);
    if (r != 0)
        must_explain(r, &err);
    for (uint32_t i = 0; r == 0 && i < scores.len; i++)
        must(scores.items[i].row < NODES);
}

static void check_preempt(const struct reply *reply)
{
    struct preempt_candidate *candidates;
    uint32_t len;
    bool seen[NODES] = { false };
    struct error err = { 0 };
    int r = reply_preempt(reply, &candidates, &len, &err);
    if (r != 0)
        must_explain(r, &err);
    for (uint32_t i = 0; r == 0 && i < len; i++) {
        must(candidates[i].row < NODES && !seen[candidates[i].row]);
        seen[candidates[i].row] = true;
        for (uint32_t j = 0; j < candidates[i].victims_len; j++)
            must(candidates[i].victims[j]->row == candidates[i].row);
    }
}

static void check_bind(struct str text)
{
    struct arena arena = { 0 };
    struct str message;
    struct error err = { 0 };
    int r = reply_bind(text, &arena, &message, &err);
    if (r != 0)
        must_explain(r, &err);
    arena_release(&arena);
}

/* The output is always valid JSON. */
static void check_full_object(enum api_kind kind, struct str bytes)
{
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    struct error err = { 0 };
    int r = full_bytes(&json, kind, bytes, &err);
    if (r != 0) {
        must_explain(r, &err);
        must(!out.len);
    } else {
        yyjson_doc *doc = yyjson_read(out.text, out.len, YYJSON_READ_NOFLAG);
        must(doc);
        yyjson_doc_free(doc);
    }
    strbuf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct setup setup;
    if (size < 1)
        return 0;
    char *copy = memcpy(xcalloc(size, 1), data,
                        size); /* an exact copy, so that a sanitizer detects a read past the end */
    struct str text = { copy + 1, (uint32_t)(size - 1) };
    setup_init(&setup);
    struct reply reply = { .extender = STR("http://x"), .cycle = &setup.cycle, .text = text };
    switch (data[0] % 7) {
    case 0:
    case 1:
        check_filter(&setup, &reply, data[0] % 7 == 0);
        break;
    case 2:
        check_score(&reply);
        break;
    case 3:
        check_preempt(&reply);
        break;
    case 4:
        check_bind(text);
        break;
    default:
        check_full_object(data[0] % 7 == 5 ? KIND_POD : KIND_NODE, text);
    }
    must(setup.arena.total_bytes <= (1 << 20) + 64 * size);
    setup_release(&setup);
    free(copy);
    return 0;
}
