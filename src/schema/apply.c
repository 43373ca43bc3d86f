/* apply.c: server-side apply.
 *
 * Objects are compared without what the API server itself sets (`stripped`), and without what the subresource of the
 * request does not own (`reset`). */
#include "schema/apply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/quote.h"
#include "schema/managed.h"
#include "schema/tree.h"
#include "schema/typed.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* Fields that belong to no manager. */
static const char *const stripped[] = {
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.uid",
    "metadata.selfLink",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
};

struct apply {
    const struct apply_request *request;
    struct schema_value root;
    struct typed type;
    yyjson_mut_doc *doc; /* everything below is in it */
    yyjson_mut_val *live, *new;
    struct managed managed;
    struct managed_entry self; /* names the entry of the request */
    struct arena arena;        /* sets that are made on the way */
    struct field_set changes;
};

static void strip(struct field_set *set)
{
    for (size_t i = 0; i < ARRAY_SIZE(stripped); i++)
        field_set_drop(set, stripped[i], false);
}

static void reset(const struct apply_request *request, struct field_set *set)
{
    bool status = str_is(request->subresource, "status");
    if (status)
        field_set_drop(set, "spec", true);
    else if (request->has_status && str_empty(request->subresource))
        field_set_drop(set, "status", true);
}

static struct str api_version(const struct apply_request *request, struct arena *arena)
{
    return arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(request->group), request->group.len ? "/" : "",
                        STR_ARG(request->version));
}

static yyjson_mut_val *meta_of(yyjson_mut_val *object)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(object, "metadata");
    return yyjson_mut_is_obj(meta) ? meta : NULL;
}

static void remove_managed(yyjson_mut_val *object)
{
    if (meta_of(object))
        yyjson_mut_obj_remove_key(meta_of(object), "managedFields");
}

static void begin(struct apply *apply, const struct apply_request *request, yyjson_mut_doc *doc, bool applied)
{
    *apply = (struct apply){ .request = request, .doc = doc };
    apply->root = (struct schema_value){ .kind = SCHEMA_OBJECT, .type = request->type };
    apply->type = typed_object(&apply->root);
    apply->self = (struct managed_entry){
        .manager = request->manager.len ? request->manager : STR("unknown"),
        .subresource = request->subresource,
        .applied = applied,
        /* An applied configuration that changes nothing has no time. */
        .time = applied ? 0 : request->now,
    };
    apply->self.api_version = api_version(request, &apply->arena);
}

static void end(struct apply *apply)
{
    managed_release(&apply->managed);
    field_set_release(&apply->changes);
    arena_release(&apply->arena);
}

static void set_managed(struct apply *apply, yyjson_mut_val *object)
{
    managed_prune(&apply->managed);
    yyjson_mut_val *list = managed_write(&apply->managed, apply->doc);
    remove_managed(object);
    if (list && !meta_of(object))
        yyjson_mut_obj_put(object, yyjson_mut_str(apply->doc, "metadata"), yyjson_mut_obj(apply->doc));
    if (list)
        yyjson_mut_obj_put(meta_of(object), yyjson_mut_str(apply->doc, "managedFields"), list);
}

/* What differs between the live and the new object. */
static void compare(struct apply *apply)
{
    typed_compare(apply->type, apply->live, apply->new, &apply->changes, &apply->arena);
    reset(apply->request, &apply->changes);
}

/* Changed fields no longer belong to other managers. */
static void take_from_others(struct apply *apply, const struct managed_entry *self)
{
    vec_for(&apply->managed.entries, entry) {
        if (self && entry->set == self->set)
            continue;
        field_set_subtract(entry->set, &apply->changes, FIELD_CHANGED | FIELD_REMOVED);
    }
}

/* ---- writes that are no apply ---- */

static bool is_reset(yyjson_val *list)
{
    return yyjson_is_arr(list) && (!yyjson_arr_size(list) || (yyjson_arr_size(list) == 1 &&
                                                              !yyjson_obj_size(yyjson_arr_get_first(list))));
}

/* The entries before the write: those that the client sent, or those of the live object. */
static void read_managed(struct apply *apply, yyjson_val *live, yyjson_mut_val *object)
{
    yyjson_val *old = yyjson_obj_get(yyjson_obj_get(live, "metadata"), "managedFields");
    yyjson_mut_val *sent = meta_of(object) ? yyjson_mut_obj_get(meta_of(object), "managedFields") : NULL;
    yyjson_doc *copy =
        sent && str_empty(apply->request->subresource) ? yyjson_mut_val_imut_copy(sent, NULL) : NULL;
    yyjson_val *list = yyjson_doc_get_root(copy);
    bool taken =
        list && (is_reset(list) || (managed_read(&apply->managed, list) && apply->managed.entries.len));
    if (!taken)
        managed_read(&apply->managed, old);
    yyjson_doc_free(copy);
}

void apply_track(const struct apply_request *request, yyjson_val *live, yyjson_mut_doc *object)
{
    struct apply apply;
    begin(&apply, request, object, false);
    apply.new = yyjson_mut_doc_get_root(object);
    apply.live = live ? yyjson_val_mut_copy(object, live) : typed_zero(request->type, object);
    read_managed(&apply, live, apply.new);
    remove_managed(apply.new);
    remove_managed(apply.live);
    /* An object that has no entries stays without: its creator did not want any. */
    if (!live || apply.managed.entries.len) {
        compare(&apply);
        take_from_others(&apply, NULL);
        strip(&apply.changes);
        if (!field_set_empty(&apply.changes, FIELD_CHANGED)) {
            struct managed_entry *entry = managed_get(&apply.managed, &apply.self);
            field_set_add(entry->set, &apply.changes, FIELD_CHANGED, &apply.managed.arena);
            entry->time = request->now;
        }
        managed_prune(&apply.managed);
        managed_cap(&apply.managed, APPLY_UPDATERS_MAX);
    }
    set_managed(&apply, apply.new);
    end(&apply);
}

/* ---- apply ---- */

/* Removes what was applied last and is not now, unless another manager has it. `last` has all named fields. */
static void prune(struct apply *apply, const struct field_set *last)
{
    yyjson_mut_val *merged = apply->new;
    yyjson_mut_val *pruned = typed_remove(apply->type, apply->doc, merged, last);
    struct field_set owned = { 0 }, gone = { 0 }, left = { 0 };
    vec_for(&apply->managed.entries, entry)
        field_set_add(&owned, entry->set, FIELD_MEMBER, &apply->arena);
    typed_fill(apply->type, &owned);
    if (pruned)
        typed_fields(apply->type, pruned, &left, &apply->arena);
    typed_fill(apply->type, &left);
    typed_fields(apply->type, merged, &gone, &apply->arena);
    typed_fill(apply->type, &gone);
    field_set_subtract(&gone, &left, FIELD_MEMBER);
    field_set_subtract(&gone, &owned, FIELD_MEMBER);
    /* What nobody owns, and this manager did not own either, stays. */
    pruned = typed_remove(apply->type, apply->doc, merged, &gone);
    field_set_release(&left);
    left = (struct field_set){ 0 };
    if (pruned)
        typed_fields(apply->type, pruned, &left, &apply->arena);
    typed_fill(apply->type, &left);
    field_set_release(&gone);
    gone = (struct field_set){ 0 };
    typed_fields(apply->type, merged, &gone, &apply->arena);
    typed_fill(apply->type, &gone);
    field_set_subtract(&gone, &left, FIELD_MEMBER);
    field_set_intersect(&gone, last, FIELD_MEMBER);
    apply->new = typed_remove(apply->type, apply->doc, merged, &gone) ?: yyjson_mut_obj(apply->doc);
    field_set_release(&owned);
    field_set_release(&gone);
    field_set_release(&left);
}

struct listing {
    struct apply_result *result;
    struct str who;
};

static void add_conflict(void *user, struct str path)
{
    struct listing *listing = user;
    *vec_push(&listing->result->conflicts) =
        (struct apply_conflict){ .message = listing->who, .field = arena_str(&listing->result->arena, path) };
}

static struct str who_text(const struct managed_entry *entry, struct arena *arena)
{
    struct strbuf text = { 0 };
    strbuf_puts(&text, "conflict with ");
    quote_go(&text, entry->manager);
    if (entry->subresource.len) {
        strbuf_puts(&text, " with subresource ");
        quote_go(&text, entry->subresource);
    }
    if (!entry->applied)
        strbuf_printf(&text, " using " STR_FMT, STR_ARG(entry->api_version));
    struct str result = arena_str(arena, strbuf_slice(&text));
    strbuf_release(&text);
    return result;
}

static int compare_by_name(const void *a, const void *b)
{
    const struct managed_entry *x = a, *y = b;
    return str_cmp(x->manager, y->manager) ?: COMPARE(y->applied, x->applied);
}

/* Fields of others that change. `allowed` are not conflicts. */
static void find_conflicts(struct apply *apply, const struct managed_entry *self,
                           const struct field_set *allowed, struct apply_result *ret)
{
    struct field_set *own = self->set;
    vec_sort(&apply->managed.entries, compare_by_name);
    vec_for(&apply->managed.entries, entry) {
        if (entry->set == own)
            continue;
        struct field_set shared = { 0 };
        field_set_add(&shared, entry->set, FIELD_MEMBER, &apply->arena);
        field_set_intersect(&shared, &apply->changes, FIELD_CHANGED);
        if (allowed)
            field_set_subtract(&shared, allowed, FIELD_MEMBER);
        struct strbuf path = { 0 };
        struct listing listing = { ret, who_text(entry, &ret->arena) };
        if (!field_set_empty(&shared, FIELD_MEMBER))
            field_set_paths(&shared, &path, add_conflict, &listing);
        strbuf_release(&path);
        field_set_release(&shared);
    }
}

static int conflict_error(const struct apply_result *result, struct schema_error *err)
{
    struct strbuf text = { 0 };
    if (result->conflicts.len == 1)
        strbuf_printf(&text, "Apply failed with 1 conflict: " STR_FMT ": " STR_FMT,
                      STR_ARG(result->conflicts.items[0].message), STR_ARG(result->conflicts.items[0].field));
    else
        strbuf_printf(&text, "Apply failed with %zu conflicts: ", result->conflicts.len);
    for (size_t i = 0; result->conflicts.len > 1 && i < result->conflicts.len; i++) {
        const struct apply_conflict *one = &result->conflicts.items[i];
        struct str who = str_slice(one->message, sizeof("conflict") - 1, one->message.len);
        if (!i || one->message.ptr != one[-1].message.ptr)
            strbuf_printf(&text, "%sconflicts" STR_FMT ":", i ? "\n" : "", STR_ARG(who));
        strbuf_printf(&text, "\n- " STR_FMT, STR_ARG(one->field));
    }
    schema_error(err, 409, "Conflict", "%s", text.text);
    strbuf_release(&text);
    return -EINVAL;
}

/* kubectl that changes from client-side to server-side apply takes over what it applied before: the annotation has
 * it, and the object still has the same. */
static bool allowed_by_annotation(struct apply *apply, struct field_set *allowed)
{
    yyjson_mut_val *annotations =
        meta_of(apply->live) ? yyjson_mut_obj_get(meta_of(apply->live), "annotations") : NULL;
    yyjson_mut_val *text = annotations ? yyjson_mut_obj_get(annotations, LAST_APPLIED) : NULL;
    if (!str_is(apply->request->manager, "kubectl") || !yyjson_mut_is_str(text))
        return false;
    yyjson_doc *doc = yyjson_read(yyjson_mut_get_str(text), yyjson_mut_get_len(text), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool usable = yyjson_is_obj(root) && tree_depth_within(root, SCHEMA_DEPTH_MAX) &&
                  str_eq(doc_text(yyjson_obj_get(root, "apiVersion")), apply->self.api_version);
    if (usable) {
        yyjson_mut_val *last = yyjson_val_mut_copy(apply->doc, root);
        struct field_set differs = { 0 };
        typed_fields(apply->type, last, allowed, &apply->arena);
        typed_compare(apply->type, last, apply->live, &differs, &apply->arena);
        field_set_subtract(allowed, &differs, FIELD_CHANGED | FIELD_REMOVED);
        field_set_release(&differs);
    }
    yyjson_doc_free(doc);
    return usable;
}

/* kubectl of older releases, or with client-side apply, goes on from what was applied last. */
static void keep_annotation(struct apply *apply, yyjson_mut_val *applied)
{
    yyjson_mut_val *meta = meta_of(apply->new), *own = meta_of(applied);
    yyjson_mut_val *annotations = meta ? yyjson_mut_obj_get(meta, "annotations") : NULL;
    if (!str_is(apply->request->manager, "kubectl") || !annotations ||
        !yyjson_mut_obj_get(annotations, LAST_APPLIED))
        return;
    if (own && yyjson_mut_obj_get(own, "annotations"))
        yyjson_mut_obj_remove_key(yyjson_mut_obj_get(own, "annotations"), LAST_APPLIED);
    struct strbuf text = { 0 };
    tree_print_json(&text, applied);
    strbuf_putc(&text, '\n');
    if (text.len <= APPLY_ANNOTATION_MAX)
        yyjson_mut_obj_put(annotations, yyjson_mut_str(apply->doc, LAST_APPLIED),
                           yyjson_mut_strncpy(apply->doc, text.text, text.len));
    strbuf_release(&text);
}

static int check_applied(struct apply *apply, yyjson_mut_val *applied, struct schema_error *err)
{
    const struct apply_request *request = apply->request;
    yyjson_mut_val *meta = meta_of(applied);
    struct str version = mut_str(yyjson_mut_obj_get(applied, "apiVersion"));
    if (!str_eq(version, apply->self.api_version))
        return schema_error(err, 400, "BadRequest",
                            "Incorrect version specified in apply patch. Specified patch version: " STR_FMT
                            ", expected: " STR_FMT,
                            STR_ARG(version), STR_ARG(apply->self.api_version));
    yyjson_mut_val *managed = meta ? yyjson_mut_obj_get(meta, "managedFields") : NULL;
    if (managed && !yyjson_mut_is_null(managed))
        return schema_error(err, 400, "BadRequest", "metadata.managedFields must be nil");
    struct strbuf problems = { 0 };
    typed_validate(apply->type, applied, &problems);
    int r = 0;
    if (problems.len)
        r = schema_error(err, 500, "",
                         "failed to create typed patch object (" STR_FMT "/" STR_FMT "; " STR_FMT "/" STR_FMT
                         ", Kind=" STR_FMT "): %s",
                         STR_ARG(mut_str(meta ? yyjson_mut_obj_get(meta, "namespace") : NULL)),
                         STR_ARG(mut_str(meta ? yyjson_mut_obj_get(meta, "name") : NULL)),
                         STR_ARG(request->group), STR_ARG(request->version), STR_ARG(request->kind),
                         problems.text);
    strbuf_release(&problems);
    return r;
}

/* An object that was never applied: all that it has belongs to what came before. */
static void track_before_first(struct apply *apply)
{
    struct managed_entry before = apply->self;
    before.manager = STR("before-first-apply");
    before.applied = false;
    before.subresource = (struct str){ 0 };
    struct managed_entry *entry = managed_get(&apply->managed, &before);
    struct field_set all = { 0 };
    typed_compare(apply->type, typed_zero(apply->request->type, apply->doc), apply->live, &all,
                  &apply->arena);
    reset(apply->request, &all);
    strip(&all);
    field_set_add(entry->set, &all, FIELD_CHANGED, &apply->managed.arena);
    field_set_release(&all);
    managed_prune(&apply->managed);
}

/* Notes what is applied, and merges it. */
static void merge(struct apply *apply, yyjson_mut_val *applied)
{
    struct managed_entry *self = managed_get(&apply->managed, &apply->self);
    struct field_set *last = self->set;
    self->api_version = arena_str(&apply->managed.arena, apply->self.api_version);
    self->set = managed_new_set(&apply->managed);
    typed_fields(apply->type, applied, self->set, &apply->managed.arena);
    self->set->bits = 0;
    reset(apply->request, self->set);
    yyjson_mut_val *base = yyjson_mut_val_mut_copy(apply->doc, apply->live);
    apply->new = typed_merge(apply->type, apply->doc, base, yyjson_mut_val_mut_copy(apply->doc, applied));
    if (!apply->new)
        apply->new = yyjson_mut_obj(apply->doc);
    typed_fill(apply->type, last);
    if (!field_set_empty(last, FIELD_MEMBER))
        prune(apply, last);
    field_set_release(last);
}

static int resolve_conflicts(struct apply *apply, struct apply_result *ret, struct schema_error *err)
{
    struct managed_entry *self = managed_get(&apply->managed, &apply->self);
    if (!apply->request->force) {
        struct field_set allowed = { 0 };
        bool kubectl = allowed_by_annotation(apply, &allowed);
        find_conflicts(apply, self, kubectl ? &allowed : NULL, ret);
        field_set_release(&allowed);
        if (ret->conflicts.len)
            return conflict_error(ret, err);
    }
    take_from_others(apply, managed_get(&apply->managed, &apply->self));
    return 0;
}

int apply_merge(const struct apply_request *request, yyjson_val *live, yyjson_val *applied,
                struct apply_result *ret, struct schema_error *err)
{
    *ret = (struct apply_result){ 0 };
    if (!yyjson_is_obj(applied) || !tree_depth_within(applied, SCHEMA_DEPTH_MAX))
        return schema_error(err, 400, "BadRequest",
                            "error decoding patch: not an object, or nested too deeply");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct apply apply;
    begin(&apply, request, doc, true);
    yyjson_mut_val *patch = yyjson_val_mut_copy(doc, applied);
    tree_drop_duplicates(patch);
    managed_read(&apply.managed, yyjson_obj_get(yyjson_obj_get(live, "metadata"), "managedFields"));
    apply.live = live ? yyjson_val_mut_copy(doc, live) : typed_zero(request->type, doc);
    remove_managed(apply.live);
    int r = check_applied(&apply, patch, err);
    if (r == 0) {
        if (live && !apply.managed.entries.len)
            track_before_first(&apply);
        merge(&apply, patch);
        compare(&apply);
        r = resolve_conflicts(&apply, ret, err);
    }
    if (r == 0) {
        struct managed_entry *self = managed_get(&apply.managed, &apply.self);
        ret->unchanged = live && tree_equal(apply.live, apply.new);
        if (!ret->unchanged)
            self->time = request->now;
        strip(self->set);
        keep_annotation(&apply, patch);
        set_managed(&apply, apply.new);
        yyjson_mut_doc_set_root(doc, apply.new);
        ret->doc = doc;
    } else
        yyjson_mut_doc_free(doc);
    end(&apply);
    return r;
}

void apply_result_release(struct apply_result *result)
{
    vec_release(&result->conflicts);
    arena_release(&result->arena);
}
