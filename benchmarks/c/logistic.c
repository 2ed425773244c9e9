/* Log density of logistic regression and its gradient: beta ~ N(0, 2.5), y ~ Bernoulli(logit = X beta).
 *
 * Rows are taken in strips that stay in the first cache levels, so memory is read once; the innermost loops
 * run along columns, where gcc vectorises them, exp and log included.
 */
#include <math.h>

#ifndef N
#define N 1000
#endif
#ifndef K
#define K 10
#endif
#define STRIP 128

struct data {
    const double *x; /* N x K, by columns */
    const double *y; /* N, 0 or 1 */
    double constant; /* all terms free of q */
};

static inline double strip(const double *restrict q, double *restrict grad, const double *restrict x,
                           const double *restrict y, int rows)
{
    double r[STRIP], logp = 0;
    for (int i = 0; i < rows; i++) {
        double eta = 0;
#pragma GCC unroll 64
        for (int k = 0; k < K; k++)
            eta += x[(long)k * N + i] * q[k];
        double e = exp(-fabs(eta)), inverse = 1 / (1 + e);
        logp += y[i] * eta - fmax(eta, 0) - log(1 + e);
        r[i] = y[i] - (eta >= 0 ? inverse : e * inverse);
    }
    for (int k = 0; k < K; k++) {
        double sum = 0;
        for (int i = 0; i < rows; i++)
            sum += x[(long)k * N + i] * r[i];
        grad[k] += sum;
    }
    return logp;
}

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const struct data *d = input;
    double logp = d->constant;
    for (int k = 0; k < K; k++) {
        grad[k] = -q[k] / 6.25;
        logp -= 0.5 * q[k] * q[k] / 6.25;
    }
    int start = 0;
    for (; start + STRIP <= N; start += STRIP)
        logp += strip(q, grad, d->x + start, d->y + start, STRIP);
    if (start < N)
        logp += strip(q, grad, d->x + start, d->y + start, N - start);
    return logp;
}
