/* labels.h: labels and selectors as symbols.
 *
 * The model's own form of what api/labels.h does with text: a label is a pair of symbols, a set is sorted by
 * key symbol, a selector is compiled once and matched millions of times. Both forms must agree; a test holds
 * them together. */
#ifndef CLUSTER_LABELS_H
#define CLUSTER_LABELS_H

#include "api/types.h"
#include "base/arena.h"
#include "base/intern.h"

struct label {
    sym key, value;
};

/* Owns its items and a reference on each symbol. */
struct label_set {
    struct label *items; /* sorted by key symbol */
    uint32_t len;
};

void label_set_init(struct label_set *set, struct intern *syms, const struct str_map *labels);
void label_set_release(struct label_set *set, struct intern *syms);

/* A few symbols are searched one by one, many by halves: an object may have thousands of labels. */
enum { SYMS_SCANNED = 16 };

/* Where the key is, or `len`. */
uint32_t label_set_place(const struct label_set *set, sym key);

/* The value of the key, or SYM_NONE. */
static inline sym label_set_get(const struct label_set *set, sym key)
{
    if (set->len > SYMS_SCANNED) {
        uint32_t at = label_set_place(set, key);
        return at < set->len ? set->items[at].value : SYM_NONE;
    }
    for (uint32_t i = 0; i < set->len; i++)
        if (set->items[i].key == key)
            return set->items[i].value;
    return SYM_NONE;
}

struct requirement {
    sym key;
    enum selector_op op;
    uint32_t len;
    sym *values;   /* In, NotIn; sorted */
    int64_t bound; /* Gt, Lt */
};

/* All requirements must hold. Nothing: `never`. A selector without requirements matches everything. */
struct selector {
    struct requirement *items;
    uint32_t len;
    bool never;
};

/* Compiles into the arena; takes references on its symbols, which selector_release() gives back. NULL: never. */
void selector_init(struct selector *sel, struct intern *syms, struct arena *arena,
                   const struct label_selector *api);
/* Adds "key = value" for each pair. */
void selector_add_pairs(struct selector *sel, struct intern *syms, struct arena *arena,
                        const struct pair *pairs, uint32_t len);
/* Adds raw requirements (of node selectors too: Gt and Lt are known here). */
void selector_add(struct selector *sel, struct intern *syms, struct arena *arena,
                  const struct selector_requirement *reqs, uint32_t len);
void selector_release(struct selector *sel, struct intern *syms);

bool requirement_holds(const struct requirement *req, sym value, const struct intern *syms);
bool selector_matches(const struct selector *sel, const struct label_set *labels, const struct intern *syms);
static inline bool selector_is_empty(const struct selector *sel)
{
    return !sel->never && sel->len == 0;
}

#endif
