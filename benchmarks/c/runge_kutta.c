/* A system of four equations by the method of Runge and Kutta: N steps of 0.01; sum of squares of every 100th state.
 * q = theta (4), initial state (4). */
#ifndef N
#define N 1000
#endif
#define H 0.01

struct data { double constant; };

static inline void f(const double *th, const double *z, double *k)
{
    k[0] = th[0] * z[0] - th[1] * z[0] * z[1];
    k[1] = -th[2] * z[1] + th[3] * z[0] * z[1];
    k[2] = -z[2] + 0.1 * z[0];
    k[3] = -z[3] + 0.1 * z[1];
}

static inline void back(const double *th, const double *z, const double *g, double *r, double *gt)
{
    r[0] = g[0] * (th[0] - th[1] * z[1]) + g[1] * th[3] * z[1] + 0.1 * g[2];
    r[1] = -g[0] * th[1] * z[0] + g[1] * (th[3] * z[0] - th[2]) + 0.1 * g[3];
    r[2] = -g[2];
    r[3] = -g[3];
    gt[0] += g[0] * z[0];
    gt[1] -= g[0] * z[0] * z[1];
    gt[2] -= g[1] * z[1];
    gt[3] += g[1] * z[0] * z[1];
}

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const double *th = q;
    static double z[N + 1][4];
    double k1[4], k2[4], k3[4], k4[4], a2[4], a3[4], a4[4], total = 0, G[4] = {0}, gt[4] = {0};
    for (int i = 0; i < 4; i++) z[0][i] = q[4 + i];
    for (int t = 0; t < N; t++) {
        f(th, z[t], k1);
        for (int i = 0; i < 4; i++) a2[i] = z[t][i] + H / 2 * k1[i];
        f(th, a2, k2);
        for (int i = 0; i < 4; i++) a3[i] = z[t][i] + H / 2 * k2[i];
        f(th, a3, k3);
        for (int i = 0; i < 4; i++) a4[i] = z[t][i] + H * k3[i];
        f(th, a4, k4);
        for (int i = 0; i < 4; i++) z[t + 1][i] = z[t][i] + H / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
        if (t % 100 == 0) for (int i = 0; i < 4; i++) total += z[t + 1][i] * z[t + 1][i];
    }
    for (int t = N - 1; t >= 0; t--) {
        double g[4], r4[4], r3[4], r2[4], r1[4];
        if (t % 100 == 0) for (int i = 0; i < 4; i++) G[i] += 2 * z[t + 1][i];
        f(th, z[t], k1);
        for (int i = 0; i < 4; i++) a2[i] = z[t][i] + H / 2 * k1[i];
        f(th, a2, k2);
        for (int i = 0; i < 4; i++) a3[i] = z[t][i] + H / 2 * k2[i];
        f(th, a3, k3);
        for (int i = 0; i < 4; i++) a4[i] = z[t][i] + H * k3[i], g[i] = H / 6 * G[i];
        back(th, a4, g, r4, gt);
        for (int i = 0; i < 4; i++) g[i] = H / 3 * G[i] + H * r4[i];
        back(th, a3, g, r3, gt);
        for (int i = 0; i < 4; i++) g[i] = H / 3 * G[i] + H / 2 * r3[i];
        back(th, a2, g, r2, gt);
        for (int i = 0; i < 4; i++) g[i] = H / 6 * G[i] + H / 2 * r2[i];
        back(th, z[t], g, r1, gt);
        for (int i = 0; i < 4; i++) G[i] += r4[i] + r3[i] + r2[i] + r1[i];
    }
    for (int i = 0; i < 4; i++) grad[i] = gt[i], grad[4 + i] = G[i];
    return total;
}
