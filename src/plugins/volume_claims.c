/* volume_claims.c: claims behind a pod's volumes. */
#include "plugins/volume_claims.h"

#include "api/labels.h"
#include "base/utf8.h"

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

struct status volume_claim_check_owner(const struct pod *pod, const struct pvc *pvc, enum status_code code,
                                       struct arena *arena)
{
    const struct owner_ref *owner = controller_of(&pvc->meta);
    if (owner && str_eq(owner->uid, pod->meta.uid) && str_eq(pvc->meta.namespace, pod->meta.namespace))
        return STATUS_OK;
    return status_printf(arena, code,
                         "PVC " META_FMT " was not created for pod " META_FMT " (pod is not owner)",
                         META_ARG(&pvc->meta), META_ARG(&pod->meta));
}

bool volume_claims_include(const struct pod *pod, struct str claim_name)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc && str_eq(volume->pvc->claim_name, claim_name))
            return true;
    return false;
}

bool storage_class_waits(const struct storage_class *class)
{
    /* The API server stores Immediate where no mode was given. */
    return str_is(class->binding_mode, "WaitForFirstConsumer");
}

struct str_list volume_zones(struct str label, bool trimmed, struct arena *arena)
{
    struct str_list zones = { .items = arena_array(arena, struct str, label.len / 2 + 1) };
    size_t from = 0;
    for (size_t i = 0; i + 1 < label.len; i++) {
        if (label.ptr[i] == '_' && label.ptr[i + 1] == '_') {
            zones.items[zones.len++] = str_slice(label, from, i);
            from = i + 2;
            i++;
        }
    }
    zones.items[zones.len++] = str_slice(label, from, label.len);
    for (uint32_t i = 0; i < zones.len && trimmed; i++)
        zones.items[i] = utf8_trim(zones.items[i]);
    return zones;
}

/* ---- hints ---- */
enum hint volume_hint_own_claim(_unused_ const struct hint_context *context, const struct pod *pod,
                                const struct cluster_event *event)
{
    const struct pvc *pvc = event->after;
    bool own = str_eq(pvc->meta.namespace, pod->meta.namespace) && volume_claims_include(pod, pvc->meta.name);
    return own ? HINT_QUEUE : HINT_SKIP;
}

enum hint volume_hint_any_claim(const struct hint_context *context, const struct pod *pod,
                                const struct cluster_event *event)
{
    const struct pvc *pvc = event->after;
    struct volume_claim claim;
    if (!str_eq(pvc->meta.namespace, pod->meta.namespace))
        return HINT_SKIP;
    list_for(&pod->spec.volumes, volume)
        if (volume_claim_of(pod, volume, context->arena, &claim) && str_eq(claim.name, pvc->meta.name))
            return HINT_QUEUE;
    return HINT_SKIP;
}
