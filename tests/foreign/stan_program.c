/* A program with BridgeStan's C interface: y ~ normal(mu, sigma), sigma > 0, and a matrix m[2, 3] of twice the index. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 2
#endif
#ifndef THREADS
#define THREADS "true"
#endif

int bs_major_version = MAJOR, bs_minor_version = 6, bs_patch_version = 1;

typedef struct { int n; double y[100]; } bs_model;

static char *message(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    return strcpy(copy, text);
}

bs_model *bs_model_construct(const char *data, unsigned seed, char **error) {
    const char *at = data ? strstr(data, "\"y\":") : NULL;
    if (!at) {
        if (error) *error = message("variable y not found");
        return NULL;
    }
    bs_model *model = calloc(1, sizeof *model);
    at = strchr(at, '[');
    while (at && *at != ']' && model->n < 100) {
        char *end;
        model->y[model->n++] = strtod(at + 1, &end);
        at = end;
    }
    return model;
}

void bs_model_destruct(bs_model *model) { free(model); }
void bs_free_error_msg(char *text) { free(text); }
const char *bs_name(const bs_model *model) { return "normal_model"; }
const char *bs_model_info(const bs_model *model) { return "Stan version: 2.36.0\n\tSTAN_THREADS=" THREADS "\n"; }
const char *bs_param_unc_names(const bs_model *model) { return "mu,sigma"; }
int bs_param_unc_num(const bs_model *model) { return 2; }
int bs_param_num(const bs_model *model, bool tp, bool gq) { return tp ? 8 : 2; }

const char *bs_param_names(const bs_model *model, bool tp, bool gq) {
    return tp ? "mu,sigma,m.1.1,m.2.1,m.1.2,m.2.2,m.1.3,m.2.3" : "mu,sigma";
}

int bs_param_constrain(const bs_model *model, bool tp, bool gq, const double *free, double *named, void *rng,
                       char **error) {
    named[0] = free[0];
    named[1] = exp(free[1]);
    for (int i = 0; tp && i < 6; i++) named[2 + i] = 10 * (i % 2) + i / 2;
    return 0;
}

int bs_log_density_gradient(const bs_model *model, bool propto, bool jacobian, const double *free, double *value,
                            double *gradient, char **error) {
    if (free[1] > 20) {
        if (error) *error = message("scale is too large");
        return -1;
    }
    double sigma = exp(free[1]), sum = 0, squares = 0;
    for (int i = 0; i < model->n; i++) {
        double z = (model->y[i] - free[0]) / sigma;
        sum += z;
        squares += z * z;
    }
    *value = -0.5 * squares - model->n * free[1] + (jacobian ? free[1] : 0);
    gradient[0] = sum / sigma;
    gradient[1] = squares - model->n + (jacobian ? 1 : 0);
    return 0;
}
