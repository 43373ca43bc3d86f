/* nodes_file.c: templates of nodes and of what belongs to them; see nodes_file.h.
 *
 * Everything that can be wrong is found while the file is read, with its place there; what the registry refuses later
 * is reported at the beginning of its template. Fields that are not the manifest's own (`count`, `zones`) are those of
 * the table below. */
#include "apiserver/nodes_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/object.h"
#include "apiserver/bootstrap.h"
#include "apiserver/tree.h"
#include "base/map.h"
#include "input/documents.h"
#include "schema/check.h"

enum { COUNT_MAX = 100000 };

#define ZONE_LABEL "topology.kubernetes.io/zone"

struct template
{
    const struct template_kind *kind;
    const struct doc *doc;
    yyjson_val *val;
    size_t count, first; /* numbers in the file, for addresses, begin at `first` */
    bool is_numbered;    /* has a count, or belongs to a Node that has one: {} and {zone} are filled in */
    yyjson_val *zones;
    const struct template *node; /* the template of the nodes that it belongs to; NULL: none */
};

struct nodes_file {
    struct documents documents;
    struct arena arena;
    VEC(struct template *) templates;
};

/* ---- kinds ---- */
static void complete_node(yyjson_mut_doc *doc, struct str zone, size_t number);
static void complete_slice(yyjson_mut_doc *doc, struct str zone, size_t number);

static const struct template_kind {
    const char *group, *kind, *plural;
    enum api_kind decoded;
    bool counts;           /* may have a count of its own */
    const char *node_path; /* of the name of the node that it belongs to; NULL: none */
    void (*complete)(yyjson_mut_doc *doc, struct str zone, size_t number);
} kinds[] = {
    { "", "Node", "nodes", KIND_NODE, true, NULL, complete_node },
    { "resource.k8s.io", "ResourceSlice", "resourceslices", KIND_RESOURCE_SLICE, true, "spec.nodeName",
      complete_slice },
    { "resource.k8s.io", "DeviceClass", "deviceclasses", KIND_DEVICE_CLASS, false, NULL, NULL },
    { "storage.k8s.io", "CSINode", "csinodes", KIND_CSI_NODE, false, "metadata.name", NULL },
};
static const struct template_kind *const kind_node = &kinds[0];

static const struct api_resource *resource_of(const struct template_kind *kind)
{
    return resource_named(kind->group, kind->plural);
}

static const struct template_kind *kind_of(struct str version, struct str kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        _cleanup_(strbuf_release) struct strbuf own = { 0 };
        resource_write_version(resource_of(&kinds[i]), &own);
        if (str_is(kind, kinds[i].kind) && str_eq(version, strbuf_slice(&own)))
            return &kinds[i];
    }
    return NULL;
}

/* ---- checks ---- */
/* The value at a path such as "spec.devices[0].foo", or the nearest one on the way to it. */
static yyjson_val *nearest(yyjson_val *val, struct str path)
{
    while (path.len) {
        struct str step = str_cut(&path, '.');
        struct str index = step, key = str_cut(&index, '[');
        int64_t number;
        yyjson_val *next = yyjson_obj_getn(val, key.ptr, key.len);
        if (next && index.len && str_to_int64(str_slice(index, 0, index.len - 1), &number) && number >= 0)
            next = yyjson_arr_get(next, (size_t)number);
        if (!next)
            break;
        val = next;
    }
    return val;
}

/* Is it a field of templates? */
static bool is_own_field(struct str path)
{
    return str_is(path, "count") || str_is(path, "zones") ||
           (str_starts_with(path, STR("spec.devices[")) && str_ends_with(path, STR("].count")));
}

static int check_problem(const struct template *template, struct str text, struct error *err)
{
    struct str rest = text, what = str_cut(&rest, '"');
    struct str path = str_cut(&rest, '"');
    bool is_unknown = str_starts_with(what, STR("unknown"));
    if (is_unknown && is_own_field(path))
        return 0;
    return doc_error(template->doc, nearest(template->val, path), -EINVAL, err,
                     is_unknown ? STR_FMT ": expected a field of a %s, which has none of this name"
                                : STR_FMT ": expected it once in a %s, found it twice",
                     STR_ARG(path), template->kind->kind);
}

/* Fields of the kind, with values of the right types. */
static int check_fields(struct nodes_file *file, const struct template *template, struct error *err)
{
    const struct api_resource *resource = resource_of(template->kind);
    struct object object;
    int r =
        object_decode_as(template->doc, template->val, template->kind->decoded, &file->arena, &object, err);
    if (r < 0)
        return r;
    struct schema_problems problems = { 0 };
    schema_check(schema_of(resource->group, resource->version, resource->kind), template->val, SCHEMA_DECODED,
                 &problems);
    vec_for(&problems.strict, text)
        if (r == 0)
            r = check_problem(template, *text, err);
    if (r == 0 && problems.wrong.len)
        r = doc_error(template->doc, template->val, -EINVAL, err, STR_FMT, STR_ARG(problems.wrong));
    schema_problems_release(&problems);
    return r;
}

static int read_number(const struct doc *doc, yyjson_val *val, const char *field, size_t *ret,
                       struct error *err)
{
    if (yyjson_is_uint(val) && yyjson_get_uint(val) <= COUNT_MAX) {
        *ret = (size_t)yyjson_get_uint(val);
        return 0;
    }
    if (yyjson_is_int(val))
        return doc_error(doc, val, -ERANGE, err, "%s: expected a number from 0 to %d, got %lld", field,
                         COUNT_MAX, (long long)yyjson_get_sint(val));
    return doc_error(doc, val, -EINVAL, err, "%s: expected a whole number, got a %s", field,
                     doc_type_name(val));
}

static int read_zones(struct template *template, struct error *err)
{
    yyjson_val *zones = yyjson_obj_get(template->val, "zones"), *zone;
    size_t i, max;
    if (!zones)
        return 0;
    if (template->kind != kind_node)
        return doc_error(template->doc, zones, -EINVAL, err,
                         "zones: expected them at a Node only; a %s is in the zone of its node",
                         template->kind->kind);
    if (!yyjson_is_arr(zones) || !yyjson_arr_size(zones))
        return doc_error(template->doc, zones, -EINVAL, err,
                         "zones: expected a list of names such as [zone-a, zone-b]");
    yyjson_arr_foreach(zones, i, max, zone) {
        if (!doc_text(zone).len)
            return doc_error(template->doc, zone, -EINVAL, err, "zones[%zu]: expected a name, got a %s", i,
                             doc_type_name(zone));
    }
    template->zones = zones;
    template->is_numbered = true;
    return 0;
}

static int read_count(struct template *template, struct error *err)
{
    yyjson_val *count = yyjson_obj_get(template->val, "count");
    template->count = 1;
    if (!count)
        return 0;
    if (!template->kind->counts)
        return doc_error(template->doc, count, -EINVAL, err, "count: expected none at a %s",
                         template->kind->kind);
    template->is_numbered = true;
    return read_number(template->doc, count, "count", &template->count, err);
}

static bool has_number(struct str text)
{
    return text.len && memmem(text.ptr, text.len, "{}", 2);
}

/* Names of several objects have to differ. */
static int check_name(const struct template *template, struct error *err)
{
    yyjson_val *val = tree_at(template->val, "metadata.name");
    struct str name = doc_text(val);
    bool is_slice = template->kind->decoded == KIND_RESOURCE_SLICE; /* which gets a name from its node */
    if (!name.len && !is_slice)
        return doc_error(template->doc, val ? val : template->val, -EINVAL, err,
                         "metadata.name: expected a name%s",
                         template->count > 1 ? " with {}, such as node-{}" : "");
    if (template->count > 1 && !has_number(name) && (name.len || !template->node))
        return doc_error(template->doc, val ? val : template->val, -EINVAL, err,
                         "metadata.name: expected {} in it, for the number of each %s, such as \"" STR_FMT
                         "-{}\"",
                         template->kind->kind, STR_ARG(name.len ? name : STR("slice")));
    return 0;
}

static int check_devices(const struct template *template, struct error *err)
{
    yyjson_val *devices = tree_at(template->val, "spec.devices"), *device;
    size_t i, max, count;
    if (!yyjson_is_arr(devices))
        return 0;
    yyjson_arr_foreach(devices, i, max, device) {
        yyjson_val *val = yyjson_obj_get(device, "count");
        char field[64];
        snprintf(field, sizeof(field), "spec.devices[%zu].count", i);
        int r = val ? read_number(template->doc, val, field, &count, err) : 0;
        if (r < 0)
            return r;
        if (val && count > 1 && !has_number(tree_text(device, "name")))
            return doc_error(template->doc, yyjson_obj_get(device, "name"), -EINVAL, err,
                             "spec.devices[%zu].name: expected {} in it, for the number of each device, such "
                             "as gpu-{}",
                             i);
    }
    return 0;
}

static int read_template(void *user, const struct doc *doc, yyjson_val *val, struct str kind,
                         struct str version, struct error *err)
{
    struct nodes_file *file = user;
    struct template *template = arena_alloc(&file->arena, sizeof(*template));
    *template = (struct template){ .kind = kind_of(version, kind), .doc = doc, .val = val };
    if (!template->kind)
        return doc_error(doc, yyjson_obj_get(val, "kind"), -EINVAL, err,
                         "kind: expected a v1 Node, a resource.k8s.io/v1 ResourceSlice or DeviceClass, or a "
                         "storage.k8s.io/v1 CSINode, got a " STR_FMT "%s" STR_FMT,
                         STR_ARG(version), version.len ? " " : "", STR_ARG(kind));
    int r = read_count(template, err);
    if (r == 0)
        r = read_zones(template, err);
    if (r == 0)
        r = check_fields(file, template, err);
    if (r == 0)
        r = check_devices(template, err);
    if (r == 0)
        *vec_push(&file->templates) = template;
    return r;
}

/* Finds the templates of the nodes that others belong to, which may stand anywhere in the file. */
static int join_node(const struct nodes_file *file, struct template *template, struct error *err)
{
    const char *path = template->kind->node_path;
    yyjson_val *val = path ? tree_at(template->val, path) : NULL;
    vec_for(&file->templates, other)
        if (val && (*other)->kind == kind_node &&
            str_eq(tree_text((*other)->val, "metadata.name"), doc_text(val)))
            template->node = *other;
    if (template->node) {
        if (yyjson_obj_get(template->val, "count"))
            return doc_error(template->doc, yyjson_obj_get(template->val, "count"), -EINVAL, err,
                             "count: expected none at a %s of a node: there is one for each node",
                             template->kind->kind);
        template->count = template->node->count;
        template->zones = template->node->zones;
        template->is_numbered = template->node->is_numbered;
    } else if (val && has_number(doc_text(val)) && template->count <= 1) {
        return doc_error(template->doc, val, -EINVAL, err,
                         "%s: expected the metadata.name of a Node of this file, got \"" STR_FMT "\"", path,
                         STR_ARG(doc_text(val)));
    }
    return check_name(template, err);
}

/* ---- filling in ---- */
struct values {
    size_t number;
    struct str zone;
    bool has_number, has_zone;
};

static struct str filled(yyjson_mut_doc *doc, struct str text, const struct values *values)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    for (uint32_t i = 0; i < text.len;) {
        struct str rest = str_slice(text, i, text.len);
        if (values->has_number && str_starts_with(rest, STR("{}"))) {
            strbuf_printf(&out, "%zu", values->number);
            i += 2;
        } else if (values->has_zone && str_starts_with(rest, STR("{zone}"))) {
            strbuf_str(&out, values->zone);
            i += 6;
        } else {
            strbuf_putc(&out, text.ptr[i++]);
        }
    }
    return tree_mut_str(tree_mut_new_str(doc, strbuf_slice(&out)));
}

static void fill(yyjson_mut_doc *doc, yyjson_mut_val *val, const struct values *values)
{
    yyjson_mut_val *key, *item;
    size_t i, max;
    if (yyjson_mut_is_str(val) && strchr(yyjson_mut_get_str(val), '{')) {
        struct str text = filled(doc, tree_mut_str(val), values);
        yyjson_mut_set_strn(val, text.ptr, text.len);
    } else if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_foreach(val, i, max, item) fill(doc, item, values);
    } else if (yyjson_mut_is_obj(val)) {
        yyjson_mut_obj_foreach(val, i, max, key, item) fill(doc, item, values);
    }
}

/* Devices with a count become that many. It comes before the number of the node is filled in: in such a device, {} is
 * the number of the device. */
static void expand_devices(yyjson_mut_doc *doc)
{
    yyjson_mut_val *spec = tree_mut_at(yyjson_mut_doc_get_root(doc), "spec");
    yyjson_mut_val *devices = yyjson_mut_obj_get(spec, "devices"), *device;
    yyjson_mut_val *all = yyjson_mut_arr(doc);
    size_t i, max;
    if (!yyjson_mut_is_arr(devices))
        return;
    yyjson_mut_arr_foreach(devices, i, max, device)
    {
        yyjson_mut_val *count = yyjson_mut_obj_get(device, "count");
        size_t many = count ? (size_t)yyjson_mut_get_uint(count) : 1;
        tree_mut_remove(device, "count");
        for (size_t number = 0; number < many; number++) {
            yyjson_mut_val *one = yyjson_mut_val_mut_copy(doc, device);
            if (count)
                fill(doc, one, &(struct values){ .number = number, .has_number = true });
            yyjson_mut_arr_append(all, one);
        }
    }
    tree_mut_put(doc, spec, STR("devices"), all);
}

/* ---- what a manifest may leave out ---- */
static void put_absent(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, struct str text)
{
    if (!yyjson_mut_obj_get(object, key))
        tree_mut_put_str(doc, object, key, text);
}

static void copy_amounts(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *to, const char *from)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(status, from);
    if (val && !yyjson_mut_obj_get(status, to))
        tree_mut_put(doc, status, str_from(to), yyjson_mut_val_mut_copy(doc, val));
}

static void complete_node(yyjson_mut_doc *doc, struct str zone, size_t number)
{
    yyjson_mut_val *node = yyjson_mut_doc_get_root(doc), *meta = tree_mut_make(doc, node, "metadata");
    yyjson_mut_val *labels = tree_mut_make(doc, meta, "labels"), *status = tree_mut_make(doc, node, "status");
    struct str name = tree_mut_text(meta, "name");
    put_absent(doc, labels, "kubernetes.io/hostname", name);
    put_absent(doc, labels, "kubernetes.io/os", STR("linux"));
    put_absent(doc, labels, "kubernetes.io/arch", STR("amd64"));
    if (zone.len)
        put_absent(doc, labels, ZONE_LABEL, zone);
    copy_amounts(doc, status, "allocatable", "capacity");
    copy_amounts(doc, status, "capacity", "allocatable");
    static const char *const amounts[] = { "capacity", "allocatable" };
    for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
        yyjson_mut_val *list = tree_mut_make(doc, status, amounts[i]);
        bool is_empty = !yyjson_mut_obj_size(list);
        put_absent(doc, list, "pods", STR("110"));
        if (is_empty) {
            tree_mut_put_str(doc, list, "cpu", STR("16"));
            tree_mut_put_str(doc, list, "memory", STR("64Gi"));
            tree_mut_put_str(doc, list, "ephemeral-storage", STR("100Gi"));
        }
    }
    bootstrap_complete_node(doc, number);
}

/* A driver's slice of one node names the pool after the node. */
static void complete_slice(yyjson_mut_doc *doc, struct str zone _unused_, size_t number _unused_)
{
    yyjson_mut_val *slice = yyjson_mut_doc_get_root(doc), *spec = tree_mut_make(doc, slice, "spec");
    yyjson_mut_val *pool = tree_mut_make(doc, spec, "pool"), *meta = tree_mut_make(doc, slice, "metadata");
    struct str node = tree_mut_text(spec, "nodeName"), driver = tree_mut_text(spec, "driver");
    if (node.len) {
        _cleanup_(strbuf_release) struct strbuf name = { 0 };
        strbuf_printf(&name, STR_FMT "-" STR_FMT, STR_ARG(node), STR_ARG(driver));
        put_absent(doc, meta, "name", strbuf_slice(&name));
        put_absent(doc, pool, "name", node);
    }
    if (!yyjson_mut_obj_get(pool, "resourceSliceCount"))
        tree_mut_put_int(doc, pool, "resourceSliceCount", 1);
    if (!yyjson_mut_obj_get(pool, "generation"))
        tree_mut_put_int(doc, pool, "generation", 1);
}

/* What belongs to a node goes with it. */
static void put_owner(yyjson_mut_doc *doc, struct registry *registry, struct str node)
{
    const struct stored *owner =
        store_get(registry_store(registry), resource_of(kind_node)->storage, STR(""), node);
    yyjson_mut_val *meta = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "metadata");
    if (!owner || yyjson_mut_obj_get(meta, "ownerReferences"))
        return;
    yyjson_mut_val *list = yyjson_mut_arr(doc), *reference = yyjson_mut_arr_add_obj(doc, list);
    tree_mut_put_str(doc, reference, "apiVersion", STR("v1"));
    tree_mut_put_str(doc, reference, "kind", STR("Node"));
    tree_mut_put_str(doc, reference, "name", node);
    tree_mut_put_str(doc, reference, "uid", owner->uid);
    yyjson_mut_obj_add_bool(doc, reference, "controller", true);
    tree_mut_put(doc, meta, STR("ownerReferences"), list);
}

/* ---- objects ---- */
static yyjson_mut_doc *object_of(const struct template *template, size_t number)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_val_mut_copy(doc, template->val);
    struct values values = { .number = number, .has_number = template->is_numbered };
    if (template->zones) {
        values.zone = doc_text(yyjson_arr_get(template->zones, number % yyjson_arr_size(template->zones)));
        values.has_zone = true;
    }
    yyjson_mut_doc_set_root(doc, object);
    tree_mut_remove(object, "count");
    tree_mut_remove(object, "zones");
    expand_devices(doc);
    if (template->is_numbered)
        fill(doc, object, &values);
    if (template->kind->complete)
        template->kind->complete(doc, values.zone, template->first + number);
    return doc;
}

static struct str name_of(yyjson_mut_doc *doc)
{
    return tree_mut_text(yyjson_mut_doc_get_root(doc), "metadata.name");
}

/* Does any name come twice? */
static int check_names(struct nodes_file *file, struct error *err)
{
    struct strmap names = { 0 };
    int r = 0;
    vec_for(&file->templates, template)
        for (size_t i = 0; i < (*template)->count && r == 0; i++) {
            yyjson_mut_doc *doc = object_of(*template, i);
            struct str key =
                arena_printf(&file->arena, "%s " STR_FMT, (*template)->kind->kind, STR_ARG(name_of(doc)));
            if (strmap_put(&names, key, *template))
                r = doc_error(
                    (*template)->doc, tree_at((*template)->val, "metadata.name") ?: (*template)->val, -EEXIST,
                    err, "metadata.name: expected another name for each object, but " STR_FMT " comes twice",
                    STR_ARG(key));
            yyjson_mut_doc_free(doc);
        }
    strmap_release(&names);
    return r;
}

int nodes_file_read(const char *path, struct nodes_file **ret, struct error *err)
{
    struct nodes_file *file = xcalloc(1, sizeof(*file));
    file->documents = (struct documents){ .visit = read_template, .user = file, .keeps_docs = true };
    int r = documents_read(&file->documents, path, err);
    if (r == 0 && !file->templates.len)
        r = error_at(err, -EINVAL, path, 0, 0, "expected at least one Node, found nothing");
    size_t first = 0;
    vec_for(&file->templates, template) {
        (*template)->first = first;
        first += (*template)->count;
        if (r == 0)
            r = join_node(file, *template, err);
    }
    if (r == 0)
        r = check_names(file, err);
    if (r < 0) {
        nodes_file_free(file);
        return r;
    }
    *ret = file;
    return 0;
}

static int create(const struct template *template, struct registry *registry, size_t number,
                  struct error *err)
{
    struct api_error failure = { 0 };
    struct registry_result result = { 0 };
    yyjson_mut_doc *doc = object_of(template, number);
    if (template->node)
        put_owner(doc, registry, tree_mut_text(yyjson_mut_doc_get_root(doc), template->kind->node_path));
    /* As an import, so that a node of `kubectl get nodes -o yaml` is taken as well. */
    int r = registry_create(registry, resource_of(template->kind), STR(""), doc,
                            &(struct write_options){ .is_imported = true }, &result, &failure);
    if (r == -409)
        r = 0;
    if (r < 0)
        r = doc_error(template->doc, template->val, -EINVAL, err, STR_FMT, STR_ARG(failure.message));
    registry_result_release(&result);
    api_error_release(&failure);
    yyjson_mut_doc_free(doc);
    return r;
}

/* Nodes first: others name them as owners. */
int nodes_file_create(const struct nodes_file *file, struct registry *registry, struct error *err)
{
    int r = 0;
    for (int with_node = 0; with_node < 2; with_node++)
        vec_for(&file->templates, template)
            for (size_t i = 0; i < (*template)->count && r == 0; i++)
                if (!(*template)->node == !with_node)
                    r = create(*template, registry, i, err);
    return r;
}

void nodes_file_free(struct nodes_file *file)
{
    if (!file)
        return;
    vec_release(&file->templates);
    documents_release(&file->documents);
    arena_release(&file->arena);
    free(file);
}
