/* intern.h: one small number per distinct string.
 *
 * The model compares label keys, values and names by number. Symbols are reference-counted, and freed numbers
 * are used again, so memory stays flat when pods and labels come and go. SYM_NONE is no string at all; the
 * empty string is a string like any other. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/map.h"
#include "base/vec.h"

typedef uint32_t sym;
enum { SYM_NONE = 0 };

struct intern_entry {
    char *text;
    uint32_t len;
    uint32_t refs; /* 0: free, len is the next free number */
};

struct intern {
    struct strmap by_name; /* value: number as pointer */
    VEC(struct intern_entry) entries;
    uint32_t free_head; /* 0: none */
};

/* The number of the text, new or known; takes a reference. */
sym intern_get(struct intern *table, struct str text);
/* The number of the text if it is known, else SYM_NONE; takes no reference. */
sym intern_find(const struct intern *table, struct str text);
void intern_ref(struct intern *table, sym symbol);
/* SYM_NONE is ignored. */
void intern_unref(struct intern *table, sym symbol);
struct str intern_text(const struct intern *table, sym symbol);
void intern_release(struct intern *table);

#endif
