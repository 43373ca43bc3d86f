/* NodeMetadata.c: scores nodes by a number or a time in a label or an annotation, as the plugin of that name in
 * kubernetes-sigs/scheduler-plugins does, with its arguments.
 *
 *     raw    = the number without its fraction, or the time in seconds; negative with Lowest and Oldest
 *     score  = 1 + (raw - lowest) x 99 / (highest - lowest), rounded down; 1 if all are equal
 *
 * A node without a readable value has 0. Times are compared with each other and not with the clock, so that a decision
 * can be repeated; the differences are the same. */
#include <berth/plugin.h>

#include "at_once.h"
#include "go_time.h"
#include "node_value.h"
#include "row_cache.h"

enum { SCORE_MIN = 1 };
#define INVALID INT64_MIN

struct args {
    struct berth_str key, source, type, strategy, format;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("metadataKey", BERTH_STRING, struct args, key),
    BERTH_FIELD("metadataSource", BERTH_STRING, struct args, source),
    BERTH_FIELD("metadataType", BERTH_STRING, struct args, type),
    BERTH_FIELD("scoringStrategy", BERTH_STRING, struct args, strategy),
    BERTH_FIELD("timestampFormat", BERTH_STRING, struct args, format),
    { 0 },
};

struct self {
    const struct args *args;
    const char *format;
    bool from_label, is_time, is_inverted;
    struct row_cache nodes;
};

struct node_score {
    struct row_entry entry;
    int64_t raw;
};

static int check(const struct args *args, struct berth_error *err)
{
    bool is_time = berth_is(args->type, "Timestamp");
    if (!args->key.len)
        return berth_fail(err, "metadataKey: expected the name of a label or an annotation");
    if (!berth_is(args->source, "Label") && !berth_is(args->source, "Annotation"))
        return berth_fail(err, "metadataSource: expected Label or Annotation, got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->source));
    if (!is_time && !berth_is(args->type, "Number"))
        return berth_fail(err, "metadataType: expected Number or Timestamp, got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->type));
    if (!berth_is(args->strategy, is_time ? "Newest" : "Highest") &&
        !berth_is(args->strategy, is_time ? "Oldest" : "Lowest"))
        return berth_fail(err, "scoringStrategy: expected %s, got \"" BERTH_FMT "\"",
                          is_time ? "Newest or Oldest for a Timestamp" : "Highest or Lowest for a Number",
                          BERTH_ARG(args->strategy));
    if (is_time && args->format.len && !go_time_layout_ok(args->format.ptr))
        return berth_fail(err,
                          "timestampFormat: expected a layout of Go such as " GO_TIME_RFC3339
                          ", got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->format));
    return 0;
}

/* Numbers beyond int64_t are no values, as in the original. */
static bool read_number(struct berth_str text, int64_t *ret)
{
    double number;
    if (!value_number(text, &number) || !(number > -0x1p63 && number < 0x1p63))
        return false;
    *ret = (int64_t)number;
    return true;
}

static void fill_node(const void *context, const void *node, struct row_entry *ret)
{
    const struct self *self = context;
    struct node_score *score = (struct node_score *)(void *)ret;
    const char *key = self->args->key.ptr;
    struct berth_str text =
        self->from_label ? berth_object_label(node, key) : berth_object_annotation(node, key);
    int64_t value;
    bool valid = self->is_time ? go_time_parse(self->format, text, &value) : read_number(text, &value);
    score->raw = !valid ? INVALID : self->is_inverted ? -value : value;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *self = (struct self){
        .args = args,
        .format = args->format.len ? args->format.ptr : GO_TIME_RFC3339,
        .from_label = berth_is(args->source, "Label"),
        .is_time = berth_is(args->type, "Timestamp"),
        .is_inverted = berth_is(args->strategy, "Lowest") || berth_is(args->strategy, "Oldest"),
        .nodes = { .size = sizeof(struct node_score), .fill = fill_node },
    };
    *ret_self = self;
    return check(args, err);
}

static void release(void *data)
{
    struct self *self = data;
    row_cache_release(&self->nodes);
}

/* The plugin's data, which is also the state of an attempt. */
static struct self *begin(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct self *self = berth_cycle_self(cycle);
        row_cache_begin(&self->nodes, berth_cycle_cluster(cycle));
        *state = self;
    }
    return *state;
}

AT_ONCE int64_t raw_score(struct self *self, struct berth_node_view node)
{
    return ((const struct node_score *)row_cache_get(&self->nodes, self, node))->raw;
}

SCORE_SLOTS(begin, raw_score)

/* The usual distances fit 64 bits when multiplied; dividing longer numbers is slow. */
static int64_t share(uint64_t part, uint64_t range)
{
    if (!range)
        return 0;
    if (range < (uint64_t)1 << 56)
        return (int64_t)(part * (BERTH_SCORE_MAX - SCORE_MIN) / range);
    return (int64_t)((unsigned __int128)part * (BERTH_SCORE_MAX - SCORE_MIN) / range);
}

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    (void)cycle;
    for (size_t i = 0; i < len; i++)
        if (scores[i] != INVALID) {
            low = scores[i] < low ? scores[i] : low;
            high = scores[i] > high ? scores[i] : high;
        }
    uint64_t range = (uint64_t)high - (uint64_t)low;
    for (size_t i = 0; i < len; i++)
        scores[i] = scores[i] == INVALID ? 0 : SCORE_MIN + share((uint64_t)scores[i] - (uint64_t)low, range);
}

/* The score is the same for all pods. */
static const char *const reads[] = { NULL };

static const struct berth_plugin node_metadata = {
    .name = "NodeMetadata",
    .doc = "Scores nodes by a number or a time in a label or an annotation.",
    .args = fields,
    .args_size = sizeof(struct args),
    .init = init,
    .release = release,
    .score = score,
    .score_nodes = score_nodes,
    .normalize = normalize,
    .reads = reads,
};

BERTH_PLUGINS(&node_metadata)
