"""The log density of a model on the unconstrained space, as machine code.

A model in; a `ModelDensity` out: the samplers' LogDensity, with ways to name coordinates and to expand draws. `terms`
writes it, `programs` compiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.registry import Bound
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.seeds import hashed
from consilience.elimination.marginal import Sum
from consilience.errors import MissingPackageError, ModelError, ShapeError
from consilience.first_use import face
from consilience.ir import Node
from consilience.model.blocks import Needs, Restricted, is_separable, restricted
from consilience.model.extension import check_fit
from consilience.model.layout import known_shape
from consilience.model.minibatch import has_batches
from consilience.model.observation import check_data, slot_values
from consilience.model.programs import DensityPrograms, kept, values_of_draws
from consilience.model.variables import ModelVariables
from consilience.native.flat_call import NAME, flat_call
from consilience.native.jit import Library

Array = npt.NDArray[Any]


class ModelDensity:
    """A compiled log density. Fulfils `LogDensity`: dimension, entry, constants, workspace.

    layout                         where each variable lies in the position vector
    operations                     estimated floating-point operations of one evaluation with its gradient
    work                           the same, with those of loops and of functions in Python
    chunks                         how many parts of an evaluation threads may take, each its rows; 0 where it is short
    without_gradient               why there is no gradient, which then is NaN; empty where there is one
    simulated                      names of variables whose log density is random; `tempered` alone gives it
    lengths                        values of the symbolic lengths that the data decide
    graph_seconds, compile_seconds time that went into building its graph, and in all
    elsewhere                      number of rows, by name, of data that lie with workers
    batches                        of rows drawn at random. If there are any, the entry takes a second input: their
                                   rows, float64, one batch after the other; here they are the first ones

    Parameters
    ----------
    model : ModelVariables
        What knows the variables of the density.
    programs : DensityPrograms
        Compiled parts.
    bound : Bound
        Data bound to them.
    values : list of ndarray
        Values of the variables.

    See Also
    --------
    model_density : Makes one.

    Examples
    --------
    >>> import consilience as pm
    >>> from consilience.model import model_density
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", shape=3)
    >>> model_density(model).dimension
    3
    """

    elsewhere: Mapping[str, int] = MappingProxyType({})

    def __init__(self, model: ModelVariables, programs: DensityPrograms, bound: Bound, values: list[Array]) -> None:
        self.model = model
        self.layout = programs.layout
        self.dimension = programs.layout.dimension
        self.lengths = programs.lengths
        self.batches = programs.batches
        self.operations = programs.operations
        self.work = programs.work
        self.without_gradient = programs.without_gradient
        self.simulated = programs.simulated
        self.graph_seconds = programs.graph_seconds
        self.compile_seconds = programs.compile_seconds
        self._programs = programs
        self._bound = bound
        self._data = values
        self.entry = bound.entry
        self.constants = bound.constants
        self.workspace = bound.workspace
        # Other backends than machine code run on one thread.
        self.chunks: int = getattr(programs.compiled, "chunks", 0)

    def __call__(self, position: npt.ArrayLike) -> tuple[float, npt.NDArray[np.float64]]:
        """Log density and gradient at a position, float64 (dimension,)."""
        point = np.ascontiguousarray(position, dtype=float)
        if point.shape != (self.dimension,):
            raise ShapeError(f"a position of {self.dimension} coordinates was needed, got shape {point.shape}.")
        rows = [np.arange(float(b.length)) for b in self.batches]
        given = [(point[None], True), *([(np.concatenate(rows), False)] if rows else [])]
        (logp, gradient_values), status = self._bound.map(given, 1)
        if status or not np.isfinite(logp[0]):
            return (-np.inf if status or np.isnan(logp[0]) else float(logp[0])), gradient_values[0]
        return float(logp[0]), gradient_values[0]

    @property
    def integrated(self) -> dict[str, str]:
        """Variables that are integrated out and drawn again, by name, and how, in words."""
        return {one.variable.name: one.kind for one in self._programs.terms.sums if not isinstance(one, Sum)}

    def why_whole(self) -> str:
        """Why threads can take no part of an evaluation, where `chunks` is 0."""
        from consilience.model.joined_rows import why_whole  # said to who asks for threads in vain

        return why_whole(self.model, self._programs.terms)

    def of_terms(self, numbers: Sequence[int]) -> Bound:
        """The sum of some of the terms and its gradient, of a position; they are numbered as in `graph`."""
        return self._programs.chosen(tuple(numbers)).bind(self._data)

    def row_terms(self, names: Sequence[str]) -> list[int]:
        """Numbers of the terms that are sums over the rows of these data; an error where rows are joined."""
        from consilience.model.row_terms import row_terms  # of shards alone

        return row_terms(self.model, self._programs.terms, [self.model.data[name] for name in names])

    def likewise(self, model: ModelVariables) -> ModelDensity:
        """The density of another model of the same data, which lie where these do."""
        return model_density(model)

    def rows_elsewhere(self) -> dict[str, str]:
        """Digests by name of what the density depends on and the model does not hold: rows on workers."""
        return {}

    def notes(self) -> list[str]:
        """What a run is to say of its density at its end; mostly nothing."""
        return []

    def graph(self) -> list[Node]:
        """All terms that are summed, as functions of each variable's unconstrained value and of the data."""
        return self._programs.terms.all

    @property
    def values_of_terms(self) -> list[Node]:
        """The values of the free variables that the terms of `graph` are functions of."""
        return self._programs.terms.values

    @cached_property
    def _flat(self) -> Library:
        if self.batches:
            raise ModelError("a density over a minibatch also needs rows, which a function of positions does not take.")
        return flat_call(self.entry, self.constants, self.workspace, 1, 2)

    @property
    def address(self) -> int:
        """Of a C function of this process, for Rust, Julia, R, Numba and others; valid as long as this object lives.

        `int64_t f(const double *position, double *log_density, double *gradient)`: gives 0, or another number where
        there is no value. `position` and `gradient` hold `dimension` numbers. Any number of threads may call it.
        """
        return self._flat.address(NAME)

    @property
    def cffi(self) -> Any:
        """The function at `address` for cffi.

        Raises
        ------
        MissingPackageError
            Without cffi.
        """
        try:
            cffi = import_module("cffi")
        except ImportError as error:
            raise MissingPackageError("cffi is not there: pip install cffi.") from error
        return cffi.FFI().cast("int64_t (*)(const double *, double *, double *)", self.address)

    @cached_property
    def jax(self) -> Callable[[Any], Any]:
        """The log density as a pure function of JAX's arrays: of a position (dimension,), -inf where there is no value.

        It composes with `jax.jit`, `vmap` and `grad`; see `Function.jax`.
        """
        return self._of_positions("jax")

    @cached_property
    def torch(self) -> Callable[[Any], Any]:
        """The log density of a position (dimension,) on PyTorch's tensors, with derivatives of any order."""
        return self._of_positions("torch")

    def _of_positions(self, engine: str) -> Callable[[Any], Any]:
        if self.batches or self.simulated:
            raise ModelError("a density over a minibatch or of a Simulator is no function of positions alone.")
        made: Callable[[Any], Any] = face(f"ModelDensity.{engine}")(self)
        return made

    def program(self) -> tuple[list[Node], list[Node], dict[Node, Array]]:
        """The graph that is compiled: its inputs (the position first), log density and gradient, and its data."""
        programs = self._programs
        return programs.inputs, programs.outputs, dict(zip(programs.static_slots, self._data, strict=True))

    def values_program(self, deterministics: bool = True) -> tuple[list[Node], dict[str, Node], dict[Node, Array]]:
        """The graph of named values on their own scales: its input, the position; each value by name; its data."""
        programs = self._programs
        names, outputs, slots = programs.values(deterministics)
        return programs.inputs[:1], dict(zip(names, outputs, strict=True)), dict(zip(slots, self._data, strict=True))

    def restricted(self, names: Sequence[str], needs: Needs) -> Restricted:
        """The log density of some variables given all others, compiled when it is first asked for.

        Parameters
        ----------
        names : sequence of str
            Of free variables; none: all.
        needs : Needs
            "logp", "gradient", "table": of all values of every element of one discrete variable, or "normals": means
            of latent normals of one variable; see `blocks`.
        """
        chosen = tuple(names) or tuple(v.name for v in self.model.free)
        return restricted(self._programs.block(chosen, needs).bind(self._data), self.layout, chosen)

    def separable(self, name: str) -> bool:
        """Whether the elements of a discrete variable are independent of each other given all other variables."""
        terms = self._programs.terms
        found = {v.name: (v, value) for v, value in zip(self.model.free, terms.values, strict=True)}
        return is_separable(terms.all, *found[name])

    def expand(
        self, positions: npt.NDArray[np.float64], deterministics: bool | Sequence[str] = True
    ) -> dict[str, Array]:
        """Named values on their own scales for positions (draws, dimension); leading axis draws.

        Parameters
        ----------
        positions : ndarray
            Positions, float64 (draw, coordinate).
        deterministics : bool or sequence of str, default True
            Whether what is `derived` is computed too, or names of values of any kind: then these alone.

        Notes
        -----
        Where a deterministic has no value, as the inverse of a singular matrix, those of the draw are
        NaN, with a warning.
        """
        wanted = deterministics if isinstance(deterministics, bool) else tuple(deterministics)
        names, compiled = self._programs.expander(wanted)
        flat = np.ascontiguousarray(positions, dtype=float)
        given = [(flat, True), *([(hashed(flat), True)] if self._programs.summed else [])]
        results, complete = values_of_draws(compiled.bind(self._data), given, len(flat), names, self.model)
        named = dict(zip(names, results, strict=True))
        return named if complete or wanted is not True else {**named, **self.expand(positions, False)}

    def cut_short(self, positions: npt.NDArray[np.float64]) -> list[str]:
        """Names of summed variables without end of which more values should be summed, at positions (draws, dimension).

        None where two thirds of the values would do at each of them: the density is cut off where all are too few, so
        no draw is wrong, but nearer ones tell that some may be missing.
        """
        if not any(one.settled is not None for one in self._programs.terms.sums):
            return []
        names, compiled = self._programs.settled()
        flat = np.ascontiguousarray(positions, dtype=float)
        found, _ = compiled.bind(self._data).map([(flat, True), (hashed(flat), True)], len(flat))
        return [name for name, enough in zip(names, found, strict=True) if not enough.all()]

    def tempered(
        self, positions: npt.NDArray[np.float64], seeds: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Log densities of the free variables, and of data and potentials, at positions (draws, dimension).

        Parameters
        ----------
        positions : ndarray
            Positions, float64 (draw, coordinate).
        seeds : ndarray, optional
            Int64 (draws,), of the simulations where there are `simulated` variables.

        Raises
        ------
        ModelError
            Where seeds are missing.
        """
        if self.simulated and seeds is None:
            raise ModelError(f"the log density of `{self.simulated[0]}` is random, and this needs a known one.")
        flat = np.ascontiguousarray(positions, dtype=float)
        given = [(flat, True), *([(np.asarray(seeds, np.int64), True)] if self.simulated else [])]
        prior, likelihood = _log_densities(self._bound_parts, given, len(flat))
        return prior, likelihood

    def tempered_slopes(
        self, positions: npt.NDArray[np.float64], power: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """As `tempered`, and the gradient (draws, dimension) of the log of prior times likelihood ** power."""
        flat = np.ascontiguousarray(positions, dtype=float)
        given = [(flat, True), (np.array(power), False)]
        prior, likelihood, slopes = _log_densities(self._bound_slopes, given, len(flat))
        return prior, likelihood, slopes

    @cached_property
    def _bound_parts(self) -> Bound:
        return self._programs.parts().bind(self._data)

    @cached_property
    def _bound_slopes(self) -> Bound:
        return self._programs.slopes().bind(self._data)

    def unconstrained(self, draws: Mapping[str, npt.ArrayLike]) -> npt.NDArray[np.float64]:
        """Positions (draws, dimension) of values on the variables' own scales: what `expand` undoes.

        Parameters
        ----------
        draws : mapping of str to array_like
            For every free variable an array (draws, ...)

        Raises
        ------
        ModelError
            Where a free variable is missing.
        ShapeError
            Where a shape is another.
        """
        arrays: list[tuple[Array, bool]] = []
        count = None
        for s in self.layout.stretches:
            name = s.variable.name
            if name not in draws:
                raise ModelError(f"the draws have no `{name}`; they have {', '.join(map(str, draws)) or 'nothing'}.")
            node = s.variable.node
            array = np.ascontiguousarray(draws[name], dtype=node.dtype)
            shape = known_shape(node.static_shape, self.lengths, name)
            count = (len(array) if array.ndim else 0) if count is None else count
            if array.shape != (count, *shape):
                raise ShapeError(
                    f"the draws of `{name}` have shape {array.shape}, where {count} draws of shape {shape} were needed."
                )
            arrays.append((array, True))
        assert count is not None
        found, status = self._programs.inverse().bind(self._data).map(arrays, count)
        if status:
            raise ModelError("the draws have no positions: some lie outside of their variables' supports.")
        return np.concatenate([f.reshape(count, -1) for f in found], axis=1)

    @property
    def derived(self) -> dict[str, Node]:
        """What follows from a position besides the free variables, by name.

        Deterministics, and what the model `recovers`: variables that are summed out, and deterministics of these.
        A draw of them given all others is a function of the position: its bits are where the random numbers come from.
        """
        return {**self.model.named_deterministics, **self._programs.summed}

    def shape_of(self, derived: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and element type of what is `derived`, for the present data."""
        node = self.model.named[derived]
        return known_shape(node.static_shape, self.lengths, derived), np.dtype(node.dtype)


def _log_densities(code: Bound, given: Sequence[tuple[Array, bool]], count: int) -> list[Array]:
    """Values of outputs for many positions, of which the first two, log densities, are -inf where they have none.

    A density of data that is no number leaves that of the variables as it is.
    """
    found, status = code.map(given, count)
    if status:  # of all together; where the density has no value, it counts as 0, as in chains
        for i in range(count):
            own, failed = code.map([(a[i : i + 1], True) if each else (a, False) for a, each in given], 1)
            for whole, value in zip(found, own, strict=True):
                whole[i] = -np.inf if failed else value[0]
    nowhere = np.isnan(found[0])
    return [
        np.where(nowhere, -np.inf, found[0]),
        np.where(nowhere | np.isnan(found[1]), -np.inf, found[1]),
        *found[2:],
    ]


def model_density(
    model: ModelVariables, backend: str = "llvm", jacobian: bool = True, batches: bool = False
) -> ModelDensity:
    """The model's density for its present data; compiled again only when shapes or the model changed.

    model: The model.
    backend: "llvm" (machine code), "c" (through the system's C compiler) or "reference" (NumPy, slow).
    jacobian: Whether it is the density on the unconstrained scale, or that on the variables' own scales.
    batches: Whether `pm.Minibatch` is allowed, of rows that are an input of the density.
    Returns: A log density of one vector, with its gradient.
    Raises ModelError: Without free variables.
    Raises ShapeError, ParameterError, SupportError: Where the present data do not fit the model.
    See Model: `compile_logp` gives a function of named values.
    >>> import consilience as pm
    >>> from consilience.model import model_density
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", shape=3)
    >>> model_density(model).dimension
    3
    """
    if not model.free:
        raise ModelError(
            "the model has no free variables, so there is nothing to infer; add some, or use `sample_prior_predictive`."
        )
    atomic = [v for v in model.free if distribution_of(v.node).has_atoms()]
    if atomic:
        raise ModelError(
            f"`{atomic[0].name}` ({atomic[0].node.op!r}) has values of positive probability beside a density, such as "
            "the bound of a censored variable, and a sampler that moves along gradients never meets them. Give it data "
            "with `observed=` or `pm.observe`; for values that cannot lie beyond the bounds use `pm.Truncated`."
        )
    observations = [node for v in model.observed for node in (v.node, v.data)]
    batches = batches and has_batches([*observations, *model.named_potentials.values()])
    programs, key, slots, values, versions = _programs(model, backend, jacobian, batches)
    bound = model.cache.get(("bound", *key, *versions))
    if bound is None:
        check_data(model, dict(zip(slots, values, strict=True)))
        for old in [k for k in list(model.cache) if isinstance(k, tuple) and k[:4] == ("bound", *key[:3])]:
            model.cache.pop(old, None)
        bound = model.cache["bound", *key, *versions] = programs.compiled.bind(values)
    return ModelDensity(model, programs, bound, values)


def of_terms(model: ModelVariables, numbers: Sequence[int]) -> Bound:
    """As `ModelDensity.of_terms`, for the data of the moment and no other terms of them."""
    programs, _, slots, values, _ = _programs(model, "llvm", True, False)
    check_data(model, dict(zip(slots, values, strict=True)))
    return programs.chosen(tuple(numbers)).bind(values)


def _programs(
    model: ModelVariables, backend: str, jacobian: bool, batches: bool
) -> tuple[DensityPrograms, tuple[object, ...], list[Node], list[Array], list[int]]:
    """Those for the shapes of the data, their key, the slots of data, their values and versions."""
    slots, values, versions, lengths = slot_values(model)
    check_fit(model, lengths)
    key = (backend, jacobian, batches, tuple(v.shape for v in values))
    made = partial(DensityPrograms, model, slots, lengths, backend, jacobian, batches)
    return kept(model.cache, "density", key, made), key, slots, values, versions
