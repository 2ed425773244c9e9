"""Variational inference: distributions fitted to a posterior by stochastic gradients.

A model in; approximations out, which are sampled from like chains.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "approximation": "Approximation Empirical FullRank LowRankNormal MeanField",
        "flow": "NormalizingFlow",
        "inference": "Inference",
        "methods": "ADVI ASVGD FullRankADVI LowRankADVI NFVI SVGD fit sample_approx",
        "optimizers": """
            adadelta adagrad adagrad_window adam adamax momentum natural_gradient nesterov_momentum rmsprop sgd
        """,
    },
    public=True,
)
