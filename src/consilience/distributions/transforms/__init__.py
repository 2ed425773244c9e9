"""Maps between supports and unconstrained space, and the table that chooses one."""

from consilience.distributions.transforms.elementwise import Interval, Log, LogOdds, log_odds
from consilience.distributions.transforms.elementwise import log_transform as log
from consilience.distributions.transforms.ordered import Ordered, ordered
from consilience.distributions.transforms.registry import BIJECTIONS, default_transform, to_unconstrained
from consilience.distributions.transforms.simplex import Simplex, simplex
from consilience.distributions.transforms.transform import Chain, Transform, chain, label

# PyMC's spelling.
logodds = log_odds

__all__ = [
    "BIJECTIONS", "Chain", "Interval", "Log", "LogOdds", "Ordered", "Simplex", "Transform", "chain",
    "default_transform", "label", "log", "log_odds", "logodds", "ordered", "simplex", "to_unconstrained",
]  # fmt: skip
