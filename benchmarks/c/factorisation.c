/* Log density of a factorisation of ratings and its gradient: y ~ N(U[u] . V[v], sigma).
 *
 * q = U[P][K], V[F][K], log sigma.  Jacobians and all constants are included.
 */
#include <math.h>

struct data {
    const double *y;    /* N ratings */
    const long *person; /* N, each 0 .. P-1 */
    const long *film;   /* N, each 0 .. F-1 */
    double constant;    /* all terms free of q */
};

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const struct data *d = input;
    const double *restrict U = q, *restrict V = q + P * K;
    double *restrict gu = grad, *restrict gv = grad + P * K;
    const double sigma = exp(q[(P + F) * K]), weight = 1 / (sigma * sigma);
    double squares = 0, prior = 0;

    for (long i = 0; i < (P + F) * K; i++) {
        prior += q[i] * q[i];
        grad[i] = -q[i];
    }
    for (long i = 0; i < N; i++) {
        const double *a = U + d->person[i] * K, *b = V + d->film[i] * K;
        double *ga = gu + d->person[i] * K, *gb = gv + d->film[i] * K, r = d->y[i];
        for (int k = 0; k < K; k++)
            r -= a[k] * b[k];
        squares += r * r;
        r *= weight;
        for (int k = 0; k < K; k++)
            ga[k] += r * b[k];
        for (int k = 0; k < K; k++)
            gb[k] += r * a[k];
    }
    grad[(P + F) * K] = weight * squares - N + 1 - sigma * sigma;
    return d->constant - 0.5 * (weight * squares + prior + sigma * sigma) + (1 - N) * q[(P + F) * K];
}
