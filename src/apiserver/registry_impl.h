/* registry_impl.h: what the files of the registry share. */
#ifndef APISERVER_REGISTRY_IMPL_H
#define APISERVER_REGISTRY_IMPL_H

#include "apiserver/registry.h"
#include "base/rng.h"

enum { PARSED_MAX = 8 };

struct registry {
    struct store *store;
    struct rng rng;
    uint32_t next_address, next_port; /* of services */
    struct {
        struct stored *of;
        yyjson_doc *doc;
    } parsed[PARSED_MAX];
    size_t parsed_next;
};

/* A write on its way, for the rules of its resource. */
struct change {
    struct registry *registry;
    const struct api_resource *resource;
    struct str ns, name;
    yyjson_mut_doc *doc;
    yyjson_mut_val *object, *meta;
    yyjson_mut_val *old; /* of an update: what is stored, in the same document */
    const struct write_options *options;
    struct api_error *err;
    bool has_history; /* another API server has set what the rules set */
    bool ends;        /* the object goes, whatever it says of its deletion */
    bool is_marked;   /* if the object goes, its last state is stored before */
};

/* strategy.c: the rules of each resource. */
/* Defaults that are not those of the schema. */
void strategy_set_defaults(struct change *change);
/* Sets what the API server itself sets. Returns 0 or the negative HTTP status. */
int strategy_create(struct change *change);
int strategy_update(struct change *change);
/* Adds what must happen before the object goes. */
void strategy_delete(struct change *change);
/* Does the resource count its generations? */
bool strategy_has_generation(const struct api_resource *resource);
/* Has something changed in the metadata that makes a new generation? */
bool strategy_counts_metadata(const struct change *change);
/* How long an object that is deleted may stay. */
int64_t strategy_grace_s(const struct api_resource *resource, yyjson_val *object, struct opt_int64 wanted);

/* strategy_custom.c: the rules of CustomResourceDefinitions and of their objects. */
#define CLEANUP_FINALIZER "customresourcecleanup.apiextensions.k8s.io"
int definition_create(struct change *change);
int definition_update(struct change *change);
void definition_delete(struct change *change);
int custom_create(struct change *change);
int custom_update(struct change *change);

/* registry_name.c: names, uids. */
void name_uid(struct rng *rng, char ret[static 37]);
void name_generate(struct rng *rng, struct str base, struct strbuf *out);
/* Adds what is wrong with the object's name to the error's fields. */
void name_check(const struct api_resource *resource, struct str name, const char *field,
                struct api_error *err);

/* The same for its labels. */
void name_check_labels(yyjson_mut_val *meta, struct api_error *err);

/* registry.c */
/* The time now, as metadata has it. */
void registry_put_now(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t later_s);
/* Stores the changed object, or deletes it where nothing keeps it any more. */
int registry_commit(struct change *change, struct stored *old, struct registry_result *ret);
/* Sets or replaces a condition of the status. */
void registry_set_condition(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *type, const char *status,
                            const char *reason, const char *message);

#endif
