/* load.h: the objects of files, folders and standard input (documents.h), by kind.
 *
 *     -f paths ──▶ documents ──▶ objects by kind
 *
 * Objects live in one arena as long as the load; their strings may lie in the streams' text, which stays too. An object
 * that comes again replaces the one before, at its place. Kinds that berth does not use are counted. */
#ifndef INPUT_LOAD_H
#define INPUT_LOAD_H

#include "api/types.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "input/documents.h"
#include "input/unknown_fields.h"

struct kind_count {
    struct str kind;
    size_t count;
};

typedef VEC(struct meta *) object_vec;

struct load {
    struct arena arena;
    struct documents documents;
    object_vec objects[KIND_COUNT];    /* in the order of the input; each begins with its struct meta */
    struct strmap by_name[KIND_COUNT]; /* "namespace/name" to place + 1 in objects */
    object_vec
        written; /* pods, volumes and claims without a uid: a user wrote them, and no server saw them */
    VEC(struct pod *) finished;     /* pods that succeeded or failed; not among objects */
    VEC(struct kind_count) ignored; /* kinds that are not used */
    struct strmap ignored_places;   /* kind to place + 1 in it */
    size_t duplicates;              /* objects that replaced another */
    struct str duplicate;           /* one of them: "Pod default/web" */
    bool reads_config_maps;         /* otherwise they are of a kind that is not used */
    object_vec implied;             /* Namespaces that objects are in and that were not in the input */
    struct unknown_fields unknown;  /* and kinds that may be misspelled */
    struct strbuf key;              /* scratch */
};

/* A zeroed load is empty. */
void load_release(struct load *load);
/* A file, "-" or a folder with all *.yaml, *.yml, *.json and *.jsonl below it. */
int load_path(struct load *load, const char *path, struct error *err);
/* Everything that a user should know about the input, a line each on standard error. */
void load_warn(const struct load *load);
/* A line on standard error, without what would move a terminal's cursor: texts of the input may be in it. */
void load_print_warning(struct strbuf *text);
/* Unknown fields as errors: all but the last one on standard error, then that one. */
int load_refuse_unknown(const struct load *load, struct error *err);
/* "namespace/name" in the buffer. */
struct str full_name(struct strbuf *buf, struct str namespace, struct str name);
/* By name, or NULL. */
void *load_find(const struct load *load, enum api_kind kind, struct str namespace, struct str name);
/* Adds an object that the input implies, unless one of that name is there. */
void load_add(struct load *load, enum api_kind kind, struct meta *object);
/* Adds an object, or puts it in the place of the one of that name. */
void load_put(struct load *load, enum api_kind kind, struct meta *object);
/* Only those objects of a kind stay that `keeps` accepts. */
void load_retain(struct load *load, enum api_kind kind, bool (*keeps)(void *user, const struct meta *object),
                 void *user);
/* The objects of a kind by namespace and name, as an API server lists them; the caller frees. */
struct meta **load_sorted(const struct load *load, enum api_kind kind);

/* Which objects there are at a moment. */
struct load_state {
    object_vec objects[KIND_COUNT];
};
void load_save(const struct load *load, struct load_state *ret);
/* Another load with the objects of that moment, which are shared: `from` stays longer. */
void load_fork(struct load *ret, const struct load *from, const struct load_state *state);
void load_state_release(struct load_state *state);

#endif
