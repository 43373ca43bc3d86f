/* Any text: a valid quantity satisfies the arithmetic of quantities. */
#include "fuzz/fuzz.h"

#include "api/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Two texts, separated by a space, so that there is something to compare. */
    struct str text = { (const char *)data, (uint32_t)size };
    ptrdiff_t cut = str_find(text, ' ');
    struct str first = cut < 0 ? text : str_slice(text, 0, (size_t)cut);
    struct str second = cut < 0 ? STR("1") : str_slice(text, (size_t)cut + 1, size);
    struct quantity a = { 0 }, b = { 0 };
    if (quantity_parse(first, &a) < 0 || quantity_parse(second, &b) < 0)
        return 0;
    must(a.nano < 1000000000 && b.nano < 1000000000);
    must(quantity_cmp(a, a) == 0);
    int order = quantity_cmp(a, b);
    must((order > 0) == (quantity_cmp(b, a) < 0));
    if (order <= 0)
        must(quantity_value(a) <= quantity_value(b) && quantity_milli_value(a) <= quantity_milli_value(b));
    must(quantity_is_zero(a) == (quantity_cmp(a, (struct quantity){ 0 }) == 0));
    must(quantity_cmp(quantity_add(a, b), quantity_add(b, a)) == 0);
    must(quantity_cmp(quantity_sub(a, a), (struct quantity){ 0 }) == 0);
    struct quantity rounded = quantity_round_to_milli(a);
    must(rounded.nano % 1000000 == 0);
    must(quantity_cmp(quantity_round_to_milli(rounded), rounded) == 0);
    return 0;
}
