/* Any bytes as lists and watches, all the way into the engine: objects that can be read in part only are in the model,
 * pods are decided, and the sums of the nodes are those of their pods. The first byte selects the kind that comes as
 * bytes; there are a node and a pod already. */
#include "engine/engine.h"
#include "plugins/registry.h"
#include "sync/mirror.h"
#include "sync/watch_decode.h"
#include "sync/watched.h"

#include "fuzz/fuzz.h"

struct setup {
    struct arena arena, scratch;
    struct scheduler_config config;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
};

static const char beginning[] =
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\","
    "\"uid\":\"n\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"8Gi\",\"pods\":\"9\"}}}}";
static const char waiting[] =
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\","
    "\"namespace\":\"d\",\"uid\":\"p\"},\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{}]"
    "}}}";

static void setup_init(struct setup *setup)
{
    struct error err = { 0 };
    memset(setup, 0, sizeof(*setup));
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &setup->arena);
    must(config_default(&(struct config_env){ .catalog = &catalog }, &setup->arena, &setup->config, &err) ==
         0);
    cluster_init(&setup->cluster);
    const struct engine_options options = { .config = &setup->config,
                                            .registry = &builtin_plugins,
                                            .slowest = PATH_INDEX };
    must(engine_init(&setup->engine, &setup->cluster, &options, &err) == 0);
    mirror_init(&setup->mirror, &setup->engine);
}

static void setup_release(struct setup *setup)
{
    engine_release(&setup->engine);
    mirror_release(&setup->mirror);
    cluster_release(&setup->cluster);
    config_release(&setup->config);
    arena_release(&setup->scratch);
    arena_release(&setup->arena);
}

static void apply(struct setup *setup, enum inbox_message_kind kind, enum api_kind api_kind,
                  struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = api_kind;
    message->object = object;
    mirror_apply(&setup->mirror, message, 0);
    inbox_message_free(message);
}

static void set(struct setup *setup, enum api_kind kind, struct live_object *object)
{
    apply(setup, object->object.is_partial ? MESSAGE_PARTIAL : MESSAGE_SET, kind, object);
}

static void watch(struct setup *setup, enum api_kind kind, struct str bytes)
{
    struct watch_decoder decoder;
    struct live_event event;
    struct error err;
    watch_decoder_init(&decoder, kind);
    watch_decoder_feed(&decoder, bytes);
    while (watch_decoder_next(&decoder, &setup->scratch, &event, &err) > 0) {
        if (!event.object)
            continue;
        if (event.type == WATCH_DELETED)
            apply(setup, MESSAGE_REMOVE, kind, event.object);
        else
            set(setup, kind, event.object);
    }
    watch_decoder_release(&decoder);
}

static void list(struct setup *setup, enum api_kind kind, struct str bytes)
{
    struct strbuf body = { 0 };
    struct list_page page;
    struct live_object *object;
    struct error err;
    int r;
    strbuf_str(&body, bytes);
    if (list_page_init(&page, kind, &body, &err) == 0) {
        apply(setup, MESSAGE_LIST_BEGIN, kind, NULL);
        while ((r = list_page_next(&page, &setup->scratch, &object, &err)) != 0) {
            if (r > 0)
                set(setup, kind, object);
            else
                apply(setup, MESSAGE_PARTIAL, kind, NULL);
        }
        apply(setup, MESSAGE_LIST_END, kind, NULL);
    }
    list_page_release(&page);
}

static void decide(struct setup *setup)
{
    enum { DECISIONS_MAX = 8 };
    struct decision decision;
    for (int i = 0; i < DECISIONS_MAX && engine_step(&setup->engine, i, &decision); i++)
        must(decision.pod);
}

/* What the nodes count is what their pods have. */
static void check_sums(const struct setup *setup)
{
    for (uint32_t row = 0; row < setup->cluster.nodes.len; row++) {
        struct node_view view = { &setup->cluster, row, NULL };
        must(node_used(view, RES_PODS) == (int64_t)node_pods(view).len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct setup setup;
    struct str bytes = { (const char *)data + 1, (uint32_t)(size - 1) };
    enum api_kind kind = watched_kinds[data[0] % watched_kind_count].kind;
    setup_init(&setup);
    watch(&setup, KIND_NODE, str_from(beginning));
    watch(&setup, KIND_POD, str_from(waiting));
    watch(&setup, kind, bytes);
    decide(&setup);
    list(&setup, kind, bytes);
    decide(&setup);
    check_sums(&setup);
    setup_release(&setup);
    return 0;
}
