/* taints.c: tolerations against taints. An empty key or effect of a toleration stands for any. */
#include "api/taints.h"

/* A number in canonical form: no plus, no leading zeros, no "-0". */
static bool parse_canonical(struct str text, int64_t *ret)
{
    struct str digits = text.len && text.ptr[0] == '-' ? str_slice(text, 1, text.len) : text;
    if (!digits.len || digits.ptr[0] == '+' || digits.ptr[0] == '-' || (digits.ptr[0] == '0' && text.len > 1))
        return false;
    return str_to_int64(text, ret);
}

static bool compares(const struct toleration *toleration, const struct taint *taint)
{
    int64_t bound, value;
    if (!parse_canonical(toleration->value, &bound) || !parse_canonical(taint->value, &value))
        return false;
    return str_eq(toleration->operator, STR("Lt")) ? value < bound : value > bound;
}

bool toleration_tolerates_taint(const struct toleration *toleration, const struct taint *taint,
                                bool comparison_operators)
{
    if (toleration->effect.len && !str_eq(toleration->effect, taint->effect))
        return false;
    if (toleration->key.len && !str_eq(toleration->key, taint->key))
        return false;
    struct str op = toleration->operator;
    if (op.len == 0 || str_eq(op, STR("Equal")))
        return str_eq(toleration->value, taint->value);
    if (str_eq(op, STR("Exists")))
        return true;
    return comparison_operators && (str_eq(op, STR("Lt")) || str_eq(op, STR("Gt"))) &&
           compares(toleration, taint);
}

bool tolerations_tolerate_taint(const struct toleration *tolerations, uint32_t len, const struct taint *taint,
                                bool comparison_operators)
{
    for (uint32_t i = 0; i < len; i++)
        if (toleration_tolerates_taint(&tolerations[i], taint, comparison_operators))
            return true;
    return false;
}

const struct taint *taints_find_untolerated(const struct taint *taints, uint32_t taints_len,
                                            const struct toleration *tolerations, uint32_t tolerations_len,
                                            bool (*is_relevant)(const struct taint *),
                                            bool comparison_operators)
{
    for (uint32_t i = 0; i < taints_len; i++) {
        if (is_relevant && !is_relevant(&taints[i]))
            continue;
        if (!tolerations_tolerate_taint(tolerations, tolerations_len, &taints[i], comparison_operators))
            return &taints[i];
    }
    return NULL;
}

bool taint_is_hard(const struct taint *taint)
{
    return str_eq(taint->effect, STR(TAINT_NO_SCHEDULE)) || str_eq(taint->effect, STR(TAINT_NO_EXECUTE));
}
