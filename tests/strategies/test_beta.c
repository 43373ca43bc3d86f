/* test_beta.c: the distribution function of strategies/beta.c against values that are known exactly, or to 20 digits by
 * arithmetic of arbitrary precision. */
#include "../../strategies/beta.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    double a, b, x, want, tolerance;
} cases[] = {
    { 1, 1, 0.3, 0.3, 1e-14 },          /* x */
    { 2, 3, 0.4, 0.5248, 1e-14 },       /* 6x^2 - 8x^3 + 3x^4 */
    { 5, 1, 0.9, 0.59049, 1e-14 },      /* x^5 */
    { 1, 5, 0.1, 0.40951, 1e-14 },      /* 1 - (1-x)^5 */
    { 0.5, 0.5, 0.25, 1.0 / 3, 1e-14 }, /* 2/pi asin(sqrt(x)) */
    { 0.5, 0.5, 0.75, 2.0 / 3, 1e-14 },
    { 20, 30, 0.4, 0.50770019965764787826, 1e-12 },
    { 100, 2, 0.99, 0.73206468254645900986, 1e-12 },
    { 0.01, 0.02, 0.5, 0.66671946104127219717, 1e-12 },
    { 2.24, 0.96, 0.375, 0.105455033942533, 1e-12 },
    { 1e4, 1e4, 0.501, 0.61135004785776843636, 1e-9 },
    { 3, 4, 0, 0, 0 },
    { 3, 4, 1, 1, 0 },
    { 3, 4, -1, 0, 0 },
    { 3, 4, 2, 1, 0 },
};

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double found = beta_cdf(cases[i].a, cases[i].b, cases[i].x);
        if (!(fabs(found - cases[i].want) <= cases[i].tolerance))
            fail_msg("I_%g(%g, %g) is %.17g, expected %.17g", cases[i].x, cases[i].a, cases[i].b, found,
                     cases[i].want);
    }
}

/* I_x(a, b) = 1 - I_(1-x)(b, a), and it rises with x. */
static void test_symmetry(void **state)
{
    (void)state;
    for (double a = 0.05; a < 200; a *= 2.7)
        for (double b = 0.05; b < 200; b *= 3.1) {
            double before = 0;
            for (int i = 1; i < 64; i++) {
                double x = i / 64.0, found = beta_cdf(a, b, x);
                assert_true(fabs(found - (1 - beta_cdf(b, a, 1 - x))) < 1e-11);
                assert_true(found >= before - 1e-11 && found <= 1 + 1e-11);
                before = found;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_symmetry) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
