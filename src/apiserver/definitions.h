/* definitions.h: CustomResourceDefinitions become resources.
 *
 *     definition ──▶ names accepted, established ──▶ a row per served version in the table of resources
 *                        deleted ──▶ its objects are deleted ──▶ the definition goes, and the rows with it
 *
 * kube-apiserver does this in several controllers of its own; so does this one, without `controllers/`. It follows the
 * store, on the loop's thread. */
#ifndef APISERVER_DEFINITIONS_H
#define APISERVER_DEFINITIONS_H

#include "apiserver/registry.h"

struct definitions;

struct definitions_options {
    struct registry *registry; /* outlives the definitions */
    /* Nothing will happen to the objects of this kind of the store any more: the definition is gone, and clients that
     * watch durable changes have seen it all. */
    void (*on_gone)(void *user, uint32_t storage);
    void *user;
};

/* Begins with the definitions that are there. */
struct definitions *definitions_new(const struct definitions_options *options);
/* Their resources are not served any more. NULL is fine. */
void definitions_free(struct definitions *definitions);

#endif
