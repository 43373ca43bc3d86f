/* Replies of extenders: each one is either read as Go reads it or rejected with an error. */
#include "support/fixture.h"

#include "extender/reply.h"

/* Nodes a, b, c with pods on a and b. */
static void begin(struct fixture *f)
{
    FIXTURE_BARE(f);
    fixture_load(f, "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}\n---\n"
                    "{kind: Node, metadata: {name: c}}\n---\n"
                    "{kind: Pod, metadata: {name: p1, uid: u1}, spec: {nodeName: a}}\n---\n"
                    "{kind: Pod, metadata: {name: p2, uid: u2}, spec: {nodeName: a}}\n---\n"
                    "{kind: Pod, metadata: {name: p3, uid: u3}, spec: {nodeName: b}}");
    fixture_cycle(f, "{kind: Pod, metadata: {name: q, uid: uq}}");
}

static struct reply reply_of(struct fixture *f, const char *text)
{
    return (struct reply){ .extender = STR("http://x"), .cycle = &f->cycle, .text = str_from(text) };
}

/* Go's error for a value of another type. */
#define GO(value, field, type) "json: cannot unmarshal " value " into Go struct field " field " of type " type

/* ---- filter: nodes a and b are in the request ---- */
struct filter_case {
    const char *name, *text;
    bool node_names;
    const char *want; /* "rows; rejections", or the error */
};

#define NOT_REQUESTED(node) \
    "extender \"http://x\" claims a filtered node \"" node "\" which is not found in the input node list"

static const struct filter_case filter_cases[] = {
    { "names", "{\"NodeNames\":[\"b\",\"a\"]}", true, "b a; " },
    { "names in any case", "{\"nodenames\":[\"b\"],\"failedNodes\":{\"a\":\"no\"}}", true, "b; a:no" },
    { "named twice", "{\"NodeNames\":[\"b\",\"b\",\"b\"]}", true, "b; " },
    { "none", "{\"NodeNames\":[]}", true, "; " },
    { "nothing at all", "{}", true, "; " },
    { "null", "null", true, "; " },
    { "nulls", "{\"NodeNames\":null,\"Nodes\":null,\"FailedNodes\":null,\"Error\":null}", true, "; " },
    { "names where objects are agreed", "{\"NodeNames\":[\"a\"]}", false, "; " },
    { "objects", "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}}", false, "a; " },
    { "objects where names are agreed", "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}}", true,
      "a; " },
    { "names go before objects",
      "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}}]},\"NodeNames\":[\"b\"]}", true, "b; " },
    { "objects without items", "{\"Nodes\":{}}", false, "; " },
    { "refused", "{\"FailedNodes\":{\"a\":\"full\",\"b\":\"old\"}}", true, "; a:full b:old" },
    { "refused for good", "{\"FailedAndUnresolvableNodes\":{\"a\":\"gone\"}}", true, "; a!gone" },
    { "in both", "{\"FailedAndUnresolvableNodes\":{\"a\":\"gone\"},\"FailedNodes\":{\"a\":\"full\"}}", true,
      "; a!gone" },
    { "refused twice", "{\"FailedNodes\":{\"a\":\"one\",\"a\":\"two\"}}", true, "; a:two" },
    { "refused and passed", "{\"NodeNames\":[\"a\"],\"FailedNodes\":{\"a\":\"hm\"}}", true, "a; a:hm" },
    { "refused without a word", "{\"FailedNodes\":{\"a\":\"\",\"b\":null}}", true, "; a: b:" },
    { "rejected, not requested", "{\"FailedNodes\":{\"c\":\"full\"}}", true, "; c:full" },
    { "refused, not there", "{\"FailedNodes\":{\"zzz\":\"full\"}}", true, "; " },
    { "something behind it", "{\"NodeNames\":[\"a\"]} trailing", true, "a; " },
    { "unknown fields", "{\"NodeNames\":[\"a\"],\"extra\":{\"deep\":[1]}}", true, "a; " },
    { "passed, not requested", "{\"NodeNames\":[\"a\",\"c\"]}", true, NOT_REQUESTED("c") },
    { "passed, unknown", "{\"NodeNames\":[\"zzz\"]}", true, NOT_REQUESTED("zzz") },
    { "an object that is not there", "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"zzz\"}}]}}", false,
      NOT_REQUESTED("zzz") },
    { "an object without a name", "{\"Nodes\":{\"items\":[{}]}}", false, NOT_REQUESTED("") },
    { "an error", "{\"Error\":\"out of order\",\"NodeNames\":[\"a\"]}", true, "out of order" },
    { "empty", "", true, "EOF" },
    { "not JSON", "oops", true, "invalid character 'o' looking for beginning of value" },
    { "a list", "[]", true, "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult" },
    { "names of another type", "{\"NodeNames\":\"a\"}", true,
      GO("string", "ExtenderFilterResult.NodeNames", "[]string") },
    { "a number as a name", "{\"NodeNames\":[1]}", true,
      GO("number", "ExtenderFilterResult.NodeNames", "string") },
    { "objects of another type", "{\"Nodes\":[]}", false,
      GO("array", "ExtenderFilterResult.Nodes", "v1.NodeList") },
    { "items of another type", "{\"Nodes\":{\"items\":[3]}}", false,
      GO("number", "NodeList.Nodes.items", "v1.Node") },
    { "a message of another type", "{\"FailedNodes\":{\"a\":[]}}", true,
      GO("array", "ExtenderFilterResult.FailedNodes", "string") },
    { "an error of another type", "{\"Error\":{}}", true,
      GO("object", "ExtenderFilterResult.Error", "string") },
};

static void show_filtered(struct strbuf *out, const struct fixture *f,
                          const struct extender_filtered *filtered)
{
    for (uint32_t i = 0; i < filtered->len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? " " : "",
                      STR_ARG(cluster_node_name(&f->cluster, filtered->rows[i])));
    strbuf_puts(out, "; ");
    for (uint32_t i = 0; i < filtered->refusals_len; i++) {
        const struct extender_refusal *refusal = &filtered->refusals[i];
        strbuf_printf(out, "%s" STR_FMT "%c" STR_FMT, i ? " " : "",
                      STR_ARG(cluster_node_name(&f->cluster, refusal->row)),
                      refusal->unresolvable ? '!' : ':', STR_ARG(refusal->message));
    }
}

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++) {
        const struct filter_case *c = &filter_cases[i];
        struct fixture f;
        struct strbuf got = { 0 };
        struct extender_filtered filtered;
        struct error err;
        begin(&f);
        struct reply reply = reply_of(&f, c->text);
        uint32_t rows[] = { fixture_row(&f, "a"), fixture_row(&f, "b") };
        if (reply_filter(&reply, c->node_names, (struct row_list){ rows, 2 }, &filtered, &err) < 0)
            strbuf_puts(&got, err.text);
        else
            show_filtered(&got, &f, &filtered);
        if (!str_is(strbuf_slice(&got), c->want))
            fail_msg("%s: got \"%s\", want \"%s\"", c->name, got.text, c->want);
        strbuf_release(&got);
        fixture_release(&f);
    }
}

/* ---- score ---- */
static const struct {
    const char *name, *text, *want;
} score_cases[] = {
    { "some", "[{\"Host\":\"a\",\"Score\":5},{\"Host\":\"b\",\"Score\":10}]", "a=5 b=10" },
    { "in any case", "[{\"host\":\"a\",\"score\":5}]", "a=5" },
    { "twice", "[{\"Host\":\"a\",\"Score\":5},{\"Host\":\"a\",\"Score\":1}]", "a=5 a=1" },
    { "out of range", "[{\"Host\":\"a\",\"Score\":-7},{\"Host\":\"b\",\"Score\":9223372036854775807}]",
      "a=-7 b=9223372036854775807" },
    { "not there", "[{\"Host\":\"zzz\",\"Score\":5}]", "" },
    { "without a score", "[{\"Host\":\"a\"}]", "a=0" },
    { "null", "null", "" },
    { "nulls", "[null,{\"Host\":null,\"Score\":null}]", "" },
    { "an object", "{}", "json: cannot unmarshal object into Go value of type v1.HostPriorityList" },
    { "items of another type", "[1]", "json: cannot unmarshal number into Go value of type v1.HostPriority" },
    { "a broken number", "[{\"Host\":\"a\",\"Score\":1.5}]", GO("number", "HostPriority.Score", "int64") },
    { "a number that is too large", "[{\"Host\":\"a\",\"Score\":9223372036854775808}]",
      GO("number", "HostPriority.Score", "int64") },
    { "a number as text", "[{\"Host\":\"a\",\"Score\":\"5\"}]", GO("string", "HostPriority.Score", "int64") },
};

static void test_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(score_cases); i++) {
        struct fixture f;
        struct strbuf got = { 0 };
        struct extender_scores scores;
        struct error err;
        begin(&f);
        struct reply reply = reply_of(&f, score_cases[i].text);
        if (reply_score(&reply, &scores, &err) < 0) {
            strbuf_puts(&got, err.text);
            scores.len = 0;
        }
        for (uint32_t j = 0; j < scores.len; j++)
            strbuf_printf(&got, "%s" STR_FMT "=%lld", j ? " " : "",
                          STR_ARG(cluster_node_name(&f.cluster, scores.items[j].row)),
                          (long long)scores.items[j].score);
        if (!str_is(strbuf_slice(&got), score_cases[i].want))
            fail_msg("%s: got \"%s\", want \"%s\"", score_cases[i].name, got.text, score_cases[i].want);
        strbuf_release(&got);
        fixture_release(&f);
    }
}

/* ---- preempt ---- */
#define VICTIMS(text) "{\"NodeNameToMetaVictims\":{" text "}}"

static const struct {
    const char *name, *text, *want;
} preempt_cases[] = {
    { "some", VICTIMS("\"a\":{\"Pods\":[{\"UID\":\"u2\"},{\"UID\":\"u1\"}],\"NumPDBViolations\":3}"),
      "a:p2,p1/3" },
    { "in any case", "{\"nodeNameToMetaVictims\":{\"b\":{\"pods\":[{\"uid\":\"u3\"}]}}}", "b:p3/0" },
    { "several", VICTIMS("\"b\":{\"Pods\":[{\"UID\":\"u3\"}]},\"a\":{\"Pods\":[{\"UID\":\"u1\"}]}"),
      "b:p3/0 a:p1/0" },
    { "a victim twice", VICTIMS("\"a\":{\"Pods\":[{\"UID\":\"u1\"},{\"UID\":\"u1\"}]}"), "a:p1,p1/0" },
    { "a node twice", VICTIMS("\"a\":{\"Pods\":[{\"UID\":\"u1\"}]},\"a\":{\"Pods\":[{\"UID\":\"u2\"}]}"),
      "a:p2/0" },
    { "no victims", VICTIMS("\"a\":{\"Pods\":[]}"), "a:/0" },
    { "no nodes", VICTIMS(""), "" },
    { "nothing", "{}", "" },
    { "null", "null", "" },
    { "a node that is not there", VICTIMS("\"zzz\":{}"), "nodeinfo not found for node name \"zzz\"" },
    { "a pod of another node", VICTIMS("\"a\":{\"Pods\":[{\"UID\":\"u3\"}]}"),
      "extender: http://x claims to preempt pod (UID: &{u3}) on node: a, but the pod is not found on that "
      "node" },
    { "a pod without a uid", VICTIMS("\"a\":{\"Pods\":[{}]}"),
      "extender: http://x claims to preempt pod (UID: &{}) on node: a, but the pod is not found on that "
      "node" },
    { "null for a node", VICTIMS("\"a\":null"),
      GO("null", "ExtenderPreemptionResult.NodeNameToMetaVictims", "v1.MetaVictims") },
    { "null for a pod", VICTIMS("\"a\":{\"Pods\":[null]}"),
      GO("null", "MetaVictims.NodeNameToMetaVictims.Pods", "v1.MetaPod") },
    { "a list", VICTIMS("\"a\":[]"),
      GO("array", "ExtenderPreemptionResult.NodeNameToMetaVictims", "v1.MetaVictims") },
    { "pods of another type", VICTIMS("\"a\":{\"Pods\":{}}"),
      GO("object", "MetaVictims.NodeNameToMetaVictims.Pods", "[]*v1.MetaPod") },
    { "violations of another type", VICTIMS("\"a\":{\"NumPDBViolations\":\"1\"}"),
      GO("string", "MetaVictims.NodeNameToMetaVictims.NumPDBViolations", "int64") },
};

static void show_candidate(struct strbuf *out, const struct fixture *f,
                           const struct preempt_candidate *candidate)
{
    strbuf_printf(out, "%s" STR_FMT ":", out->len ? " " : "",
                  STR_ARG(cluster_node_name(&f->cluster, candidate->row)));
    for (uint32_t i = 0; i < candidate->victims_len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? "," : "", STR_ARG(candidate->victims[i]->api->meta.name));
    strbuf_printf(out, "/%lld", (long long)candidate->pdb_violations);
}

static void test_preempt(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(preempt_cases); i++) {
        struct fixture f;
        struct strbuf got = { 0 };
        struct preempt_candidate *candidates;
        uint32_t len;
        struct error err;
        begin(&f);
        struct reply reply = reply_of(&f, preempt_cases[i].text);
        if (reply_preempt(&reply, &candidates, &len, &err) < 0)
            strbuf_puts(&got, err.text);
        else
            for (uint32_t j = 0; j < len; j++)
                show_candidate(&got, &f, &candidates[j]);
        if (!str_is(strbuf_slice(&got), preempt_cases[i].want))
            fail_msg("%s: got \"%s\", want \"%s\"", preempt_cases[i].name, got.text, preempt_cases[i].want);
        strbuf_release(&got);
        fixture_release(&f);
    }
}

/* ---- bind ---- */
static const struct {
    const char *text, *want;
} bind_cases[] = {
    { "{}", "" },
    { "null", "" },
    { "{\"Error\":\"\"}", "" },
    { "{\"error\":\"no such pod\"}", "no such pod" },
    { "", "EOF" },
    { "{\"Error\":1}", GO("number", "ExtenderBindingResult.Error", "string") },
    { "\"fine\"", "json: cannot unmarshal string into Go value of type v1.ExtenderBindingResult" },
};

static void test_bind(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bind_cases); i++) {
        struct arena arena = { 0 };
        struct str message;
        struct error err;
        int r = reply_bind(str_from(bind_cases[i].text), &arena, &message, &err);
        assert_str(r < 0 ? str_from(err.text) : message, bind_cases[i].want);
        arena_release(&arena);
    }
}

/* ---- long replies ---- */
/* Long lists of repeated names take memory in proportion to their own length only. */
static void test_long(void **state)
{
    (void)state;
    enum { TIMES = 20000 };
    static const struct {
        const char *begin, *item, *end;
    } texts[] = {
        { "{\"NodeNames\":[", "\"a\"", "]}" },
        { "{\"FailedNodes\":{", "\"a\":\"full\"", "}}" },
        { "{\"FailedNodes\":{", "\"none\":\"full\"", "}}" },
        { "{\"Nodes\":{\"items\":[", "{\"metadata\":{\"name\":\"a\"}}", "]}}" },
        { "[", "{\"Host\":\"a\",\"Score\":1}", "]" },
        { "{\"NodeNameToMetaVictims\":{", "\"a\":{\"Pods\":[{\"UID\":\"u1\"}]}", "}}" },
        { "{\"NodeNameToMetaVictims\":{\"a\":{\"Pods\":[", "{\"UID\":\"u1\"}", "]}}}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct fixture f;
        struct strbuf text = { 0 };
        struct error err;
        struct extender_filtered filtered;
        struct extender_scores scores;
        struct preempt_candidate *candidates;
        uint32_t len;
        begin(&f);
        strbuf_puts(&text, texts[i].begin);
        for (int j = 0; j < TIMES; j++)
            strbuf_printf(&text, "%s%s", j ? "," : "", texts[i].item);
        strbuf_puts(&text, texts[i].end);
        struct reply reply = reply_of(&f, text.text);
        uint32_t rows[] = { fixture_row(&f, "a"), fixture_row(&f, "b") };
        bool read = reply_filter(&reply, true, (struct row_list){ rows, 2 }, &filtered, &err) == 0;
        if (read)
            assert_true(filtered.len <= 1 && filtered.refusals_len <= 1);
        read |= reply_score(&reply, &scores, &err) == 0;
        if (reply_preempt(&reply, &candidates, &len, &err) == 0) {
            read = true;
            assert_true(len <= 1);
        }
        assert_true(read);
        assert_true(f.arena.total_bytes < 64 * text.len);
        strbuf_release(&text);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter), cmocka_unit_test(test_score), cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_bind),   cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
