"""Maps between supports and unconstrained space, and the table that chooses one."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "cholesky": """
            CholeskyCovPacked CholeskyCovTransform CovarianceCholesky LowerTriangular cholesky_cov
            cholesky_cov_packed covariance_cholesky lower_triangular
        """,
        "correlation": """
            CholeskyCorrTransform CorrelationCholesky CorrelationPartials
            CovariancePartialCorrelations cholesky_corr correlation_cholesky correlation_partials
            covariance_partial
        """,
        "elementwise": """
            Circular CircularTransform=Circular Interval IntervalTransform=Interval Log LogExpM1 LogOdds
            LogOddsTransform=LogOdds LogTransform=Log circular log=log_transform log_exp_m1 log_odds log_transform
            logodds=log_odds
        """,
        "ordered": "Ordered multivariate_ordered=ordered ordered univariate_ordered=ordered",
        "registry": "BIJECTIONS default_transform sampled_transform to_unconstrained",
        "simplex": """
            Simplex SimplexSteps SimplexTransform=Simplex SumTo1 ordered_simplex simplex simplex_steps sum_to_1
        """,
        "transform": "Chain ChainedTransform=Chain Transform chain label",
        "unit_vector": "UnitVector unit_vector",
        "zero_sum": "ZeroSumTransform",
    },
    public=True,
)
