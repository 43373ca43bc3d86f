/* Selectors of a pod's affinity, matched with its own labels: opposite operators have opposite results.
 *
 * The input is a pod; its label selectors and node selectors are checked and matched as the plugins would. */
#include "api/labels.h"
#include "api/object.h"
#include "fuzz/fuzz.h"

/* In and NotIn, Exists and DoesNotExist partition all label sets. */
static void check_opposites(const struct selector_requirement *req, const struct str_map *labels)
{
    static const enum selector_op opposite[] = { [OP_IN] = OP_NOT_IN, [OP_EXISTS] = OP_DOES_NOT_EXIST };
    if (req->op != OP_IN && req->op != OP_EXISTS)
        return;
    struct selector_requirement other = *req;
    other.op = opposite[req->op];
    must(requirement_matches(req, labels) != requirement_matches(&other, labels));
}

static void check_label_selector(const struct label_selector *sel, const struct str_map *labels)
{
    struct error err = { 0 };
    bool sound = label_selector_check(sel, &err) == 0;
    must(sound || err.text[0]);
    bool matches = label_selector_matches(sel, labels);
    if (!sel) {
        must(!matches);
        return;
    }
    must(sound || !matches);
    if (!sel->match_labels.len && !sel->match_expressions.len)
        must(matches);
    if (!sound)
        return;
    bool all = str_map_contains_all(labels, &sel->match_labels);
    list_for(&sel->match_expressions, req) {
        check_opposites(req, labels);
        all = all && requirement_matches(req, labels);
    }
    must(all == matches);
}

static void check_node_selector(const struct node_selector *sel, struct str name,
                                const struct str_map *labels)
{
    struct error err = { 0 };
    bool sound = node_selector_check(sel, &err) == 0;
    must(sound || err.text[0]);
    bool any = false;
    list_for(&sel->terms, term) {
        bool matches = node_selector_term_matches(term, name, labels);
        any = any || matches;
        if (!term->match_expressions.len && !term->match_fields.len)
            must(!matches);
    }
    must(any == node_selector_matches(sel, name, labels));
}

static void check_pod_terms(const struct pod_affinity *affinity, const struct str_map *labels)
{
    if (!affinity)
        return;
    list_for(&affinity->required, term) {
        check_label_selector(term->selector, labels);
        check_label_selector(term->namespace_selector, labels);
    }
    list_for(&affinity->preferred, weighted)
        check_label_selector(weighted->term.selector, labels);
}

static void check_pod(const struct pod *pod)
{
    const struct str_map *labels = &pod->meta.labels;
    list_for(&pod->spec.spread, constraint)
        check_label_selector(constraint->selector, labels);
    const struct affinity *affinity = pod->spec.affinity;
    if (!affinity)
        return;
    check_pod_terms(affinity->pod, labels);
    check_pod_terms(affinity->pod_anti, labels);
    if (!affinity->node)
        return;
    if (affinity->node->required)
        check_node_selector(affinity->node->required, pod->meta.name, labels);
    struct error err = { 0 };
    if (preferred_node_terms_check(affinity->node->preferred.items, affinity->node->preferred.len, &err) < 0)
        must(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doc_stream stream;
    struct doc doc = { 0 };
    struct arena arena = { 0 };
    fuzz_stream(&stream, data, size);
    if (doc_stream_next(&stream, &doc, NULL) == 1) {
        struct object object;
        if (object_decode_as(&doc, doc.root, KIND_POD, &arena, &object, NULL) == 0)
            check_pod(object.ptr);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
    arena_release(&arena);
    return 0;
}
