/* test_explained.c: explaining pods of a running scheduler changes no decision and nothing in the model.
 *
 * Two fixtures with the same seed go through the same changes. In one of them waiting and placed pods are explained all
 * the time. Decisions are the same, and at the end so is every list of the model, in its order.
 *
 *     test_explained [--seed N] [--seeds COUNT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "property/random_fixture.h"
#include "whatif/explain_print.h"

enum { DECISIONS_MAX = 120, FAILURES_MAX = 3, ALONE = 0, EXPLAINED = 1 };

static uint64_t decisions, preemptions, waiting_explained, placed_explained;

struct fixture_pair {
    struct random_fixture fixtures[2];
    struct rng rng; /* for the explained pods */
    uint64_t seed;
};

/* ---- explaining, in one fixture ---- */
static void explain(struct random_fixture *fixture, struct pod_info *pod)
{
    struct explanation *explanation = xcalloc(1, sizeof(*explanation));
    struct strbuf out = { 0 };
    explain_pod(explanation, engine_profile(&fixture->engine, pod->api), &fixture->cluster, pod,
                &(struct explain_options){ .live = true });
    explain_json(explanation, &out);
    *(pod->row == ROW_NONE ? &waiting_explained : &placed_explained) += out.len > 0;
    explanation_release(explanation);
    strbuf_release(&out);
    free(explanation);
}

struct pick {
    uint32_t left;
    struct pod_info *found;
};

static void pick_waiting(void *context, const struct queued_pod *entry)
{
    struct pick *pick = context;
    if (entry->pod && pick->left-- == 0)
        pick->found = entry->pod;
}

static void explain_some(struct random_fixture *fixture, struct rng *rng)
{
    struct pick pick = { .left = random_below(rng, 6) };
    queue_each(&fixture->engine.queue, pick_waiting, &pick);
    if (pick.found && chance(rng, 50))
        explain(fixture, pick.found);
    if (fixture->placed.len && chance(rng, 50)) {
        struct pod_info *pod = fixture->placed.items[random_below(rng, (uint32_t)fixture->placed.len)];
        if (pod->row != ROW_NONE)
            explain(fixture, pod);
    }
}

/* ---- comparing ---- */
static void describe(const struct decision *decision, struct strbuf *out)
{
    strbuf_printf(out,
                  "pod " STR_FMT
                  ": %s, row %d, nominated %d, %u of %u nodes feasible, %u equal with %lld%s%s: " STR_FMT,
                  STR_ARG(decision->pod->api->meta.name), decision_path_names[decision->path],
                  (int)decision->row, (int)decision->nominated_row, decision->feasible, decision->examined,
                  decision->ties, (long long)decision->total, decision->is_error ? ", error" : "",
                  decision->retry ? ", again" : "", STR_ARG(decision->message));
    for (uint32_t i = 0; i < decision->victims_len; i++)
        strbuf_printf(out, " -" STR_FMT, STR_ARG(decision->victims[i]->api->meta.name));
}

static void describe_pods(const char *what, const pod_vec *pods, struct strbuf *out)
{
    strbuf_printf(out, " %s:", what);
    for (size_t i = 0; i < pods->len; i++)
        strbuf_printf(out, " " STR_FMT "@%u", STR_ARG(pods->items[i]->api->meta.name), pods->items[i]->slot);
}

static void describe_placed(struct label_owner *owner, struct strbuf *out)
{
    strbuf_printf(out, "\nlabels %u:", owner->number);
    vec_for(&owner->placed, placed)
        strbuf_printf(out, " " STR_FMT "@%u on %u", STR_ARG(placed->pod->api->meta.name),
                      placed->pod->label_slot, placed->row);
}

/* Every list of the model in its order, and the columns. */
static void describe_model(const struct cluster *cluster, struct strbuf *out)
{
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        const struct node_entry *node = &cluster->nodes.items[row];
        strbuf_printf(out, "row %u", row);
        describe_pods("pods", &node->pods, out);
        describe_pods("affinity", &node->with_affinity, out);
        describe_pods("anti", &node->with_anti, out);
        describe_pods("nominated", &node->nominated, out);
        for (size_t i = 0; i < node->ports.len; i++)
            strbuf_printf(out, " port %d/" STR_FMT, node->ports.items[i].port,
                          STR_ARG(intern_text(&cluster->syms, node->ports.items[i].protocol)));
        for (uint32_t r = 0; r < cluster->col.resources; r++)
            strbuf_printf(out, " %lld", (long long)cluster->col.used[r][row]);
        strbuf_printf(out, " %lld %lld\n", (long long)cluster->col.nonzero_cpu[row],
                      (long long)cluster->col.nonzero_memory[row]);
        for (size_t i = 0; i < node->pods.len; i++) {
            const struct pod_info *pod = node->pods.items[i];
            describe_placed(pod->class->labels, out);
            if (pod->class->has_affinity_section)
                vec_for(&pod->class->terms->placed, placed)
                    strbuf_printf(out, " term " STR_FMT "@%u", STR_ARG(placed->pod->api->meta.name),
                                  placed->pod->term_slot);
        }
    }
    for (uint32_t r = 0; r < cluster->col.resources; r++)
        strbuf_printf(out, "bits %llx\n", (unsigned long long)cluster->col.bits[r]);
    strbuf_printf(out, "placed %u assumed %u anti %zu affinity %zu nominations %zu claims %zu\n",
                  cluster->placed_pods, cluster->assumed_pods, cluster->pods_with_anti,
                  cluster->pods_with_affinity, cluster->nominations, cluster->pvc_users.len);
}

static bool same_text(const struct fixture_pair *pair, struct strbuf texts[2], const char *what)
{
    bool same = str_eq(strbuf_slice(&texts[ALONE]), strbuf_slice(&texts[EXPLAINED]));
    if (!same)
        printf("seed %llu, %s:\n  want %s\n   got %s\n", (unsigned long long)pair->seed, what,
               texts[ALONE].text, texts[EXPLAINED].text);
    for (int i = 0; i < 2; i++)
        strbuf_release(&texts[i]);
    return same;
}

static bool step(struct fixture_pair *pair)
{
    struct decision made[2];
    struct strbuf texts[2] = { { 0 }, { 0 } };
    bool more[2];
    for (int i = 0; i < 2; i++) {
        random_fixture_live(&pair->fixtures[i]);
        if (i == EXPLAINED)
            explain_some(&pair->fixtures[i], &pair->rng);
        more[i] = engine_step(&pair->fixtures[i].engine, RANDOM_FIXTURE_NOW_NS, &made[i]);
        if (more[i])
            describe(&made[i], &texts[i]);
    }
    decisions += more[ALONE];
    preemptions += more[ALONE] && made[ALONE].victims_len > 0;
    if (!same_text(pair, texts, "decision"))
        return false;
    for (int i = 0; i < 2 && more[i]; i++)
        random_fixture_follow(&pair->fixtures[i], &made[i]);
    return true;
}

static bool same_models(struct fixture_pair *pair)
{
    struct strbuf texts[2] = { { 0 }, { 0 } };
    for (int i = 0; i < 2; i++)
        describe_model(&pair->fixtures[i].cluster, &texts[i]);
    return same_text(pair, texts, "model");
}

static bool run_seed(uint64_t seed)
{
    struct fixture_pair pair = { .seed = seed };
    bool same = true;
    rng_seed(&pair.rng, seed);
    for (int i = 0; i < 2; i++) {
        random_fixture_init(&pair.fixtures[i], seed);
        pair.fixtures[i].nominates = false; /* preemption does that in this test */
    }
    for (uint32_t left = DECISIONS_MAX; left > 0 && same; left--)
        same = step(&pair);
    same = same && same_models(&pair) && random_fixture_adds_up(&pair.fixtures[EXPLAINED]);
    if (!same)
        printf("again with: test_explained --seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 2; i++)
        random_fixture_release(&pair.fixtures[i]);
    return same;
}

int main(int argc, char **argv)
{
    int64_t first = 1, seeds = 1, value;
    for (int i = 1; i < argc; i += 2) {
        bool is_seed = strcmp(argv[i], "--seed") == 0, is_count = strcmp(argv[i], "--seeds") == 0;
        if (i + 1 == argc || !(is_seed || is_count) || !str_to_int64(str_from(argv[i + 1]), &value)) {
            fprintf(stderr, "usage: test_explained [--seed N] [--seeds COUNT]\n");
            return 2;
        }
        *(is_seed ? &first : &seeds) = value;
    }
    int failed = 0;
    printf("seeds %lld to %lld\n", (long long)first, (long long)(first + seeds - 1));
    for (int64_t i = 0; i < seeds && failed < FAILURES_MAX; i++)
        failed += !run_seed((uint64_t)(first + i));
    printf("%llu decisions, %llu preemptions; %llu pods that wait and %llu with a node were explained\n",
           (unsigned long long)decisions, (unsigned long long)preemptions,
           (unsigned long long)waiting_explained, (unsigned long long)placed_explained);
    return failed || !waiting_explained || !placed_explained ? 1 : 0;
}
