/* reply.c: see reply.h. Documents are trees of yyjson, whose memory is a small multiple of the text; the text is
 * bounded by round_trip.h. Work is linear in it: rows that were seen are marked, not searched for.
 *
 *     text ──open_answer(): all of it has the types of a table──▶ root ──reply_*(): names become rows──▶ result */
#include "extender/reply.h"

#include <stdlib.h>
#include <strings.h>
#include <yyjson.h>

#include "base/bitmap.h"
#include "codec/doc.h"
#include "extender/syntax.h"

/* ---- types of answers ---- */

/* A Go type, with those of its fields that are read. */
struct go_type {
    const char *name;
    yyjson_type json;
    bool refuses_null;          /* it is pointed to, and used */
    const struct go_type *item; /* of a list, or of the values of a map */
    struct go_field {
        const char *name;
        const struct go_type *type;
    } fields[6]; /* of a struct, up to the one without a name */
};

#define LIST_OF(name, ...) { name, YYJSON_TYPE_ARR, .item = __VA_ARGS__ }
#define MAP_OF(name, ...) { name, YYJSON_TYPE_OBJ, .item = __VA_ARGS__ }
#define STRUCT(name, ...) \
    { \
        "v1." name, YYJSON_TYPE_OBJ, .fields = { __VA_ARGS__ } \
    }
static const struct go_type
    text_type = { "string", YYJSON_TYPE_STR },
    number_type = { "int64", YYJSON_TYPE_NUM }, names_type = LIST_OF("[]string", &text_type),
    meta_type = STRUCT("ObjectMeta", { "name", &text_type }),
    node_type = STRUCT("Node", { "metadata", &meta_type }), nodes_type = LIST_OF("[]v1.Node", &node_type),
    node_list_type = STRUCT("NodeList", { "items", &nodes_type }),
    reasons_type = MAP_OF("v1.FailedNodesMap", &text_type),
    filter_type = STRUCT("ExtenderFilterResult", { "Nodes", &node_list_type }, { "NodeNames", &names_type },
                         { "FailedNodes", &reasons_type }, { "FailedAndUnresolvableNodes", &reasons_type },
                         { "Error", &text_type }),
    score_type = STRUCT("HostPriority", { "Host", &text_type }, { "Score", &number_type }),
    scores_type = LIST_OF("v1.HostPriorityList", &score_type),
    pod_type = { "v1.MetaPod", YYJSON_TYPE_OBJ, true, .fields = { { "UID", &text_type } } },
    pods_type = LIST_OF("[]*v1.MetaPod", &pod_type),
    victims_type = { "v1.MetaVictims", YYJSON_TYPE_OBJ, true,
                     .fields = { { "Pods", &pods_type }, { "NumPDBViolations", &number_type } } },
    candidates_type = MAP_OF("map[string]*v1.MetaVictims", &victims_type),
    preempt_type = STRUCT("ExtenderPreemptionResult", { "NodeNameToMetaVictims", &candidates_type }),
    bind_type = STRUCT("ExtenderBindingResult", { "Error", &text_type });

/* The field that a value is of. */
struct place {
    const struct place *parent; /* NULL: a field of the root */
    const char *struct_name, *field;
};

static void put_fields(struct strbuf *out, const struct place *place)
{
    if (place->parent)
        put_fields(out, place->parent);
    strbuf_printf(out, ".%s", place->field);
}

static int wrong_type(const struct go_type *type, const struct place *place, yyjson_val *val,
                      struct error *err)
{
    static const char *const names[] = { [YYJSON_TYPE_NULL] = "null",
                                         [YYJSON_TYPE_BOOL] = "bool",
                                         [YYJSON_TYPE_STR] = "string",
                                         [YYJSON_TYPE_ARR] = "array",
                                         [YYJSON_TYPE_OBJ] = "object" };
    _cleanup_(strbuf_release) struct strbuf where = { 0 };
    yyjson_type found = yyjson_get_type(val);
    strbuf_puts(&where, place ? "struct field " : "value");
    if (place) {
        strbuf_puts(&where, place->struct_name);
        put_fields(&where, place);
    }
    return error_set(err, -EBADMSG, "json: cannot unmarshal %s into Go %s of type %s",
                     found < ARRAY_SIZE(names) && names[found] ? names[found] : "number", where.text,
                     type->name);
}

static bool key_is(yyjson_val *key, const char *name)
{
    return yyjson_get_len(key) == strlen(name) && strncasecmp(yyjson_get_str(key), name, strlen(name)) == 0;
}

static bool has_type(const struct go_type *type, yyjson_val *val)
{
    if (yyjson_is_null(val))
        return !type->refuses_null;
    if (type->json == YYJSON_TYPE_NUM)
        return yyjson_is_sint(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) <= INT64_MAX);
    return yyjson_get_type(val) == type->json;
}

static int check(const struct go_type *type, const struct place *place, yyjson_val *val, struct error *err);

static int check_member(const struct go_type *type, const struct place *place, yyjson_val *key,
                        yyjson_val *val, struct error *err)
{
    if (type->item)
        return check(type->item, place, val, err);
    for (const struct go_field *field = type->fields; field->name; field++)
        if (key_is(key, field->name))
            return check(field->type, &(struct place){ place, type->name + strlen("v1."), field->name }, val,
                         err);
    return 0;
}

/* Goes no deeper than the types do. */
static int check(const struct go_type *type, const struct place *place, yyjson_val *val, struct error *err)
{
    yyjson_val *key, *item;
    size_t i, max;
    int r = 0;
    if (!has_type(type, val))
        return wrong_type(type, place, val, err);
    yyjson_arr_foreach(doc_items(val), i, max, item)
        if ((r = check(type->item, place, item, err)) < 0)
            return r;
    yyjson_obj_foreach(doc_items(val), i, max, key, item)
        if ((r = check_member(type, place, key, item, err)) < 0)
            return r;
    return 0;
}

/* ---- documents ---- */

static void doc_freep(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

/* yyjson reads any depth without recursion. */
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

/* A document of that type, or null. */
static int open_answer(struct str text, const struct go_type *type, yyjson_doc **ret, struct error *err)
{
    int r = open_doc(text, ret, err);
    return r < 0 ? r : check(type, NULL, yyjson_doc_get_root(*ret), err);
}

/* A member of an object by name in any case: the last one, as Go has it. NULL: none, or null. */
static yyjson_val *member(yyjson_val *object, const char *name)
{
    yyjson_val *key, *val, *found = NULL;
    size_t i, max;
    yyjson_obj_foreach(doc_items(object), i, max, key, val)
        if (key_is(key, name))
            found = val;
    return yyjson_is_null(found) ? NULL : found;
}

/* ---- filter ---- */

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

/* The nodes that pass, in NodeNames or in Nodes. One that is there twice passes once. */
static int take_nodes(const struct reply *reply, yyjson_val *names, yyjson_val *nodes,
                      struct row_list requested, struct extender_filtered *ret, struct error *err)
{
    const struct cluster *cluster = reply->cycle->cluster;
    uint64_t *open = arena_array(reply->cycle->arena, uint64_t, bitmap_words(cluster->nodes.len));
    uint64_t *taken = arena_array(reply->cycle->arena, uint64_t, bitmap_words(cluster->nodes.len));
    yyjson_val *val;
    size_t i, max;
    for (uint32_t j = 0; j < requested.len; j++)
        bitmap_set(open, requested.items[j]);
    ret->rows = arena_array(reply->cycle->arena, uint32_t, requested.len);
    yyjson_arr_foreach(doc_items(names ? names : member(nodes, "items")), i, max, val) {
        struct str name = doc_text(names ? val : member(member(val, "metadata"), "name"));
        uint32_t row = cluster_row(cluster, name);
        if (row == ROW_NONE || !bitmap_get(open, row))
            return error_set(err, -ENOENT,
                             "extender \"" STR_FMT "\" claims a filtered node \"" STR_FMT
                             "\" which is not found in the input node list",
                             STR_ARG(reply->extender), STR_ARG(name));
        if (!bitmap_get(taken, row))
            ret->rows[ret->len++] = row;
        bitmap_set(taken, row);
    }
    return 0;
}

/* Unknown nodes are ignored: nothing depends on them. */
static void take_refusals(const struct reply *reply, yyjson_val *map, bool unresolvable,
                          uint32_t *number_of_row, struct extender_filtered *ret)
{
    yyjson_val *key, *val;
    size_t i, max;
    yyjson_obj_foreach(doc_items(map), i, max, key, val) {
        uint32_t row = cluster_row(reply->cycle->cluster, doc_text(key));
        if (row == ROW_NONE)
            continue;
        if (!number_of_row[row])
            number_of_row[row] = ++ret->refusals_len;
        ret->refusals[number_of_row[row] - 1] =
            (struct extender_refusal){ row, unresolvable, arena_str(reply->cycle->arena, doc_text(val)) };
    }
}

int reply_filter(const struct reply *reply, bool node_names, struct row_list nodes,
                 struct extender_filtered *ret, struct error *err)
{
    struct arena *arena = reply->cycle->arena;
    size_t rows = reply->cycle->cluster->nodes.len;
    _cleanup_(doc_freep) yyjson_doc *doc = NULL;
    *ret = (struct extender_filtered){ 0 };
    int r = open_answer(reply->text, &filter_type, &doc, err);
    if (r < 0)
        return r;
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct str problem = doc_text(member(root, "Error"));
    if (problem.len)
        return quoted(err, problem);
    r = take_nodes(reply, node_names ? member(root, "NodeNames") : NULL, member(root, "Nodes"), nodes, ret,
                   err);
    if (r < 0)
        return r;
    uint32_t *number_of_row = arena_array(arena, uint32_t, rows);
    ret->refusals = arena_array(arena, struct extender_refusal, rows);
    /* A node in both is unresolvable. */
    take_refusals(reply, member(root, "FailedNodes"), false, number_of_row, ret);
    take_refusals(reply, member(root, "FailedAndUnresolvableNodes"), true, number_of_row, ret);
    return 0;
}

/* ---- score ---- */
int reply_score(const struct reply *reply, struct extender_scores *ret, struct error *err)
{
    _cleanup_(doc_freep) yyjson_doc *doc = NULL;
    yyjson_val *val;
    size_t i, max;
    *ret = (struct extender_scores){ 0 };
    int r = open_answer(reply->text, &scores_type, &doc, err);
    if (r < 0)
        return r;
    yyjson_val *root = yyjson_doc_get_root(doc);
    ret->items = arena_array(reply->cycle->arena, struct extender_score, yyjson_arr_size(root));
    yyjson_arr_foreach(doc_items(root), i, max, val) {
        uint32_t row = cluster_row(reply->cycle->cluster, doc_text(member(val, "Host")));
        if (row != ROW_NONE)
            ret->items[ret->len++] = (struct extender_score){ row, yyjson_get_sint(member(val, "Score")) };
    }
    return 0;
}

/* ---- preempt ---- */
static struct pod_info *pod_on(const struct cluster *cluster, uint32_t row, struct str uid)
{
    vec_for(&cluster_node(cluster, row)->pods, pod)
        if (str_eq((*pod)->api->meta.uid, uid))
            return *pod;
    return NULL;
}

/* A victim that is named twice counts twice wherever victims are counted; it is evicted once (framework/run.c). */
static int take_victims(const struct reply *reply, yyjson_val *pods, struct preempt_candidate *ret,
                        struct error *err)
{
    const struct cluster *cluster = reply->cycle->cluster;
    yyjson_val *val;
    size_t i, max;
    ret->victims = arena_array(reply->cycle->arena, struct pod_info *, yyjson_arr_size(pods));
    yyjson_arr_foreach(doc_items(pods), i, max, val) {
        struct str uid = doc_text(member(val, "UID"));
        struct pod_info *pod = pod_on(cluster, ret->row, uid);
        if (!pod)
            return error_set(err, -ENOENT,
                             "extender: " STR_FMT " claims to preempt pod (UID: &{" STR_FMT
                             "}) on node: " STR_FMT ", but the pod is not found on that node",
                             STR_ARG(reply->extender), STR_ARG(uid),
                             STR_ARG(cluster_node_name(cluster, ret->row)));
        ret->victims[ret->victims_len++] = pod;
    }
    return 0;
}

int reply_preempt(const struct reply *reply, struct preempt_candidate **ret, uint32_t *ret_len,
                  struct error *err)
{
    struct cycle *cycle = reply->cycle;
    _cleanup_(doc_freep) yyjson_doc *doc = NULL;
    yyjson_val *key, *val;
    size_t i, max;
    *ret = NULL;
    *ret_len = 0;
    int r = open_answer(reply->text, &preempt_type, &doc, err);
    if (r < 0)
        return r;
    yyjson_val *map = member(yyjson_doc_get_root(doc), "NodeNameToMetaVictims");
    uint32_t *number_of_row = arena_array(cycle->arena, uint32_t, cycle->cluster->nodes.len);
    *ret = arena_array(cycle->arena, struct preempt_candidate,
                       MIN(yyjson_obj_size(map), (size_t)cycle->cluster->live_nodes));
    yyjson_obj_foreach(doc_items(map), i, max, key, val) {
        struct str node = doc_text(key);
        uint32_t row = cluster_row(cycle->cluster, node);
        if (row == ROW_NONE)
            return error_set(err, -ENOENT, "nodeinfo not found for node name \"" STR_FMT "\"", STR_ARG(node));
        if (!number_of_row[row])
            number_of_row[row] = ++*ret_len;
        /* A node that comes twice: the last one counts. */
        struct preempt_candidate *candidate = &(*ret)[number_of_row[row] - 1];
        *candidate = (struct preempt_candidate){
            .row = row,
            .pdb_violations = yyjson_get_sint(member(val, "NumPDBViolations")),
        };
        r = take_victims(reply, member(val, "Pods"), candidate, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- bind ---- */
int reply_bind(struct str text, struct arena *arena, struct str *ret_message, struct error *err)
{
    _cleanup_(doc_freep) yyjson_doc *doc = NULL;
    *ret_message = STR("");
    int r = open_answer(text, &bind_type, &doc, err);
    if (r == 0)
        *ret_message = arena_str(arena, doc_text(member(yyjson_doc_get_root(doc), "Error")));
    return r;
}
