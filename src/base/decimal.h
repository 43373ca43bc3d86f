/* decimal.h: floating-point numbers as the shortest digits that read back as the same number.
 *
 * The layouts are those of Go, whose texts users of Kubernetes compare with. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/str.h"

enum { DECIMAL_LEN_MAX = 344 /* the least number in plain digits */ };

enum decimal_form {
    DECIMAL_GO,    /* as strconv.FormatFloat(value, 'g', -1, 64): an exponent below 1e-4 and from 1e6 */
    DECIMAL_PLAIN, /* 'f': never an exponent */
    DECIMAL_JSON,  /* as encoding/json: an exponent below 1e-6 and from 1e21 */
};

/* "NaN", "+Inf" and "-Inf" where it is not finite. */
struct str decimal_format(double value, enum decimal_form form, char buf[static DECIMAL_LEN_MAX]);
/* An integer, faster than printf() does it. */
enum { DECIMAL_INTEGER_LEN_MAX = 20 };
struct str decimal_integer(bool is_negative, uint64_t magnitude, char buf[static DECIMAL_INTEGER_LEN_MAX]);
/* As strconv.FormatFloat(value, 'g', -1, 32) writes it, but what is beyond float32 as YAML writes infinity: ".inf",
 * "-.inf". */
struct str decimal_single(double value, char buf[static DECIMAL_LEN_MAX]);

#endif
