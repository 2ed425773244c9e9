"""Maps between supports and unconstrained space, and the table that chooses one."""

from consilience.dist.transforms.elementwise import Interval, Log, LogOdds, log_odds
from consilience.dist.transforms.elementwise import log_transform as log
from consilience.dist.transforms.ordered import Ordered, ordered
from consilience.dist.transforms.registry import BIJECTIONS, default_transform, to_unconstrained
from consilience.dist.transforms.simplex import Simplex, simplex
from consilience.dist.transforms.transform import Chain, Transform, chain, label

# PyMC's spelling.
logodds = log_odds

__all__ = [
    "BIJECTIONS", "Chain", "Interval", "Log", "LogOdds", "Ordered", "Simplex", "Transform", "chain",
    "default_transform", "label", "log", "log_odds", "logodds", "ordered", "simplex", "to_unconstrained",
]  # fmt: skip
