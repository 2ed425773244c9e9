/* Forward algorithm of a hidden Markov model in logarithms: K states, values x (N, K), -(x - m)^2 / 2 each.
 * q = log transition (K, K), m (K). */
#include <math.h>

#ifndef N
#define N 500
#endif
#ifndef K
#define K 3
#endif

struct data { const double *x; double constant; };

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const double *restrict x = ((const struct data *)input)->x, *restrict L = q, *restrict m = q + K * K;
    static double g[N][K];
    double G[K], gl[K][K] = {{0}}, gm[K] = {0};
    for (int j = 0; j < K; j++) g[0][j] = -0.5 * (x[j] - m[j]) * (x[j] - m[j]);
    for (int t = 1; t < N; t++)
        for (int j = 0; j < K; j++) {
            double high = g[t - 1][0] + L[j], sum = 0, d = x[t * K + j] - m[j];
            for (int i = 1; i < K; i++) { double s = g[t - 1][i] + L[i * K + j]; high = s > high ? s : high; }
            for (int i = 0; i < K; i++) sum += exp(g[t - 1][i] + L[i * K + j] - high);
            g[t][j] = high + log(sum) - 0.5 * d * d;
        }
    double high = g[N - 1][0], sum = 0;
    for (int j = 1; j < K; j++) high = g[N - 1][j] > high ? g[N - 1][j] : high;
    for (int j = 0; j < K; j++) sum += exp(g[N - 1][j] - high);
    for (int j = 0; j < K; j++) G[j] = exp(g[N - 1][j] - high) / sum;
    for (int t = N - 1; t > 0; t--) {
        double H[K] = {0};
        for (int j = 0; j < K; j++) {
            double d = x[t * K + j] - m[j], base = g[t][j] + 0.5 * d * d;
            gm[j] += G[j] * d;
            for (int i = 0; i < K; i++) {
                double w = G[j] * exp(g[t - 1][i] + L[i * K + j] - base);
                gl[i][j] += w;
                H[i] += w;
            }
        }
        for (int i = 0; i < K; i++) G[i] = H[i];
    }
    for (int j = 0; j < K; j++) {
        grad[K * K + j] = gm[j] + G[j] * (x[j] - m[j]);
        for (int i = 0; i < K; i++) grad[i * K + j] = gl[i][j];
    }
    return high + log(sum);
}
