/* utf8.h: UTF-8 as Go reads it: a byte that begins no character is one character, U+FFFD. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/arena.h"
#include "base/str.h"

enum { RUNE_ERROR = 0xFFFD, RUNE_MAX = 0x10FFFF, RUNE_BYTES_MAX = 4 };

/* The character at `at`, which must be before the end, and how many bytes it takes. */
uint32_t utf8_rune_at(struct str text, size_t at, size_t *ret_bytes);
/* Writes a character; what is none is written as U+FFFD. */
size_t utf8_rune_put(uint32_t rune, char out[static RUNE_BYTES_MAX]);
bool utf8_rune_valid(uint32_t rune);
bool utf8_valid(struct str text);
/* The text with U+FFFD for each byte that begins no character: itself where it is valid, else a copy in the arena. */
struct str utf8_mended(struct str text, struct arena *arena);
/* Is it white space, by Unicode? */
bool utf8_rune_space(uint32_t rune);
/* How many columns of a terminal it takes: 0 for marks that combine with the character before, 2 for East Asian wide
 * ones, else 1. */
unsigned utf8_rune_width(uint32_t rune);
/* Without the white space at both ends, as strings.TrimSpace() of Go. */
struct str utf8_trim(struct str text);
/* The number of characters. */
size_t utf8_runes(struct str text);
/* The position in bytes of character `index`, which is at most the number of characters. */
size_t utf8_offset(struct str text, size_t index);
/* The position of the first `part` at or behind `from`, or -1. */
ptrdiff_t utf8_find(struct str text, struct str part, size_t from);

#endif
