/* ARMA: errors e_t = y_t - a y_(t-1) - b y_(t-2) - c e_(t-1) - 0.1 e_(t-2); -sum e^2 / 2 and its gradient. q = a, b, c. */
#ifndef N
#define N 1000
#endif

struct data { const double *y; double constant; };

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const double *restrict y = ((const struct data *)input)->y;
    const double a = q[0], b = q[1], c = q[2];
    static double e[N];
    double total = 0, ga = 0, gb = 0, gc = 0, g1 = 0, g2 = 0;
    e[0] = e[1] = 0;
    for (int t = 2; t < N; t++) {
        e[t] = y[t] - a * y[t - 1] - b * y[t - 2] - c * e[t - 1] - 0.1 * e[t - 2];
        total -= 0.5 * e[t] * e[t];
    }
    for (int t = N - 1; t > 1; t--) {
        double g = -e[t] - c * g1 - 0.1 * g2;
        ga -= g * y[t - 1];
        gb -= g * y[t - 2];
        gc -= g * e[t - 1];
        g2 = g1;
        g1 = g;
    }
    grad[0] = ga; grad[1] = gb; grad[2] = gc;
    return total;
}
