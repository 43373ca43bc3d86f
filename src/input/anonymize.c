/* anonymize.c: two passes over all objects: what there is to replace, then the encoding; see anonymize.h.
 *
 * Both passes go through text_of(), so that the second finds what the first has seen. */
#include "input/anonymize.h"

#include <stdlib.h>

#include "api/image_name.h"

#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/" /* of a resource that a class stands for */
enum { ORDINALS_MAX = 1000 };

/* ---- aliases ---- */

/* What replaces a text; in the first pass it is only registered. NULL: the text stays. */
static struct alias *alias_of(struct anonymizer *anonymizer, struct str text)
{
    struct alias *alias = strmap_get(&anonymizer->aliases, text);
    if (alias || anonymizer->sealed || !text.len || is_own_word(&anonymizer->known, text))
        return alias;
    alias = arena_new(&anonymizer->arena, struct alias);
    alias->text = arena_str(&anonymizer->arena, text);
    strmap_put(&anonymizer->aliases, alias->text, alias);
    *vec_push(&anonymizer->all) = alias;
    return alias;
}

/* What was not seen in the first pass is no name that anything else refers to, but a name. */
static struct str shown(struct anonymizer *anonymizer, struct str text)
{
    const struct alias *alias = alias_of(anonymizer, text);
    if (alias)
        return alias->shown;
    return !anonymizer->sealed || !text.len || is_own_word(&anonymizer->known, text) ? text : STR("x");
}

static int by_text(const void *a, const void *b)
{
    return str_cmp((*(struct alias *const *)a)->text, (*(struct alias *const *)b)->text);
}

static struct str put_together(struct anonymizer *anonymizer, struct alias *alias)
{
    if (alias->shown.len || !alias->head)
        return alias->shown;
    struct str head = put_together(anonymizer, alias->head);
    struct str tail = alias->tail ? put_together(anonymizer, alias->tail) : alias->ordinal;
    alias->shown = arena_printf(&anonymizer->arena, STR_FMT "-" STR_FMT, STR_ARG(head), STR_ARG(tail));
    return alias->shown;
}

/* Numbers of the same width in the order of the texts. */
static void seal(struct anonymizer *anonymizer)
{
    int width = 1;
    for (size_t most = anonymizer->all.len; most >= 10; most /= 10)
        width++;
    vec_sort(&anonymizer->all, by_text);
    for (size_t i = 0; i < anonymizer->all.len; i++) {
        struct alias *alias = anonymizer->all.items[i];
        if (alias->head)
            continue;
        /* the API calls a disk of EC2 by no other name */
        const char *before = str_starts_with(alias->text, STR("vol-")) ? "vol-" : "";
        alias->shown = arena_printf(&anonymizer->arena, "%sx%0*zu%s", before, width, i + 1,
                                    alias->is_domain ? ".example" : "");
    }
    vec_for(&anonymizer->all, alias)
        put_together(anonymizer, *alias);
    anonymizer->sealed = true;
}

/* A name that a controller makes from two others, or from one and a number. */
static void register_made(struct anonymizer *anonymizer, struct str text, struct str head, struct str tail,
                          struct str ordinal)
{
    struct alias *made = alias_of(anonymizer, text), *first = alias_of(anonymizer, head);
    struct alias *second = tail.len ? alias_of(anonymizer, tail) : NULL;
    if (!made || made->head || !first || (!second && tail.len) || first == made || second == made)
        return;
    made->head = first;
    made->tail = second;
    made->ordinal = arena_str(&anonymizer->arena, ordinal);
}

/* ---- kinds of texts ---- */

static struct str image(struct anonymizer *anonymizer, struct str text)
{
    struct alias *known = strmap_get(&anonymizer->images, text);
    if (known)
        return known->shown;
    struct arena scratch = { 0 };
    struct str name = shown(anonymizer, image_name_normalize(text, &scratch));
    arena_release(&scratch);
    if (!anonymizer->sealed || !text.len)
        return text;
    known = arena_new(&anonymizer->arena, struct alias);
    known->text = arena_str(&anonymizer->arena, text);
    known->shown = arena_printf(&anonymizer->arena, STR_FMT ":x", STR_ARG(name));
    strmap_put(&anonymizer->images, known->text, known);
    return known->shown;
}

/* Texts with `between` between them, each for itself. */
static struct str each_part(struct anonymizer *anonymizer, struct str text, struct str between)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    size_t from = 0;
    for (size_t at = 0; at <= text.len; at++) {
        bool ends = at == text.len;
        if (!ends && !str_starts_with(str_slice(text, at, text.len), between))
            continue;
        strbuf_str(&out, shown(anonymizer, str_slice(text, from, at)));
        if (ends)
            break;
        strbuf_str(&out, between);
        at += between.len - 1;
        from = at + 1;
    }
    return arena_str(&anonymizer->arena, strbuf_slice(&out));
}

static struct str path(struct anonymizer *anonymizer, struct str text)
{
    return str_find(text, '/') < 0 ? shown(anonymizer, text) : each_part(anonymizer, text, STR("/"));
}

static bool is_number(struct str text)
{
    int64_t number;
    return str_to_int64(text, &number);
}

/* Values of a key that some selector compares keep their numbers; a volume's zones may be several. */
static struct str value(struct anonymizer *anonymizer, struct str text)
{
    if (!text.len || (is_number(text) && strmap_get(&anonymizer->compared, anonymizer->key)))
        return text;
    bool is_place =
        str_ends_with(anonymizer->key, STR("/zone")) || str_ends_with(anonymizer->key, STR("/region"));
    return is_place && str_contains(text, STR("__")) ? each_part(anonymizer, text, STR("__"))
                                                     : shown(anonymizer, text);
}

static struct str driver(struct anonymizer *anonymizer, struct str text)
{
    struct alias *alias = anonymizer->sealed ? NULL : alias_of(anonymizer, text);
    if (alias)
        alias->is_domain = true;
    return shown(anonymizer, text);
}

/* "domain/name": expressions name both, and domains are distinguishable from other words in them. */
static struct str attribute(struct anonymizer *anonymizer, struct str text)
{
    ptrdiff_t slash = str_find(text, '/');
    if (!anonymizer->sealed && !strmap_get(&anonymizer->of_device, text))
        strmap_put(&anonymizer->of_device, arena_str(&anonymizer->arena, text), anonymizer);
    struct str domain = str_slice(text, 0, slash < 0 ? 0 : (size_t)slash);
    if (!domain.len || str_ends_with(domain, STR("kubernetes.io")))
        return text;
    return arena_printf(&anonymizer->arena, STR_FMT STR_FMT, STR_ARG(driver(anonymizer, domain)),
                        STR_ARG(str_slice(text, (size_t)slash, text.len)));
}

static struct str resource(struct anonymizer *anonymizer, struct str text)
{
    struct str prefix = STR(DEVICE_CLASS_PREFIX);
    if (is_own_resource(text))
        return text;
    if (str_starts_with(text, prefix))
        return arena_printf(&anonymizer->arena, STR_FMT STR_FMT, STR_ARG(prefix),
                            STR_ARG(shown(anonymizer, str_slice(text, prefix.len, text.len))));
    if (anonymizer->sealed && strmap_get(&anonymizer->of_device, text))
        return attribute(anonymizer, text);
    return arena_printf(&anonymizer->arena, "example.com/" STR_FMT, STR_ARG(shown(anonymizer, text)));
}

static bool is_in_domain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* Every word that is the domain of a driver. */
static struct str expression(struct anonymizer *anonymizer, struct str text)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    anonymizer->has_expressions |= text.len > 0;
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && is_in_domain(text.ptr[end]))
            end++;
        struct str word = str_slice(text, at, end > at ? end : at + 1);
        const struct alias *alias = strmap_get(&anonymizer->aliases, word);
        strbuf_str(&out, alias && alias->is_domain ? alias->shown : word);
        at += word.len;
    }
    return arena_str(&anonymizer->arena, strbuf_slice(&out));
}

/* ---- texts ---- */

/* What replaces a text of a kind; NULL: it stays, or is dropped. */
static struct str (*const replacements[])(struct anonymizer *anonymizer, struct str text) = {
    [TEXT_NAME] = shown,          [TEXT_KEY] = shown,
    [TEXT_VALUE] = value,         [TEXT_PAIRS] = value,
    [TEXT_DRIVER] = driver,       [TEXT_IMAGE] = image,
    [TEXT_PATH] = path,           [TEXT_RESOURCE] = resource,
    [TEXT_ATTRIBUTE] = attribute, [TEXT_EXPRESSION] = expression,
    [TEXT_KIND_COUNT] = NULL,
};

static struct str text_of(void *user, const struct record_field *field, struct str text, bool is_key)
{
    struct anonymizer *anonymizer = user;
    enum text_kind kind = field_text_kind(&anonymizer->known, field);
    if (!text.ptr)
        text = STR("");
    if (kind == TEXT_KEY || (is_key && (kind == TEXT_PAIRS || kind == TEXT_ANNOTATION)))
        anonymizer->key = text;
    if (kind == TEXT_ANNOTATION) {
        kind = annotation_text_kind(&anonymizer->known, anonymizer->key);
        kind = is_key && kind != TEXT_DROPPED ? TEXT_PLAIN : kind;
    } else if (kind == TEXT_PAIRS && is_key) {
        kind = TEXT_KEY;
    }
    /* an operator stands behind its key */
    if (!anonymizer->sealed && (str_is(text, "Gt") || str_is(text, "Lt")) &&
        strcmp(field->name, "operator") == 0)
        strmap_put(&anonymizer->compared, arena_str(&anonymizer->arena, anonymizer->key), anonymizer);
    if (kind == TEXT_DROPPED)
        return (struct str){ 0 };
    if (replacements[kind])
        text = replacements[kind](anonymizer, text);
    return text.ptr ? text : STR("");
}

/* ---- what is put together from names ---- */

static const struct owner_ref *set_of(const struct pod *pod)
{
    list_for(&pod->meta.owners, owner)
        if (str_is(owner->kind, "StatefulSet"))
            return owner;
    return NULL;
}

static struct str joined(struct anonymizer *anonymizer, struct str head, struct str tail)
{
    return arena_printf(&anonymizer->arena, STR_FMT "-" STR_FMT, STR_ARG(head), STR_ARG(tail));
}

static void look_at_pod(struct anonymizer *anonymizer, const struct pod *pod)
{
    const struct owner_ref *set = set_of(pod);
    struct str name = pod->meta.name, none = { 0 };
    if (set && name.len > set->name.len + 1 && str_starts_with(name, set->name)) {
        struct str ordinal = str_slice(name, set->name.len + 1, name.len);
        if (is_number(ordinal))
            register_made(anonymizer, name, set->name, none, ordinal);
    }
    list_for(&pod->spec.volumes, volume) {
        if (volume->ephemeral)
            register_made(anonymizer, joined(anonymizer, name, volume->name), name, volume->name, none);
    }
}

static void look_at_set(struct anonymizer *anonymizer, const struct workload *set)
{
    int32_t replicas = set->spec.replicas.set ? set->spec.replicas.value : 1;
    int32_t start = set->spec.ordinals && set->spec.ordinals->start.set ? set->spec.ordinals->start.value : 0;
    for (int32_t i = 0; i < MIN(replicas, ORDINALS_MAX); i++) {
        struct str ordinal = arena_printf(&anonymizer->arena, "%lld", (long long)start + i);
        struct str pod = joined(anonymizer, set->meta.name, ordinal), none = { 0 };
        register_made(anonymizer, pod, set->meta.name, none, ordinal);
        list_for(&set->spec.volume_claim_templates, template)
            register_made(anonymizer, joined(anonymizer, template->meta.name, pod), template->meta.name, pod,
                          none);
    }
}

void anonymizer_look(struct anonymizer *anonymizer, const struct object *object)
{
    _cleanup_(strbuf_release) struct strbuf nowhere = { 0 };
    struct json_writer json = json_writer(&nowhere, JSON_COMPACT);
    assert(!anonymizer->sealed);
    if (!anonymizer->known.own.len)
        known_words_init(&anonymizer->known);
    if (object->kind == KIND_POD)
        look_at_pod(anonymizer, object->ptr);
    if (object->kind == KIND_STATEFUL_SET)
        look_at_set(anonymizer, object->ptr);
    object_encode_json(object, &(struct record_redactor){ text_of, anonymizer }, &json);
}

struct record_redactor anonymizer_redactor(struct anonymizer *anonymizer)
{
    if (!anonymizer->sealed)
        seal(anonymizer);
    return (struct record_redactor){ text_of, anonymizer };
}

void anonymizer_release(struct anonymizer *anonymizer)
{
    known_words_release(&anonymizer->known);
    strmap_release(&anonymizer->aliases);
    strmap_release(&anonymizer->images);
    strmap_release(&anonymizer->compared);
    strmap_release(&anonymizer->of_device);
    vec_release(&anonymizer->all);
    arena_release(&anonymizer->arena);
}
