/* Log density of eight schools, non-centred, and its gradient.
 *
 * q = mu, log tau, z[J].  mu ~ N(0, 5), tau ~ half-Cauchy(5), z ~ N(0, 1), y ~ N(mu + tau z, s).
 * The Jacobian of log tau and all constants are included.
 */
#include <math.h>

#ifndef J
#define J 8
#endif

struct data {
    const double *y;         /* J observed effects */
    const double *precision; /* 1 / s^2 */
    double constant;         /* all terms free of q */
};

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const struct data *d = input;
    const double *restrict y = d->y, *restrict precision = d->precision, *restrict z = q + 2;
    const double mu = q[0], tau = exp(q[1]), t2 = tau * tau / 25;
    double squares = 0, sum = 0, sum_z = 0;
    for (int i = 0; i < J; i++) {
        double r = y[i] - mu - tau * z[i], w = r * precision[i];
        squares += r * w + z[i] * z[i];
        sum += w;
        sum_z += w * z[i];
        grad[2 + i] = tau * w - z[i];
    }
    grad[0] = sum - mu / 25;
    grad[1] = tau * sum_z + 1 - 2 * t2 / (1 + t2);
    return d->constant - 0.5 * (squares + mu * mu / 25) - log1p(t2) + q[1];
}
