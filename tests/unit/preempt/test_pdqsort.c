/* Equal elements have the order of Go's sort.Slice: the hashes below were recorded from it, on the same inputs. */
#include "support/test.h"

#include "preempt/pdqsort.h"

static const size_t sizes[] = { 0, 1, 2, 12, 13, 30, 49, 50, 51, 110, 500, 2000 };
enum { SIZES = ARRAY_SIZE(sizes), LONGEST = 2000 };

enum pattern { SPREAD, FEW, RISING, FALLING, CONSTANT, SAW, PIPE, STRAYS, NONSENSE, PATTERNS };

static const char *const pattern_names[PATTERNS] = {
    "random",
    "random with four values",
    "rising",
    "falling",
    "constant",
    "sawtooth",
    "organ pipe",
    "rising with strays",
    "a comparison that is always true",
};

static const uint32_t want[PATTERNS][SIZES] = {
    { 0x811c9dc5, 0x050c5d1f, 0xeb741d64, 0xffc758d5, 0x96bf4611, 0xe011347c, 0x329d82d9, 0x33297c94,
      0xa36eab8a, 0x25b0ee02, 0x33e51d69, 0x9a5f439f },
    { 0x811c9dc5, 0x050c5d1f, 0x1076963a, 0x04c24c95, 0x00d9f68f, 0xbf12d23c, 0x17fe8c5b, 0x06569e14,
      0xd07df074, 0xb50ef296, 0xf5cd4309, 0x0defbcc7 },
    { 0x811c9dc5, 0x050c5d1f, 0x1076963a, 0x4a509959, 0x51e160cf, 0x7ad8f1f6, 0x1f6c285f, 0xe543a52a,
      0x017ce4c8, 0x794aa986, 0x64f8d4e1, 0x3d3635d5 },
    { 0x811c9dc5, 0x050c5d1f, 0xeb741d64, 0xbb50ae99, 0x7384b87f, 0x62fbcafc, 0x0fe1143f, 0xdaed4e64,
      0x2dbc7074, 0x4ed368dc, 0xa81b4e59, 0xebd909c5 },
    { 0x811c9dc5, 0x050c5d1f, 0x1076963a, 0x4a509959, 0x51e160cf, 0x7ad8f1f6, 0x1f6c285f, 0xe543a52a,
      0x017ce4c8, 0x794aa986, 0x64f8d4e1, 0x3d3635d5 },
    { 0x811c9dc5, 0x050c5d1f, 0x1076963a, 0x22dca04f, 0xf2e687a3, 0x6f71b844, 0xe652b41d, 0xc031a144,
      0x5096159c, 0x0e86f65a, 0x741e1997, 0x6009df5f },
    { 0x811c9dc5, 0x050c5d1f, 0x1076963a, 0xee93ce8f, 0x2bf3a64b, 0xf2da6d5c, 0x0e993a35, 0xdf199bd2,
      0x2717b4a0, 0xdc5ad084, 0x79410feb, 0x41d5f299 },
    { 0x811c9dc5, 0x050c5d1f, 0x1076963a, 0x3212b7ef, 0xc1292e61, 0x4ae08b98, 0xc5551e67, 0xb08eb5b4,
      0x376656f6, 0xecf4798c, 0x60ceabe7, 0xbd97c7e7 },
    { 0x811c9dc5, 0x050c5d1f, 0xeb741d64, 0xbb50ae99, 0x464a06bb, 0x8506bb90, 0xe72db531, 0xaea111c4,
      0x8f4ed80a, 0x8303e9be, 0x170c1033, 0x067371df },
};

struct item {
    int key;
    uint32_t index;
};

static int key_of(enum pattern pattern, int i, int len, uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    switch (pattern) {
    case SPREAD:
        return (int)(*state >> 8) % 1000000;
    case FEW:
        return (int)(*state >> 8) % 4;
    case RISING:
        return i;
    case FALLING:
        return len - i;
    case CONSTANT:
        return 7;
    case SAW:
        return i % 5;
    case PIPE:
        return i < len / 2 ? i : len - i;
    case STRAYS:
        return i % 17 == 3 ? len - i : i;
    default:
        return -1;
    }
}

static bool less(const void *a, const void *b)
{
    return ((const struct item *)a)->key < ((const struct item *)b)->key;
}

static bool always(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return true;
}

static void check(enum pattern pattern, size_t size)
{
    static struct item items[LONGEST];
    static void *order[LONGEST];
    uint32_t state = (uint32_t)size + pattern, hash = 2166136261;
    for (size_t i = 0; i < size; i++) {
        items[i] = (struct item){ key_of(pattern, (int)i, (int)size, &state), (uint32_t)i };
        order[i] = &items[i];
    }
    pdqsort(order, size, pattern == NONSENSE ? always : less);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((struct item *)order[i])->index) * 16777619;
    for (size_t i = 1; i < size && pattern != NONSENSE; i++)
        assert_false(less(order[i], order[i - 1]));
    size_t s = 0;
    while (sizes[s] != size)
        s++;
    if (hash != want[pattern][s])
        fail_msg("%s, %zu items: equals are not where they belong", pattern_names[pattern], size);
}

static void test_as_go_sorts(void **state)
{
    (void)state;
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (size_t s = 0; s < SIZES; s++)
            check((enum pattern)pattern, sizes[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_go_sorts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
