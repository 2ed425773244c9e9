"""`pm.dims`: models in tensors with named dims, after PyMC: `pm.dims.Normal("y", mu, sigma, dims="city")`.

In: parameters and data with dims. Out: variables of the plain model, with their dims. Every distribution of
`consilience.distributions` is here under its name, made from the same declaration when it is first used.
"""

from __future__ import annotations

import typing
from typing import Final

from consilience import distributions
from consilience.distributions.distribution import Distribution as _Distribution
from consilience.first_use import load_on_use as _load_on_use
from consilience.xtensor import XTensorVariable as XTensorVariable
from consilience.xtensor import as_xtensor as as_xtensor
from consilience.xtensor import broadcast as broadcast
from consilience.xtensor import concat as concat
from consilience.xtensor import dot as dot
from consilience.xtensor import full_like as full_like
from consilience.xtensor import linalg as linalg
from consilience.xtensor import math as math
from consilience.xtensor import ones_like as ones_like
from consilience.xtensor import where as where
from consilience.xtensor import xtensor as xtensor
from consilience.xtensor import zeros_like as zeros_like
from consilience.xtensor.distributions import DimDistribution as DimDistribution
from consilience.xtensor.model_variables import Data as Data
from consilience.xtensor.model_variables import Deterministic as Deterministic
from consilience.xtensor.model_variables import Potential as Potential

_NO_DISTRIBUTIONS: Final = {"compile", "draw", "find_constrained_prior", "LKJCholeskyCov"}
_DISTRIBUTIONS: Final = {
    name
    for names in (*distributions.PUBLIC.values(), *distributions.SPELLINGS)
    for name in names.split()
    if name not in _NO_DISTRIBUTIONS
}

__all__ = sorted(
    {
        *_DISTRIBUTIONS, "Data", "Deterministic", "DimDistribution", "Potential", "XTensorVariable", "as_xtensor",
        "broadcast", "concat", "dot", "full_like", "linalg", "math", "ones_like", "where", "xtensor", "zeros_like",
    }
)  # fmt: skip

if typing.TYPE_CHECKING:

    def __getattr__(name: str) -> DimDistribution: ...

else:  # type checkers take every other name for a distribution

    def __getattr__(name: str) -> DimDistribution:
        if name not in _DISTRIBUTIONS:
            raise AttributeError(name)
        plain = getattr(distributions, name)
        assert issubclass(plain, _Distribution)
        found = globals()[name] = DimDistribution(plain)
        return found


_load_on_use(__name__, {}, public=True)
