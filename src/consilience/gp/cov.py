"""`pm.gp.cov`: covariance functions under PyMC's names."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "covariance": "Add BaseCovariance Combination Covariance Exponentiated Kron=KroneckerCovariance Prod",
        "nonstationary": """
            Constant=ConstantCovariance Coregion Gibbs Linear=LinearCovariance Polynomial ScaledCov WarpedInput
            WhiteNoise
        """,
        "stationary": """
            Circular=CircularCovariance Cosine ExpQuad Exponential=ExponentialCovariance Matern12 Matern32 Matern52
            Periodic RatQuad Stationary WrappedPeriodic
        """,
    },
    public=True,
)
