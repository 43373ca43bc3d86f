/* anonymize_words.h: which texts of objects are names that users chose, and which are Kubernetes' own. */
#ifndef INPUT_ANONYMIZE_WORDS_H
#define INPUT_ANONYMIZE_WORDS_H

#include "api/fields.h"
#include "base/map.h"

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
    TEXT_KIND_COUNT
};

/* The tables as maps. */
struct known_words {
    struct strmap fields, annotations; /* to enum text_kind + 1 */
    struct strmap own;                 /* words of Kubernetes' own, wherever they stand */
};

void known_words_init(struct known_words *known);
void known_words_release(struct known_words *known);
enum text_kind field_text_kind(const struct known_words *known, const struct record_field *field);
/* Of the value of an annotation that decides; TEXT_DROPPED for the others. */
enum text_kind annotation_text_kind(const struct known_words *known, struct str key);
bool is_own_word(const struct known_words *known, struct str text);
/* Resources that everybody knows: cpu, hugepages-2Mi, nvidia.com/gpu. */
bool is_own_resource(struct str text);

#endif
