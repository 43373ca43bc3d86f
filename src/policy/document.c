/* document.c: see document.h. */
#include "policy/document.h"

#include "api/fields.h"
#include "codec/record_rows.h"

/* What users keep beside the name is read and not used. */
struct policy_meta {
    struct str name, namespace;
    struct str_map labels, annotations;
};

struct source {
    struct policy_meta meta;
    struct policy_spec spec;
};

#define T struct policy_meta
static const struct record_field policy_meta_fields[] = {
    F("name", 0, STR, name),
    F("namespace", 0, STR, namespace),
    F("labels", 0, PAIRS, labels),
    F("annotations", 0, PAIRS, annotations),
};
TYPE(policy_meta)
#undef T

#define T struct policy_spec
static const struct record_field policy_spec_fields[] = {
    F("resourceWeights", 0, WEIGHTS, resource_weights),
    F_PTR("nodeAffinity", 0, node_affinity, node_affinity),
    F_LIST("tolerations", 0, tolerations, toleration),
    F("priorityClass", 0, STR, priority_class),
    F("pluginWeights", 0, WEIGHTS, plugin_weights),
    F_LIST("topologySpreadConstraints", 0, spread, spread_constraint),
    F_PTR("podSelector", 0, pod_selector, label_selector),
    F_PTR("namespaceSelector", 0, namespace_selector, label_selector),
};
TYPE(policy_spec)
#undef T

#define T struct source
static const struct record_field source_fields[] = {
    F_STRUCT("metadata", 0, meta, policy_meta),
    F_STRUCT("spec", 0, spec, policy_spec),
};
TYPE_WITH(source, .has_type_meta = true)
#undef T

static int expect_text(const struct doc *doc, const char *field, const char *expected, struct error *err)
{
    yyjson_val *value = yyjson_obj_get(doc->root, field);
    if (yyjson_equals_str(value, expected))
        return 0;
    if (!value)
        return doc_error(doc, doc->root, -EINVAL, err, "%s: expected \"%s\", but the field is missing", field,
                         expected);
    struct str text = doc_text(value);
    return doc_error(doc, value, -EINVAL, err, "%s: expected \"%s\", got %s%.*s%s", field, expected,
                     text.ptr ? "\"" : "a ", text.ptr ? (int)MIN(text.len, 100u) : 100,
                     text.ptr ? text.ptr : doc_type_name(value), text.ptr ? "\"" : "");
}

/* "storage" is what users call the disk of a node. */
static void rename_storage(struct weight_map *weights)
{
    list_for(weights, weight)
        if (str_is(weight->name, "storage"))
            weight->name = STR("ephemeral-storage");
}

static void complete(struct policy *policy, struct arena *arena)
{
    struct policy_spec *spec = &policy->spec;
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    rename_storage(&spec->resource_weights);
    policy->affinity.node = spec->node_affinity;
    policy->shown.weighs = spec->resource_weights.len || spec->plugin_weights.len;
    policy->is_empty = !policy->shown.weighs && !spec->node_affinity && !spec->tolerations.len &&
                       !spec->spread.len && !spec->priority_class.len;
    record_put_key(&key, &policy_spec_type, spec);
    policy->key = arena_str(arena, strbuf_slice(&key));
}

int policy_read(const struct doc *doc, const struct registry *registry, struct arena *arena,
                struct policy *ret, struct error *err)
{
    struct source source = { 0 };
    struct problems problems = { .root = doc->root };
    if (!yyjson_is_obj(doc->root))
        return doc_error(doc, doc->root, -EINVAL, err, "expected a " POLICY_KIND " object, got a %s",
                         doc_type_name(doc->root));
    int r = expect_text(doc, "kind", POLICY_KIND, err);
    if (r == 0)
        r = expect_text(doc, "apiVersion", POLICY_VERSION, err);
    if (r == 0)
        r = config_read(doc, doc->root, &source_type, NULL, arena, &source, err);
    if (r < 0)
        return r;
    *ret = (struct policy){ .shown.name = source.meta.name, .spec = source.spec };
    policy_check(ret, registry, &problems);
    r = problems_report(&problems, doc, "", err);
    problems_release(&problems);
    if (r == 0)
        complete(ret, arena);
    return r;
}
