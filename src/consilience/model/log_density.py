"""The log density of a model on the unconstrained space, as machine code.

A model in; a `ModelDensity` (the samplers' LogDensity, with ways to name coordinates and to expand draws)
out. Variables are replaced by transformed stretches of one vector, terms summed, simplified, differentiated.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.backends.registry import Bound, Executable, face
from consilience.backends.registry import backend as find_backend
from consilience.backends.shapes import Lengths, bind_lengths, check_shape_constraints
from consilience.collection import collection_paused
from consilience.distributions.densities import density, density_of_data, supported_density
from consilience.distributions.parameters import parameter_checks
from consilience.distributions.random_variable import RandomVariable, distribution_of, fresh_keys
from consilience.errors import MissingPackageError, MissingRuleError, ModelError, ShapeError
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model import observation
from consilience.model.batches import values_of_draws
from consilience.model.blocks import Needs, Restricted, compile_block, is_separable, restricted, total
from consilience.model.extension import check_fit
from consilience.model.layout import Layout, known_shape, layout_of
from consilience.model.marginal import placeholders, summed_out
from consilience.model.minibatch import batches_of, chosen_by, has_batches, is_rows
from consilience.model.operations import operations
from consilience.model.variables import ModelVariables
from consilience.native.flat_call import NAME, flat_call
from consilience.native.jit import Library
from consilience.ops import cast
from consilience.ops.assertion import require
from consilience.ops.parameter_check import released
from consilience.ops.random import Key, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, concatenate, reshape
from consilience.record import Record
from consilience.rewrite.facts import assume
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

Array = npt.NDArray[Any]
Made = TypeVar("Made")

# Programs of each kind kept per model: one per combination of data shapes seen lately.
KEPT: Final = 8


class Terms(Record):
    """The pieces of a log density over one value node per free variable.

    values         unconstrained value of each free variable
    constrained    the same on its own scale, with every other random variable replaced
    priors         log density of each free variable with its Jacobian, elementwise
    likelihoods    log density of each observed variable, elementwise
    potentials     the potentials; of all that depends on a marginalized variable the first has the joint log density,
                   and the others are 0
    deterministics the named expressions
    """

    values: list[Node]
    constrained: list[Node]
    priors: list[Node]
    likelihoods: list[Node]
    potentials: list[Node]
    deterministics: list[Node]

    @property
    def all(self) -> list[Node]:
        """Everything that is summed."""
        return [*self.priors, *self.likelihoods, *self.potentials]


def terms_of(model: ModelVariables, jacobian: bool = True, sampled: bool = True) -> Terms:
    """Write the model's density in terms of unconstrained values, those of samplers or those that users see."""
    with parameter_checks(model.check_bounds):
        return _terms(model, jacobian, sampled)


def _terms(model: ModelVariables, jacobian: bool, sampled: bool) -> Terms:
    values: list[Node] = []
    # Observed variables stand for their data wherever else they are used.
    data = {v.node: v.data for v in model.observed}
    constrained: dict[Node, Node] = {}
    jacobians: list[Node | None] = []
    for variable in model.free:
        own = variable.node
        transform = variable.sampled if sampled else variable.transform
        title = variable.coordinates if sampled else variable.value.name
        shape = own.static_shape if transform is None else transform.unconstrained_shape(own.static_shape)
        values.append(tensor_input("float64", shape, title))
        # A position that is not finite diverges by its energy, whatever its density.
        value = assume(values[-1], finite=True)
        if transform is None:
            natural, correction = cast(value, own.dtype), None
        else:
            # Bounds of the transform may depend on earlier variables.
            natural, correction = substitute(
                [cast(transform.backward(value), own.dtype), transform.log_jacobian_determinant(value)],
                constrained | data,
            )
        acting = [v.name for v in model.marginalized if v.node in set(topological([natural]))]
        if acting:
            raise ModelError(
                f"the support of `{variable.name}` depends on `{acting[0]}`, which therefore cannot be marginalized."
            )
        constrained[own] = natural
        jacobians.append(correction)
    priors = []
    for variable, correction in zip(model.free, jacobians, strict=True):
        # A value that cannot leave the support needs no check.
        inside = variable.inside and (sampled or variable.sampled == variable.transform)
        formula = density if inside else supported_density
        term = formula(variable.node, constrained[variable.node])
        priors.append(with_jacobian(term, correction) if jacobian and correction is not None else term)
    likelihoods = [
        density_of_data(v.node, v.data) if v.weight is None else v.weight * density_of_data(v.node, v.data)
        for v in model.observed
    ]
    replacements = {**constrained, **data, **placeholders(model.marginalized)}
    groups = [priors, likelihoods, list(model.named_potentials.values()), list(model.named_deterministics.values())]
    done = [released(substitute(group, replacements)) for group in groups]
    if model.marginalized:
        factors, _ = summed_out([*done[0], *done[1], *done[2]], model.marginalized, replacements)
        rest = iter(factors)
        done[:3] = [[next(rest) for _ in group] for group in done[:3]]
    return Terms(values, list(constrained.values()), *done)


def with_jacobian(term: Node, correction: Node) -> Node:
    """A log density plus its Jacobian's, one number per event of the wider of distribution and transform."""
    surplus = term.ndim - correction.ndim
    if surplus > 0:  # a transform of vectors on independent elements
        term = reduce("sum", term, tuple(range(-surplus, 0)))
    elif surplus < 0:
        correction = reduce("sum", correction, tuple(range(surplus, 0)))
    return term + correction


class ModelDensity:
    """A compiled log density. Fulfils `LogDensity`: dimension, entry, constants, workspace.

    layout                         where each variable lies in the position vector
    operations                     estimated floating-point operations of one evaluation with its gradient
    without_gradient               why there is no gradient, which then is NaN; empty where there is one
    simulated                      names of variables whose log density is random; `tempered` alone gives it
    lengths                        values of the symbolic lengths that the data decide
    graph_seconds, compile_seconds time that went into building its graph, and in all
    batches                        of rows drawn at random. If there are any, the entry takes a second input: their
                                   rows, float64, one batch after the other; here they are the first ones
    """

    def __init__(self, model: ModelVariables, built: _Built, bound: Bound, values: list[Array]) -> None:
        self.model = model
        self.layout = built.layout
        self.dimension = built.layout.dimension
        self.lengths = built.lengths
        self.batches = built.batches
        self.operations = built.operations
        self.without_gradient = built.without_gradient
        self.simulated = built.simulated
        self.graph_seconds = built.graph_seconds
        self.compile_seconds = built.compile_seconds
        self._built = built
        self._bound = bound
        self._data = values
        self.entry = bound.entry
        self.constants = bound.constants
        self.workspace = bound.workspace

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

    def graph(self) -> list[Node]:
        """All terms that are summed, as functions of each variable's unconstrained value and of the data."""
        return self._built.terms.all

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

        raises   MissingPackageError without cffi
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
        built = self._built
        return built.inputs, built.outputs, dict(zip(built.static_slots, self._data, strict=True))

    def values_program(self, deterministics: bool = True) -> tuple[list[Node], dict[str, Node], dict[Node, Array]]:
        """The graph of named values on their own scales: its input, the position; each value by name; its data."""
        built = self._built
        names, outputs, slots = built.values(self.model, deterministics)
        return built.inputs[:1], dict(zip(names, outputs, strict=True)), dict(zip(slots, self._data, strict=True))

    def restricted(self, names: Sequence[str], needs: Needs) -> Restricted:
        """The log density of some variables given all others, compiled when it is first asked for.

        names   of free variables; none: all
        needs   "logp", "gradient", or "table": of all values of every element of one discrete variable; see `blocks`
        """
        chosen = tuple(names) or tuple(v.name for v in self.model.free)
        return restricted(self._built.block(chosen, needs).bind(self._data), self.layout, chosen)

    def separable(self, name: str) -> bool:
        """Whether the elements of a discrete variable are independent of each other given all other variables."""
        terms = self._built.terms
        found = {v.name: (v, value) for v, value in zip(self.model.free, terms.values, strict=True)}
        return is_separable(terms.all, *found[name])

    def expand(
        self, positions: npt.NDArray[np.float64], deterministics: bool | Sequence[str] = True
    ) -> dict[str, Array]:
        """Named values on their own scales for positions (draws, dimension); leading axis draws.

        deterministics   whether those are computed too, or the names of some: then these alone

        Where a deterministic has no value, as the inverse of a singular matrix, those of the draw are
        NaN, with a warning.
        """
        wanted = deterministics if isinstance(deterministics, bool) else tuple(deterministics)
        names, compiled = self._built.expander(self.model, wanted)
        flat = np.ascontiguousarray(positions, dtype=float)
        results, complete = values_of_draws(compiled.bind(self._data), [(flat, True)], len(flat), names)
        named = dict(zip(names, results, strict=True))
        return named if complete or wanted is not True else {**named, **self.expand(positions, False)}

    def tempered(
        self, positions: npt.NDArray[np.float64], seeds: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Log densities of the free variables, and of data and potentials, at positions (draws, dimension).

        seeds    int64 (draws,), of the simulations where there are `simulated` variables
        raises   ModelError where seeds are missing
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

    @functools.cached_property
    def _bound_parts(self) -> Bound:
        return self._built.parts().bind(self._data)

    @functools.cached_property
    def _bound_slopes(self) -> Bound:
        return self._built.slopes().bind(self._data)

    def unconstrained(self, draws: Mapping[str, npt.ArrayLike]) -> npt.NDArray[np.float64]:
        """Positions (draws, dimension) of values on the variables' own scales: what `expand` undoes.

        draws    for every free variable an array (draws, ...)
        raises   ModelError where a free variable is missing; ShapeError where a shape is another
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
        found, status = self._built.inverse(self.model).bind(self._data).map(arrays, count)
        if status:
            raise ModelError("the draws have no positions: some lie outside of their variables' supports.")
        return np.concatenate([f.reshape(count, -1) for f in found], axis=1)

    def shape_of(self, deterministic: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and element type of a deterministic, for the present data."""
        node = self.model.named_deterministics[deterministic]
        return known_shape(node.static_shape, self.lengths, deterministic), np.dtype(node.dtype)


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


def _owed(nodes: Sequence[Node]) -> tuple[ShapeConstraint, ...]:
    """Lengths that must agree and are known only when the program runs."""
    return tuple(c for c in collect(nodes) if dims.is_computed(c.left) or dims.is_computed(c.right))


class _Built:
    """What is compiled once per model and data shapes."""

    def __init__(
        self, model: ModelVariables, slots: list[Node], lengths: Lengths, name: str, jacobian: bool, batches: bool
    ) -> None:
        self._compile = find_backend(name)
        self.slots = slots
        self.lengths = lengths
        began = time.perf_counter()
        with without_sources(), collection_paused():
            terms = terms_of(model, jacobian)
            self.batches = batches_of(terms.all, lengths) if batches else []
            rows = [tensor_input("float64", (sum(b.length for b in self.batches),), "rows")] if self.batches else []
            if self.batches:
                groups = (terms.priors, terms.likelihoods, terms.potentials)
                done = [chosen_by(group, self.batches, rows[0]) for group in groups]
                terms = Terms(terms.values, terms.constrained, done[0], done[1], done[2], terms.deterministics)
            _check_closed([*terms.all, *([] if self.batches else terms.deterministics)])
            self.simulated = _simulated(model, terms)
            check_shape_constraints(collect([*terms.all, *terms.deterministics]), lengths)
            (logp,) = require(simplify([with_key(total(terms.all))]), _owed(terms.all))
            moved = [value for value, v in zip(terms.values, model.free, strict=True) if v.continuous]
            self.without_gradient = ""
            slopes: dict[Node, Node] = {}
            try:
                if self.simulated:
                    raise MissingRuleError(
                        f"`{self.simulated[0]}` is a Simulator or a particle filter, whose log density is random; use "
                        "`pm.sample_smc(kernel=pm.smc.MH)`."
                    )
                slopes = dict(zip(moved, gradient(logp, moved), strict=True))
            except MissingRuleError as error:  # step methods without gradients may still be used
                self.without_gradient = str(error)
            unknown = constant(np.nan if self.without_gradient else 0.0)
            gradients = [
                slopes[value] if value in slopes else broadcast_to(unknown, value.static_shape)
                for value in terms.values
            ]
            self.layout, self._position, replacements = _arrange(model, lengths)
            self.terms = terms
            outputs = simplify([logp, *gradients])
            static, memo = specialise([*outputs, *terms.values, *slots], lengths)
            self.static_slots = [memo[s] for s in slots]
            self._static_values = [memo[v] for v in terms.values]
            self._replacements = dict(zip(self._static_values, replacements, strict=True))
            logp_node, *gradient_nodes = substitute(static[: len(outputs)], self._replacements)
            flat = [reshape(g, (-1,)) for g in gradient_nodes]
            whole = concatenate(flat) if flat else constant(np.zeros(0))
            self.outputs = [logp_node, whole]
            self.operations = operations(self.outputs)
            self.graph_seconds = time.perf_counter() - began
            self.inputs = [self._position, *rows]
            self.compiled = self._compile(self.inputs, self.outputs, {}, self.static_slots)
        self.compile_seconds = time.perf_counter() - began
        self._blocks: dict[tuple[tuple[str, ...], Needs], Executable] = {}
        self._parts: Executable | None = None
        self._slopes: Executable | None = None
        self._inverse: Executable | None = None
        self._expanders: dict[bool | tuple[str, ...], tuple[list[str], Executable]] = {}

    def block(self, names: tuple[str, ...], needs: Needs) -> Executable:
        """Code for the density of some variables given the others; see `blocks.compile_block`."""
        found = self._blocks.get((names, needs))
        if found is None:
            terms = self.terms
            found = compile_block(
                self._compile, terms.all, terms.values, self.layout, names, needs, self.lengths, self.slots
            )
            self._blocks[names, needs] = found
        return found

    def parts(self) -> Executable:
        """Code of the log density of the free variables, and of that of data and potentials."""
        if self._parts is None:
            terms, key = self.terms, tensor_input("key", (), "seed")
            likelihood = with_key(total([*terms.likelihoods, *terms.potentials]), key)
            replaced, slots = self._at_position([total(terms.priors), likelihood])
            self._parts = self._compile([self._position, *([key] if self.simulated else [])], replaced, {}, slots)
        return self._parts

    def slopes(self) -> Executable:
        """Code of these, and of the gradient of the one plus a second input times the other."""
        if self._slopes is None:
            terms, power = self.terms, tensor_input("float64", (), "power")
            prior, likelihood = total(terms.priors), total([*terms.likelihoods, *terms.potentials])
            slopes = gradient(prior + power * likelihood, terms.values)
            found, slots = self._at_position([prior, likelihood, *slopes])
            whole = concatenate([reshape(g, (-1,)) for g in found[2:]])
            self._slopes = self._compile([self._position, power], [*found[:2], whole], {}, slots)
        return self._slopes

    def _at_position(self, outputs: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Functions of the values as ones of the position, and the leaves of data in them."""
        values = self.terms.values
        with without_sources():
            static, memo = specialise([*simplify(outputs), *values, *self.slots], self.lengths)
            position = {memo[v]: r for v, r in zip(values, self._replacements.values(), strict=True)}
            return substitute(static[: len(outputs)], position), [memo[s] for s in self.slots]

    def inverse(self, model: ModelVariables) -> Executable:
        """Code of each variable's unconstrained value as a function of all values on their own scales."""
        if self._inverse is None:
            given = {v.node: tensor_input(v.node.dtype, v.node.static_shape, v.name) for v in model.free}
            forward = [cast(v.node if v.sampled is None else v.sampled.forward(v.node), "float64") for v in model.free]
            observed = {v.node: v.data for v in model.observed}
            with without_sources():
                outputs = simplify(substitute(forward, {**given, **observed}))
                static, memo = specialise([*outputs, *given.values(), *self.slots], self.lengths)
                inputs = [memo[node] for node in given.values()]
                self._inverse = self._compile(inputs, static[: len(outputs)], {}, [memo[s] for s in self.slots])
        return self._inverse

    def expander(self, model: ModelVariables, deterministics: bool | tuple[str, ...]) -> tuple[list[str], Executable]:
        """Names and code of values on their own scales as functions of a position; see `ModelDensity.expand`."""
        known = self._expanders.get(deterministics)
        if known is None:
            names, replaced, slots = self.values(model, deterministics)
            known = names, self._compile([self._position], replaced, {}, slots, level=1)
            self._expanders[deterministics] = known
        return known

    def values(
        self, model: ModelVariables, deterministics: bool | tuple[str, ...]
    ) -> tuple[list[str], list[Node], list[Node]]:
        """Names, and values on their own scales as expressions of a position and of the data, which come last."""
        named = dict(zip(model.named_deterministics, self.terms.deterministics, strict=True))
        if self.batches:
            named = {name: node for name, node in named.items() if not has_batches([node])}
        free = dict(zip([v.name for v in model.free], self.terms.constrained, strict=True))
        if isinstance(deterministics, tuple):
            chosen = {name: named[name] for name in deterministics}
        else:
            chosen = {**free, **named} if deterministics else free
        names, outputs = list(chosen), list(chosen.values())
        with without_sources():
            simple = require(simplify(outputs), _owed(outputs))
            static, memo = specialise([*simple, *self.terms.values, *self.slots], self.lengths)
            replaced = substitute(
                static[: len(outputs)],
                {memo[v]: r for v, r in zip(self.terms.values, self._replacements.values(), strict=True)},
            )
        return names, replaced, [memo[s] for s in self.slots]


def _arrange(model: ModelVariables, lengths: Lengths) -> tuple[Layout, Node, list[Node]]:
    """The layout, the position vector as a graph input, and each value as a stretch of it."""
    layout = layout_of(model.free, lengths)
    position = tensor_input("float64", (layout.dimension,), "position")
    parts = [position[s.start] if s.shape == () else reshape(position[s.slice], s.shape) for s in layout.stretches]
    return layout, position, parts


def _simulated(model: ModelVariables, terms: Terms) -> list[str]:
    """Observed variables whose log densities are random; ModelError for free ones, and for potentials."""
    names = [v.name for v in model.observed]
    found = [name for name, term in zip(names, terms.likelihoods, strict=True) if fresh_keys([term])]
    others = zip(
        [*(v.name for v in model.free), *model.named_potentials], [*terms.priors, *terms.potentials], strict=True
    )
    for name, term in others:
        if fresh_keys([term]):
            raise ModelError(f"the log density of `{name}` is random; a Simulator needs data, by `observed=`.")
    return found


def with_key(node: Node, key: Node | None = None) -> Node:
    """The node with keys made from one, that of seed 0 by default, in place of fresh ones: for Simulators."""
    key = Node(Key(0)) if key is None else key
    return substitute([node], {own: fold_in(key, i) for i, own in enumerate(fresh_keys([node]))})[0]


def _check_closed(outputs: Sequence[Node]) -> None:
    """Every random variable that occurs must belong to the model."""
    for node in topological(outputs):
        if is_rows(node):
            raise ModelError(
                "the model has a `Minibatch`, with which its density differs from one evaluation to the next; sampling "
                "needs all data. `compile_logp` and draws work with batches."
            )
        if isinstance(node.op, RandomVariable):
            raise ModelError(
                f"the model depends on `{node.name or repr(node.op)}`, a random variable that is not a "
                "variable of this model; declare it inside the model's `with` block, with a name."
            )


def slot_values(model: ModelVariables) -> tuple[list[Node], list[Array], list[int], Lengths]:
    """The model's data slots, their values, versions, and the symbolic lengths they decide."""
    slots = model.data_slots()
    versioned = [contexts.DEFAULT.versioned(s) for s in slots]
    values = [array for array, _ in versioned]
    lengths: Lengths = {}
    for slot, value in zip(slots, values, strict=True):
        bind_lengths(slot, value.shape, lengths)
    for name, labels in model.coords.items():
        own = model.dim_length(name)
        length = dims.substitute(own, lengths)
        if labels is not None and length != len(labels) and not isinstance(own, int):
            raise ShapeError(
                f"the data along the dimension `{name}` have length {length}, but it has {len(labels)} "
                "labels; set the data with `pm.set_data`, together with the labels."
            )
    return slots, values, [version for _, version in versioned], lengths


def kept(cache: dict[object, Any], kind: str, key: object, make: Callable[[], Made]) -> Made:
    """What a model has compiled for a key, made if it is new; the latest KEPT of each kind are kept."""
    full = (kind, key)
    found: Made | None = cache.pop(full, None)
    made = make() if found is None else found
    cache[full] = made
    for old in [k for k in list(cache) if isinstance(k, tuple) and k[0] == kind][:-KEPT]:
        cache.pop(old, None)
    return made


def model_density(
    model: ModelVariables, backend: str = "llvm", jacobian: bool = True, batches: bool = False
) -> ModelDensity:
    """The model's density for its present data; compiled again only when shapes or the model changed.

    backend   "llvm" (machine code), "c" (through the system's C compiler) or "reference" (NumPy, slow)
    jacobian  whether it is the density on the unconstrained scale, or that on the variables' own scales
    batches   whether `pm.Minibatch` is allowed, of rows that are an input of the density
    raises    ModelError without free variables; ShapeError, ParameterError and
              SupportError where the present data do not fit the model
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
    slots, values, versions, lengths = slot_values(model)
    check_fit(model, lengths)
    shapes = tuple(v.shape for v in values)
    observations = [node for v in model.observed for node in (v.node, v.data)]
    batches = batches and has_batches([*observations, *model.named_potentials.values()])
    key = (backend, jacobian, batches, shapes)
    built = kept(model.cache, "density", key, lambda: _Built(model, slots, lengths, backend, jacobian, batches))
    bound = model.cache.get(("bound", *key, *versions))
    if bound is None:
        check_data(model, dict(zip(slots, values, strict=True)))
        for old in [k for k in list(model.cache) if isinstance(k, tuple) and k[:4] == ("bound", *key[:3])]:
            model.cache.pop(old, None)
        bound = model.cache["bound", *key, *versions] = built.compiled.bind(values)
    return ModelDensity(model, built, bound, values)


def check_data(model: ModelVariables, slots: dict[Node, Array]) -> None:
    """Raise where parameters lie outside their range, or observed values outside their support, for known data."""
    if slots:
        observation.check_parameters([v.node for v in model.variables], slots)
        for observed in model.observed:
            observation.check_values(observed.name, observed.node, observed.data, slots)
