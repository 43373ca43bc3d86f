/* What a loaded plugin says: sizes and tables of its module, its statuses with their reasons, names of nodes, scores,
 * victims, paths. Every answer of its callbacks is made of the input; pointers are valid or NULL. */
#include "abi/host.h"
#include "abi/loaded.h"
#include "framework/run.h"
#include "fuzz/fuzz.h"

static struct {
    const uint8_t *at;
    size_t len;
    const struct berth_pod_info *pod;
} input;

static uint8_t byte(void)
{
    if (!input.len)
        return 0;
    input.len--;
    return *input.at++;
}

static uint32_t word(void)
{
    return (uint32_t)byte() | (uint32_t)byte() << 8 | (uint32_t)byte() << 16 | (uint32_t)byte() << 24;
}

/* A piece of the input, as a copy that ends where it ends; sometimes a length without characters. */
static struct berth_str piece(struct arena *arena)
{
    size_t len = byte() % 32u;
    len = MIN(len, input.len);
    struct berth_str text = { arena_strndup(arena, (const char *)input.at, len), (uint32_t)len };
    input.at += len;
    input.len -= len;
    if (byte() % 8 == 0)
        text.ptr = NULL;
    return text;
}

static struct berth_status any_status(struct berth_cycle *cycle)
{
    uint32_t len = byte() % 4;
    struct berth_str *reasons = arena_array(in_cycle(cycle)->arena, struct berth_str, len);
    for (uint32_t i = 0; i < len; i++)
        reasons[i] = piece(in_cycle(cycle)->arena);
    bool has_reasons = byte() % 8 && len;
    return (struct berth_status){ (enum berth_code)(byte() % 10), has_reasons ? len : word(),
                                  has_reasons ? reasons : NULL, &input };
}

static struct berth_status any_pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct arena *arena = in_cycle(cycle)->arena;
    uint32_t len = byte() % 4;
    struct berth_str *names = arena_array(arena, struct berth_str, len);
    for (uint32_t i = 0; i < len; i++)
        names[i] = piece(arena);
    if (byte() % 2)
        *narrow = (struct berth_node_names){ false, byte() % 4 ? names : NULL, len };
    else if (byte() % 2)
        host_table.narrow(cycle, narrow, names, len);
    return any_status(cycle);
}

static struct berth_status any_filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)host_table.node_used(node, word());
    (void)host_table.fits_without(cycle, word() % 4, &input.pod, 1);
    return any_status(cycle);
}

static struct berth_status any_post_filter(struct berth_cycle *cycle, struct berth_diagnosis *diagnosis,
                                           struct berth_post_filter_result *ret)
{
    static const struct berth_pod_info *victims[2];
    victims[0] = byte() % 2 ? input.pod : NULL;
    victims[1] = byte() % 2 ? input.pod : host_table.cycle_info(cycle);
    (void)host_table.diagnosis_of(diagnosis, word());
    (void)host_table.fits_without(cycle, word() % 4, &input.pod, byte() % 2);
    *ret = (struct berth_post_filter_result){ byte() % 2 ? word() : byte() % 4u, byte() % 2,
                                              byte() % 4 ? victims : NULL, byte() % 3u };
    return any_status(cycle);
}

static struct berth_status any_score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    (void)node;
    *ret = (int64_t)((uint64_t)word() << 32 | word());
    return any_status(cycle);
}

static struct berth_status any_reserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    return any_status(cycle);
}

static void any_unreserve(struct berth_cycle *cycle, uint32_t row)
{
    struct arena *arena = in_cycle(cycle)->arena;
    struct berth_str path = piece(arena);
    (void)host_table.node_name(host_table.node(host_table.cycle_cluster(cycle), row));
    (void)host_table.read(byte() % 2 ? "Pod" : "Nothing", host_table.cycle_pod(cycle), path.ptr);
}

static struct berth_status any_permit(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    *ret_timeout_ms = (int64_t)word() - (int64_t)word();
    return any_reserve(cycle, row);
}

/* ---- the module ---- */
static enum berth_hint_answer any_hint(const struct berth_hint *hint, const struct berth_pod *pod,
                                       const struct berth_event *event)
{
    (void)hint, (void)pod, (void)event;
    return (enum berth_hint_answer)byte();
}

static void fill_tables(struct berth_plugin *plugin, struct berth_field fields[8],
                        struct berth_event_rule rules[4], struct arena *arena)
{
    for (int i = 0; i < 7; i++) {
        struct berth_str name = piece(arena);
        fields[i] = (struct berth_field){ name.ptr, (enum berth_field_kind)(byte() % 12), byte(),
                                          byte() % 2 ? fields : NULL, byte() };
    }
    for (int i = 0; i < 3; i++)
        rules[i] = (struct berth_event_rule){ (enum berth_resource)(byte() % 20), word(),
                                              byte() % 2 ? any_hint : NULL };
    plugin->args = byte() % 2 ? fields : NULL;
    plugin->args_size = byte();
    plugin->events = byte() % 2 ? rules : NULL;
}

static void run_all(const struct plugin *plugin, struct cluster *cluster, struct pod_info *pod,
                    struct arena *arena)
{
    struct profile profile = { .scheduler_name = STR("default-scheduler") };
    struct plugin_instance instance = { .plugin = plugin, .weight = 1 }, *order[] = { &instance };
    struct plugin_env env = {
        .plugin = plugin, .cluster = cluster, .arena = &profile.arena, .profile = &profile
    };
    struct error err;
    profile.plugins = &instance;
    profile.plugins_len = 1;
    for (int point = 0; point < POINT_COUNT; point++)
        if (plugin_points(plugin) & POINT_BIT(point))
            profile.points[point] = (struct plugin_order){ .items = order, .len = 1 };
    must(plugin->init(&env, &instance.self, &err) == 0);
    struct cycle cycle;
    struct evaluation evaluation;
    struct post_filter_result result;
    struct permit_wait wait;
    struct score_table table;
    uint32_t rows[] = { 0, 1 };
    cycle_init(&cycle, &profile, cluster, pod, arena);
    run_evaluation(&cycle, 0, EVERY_NODE, &evaluation);
    (void)diagnosis_message(&evaluation.diagnosis, 2);
    (void)run_post_filter(&cycle, &evaluation.diagnosis, &result);
    must(result.nominated_row == ROW_NONE || result.nominated_row < cluster->nodes.len);
    for (uint32_t i = 0; i < result.victims_len; i++)
        must(result.victims[i] && result.victims[i] != pod && result.victims[i]->row == result.nominated_row);
    (void)run_scores(&cycle, (struct row_list){ rows, 2 }, &table);
    (void)status_message(run_reserve(&cycle, 0), arena);
    (void)status_message(run_permit(&cycle, 0, &wait), arena);
    run_unreserve(&cycle, word());
    diagnosis_release(&evaluation.diagnosis);
    cycle_release(&cycle);
    profile_release(&profile);
}

static void load_and_run(struct cluster *cluster, struct pod_info *pod, struct arena *arena)
{
    static const struct berth_host *host;
    struct berth_field fields[8] = { 0 };
    struct berth_event_rule rules[4] = { 0 };
    struct berth_plugin plugin = { .name = "Any",
                                   .pre_filter = any_pre_filter,
                                   .filter = any_filter,
                                   .post_filter = any_post_filter,
                                   .score = any_score,
                                   .reserve = any_reserve,
                                   .unreserve = any_unreserve,
                                   .permit = any_permit };
    const struct berth_plugin *plugins[] = { &plugin };
    struct berth_module module = { BERTH_ABI,
                                   sizeof(module),
                                   sizeof(plugin),
                                   sizeof(struct berth_host),
                                   &host,
                                   plugins,
                                   1,
                                   0,
                                   2,
                                   sizeof(struct berth_env),
                                   sizeof(struct berth_event_rule),
                                   sizeof(struct berth_field),
                                   sizeof(struct berth_node_names),
                                   sizeof(struct berth_post_filter_result) };
    struct loaded loaded;
    struct error err = { "" };
    if (byte() % 2)
        fill_tables(&plugin, fields, rules, arena);
    loaded_init(&loaded, &(struct registry){ 0 });
    if (loaded_add(&loaded, &module, "any.so", &err) == 0)
        run_all(loaded.registry.items[0], cluster, pod, arena);
    else
        must(err.text[0]);
    loaded_release(&loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct node nodes[2] = { { .meta.name = STR("a") }, { .meta.name = STR("b") } };
    static struct pod pods[2] = { { .meta = { .name = STR("p"), .namespace = STR("n"), .uid = STR("1") } },
                                  { .meta = { .name = STR("q"), .namespace = STR("n"), .uid = STR("2") },
                                    .spec.node_name = STR("a") } };
    struct cluster cluster;
    struct arena arena = { 0 };
    cluster_init(&cluster);
    cluster_set_node(&cluster, &nodes[0]);
    cluster_set_node(&cluster, &nodes[1]);
    struct pod_info *pod = cluster_add_pod(&cluster, &pods[0]);
    input.at = data;
    input.len = size;
    input.pod = out_pod_info(cluster_add_pod(&cluster, &pods[1]));
    load_and_run(&cluster, pod, &arena);
    cluster_release(&cluster);
    arena_release(&arena);
    return 0;
}
