/* Timing loops: one caller for hand-written C, for generated code and for LAPACK, so that all are measured alike. */
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef double plain(const double *q, double *grad, const void *data);
typedef int64_t entry(void *const *inputs, void *const *outputs, void *workspace, void *const *constants);
typedef void potrf(char *uplo, int *n, double *a, int *lda, int *info);
typedef void potrs(char *uplo, int *n, int *nrhs, double *a, int *lda, double *b, int *ldb, int *info);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Seconds for `calls` calls of a hand-written density. */
double time_plain(plain *f, const double *q, double *grad, const void *data, long calls)
{
    double start = now();
    for (long i = 0; i < calls; i++)
        f(q, grad, data);
    return now() - start;
}

/* Seconds for `calls` calls of generated code; negative when a call reports a status. */
double time_entry(entry *f, void *const *inputs, void *const *outputs, void *workspace, void *const *constants,
                  long calls)
{
    int64_t status = 0;
    double start = now();
    for (long i = 0; i < calls; i++)
        status |= f(inputs, outputs, workspace, constants);
    double seconds = now() - start;
    return status ? -1 : seconds;
}

/* Seconds for `passes` reads of `n` doubles, with as many sums in flight as hide the latency of addition. */
double time_read(const double *x, long n, long passes, double *sink)
{
    double sums[64] = {0}, start = now();
    for (long pass = 0; pass < passes; pass++)
        for (long i = 0; i + 64 <= n; i += 64)
            for (int j = 0; j < 64; j++)
                sums[j] += x[i + j];
    for (int j = 0; j < 64; j++)
        *sink += sums[j];
    return now() - start;
}

/* Seconds for `calls` times what a Gaussian log density of n points and its gradient need of LAPACK: the
 * Cholesky factor of a, the inverse from it, one solve.  parts[0..2] get the seconds of each; copies of a are not counted. */
double time_gaussian(potrf *factor, potrf *invert, potrs *solve, int n, const double *a, const double *b, double *work,
                     double *x, long calls, double *parts)
{
    char lower = 'L';
    int one = 1, info, failed = 0;
    parts[0] = parts[1] = parts[2] = 0;
    for (long i = 0; i < calls; i++) {
        memcpy(work, a, sizeof(double) * n * n);
        memcpy(x, b, sizeof(double) * n);
        double t0 = now();
        factor(&lower, &n, work, &n, &info);
        failed |= info;
        double t1 = now();
        solve(&lower, &n, &one, work, &n, x, &n, &info);
        failed |= info;
        double t2 = now();
        invert(&lower, &n, work, &n, &info);
        failed |= info;
        double t3 = now();
        parts[0] += t1 - t0;
        parts[1] += t3 - t2;
        parts[2] += t2 - t1;
    }
    return failed ? -1 : parts[0] + parts[1] + parts[2];
}
