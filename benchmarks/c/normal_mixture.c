/* Log density of a mixture of normal distributions and its gradient:
 * w ~ Dirichlet(1), mu ~ N(0, 3), sigma ~ half-N(2), y ~ sum_k w_k N(mu_k, sigma_k).
 *
 * q = centred logarithms of w but the last, mu, log sigma.  Rows are taken in strips; the innermost loops run along
 * rows, where gcc vectorises them, exp and log included.
 */
#include <math.h>

#ifndef N
#define N 1000
#endif
#ifndef K
#define K 3
#endif
#define STRIP 128

struct data {
    const double *y; /* N */
    double constant; /* all terms free of q */
};

struct component {
    double height, mu, precision;  /* log(w / sigma), mean, 1 / sigma */
    double share, first, second;   /* sums of the responsibility times 1, z and z^2 - 1 */
};

static inline double strip(struct component *restrict parts, const double *restrict y, int rows)
{
    double term[K][STRIP], logp = 0;
    for (int i = 0; i < rows; i++) {
        double high = -INFINITY, total = 0;
#pragma GCC unroll 64
        for (int k = 0; k < K; k++) {
            double z = (y[i] - parts[k].mu) * parts[k].precision;
            term[k][i] = parts[k].height - 0.5 * z * z;
            high = fmax(high, term[k][i]);
        }
#pragma GCC unroll 64
        for (int k = 0; k < K; k++) {
            term[k][i] = exp(term[k][i] - high);
            total += term[k][i];
        }
        double inverse = 1 / total;
#pragma GCC unroll 64
        for (int k = 0; k < K; k++)
            term[k][i] *= inverse;
        logp += high + log(total);
    }
    for (int k = 0; k < K; k++) {
        double share = 0, first = 0, second = 0, mu = parts[k].mu, precision = parts[k].precision;
        for (int i = 0; i < rows; i++) {
            double z = (y[i] - mu) * precision, r = term[k][i];
            share += r;
            first += r * z;
            second += r * (z * z - 1);
        }
        parts[k].share += share;
        parts[k].first += first;
        parts[k].second += second;
    }
    return logp;
}

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const struct data *d = input;
    const double *restrict mu = q + K - 1, *restrict log_sigma = q + 2 * K - 1;
    double z[K], w[K], sum = 0, total = 0, logp = d->constant;
    struct component parts[K];
    for (int k = 0; k < K - 1; k++) {
        z[k] = q[k];
        sum += q[k];
    }
    z[K - 1] = -sum;
    for (int k = 0; k < K; k++)
        total += w[k] = exp(z[k]);
    double log_total = log(total);
    logp -= K * log_total;
    for (int k = 0; k < K; k++) {
        w[k] /= total;
        parts[k] = (struct component){z[k] - log_total - log_sigma[k], mu[k], exp(-log_sigma[k]), 0, 0, 0};
    }
    int start = 0;
    for (; start + STRIP <= N; start += STRIP)
        logp += strip(parts, d->y + start, STRIP);
    if (start < N)
        logp += strip(parts, d->y + start, N - start);
    double last = parts[K - 1].share - (N + K) * w[K - 1];
    for (int k = 0; k < K; k++) {
        double sigma2 = exp(2 * log_sigma[k]);
        logp -= 0.5 * (mu[k] * mu[k] / 9 + sigma2 / 4) - log_sigma[k];
        if (k < K - 1)
            grad[k] = parts[k].share - (N + K) * w[k] - last;
        grad[K - 1 + k] = parts[k].first * parts[k].precision - mu[k] / 9;
        grad[2 * K - 1 + k] = parts[k].second - sigma2 / 4 + 1;
    }
    return logp;
}
