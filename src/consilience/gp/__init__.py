"""`pm.gp`: Gaussian processes, exact, latent, and in approximations that scale.

Inputs, covariance and mean functions in, variables of the model and their distributions at new inputs out.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "": "cov hsgp_approx=hilbert_space mean util=numerics",
        "hilbert_space": "HSGP HSGPPeriodic approx_hsgp_hyperparams",
        "inducing_points": "MarginalApprox MarginalSparse",
        "kronecker": "LatentKron MarginalKron",
        "latent": "Latent TP",
        "marginal": "Marginal",
    },
    public=True,
)
