/* replay.c: the engine again, with the recorded inputs; see replay.h. */
#include "sim/replay.h"

#include <stdlib.h>

#include "api/fields.h"
#include "api/protobuf.h"
#include "plugins/registry.h"
#include "sim/replayed_extender.h"

/* ---- the beginning ---- */

static int read_features(struct replay *replay, struct str body, struct error *err)
{
    struct protobuf_reader reader = protobuf_reader(body);
    struct protobuf_field field;
    features_default(&replay->features);
    while (protobuf_next(&reader, &field) > 0) {
        ptrdiff_t equals = field.wire == WIRE_BYTES ? str_find(field.bytes, '=') : -1;
        if (field.tag != HEAD_FEATURE || equals < 0)
            continue;
        int gate = feature_find(str_slice(field.bytes, 0, (size_t)equals));
        bool on = str_ends_with(field.bytes, STR("=true"));
        if (gate >= 0)
            replay->features.enabled[gate] = on;
        else if (on)
            return error_set(err, -ENOTSUP,
                             "it was recorded with the feature gate " STR_FMT ", which is not known here",
                             STR_ARG(str_slice(field.bytes, 0, (size_t)equals)));
    }
    return 0;
}

static int load_config(struct replay *replay, struct str recorded, struct error *err)
{
    struct plugin_catalog catalog = registry_catalog(replay->options.registry, &replay->arena);
    const struct config_env env = { .catalog = &catalog, .features = &replay->features };
    int r;
    if (replay->options.config) {
        r = config_load(replay->options.config, &env, &replay->arena, &replay->config, &replay->warnings,
                        err);
    } else {
        char *text = xcalloc(1, recorded.len + YYJSON_PADDING_SIZE);
        memcpy(text, recorded.ptr, recorded.len);
        r = config_load_text("the recorded configuration", text, recorded.len, &env, &replay->arena,
                             &replay->config, &replay->warnings, err);
    }
    replay->config_ready = r == 0;
    return r;
}

/* Another configuration decides without its extenders: there is nobody to ask. */
static int make_extenders(struct replay *replay, struct error *err)
{
    if (replay->options.config) {
        if (replay->config.extenders.len)
            *vec_push(&replay->warnings.list) = STR("extenders are not asked in a replay; they are left out");
        return 0;
    }
    int r =
        http_extenders_new(&(struct http_extenders_options){ .config = &replay->config }, &replay->http, err);
    if (r == 0)
        replay->extenders = replayed_extenders_new(http_extenders_table(replay->http));
    return r;
}

static void emit_nothing(void *context, const struct effect *effect)
{
    (void)context;
    (void)effect; /* what came of it is in the recording */
}

static int make_engine(struct replay *replay, int64_t now_ns, struct error *err)
{
    const struct engine_options options = {
        .config = &replay->config,
        .registry = replay->options.registry,
        .seed = replay->seed,
        .now_ns = now_ns,
        .slowest = PATH_INDEX,
        .extenders = replayed_extenders_table(replay->extenders),
        .host = { .emit = replay->versus ? versus_emit : emit_nothing, .context = replay->versus },
    };
    cluster_init(&replay->cluster);
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
    struct entry_fields fields;
    int r = entry_read(head->body, &fields, err);
    if (r < 0)
        return r;
    replay->version = fields.texts[HEAD_VERSION];
    replay->seed = fields.numbers[HEAD_SEED];
    replay->first_ns = head->now_ns;
    r = read_features(replay, head->body, err);
    if (r == 0)
        r = load_config(replay, fields.texts[HEAD_CONFIG], err);
    if (r == 0)
        r = make_extenders(replay, err);
    if (r < 0)
        return r;
    if (replay->options.config)
        replay->versus = versus_new(replay);
    return make_engine(replay, head->now_ns, err);
}

/* ---- letters ---- */

static enum api_kind kind_of(struct str name)
{
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        if (str_eq(api_kinds[kind].kind, name))
            return (enum api_kind)kind;
    return KIND_UNKNOWN;
}

static const enum letter_kind letter_kinds[JOURNAL_ENTRY_KINDS] = {
    [JOURNAL_SET] = LETTER_SET,
    [JOURNAL_REMOVE] = LETTER_REMOVE,
    [JOURNAL_LIST_BEGIN] = LETTER_LIST_BEGIN,
    [JOURNAL_LIST_END] = LETTER_LIST_END,
    [JOURNAL_DOUBT] = LETTER_DOUBT,
    [JOURNAL_ABSENT] = LETTER_ABSENT,
};

static int read_object(struct letter *letter, struct str bytes, struct error *err)
{
    letter->object = live_object_new();
    int r =
        object_decode_protobuf(bytes, STRINGS_COPIED, &letter->object->arena, &letter->object->object, err);
    if (r == 0 && letter->object->object.kind != letter->api_kind)
        r = error_set(err, -EINVAL, "an object is of another kind than its entry says");
    return r;
}

struct letter *replay_letter(const struct recording_entry *entry, struct error *err)
{
    struct entry_fields fields;
    if (entry_read(entry->body, &fields, err) < 0)
        return NULL;
    struct letter *letter = letter_new(letter_kinds[entry->kind]);
    letter->api_kind = kind_of(fields.texts[LETTER_API_KIND]);
    bool has_object = entry->kind == JOURNAL_SET || entry->kind == JOURNAL_REMOVE;
    int r = 0;
    if (letter->api_kind == KIND_UNKNOWN)
        r = error_set(err, -ENOTSUP, "objects of the kind \"" STR_FMT "\" are not known here",
                      STR_ARG(fields.texts[LETTER_API_KIND]));
    else if (has_object)
        r = read_object(letter, fields.texts[LETTER_OBJECT], err);
    if (r == 0)
        return letter;
    letter_free(letter);
    return NULL;
}

static int apply_letter(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    struct letter *letter = replay_letter(entry, err);
    if (!letter)
        return -EBADMSG;
    mirror_apply(&replay->mirror, letter, entry->now_ns);
    letter_free(letter);
    return 0;
}

static int apply_answer(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    struct entry_fields fields;
    int r = entry_read(entry->body, &fields, err);
    if (r < 0)
        return r;
    if (fields.numbers[ANSWER_RESULT] >= ANSWER_KIND_COUNT)
        return error_set(err, -EBADMSG, "an answer of a kind that is not known here");
    const struct answer answer = {
        .kind = (enum answer_kind)fields.numbers[ANSWER_RESULT],
        .message = fields.texts[ANSWER_MESSAGE],
        .retry_after_ms = (int64_t)fields.numbers[ANSWER_RETRY_AFTER_MS],
        .resource_version = fields.texts[ANSWER_VERSION],
        .node = fields.texts[ANSWER_NODE],
        .uid = fields.texts[ANSWER_UID],
        .terminating = fields.numbers[ANSWER_TERMINATING] != 0,
    };
    engine_answer(&replay->engine, fields.numbers[ANSWER_TICKET], &answer, entry->now_ns);
    return 0;
}

/* ---- decisions ---- */

/* The body of the one entry in a buffer. */
static struct str body_of(const struct strbuf *line)
{
    struct protobuf_reader reader = protobuf_reader(strbuf_slice(line));
    struct protobuf_field field;
    return line->len && protobuf_next(&reader, &field) > 0 ? field.bytes : (struct str){ 0 };
}

/* Decides, and holds it against what was recorded. */
static void decide(struct replay *replay, const struct recording_entry *entry)
{
    struct decision decision;
    strbuf_clear(&replay->line);
    if (engine_step(&replay->engine, entry->now_ns, &decision)) {
        journal_put_decision(&replay->line, &replay->cluster, &decision, entry->now_ns);
        replay->decisions++;
        replay->placements += decision.row != ROW_NONE;
    }
    struct str here = body_of(&replay->line);
    struct str recorded = entry->kind == JOURNAL_DECISION ? entry->body : (struct str){ 0 };
    if (here.len) {
        replay->digest = hash_bytes(here.ptr, here.len, replay->digest);
        if (replay->options.on_decision)
            replay->options.on_decision(replay->options.user, here);
    }
    if (!str_eq(here, recorded))
        replay->difference = (struct replay_difference){
            .there = true,
            .number = replay->decisions + (here.len == 0),
            .now_ns = entry->now_ns,
            .recorded = recorded,
            .here = here.len ? arena_str(&replay->arena, here) : here,
        };
}

static int repeat(struct replay *replay, const struct recording_entry *entry, struct error *err)
{
    switch (entry->kind) {
    case JOURNAL_NONE:
    case JOURNAL_ENTRY_KINDS:
        return 0;
    case JOURNAL_HEAD:
        return error_set(err, -EBADMSG, "the recording begins twice");
    case JOURNAL_SET:
    case JOURNAL_REMOVE:
    case JOURNAL_LIST_BEGIN:
    case JOURNAL_LIST_END:
    case JOURNAL_DOUBT:
    case JOURNAL_ABSENT:
        return apply_letter(replay, entry, err);
    case JOURNAL_ANSWER:
        return apply_answer(replay, entry, err);
    case JOURNAL_TICK:
        engine_tick(&replay->engine, entry->now_ns);
        return 0;
    case JOURNAL_IDLE:
    case JOURNAL_DECISION:
        decide(replay, entry);
        return 0;
    case JOURNAL_OPINION:
        replayed_extenders_hear(replay->extenders, entry->body);
        return 0;
    }
    return 0;
}

/* ---- all of it ---- */

int replay_run(struct replay *replay, const struct replay_options *options, struct error *err)
{
    struct recording_entry entry;
    *replay = (struct replay){ .options = *options };
    if (!replay->options.registry)
        replay->options.registry = &builtin_plugins;
    int r = recording_open(&replay->recording, options->path, err);
    if (r < 0)
        return r;
    if (!recording_next(&replay->recording, &entry) || entry.kind != JOURNAL_HEAD)
        return error_set(err, -EBADMSG, "the beginning of the recording " STR_FMT " is missing%s%s",
                         STR_ARG(replay->recording.name), replay->recording.cut.text[0] ? ": " : "",
                         replay->recording.cut.text);
    r = begin(replay, &entry, err);
    while (r == 0 && !replay->difference.there && recording_next(&replay->recording, &entry)) {
        if (entry.now_ns > options->until_ns)
            break;
        if (entry.now_ns)
            replay->last_ns = entry.now_ns;
        r = replay->versus ? versus_entry(replay->versus, &entry, err) : repeat(replay, &entry, err);
    }
    if (r == 0 && replay->versus)
        versus_end(replay->versus, MAX(replay->last_ns, replay->first_ns));
    if (r < 0)
        error_prefix(err, "recording " STR_FMT, STR_ARG(replay->recording.name));
    return r;
}

void replay_release(struct replay *replay)
{
    if (replay->engine_ready) {
        engine_release(&replay->engine);
        mirror_release(&replay->mirror);
        cluster_release(&replay->cluster);
    }
    versus_free(replay->versus);
    replayed_extenders_free(replay->extenders);
    http_extenders_free(replay->http);
    if (replay->config_ready)
        config_release(&replay->config);
    warnings_release(&replay->warnings);
    strbuf_release(&replay->line);
    recording_close(&replay->recording);
    arena_release(&replay->arena);
}

void replay_say(struct str body, struct strbuf *out)
{
    struct entry_fields fields;
    if (!body.len || entry_read(body, &fields, NULL) < 0) {
        strbuf_puts(out, "nothing is decided");
        return;
    }
    const uint64_t *numbers = fields.numbers;
    const struct str *texts = fields.texts;
    strbuf_printf(out, STR_FMT "/" STR_FMT " ", STR_ARG(texts[DECISION_NAMESPACE]),
                  STR_ARG(texts[DECISION_NAME]));
    if (numbers[DECISION_FLAGS] & DECISION_IS_DELETED)
        strbuf_puts(out, "is being deleted");
    else if (texts[DECISION_NODE].len)
        strbuf_printf(out, "goes to " STR_FMT, STR_ARG(texts[DECISION_NODE]));
    else
        strbuf_printf(out, "waits: " STR_FMT, STR_ARG(texts[DECISION_MESSAGE]));
    if (texts[DECISION_NOMINATED].len)
        strbuf_printf(out, "; nominated to " STR_FMT, STR_ARG(texts[DECISION_NOMINATED]));
    strbuf_printf(out, " (examined %llu, feasible %llu, score %lld, equal %llu)",
                  (unsigned long long)numbers[DECISION_EXAMINED],
                  (unsigned long long)numbers[DECISION_FEASIBLE], (long long)numbers[DECISION_TOTAL],
                  (unsigned long long)numbers[DECISION_TIES]);
}
