/* When a Lease counts as ended: by what was seen of it, and when. */
#include "support/test.h"

#include "live/vacancy.h"

#define S (INT64_C(1000) * 1000000)
#define LEASE(holder, renewed) \
    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"7\"},\"spec\":{" \
    "\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15,\"renewTime\":\"" renewed "\"}}"

/* What a request at that second is answered with; NULL: no answer. The answer takes no time. */
struct look {
    int at_s;
    const char *text;
    bool vacant; /* afterwards */
};

static const struct vacancy_case {
    const char *what;
    struct look looks[8]; /* up to the first without a time, but for the first look */
} cases[] = {
    { "held and renewed",
      { { 100, LEASE("a", "1"), false }, { 114, LEASE("a", "2"), false }, { 128, LEASE("a", "3"), false } } },
    { "its holder ends",
      { { 100, LEASE("a", "1"), false },
        { 114, LEASE("a", "1"), false },
        { 115, LEASE("a", "1"), true },
        { 116, LEASE("b", "2"), false } } },
    { "it is given back",
      { { 100, LEASE("a", "1"), false },
        { 102, LEASE("", "2"), false },
        { 106, LEASE("", "2"), false },
        { 107, LEASE("", "2"), true },
        { 108, LEASE("a", "3"), false } } },
    { "it is deleted",
      { { 100, LEASE("a", "1"), false },
        { 102, "", false },
        { 107, "", true },
        { 108, LEASE("a", "1"), false } } },
    { "it was never there", { { 100, "", false }, { 200, "", false } } },
    { "no answer: what is known counts for five seconds",
      { { 100, LEASE("a", "1"), false },
        { 115, LEASE("a", "1"), true },
        { 119, NULL, true },
        { 120, NULL, false },
        { 121, LEASE("a", "1"), true } } },
    { "no answer for long is no end of the lease",
      { { 100, LEASE("a", "1"), false }, { 200, NULL, false } } },
    { "an answer that is no Lease",
      { { 100, LEASE("a", "1"), false }, { 115, LEASE("a", "1"), true }, { 121, "{}", false } } },
};

static void test_looks(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct vacancy_view view = { 0 };
        for (const struct look *look = cases[i].looks; look->at_s; look++) {
            struct error err;
            if (look->text)
                (void)vacancy_see(&view, str_from(look->text), look->at_s * S, look->at_s * S, &err);
            if (vacancy_is_vacant(&view, look->at_s * S) != look->vacant)
                fail_msg("%s: at %d s", cases[i].what, look->at_s);
        }
        lease_record_release(&view.record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_looks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
