"""Random numbers without state: every draw is a pure function of a key, a counter and its parameters.

Enters: keys (one i64 each, made by `fold_in`) and counters. Leaves: draws, the same under CPython and
natively. Outside: which key belongs to which chain.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "continuous": """
            random_beta random_exponential random_gamma random_normal random_normals random_uniform
            random_uniforms random_von_mises
        """,
        "discrete": "random_binomial random_conway_maxwell_poisson random_poisson",
        "philox": "fold_in philox random_bits",
    },
)
