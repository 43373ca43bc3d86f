/* revisions.c: ControllerRevisions: the templates that a StatefulSet or DaemonSet had, for `kubectl rollout history`
 * and `undo`.
 *
 * A revision is found by its data, so that going back to an older template gives its revision the highest number again,
 * and makes no new one. */
#include <stdio.h>
#include <stdlib.h>

#include "controllers/controller.h"
#include "schema/tree.h"

enum { HISTORY_LIMIT = 10, NAMES_MAX = 16 };

static const struct api_resource *revisions_resource(void)
{
    return resource_named("apps", "controllerrevisions");
}

/* A patch that gives the object this template: {"spec":{"template":{..., "$patch":"replace"}}}. kubectl compares its
 * bytes, so keys are sorted. */
static void write_data(yyjson_val *json, struct strbuf *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec = tree_mut_make(doc, root, "spec");
    yyjson_mut_val *template = yyjson_val_mut_copy(doc, tree_at(json, "spec.template"));
    tree_mut_put(doc, spec, STR("template"), template ? template : yyjson_mut_obj(doc));
    tree_mut_put_str(doc, tree_mut_at(spec, "template"), "$patch", STR("replace"));
    tree_print_json(out, root);
    yyjson_mut_doc_free(doc);
}

static int64_t number_of(const struct stored *object)
{
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    int64_t number = tree_int(yyjson_doc_get_root(doc), "revision", 0);
    yyjson_doc_free(doc);
    return number;
}

static bool has_data(const struct stored *object, yyjson_val *data)
{
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    bool has = yyjson_equals(tree_at(yyjson_doc_get_root(doc), "data"), data);
    yyjson_doc_free(doc);
    return has;
}

static int put_number(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    tree_mut_put_int(doc, yyjson_mut_doc_get_root(doc), "revision", *(const int64_t *)user);
    return 0;
}

/* ---- a new one ---- */
static void name_revision(struct controllers *controllers, const struct stored *object, struct str data,
                          struct strbuf *name, struct strbuf *hash)
{
    for (int64_t probe = 0; probe < NAMES_MAX; probe++) {
        strbuf_clear(name);
        strbuf_clear(hash);
        write_hash(hash, data, probe);
        strbuf_printf(name, STR_FMT "-" STR_FMT, STR_ARG(object->name), STR_ARG(strbuf_slice(hash)));
        if (!store_get(controllers->store, revisions_resource()->storage, object->ns, strbuf_slice(name)))
            return;
    }
}

/* The name that the revision has already, in the status or in a pod: the object came from another cluster, whose data
 * have another form. Its pods must not be replaced for that. Nothing is appended where there is none. */
static void name_known(struct controllers *controllers, const struct stored *object, yyjson_val *json,
                       struct strbuf *name)
{
    struct str update = tree_text(json, "status.updateRevision");
    if (tree_int(json, "status.observedGeneration", -1) != tree_int(json, "metadata.generation", 0))
        return;
    strbuf_str(name, update);
    known_vec pods = controlled_by(controllers, object->uid, resource_named("", "pods"));
    const struct stored *newest = NULL;
    vec_for(&pods, pod)
        if (!newest || newest->created < (*pod)->object->created)
            newest = (*pod)->object;
    if (newest && !name->len) {
        yyjson_doc *doc = yyjson_read(newest->json.ptr, newest->json.len, 0);
        yyjson_val *labels = tree_at(yyjson_doc_get_root(doc), "metadata.labels");
        struct str hash = doc_text(yyjson_obj_get(labels, REVISION_LABEL));
        if (hash.len)
            strbuf_printf(name, STR_FMT "-" STR_FMT, STR_ARG(object->name), STR_ARG(hash));
        yyjson_doc_free(doc);
    }
    vec_release(&pods);
}

static void create(struct controllers *controllers, const struct api_resource *resource,
                   const struct stored *object, yyjson_val *json, struct str data, int64_t number)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 }, hash = { 0 };
    name_known(controllers, object, json, &name);
    uint32_t prefix = object->name.len + 1;
    if (name.len > prefix)
        strbuf_str(&hash, str_slice(strbuf_slice(&name), prefix, name.len));
    else
        name_revision(controllers, object, data, &name, &hash);
    yyjson_doc *parsed = yyjson_read(data.ptr, data.len, 0);
    yyjson_mut_doc *doc =
        from_template(resource, object, tree_at(json, "spec.template"), strbuf_slice(&name), false);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta = yyjson_mut_obj_get(root, "metadata");
    yyjson_val *annotations = tree_at(json, "metadata.annotations");
    tree_mut_remove(root, "spec");
    tree_mut_remove(meta, "finalizers");
    tree_mut_put(doc, meta, STR("annotations"), annotations ? yyjson_val_mut_copy(doc, annotations) : NULL);
    tree_mut_put_str(doc, tree_mut_make(doc, meta, "labels"), REVISION_LABEL, strbuf_slice(&hash));
    tree_mut_put(doc, root, STR("data"), yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed)));
    tree_mut_put_int(doc, root, "revision", number);
    yyjson_doc_free(parsed);
    create_object(controllers, revisions_resource(), object->ns, doc);
}

/* ---- old ones ---- */
static int by_number(const void *a, const void *b)
{
    const struct known *x = *(struct known *const *)a, *y = *(struct known *const *)b;
    return COMPARE(number_of(x->object), number_of(y->object)) ?: str_cmp(x->object->name, y->object->name);
}

/* A pod says which revision it has by its name, or by the hash in it. */
static bool is_used(struct controllers *controllers, const struct stored *object, struct str revision)
{
    known_vec pods = controlled_by(controllers, object->uid, resource_named("", "pods"));
    bool is = false;
    vec_for(&pods, pod) {
        yyjson_doc *doc = yyjson_read((*pod)->object->json.ptr, (*pod)->object->json.len, 0);
        yyjson_val *labels = tree_at(yyjson_doc_get_root(doc), "metadata.labels");
        struct str hash = doc_text(yyjson_obj_get(labels, REVISION_LABEL));
        is = is || (hash.len && str_ends_with(revision, hash));
        yyjson_doc_free(doc);
    }
    vec_release(&pods);
    return is;
}

static void forget_old(struct controllers *controllers, const struct stored *object, yyjson_val *json,
                       struct str newest)
{
    struct str current = tree_text(json, "status.currentRevision");
    known_vec all = controlled_by(controllers, object->uid, revisions_resource());
    VEC(struct stored *) old = { 0 };
    vec_sort(&all, by_number);
    vec_for(&all, one) {
        struct str name = (*one)->object->name;
        if (!(*one)->is_terminating && !str_eq(name, newest) && !str_eq(name, current) &&
            !is_used(controllers, object, name))
            *vec_push(&old) = stored_ref((*one)->object);
    }
    int64_t limit = tree_int(json, "spec.revisionHistoryLimit", HISTORY_LIMIT);
    for (size_t i = 0; i < old.len; i++) {
        if ((int64_t)(old.len - i) > limit)
            delete_object(controllers, revisions_resource(), old.items[i], "", -1);
        stored_unref(old.items[i]);
    }
    vec_release(&old);
    vec_release(&all);
}

/* ---- what the controllers use ---- */
/* The one of the data; the highest number that another one has. */
static struct stored *find(struct controllers *controllers, const struct stored *object, struct str data,
                           int64_t *ret_max)
{
    yyjson_doc *wanted = yyjson_read(data.ptr, data.len, 0);
    known_vec all = controlled_by(controllers, object->uid, revisions_resource());
    struct stored *found = NULL;
    *ret_max = 0;
    vec_for(&all, one) {
        bool is_it =
            !(*one)->is_terminating && !found && has_data((*one)->object, yyjson_doc_get_root(wanted));
        if (is_it)
            found = stored_ref((*one)->object);
        else
            *ret_max = MAX(*ret_max, number_of((*one)->object));
    }
    vec_release(&all);
    yyjson_doc_free(wanted);
    return found;
}

bool revision_of_template(struct controllers *controllers, const struct api_resource *resource,
                          const struct stored *object, yyjson_val *json, struct strbuf *name)
{
    _cleanup_(strbuf_release) struct strbuf data = { 0 };
    int64_t max;
    write_data(json, &data);
    struct stored *found = find(controllers, object, strbuf_slice(&data), &max);
    if (!found) {
        _cleanup_(strbuf_release) struct strbuf known = { 0 };
        name_known(controllers, object, json, &known);
        found = known.len ? store_get(controllers->store, revisions_resource()->storage, object->ns,
                                      strbuf_slice(&known))
                          : NULL;
        if (found)
            max = number_of(stored_ref(found)) - 1;
    }
    if (!found) {
        create(controllers, resource, object, json, strbuf_slice(&data), max + 1);
        found = find(controllers, object, strbuf_slice(&data), &max);
    }
    if (!found)
        return false;
    if (number_of(found) <= max) {
        max++;
        change_object(controllers, revisions_resource(), found, SUB_NONE, put_number, &max);
    }
    strbuf_str(name, found->name);
    stored_unref(found);
    forget_old(controllers, object, json, strbuf_slice(name));
    return true;
}

yyjson_doc *revision_template(struct controllers *controllers, struct str ns, struct str name,
                              yyjson_val **ret_template)
{
    struct stored *object =
        name.len ? store_get(controllers->store, revisions_resource()->storage, ns, name) : NULL;
    yyjson_doc *doc = object ? yyjson_read(object->json.ptr, object->json.len, 0) : NULL;
    *ret_template = tree_at(yyjson_doc_get_root(doc), "data.spec.template");
    return doc;
}
