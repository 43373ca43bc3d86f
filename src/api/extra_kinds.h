/* extra_kinds.h: kinds of objects that plugins name, and that no table of api/ knows: ConfigMaps, custom resources.
 *
 *     "example.com/v1/Widget" ──extra_kind_add()──▶ KIND_EXTRA_FIRST + 0 ──▶ lists, stores, recordings: as any kind
 *
 * A kind has a number for as long as the process lives, as the plugins have that name it. It may be all objects of the
 * kind, those of a namespace, or one object: each is listed and watched on its own, and has a number of its own.
 * Numbers are given out when plugins are loaded and made. From then on any thread may look them up. */
#ifndef API_EXTRA_KINDS_H
#define API_EXTRA_KINDS_H

#include "api/types.h"
#include "base/error.h"

struct extra_kind {
    struct str api_version, kind; /* "example.com/v1", "Widget" */
    struct str namespace, name;   /* only objects there, of that name; empty: all */
    struct str text;              /* "example.com/v1/Widget" */
};

/* The number of a kind, which it gets if it has none. KIND_UNKNOWN: there are too many of them, or it has no name. */
enum api_kind extra_kind_add(const struct extra_kind *wanted, struct error *err);
/* Of all objects of the kind. KIND_UNKNOWN: no plugin has named it. */
enum api_kind extra_kind_find(struct str api_version, struct str kind);
/* Those from KIND_EXTRA_FIRST on that are there. */
uint32_t extra_kind_count(void);
/* One of them. */
const struct extra_kind *extra_kind_of(enum api_kind kind);
/* Of a set of kinds (1 << enum api_kind, or'ed) the extra ones that an API server may have: objects of others are made
 * by berth itself, from what it measures. */
uint64_t extra_kinds_of_servers(uint64_t kinds);
/* Are both the same kind, or parts of it? */
bool extra_kind_has_same_objects(enum api_kind a, enum api_kind b);

/* "example.com/v1/Widget", or "v1/ConfigMap NAMESPACE/NAME" of a part. Without a version: an empty one. */
struct extra_kind extra_kind_parse(struct str text);
void extra_kind_print(enum api_kind kind, struct strbuf *out);
/* The one that is printed so; KIND_UNKNOWN: there is none. */
enum api_kind extra_kind_named(struct str text);

#endif
