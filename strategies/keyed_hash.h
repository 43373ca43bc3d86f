/* keyed_hash.h: a hash for tables of names that a tenant may choose, keyed with secrets of the table: names cannot be
 * chosen to collide. Nothing is ordered by it, so that two processes with the same input do the same. */
#ifndef STRATEGIES_KEYED_HASH_H
#define STRATEGIES_KEYED_HASH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hash_key {
    uint64_t secrets[3];
};

static inline struct hash_key hash_key_new(void)
{
    struct hash_key key;
    arc4random_buf(&key, sizeof(key));
    return key;
}

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes, or what is left of them. */
static inline uint64_t hash_word(const char *bytes, uint32_t len)
{
    uint64_t word = 0;
    if (len)
        memcpy(&word, bytes, len < sizeof(word) ? len : sizeof(word));
    return word;
}

/* Both factors of each product carry a secret. The length comes in behind all text, where no byte can undo it. */
static inline uint64_t keyed_hash(const struct hash_key *key, const char *bytes, uint32_t len)
{
    uint64_t hash = key->secrets[0];
    uint32_t at = 0;
    for (; len - at > 16; at += 16)
        hash = hash_mix(hash_word(bytes + at, 8) ^ key->secrets[1], hash_word(bytes + at + 8, 8) ^ hash);
    uint32_t left = len - at, first = left < 8 ? left : 8;
    hash = hash_mix(hash_word(bytes + at, first) ^ key->secrets[2],
                    hash_word(bytes + at + first, left - first) ^ hash);
    return hash_mix(hash ^ len ^ key->secrets[2], 0x9e3779b97f4a7c15u);
}

#endif
