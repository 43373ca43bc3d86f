/* words.c: a small hash table over the list, made once. */
#include "api/words.h"

static const struct str words[] = {
#define WORD(text) STR(text),
#include "api/words.def"
#undef WORD
};

enum { SLOTS = 512, WORD_LEN_MAX = 64 };
static_assert(ARRAY_SIZE(words) < SLOTS / 2 && ARRAY_SIZE(words) < UINT8_MAX,
              "the table is at most half full");

static uint8_t slots[SLOTS]; /* number of the word + 1 */

static size_t slot_of(struct str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    uint32_t sum = text.len * 31 + bytes[0] * 7 + bytes[text.len - 1] * 131 + bytes[text.len / 2] * 61;
    return (sum ^ sum >> 9) % SLOTS;
}

/* Before main(), so that threads only read. */
__attribute__((constructor)) static void fill(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t at = slot_of(words[i]);
        while (slots[at])
            at = (at + 1) % SLOTS;
        slots[at] = (uint8_t)(i + 1);
    }
}

struct str words_keep(struct arena *arena, struct str text)
{
    if (text.len == 0)
        return STR("");
    for (size_t at = slot_of(text); text.len <= WORD_LEN_MAX && slots[at]; at = (at + 1) % SLOTS)
        if (str_eq(words[slots[at] - 1], text))
            return words[slots[at] - 1];
    return arena_str(arena, text);
}
