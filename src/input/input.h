/* input.h: the input, put together: objects, configuration and the model that both commands work on. */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include "config/config.h"
#include "framework/profile.h"
#include "input/changes.h"
#include "input/expand.h"
#include "input/incomplete.h"
#include "input/template.h"
#include "policy/policies.h"

struct listing;

struct input_options {
    const char *const *paths;
    size_t paths_len;
    /* Lists a live cluster, once the configuration is known: its objects come before those of the paths. NULL: none. */
    int (*list)(void *user, const struct scheduler_config *config, struct listing *ret, struct error *err);
    void *user;
    const char *config;              /* NULL: the defaults */
    const struct features *features; /* NULL: the defaults of the default release */
    const char *policy_dir,
        *policy_config_map;       /* a folder, or "NAMESPACE/NAME" among the objects; NULL: none */
    const char *const *templates; /* words that name templates of pods (template.h) */
    size_t templates_len;
    bool is_strict;       /* unknown fields are an error */
    bool calls_extenders; /* those of the configuration; otherwise a warning says that they are not */
    const struct registry *registry; /* NULL: the built-in plugins */
    struct change_requests changes;
    /* Of reading a path; may be NULL. Without a stream: nothing is read now, and warnings may follow. */
    void (*on_progress)(const struct doc_stream *stream, double share);
};

struct input {
    struct input_options options; /* but for what is read: paths, the listing, templates, changes */
    struct features features;     /* of the options */
    struct load load;
    struct load_state read; /* the objects of the load before the changes */
    struct changes changes; /* that were asked for */
    struct expansion expansion;
    struct arena config_arena;
    struct scheduler_config config;
    const struct registry *registry;
    struct cluster cluster;
    struct policies policies; /* of the cluster; without a cluster: none */
    struct policy_set *policy_set;
    struct templates templates;
    bool cluster_ready, expansion_ready, config_ready;
    bool is_live;   /* a cluster was listed */
    size_t running; /* pods that occupy a node */
};

/* Reads everything and builds the model with nodes, running pods, claims and all else but pending pods. Warnings go to
 * standard error. */
int input_open(struct input *input, const struct input_options *options, struct error *err);
/* Another input with the same objects, other changes and another configuration (NULL: the same). `from` stays. */
int input_fork(struct input *fork, const struct input *from, const char *config,
               const struct change_requests *changes, struct error *err);
void input_release(struct input *input);
/* Were changes asked for? */
static inline bool input_is_changed(const struct input *input)
{
    return input->changes.list.len > 0;
}
/* The model as it was when the input was opened, with the claims that were made since. The old one is gone. */
void input_rebuild(struct input *input);
/* Puts claims that were made since the last call into the model. */
void input_apply_claims(struct input *input);
/* The pods of the input that wait for a node, in the order in which they are queued: by age, then as they came. */
struct pod **input_pending(const struct input *input, size_t *ret_len);
/* Without nodes there is nothing to decide: an error that says so. */
int input_check_nodes(const struct input *input, struct error *err);
/* Those of them that belong to the schedulers of the configuration, and after the expansion has run the pods that it
 * made: those behind the first *ret_there (which may be NULL). */
undecided_vec input_undecided(const struct input *input, size_t *ret_there);
/* Warnings about what these pods refer to and the input does not have. */
void input_warn(struct input *input, const undecided_vec *pods);
/* Each on a line of standard error. */
void print_warnings(const struct warnings *warnings);
/* "namespace/name" of a pod, in the arena. */
struct str pod_full_name(const struct pod *pod, struct arena *arena);

#endif
