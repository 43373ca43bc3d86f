/* anonymize_words.h: which texts of objects are names of somebody's, and which are Kubernetes' own. */
#ifndef INPUT_ANONYMIZE_WORDS_H
#define INPUT_ANONYMIZE_WORDS_H

#include "api/fields.h"

enum text_kind {
    TEXT_NAME,  /* replaced; what the table does not know is one too */
    TEXT_PLAIN, /* an enumeration and such */
    TEXT_DROPPED,
    TEXT_ANNOTATION, /* dropped, unless it is one that decides */
    TEXT_PAIRS,      /* keys as TEXT_KEY, values as TEXT_VALUE */
    TEXT_KEY,        /* of labels and taints */
    TEXT_VALUE,      /* of the key before it */
    TEXT_DRIVER,
    TEXT_IMAGE,
    TEXT_PATH,     /* names and words with slashes between them */
    TEXT_RESOURCE, /* key of a list of resources, or of a device's capacities */
    TEXT_ATTRIBUTE,
    TEXT_EXPRESSION,
};

enum text_kind text_kind_of(const struct field *field);
/* Of the value of an annotation that decides; TEXT_DROPPED for the others. */
enum text_kind annotation_kind(struct str key);
/* Words of Kubernetes' own, wherever they stand. */
bool is_own_word(struct str text);
/* Resources that everybody knows: cpu, hugepages-2Mi, nvidia.com/gpu. */
bool is_own_resource(struct str text);

#endif
