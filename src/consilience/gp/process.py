"""What Gaussian processes share: mean and covariance functions, sums, evaluation at a point, and conditioning.

The conditional distribution of a process at new inputs, given values with noise at others, follows from the Cholesky
factor of the covariance of those values (Rasmussen and Williams 2006, algorithm 2.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.distributions.random_variable import RandomVariable
from consilience.errors import LinearAlgebraError, ModelError, ParameterError, ShapeError, warn
from consilience.gp.covariance import BaseCovariance
from consilience.gp.mean import MeanFunction, ZeroMean
from consilience.gp.numerics import JITTER_DEFAULT, checked_jitter, stabilize
from consilience.ir import Node, topological
from consilience.ir.leaves import tensor_input
from consilience.ir.lengths import substitute
from consilience.ir.side_tables import describe
from consilience.model import Model, modelcontext
from consilience.model.keywords import naming
from consilience.tensor import TensorLike

JITTER_LIMIT = 1e-3
"""The largest multiple of the mean variance that `predict` adds to a diagonal before it gives up."""


class GaussianProcess:
    """Base of processes with a mean function and a covariance function.

    Parameters
    ----------
    cov_func : object, optional
        A covariance function; for type checkers anything, as `tensor * function` is a tensor to them.

    Notes
    -----
    `a + b` is the process of the sum, whose parts can be asked for afterwards with `given={"gp": a + b, …}`.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            setattr(cls, "__init__", naming({})(vars(cls)["__init__"]))  # noqa: B010  # as type checkers refuse the other

    def __init__(self, *, mean_func: MeanFunction | None = None, cov_func: Any = None) -> None:
        if not isinstance(cov_func, BaseCovariance):
            raise ParameterError(
                f"{type(self).__name__} needs `cov_func`, a covariance function of `pm.gp.cov`, got {cov_func!r}."
            )
        mean = ZeroMean() if mean_func is None else mean_func
        if not isinstance(mean, MeanFunction):
            raise ParameterError(f"`mean_func` must be a mean function of `pm.gp.mean`, got {mean_func!r}.")
        self.mean_func, self.cov_func = mean, cov_func
        self._given: dict[str, Any] = {}

    def __add__(self, other: Self) -> Self:
        if type(self) is not type(other):
            raise ParameterError(f"a {type(self).__name__} process and a {type(other).__name__} cannot be added.")
        return type(self)(mean_func=self.mean_func + other.mean_func, cov_func=self.cov_func + other.cov_func)

    def given_of(self, given: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
        """What is conditioned on, from `given=` or from what this process was observed with."""
        own = {"sigma" if name == "noise" else name: value for name, value in (given or {}).items()}
        unknown = sorted(own.keys() - {*names, "gp"})
        if unknown:
            raise ParameterError(f"`given` takes {', '.join([*names, 'gp'])}, got {unknown[0]!r}.")
        found = {**self._given, **own}
        missing = [name for name in names if name not in found]
        if missing:
            raise ModelError(
                f"nothing is known to condition on: declare the process first in the model, or give {missing[0]!r} in "
                "`given=`."
            )
        return {"gp": self, **found}


def vector(values: TensorLike, X: Node, name: str) -> Node:
    """Values of a process as float64[n]. ShapeError where their number is not that of the rows of X."""
    node = pt.as_tensor(values)
    node = node if node.dtype == "float64" else node.astype("float64")
    count, rows = node.static_shape[0] if node.ndim == 1 else None, X.static_shape[0]
    if node.ndim != 1 or (isinstance(count, int) and isinstance(rows, int) and count != rows):
        raise ShapeError(
            f"{name} must be a vector with one value per row of X, of which there are {rows}, got {describe(node)}."
        )
    return node


def conditioned(
    total: GaussianProcess,
    part: GaussianProcess,
    X: Node,
    values: Node,
    noise: Node | None,
    Xnew: Node,
    jitter: float,
    diag: bool = False,
) -> tuple[Node, Node]:
    """Mean and covariance (or variances) of `part` at Xnew, given values of `total` plus noise at X."""
    covariance = total.cov_func.full(X)
    factor = pt.linalg.cholesky(stabilize(covariance if noise is None else covariance + noise, jitter))
    across = pt.linalg.solve_triangular(factor, part.cov_func.full(X, Xnew), lower=True)
    residual = pt.linalg.solve_triangular(factor, values - total.mean_func(X), lower=True)
    mean = part.mean_func(Xnew) + pt.dot(pt.matrix_transpose(across), residual)
    if diag:
        return mean, part.cov_func.diag(Xnew) - pt.sum(pt.square(across), axis=0)
    return mean, part.cov_func.full(Xnew) - pt.dot(pt.matrix_transpose(across), across)


def evaluated(
    graphs: Callable[[float], Sequence[Node]], jitter: float, scale: Node, point: Mapping[str, Any] | None, model: Any
) -> list[npt.NDArray[np.float64]]:
    """Values of graphs, made for a jitter, with the variables of the model at a point.

    `scale`: a number that jitter is measured by: the mean variance.

    Where a covariance has no Cholesky factor, the jitter grows tenfold up to `JITTER_LIMIT` times `scale`, and a
    warning says how much was taken. Raises LinearAlgebraError beyond.
    """
    owner = modelcontext(model)
    jitter = checked_jitter(jitter)
    (typical,) = at_point([scale], point, owner)
    limit = max(jitter, JITTER_LIMIT * float(typical))
    tried = jitter
    while True:
        try:
            found = at_point(graphs(tried), point, owner)
        except LinearAlgebraError as error:
            larger = max(10.0 * tried, JITTER_DEFAULT * float(typical))
            if larger > limit:
                raise LinearAlgebraError(
                    f"the covariance matrix is singular, also with {tried:.1e} added to its diagonal: are points "
                    "duplicated without noise, or is the lengthscale much longer than the inputs?"
                ) from error
            tried = larger
            continue
        if tried > jitter:
            warn(
                f"the covariance matrix is singular within rounding; {tried:.1e} was added to its diagonal in place "
                f"of {jitter:.1e}."
            )
        return found


def at_point(graphs: Sequence[Node], point: Mapping[str, Any] | None, model: Model) -> list[npt.NDArray[np.float64]]:
    """Values of graphs with the free variables of the model at a point, by their names; at its start for None."""
    reached = topological(graphs, stop=lambda node: isinstance(node.op, RandomVariable))
    needed = [node for node in reached if isinstance(node.op, RandomVariable)]
    variables = {node: name for name, node in model.named.items()}
    if point is None:
        expressions = model.replace_rvs_by_values(needed)
        start = model.compile_fn(expressions, inputs=model.value_vars)(model.initial_point()) if needed else []
        values = dict(zip(needed, start, strict=True))
    else:
        names = {node: variables.get(node) or str(node.name) for node in needed}
        absent = [name for name in names.values() if name not in point]
        if absent:
            raise ModelError(f"the point lacks `{absent[0]}`, which the process depends on; it has {sorted(point)}.")
        values = {node: np.asarray(point[name], node.dtype) for node, name in names.items()}
    for node, value in values.items():
        wanted = node.static_shape
        if all(isinstance(length, int) for length in wanted) and value.shape != wanted:
            raise ShapeError(f"`{node.name}` has the shape {wanted}, and the point gives it the shape {value.shape}.")
    slots = {node: tensor_input(node.dtype, value.shape) for node, value in values.items()}
    compiled = pt.function(list(slots.values()), substitute(list(graphs), slots), on_unused_input="ignore")
    return [np.asarray(found) for found in compiled(*values.values())]
