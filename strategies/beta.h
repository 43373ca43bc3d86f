/* beta.h: the distribution function of the beta distribution. */
#ifndef STRATEGIES_BETA_H
#define STRATEGIES_BETA_H

/* The probability of a value up to x: the regularized incomplete beta function I_x(a, b), for a, b > 0. To about 10
 * digits, with a and b up to 1e5; the same on every machine with the same C library. */
double beta_cdf(double a, double b, double x);

#endif
