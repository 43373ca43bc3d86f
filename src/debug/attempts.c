/* attempts.c: see attempts.h.
 *
 * The body of an item of a rejected pod, numbers as they are in memory:
 *     message, names of rejecting plugins    each a length and its bytes
 *     live nodes, rows, statuses             and of each status from 0: code, nodes, cut, reasons, plugin, the reasons
 *     the statuses of rows                   of each run of equal ones the status and its length, two bytes each
 * Of a pod that found a node, the body is the number of scorers and their names, and its own bytes are
 *     nodes, and of each                     row, total and scores, seven bits of a number in each byte */
#include "debug/attempts.h"

#include <stdlib.h>

#include "debug/ring.h"

/* For pods that found no node, and pods that found one. */
enum { REJECTED_BYTES = 17 << 19, PLACED_BYTES = 15 << 19 };
enum { WORDS_BYTES_MAX = 48 << 10, VICTIMS_SHOWN = 20, STATUSES_MAX = UINT16_MAX, RUN_MAX = UINT16_MAX };

const char *const attempt_outcome_names[ATTEMPT_OUTCOME_COUNT] = {
#define X(name, text) [ATTEMPT_##name] = text,
    ATTEMPT_OUTCOMES(X)
#undef X
};

struct record {
    uint64_t pod, sequence; /* hash of its name; order of the records */
    uint64_t arrivals;
    int64_t time_ns, took_ns, total;
    uint32_t uid; /* hash */
    uint32_t examined, feasible, ties, row;
    uint16_t restart; /* how often the engine had been filled anew when it was made */
    uint8_t outcome, path;
};
static_assert(REJECTED_BYTES + PLACED_BYTES <= 16 << 20, "what attempts.h says");

struct attempts {
    const struct cluster *cluster;
    uint64_t sequence;
    uint16_t restart;
    struct ring *rejected, *placed;
    struct strbuf own, body; /* of the item that is being written */
    uint64_t refusal;        /* that the body is about (struct decision); 0: none */
};

struct attempts *attempts_new(const struct cluster *cluster)
{
    struct attempts *attempts = xcalloc(1, sizeof(*attempts));
    attempts->cluster = cluster;
    attempts->rejected = ring_new(REJECTED_BYTES, sizeof(struct record));
    attempts->placed = ring_new(PLACED_BYTES, sizeof(struct record));
    return attempts;
}

void attempts_free(struct attempts *attempts)
{
    if (!attempts)
        return;
    ring_free(attempts->rejected);
    ring_free(attempts->placed);
    strbuf_release(&attempts->own);
    strbuf_release(&attempts->body);
    free(attempts);
}

void attempts_restart(struct attempts *attempts, const struct cluster *cluster)
{
    attempts->refusal = 0;
    attempts->cluster = cluster;
    attempts->restart++;
}

/* ---- writing ---- */
static uint64_t name_hash(struct str namespace, struct str name)
{
    return hash_bytes(name.ptr, name.len, str_hash(namespace));
}

static void put_number(struct strbuf *buf, uint32_t number)
{
    strbuf_add(buf, (const char *)&number, sizeof(number));
}

static void put_text(struct strbuf *buf, struct str text)
{
    put_number(buf, text.len);
    strbuf_add(buf, text.ptr, text.len);
}

/* Reasons have a limit per item: where every node has reasons of its own, the later ones are left out. */
static void put_status(struct strbuf *buf, struct status status, uint32_t nodes)
{
    bool cut = buf->len > WORDS_BYTES_MAX;
    uint32_t reasons = cut ? 0 : status.len;
    put_number(buf, status.code);
    put_number(buf, nodes);
    put_number(buf, cut);
    put_number(buf, reasons);
    put_text(buf, str_from(status.plugin ? status.plugin->name : ""));
    for (uint32_t i = 0; i < reasons; i++)
        put_text(buf, str_slice(status.reasons[i], 0, MIN(status.reasons[i].len, (uint32_t)WORDS_BYTES_MAX)));
}

/* How many of the first are equal. Short runs are looked at one by one, long ones in blocks. */
static uint32_t run_len(const uint32_t *statuses, uint32_t rows)
{
    enum { BLOCK = 16, FEW = 8 };
    uint32_t first = statuses[0], len = 1;
    rows = MIN(rows, (uint32_t)RUN_MAX);
    while (len < rows && len < FEW && statuses[len] == first)
        len++;
    for (; len >= FEW && len + BLOCK <= rows; len += BLOCK) {
        uint32_t differs = 0;
        for (int i = 0; i < BLOCK; i++)
            differs |= statuses[len + i] ^ first;
        if (differs)
            break;
    }
    while (len >= FEW && len < rows && statuses[len] == first)
        len++;
    return len;
}

static void put_runs(struct strbuf *buf, const uint32_t *status_of, uint32_t rows)
{
    for (uint32_t i = 0, len; i < rows; i += len) {
        len = run_len(status_of + i, rows - i);
        const uint16_t run[] = { (uint16_t)MIN(status_of[i], (uint32_t)STATUSES_MAX - 1), (uint16_t)len };
        strbuf_add(buf, (const char *)run, sizeof(run));
    }
}

static void put_diagnosis(struct strbuf *buf, const struct diagnosis *diagnosis, uint32_t live_nodes)
{
    uint32_t statuses = MIN((uint32_t)diagnosis->statuses.len, (uint32_t)STATUSES_MAX);
    put_number(buf, live_nodes);
    put_number(buf, diagnosis->rows);
    put_number(buf, statuses);
    put_status(buf, diagnosis->absent, live_nodes - MIN(live_nodes, diagnosis->explicit_nodes));
    for (uint32_t i = 1; i < statuses; i++)
        put_status(buf, diagnosis->statuses.items[i].status, diagnosis->statuses.items[i].nodes);
    put_runs(buf, diagnosis->status_of, diagnosis->rows);
}

/* The victims of the pod: other pods have other ones, so they are not in the shared body. */
static void put_preemption(struct attempts *attempts, const struct decision *decision)
{
    _cleanup_(strbuf_release) struct strbuf names = { 0 };
    if (decision->nominated_row == ROW_NONE)
        return;
    put_text(&attempts->own, cluster_node_name(attempts->cluster, decision->nominated_row));
    for (uint32_t i = 0; i < decision->victims_len && i < VICTIMS_SHOWN; i++)
        strbuf_printf(&names, "%s" META_FMT, i ? ", " : "", META_ARG(&decision->victims[i]->api->meta));
    if (decision->victims_len > VICTIMS_SHOWN)
        strbuf_printf(&names, " and %u more", decision->victims_len - VICTIMS_SHOWN);
    put_text(&attempts->own, strbuf_slice(&names));
}

/* Mostly small: the last bit is the sign. */
static void put_score(struct strbuf *buf, int64_t score)
{
    uint64_t left = (uint64_t)score << 1 ^ (uint64_t)(score >> 63);
    for (; left > 127; left >>= 7)
        strbuf_putc(buf, (char)(left | 128));
    strbuf_putc(buf, (char)left);
}

/* The names of the scorers are the same for all pods of a profile. */
static void put_ranking(struct attempts *attempts, const struct decision *decision)
{
    const struct ranking *ranking = decision->ranking;
    const struct plugin_order *scorers = &decision->profile->points[POINT_SCORE];
    if (!ranking)
        return;
    put_number(&attempts->body, ranking->plugins);
    for (uint32_t i = 0; i < ranking->plugins; i++)
        put_text(&attempts->body, str_from(scorers->items[i]->plugin->name));
    put_number(&attempts->own, ranking->len);
    for (uint32_t k = 0; k < ranking->len; k++) {
        put_score(&attempts->own, ranking->rows[k]);
        put_score(&attempts->own, ranking->totals[k]);
        for (uint32_t i = 0; i < ranking->plugins; i++)
            put_score(&attempts->own, ranking->scores[k][i]);
    }
}

static struct record make_record(struct attempts *attempts, const struct pod *pod,
                                 const struct decision *decision, enum attempt_outcome outcome)
{
    return (struct record){ .pod = name_hash(pod->meta.namespace, pod->meta.name),
                            .uid = (uint32_t)str_hash(pod->meta.uid),
                            .restart = attempts->restart,
                            .sequence = ++attempts->sequence,
                            .arrivals = attempts->cluster->arrivals,
                            .outcome = (uint8_t)outcome,
                            .path = (uint8_t)decision->path,
                            .total = decision->total,
                            .examined = decision->examined,
                            .feasible = decision->feasible,
                            .ties = decision->ties,
                            .row = decision->row };
}

static void keep_item(struct attempts *attempts, struct ring *ring, const struct record *record)
{
    if (!ring_add(ring, record, strbuf_slice(&attempts->own), strbuf_slice(&attempts->body)))
        ring_add(ring, record, STR(""), STR("")); /* that there was an attempt, at least */
    strbuf_clear(&attempts->own);
}

/* The body of the next item. */
static struct strbuf *begin_body(struct attempts *attempts, uint64_t refusal)
{
    attempts->refusal = refusal;
    strbuf_clear(&attempts->body);
    return &attempts->body;
}

static void put_rejection(struct strbuf *body, const struct decision *decision, uint32_t live_nodes)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    uint64_t rejecting = decision->unschedulable_plugins | decision->pending_plugins;
    put_text(body, decision->message);
    put_text(body, profile_plugin_names(decision->profile, rejecting, &arena));
    if (decision->diagnosis)
        put_diagnosis(body, decision->diagnosis, live_nodes);
}

void attempts_decision(struct attempts *attempts, const struct decision *decision, int64_t now_ns,
                       int64_t took_ns)
{
    enum attempt_outcome outcome = decision->is_deleted        ? ATTEMPT_DELETED
                                   : decision->row != ROW_NONE ? ATTEMPT_PLACED
                                   : decision->is_error        ? ATTEMPT_ERROR
                                                               : ATTEMPT_UNSCHEDULABLE;
    struct record record = make_record(attempts, decision->pod->api, decision, outcome);
    record.time_ns = now_ns;
    record.took_ns = took_ns;
    if (outcome == ATTEMPT_PLACED) {
        begin_body(attempts, 0);
        put_ranking(attempts, decision);
        keep_item(attempts, attempts->placed, &record);
        return;
    }
    if (!decision->refusal || decision->refusal != attempts->refusal)
        put_rejection(begin_body(attempts, decision->refusal), decision, attempts->cluster->live_nodes);
    put_preemption(attempts, decision);
    keep_item(attempts, attempts->rejected, &record);
}

void attempts_notice(struct attempts *attempts, const struct notice *notice)
{
    bool bound = notice->kind == NOTICE_BOUND;
    struct record record =
        make_record(attempts, notice->pod, notice->decision, bound ? ATTEMPT_BOUND : ATTEMPT_BINDING_FAILED);
    record.time_ns = notice->now_ns;
    record.took_ns = MAX(notice->took_ns, 1);
    record.row = cluster_row(attempts->cluster, notice->node);
    struct strbuf *body = begin_body(attempts, 0);
    if (!bound) {
        put_text(body, notice->message);
        put_text(body, STR(""));
    }
    keep_item(attempts, bound ? attempts->placed : attempts->rejected, &record);
}

/* ---- reading ---- */
struct reader {
    const char *at, *end;
};

static uint32_t get_number(struct reader *reader)
{
    uint32_t number = 0;
    if ((size_t)(reader->end - reader->at) >= sizeof(number)) {
        memcpy(&number, reader->at, sizeof(number));
        reader->at += sizeof(number);
    }
    return number;
}

static struct str get_text(struct reader *reader, struct arena *arena)
{
    uint32_t len = get_number(reader);
    len = (uint32_t)MIN((size_t)len, (size_t)(reader->end - reader->at));
    struct str text = arena_str(arena, (struct str){ reader->at, len });
    reader->at += len;
    return text;
}

static int64_t get_score(struct reader *reader)
{
    uint64_t number = 0;
    bool more = true;
    for (unsigned shift = 0; more && shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = (uint8_t)*reader->at++;
        number |= (uint64_t)(byte & 127) << shift;
        more = byte & 128;
    }
    return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

static void get_ranking(struct reader *body, struct reader *own, struct attempt *ret, struct arena *arena)
{
    struct score_view *best = &ret->best;
    best->plugins_len = get_number(body);
    best->plugins = arena_array(arena, const char *, best->plugins_len);
    for (uint32_t i = 0; i < best->plugins_len; i++)
        best->plugins[i] = get_text(body, arena).ptr;
    best->len = get_number(own);
    best->nodes = arena_array(arena, struct scored_node, best->len);
    ret->best_rows = arena_array(arena, uint32_t, best->len);
    for (uint32_t k = 0; k < best->len; k++) {
        int64_t *scores = arena_array(arena, int64_t, best->plugins_len);
        ret->best_rows[k] = (uint32_t)get_score(own);
        int64_t total = get_score(own);
        uint64_t rest = (uint64_t)total; /* what the plugins' scores lack of the total is from extenders */
        for (uint32_t i = 0; i < best->plugins_len; i++) {
            scores[i] = get_score(own);
            rest -= (uint64_t)scores[i];
        }
        best->nodes[k] = (struct scored_node){
            .is_best = k == 0, .scores = scores, .extenders = (int64_t)rest, .total = total
        };
    }
}

static void get_rows(struct reader *reader, struct attempt *ret, struct arena *arena)
{
    uint16_t run[2];
    ret->status_of = arena_array(arena, uint16_t, ret->rows);
    for (uint32_t row = 0; row < ret->rows && reader->at < reader->end; reader->at += sizeof(run)) {
        memcpy(run, reader->at, sizeof(run));
        for (uint32_t i = 0; i < run[1] && row < ret->rows; i++)
            ret->status_of[row++] = run[0] < ret->statuses_len ? run[0] : 0;
    }
}

static void get_diagnosis(struct reader *reader, struct attempt *ret, struct arena *arena)
{
    ret->live_nodes = get_number(reader);
    ret->rows = get_number(reader);
    ret->statuses_len = get_number(reader);
    ret->statuses = arena_array(arena, struct attempt_status, ret->statuses_len);
    for (uint32_t i = 0; i < ret->statuses_len; i++) {
        struct attempt_status *status = &ret->statuses[i];
        status->code = (enum status_code)get_number(reader);
        status->nodes = get_number(reader);
        status->is_cut = get_number(reader);
        status->reasons_len = get_number(reader);
        status->plugin = get_text(reader, arena);
        status->reasons = arena_array(arena, struct str, status->reasons_len);
        for (uint32_t k = 0; k < status->reasons_len; k++)
            status->reasons[k] = get_text(reader, arena);
    }
    get_rows(reader, ret, arena);
}

/* Attempts of one pod while they are collected. */
struct found_record {
    struct record record;
    struct ring_item item;
};

struct search {
    uint64_t pod;
    VEC(struct found_record) found;
};

static void look_at_item(void *context, const struct ring_item *item)
{
    struct search *search = context;
    struct record record;
    memcpy(&record, item->head, sizeof(record));
    if (record.pod == search->pod)
        *vec_push(&search->found) = (struct found_record){ record, *item };
}

static int newest_first(const void *a, const void *b)
{
    const struct found_record *x = a, *y = b;
    return COMPARE(y->record.sequence, x->record.sequence);
}

static void read_found(const struct attempts *attempts, const struct found_record *found, struct arena *arena,
                       struct attempt *ret)
{
    const struct record *record = &found->record;
    struct reader body = { found->item.body.ptr, found->item.body.ptr + found->item.body.len };
    struct reader own = { found->item.own.ptr, found->item.own.ptr + found->item.own.len };
    *ret = (struct attempt){ .time_ns = record->time_ns,
                             .took_ns = record->took_ns,
                             .outcome = (enum attempt_outcome)record->outcome,
                             .path = (enum decision_path)record->path,
                             .examined = record->examined,
                             .feasible = record->feasible,
                             .ties = record->ties,
                             .total = record->total,
                             .row = record->row,
                             .arrivals = record->restart == attempts->restart ? record->arrivals : 0 };
    if (ret->outcome <= ATTEMPT_BOUND) {
        if (found->item.body.len)
            get_ranking(&body, &own, ret, arena);
        return;
    }
    ret->words_gone = !found->item.body.len;
    if (found->item.body.len) {
        ret->message = get_text(&body, arena);
        ret->rejected_by = get_text(&body, arena);
        if (body.at < body.end)
            get_diagnosis(&body, ret, arena);
    }
    if (found->item.own.len) {
        ret->nominated = get_text(&own, arena);
        ret->victims = get_text(&own, arena);
    }
}

static bool is_ending(enum attempt_outcome outcome)
{
    return outcome == ATTEMPT_BOUND || outcome == ATTEMPT_BINDING_FAILED;
}

/* How a binding ended, and the decision that it was for, are one attempt. A binding that fails at once, in no time by
 * the engine's clock, is reported before its decision. */
static bool belong_together(const struct attempt *newer, const struct attempt *older)
{
    const struct attempt *ending = is_ending(newer->outcome) ? newer : older,
                         *placed = is_ending(newer->outcome) ? older : newer;
    bool at_once = ending->took_ns <= 1;
    return is_ending(ending->outcome) && placed->outcome == ATTEMPT_PLACED &&
           (ending->row == placed->row || ending->row == ROW_NONE) && !ending->bound_ns &&
           at_once == (ending == older);
}

static void join(struct attempt *kept, const struct attempt *other)
{
    const struct attempt ending = is_ending(kept->outcome) ? *kept : *other,
                         placed = is_ending(kept->outcome) ? *other : *kept;
    *kept = ending;
    kept->bound_ns = ending.took_ns;
    kept->time_ns = placed.time_ns;
    kept->took_ns = placed.took_ns;
    kept->best = placed.best;
    kept->best_rows = placed.best_rows;
}

/* The decision of a binding that ended is not known any more. */
static void stand_alone(struct attempt *attempt)
{
    if (!is_ending(attempt->outcome) || attempt->bound_ns)
        return;
    attempt->bound_ns = attempt->took_ns;
    attempt->time_ns -= attempt->took_ns;
    attempt->took_ns = 0;
}

size_t attempts_of(const struct attempts *attempts, struct str namespace, struct str name, struct str uid,
                   struct arena *arena, struct attempt ret[ATTEMPTS_SHOWN])
{
    struct search search = { .pod = name_hash(namespace, name) };
    size_t len = 0;
    ring_each(attempts->rejected, look_at_item, &search);
    ring_each(attempts->placed, look_at_item, &search);
    vec_sort(&search.found, newest_first);
    uint32_t uid_hash =
        uid.len || !search.found.len ? (uint32_t)str_hash(uid) : search.found.items[0].record.uid;
    for (size_t i = 0; i < search.found.len; i++) {
        struct attempt attempt;
        if (search.found.items[i].record.uid != uid_hash)
            continue;
        read_found(attempts, &search.found.items[i], arena, &attempt);
        if (len && belong_together(&ret[len - 1], &attempt))
            join(&ret[len - 1], &attempt);
        else if (len == ATTEMPTS_SHOWN)
            break;
        else
            ret[len++] = attempt;
    }
    for (size_t i = 0; i < len; i++)
        stand_alone(&ret[i]);
    vec_release(&search.found);
    return len;
}

bool attempt_node_is_same(const struct attempt *attempt, const struct cluster *cluster, uint32_t row)
{
    return row < cluster->nodes.len && cluster->nodes.items[row].api &&
           cluster->nodes.items[row].order_key <= attempt->arrivals;
}
