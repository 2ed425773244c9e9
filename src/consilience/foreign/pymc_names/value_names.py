"""Names of a model's values and variables, and seeds, as `pymc.util` has them.

In: names, variables, seeds. Out: names, variables, generators. Outside: points and arrays (`points`), data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions import context
from consilience.distributions.context import DEFAULT
from consilience.errors import ModelError
from consilience.errors import ParameterError as ParameterValueError
from consilience.model.model import modelcontext

if TYPE_CHECKING:
    from consilience.ir import Node
    from consilience.model.model import Model

__all__ = [
    "UNSET",
    "ParameterValueError",
    "RandomGenerator",
    "RandomSeed",
    "RandomState",
    "_get_seeds_per_chain",
    "check_dist_not_registered",
    "get_default_varnames",
    "get_random_generator",
    "get_transformed_name",
    "get_untransformed_name",
    "get_value_vars_from_user_vars",
    "get_var_name",
    "is_transformed_name",
    "makeiter",
    "str_for_dist",
    "str_for_potential_or_deterministic",
]  # fmt: skip

RandomSeed: TypeAlias = int | Sequence[int] | npt.NDArray[Any] | None
RandomState: TypeAlias = RandomSeed | np.random.RandomState | np.random.Generator
RandomGenerator: TypeAlias = RandomSeed | np.random.Generator | np.random.BitGenerator


UNSET: Final = DEFAULT
"""The default of a parameter for which None means something, as `transform=`."""


def is_transformed_name(name: str) -> bool:
    """Whether `name` is that of the value on the unconstrained line of a variable, as `sigma_log__`."""
    return name.endswith("__") and name.count("_") >= 3


def get_untransformed_name(name: str) -> str:
    """The variable of a value on the unconstrained line: `sigma` of `sigma_log__`.

    Raises ValueError for a name of another form.
    """
    if not is_transformed_name(name):
        raise ValueError(
            f"{name!r} is no name of a transformed value, which is that of a variable and its transform's."
        )
    return name.removesuffix("__").rpartition("_")[0]


def get_transformed_name(name: str, transform: Any) -> str:
    """What the value of the variable `name` is called on the unconstrained line of `transform`."""
    return f"{name}_{transform.name}__"


def get_var_name(var: object) -> str:
    """The name of a variable; a name is its own."""
    return str(getattr(var, "name", var))


def get_default_varnames(var_iterator: Iterable[Any], include_transformed: bool) -> list[Any]:
    """Those of the variables, or names, that results hold: all, or all but values on the unconstrained line."""
    return [var for var in var_iterator if include_transformed or not is_transformed_name(get_var_name(var))]


def get_value_vars_from_user_vars(vars: Node | Sequence[Node], model: Model) -> list[Node]:
    """The value variables of a model that stand for these variables; value variables stand for themselves.

    Raises ModelError for what is neither.
    """
    values = [model.rvs_to_values.get(var, var) for var in makeiter(vars)]
    known = model.value_vars
    strange = [get_var_name(value) for value in values if not any(value is v for v in known)]
    if strange:
        raise ModelError(f"not random variables of the model: {', '.join(strange)}; it has {[v.name for v in known]}.")
    return values


def check_dist_not_registered(dist: Node, model: Model | None = None) -> None:
    """Raise ModelError if `dist` is a named variable of the model around: a component has to come from `.dist()`."""
    if context.current_or_none() is not None and any(dist == v for v in modelcontext(model).basic_RVs):
        raise ModelError(f"`{dist.name}` is a variable of the model; components are made by `.dist()`, without a name.")


def makeiter(a: Any) -> Sequence[Any]:
    """Lists and tuples as they are, anything else as the one item of a list."""
    return a if isinstance(a, list | tuple) else [a]


def _get_seeds_per_chain(random_state: RandomState, chains: int) -> Sequence[int] | npt.NDArray[Any]:
    """A seed for each chain: as many as are given, an integer's own for one chain, and drawn ones otherwise.

    Raises ValueError for another number of seeds than of chains.
    """
    if isinstance(random_state, list | tuple | np.ndarray) and np.ndim(random_state):
        if len(random_state) != chains:
            raise ValueError(f"a seed for each of {chains} chains is needed, got {len(random_state)}.")
        return random_state
    if chains == 1 and isinstance(random_state, int | np.integer):
        return (int(random_state),)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**30))
    drawn: dict[int, None] = {}  # which keeps the order, and each seed once
    rng = np.random.default_rng(random_state)
    while len(drawn) < chains:
        drawn[int(rng.integers(2**30))] = None
    return list(drawn)


def str_for_dist(dist: Node, formatting: str = "plain", include_params: bool = True, named_vars: object = None) -> str:
    """A variable in words, as its method `str_repr`; variables know their names, `named_vars` tells nothing more."""
    del named_vars
    return dist.str_repr(formatting, include_params)


def str_for_potential_or_deterministic(
    var: Node,
    formatting: str = "plain",
    include_params: bool = True,
    dist_name: str = "Deterministic",
    named_vars: object = None,
) -> str:
    """The same of an expression with a name, which knows what it is."""
    del dist_name
    return str_for_dist(var, formatting, include_params, named_vars)


def get_random_generator(seed: Any = None, copy: bool = True) -> np.random.Generator:
    """A generator of NumPy from a seed or a generator; with `copy` the one given stays as it is.

    Raises TypeError for a `numpy.random.RandomState`.
    """
    from copy import deepcopy

    if isinstance(seed, np.random.RandomState):
        raise TypeError("a `numpy.random.RandomState` makes no Generator: give a seed, a BitGenerator or a Generator.")
    return np.random.default_rng(deepcopy(seed) if copy else seed)
