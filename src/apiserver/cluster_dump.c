/* cluster_dump.c: the objects of another cluster; see cluster_dump.h.
 *
 *     1. uids: an object without one gets the uid that others name as their owner's, or a new one
 *     2. owners: a reference to an object that the dump should have, and has not, is left out. The garbage collector
 *        would delete the dependent otherwise
 *     3. objects, in the order of the ranks below: namespaces come before what is in them
 *
 * Resources are looked up late: those of CustomResourceDefinitions are there when these are. */
#include <stdio.h>

#include "apiserver/bootstrap.h"
#include "apiserver/cluster_dump_impl.h"

#include "apiserver/fake_kubelet.h"
#include "apiserver/output.h"
#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"
#include "schema/check.h"

enum { UID_LEN = 36, SHOWN_LEN_MAX = 300 };

/* What is said about a kind, once. */
struct complaint {
    struct str key; /* of the map, which it is an entry of: the sentence's beginning */
    size_t count;
    struct str example;
};

/* ---- reading ---- */
static int read_object(void *user, const struct doc *doc, yyjson_val *val, struct str kind,
                       struct str version, struct error *err)
{
    struct cluster_dump *dump = user;
    struct str name = tree_text(val, "metadata.name");
    if (!name.len)
        return doc_error(doc, tree_at(val, "metadata.name") ?: val, -EINVAL, err,
                         "metadata.name: expected the name of a " STR_FMT, STR_ARG(kind));
    *vec_push(&dump->items) = (struct dump_item){ .doc = doc,
                                                  .val = val,
                                                  .kind = arena_str(&dump->arena, kind),
                                                  .version = arena_str(&dump->arena, version),
                                                  .ns = tree_text(val, "metadata.namespace"),
                                                  .name = name,
                                                  .uid = tree_text(val, "metadata.uid") };
    return 0;
}

int cluster_dump_read(const char *path, struct cluster_dump **ret, struct error *err)
{
    struct cluster_dump *dump = xcalloc(1, sizeof(*dump));
    dump->documents = (struct documents){ .visit = read_object, .user = dump, .keeps_docs = true };
    int r = documents_read(&dump->documents, path, err);
    if (r == 0 && !dump->items.len)
        r = error_at(err, -EINVAL, path, 0, 0,
                     "expected objects, as `kubectl get nodes,pods -A -o yaml` writes them; found none");
    if (r < 0) {
        cluster_dump_free(dump);
        return r;
    }
    *ret = dump;
    return 0;
}

void cluster_dump_free(struct cluster_dump *dump)
{
    if (!dump)
        return;
    vec_release(&dump->items);
    strmap_release(&dump->by_name);
    strmap_release(&dump->wanted);
    map_for(&dump->complaints, slot)
        free(slot->value);
    strmap_release(&dump->complaints);
    strbuf_release(&dump->key);
    documents_release(&dump->documents);
    arena_release(&dump->arena);
    free(dump);
}

/* ---- what is said ---- */
static void complain(struct cluster_dump *dump, struct str about, struct str example)
{
    struct complaint *complaint = strmap_make(&dump->complaints, about, sizeof(*complaint));
    if (!complaint->count++)
        complaint->example =
            arena_str(&dump->arena, str_slice(example, 0, MIN(example.len, (uint32_t)SHOWN_LEN_MAX)));
}

/* Names come from a file: what would move a terminal's cursor is shown as '?'. */
static void print_complaints(const struct cluster_dump *dump)
{
    map_for(&dump->complaints, slot) {
        const struct complaint *complaint = slot->value;
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        strbuf_printf(&text, STR_FMT ": %zu, such as " STR_FMT, STR_ARG(complaint->key), complaint->count,
                      STR_ARG(complaint->example));
        for (size_t i = 0; i < text.len; i++)
            if ((unsigned char)text.text[i] < 0x20 || text.text[i] == 0x7f)
                text.text[i] = '?';
        fprintf(stderr, "berth: warning: %s\n", text.text);
    }
}

static struct str shown(struct cluster_dump *dump, const struct dump_item *item)
{
    return arena_printf(&dump->arena, STR_FMT "%s" STR_FMT, STR_ARG(item->ns), item->ns.len ? "/" : "",
                        STR_ARG(item->name));
}

/* ---- resources ---- */
/* Of objects that can be stored. */
static const struct api_resource *find_resource(struct str version, struct str kind)
{
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *row = resource_at(i);
        if (!row || !str_eq(row->kind, kind) ||
            (row->verbs & (VERB_CREATE | VERB_LIST)) != (VERB_CREATE | VERB_LIST))
            continue;
        _cleanup_(strbuf_release) struct strbuf own = { 0 };
        resource_write_version(row, &own);
        if (str_eq(version, strbuf_slice(&own)))
            return row;
    }
    return NULL;
}

/* In the buffer. Owners are named by group and kind, in whichever version. */
static struct str key_of(struct cluster_dump *dump, struct str version, struct str kind, struct str ns,
                         struct str name)
{
    ptrdiff_t slash = str_find(version, '/');
    struct str group = slash < 0 ? STR("") : str_slice(version, 0, (size_t)slash);
    strbuf_clear(&dump->key);
    strbuf_printf(&dump->key, STR_FMT " " STR_FMT " " STR_FMT "/" STR_FMT, STR_ARG(group), STR_ARG(kind),
                  STR_ARG(ns), STR_ARG(name));
    return strbuf_slice(&dump->key);
}

/* What others need comes first. */
static const struct {
    const char *group, *plural;
} ranks[] = {
    { "apiextensions.k8s.io", "customresourcedefinitions" },
    { "", "namespaces" },
    { "scheduling.k8s.io", "priorityclasses" },
    { "storage.k8s.io", "storageclasses" },
    { "", "nodes" },
};

enum { RANK_CLASSES = 2 };

static size_t rank_of(const struct api_resource *resource)
{
    for (size_t i = 0; i < ARRAY_SIZE(ranks); i++)
        if (resource == resource_named(ranks[i].group, ranks[i].plural))
            return i;
    return ARRAY_SIZE(ranks);
}

static void find_resources(struct cluster_dump *dump)
{
    size_t number = 0;
    vec_for(&dump->items, item) {
        number++;
        if (item->resource)
            continue;
        item->resource = find_resource(item->version, item->kind);
        if (item->resource && !item->resource->namespaced)
            item->ns = STR("");
        else if (item->resource && !item->ns.len)
            item->ns = STR("default");
        item->rank = rank_of(item->resource);
        struct str key = key_of(dump, item->version, item->kind, item->ns, item->name);
        if (item->resource && !strmap_get(&dump->by_name, key))
            strmap_put(&dump->by_name, arena_str(&dump->arena, key), (void *)number);
    }
}

static struct dump_item *find_item(const struct cluster_dump *dump, struct str key)
{
    size_t number = (size_t)strmap_get(&dump->by_name, key);
    return number ? &dump->items.items[number - 1] : NULL;
}

/* ---- uids ---- */
/* The key of the object that a reference names, in the buffer; it is in the namespace of the item, or in none. */
static struct str owner_key(struct cluster_dump *dump, const struct dump_item *item, yyjson_val *reference)
{
    struct str version = tree_text(reference, "apiVersion"), kind = tree_text(reference, "kind");
    struct str name = tree_text(reference, "name");
    struct str key = key_of(dump, version, kind, item->ns, name);
    return strmap_get(&dump->by_name, key) ? key : key_of(dump, version, kind, STR(""), name);
}

static void note_wanted(struct cluster_dump *dump, const struct dump_item *item)
{
    yyjson_val *references = tree_at(item->val, "metadata.ownerReferences"), *reference;
    size_t i, max;
    if (!yyjson_is_arr(references))
        return;
    yyjson_arr_foreach(references, i, max, reference) {
        struct str uid = tree_text(reference, "uid"), key = owner_key(dump, item, reference);
        if (!uid.len || strmap_get(&dump->wanted, key))
            continue;
        struct str *kept = arena_alloc(&dump->arena, sizeof(*kept));
        *kept = uid;
        strmap_put(&dump->wanted, arena_str(&dump->arena, key), kept);
    }
}

static void settle_uids(struct cluster_dump *dump, struct registry *registry)
{
    vec_for(&dump->items, item)
        note_wanted(dump, item);
    vec_for(&dump->items, item) {
        if (item->uid.len || !item->resource)
            continue;
        const struct str *wanted =
            strmap_get(&dump->wanted, key_of(dump, item->version, item->kind, item->ns, item->name));
        char uid[UID_LEN + 1];
        name_uid(&registry->rng, uid);
        item->uid = wanted ? *wanted : arena_str(&dump->arena, str_from(uid));
    }
}

/* ---- owners ---- */
static bool is_known_kind(yyjson_mut_val *reference)
{
    struct str version = tree_mut_text(reference, "apiVersion"), kind = tree_mut_text(reference, "kind");
    return find_resource(version, kind) != NULL;
}

/* References without a uid get their owner's; those without an owner go. */
static void settle_owners(struct cluster_dump *dump, const struct dump_item *item, yyjson_mut_doc *doc)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
    yyjson_mut_val *list = yyjson_mut_obj_get(meta, "ownerReferences");
    yyjson_val *references = tree_at(item->val, "metadata.ownerReferences");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        yyjson_mut_val *reference = yyjson_mut_arr_get(list, i);
        const struct dump_item *owner = find_item(dump, owner_key(dump, item, yyjson_arr_get(references, i)));
        if (owner && !tree_mut_text(reference, "uid").len)
            tree_mut_put_str(doc, reference, "uid", owner->uid);
        if (owner || !is_known_kind(reference))
            continue;
        struct str kind = tree_mut_text(reference, "kind");
        complain(dump,
                 arena_printf(&dump->arena,
                              "a " STR_FMT " that owns a " STR_FMT " is not in the dump, so the " STR_FMT
                              " has no owner",
                              STR_ARG(kind), STR_ARG(item->kind), STR_ARG(item->kind)),
                 shown(dump, item));
        yyjson_mut_arr_remove(list, i);
    }
    if (list && !yyjson_mut_arr_size(list))
        tree_mut_remove(meta, "ownerReferences");
}

/* ---- nodes ---- */
/* The fake kubelet of a node that was not ready does not make it so. */
static void keep_failed(yyjson_mut_doc *doc)
{
    yyjson_mut_val *node = yyjson_mut_doc_get_root(doc), *list = tree_mut_at(node, "status.conditions"),
                   *condition;
    size_t i, max;
    if (!yyjson_mut_is_arr(list))
        return;
    yyjson_mut_arr_foreach(list, i, max, condition)
    {
        struct str status = tree_mut_text(condition, "status");
        if (str_is(tree_mut_text(condition, "type"), "Ready") && !str_is(status, "True"))
            tree_mut_put_str(doc, tree_mut_make(doc, node, "metadata.annotations"), FAIL_ANNOTATION,
                             str_is(status, "False") ? STR(FAIL_NOT_READY) : STR(FAIL_UNREACHABLE));
    }
}

/* ---- objects ---- */
/* `uid`: of an object that does not say it. Frees the object. */
static int import(struct registry *registry, const struct api_resource *resource, struct str ns,
                  struct str uid, yyjson_mut_doc *doc, struct api_error *err)
{
    struct registry_result result = { 0 };
    struct write_options options = { .is_imported = true, .uid = uid };
    int r = registry_create(registry, resource, ns, doc, &options, &result, err);
    registry_result_release(&result);
    yyjson_mut_doc_free(doc);
    return r;
}

/* A namespace that objects are in, and the dump does not have. */
static void make_namespace(struct cluster_dump *dump, struct registry *registry, struct str ns)
{
    const struct api_resource *resource = resource_named("", "namespaces");
    if (store_get(registry_store(registry), resource->storage, STR(""), ns))
        return;
    struct api_error err = { 0 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    tree_mut_put_str(doc, tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "metadata"), "name", ns);
    if (import(registry, resource, STR(""), STR(""), doc, &err) == 0)
        complain(dump, STR("a namespace that objects are in is not in the dump, so it was made"), ns);
    api_error_release(&err);
}

/* Values of wrong types would be a riddle for every client. */
static bool has_types(struct cluster_dump *dump, const struct dump_item *item)
{
    const struct api_resource *row = item->resource;
    const struct schema_type *type = schema_of(row->group, row->version, row->kind);
    struct schema_problems problems = { 0 };
    if (!type)
        return true;
    schema_check(type, item->val, SCHEMA_DECODED, &problems);
    bool is_right = !problems.wrong.len;
    if (!is_right)
        complain(dump, arena_printf(&dump->arena, "a " STR_FMT " was not taken", STR_ARG(item->kind)),
                 arena_printf(&dump->arena, STR_FMT ": " STR_FMT, STR_ARG(shown(dump, item)),
                              STR_ARG(problems.wrong)));
    schema_problems_release(&problems);
    return is_right;
}

static void create(struct cluster_dump *dump, struct registry *registry, const struct dump_item *item)
{
    struct api_error err = { 0 };
    if (!has_types(dump, item))
        return;
    if (item->ns.len)
        make_namespace(dump, registry, item->ns);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, item->val));
    settle_owners(dump, item, doc);
    if (item->resource == resource_named("", "nodes"))
        keep_failed(doc);
    output_to_stored(item->resource, doc);
    int r = import(registry, item->resource, item->ns, item->uid, doc, &err);
    if (r < 0 && r != -409)
        complain(dump, arena_printf(&dump->arena, "a " STR_FMT " was not taken", STR_ARG(item->kind)),
                 arena_printf(&dump->arena, STR_FMT ": " STR_FMT, STR_ARG(shown(dump, item)),
                              STR_ARG(err.message)));
    api_error_release(&err);
}

int cluster_dump_create(struct cluster_dump *dump, struct registry *registry, struct error *err)
{
    int r = 0;
    find_resources(dump);
    settle_uids(dump, registry);
    for (size_t rank = 0; rank <= ARRAY_SIZE(ranks) && r == 0; rank++) {
        find_resources(dump);
        vec_for(&dump->items, item)
            if (item->resource && item->rank == rank)
                create(dump, registry, item);
        /* Those that every cluster has, unless the dump has them. Pods that were written by hand need them. */
        if (rank == RANK_CLASSES)
            r = bootstrap_classes(registry, err);
    }
    dump_settle_revisions(dump, registry);
    vec_for(&dump->items, item)
        if (!item->resource)
            complain(dump,
                     arena_printf(&dump->arena, "the server has no kind " STR_FMT " " STR_FMT,
                                  STR_ARG(item->version), STR_ARG(item->kind)),
                     shown(dump, item));
    print_complaints(dump);
    return r;
}
