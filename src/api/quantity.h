/* quantity.h: Kubernetes resource quantities, exact.
 *
 * Text such as "0.1", "4294967296000m", "1e3" or "32Gi" means what k8s.io/apimachinery says: at most nano
 * precision, rounded away from zero on input, capped at 2^63-1. */
#ifndef API_QUANTITY_H
#define API_QUANTITY_H

#include "base/error.h"
#include "base/str.h"

/* units + nano / 1e9, with 0 <= nano < 1e9 (so -0.5 is {-1, 500000000}). */
struct quantity {
    int64_t units;
    uint32_t nano;
    /* How it was written; no part of the amount. */
    bool binary; /* in powers of two ("32Gi"): it is written like that again */
    /* With digits below one ("2000m", "2.0"), or too many: the reference does not take it for an integer. */
    bool finer;
};

/* 0, or -EINVAL for a text that is no quantity. */
int quantity_parse(struct str text, struct quantity *ret);

/* The parts of a text that is a quantity. Leading zeros are not in `whole`. */
struct quantity_text {
    bool negative;
    bool has_digit; /* in the text, zeros included */
    struct str whole, fraction;
    int base; /* 10 or 2 */
    int64_t exponent;
};
/* 0, or -EINVAL for a text that is no quantity. */
int quantity_split(struct str text, struct quantity_text *ret);
/* Its amount in billionths, rounded away from zero; decimal ones up to 2^120. */
__int128 quantity_text_nanos(const struct quantity_text *text);
/* Does the reference take the text for one 64-bit number and a scale? If not, it makes a big decimal of it. */
bool quantity_text_is_small(const struct quantity_text *text);

/* Rounded away from zero, as Quantity.Value() and Quantity.MilliValue(); saturating where those would overflow. */
int64_t quantity_value(struct quantity q);
int64_t quantity_milli_value(struct quantity q);
bool quantity_is_zero(struct quantity q);
int quantity_cmp(struct quantity a, struct quantity b);
struct quantity quantity_add(struct quantity a, struct quantity b);
struct quantity quantity_sub(struct quantity a, struct quantity b);
/* Written as the first one is. What is finer than a billionth is rounded away from zero. */
struct quantity quantity_mul(struct quantity a, struct quantity b);
struct quantity quantity_from_int(int64_t units);
/* To a multiple of 0.001, away from zero: what the API server stores of requests, limits and capacities. */
struct quantity quantity_round_to_milli(struct quantity q);

enum { QUANTITY_LEN_MAX = 40 };
/* As Kubernetes writes it, with the largest suffix that needs no fraction: "1500m", "32Gi", "2k". */
struct str quantity_format(struct quantity q, char buf[static QUANTITY_LEN_MAX]);

#endif
