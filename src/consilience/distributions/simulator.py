"""Distributions known by simulation alone, for approximate Bayesian computation.

A function that simulates data in; draws of it, and a random log density out: minus the distance between data and one
simulation. Source: S. A. Sisson, Y. Fan, M. M. Tanaka (2007), "Sequential Monte Carlo without likelihoods".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.custom import CustomDist
from consilience.distributions.generator import GraphGenerator
from consilience.distributions.random_variable import fresh_key
from consilience.errors import DtypeError, ParameterError, ShapeError
from consilience.ir import Node, TensorType, constant, constant_value
from consilience.ops import Item
from consilience.ops.python_call import PythonCall, PythonFunction
from consilience.ops.random import draw
from consilience.ops.shape import as_shape, concatenate, length_of, reshape
from consilience.record import Record
from consilience.transforms.vectorize.signature import parse_signature

Array = npt.NDArray[Any]

DISTANCES: Final[Mapping[str, Callable[[Array, Array, Array], Array]]] = {
    "gaussian": lambda epsilon, observed, simulated: -0.5 * ((observed - simulated) / epsilon) ** 2,
    "laplace": lambda epsilon, observed, simulated: -np.abs((observed - simulated) / epsilon),
}
STATISTICS: Final[Mapping[str, Callable[[Array], Array]]] = {
    "identity": lambda values: values,
    "sort": lambda values: np.sort(values) if values.ndim else values,
    "mean": np.mean,
    "median": np.median,
}


class Simulator(CustomDist):
    """Data that can be simulated and have no known density; sampled by `pm.sample_smc(kernel=pm.smc.MH)`.

    fn (callable): Function (rng, *parameters, size) -> simulated data of the variable's shape, in NumPy; `rng` is a
        `numpy.random.Generator`, `size` the shape without the axes of an event.
    *unnamed_params (object): Parameters that the function gets behind the generator.
    params (sequence, optional): The parameters as one sequence, in place of giving them one by one.
    distance (str or callable, default 'gaussian'): "gaussian", -((s(y) - s(x)) / epsilon)² / 2; "laplace", -|s(y) -
        s(x)| / epsilon; or a function of NumPy arrays (epsilon, s(y), s(x)) -> log density of the statistics s(y) of
        the data given those of a simulation x, the sum of what it gives.
    sum_stat (str or callable, default 'identity'): The statistics s: "identity", "sort" (along the last axis), "mean",
        "median", or a function of an array.
    epsilon (object, default 1.0): Scale of the distance, positive; a number or an array like the statistics.
    signature (str, optional): As for `CustomDist`.
    ndim_supp (int, optional): As for `CustomDist`.
    ndims_params (sequence of int, optional): As for `CustomDist`.
    dtype (str, default 'float64'): As for `CustomDist`.
    class_name (str, default 'Simulator'): As for `CustomDist`.
    **unknown (object): Other keywords; unknown ones are refused by name.

    Notes
    -----
    The log density is random: every evaluation simulates anew. Step methods of `pm.sample` do not work with it.

    >>> def simulated(rng, mu, size=None):
    ...     return rng.normal(mu, 1.0, size)
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0.0, 2.0)
    ...     y = pm.Simulator("y", simulated, mu, sum_stat="sort", observed=[1.1, 0.4, 0.9])
    >>> [variable.name for variable in model.observed_RVs]
    ['y']
    """

    @classmethod
    def dist(  # type: ignore[override]  # what is given before the parameters
        cls,
        fn: Callable[..., Any],
        *unnamed_params: Any,
        params: Sequence[Any] | None = None,
        distance: str | Callable[..., Any] = "gaussian",
        sum_stat: str | Callable[..., Any] = "identity",
        epsilon: Any = 1.0,
        shape: Any = None,
        size: Any = None,
        signature: str | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        dtype: str = "float64",
        class_name: str = "Simulator",
        **unknown: Any,
    ) -> Node:
        """A variable outside any model; see the class."""
        if unknown:
            raise TypeError(f"{class_name} has no argument `{next(iter(unknown))}`; parameters are given by position.")
        if not callable(fn):
            raise TypeError(f"{class_name}: `fn` must be a function (rng, *parameters, size), got {fn!r}.")
        if params is not None and unnamed_params:
            raise TypeError(f"{class_name}: parameters are given one by one, or as `params`, not both.")
        given = tuple(unnamed_params if params is None else params)
        simulation = Simulation(
            fn,
            class_name,
            _chosen(class_name, "distance", distance, DISTANCES),
            _chosen(class_name, "sum_stat", sum_stat, STATISTICS),
            _scale(class_name, epsilon),
            (ndim_supp or 0) if signature is None else len(parse_signature(signature)[1][0]),
            dtype,
        )
        return super().dist(
            *given,
            shape=shape,
            size=size,
            logp=simulation.logp,
            random=simulation.random,
            signature=signature,
            ndim_supp=ndim_supp,
            ndims_params=ndims_params,
            dtype=dtype,
            class_name=class_name,
        )


class Simulation(Record, eq=False):
    """A simulating function and how its results are compared with data; see `Simulator`.

    `rank`: of an event.
    """

    fn: Callable[..., Any]
    title: str
    distance: Callable[..., Any]
    statistic: Callable[..., Any]
    epsilon: Array
    rank: int
    dtype: str

    def random(self, *parameters: Node, rng: GraphGenerator, size: Sequence[Any]) -> Node:
        """Simulated data as a graph of a random key."""
        of = TensorType(self.dtype, as_shape(size))
        return self._called(self._drawn, of, rng.key, as_vector(of.shape), *parameters)

    def logp(self, value: Node, *parameters: Node) -> Node:
        """Minus the distance between a value and one simulation, drawn with a fresh key."""
        return self._called(self._compared, TensorType("float64", ()), fresh_key(), value, *parameters)

    def _called(self, function: Callable[..., Any], of: TensorType, key: Node, *operands: Node) -> Node:
        name = getattr(self.fn, "__name__", self.title)
        return call_with_seed(_Identified(function, self.identity), name, of, key, *operands)

    @property
    def identity(self) -> str:
        """A description that is the same in every process."""
        functions = (PythonFunction(f, "").identity for f in (self.fn, self.distance, self.statistic))
        return f"{' '.join(functions)} {self.epsilon.tolist()} {self.rank} {self.dtype}"

    def _simulated(self, uniforms: Array, shape: tuple[int, ...], parameters: Sequence[Array]) -> Array:
        """One simulation."""
        found = np.asarray(
            self.fn(generator_of(uniforms), *(p[()] for p in parameters), shape[: len(shape) - self.rank])
        )
        if found.shape != shape:
            raise ShapeError(
                f"{self.title}: `fn` must give an array of the variable's shape {shape}, got shape {found.shape}."
            )
        return found

    def _drawn(self, uniforms: Array, lengths: Array, *parameters: Array) -> Array:
        return self._simulated(uniforms, tuple(int(n) for n in lengths), parameters)

    def _compared(self, uniforms: Array, value: Array, *parameters: Array) -> Array:
        simulated = self._simulated(uniforms, value.shape, parameters)
        first, second = (np.asarray(self.statistic(x)) for x in (value, simulated))
        if self.epsilon.ndim and self.epsilon.shape != first.shape:
            raise ShapeError(
                f"{self.title}: `epsilon` must be a number, or have the shape {first.shape} of `sum_stat`, got "
                f"{self.epsilon.shape}."
            )
        found = self.distance(self.epsilon, first, second)
        if isinstance(found, Node):
            raise DtypeError(f"{self.title}: `distance` and `sum_stat` are functions of NumPy arrays, not of tensors.")
        logp = np.asarray(found, float).sum()
        return np.asarray(-np.inf if np.isnan(logp) else logp)


def call_with_seed(function: Callable[..., Any], name: str, of: TensorType, key: Node, *operands: Node) -> Node:
    """The array that a function gives of two random numbers, for `generator_of`, and of arrays."""
    call = PythonCall(PythonFunction(function, name), (of,))
    return Node(Item(0), Node(call, draw("random_uniform", key, (2,)), *operands))


def generator_of(uniforms: Array) -> np.random.Generator:
    """NumPy's generator, started by 106 random bits."""
    return np.random.Generator(np.random.Philox(key=(uniforms * 2.0**53).astype(np.uint64)))


def as_vector(lengths: Sequence[Any]) -> Node:
    """Lengths as a tensor, for functions of arrays."""
    return concatenate([reshape(length_of(n), (1,)) for n in lengths]) if lengths else constant(np.zeros(0, int))


class _Identified(Record, eq=False):
    """A function with a description that is the same in every process."""

    function: Callable[..., Any]
    identity: str

    def __call__(self, *arrays: Array) -> Array:
        found: Array = self.function(*arrays)
        return found


def _chosen(title: str, argument: str, given: Any, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    if callable(given):
        function: Callable[..., Any] = given
        return function
    if not isinstance(given, str) or given not in known:
        names = ", ".join(repr(name) for name in known)
        raise ValueError(f"{title}: `{argument}` must be {names} or a function of NumPy arrays, got {given!r}.")
    return known[given]


def _scale(title: str, given: Any) -> Array:
    value = constant_value(given) if isinstance(given, Node) else given
    if value is None:
        raise TypeError(f"{title}: `epsilon` must be a number or an array; what is random or exchanged is none.")
    array = np.array(value, dtype=float)
    if not (array > 0).all() or not np.isfinite(array).all():
        raise ParameterError(f"{title}: `epsilon` must be positive and finite, got {given!r}.")
    return array
