/* csi_translation.c: built-in volume kinds to CSI drivers.
 *
 * Two of the kinds (Azure file, vSphere) have a driver but are never migrated by what a scheduler looks at; they
 * are in the table because limits apply to a pod that uses them all the same. */
#include "plugins/csi_translation.h"

#include <stdlib.h>
#include <strings.h>

#include "api/labels.h"
#include "base/percent.h"
#include "plugins/volume_claims.h"

/* What a volume of one of the kinds says about itself, in a pod or in a PersistentVolume. */
struct source {
    const struct csi_kind *kind;
    struct str id;
    struct str disk_kind;         /* Azure disks */
    const struct str_map *labels; /* of a PersistentVolume; NULL: none */
};

/* ---- handles ---- */
/* "vol-1" as it is; "aws://zone/vol-1" is a URL whose path names the volume. */
static void ebs_handle(const struct source *source, struct arena *arena, struct csi_translation *ret)
{
    static const struct str scheme = STR("aws://");
    struct str id = source->id;
    if (!str_starts_with(id, scheme))
        return;
    struct str path = str_slice(id, scheme.len, id.len);
    for (uint32_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '?' || path.ptr[i] == '#')
            path.len = i;
    ptrdiff_t slash = str_find(path, '/');
    path = slash < 0 ? STR("") : str_slice(path, (size_t)slash, path.len);
    struct str decoded;
    if (!percent_decode(path, false, arena, &decoded)) {
        ret->why =
            arena_printf(arena,
                         "failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (" STR_FMT
                         "): parse \"" STR_FMT "\": invalid URL escape \"" STR_FMT "\"",
                         STR_ARG(id), STR_ARG(id), STR_ARG(decoded));
        return;
    }
    ret->handle = str_trim(decoded, "/");
    if (!str_starts_with(ret->handle, STR("vol-")) || str_find(ret->handle, '/') >= 0)
        ret->why = arena_printf(
            arena,
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (" STR_FMT ")",
            STR_ARG(id));
}

/* The API server stores "Shared" where no kind was given, and only managed disks are the driver's. */
static void azure_disk_handle(const struct source *source, struct arena *arena, struct csi_translation *ret)
{
    struct str kind = source->disk_kind.ptr ? source->disk_kind : STR("Shared");
    if (kind.len != strlen("Managed") || strncasecmp(kind.ptr, "Managed", kind.len) != 0)
        ret->why = arena_printf(arena, "kind(" STR_FMT ") is not supported in csi migration", STR_ARG(kind));
}

/* "locale-region" of zones such as "locale-region-zone", which must agree. */
static struct str gce_region(const struct str_list *zones, struct arena *arena, struct str *ret_why)
{
    struct str_list regions = { .items = arena_array(arena, struct str, zones->len) };
    list_for(zones, zone) {
        ptrdiff_t first = str_find(*zone, '-'), last = str_rfind(*zone, '-');
        struct str middle = first < last ? str_slice(*zone, (size_t)first + 1, (size_t)last) : STR("-");
        if (str_find(middle, '-') >= 0) {
            *ret_why = arena_printf(arena,
                                    "failed to get region from zones: zone in unexpected format, expected: "
                                    "{locale}-{region}-{zone}, got: " STR_FMT,
                                    STR_ARG(*zone));
            return *zone;
        }
        regions.items[regions.len++] = str_slice(*zone, 0, (size_t)last);
    }
    str_list_sort_unique(&regions);
    if (regions.len == 1)
        return regions.items[0];
    _cleanup_(strbuf_release) struct strbuf list = { 0 };
    for (uint32_t i = 0; i < regions.len; i++)
        strbuf_printf(&list, "%s" STR_FMT ":{}", i ? " " : "", STR_ARG(regions.items[i]));
    *ret_why = arena_printf(arena,
                            "failed to get region from zones: multiple or no regions gotten from zones, "
                            "got: map[" STR_FMT "]",
                            STR_ARG(strbuf_slice(&list)));
    return (struct str){ 0 };
}

static void gce_handle(const struct source *source, struct arena *arena, struct csi_translation *ret)
{
    const struct str *label = source->labels ? str_map_get(source->labels, STR(LABEL_ZONE_BETA)) : NULL;
    if (source->labels && (!label || !label->len))
        label = str_map_get(source->labels, STR(LABEL_ZONE));
    struct str_list zones = volume_zones(label ? *label : STR(""), false, arena);
    struct str where = zones.len > 1        ? gce_region(&zones, arena, &ret->why)
                       : zones.items[0].len ? zones.items[0]
                                            : STR("UNSPECIFIED");
    ret->handle = arena_printf(arena, "projects/UNSPECIFIED/%s/" STR_FMT "/disks/" STR_FMT,
                               zones.len > 1 ? "regions" : "zones", STR_ARG(where), STR_ARG(source->id));
}

/* ---- kinds ---- */
enum { AWS_EBS, GCE_PD, AZURE_DISK, CINDER, PORTWORX, AZURE_FILE, VSPHERE, KINDS };

static const struct csi_kind kinds[KINDS] = {
    [AWS_EBS] = { STR("kubernetes.io/aws-ebs"), STR("ebs.csi.aws.com"), "topology.ebs.csi.aws.com/zone",
                  true },
    [GCE_PD] = { STR("kubernetes.io/gce-pd"), STR("pd.csi.storage.gke.io"), "topology.gke.io/zone", true },
    [AZURE_DISK] = { STR("kubernetes.io/azure-disk"), STR("disk.csi.azure.com"), NULL, true },
    [CINDER] = { STR("kubernetes.io/cinder"), STR("cinder.csi.openstack.org"),
                 "topology.cinder.csi.openstack.org/zone", true },
    [PORTWORX] = { STR("kubernetes.io/portworx-volume"), STR("pxd.portworx.com"), NULL, true },
    [AZURE_FILE] = { STR("kubernetes.io/azure-file"), STR("file.csi.azure.com"), NULL, false },
    [VSPHERE] = { STR("kubernetes.io/vsphere-volume"), STR("csi.vsphere.vmware.com"), NULL, false },
};
/* The volume handle of a driver, where it is not the id as it stands. */
static void (*const handles[KINDS])(const struct source *, struct arena *, struct csi_translation *) = {
    [AWS_EBS] = ebs_handle,
    [GCE_PD] = gce_handle,
    [AZURE_DISK] = azure_disk_handle,
};

/* Of a struct volume or a pv's spec, which name the sources alike. */
#define SOURCE_OF(from) \
    ((from)->aws_ebs      ? (struct source){ &kinds[AWS_EBS], .id = (from)->aws_ebs->volume_id } \
     : (from)->gce_pd     ? (struct source){ &kinds[GCE_PD], .id = (from)->gce_pd->pd_name } \
     : (from)->azure_disk ? (struct source){ &kinds[AZURE_DISK], .id = (from)->azure_disk->disk_uri, \
                                             .disk_kind = (from)->azure_disk->kind } \
     : (from)->cinder     ? (struct source){ &kinds[CINDER], .id = (from)->cinder->volume_id } \
     : (from)->portworx   ? (struct source){ &kinds[PORTWORX], .id = (from)->portworx->volume_id } \
     : (from)->azure_file ? (struct source){ &kinds[AZURE_FILE] } \
     : (from)->vsphere    ? (struct source){ &kinds[VSPHERE] } \
                          : (struct source){ NULL })

const struct csi_kind *csi_kind_of_pv(const struct pv *pv)
{
    return SOURCE_OF(&pv->spec).kind;
}

const struct csi_kind *csi_kind_of_volume(const struct volume *volume)
{
    return SOURCE_OF(volume).kind;
}

const struct csi_kind *csi_kind_find(struct str in_tree)
{
    for (size_t i = 0; i < KINDS; i++)
        if (str_eq(kinds[i].in_tree, in_tree))
            return &kinds[i];
    return NULL;
}

/* ---- topology ---- */
/* How many values the affinity's expressions give for a key; -1: no expression has the key. */
static int64_t affinity_values(const struct node_selector *affinity, struct str key)
{
    int64_t values = -1;
    if (affinity)
        list_for(&affinity->terms, term)
            list_for(&term->match_expressions, expression)
                if (str_eq(expression->key, key))
                    values = MAX(values, 0) + expression->values.len;
    return values;
}

/* Does the volume name zones by the old labels? Its affinity decides before its labels, new before old. */
static bool uses_beta_labels(const struct pv *pv)
{
    if (affinity_values(pv->spec.node_affinity, STR(LABEL_ZONE)) >= 0)
        return false;
    if (affinity_values(pv->spec.node_affinity, STR(LABEL_ZONE_BETA)) >= 0)
        return true;
    return !str_map_get(&pv->meta.labels, STR(LABEL_ZONE)) &&
           str_map_get(&pv->meta.labels, STR(LABEL_ZONE_BETA));
}

/* A copy whose expressions may be changed, with space for one more in each term; at least one term if there is none. */
static struct node_selector *affinity_copy(const struct node_selector *from, struct arena *arena)
{
    struct node_selector *to = arena_new(arena, struct node_selector);
    uint32_t terms = from ? from->terms.len : 0;
    to->terms.items = arena_array(arena, struct node_selector_term, terms + 1);
    to->terms.len = terms;
    for (uint32_t i = 0; i < terms; i++) {
        struct node_selector_term *term = &to->terms.items[i];
        *term = from->terms.items[i];
        size_t len = term->match_expressions.len;
        term->match_expressions.items =
            arena_copy(arena, struct selector_requirement, term->match_expressions.items, len, len + 1);
    }
    return to;
}

static void affinity_rename(struct node_selector *affinity, struct str from, struct str to)
{
    list_for(&affinity->terms, term)
        list_for(&term->match_expressions, expression)
            if (str_eq(expression->key, from))
                expression->key = to;
}

/* Adds "key in zones" to every term. */
static void affinity_add_zones(struct node_selector *affinity, struct str key, struct str label,
                               struct arena *arena)
{
    struct str_list split = volume_zones(label, true, arena), zones = { .items = split.items };
    list_for(&split, zone)
        if (zone->len)
            zones.items[zones.len++] = *zone;
    str_list_sort_unique(&zones);
    if (!zones.len)
        return;
    if (!affinity->terms.len) {
        affinity->terms.len = 1;
        affinity->terms.items[0].match_expressions.items = arena_array(arena, struct selector_requirement, 1);
    }
    list_for(&affinity->terms, term)
        term->match_expressions.items[term->match_expressions.len++] =
            (struct selector_requirement){ .key = key, .operator= STR("In"), .op = OP_IN, .values = zones };
}

/* Zones become the driver's zones: those in the affinity, else those that a label lists. */
static const struct node_selector *translate_topology(const struct pv *pv, struct str csi_key,
                                                      struct arena *arena)
{
    bool beta = uses_beta_labels(pv);
    struct str zone_key = beta ? STR(LABEL_ZONE_BETA) : STR(LABEL_ZONE);
    const struct str *label = str_map_get(&pv->meta.labels, zone_key);
    struct node_selector *affinity = affinity_copy(pv->spec.node_affinity, arena);
    if (affinity_values(affinity, zone_key) > 0)
        affinity_rename(affinity, zone_key, csi_key);
    else if (label)
        affinity_add_zones(affinity, csi_key, *label, arena);
    if (beta && affinity_values(affinity, STR(LABEL_REGION_BETA)) > 0)
        affinity_rename(affinity, STR(LABEL_REGION_BETA), STR(LABEL_REGION));
    return pv->spec.node_affinity || affinity->terms.len ? affinity : NULL;
}

/* ---- volumes ---- */
static struct csi_translation translate(const struct source *source, struct arena *arena)
{
    struct csi_translation ret = { .driver = source->kind->driver, .handle = source->id };
    if (handles[source->kind - kinds])
        handles[source->kind - kinds](source, arena, &ret);
    return ret;
}

struct csi_translation csi_translate_pv(const struct pv *pv, struct arena *arena)
{
    struct source source = SOURCE_OF(&pv->spec);
    source.labels = &pv->meta.labels;
    struct csi_translation ret = translate(&source, arena);
    const char *zone_key = source.kind->zone_key;
    if (!ret.why.len)
        ret.node_affinity =
            zone_key ? translate_topology(pv, str_from(zone_key), arena) : pv->spec.node_affinity;
    return ret;
}

struct csi_translation csi_translate_volume(const struct volume *volume, struct arena *arena)
{
    struct source source = SOURCE_OF(volume);
    return translate(&source, arena);
}
