/* replay.c: the engine again, with the recorded inputs; see replay.h. */
#include "replay/replay.h"

#include <stdlib.h>

#include "api/extra_kinds.h"
#include "api/fields.h"
#include "api/protobuf.h"
#include "framework/blocking_work.h"
#include "input/config_folder.h"
#include "plugins/registry.h"
#include "replay/replayed_extender.h"

enum { ENTRIES_BETWEEN_PROGRESS = 1024 };

/* ---- the beginning ---- */

/* The release that it stood in for, with the defaults of its gates. Recordings that name none are of 1.36. */
static int read_release(struct replay *replay, struct str body, struct error *err)
{
    struct protobuf_reader reader = protobuf_reader(body);
    struct protobuf_field field;
    uint64_t minor = RELEASE_UNNAMED, compatible = 0;
    while (protobuf_next(&reader, &field) > 0) {
        if (field.tag == HEAD_RELEASE && field.wire == WIRE_VARINT)
            minor = field.number;
        else if (field.tag == HEAD_COMPATIBLE && field.wire == WIRE_VARINT)
            compatible = field.number;
    }
    const struct release *release = release_of((int64_t)minor);
    if (!release)
        return error_set(err, -ENOTSUP, "it was recorded as Kubernetes 1.%llu, which is not known here",
                         (unsigned long long)minor);
    features_default(&replay->features, release, (int)MIN(compatible, minor));
    return 0;
}

static int read_features(struct replay *replay, struct str body, struct error *err)
{
    struct protobuf_reader reader = protobuf_reader(body);
    struct protobuf_field field;
    int r = read_release(replay, body, err);
    if (r < 0)
        return r;
    while (protobuf_next(&reader, &field) > 0) {
        if (field.tag != HEAD_FEATURE || field.wire != WIRE_BYTES || str_find(field.bytes, '=') < 0)
            continue;
        struct str value = field.bytes, name = str_cut(&value, '=');
        int gate = feature_find(name);
        if (gate >= 0)
            replay->features.enabled[gate] = str_is(value, "true");
        else if (str_is(value, "true"))
            return error_set(err, -ENOTSUP,
                             "it was recorded with the feature gate " STR_FMT ", which is not known here",
                             STR_ARG(name));
    }
    return 0;
}

/* As another release: its gates have their defaults there, but for those that were set when it was recorded. */
static void choose_release(struct replay *replay)
{
    const struct release *other = replay->options.release;
    struct features before, now;
    replay->recorded_features = replay->features;
    replay->recorded_release = replay->features.release;
    replay->compares = replay->options.config || (other && other != replay->recorded_release);
    if (!other || other == replay->recorded_release)
        return;
    features_default(&before, replay->recorded_release, replay->features.compatible);
    features_default(&now, other, 0);
    for (int i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_state *state = feature_state(&now, (enum feature)i);
        if (replay->features.enabled[i] != before.enabled[i] && state && !state->locked)
            now.enabled[i] = replay->features.enabled[i];
    }
    replay->features = now;
}

/* A plugin that came from a shared object when it was recorded is not here unless it is loaded again. */
static int without_plugin(struct error *err, int r)
{
    struct error before = *err;
    char *end = strstr(before.text, "\" does not exist");
    if (!end)
        return r;
    *end = '\0';
    const char *name = strrchr(before.text, '"');
    return error_set(
        err, r,
        "the recorded configuration enables the plugin \"%s\", which is not built in: --plugin must "
        "name the shared object that it came from",
        name ? name + 1 : "");
}

static int read_config(struct replay *replay, struct str recorded, struct scheduler_config *ret,
                       struct error *err)
{
    int opened = replay->options.open_plugins ? replay->options.open_plugins(recorded, err) : 0;
    if (opened < 0)
        return opened;
    struct plugin_catalog catalog = registry_catalog(replay->options.registry, &replay->arena);
    struct config_env env = { .catalog = &catalog, .features = &replay->features };
    const char *path;
    int r = config_folder_resolve(replay->options.config, &replay->arena, &path, &replay->warnings, err);
    if (r < 0)
        return r;
    if (path)
        return config_load(path, &env, &replay->arena, ret, &replay->warnings, err);
    env.features = &replay->recorded_features; /* it may have fields that another release does not know */
    char *text = xcalloc(1, recorded.len + YYJSON_PADDING_SIZE);
    if (recorded.len)
        memcpy(text, recorded.ptr, recorded.len);
    r = config_load_text("the recorded configuration", text, recorded.len, &env, &replay->arena, ret,
                         &replay->warnings, err);
    return r < 0 ? without_plugin(err, r) : 0;
}

/* What is compared is decided without extenders, which cannot be called. */
static int make_extenders(struct replay *replay, struct replay_setup *setup, struct error *err)
{
    if (replay->compares) {
        if (setup->config.extenders.len)
            *vec_push(&replay->warnings.list) = STR("extenders are not asked in a replay; they are left out");
        return 0;
    }
    int r =
        http_extenders_new(&(struct http_extenders_options){ .config = &setup->config }, &setup->http, err);
    if (r == 0)
        setup->extenders = replayed_extenders_new(http_extenders_table(setup->http));
    return r;
}

static void setup_free(struct replay_setup *setup)
{
    replayed_extenders_free(setup->extenders);
    http_extenders_free(setup->http);
    config_release(&setup->config);
    free(setup);
}

static struct replay_setup *setup_new(struct replay *replay, struct str recorded, struct error *err)
{
    struct replay_setup *setup = xcalloc(1, sizeof(*setup));
    if (read_config(replay, recorded, &setup->config, err) < 0) {
        free(setup);
        return NULL;
    }
    if (make_extenders(replay, setup, err) < 0) {
        setup_free(setup);
        return NULL;
    }
    *vec_push(&replay->setups) = setup;
    return setup;
}

static struct replay_setup *present(const struct replay *replay)
{
    return replay->setups.items[replay->setups.len - 1];
}

/* ---- the host ---- */

/* The answer is in the recording. */
static void emit_nothing(void *context _unused_, const struct effect *effect _unused_)
{
}

/* Its end is in the recording, too. */
static void keep_work(void *context, struct cycle_work *work)
{
    idmap_put(&((struct replay *)context)->works, work->number, work);
}

static int make_engine(struct replay *replay, const struct recording_entry *head, struct error *err)
{
    const struct replay_setup *setup = present(replay);
    const uint64_t *numbers = head->fields.numbers;
    struct engine_options options = {
        .config = &setup->config,
        .registry = replay->options.registry,
        .seed = replay->seed,
        .now_ns = head->now_ns,
        .slowest = PATH_INDEX,
        .extenders = replayed_extenders_table(setup->extenders),
        .unschedulable_max_ns = (int64_t)MIN(numbers[HEAD_UNSCHEDULABLE_MAX_NS], RECORDING_TIME_MAX_NS / 2),
        .last_ticket = numbers[HEAD_LAST_TICKET],
        .announces =
            numbers[HEAD_ANNOUNCES] && !replay->comparison, /* else no watch shows what it announces */
        .host = { .emit = emit_nothing, .takes_work = keep_work, .replays = true, .context = replay },
    };
    if (numbers[HEAD_PERCENTAGE])
        options.percentage =
            (struct opt_int32){ .set = true, .value = (int32_t)MIN(numbers[HEAD_PERCENTAGE] - 1, 100) };
    if (replay->comparison)
        options.host = (struct engine_host){ .emit = compare_emit,
                                             .takes_work = compare_take_work,
                                             .context = replay->comparison };
    options.host.bindings_max = (uint32_t)MIN(numbers[HEAD_BINDINGS_MAX], UINT32_MAX);
    cluster_init(&replay->cluster);
    replay->cluster.features = replay->features;
    int r = engine_init(&replay->engine, &replay->cluster, &options, err);
    if (r < 0) {
        engine_release(&replay->engine);
        cluster_release(&replay->cluster);
        return r;
    }
    mirror_init(&replay->mirror, &replay->engine);
    replay->engine_ready = true;
    return 0;
}

static int begin(struct replay *replay, const struct recording_entry *head, struct error *err)
{
    replay->version = head->fields.texts[HEAD_VERSION];
    replay->seed = head->fields.numbers[HEAD_SEED];
    replay->first_ns = head->now_ns;
    int r = read_features(replay, head->body, err);
    if (r < 0)
        return r;
    choose_release(replay);
    if (!setup_new(replay, head->fields.texts[HEAD_CONFIG], err))
        return -EINVAL;
    if (replay->compares)
        replay->comparison = compare_new(replay);
    return make_engine(replay, head, err);
}

static int repeat_config(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    const struct replay_setup *setup = setup_new(replay, entry->fields.texts[CONFIG_TEXT], err);
    if (!setup)
        return -EINVAL;
    replay->reloads++;
    return engine_reconfigure(
        &replay->engine,
        &(struct engine_setup){ .config = &setup->config,
                                .registry = replay->options.registry,
                                .extenders = replayed_extenders_table(setup->extenders) },
        entry->now_ns, err);
}

/* ---- messages of plugins ---- */

/* Work ends as it did when it was recorded. */
static int apply_outcome(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    struct protobuf_reader reader = protobuf_reader(entry->body);
    struct protobuf_field field;
    VEC(struct str) reasons = { 0 };
    struct cycle_work *work = idmap_remove(&replay->works, entry->fields.numbers[RECEIVED_WORK]);
    uint64_t code = entry->fields.numbers[RECEIVED_STATUS] - 1;
    if (!work)
        return error_set(err, -EBADMSG, "a plugin is done with work that it did not begin here");
    while (protobuf_next(&reader, &field) > 0)
        if (field.tag == RECEIVED_REASON && field.wire == WIRE_BYTES)
            *vec_push(&reasons) = field.bytes;
    struct status status = { .code = code <= STATUS_PENDING ? (enum status_code)code : STATUS_ERROR,
                             .len = (uint32_t)reasons.len,
                             .reasons = reasons.items };
    engine_plugin_message(&replay->engine, work_conclude(work, status));
    vec_release(&reasons);
    return 0;
}

static int repeat_message(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    const struct registry *registry = replay->options.registry;
    const struct str *texts = entry->fields.texts;
    uint64_t kind = entry->fields.numbers[RECEIVED_KIND] - 1;
    if (kind == PLUGIN_MESSAGE_WORK_DONE)
        return apply_outcome(replay, entry, err);
    for (uint32_t i = 0; kind < PLUGIN_MESSAGE_WORK_DONE && i < registry->len; i++)
        if (str_is(texts[RECEIVED_PLUGIN], registry->items[i]->name)) {
            engine_plugin_message(&replay->engine, plugin_message_new(&(struct plugin_message){
                                                       .kind = (enum plugin_message_kind)kind,
                                                       .plugin = registry->items[i],
                                                       .namespace = texts[RECEIVED_NAMESPACE],
                                                       .name = texts[RECEIVED_NAME],
                                                       .uid = texts[RECEIVED_UID],
                                                       .reason = texts[RECEIVED_REASON] }));
            return 0;
        }
    return error_set(err, -EBADMSG, "what a plugin said cannot be read");
}

/* Work that has not ended in the recording. */
static void end_works(struct replay *replay)
{
    map_for(&replay->works, slot)
        engine_plugin_message(&replay->engine,
                              work_conclude(slot->value, (struct status){ .code = STATUS_ERROR }));
    idmap_release(&replay->works);
}

/* ---- messages ---- */

static enum api_kind kind_of(struct str name)
{
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_EXTRA_FIRST; kind++)
        if (str_eq(api_kinds[kind].kind, name))
            return (enum api_kind)kind;
    return extra_kind_named(name);
}

static const enum inbox_message_kind message_kinds[JOURNAL_ENTRY_KINDS] = {
#define X(name, handler) [JOURNAL_##name] = MESSAGE_##name,
    WATCH_INPUTS(X) WATCH_INPUTS_LATER(X)
#undef X
};

static int read_object(struct inbox_message *message, struct str bytes, struct error *err)
{
    message->object = live_object_new();
    int r = object_decode_protobuf_as(bytes, message->api_kind, STRINGS_COPIED, &message->object->arena,
                                      &message->object->object, err);
    if (r == 0 && message->object->object.kind != message->api_kind)
        r = error_set(err, -EINVAL, "an object is of another kind than its entry says");
    return r;
}

bool replay_is_unused(const struct recording_entry *entry)
{
    struct str kind = entry->fields.texts[MESSAGE_API_KIND];
    return str_find(kind, '/') >= 0 && kind_of(kind) == KIND_UNKNOWN;
}

struct inbox_message *replay_message(const struct recording_entry *entry, struct error *err)
{
    const struct str *texts = entry->fields.texts;
    struct inbox_message *message = inbox_message_new(message_kinds[entry->kind]);
    message->api_kind = kind_of(texts[MESSAGE_API_KIND]);
    bool has_object = entry->kind == JOURNAL_SET || entry->kind == JOURNAL_REMOVE ||
                      (entry->kind == JOURNAL_PARTIAL && texts[MESSAGE_OBJECT].len);
    int r = 0;
    if (message->api_kind == KIND_UNKNOWN)
        r = error_set(err, -ENOTSUP, "objects of the kind \"" STR_FMT "\" are not known here",
                      STR_ARG(texts[MESSAGE_API_KIND]));
    else if (has_object)
        r = read_object(message, texts[MESSAGE_OBJECT], err);
    if (r == 0)
        return message;
    inbox_message_free(message);
    return NULL;
}

static int repeat_watch(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    if (replay_is_unused(entry))
        return 0;
    struct inbox_message *message = replay_message(entry, err);
    if (!message)
        return -EBADMSG;
    mirror_apply(&replay->mirror, message, entry->now_ns);
    inbox_message_free(message);
    return 0;
}

int replay_answer(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    const struct str *texts = entry->fields.texts;
    const uint64_t *numbers = entry->fields.numbers;
    if (numbers[ANSWER_RESULT] >= ANSWER_KIND_COUNT)
        return error_set(err, -EBADMSG, "an answer of a kind that is not known here");
    const struct answer answer = {
        .kind = (enum answer_kind)numbers[ANSWER_RESULT],
        .message = texts[ANSWER_MESSAGE],
        .retry_after_ms = (int64_t)numbers[ANSWER_RETRY_AFTER_MS],
        .resource_version = texts[ANSWER_VERSION],
        .node = texts[ANSWER_NODE],
        .uid = texts[ANSWER_UID],
        .terminating = numbers[ANSWER_TERMINATING] != 0,
        .name = texts[ANSWER_NAME],
    };
    engine_answer(&replay->engine, numbers[ANSWER_TICKET], &answer, entry->now_ns);
    return 0;
}

/* ---- decisions ---- */

struct str replay_decision(struct replay *replay, const struct decision *decision, int64_t now_ns)
{
    struct protobuf_field field;
    strbuf_clear(&replay->line);
    journal_put_decision(&replay->line, &replay->cluster, decision, now_ns);
    struct protobuf_reader reader = protobuf_reader(strbuf_slice(&replay->line));
    struct str body = protobuf_next(&reader, &field) > 0 ? field.bytes : (struct str){ 0 };
    replay->decisions++;
    replay->placements += decision->row != ROW_NONE;
    replay->digest = hash_bytes(body.ptr, body.len, replay->digest);
    if (replay->options.on_decision && now_ns >= replay->options.from_ns)
        replay->options.on_decision(replay->options.user, now_ns, body);
    return body;
}

/* Looks at the model as it is. */
static void explain(struct replay *replay, const struct recording_entry *entry)
{
    const struct replay_options *options = &replay->options;
    struct explanation explanation;
    struct str namespace = entry->fields.texts[DECISION_NAMESPACE], name = entry->fields.texts[DECISION_NAME];
    if (entry->kind != JOURNAL_DECISION || entry->now_ns < options->from_ns ||
        entry->fields.numbers[DECISION_FLAGS] & DECISION_IS_DELETED)
        return;
    if (options->explain_name.len &&
        (!str_eq(name, options->explain_name) || !str_eq(namespace, options->explain_namespace)))
        return;
    struct pod_info *pod = cluster_find_pod(&replay->cluster, namespace, name);
    const struct profile *profile = pod ? engine_profile(&replay->engine, pod->api) : NULL;
    if (!profile)
        return;
    const struct explain_options how = { .now_ns = entry->now_ns,
                                         .wall_ahead_ns = replay->engine.statuses.wall_ahead_ns,
                                         .live = true,
                                         .begins = true,
                                         .file_of = options->file_of };
    explain_pod(&explanation, profile, &replay->cluster, pod, &how);
    options->on_explanation(options->user, entry, &explanation);
    explanation_release(&explanation);
}

/* Decides, and compares that with what was recorded. */
static int repeat_decision(struct replay *replay, const struct recording_entry *entry,
                           struct error *err _unused_)
{
    struct decision decision;
    struct str here = { 0 }, recorded = entry->kind == JOURNAL_DECISION ? entry->body : (struct str){ 0 };
    if (replay->options.on_explanation)
        explain(replay, entry);
    if (engine_step(&replay->engine, entry->now_ns, &decision))
        here = replay_decision(replay, &decision, entry->now_ns);
    if (!str_eq(here, recorded))
        replay->difference = (struct replay_difference){
            .there = true,
            .number = replay->decisions + (here.len == 0),
            .now_ns = entry->now_ns,
            .recorded = recorded,
            .here = here.len ? arena_str(&replay->arena, here) : here,
        };
    return 0;
}

#define repeat_answer replay_answer
#define repeat_idle repeat_decision

static int repeat_head(struct replay *replay _unused_, const struct recording_entry *entry _unused_,
                       struct error *err)
{
    return error_set(err, -EBADMSG, "the recording begins twice");
}

static int repeat_tick(struct replay *replay, const struct recording_entry *entry, struct error *err _unused_)
{
    engine_tick(&replay->engine, entry->now_ns);
    return 0;
}

static int repeat_clock(struct replay *replay, const struct recording_entry *entry,
                        struct error *err _unused_)
{
    engine_set_wall_clock(&replay->engine, recording_clock(entry));
    return 0;
}

static int repeat_opinion(struct replay *replay, const struct recording_entry *entry,
                          struct error *err _unused_)
{
    replayed_extenders_add(present(replay)->extenders, entry->body);
    return 0;
}

static int (*const repeat[JOURNAL_ENTRY_KINDS])(struct replay *replay, const struct recording_entry *entry,
                                                struct error *err) = {
#define X(name, handler) [JOURNAL_##name] = repeat_##handler,
    ENGINE_INPUTS(X)
#undef X
};

/* ---- all of it ---- */

int replay_run(struct replay *replay, const struct replay_options *options, struct error *err)
{
    struct recording_entry entry;
    *replay = (struct replay){ .options = *options };
    if (!replay->options.registry)
        replay->options.registry = &builtin_plugins;
    int64_t at_ns = options->from_ns == INT64_MIN ? options->until_ns : options->from_ns;
    int r = recording_open(&replay->recording, options->path, at_ns, err);
    if (r < 0)
        return r;
    if (!recording_next(&replay->recording, &entry) || entry.kind != JOURNAL_HEAD)
        return error_set(err, -EBADMSG, "the beginning of the recording " STR_FMT " is missing%s%s",
                         STR_ARG(replay->recording.name), replay->recording.cut.text[0] ? ": " : "",
                         replay->recording.cut.text);
    if (entry.now_ns > options->until_ns)
        return error_set(err, -ENOENT, "the recording " STR_FMT " begins after that time, and none before it",
                         STR_ARG(replay->recording.name));
    r = entry_read(entry.body, &entry.fields, err);
    if (r == 0)
        r = begin(replay, &entry, err);
    while (r == 0 && !replay->difference.there && recording_next(&replay->recording, &entry)) {
        if (entry.now_ns > options->until_ns)
            break;
        if (entry.now_ns)
            replay->last_ns = entry.now_ns;
        if (options->on_progress && replay->recording.entries % ENTRIES_BETWEEN_PROGRESS == 0)
            options->on_progress(options->user, replay->decisions, replay->last_ns);
        r = entry_read(entry.body, &entry.fields, err);
        if (r == 0 && replay->comparison)
            r = compare_entry(replay->comparison, &entry, err);
        else if (r == 0 && repeat[entry.kind])
            r = repeat[entry.kind](replay, &entry, err);
    }
    if (r == 0 && replay->comparison)
        compare_end(replay->comparison, MAX(replay->last_ns, replay->first_ns));
    if (r < 0)
        error_prefix(err, "recording " STR_FMT, STR_ARG(replay->recording.name));
    return r;
}

void replay_release(struct replay *replay)
{
    if (replay->engine_ready) {
        end_works(replay);
        engine_release(&replay->engine);
        mirror_release(&replay->mirror);
        cluster_release(&replay->cluster);
    }
    compare_free(replay->comparison);
    vec_for(&replay->setups, setup)
        setup_free(*setup);
    vec_release(&replay->setups);
    warnings_release(&replay->warnings);
    strbuf_release(&replay->line);
    recording_close(&replay->recording);
    arena_release(&replay->arena);
}

bool replay_decided(struct str body, struct replay_decided *ret)
{
    struct entry_fields fields;
    if (!body.len || entry_read(body, &fields, NULL) < 0)
        return false;
    const uint64_t *numbers = fields.numbers;
    const struct str *texts = fields.texts;
    *ret = (struct replay_decided){
        .namespace = texts[DECISION_NAMESPACE],
        .name = texts[DECISION_NAME],
        .node = texts[DECISION_NODE],
        .message = texts[DECISION_MESSAGE],
        .nominated = texts[DECISION_NOMINATED],
        .is_deleted = numbers[DECISION_FLAGS] & DECISION_IS_DELETED,
        .examined = numbers[DECISION_EXAMINED],
        .feasible = numbers[DECISION_FEASIBLE],
        .total = (int64_t)numbers[DECISION_TOTAL],
        .ties = numbers[DECISION_TIES],
    };
    return true;
}

void replay_say(struct str body, struct strbuf *out)
{
    struct replay_decided decision;
    if (!replay_decided(body, &decision)) {
        strbuf_puts(out, "nothing is decided");
        return;
    }
    strbuf_printf(out, META_FMT " ", META_ARG(&decision));
    if (decision.is_deleted)
        strbuf_puts(out, "is being deleted");
    else if (decision.node.len)
        strbuf_printf(out, "goes to " STR_FMT, STR_ARG(decision.node));
    else
        strbuf_printf(out, "waits: " STR_FMT, STR_ARG(decision.message));
    if (decision.nominated.len)
        strbuf_printf(out, "; nominated to " STR_FMT, STR_ARG(decision.nominated));
    strbuf_printf(out, " (examined %llu, feasible %llu", (unsigned long long)decision.examined,
                  (unsigned long long)decision.feasible);
    if (decision.node.len || decision.total || decision.ties)
        strbuf_printf(out, ", score %lld, equal %llu", (long long)decision.total,
                      (unsigned long long)decision.ties);
    strbuf_putc(out, ')');
}
