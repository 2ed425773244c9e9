/* GARCH(1,1): sum of -log(v)/2 - y^2 / (2 v), v_t = omega + alpha y_(t-1)^2 + beta v_(t-1), v_0 = 1, with its gradient.
 * q = omega, alpha, beta. */
#include <math.h>

#ifndef N
#define N 1000
#endif

struct data { const double *y; double constant; };

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const double *restrict y = ((const struct data *)input)->y;
    const double omega = q[0], alpha = q[1], beta = q[2];
    static double v[N];
    double total = 0, g = 0, go = 0, ga = 0, gb = 0;
    v[0] = 1;
    for (int t = 1; t < N; t++) v[t] = omega + alpha * y[t - 1] * y[t - 1] + beta * v[t - 1];
    for (int t = 0; t < N; t++) total += -0.5 * log(v[t]) - 0.5 * y[t] * y[t] / v[t];
    for (int t = N - 1; t > 0; t--) {
        double w = 1 / v[t];
        g = beta * g - 0.5 * w + 0.5 * y[t] * y[t] * w * w;
        go += g;
        ga += g * y[t - 1] * y[t - 1];
        gb += g * v[t - 1];
    }
    grad[0] = go; grad[1] = ga; grad[2] = gb;
    return total;
}
