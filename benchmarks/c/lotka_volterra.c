/* Lynx and hare: two equations by the method of Dormand and Prince, M steps of the same length per year, 20 years.
 * q = log theta (4), log sigma (2), log initial state (2). */
#include <math.h>
#ifndef M
#define M 3
#endif
#define YEARS 20
#define N (M * YEARS)

struct data { const double *seen, *first; double constant; };

static const double A[6][6] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
};
static const double B[6] = {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84};
static const double MEAN[4] = {1, 0.05, 1, 0.05}, SD[4] = {0.5, 0.05, 0.5, 0.05};

static inline void f(const double *th, const double *z, double *k)
{
    k[0] = (th[0] - th[1] * z[1]) * z[0];
    k[1] = (-th[2] + th[3] * z[0]) * z[1];
}

/* Stages of a step: their states and derivatives. */
static inline void stages(const double *th, const double *z, double h, double y[6][2], double k[6][2])
{
#pragma GCC unroll 8
    for (int i = 0; i < 6; i++) {
        double u = 0, v = 0;
#pragma GCC unroll 8
        for (int j = 0; j < i; j++) u += A[i][j] * k[j][0], v += A[i][j] * k[j][1];
        y[i][0] = z[0] + h * u;
        y[i][1] = z[1] + h * v;
        f(th, y[i], k[i]);
    }
}

/* What a seen number adds: log-normal around z with log deviation s; derivatives by z and by log s. */
static inline double seen(double log_x, double z, double s, double log_s, double *by_z, double *by_log_s)
{
    double r = (log_x - log(z)) / s;
    *by_z += r / (s * z);
    *by_log_s += r * r - 1;
    return -0.5 * r * r - log_s;
}

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const struct data *d = input;
    static double z[N + 1][2];
    double th[4], s[2], y[6][2], k[6][2], gt[4] = {0}, gs[2] = {0}, g[2] = {0}, h = 1.0 / M, total = d->constant;
    for (int i = 0; i < 4; i++) th[i] = exp(q[i]);
    for (int i = 0; i < 2; i++) s[i] = exp(q[4 + i]), z[0][i] = exp(q[6 + i]);
    for (int t = 0; t < N; t++) {
        stages(th, z[t], h, y, k);
        for (int i = 0; i < 2; i++) {
            double slope = 0;
#pragma GCC unroll 8
            for (int j = 0; j < 6; j++) slope += B[j] * k[j][i];
            z[t + 1][i] = z[t][i] + h * slope;
        }
    }
    for (int t = N - 1; t >= 0; t--) {
        double r[6][2];
        if (t % M == M - 1)
            for (int i = 0; i < 2; i++)
                total += seen(d->seen[2 * (t / M) + i], z[t + 1][i], s[i], q[4 + i], &g[i], &gs[i]);
        stages(th, z[t], h, y, k);
#pragma GCC unroll 8
        for (int i = 5; i >= 0; i--) {
            double a = B[i] * g[0], b = B[i] * g[1];
#pragma GCC unroll 8
            for (int j = i + 1; j < 6; j++) a += A[j][i] * r[j][0], b += A[j][i] * r[j][1];
            a *= h;
            b *= h;
            double u = y[i][0], v = y[i][1];
            r[i][0] = a * (th[0] - th[1] * v) + b * th[3] * v;
            r[i][1] = -a * th[1] * u + b * (th[3] * u - th[2]);
            gt[0] += a * u;
            gt[1] -= a * u * v;
            gt[2] -= b * v;
            gt[3] += b * u * v;
        }
        for (int i = 0; i < 6; i++) g[0] += r[i][0], g[1] += r[i][1];
    }
    for (int i = 0; i < 2; i++) {
        total += seen(d->first[i], z[0][i], s[i], q[4 + i], &g[i], &gs[i]);
        double a = q[4 + i] + 1, b = q[6 + i] - log(10);
        total -= 0.5 * a * a + 0.5 * b * b;
        grad[4 + i] = gs[i] - a;
        grad[6 + i] = g[i] * z[0][i] - b;
    }
    for (int i = 0; i < 4; i++) {
        double r = (th[i] - MEAN[i]) / SD[i];
        total += q[i] - 0.5 * r * r;
        grad[i] = th[i] * (gt[i] - r / SD[i]) + 1;
    }
    return total;
}
