/* profile.h: a scheduler name with its plugins, in order, per extension point. */
#ifndef FRAMEWORK_PROFILE_H
#define FRAMEWORK_PROFILE_H

#include "config/config.h"
#include "framework/plugin.h"
#include "framework/plugin_message.h"

struct extenders;

struct plugin_order {
    struct plugin_instance **items;
    uint32_t len;
};

/* A profile with other weights, for the pods of a policy. Names that the profile does not enable are passed over. */
struct profile_variant {
    struct str name; /* of the policy */
    struct weight_map plugins, resources;
};

struct profile {
    struct str scheduler_name;
    struct str variant; /* the policy that it is for; empty: it is the profile of the configuration */
    struct plugin_instance *plugins; /* each once */
    uint32_t plugins_len;
    struct plugin_order points[POINT_COUNT]; /* by enum extension_point */
    struct opt_int32 percentage;             /* percentageOfNodesToScore of this profile */
    bool has_weighers, has_observers;        /* plugins with weigh, with observe */
    bool wide_scores; /* weighted scores of a node may need more than the 32 bits that tables have */
    const struct extenders *extenders; /* NULL: none; see extender.h */
    struct mailbox mailbox;            /* what threads of its plugins have to say */
    const struct probe *probe;         /* of the engine; see probe.h */
    void *observed;                    /* of the probe */
    struct arena arena;
};

struct registry {
    const struct plugin *const *items;
    uint32_t len;
};

/* The catalog that config/ needs to expand multiPoint, made from a registry. */
struct plugin_catalog registry_catalog(const struct registry *registry, struct arena *arena);
/* The extension points that a plugin takes part in, as a mask of 1 << enum extension_point. */
uint32_t plugin_points(const struct plugin *plugin);

/* What the plugin reads of pods, where it filters or scores nodes, tells classes of pods apart from now on. True: that
 * is new, and pods that are there need pod_classes_renew(). */
bool plugin_reads(const struct plugin *plugin, struct cluster *cluster);
int profile_init(struct profile *profile, const struct registry *registry,
                 const struct profile_config *config, struct cluster *cluster, struct error *err);
/* A variant shares the plugins of its profile with what they keep; those whose arguments have other weights are made
 * anew. It goes before its profile does. `config`: of the profile. */
int profile_init_variant(struct profile *ret, const struct profile *profile,
                         const struct profile_config *config, const struct profile_variant *variant,
                         struct cluster *cluster, struct error *err);
void profile_release(struct profile *profile);
/* The number of the profile with that scheduler name; `len`: none. Variants stand behind all profiles. */
uint32_t profile_number(const struct profile *profiles, uint32_t len, struct str scheduler_name);
/* The same of the profile, or the variant, that decides the pod. */
uint32_t profile_of_pod(const struct profile *profiles, uint32_t len, const struct pod *pod);
/* The names of the plugins in a mask, sorted, separated by spaces. */
struct str profile_plugin_names(const struct profile *profile, uint64_t mask, struct arena *arena);
/* The kinds that are fetched for the instance: 1 << enum api_kind, or'ed. */
uint64_t plugin_wanted_kinds(const struct plugin_instance *instance);
/* The instance of a plugin by name, or NULL. */
const struct plugin_instance *profile_find(const struct profile *profile, const char *name);

#endif
