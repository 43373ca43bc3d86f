/* Any bytes as the answer of an extender, to each of the questions; and as a pod or a node that is handed on whole.
 * What comes out makes sense in the cluster, or it is one sentence. The first byte says what it is the answer to. */
#include "extender/full_objects.h"
#include "extender/reply.h"

#include "fuzz/fuzz.h"

enum { NODES = 4, ASKED = 3, PODS = 6 };

struct stage {
    struct cluster cluster;
    struct node nodes[NODES];
    struct pod pods[PODS], pod;
    char names[NODES + PODS][4];
    struct arena arena;
    struct cycle cycle;
};

static struct str name_of(struct stage *stage, size_t at, char letter, size_t number)
{
    snprintf(stage->names[at], sizeof(stage->names[at]), "%c%zu", letter, number);
    return str_from(stage->names[at]);
}

/* Nodes n0 to n3; pods p0 to p5 with uids like their names, two on each of the first three. */
static void stage_init(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    cluster_init(&stage->cluster);
    for (size_t i = 0; i < NODES; i++) {
        stage->nodes[i].meta.name = name_of(stage, i, 'n', i);
        cluster_set_node(&stage->cluster, &stage->nodes[i]);
    }
    for (size_t i = 0; i < PODS; i++) {
        struct pod *pod = &stage->pods[i];
        pod->meta.name = pod->meta.uid = name_of(stage, NODES + i, 'p', i);
        pod->meta.namespace = STR("d");
        pod->spec.node_name = stage->nodes[i / 2].meta.name;
        cluster_add_pod(&stage->cluster, pod);
    }
    stage->pod.meta = (struct meta){ .name = STR("q"), .namespace = STR("d"), .uid = STR("q") };
    struct pod_info *info = cluster_add_pod(&stage->cluster, &stage->pod);
    stage->cycle = (struct cycle){
        .cluster = &stage->cluster, .info = info, .pod = &stage->pod, .arena = &stage->arena
    };
}

static void stage_release(struct stage *stage)
{
    cluster_release(&stage->cluster);
    arena_release(&stage->arena);
}

static void must_say(int r, const struct error *err)
{
    must(r < 0 && err->text[0]);
}

static void check_filter(struct stage *stage, const struct reply *reply, bool node_names)
{
    uint32_t asked[ASKED] = { 0, 1, 2 };
    struct extender_filtered filtered;
    struct error err = { 0 };
    bool seen[NODES] = { false }, refused[NODES] = { false };
    int r = reply_filter(reply, node_names, (struct row_list){ asked, ASKED }, &filtered, &err);
    if (r != 0) {
        must_say(r, &err);
        return;
    }
    must(filtered.len <= ASKED && filtered.refusals_len <= NODES);
    for (uint32_t i = 0; i < filtered.len; i++) {
        must(filtered.rows[i] < ASKED && !seen[filtered.rows[i]]);
        seen[filtered.rows[i]] = true;
    }
    for (uint32_t i = 0; i < filtered.refusals_len; i++) {
        must(filtered.refusals[i].row < NODES && !refused[filtered.refusals[i].row]);
        refused[filtered.refusals[i].row] = true;
        must(filtered.refusals[i].message.ptr);
    }
    (void)stage;
}

static void check_score(const struct reply *reply)
{
    struct extender_scores scores;
    struct error err = { 0 };
    int r = reply_score(reply, &scores, &err);
    if (r != 0)
        must_say(r, &err);
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
        must_say(r, &err);
    for (uint32_t i = 0; r == 0 && i < len; i++) {
        must(candidates[i].row < NODES && !seen[candidates[i].row]);
        seen[candidates[i].row] = true;
        must(candidates[i].victims_len <= 2);
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
        must_say(r, &err);
    arena_release(&arena);
}

/* Whatever it is made of, it is JSON. */
static void check_whole(enum api_kind kind, struct str bytes)
{
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    struct error err = { 0 };
    int r = full_bytes(&json, kind, bytes, &err);
    if (r != 0) {
        must_say(r, &err);
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
    struct stage stage;
    if (size < 1)
        return 0;
    char *copy = memcpy(xcalloc(size, 1), data, size); /* of its own size, so that nobody reads beyond it */
    struct str text = { copy + 1, (uint32_t)(size - 1) };
    stage_init(&stage);
    struct reply reply = { .extender = STR("http://x"), .cycle = &stage.cycle, .text = text };
    switch (data[0] % 7) {
    case 0:
    case 1:
        check_filter(&stage, &reply, data[0] % 7 == 0);
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
        check_whole(data[0] % 7 == 5 ? KIND_POD : KIND_NODE, text);
    }
    must(stage.arena.total_bytes <= (1 << 20) + 64 * size);
    stage_release(&stage);
    free(copy);
    return 0;
}
