/* Kalman filter of D states seen as the sum of the first and the third: log density of N numbers, and its gradient.
 * q = transition (D, D), variance of the states' noise. */
#include <math.h>

#ifndef N
#define N 500
#endif
#define D 4

struct data { const double *y; double constant; };
static const double h[D] = {1, 0, 1, 0};

double logp_grad(const double *restrict q, double *restrict grad, const void *restrict input)
{
    const double *restrict y = ((const struct data *)input)->y;
    const double(*A)[D] = (const double(*)[D])q, noise = q[D * D];
    static double M[N + 1][D], P[N + 1][D][D], Q[N][D][D], R[N], S[N];
    double total = 0;
    for (int i = 0; i < D; i++) {
        M[0][i] = 0;
        for (int j = 0; j < D; j++) P[0][i][j] = i == j;
    }
    for (int t = 0; t < N; t++) {
        double m[D], AP[D][D], k[D], s = 1, r = y[t];
        for (int i = 0; i < D; i++) {
            m[i] = 0;
            for (int j = 0; j < D; j++) m[i] += A[i][j] * M[t][j];
            for (int j = 0; j < D; j++) {
                AP[i][j] = 0;
                for (int l = 0; l < D; l++) AP[i][j] += A[i][l] * P[t][l][j];
            }
        }
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                double x = i == j ? noise : 0;
                for (int l = 0; l < D; l++) x += AP[i][l] * A[j][l];
                Q[t][i][j] = x;
            }
        for (int i = 0; i < D; i++) {
            k[i] = 0;
            for (int j = 0; j < D; j++) k[i] += Q[t][i][j] * h[j];
        }
        for (int i = 0; i < D; i++) s += h[i] * k[i], r -= h[i] * m[i];
        for (int i = 0; i < D; i++) k[i] /= s;
        for (int i = 0; i < D; i++) {
            M[t + 1][i] = m[i] + k[i] * r;
            for (int j = 0; j < D; j++) P[t + 1][i][j] = Q[t][i][j] - k[i] * k[j] * s;
        }
        R[t] = r;
        S[t] = s;
        total -= 0.5 * (log(s) + r * r / s);
    }
    double gm[D] = {0}, gP[D][D] = {{0}}, gA[D][D] = {{0}}, gq = 0;
    for (int t = N - 1; t >= 0; t--) {
        double k[D], gk[D], gu[D], X[D][D], Y[D][D], gs, gr, s = S[t], r = R[t];
        for (int i = 0; i < D; i++) {
            k[i] = 0;
            for (int j = 0; j < D; j++) k[i] += Q[t][i][j] * h[j];
            k[i] /= s;
        }
        gs = -0.5 * (1 / s - r * r / (s * s));
        gr = -r / s;
        for (int i = 0; i < D; i++) {
            double both = 0;
            for (int j = 0; j < D; j++) both += (gP[i][j] + gP[j][i]) * k[j];
            gk[i] = gm[i] * r - both * s;
            gs -= 0.5 * both * k[i];
            gr += gm[i] * k[i];
        }
        for (int i = 0; i < D; i++) gs -= gk[i] * k[i] / s;
        for (int i = 0; i < D; i++) gm[i] -= h[i] * gr, gu[i] = gk[i] / s + h[i] * gs;
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) gP[i][j] += gu[i] * h[j];
        for (int i = 0; i < D; i++) gq += gP[i][i];
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                X[i][j] = 0;
                for (int l = 0; l < D; l++) X[i][j] += (gP[i][l] + gP[l][i]) * A[l][j];
            }
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                double x = gm[i] * M[t][j];
                for (int l = 0; l < D; l++) x += X[i][l] * P[t][l][j];
                gA[i][j] += x;
            }
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                Y[i][j] = 0;
                for (int l = 0; l < D; l++) Y[i][j] += gP[i][l] * A[l][j];
            }
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                gP[i][j] = 0;
                for (int l = 0; l < D; l++) gP[i][j] += A[l][i] * Y[l][j];
            }
        double old[D];
        for (int i = 0; i < D; i++) {
            old[i] = 0;
            for (int j = 0; j < D; j++) old[i] += A[j][i] * gm[j];
        }
        for (int i = 0; i < D; i++) gm[i] = old[i];
    }
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) grad[i * D + j] = gA[i][j];
    grad[D * D] = gq;
    return total;
}
