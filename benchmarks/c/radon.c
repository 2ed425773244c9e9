/* Log density of the radon model of examples/radon.py and its gradient.
 *
 * q = intercept, uranium effect, floor effect, log sigma_intercept, log sigma_floor, z_intercept[J],
 * z_floor[J], log sigma.  Jacobians and all constants are included.
 *
 * Houses come in any order, `county` naming the county of each; with -DSORTED=1 they come sorted by county and
 * `county` holds where each county starts, so that sums stay in registers.
 */
#include <math.h>

#ifndef J
#define J 85
#endif
#ifndef N
#define N 919
#endif
#ifndef SORTED
#define SORTED 0
#endif

struct data {
    const double *y;       /* N log radon */
    const double *floor;   /* N, 0 or 1 */
    const int *county;     /* N, each 0 .. J-1; or J + 1 starts */
    const double *uranium; /* J */
    double constant;       /* all terms free of q */
};

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const struct data *d = input;
    const double *restrict y = d->y, *restrict x = d->floor, *restrict u = d->uranium;
    const int *restrict county = d->county;
    const double *restrict zi = q + 5, *restrict zf = q + 5 + J;
    const double si = exp(q[3]), sf = exp(q[4]), sigma = exp(q[5 + 2 * J]), weight = 1 / (sigma * sigma);
    double a[J], b[J], ga[J], gb[J], squares = 0, prior = 0;

    for (int j = 0; j < J; j++) {
        a[j] = q[0] + q[1] * u[j] + si * zi[j];
        b[j] = q[2] + sf * zf[j];
        prior += zi[j] * zi[j] + zf[j] * zf[j];
        ga[j] = gb[j] = 0;
    }
#if SORTED
    for (int j = 0; j < J; j++)
        for (int i = county[j]; i < county[j + 1]; i++) {
            double r = y[i] - a[j] - b[j] * x[i];
            squares += r * r;
            ga[j] += r;
            gb[j] += r * x[i];
        }
#else
    for (int i = 0; i < N; i++) {
        int j = county[i];
        double r = y[i] - a[j] - b[j] * x[i];
        squares += r * r;
        ga[j] += r;
        gb[j] += r * x[i];
    }
#endif
    double sum_a = 0, sum_au = 0, sum_az = 0, sum_b = 0, sum_bz = 0;
    for (int j = 0; j < J; j++) {
        double p = weight * ga[j], s = weight * gb[j];
        sum_a += p;
        sum_au += p * u[j];
        sum_az += p * zi[j];
        sum_b += s;
        sum_bz += s * zf[j];
        grad[5 + j] = si * p - zi[j];
        grad[5 + J + j] = sf * s - zf[j];
    }
    grad[0] = sum_a - q[0] / 25;
    grad[1] = sum_au - q[1] / 25;
    grad[2] = sum_b - q[2] / 25;
    grad[3] = si * sum_az + 1 - si * si;
    grad[4] = sf * sum_bz + 1 - sf * sf;
    grad[5 + 2 * J] = weight * squares - N + 1 - sigma * sigma;
    return d->constant - 0.5 * (weight * squares + prior + (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) / 25
                                + si * si + sf * sf + sigma * sigma)
         + q[3] + q[4] + (1 - N) * q[5 + 2 * J];
}
