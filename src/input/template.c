/* template.c: which objects the words name; see template.h. */
#include "input/template.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/fields.h"
#include "input/pod_kinds.h"

enum { SHARE_MAX = 1000 };

static void add(struct templates *templates, enum api_kind kind, const struct meta *object, uint32_t share,
                bool is_new)
{
    *vec_push(&templates->items) = (struct template){ kind, object, share, is_new };
}

/* ---- files ---- */
/* The controllers of pods that scheduling looks up. They make no pods of their own. */
static void join(struct load *load, enum api_kind kind, struct meta *object)
{
    if (kind == KIND_DEPLOYMENT || kind == KIND_REPLICA_SET || kind == KIND_STATEFUL_SET)
        ((struct workload *)object)->spec.replicas = (struct opt_int32){ true, 0 };
    else if (kind == KIND_REPLICATION_CONTROLLER)
        ((struct replication_controller *)object)->replicas = (struct opt_int32){ true, 0 };
    else if (kind_has_pods(kind))
        return;
    load_add(load, kind, object);
}

static bool is_written(const struct load *load, const struct meta *object)
{
    vec_for(&load->written, written)
        if (*written == object)
            return true;
    return false;
}

static int read_file(struct templates *templates, const char *path, uint32_t share, bool is_strict,
                     struct load *into, struct error *err)
{
    struct load *load = xcalloc(1, sizeof(*load));
    size_t before = templates->items.len;
    *vec_push(&templates->files) = load;
    int r = load_path(load, path, err);
    if (r == 0 && is_strict)
        r = load_refuse_unknown(load, err);
    if (r < 0)
        return r;
    load_warn(load);
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        vec_for(&load->objects[kind], object) {
            if (kind_has_pods((enum api_kind)kind))
                add(templates, (enum api_kind)kind, *object, share, is_written(load, *object));
            join(into, (enum api_kind)kind, *object);
        }
    vec_for(&load->written, object)
        *vec_push(&into->written) = *object;
    if (templates->items.len == before)
        return error_at(err, -EINVAL, path, 0, 0, "has no Pod and no workload to copy");
    return 0;
}

/* ---- objects of the input ---- */
/* The name may be known in another namespace. */
static int not_found(const struct load *load, enum api_kind kind, struct str namespace, struct str name,
                     struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf hint = { 0 };
    vec_for(&load->objects[kind], other)
        if (str_eq((*other)->name, name) && !hint.len)
            strbuf_printf(&hint, "; did you mean %s/" META_FMT "?", pod_kind_word(kind), META_ARG(*other));
    return error_set(err, -ENOENT, "there is no " STR_FMT " " STR_FMT "/" STR_FMT " in the input%s",
                     STR_ARG(api_kinds[kind].kind), STR_ARG(namespace), STR_ARG(name), hint.text ?: "");
}

static int find(struct templates *templates, struct str word, uint32_t share, const struct load *load,
                struct error *err)
{
    struct str name = word, kind_word = str_cut(&name, '/');
    enum api_kind kind = pod_kind_named(kind_word);
    struct str ns = STR("default");
    bool is_named = kind != KIND_UNKNOWN && !str_empty(name);
    if (!is_named) { /* a pod, as `explain` takes it */
        kind = KIND_POD;
        name = word;
    }
    if (str_find(name, '/') >= 0)
        ns = str_cut(&name, '/');
    const struct meta *object = load_find(load, kind, ns, name);
    if (!object && !is_named)
        return error_set(err, -EINVAL,
                         "\"" STR_FMT "\" is neither a file nor an object of the input, which is named as "
                         "KIND/NAMESPACE/NAME, such as deploy/shop/web",
                         STR_ARG(word));
    if (!object)
        return not_found(load, kind, ns, name, err);
    add(templates, kind, object, share, false);
    return 0;
}

/* ---- all of them ---- */
/* "3=deploy/shop/web": the number before the equals sign. */
static int cut_share(struct str *word, uint32_t *ret, struct error *err)
{
    struct str rest = *word, number;
    int64_t share = 1;
    size_t digits = 0;
    while (digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9')
        digits++;
    if (digits && digits < rest.len && rest.ptr[digits] == '=') {
        number = str_cut(&rest, '=');
        if (!str_to_int64(number, &share) || share < 1 || share > SHARE_MAX)
            return error_set(err, -EINVAL, "\"" STR_FMT "\": expected a number of copies from 1 to %d",
                             STR_ARG(*word), SHARE_MAX);
        *word = rest;
    }
    *ret = (uint32_t)share;
    return 0;
}

int templates_read(struct templates *templates, const char *const *words, size_t len, bool is_strict,
                   struct load *load, struct error *err)
{
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++) {
        struct str word = str_from(words[i]);
        uint32_t share = 1;
        r = cut_share(&word, &share, err);
        if (r < 0)
            break;
        bool is_file = str_is(word, "-") || access(word.ptr, F_OK) == 0 ||
                       str_ends_with(word, STR(".yaml")) || str_ends_with(word, STR(".yml")) ||
                       str_ends_with(word, STR(".json"));
        r = is_file ? read_file(templates, word.ptr, share, is_strict, load, err)
                    : find(templates, word, share, load, err);
    }
    return r;
}

void templates_release(struct templates *templates)
{
    vec_for(&templates->files, load) {
        load_release(*load);
        free(*load);
    }
    vec_release(&templates->files);
    vec_release(&templates->items);
}

/* ---- copies ---- */
/* As the API server would get it again: without a node, and without what has happened to it. */
static const struct pod *copy_pod(const struct template *template, struct expansion *expansion)
{
    const struct pod *original = (const struct pod *)template->object;
    struct pod_factory *factory = &expansion->factory;
    struct pod pod = *original;
    pod.meta.creation_time = pod.meta.deletion_time = (struct opt_time){ 0 };
    pod.spec.node_name = (struct str){ 0 };
    pod.status = (struct pod_status){ .phase = STR("Pending") };
    if (template->is_new)
        admission_admit(&factory->admission, &pod, &factory->arena);
    struct owner *names = owners_get(&expansion->owners, KIND_POD, pod.meta.namespace, pod.meta.name);
    struct str prefix = arena_printf(&factory->arena, STR_FMT "-", STR_ARG(pod.meta.name));
    return factory_finish(factory, &pod, factory_name(factory, pod.meta.namespace, prefix, names));
}

const struct pod *template_copy(const struct template *template, struct expansion *expansion)
{
    if (template->kind == KIND_POD)
        return copy_pod(template, expansion);
    return expansion_copy(expansion, template->kind, template->object);
}
