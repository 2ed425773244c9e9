/* An independent normal log density behind the entry signature of generated code; constants[0] is the precision. */
#include <stdint.h>

#ifndef N
#define N 10
#endif

int64_t entry(void *const *inputs, void *const *outputs, void *workspace, void *const *constants)
{
    const double *restrict q = inputs[0], *restrict precision = constants[0];
    double *restrict grad = outputs[1], sum = 0;
    (void)workspace;
    for (int i = 0; i < N; i++) {
        double slope = precision[i] * q[i];
        sum += slope * q[i];
        grad[i] = -slope;
    }
    *(double *)outputs[0] = -0.5 * sum;
    return 0;
}
