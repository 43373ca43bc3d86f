/* reply.c: see reply.h. Documents are trees of yyjson, whose memory is a small multiple of the text; the text is
 * bounded by round_trip.h. Work is linear in it: rows that were seen are marked, not searched for. */
#include "extender/reply.h"

#include <stdlib.h>
#include <strings.h>
#include <yyjson.h>

#include "base/bitmap.h"
#include "extender/syntax.h"

/* A field of an answer, and Go's name of its type. */
struct place {
    const char *key, *where, *type;
};
#define FIELD_OF(result, field, type) { field, "struct field " result "." field, type }
static const struct place
    FILTER = { NULL, "value", "v1.ExtenderFilterResult" },
    FILTER_ERROR = FIELD_OF("ExtenderFilterResult", "Error", "string"),
    NAMES = FIELD_OF("ExtenderFilterResult", "NodeNames", "[]string"),
    NAME = FIELD_OF("ExtenderFilterResult", "NodeNames", "string"),
    NODES = FIELD_OF("ExtenderFilterResult", "Nodes", "v1.NodeList"),
    ITEMS = { "items", "struct field NodeList.Nodes.items", "[]v1.Node" },
    ITEM = { "items", "struct field NodeList.Nodes.items", "v1.Node" },
    META = { "metadata", "struct field Node.Nodes.items.metadata", "v1.ObjectMeta" },
    META_NAME = { "name", "struct field ObjectMeta.Nodes.items.metadata.name", "string" },
    FAILED = FIELD_OF("ExtenderFilterResult", "FailedNodes", "v1.FailedNodesMap"),
    FAILED_FOR_GOOD = FIELD_OF("ExtenderFilterResult", "FailedAndUnresolvableNodes", "v1.FailedNodesMap"),
    SCORES = { NULL, "value", "v1.HostPriorityList" }, SCORE_OF = { NULL, "value", "v1.HostPriority" },
    HOST = FIELD_OF("HostPriority", "Host", "string"), SCORE = FIELD_OF("HostPriority", "Score", "int64"),
    PREEMPT = { NULL, "value", "v1.ExtenderPreemptionResult" },
    VICTIMS = FIELD_OF("ExtenderPreemptionResult", "NodeNameToMetaVictims", "map[string]*v1.MetaVictims"),
    VICTIMS_OF = FIELD_OF("ExtenderPreemptionResult", "NodeNameToMetaVictims", "v1.MetaVictims"),
    PODS = { "Pods", "struct field MetaVictims.NodeNameToMetaVictims.Pods", "[]*v1.MetaPod" },
    POD = { "Pods", "struct field MetaVictims.NodeNameToMetaVictims.Pods", "v1.MetaPod" },
    UID = { "UID", "struct field MetaPod.NodeNameToMetaVictims.Pods.UID", "string" },
    VIOLATIONS = { "NumPDBViolations", "struct field MetaVictims.NodeNameToMetaVictims.NumPDBViolations",
                   "int64" },
    BIND = { NULL, "value", "v1.ExtenderBindingResult" },
    BIND_ERROR = FIELD_OF("ExtenderBindingResult", "Error", "string");

/* yyjson reads any depth without recursion, and its tree is walked no deeper than an answer goes. */
static yyjson_doc *read_first(struct str text, yyjson_read_err *problem)
{
    const yyjson_read_flag as_go = YYJSON_READ_STOP_WHEN_DONE | YYJSON_READ_BIGNUM_AS_RAW;
    return yyjson_read_opts((char *)text.ptr, text.len, as_go, NULL,
                            problem); /* which does not write to it */
}

static int open_doc(struct str text, yyjson_doc **ret, struct error *err)
{
    yyjson_read_err problem = { 0 };
    *ret = text.len ? read_first(text, &problem) : NULL;
    if (*ret)
        return 0;
    int r = syntax_check(text, err);
    if (r < 0)
        return r;
    _cleanup_(strbuf_release) struct strbuf repaired = { 0 };
    syntax_repair(text, &repaired);
    *ret = read_first(strbuf_slice(&repaired), &problem);
    return *ret ? 0 : error_set(err, -EBADMSG, "the answer is not JSON: wrong at byte %zu", problem.pos);
}

static int wrong_type(struct error *err, const struct place *place, yyjson_val *val)
{
    static const char *const names[] = { [YYJSON_TYPE_NULL] = "null",
                                         [YYJSON_TYPE_BOOL] = "bool",
                                         [YYJSON_TYPE_STR] = "string",
                                         [YYJSON_TYPE_ARR] = "array",
                                         [YYJSON_TYPE_OBJ] = "object" };
    uint8_t type = yyjson_get_type(val);
    const char *found = type < ARRAY_SIZE(names) && names[type] ? names[type] : "number";
    return error_set(err, -EBADMSG, "json: cannot unmarshal %s into Go %s of type %s", found, place->where,
                     place->type);
}

/* An error in the extender's own words: they may have several lines. */
static int quoted(struct error *err, struct str words)
{
    size_t len = MIN((size_t)words.len, sizeof(err->text) - 1);
    while (len < words.len && len && ((unsigned char)words.ptr[len] & 0xc0) == 0x80)
        len--; /* not in the middle of a character */
    memcpy(err->text, words.ptr, len);
    err->text[len] = '\0';
    return -EREMOTEIO;
}

static bool key_is(yyjson_val *key, const char *name)
{
    return yyjson_get_len(key) == strlen(name) && strncasecmp(yyjson_get_str(key), name, strlen(name)) == 0;
}

/* A member of an object by name in any case: the last one, as Go has it. NULL: none, or null. */
static yyjson_val *member(yyjson_val *object, const struct place *place)
{
    yyjson_val *key, *val, *found = NULL;
    size_t i, max;
    if (yyjson_is_obj(object))
        yyjson_obj_foreach(object, i, max, key, val)
            if (key_is(key, place->key))
                found = val;
    return yyjson_is_null(found) ? NULL : found;
}

static int text_of(yyjson_val *val, const struct place *place, struct str *ret, struct error *err)
{
    *ret = STR("");
    if (!val || yyjson_is_null(val))
        return 0;
    if (!yyjson_is_str(val))
        return wrong_type(err, place, val);
    *ret = (struct str){ yyjson_get_str(val), (uint32_t)yyjson_get_len(val) };
    return 0;
}

static int number_of(yyjson_val *val, const struct place *place, int64_t *ret, struct error *err)
{
    *ret = 0;
    if (!val || yyjson_is_null(val))
        return 0;
    if (!yyjson_is_int(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX))
        return wrong_type(err, place, val);
    *ret = yyjson_get_sint(val);
    return 0;
}

/* A member that is a list or an object, or nothing. */
static int container_of_kind(yyjson_val *object, const struct place *place, bool is_list, yyjson_val **ret,
                             struct error *err)
{
    *ret = member(object, place);
    if (*ret && !(is_list ? yyjson_is_arr(*ret) : yyjson_is_obj(*ret)))
        return wrong_type(err, place, *ret);
    return 0;
}

/* The document's own value: an object or a list; null counts as an empty one. */
static int open_root(struct str text, const struct place *place, bool is_list, yyjson_doc **ret_doc,
                     yyjson_val **ret, struct error *err)
{
    int r = open_doc(text, ret_doc, err);
    if (r < 0)
        return r;
    *ret = yyjson_doc_get_root(*ret_doc);
    if (!yyjson_is_null(*ret) && !(is_list ? yyjson_is_arr(*ret) : yyjson_is_obj(*ret)))
        return wrong_type(err, place, *ret);
    return 0;
}

/* ---- filter ---- */
struct filter_reply {
    const struct reply *reply;
    uint64_t *requested; /* rows, bit by bit */
    uint64_t *taken;
    struct extender_filtered *ret;
    struct error *err;
};

/* A node that passes. One that is named twice passes once. */
static int take_node(struct filter_reply *f, struct str name)
{
    const struct reply *reply = f->reply;
    uint32_t row = cluster_row(reply->cycle->cluster, name);
    if (row == ROW_NONE || !bitmap_get(f->requested, row))
        return error_set(f->err, -ENOENT,
                         "extender \"" STR_FMT "\" claims a filtered node \"" STR_FMT
                         "\" which is not found in the input node list",
                         STR_ARG(reply->extender), STR_ARG(name));
    if (!bitmap_get(f->taken, row))
        f->ret->rows[f->ret->len++] = row;
    bitmap_set(f->taken, row);
    return 0;
}

static int take_names(struct filter_reply *f, yyjson_val *names)
{
    yyjson_val *val;
    size_t i, max;
    yyjson_arr_foreach(names, i, max, val) {
        struct str name;
        int r = text_of(val, &NAME, &name, f->err);
        if (r == 0)
            r = take_node(f, name);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_objects(struct filter_reply *f, yyjson_val *list)
{
    yyjson_val *items, *val, *meta;
    size_t i, max;
    int r = container_of_kind(list, &ITEMS, true, &items, f->err);
    if (r < 0 || !items)
        return r;
    yyjson_arr_foreach(items, i, max, val) {
        struct str name = STR("");
        if (!yyjson_is_obj(val) && !yyjson_is_null(val))
            return wrong_type(f->err, &ITEM, val);
        r = container_of_kind(val, &META, false, &meta, f->err);
        if (r == 0)
            r = text_of(member(meta, &META_NAME), &META_NAME, &name, f->err);
        if (r == 0)
            r = take_node(f, name);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Unknown nodes are ignored: nothing depends on them. */
static int take_refusals(struct filter_reply *f, yyjson_val *root, const struct place *place,
                         bool unresolvable, uint32_t *number_of_row)
{
    const struct cluster *cluster = f->reply->cycle->cluster;
    const struct place message_place = { NULL, place->where, "string" };
    yyjson_val *map, *key, *val;
    size_t i, max;
    int r = container_of_kind(root, place, false, &map, f->err);
    if (r < 0 || !map)
        return r;
    yyjson_obj_foreach(map, i, max, key, val) {
        struct str message, name = { yyjson_get_str(key), (uint32_t)yyjson_get_len(key) };
        r = text_of(val, &message_place, &message, f->err);
        if (r < 0)
            return r;
        uint32_t row = cluster_row(cluster, name);
        if (row == ROW_NONE)
            continue;
        if (!number_of_row[row])
            number_of_row[row] = ++f->ret->refusals_len;
        f->ret->refusals[number_of_row[row] - 1] =
            (struct extender_refusal){ row, unresolvable, arena_str(f->reply->cycle->arena, message) };
    }
    return 0;
}

static int read_filter(struct filter_reply *f, yyjson_val *root, bool node_names)
{
    struct cycle *cycle = f->reply->cycle;
    size_t rows = cycle->cluster->nodes.len;
    struct str problem;
    yyjson_val *names, *nodes;
    int r = text_of(member(root, &FILTER_ERROR), &FILTER_ERROR, &problem, f->err);
    if (r < 0 || (r = container_of_kind(root, &NAMES, true, &names, f->err)) < 0 ||
        (r = container_of_kind(root, &NODES, false, &nodes, f->err)) < 0)
        return r;
    if (problem.len)
        return quoted(f->err, problem);
    f->taken = arena_array(cycle->arena, uint64_t, bitmap_words(rows));
    r = node_names && names ? take_names(f, names) : nodes ? take_objects(f, nodes) : 0;
    if (r < 0)
        return r;
    uint32_t *number_of_row = arena_array(cycle->arena, uint32_t, rows);
    f->ret->refusals = arena_array(cycle->arena, struct extender_refusal, rows);
    /* A node in both is unresolvable. */
    r = take_refusals(f, root, &FAILED, false, number_of_row);
    return r < 0 ? r : take_refusals(f, root, &FAILED_FOR_GOOD, true, number_of_row);
}

int reply_filter(const struct reply *reply, bool node_names, struct row_list nodes,
                 struct extender_filtered *ret, struct error *err)
{
    struct arena *arena = reply->cycle->arena;
    struct filter_reply f = { .reply = reply, .ret = ret, .err = err };
    yyjson_doc *doc;
    yyjson_val *root;
    *ret = (struct extender_filtered){ .rows = arena_array(arena, uint32_t, nodes.len) };
    f.requested = arena_array(arena, uint64_t, bitmap_words(reply->cycle->cluster->nodes.len));
    for (uint32_t i = 0; i < nodes.len; i++)
        bitmap_set(f.requested, nodes.items[i]);
    int r = open_root(reply->text, &FILTER, false, &doc, &root, err);
    if (r == 0)
        r = read_filter(&f, root, node_names);
    yyjson_doc_free(doc);
    return r;
}

/* ---- score ---- */
static int read_scores(const struct reply *reply, yyjson_val *root, struct extender_scores *ret,
                       struct error *err)
{
    yyjson_val *val;
    size_t i, max;
    ret->items = arena_array(reply->cycle->arena, struct extender_score, yyjson_arr_size(root));
    yyjson_arr_foreach(root, i, max, val) {
        struct str host;
        int64_t score;
        if (!yyjson_is_obj(val) && !yyjson_is_null(val))
            return wrong_type(err, &SCORE_OF, val);
        int r = text_of(member(val, &HOST), &HOST, &host, err);
        if (r == 0)
            r = number_of(member(val, &SCORE), &SCORE, &score, err);
        if (r < 0)
            return r;
        uint32_t row = cluster_row(reply->cycle->cluster, host);
        if (row != ROW_NONE)
            ret->items[ret->len++] = (struct extender_score){ row, score };
    }
    return 0;
}

int reply_score(const struct reply *reply, struct extender_scores *ret, struct error *err)
{
    yyjson_doc *doc;
    yyjson_val *root;
    *ret = (struct extender_scores){ 0 };
    int r = open_root(reply->text, &SCORES, true, &doc, &root, err);
    if (r == 0)
        r = read_scores(reply, root, ret, err);
    yyjson_doc_free(doc);
    return r;
}

/* ---- preempt ---- */
static struct pod_info *pod_on(const struct cluster *cluster, uint32_t row, struct str uid)
{
    vec_for(&cluster_node(cluster, row)->pods, pod)
        if (str_eq((*pod)->api->meta.uid, uid))
            return *pod;
    return NULL;
}

static bool has_victim(const struct preempt_candidate *candidate, const struct pod_info *pod)
{
    for (uint32_t i = 0; i < candidate->victims_len; i++)
        if (candidate->victims[i] == pod)
            return true;
    return false;
}

/* A victim that is named twice is one. There are no more of them than pods on the node. */
static int read_victims(const struct reply *reply, yyjson_val *pods, struct preempt_candidate *ret,
                        struct error *err)
{
    const struct cluster *cluster = reply->cycle->cluster;
    yyjson_val *val;
    size_t i, max;
    if (!ret->victims)
        ret->victims =
            arena_array(reply->cycle->arena, struct pod_info *, cluster_node(cluster, ret->row)->pods.len);
    yyjson_arr_foreach(pods, i, max, val) {
        struct str uid = STR("");
        if (!yyjson_is_obj(val))
            return wrong_type(err, &POD, val);
        int r = text_of(member(val, &UID), &UID, &uid, err);
        if (r < 0)
            return r;
        struct pod_info *pod = pod_on(cluster, ret->row, uid);
        if (!pod)
            return error_set(err, -ENOENT,
                             "extender: " STR_FMT " claims to preempt pod (UID: &{" STR_FMT
                             "}) on node: " STR_FMT ", but the pod is not found on that node",
                             STR_ARG(reply->extender), STR_ARG(uid),
                             STR_ARG(cluster_node_name(cluster, ret->row)));
        if (!has_victim(ret, pod))
            ret->victims[ret->victims_len++] = pod;
    }
    return 0;
}

static int read_candidate(const struct reply *reply, yyjson_val *val, struct preempt_candidate *ret,
                          struct error *err)
{
    yyjson_val *pods = NULL;
    if (!yyjson_is_obj(val))
        return wrong_type(err, &VICTIMS_OF, val);
    int r = number_of(member(val, &VIOLATIONS), &VIOLATIONS, &ret->pdb_violations, err);
    if (r == 0)
        r = container_of_kind(val, &PODS, true, &pods, err);
    return r < 0 ? r : read_victims(reply, pods, ret, err);
}

static int read_candidates(const struct reply *reply, yyjson_val *root, struct preempt_candidate **ret,
                           uint32_t *ret_len, struct error *err)
{
    struct cycle *cycle = reply->cycle;
    yyjson_val *map, *key, *val;
    size_t i, max;
    int r = container_of_kind(root, &VICTIMS, false, &map, err);
    if (r < 0 || !map)
        return r;
    uint32_t *number_of_row = arena_array(cycle->arena, uint32_t, cycle->cluster->nodes.len);
    *ret = arena_array(cycle->arena, struct preempt_candidate,
                       MIN(yyjson_obj_size(map), (size_t)cycle->cluster->live_nodes));
    yyjson_obj_foreach(map, i, max, key, val) {
        struct str node = { yyjson_get_str(key), (uint32_t)yyjson_get_len(key) };
        uint32_t row = cluster_row(cycle->cluster, node);
        if (row == ROW_NONE)
            return error_set(err, -ENOENT, "nodeinfo not found for node name \"" STR_FMT "\"", STR_ARG(node));
        if (!number_of_row[row])
            number_of_row[row] = ++*ret_len;
        /* A node that comes twice: the last one counts. */
        struct preempt_candidate *candidate = &(*ret)[number_of_row[row] - 1];
        *candidate = (struct preempt_candidate){ .row = row, .victims = candidate->victims };
        if ((r = read_candidate(reply, val, candidate, err)) < 0)
            return r;
    }
    return 0;
}

int reply_preempt(const struct reply *reply, struct preempt_candidate **ret, uint32_t *ret_len,
                  struct error *err)
{
    yyjson_doc *doc;
    yyjson_val *root;
    *ret = NULL;
    *ret_len = 0;
    int r = open_root(reply->text, &PREEMPT, false, &doc, &root, err);
    if (r == 0)
        r = read_candidates(reply, root, ret, ret_len, err);
    yyjson_doc_free(doc);
    return r;
}

/* ---- bind ---- */
int reply_bind(struct str text, struct arena *arena, struct str *ret_message, struct error *err)
{
    yyjson_doc *doc;
    yyjson_val *root;
    struct str message = STR("");
    *ret_message = message;
    int r = open_root(text, &BIND, false, &doc, &root, err);
    if (r == 0)
        r = text_of(member(root, &BIND_ERROR), &BIND_ERROR, &message, err);
    if (r == 0)
        *ret_message = arena_str(arena, message);
    yyjson_doc_free(doc);
    return r;
}
