/* anonymize.h: names are replaced: a snapshot that can be given away, and decides as the original does.
 *
 * Every text becomes x1, x2, ... unless it reveals nothing: words of Kubernetes' own (enumerations, well-known
 * keys of labels and taints, in-tree volume plugins), numbers that a selector compares, names of schedulers, which
 * configurations name as well. The same text is always replaced by the same, so that references and selectors still
 * meet, and the order of texts stays, which decides among equals: x07 sorts before x12 where the originals did.
 *
 * What is put together from names is put together from theirs: claims of ephemeral volumes, pods and claims of
 * StatefulSets. Annotations are left out but for those that decide. CEL expressions, and names and values of the
 * devices' attributes that they read, stay, but for the domains of drivers in them. */
#ifndef INPUT_ANONYMIZE_H
#define INPUT_ANONYMIZE_H

#include "api/object.h"
#include "base/map.h"
#include "base/vec.h"

/* Which texts are what: the tables of anonymize.c as maps. */
struct known_words {
    struct strmap fields, annotations; /* to enum text_kind + 1 */
    struct strmap own;                 /* words of Kubernetes' own, wherever they stand */
};

/* A text and what stands in its place. */
struct alias {
    struct str text, shown;
    bool is_domain;            /* a driver: shown as one */
    struct alias *head, *tail; /* put together from these, or NULL */
    struct str ordinal;        /* and this, in the place of a tail */
};

struct anonymizer {
    struct known_words known;
    struct arena arena;
    struct strmap aliases;   /* to struct alias; of every text that is replaced */
    struct strmap images;    /* to struct alias, with a tag */
    struct strmap compared;  /* keys whose values are compared as numbers */
    struct strmap of_device; /* names of attributes and capacities */
    VEC(struct alias *) all;
    struct str key; /* that the next value belongs to; of the object at hand */
    bool sealed;    /* every object was seen */
    bool has_expressions;
};

/* First every object goes through this, then each is encoded with the redactor. */
void anonymizer_look(struct anonymizer *anonymizer, const struct object *object);
struct record_redactor anonymizer_redactor(struct anonymizer *anonymizer);
void anonymizer_release(struct anonymizer *anonymizer);

#endif
