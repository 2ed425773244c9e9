"""Public functions: log density, tails and quantiles of any measurable node, and joint densities of several.

Nodes and values in, graphs out. How a node's measure is found is the part of `derivation` and its rules.
"""

from __future__ import annotations

import functools
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from consilience.distributions import densities
from consilience.distributions.mathematics import logical_and, where
from consilience.distributions.random_variable import is_random, random_variables
from consilience.distributions.shapes import broadcast
from consilience.errors import DtypeError, ModelError, ShapeError
from consilience.ir import FLOATS, Input, Node
from consilience.ir.arithmetic import plain
from consilience.ir.side_tables import describe, without_sources
from consilience.logprob.derivation import derive
from consilience.logprob.joint import joint
from consilience.logprob.measure import Measure
from consilience.logprob.mixture import written_out
from consilience.logprob.numeric_inverse import numeric_inverses
from consilience.names.absent import elsewhere
from consilience.ops.dtypes import widened
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.shape import broadcast_to

Function = TypeVar("Function", bound=Callable[..., Node])


def _by_names(function: Function) -> Function:
    """The function, which also takes a random variable with named dims and values with theirs."""

    @functools.wraps(function)
    def by_names(rv: Any, value: Any, *rest: Any, **settings: Any) -> Any:
        if plain(rv) is rv:
            return function(rv, value, *rest, **settings)
        return rv.apply_plain(lambda node, at: function(node, at, *rest, **settings), [value])

    return typing.cast(Function, by_names)


@_by_names
def logp(rv: Node, value: TensorLike, warn_rvs: bool | None = None, *, numeric_inverse: bool = False) -> Node:
    """The log density (or log mass) of a random variable at a value, for each event; -inf outside the support.

    rv: A random variable, or an expression of random variables whose density can be derived.
    value: Broadcasts against it.
    warn_rvs: Accepted for compatibility with PyMC; has no effect.
    numeric_inverse: Whether functions without a closed inverse, such as x + tanh(x), are inverted numerically where
        their derivative shows that they are monotone; the result costs some 40 values of the function.
    Returns: One number per event. A vector of a multivariate distribution is one event, and so are elements that depend
        on each other, such as those of a cumulative sum. If a parameter is out of range, evaluation raises
        ParameterError.
    Raises MissingRuleError: If no density can be derived; the message names the operation without a rule.
    See draw: Independent draws of variables.
    See sample_prior_predictive: Draw all variables from the prior.
    Notes: All random variables of an expression are random, those of a model too: the density of ``s +
        pm.Normal.dist()`` does not depend on the value of a variable ``s``. For the density given ``s`` make it a
        parameter, ``pm.CustomDist.dist(s, dist=lambda s, size: s + pm.Normal.dist(size=size))``, or give its value to
        `conditional_logp`. Parameters of the variables in an expression always are given.
    >>> pm.logp(pm.Normal.dist(0.0, 1.0), 0.5).eval().round(4).item()
    -1.0439
    """
    del warn_rvs
    if is_random(_node(rv)):
        return densities.logp(rv, value)
    measure = _measure(rv, numeric_inverse)
    with without_sources():
        return _requiring(measure, measure.logp(_value(measure, value)))


@_by_names
def logcdf(rv: Node, value: TensorLike, warn_rvs: bool | None = None, *, numeric_inverse: bool = False) -> Node:
    """The log of P(X <= value), for each element. Otherwise as `logp`.

    rv : ...
    value: Value at which the function is computed.
    warn_rvs, numeric_inverse : ...
    Returns: Of the shape of `value` and of the parameters, broadcast; NaN for parameters out of range.
    See logccdf: Log P(X > value).
    See icdf: The quantile of a probability.
    See logp: Log density (or log mass) at a value.
    >>> pm.logcdf(pm.Normal.dist(0.0, 1.0), 0.5).eval().round(4).item()
    -0.3689
    """
    del warn_rvs
    if is_random(_node(rv)):
        return densities.logcdf(rv, value)
    measure = _measure(rv, numeric_inverse)
    with without_sources():
        return _requiring(measure, measure.logcdf(_value(measure, value)))


@_by_names
def logccdf(rv: Node, value: TensorLike, warn_rvs: bool | None = None, *, numeric_inverse: bool = False) -> Node:
    """Log P(X > value), elementwise. As `logp` otherwise.

    rv : ...
    value: Value at which the function is computed.
    warn_rvs, numeric_inverse : ...
    Returns: Of the shape of `value` and of the parameters, broadcast; NaN for parameters out of range.
    See icdf: The quantile of a probability.
    See logp: Log density (or log mass) at a value.
    See logcdf: Log P(X <= value).
    >>> pm.logccdf(pm.Normal.dist(0.0, 1.0), 0.5).eval().round(4).item()
    -1.1759
    """
    del warn_rvs
    if is_random(_node(rv)):
        return densities.logccdf(rv, value)
    measure = _measure(rv, numeric_inverse)
    with without_sources():
        return _requiring(measure, measure.logccdf(_value(measure, value)))


@_by_names
def icdf(rv: Node, value: TensorLike, warn_rvs: bool | None = None, *, numeric_inverse: bool = False) -> Node:
    """The quantile function at a probability, for each element; NaN outside [0, 1]. Otherwise as `logp`.

    rv : ...
    value: Value at which the function is computed.
    warn_rvs, numeric_inverse : ...
    Returns: Of the shape of `value` and of the parameters, broadcast.
    See find_constrained_prior: Parameters of a prior with given mass in an interval.
    >>> pm.icdf(pm.Normal.dist(0.0, 1.0), 0.975).eval().round(4).item()
    1.96
    """
    del warn_rvs
    if is_random(_node(rv)):
        return densities.icdf(rv, value)
    measure = _measure(rv, numeric_inverse)
    with without_sources():
        given = as_tensor(value)
        given = given if given.dtype in FLOATS else cast(given, "float64")
        inside = logical_and(apply("ge", given, 0.0), apply("le", given, 1.0))
        result = where(inside, measure.quantile(where(inside, given, 0.5)), float("nan"))
        return _requiring(measure, result)


def conditional_logp(
    rv_values: Mapping[Node, TensorLike], warn_rvs: bool | None = None, *, numeric_inverse: bool = False
) -> Factors:
    """The factors of the joint density of several nodes, each given the values of the others.

    rv_values: Values by node, which may be random variables and expressions of them.
    warn_rvs: Accepted for compatibility with PyMC; has no effect.
    numeric_inverse: As for `logp`.
    Returns: Log densities, as `logp` gives them, in which the other nodes are replaced by their values; the sum of all
        elements is the joint log density. The keys are the value variables, as in PyMC, or the nodes where values are
        numbers or expressions; `factors[node]` works in either case.
    Raises MissingRuleError: Where a factor cannot be derived, or two nodes share their randomness.
    Raises ModelError: Where two nodes have the same value variable.
    See logp: The density of one variable.
    >>> x = pm.Normal.dist()
    >>> y = pm.Normal.dist(x, 1.0)
    >>> factors = pm.conditional_logp({x: 0.0, y: 1.0})
    >>> [factors[node].eval().round(4).item() for node in (x, y)]
    [-0.9189, -1.4189]
    """
    del warn_rvs
    keys = {n: v if isinstance(v, Node) and isinstance(v.op, Input) else n for n, v in rv_values.items()}
    twice = next((value for value, count in Counter(keys.values()).items() if count > 1), None)
    if twice is not None:
        raise ModelError(
            f"conditional_logp: {describe(twice)} is the value of several variables; give each variable its own value "
            "variable, such as `x.clone()`."
        )
    values = {node: as_tensor(value) for node, value in rv_values.items()}
    values = dict(zip(written_out([_node(node) for node in values]), values.values(), strict=True))
    with numeric_inverses(numeric_inverse):
        found = joint(values, lambda measure, value: _requiring(measure, measure.logp(_value(measure, value))))
    return Factors(keys, found.densities)


class Factors(dict[Node, Node]):
    """Log densities by the values that they are at; the variables lead to them, too."""

    def __init__(self, keys: Mapping[Node, Node], results: Iterable[Node]) -> None:
        super().__init__(zip(keys.values(), results, strict=True))
        self._keys = dict(keys)

    def __missing__(self, variable: Node) -> Node:
        if variable not in self._keys:
            raise KeyError(variable)
        return super().__getitem__(self._keys[variable])


def _measure(given: Node, numeric_inverse: bool) -> Measure:
    with numeric_inverses(numeric_inverse):
        return derive(written_out([_node(given)])[0])


def _node(given: Node) -> Node:
    if not isinstance(given, Node):
        raise TypeError(elsewhere(given) or f"a random variable or an expression of some was needed, got {given!r}.")
    return given


def _value(measure: Measure, given: TensorLike) -> Node:
    """A value in an element type of densities, with all elements of one event."""
    value, node = as_tensor(given), measure.node
    if value.dtype == "key":
        raise DtypeError(f"a random key is no value of {describe(node)}.")
    if node.dtype in FLOATS and (value.dtype not in FLOATS or value.dtype == "float16"):
        value = cast(value, node.dtype)
    else:
        value = cast(value, "int64" if value.dtype == "bool" else widened(value.dtype))
    if not measure.event_axes:
        return value
    rank = -min(measure.event_axes)
    if value.ndim < rank:
        raise ShapeError(f"a value of rank {rank} or more was needed for {describe(node)}, got {describe(value)}.")
    return broadcast_to(value, broadcast([node.static_shape, value.static_shape], "a value"))


def _requiring(measure: Measure, result: Node) -> Node:
    """The result, whose computation fails for parameters out of range.

    Parameters that are other sources have the values of these, and give NaN.
    """
    for rv in measure.sources:
        if not any(parent in measure.sources for parent in random_variables(rv.inputs)):
            result = densities.requiring(rv, result)
    return result
