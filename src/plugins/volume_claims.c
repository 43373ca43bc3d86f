/* volume_claims.c: claims behind a pod's volumes. */
#include "plugins/volume_claims.h"

bool volume_claim_of(const struct pod *pod, const struct volume *volume, struct arena *arena,
                     struct volume_claim *ret)
{
    if (volume->pvc) {
        *ret = (struct volume_claim){ .name = volume->pvc->claim_name };
        return true;
    }
    if (!volume->ephemeral)
        return false;
    struct str name =
        arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(pod->meta.name), STR_ARG(volume->name));
    *ret = (struct volume_claim){ .name = name, .ephemeral = true };
    return true;
}

static bool is_controlled_by(const struct meta *meta, const struct meta *owner)
{
    for (uint32_t i = 0; i < meta->owners.len; i++) {
        const struct owner_ref *ref = &meta->owners.items[i];
        if (ref->controller.set && ref->controller.value)
            return str_eq(ref->uid, owner->uid);
    }
    return false;
}

bool volume_claim_is_for_pod(const struct pod *pod, const struct pvc *pvc, struct arena *arena,
                             struct str *ret_why)
{
    if (str_eq(pvc->meta.namespace, pod->meta.namespace) && is_controlled_by(&pvc->meta, &pod->meta))
        return true;
    *ret_why = arena_printf(arena,
                            "PVC " STR_FMT "/" STR_FMT " was not created for pod " STR_FMT "/" STR_FMT
                            " (pod is not owner)",
                            STR_ARG(pvc->meta.namespace), STR_ARG(pvc->meta.name),
                            STR_ARG(pod->meta.namespace), STR_ARG(pod->meta.name));
    return false;
}

struct str volume_quoted(struct str text, struct arena *arena)
{
    static const char escapes[] = "\aa\bb\ff\nn\rr\tt\vv\"\"\\\\";
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    strbuf_putc(&out, '"');
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        const char *escape = NULL;
        for (const char *e = escapes; *e && !escape; e += 2)
            if (*e == c)
                escape = e + 1;
        if (escape)
            strbuf_printf(&out, "\\%c", *escape);
        else if ((unsigned char)c < ' ' || c == 0x7f)
            strbuf_printf(&out, "\\x%02x", (unsigned char)c);
        else
            strbuf_putc(&out, c);
    }
    strbuf_putc(&out, '"');
    return arena_str(arena, strbuf_slice(&out));
}

bool storage_class_waits(const struct storage_class *class)
{
    /* The API server stores Immediate where no mode was given. */
    return str_is(class->binding_mode, "WaitForFirstConsumer");
}
