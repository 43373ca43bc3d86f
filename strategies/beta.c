/* beta.c: I_x(a, b) by its continued fraction.
 *
 *                x^a (1-x)^b     1    d1   d2
 *     I_x(a,b) = ----------- x  ---  ---  --- ...
 *                 a B(a,b)      1 +  1 +  1 +
 *
 *     d(2m+1) = -(a+m)(a+b+m) x / ((a+2m)(a+2m+1))        d(2m) = m(b-m) x / ((a+2m-1)(a+2m))
 *
 * It converges fast below the mean. Above it, I_x(a, b) = 1 - I_(1-x)(b, a) is used. The fraction is evaluated from the
 * front (the modified method of Lentz): every step multiplies the value by the ratio of numerator and denominator. */
#include "beta.h"

#include <math.h>

enum { STEPS_MAX = 10000 };
#define TINY 1e-300 /* instead of a zero that would be divided by */
#define PRECISION 1e-15

static double not_zero(double number)
{
    return fabs(number) < TINY ? TINY : number;
}

static double term(double a, double b, double x, int number)
{
    double m = number / 2;
    if (number % 2)
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

/* 1 + d1/(1 + d2/(1 + ...)) */
static double fraction(double a, double b, double x)
{
    double value = 1, numerator = 1, denominator = 0;
    for (int i = 1; i < STEPS_MAX; i++) {
        double d = term(a, b, x, i);
        denominator = 1 / not_zero(1 + d * denominator);
        numerator = not_zero(1 + d / numerator);
        double step = numerator * denominator;
        value *= step;
        if (fabs(step - 1) < PRECISION)
            break;
    }
    return value;
}

double beta_cdf(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - beta_cdf(b, a, 1 - x);
    int sign;
    double log_beta = lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
    return exp(a * log(x) + b * log1p(-x) - log_beta) / a / fraction(a, b, x);
}
