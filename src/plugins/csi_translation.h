/* csi_translation.h: volumes of the old built-in kinds as the volumes of the CSI drivers that replaced them.
 *
 * An attach limit counts volumes of a CSI driver, and on a node where a kind is migrated the driver's topology
 * counts; both need the driver's name, its handle of the volume, and the translated node affinity. */
#ifndef PLUGINS_CSI_TRANSLATION_H
#define PLUGINS_CSI_TRANSLATION_H

#include "api/types.h"
#include "base/arena.h"

struct csi_kind {
    struct str in_tree;   /* "kubernetes.io/aws-ebs" */
    struct str driver;    /* "ebs.csi.aws.com" */
    const char *zone_key; /* the driver's topology key for a zone; NULL: affinity stays as it is */
    bool migrated;        /* its volumes are the driver's everywhere */
};

struct csi_translation {
    struct str driver, handle;
    const struct node_selector *node_affinity; /* NULL: none */
    struct str why;                            /* it cannot be translated; no text: it can */
};

/* The kind of a volume, or NULL when it is none of these. */
const struct csi_kind *csi_kind_of_pv(const struct pv *pv);
const struct csi_kind *csi_kind_of_volume(const struct volume *volume);
const struct csi_kind *csi_kind_find(struct str in_tree);

/* Translates a volume of a migrated kind. What it makes is in the arena. */
struct csi_translation csi_translate_pv(const struct pv *pv, struct arena *arena);
/* The same for a volume written in a pod's spec; it has no affinity. */
struct csi_translation csi_translate_volume(const struct volume *volume, struct arena *arena);

#endif
