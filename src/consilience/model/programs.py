"""Programs of a model: the log density with its gradient, and others made of its terms when they are asked for.

A model and the shapes of its data in; executables out, which are bound to the data of the moment, and their values for
many draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from consilience.analysis.operations import operations
from consilience.backends.registry import Bound, Executable
from consilience.backends.registry import backend as find_backend
from consilience.backends.shapes import Lengths, check_shape_constraints
from consilience.collection import collection_paused
from consilience.elimination.addends import total
from consilience.elimination.marginal import drawn_again, recovered
from consilience.errors import LinearAlgebraError, MissingRuleError, OutOfBoundsError, Status, warn
from consilience.ir import Node, constant, substitute, tensor_input
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.blocks import Needs, compile_block, flat, part_of
from consilience.model.layout import layout_of
from consilience.model.minibatch import batches_of, chosen_by, has_batches
from consilience.model.terms import check_closed, simulated, terms_of, with_key
from consilience.model.variables import ModelVariables
from consilience.ops import cast
from consilience.ops.assertion import require
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to
from consilience.planning import before_slopes
from consilience.record import replace
from consilience.rewrite.rules import simplify
from consilience.transforms.equal_terms import equal_terms_batched
from consilience.transforms.gradient import gradient

Array = npt.NDArray[Any]
Made = TypeVar("Made")
Arguments = ParamSpec("Arguments")

# Programs of each kind kept per model: one per combination of data shapes seen lately.
KEPT: Final = 8
# Under which the cache of a model has its `terms_of` until they are compiled, if they were written before.
TERMS: Final = "terms of positions"


def kept(cache: dict[object, Any], kind: str, key: object, make: Callable[[], Made]) -> Made:
    """What a model has compiled for a key, made if it is new; the latest KEPT of each kind are kept."""
    full = (kind, key)
    found: Made | None = cache.pop(full, None)
    made = make() if found is None else found
    cache[full] = made
    for old in [k for k in list(cache) if isinstance(k, tuple) and k[0] == kind][:-KEPT]:
        cache.pop(old, None)
    return made


def _owed(nodes: Sequence[Node]) -> tuple[ShapeConstraint, ...]:
    """Lengths that must agree and are known only when the program runs."""
    return tuple(c for c in collect(nodes) if dims.is_computed(c.left) or dims.is_computed(c.right))


def once(
    write: Callable[Concatenate[DensityPrograms, Arguments], Made],
) -> Callable[Concatenate[DensityPrograms, Arguments], Made]:
    """A program that is compiled when it is first asked for, once per arguments."""

    def compiled(self: DensityPrograms, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Made:
        key = (write, arguments, *named.items())
        if key not in self.made:
            self.made[key] = write(self, *arguments, **named)
        found: Made = self.made[key]
        return found

    return compiled


class DensityPrograms:
    """The log density of a model for data of given shapes, and other programs made of its terms.

    `inputs`, `outputs`: of `compiled`: the position, and the rows of batches where there are any; log density and
    gradient. `static_slots`: the leaves of data in `outputs`. `deterministics`: by name, as expressions of the
    variables' values. `summed`: by name, as declared, variables that are drawn again after they were summed out, and
    deterministics of them.
    """

    def __init__(
        self, model: ModelVariables, slots: list[Node], lengths: Lengths, name: str, jacobian: bool, batches: bool
    ) -> None:
        self._compile = find_backend(name)
        self.slots = slots
        self.lengths = lengths
        self.made: dict[object, Any] = {}
        self.free, self.observed = tuple(model.free), tuple(model.observed)
        began = time.perf_counter()
        with without_sources(), collection_paused():
            terms = (model.cache.pop(TERMS, None) if jacobian else None) or terms_of(model, jacobian)
            self.batches = batches_of(terms.all, lengths) if batches else []
            rows = [tensor_input("float64", (sum(b.length for b in self.batches),), "rows")] if self.batches else []
            if self.batches:
                groups = (terms.priors, terms.likelihoods, terms.potentials)
                priors, likelihoods, potentials = (chosen_by(group, self.batches, rows[0]) for group in groups)
                terms = replace(terms, priors=priors, likelihoods=likelihoods, potentials=potentials)
            self.terms = terms
            self.deterministics = dict(zip(model.named_deterministics, terms.deterministics, strict=True))
            check_closed([*terms.all, *([] if self.batches else terms.deterministics)])
            self.summed = {name: model.named[name] for name in model.recovers}
            check_closed(substitute(list(self.summed.values()), terms.known))
            self.stream = tensor_input("key", (), "stream")
            self.simulated = simulated(model, terms)
            check_shape_constraints(collect([*terms.all, *terms.deterministics]), lengths)
            (logp,) = require(simplify([with_key(total(terms.all))]), _owed(terms.all))
            (logp,) = before_slopes([logp], terms.values)
            gradients, self.without_gradient = self._gradients(logp)
            self.layout = layout_of(model.free, lengths)
            self.position = tensor_input("float64", (self.layout.dimension,), "position")
            self._parts_of_position = [part_of(self.position, s.start, s) for s in self.layout.stretches]
            (logp, *slopes), self.static_slots = self._at_position(simplify([logp, *gradients]))
            self.outputs = equal_terms_batched([logp, flat(slopes)])
            self.operations, self.work = (operations(self.outputs, loops) for loops in (False, True))
            self.graph_seconds = time.perf_counter() - began
            self.inputs = [self.position, *rows]
            self.compiled = self._compile(self.inputs, self.outputs, {}, self.static_slots)
        self.compile_seconds = time.perf_counter() - began

    def _gradients(self, logp: Node) -> tuple[list[Node], str]:
        """The gradient along each variable's value, 0 along discrete ones; or NaN, and why there is none."""
        values = self.terms.values
        moved = [value for value, v in zip(values, self.free, strict=True) if v.continuous]
        slopes: dict[Node, Node] = {}
        reason = ""
        try:
            if self.simulated:
                raise MissingRuleError(
                    f"`{self.simulated[0]}` is a Simulator or a particle filter, whose log density is random; use "
                    "`pm.sample_smc(kernel=pm.smc.MH)`."
                )
            slopes = dict(zip(moved, gradient(logp, moved), strict=True))
        except MissingRuleError as error:  # step methods without gradients may still be used
            reason = str(error)
        unknown = constant(np.nan if reason else 0.0)
        return [slopes[v] if v in slopes else broadcast_to(unknown, v.static_shape) for v in values], reason

    def _at_position(self, outputs: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Functions of the variables' values as ones of the position, and the leaves of data in them."""
        values = self.terms.values
        with without_sources():
            static, memo = specialise([*outputs, *values, *self.slots], self.lengths)
            parts = {memo[value]: part for value, part in zip(values, self._parts_of_position, strict=True)}
            return substitute(static[: len(outputs)], parts), [memo[s] for s in self.slots]

    @once
    def block(self, names: tuple[str, ...], needs: Needs) -> Executable:
        """The density of some variables given the others; see `blocks.compile_block`."""
        terms = self.terms
        return compile_block(
            self._compile, terms.all, terms.values, self.layout, names, needs, self.lengths, self.slots
        )

    @once
    def parts(self) -> Executable:
        """The log density of the free variables, and that of data and potentials."""
        terms, key = self.terms, tensor_input("key", (), "seed")
        likelihood = with_key(total([*terms.likelihoods, *terms.potentials]), key)
        with without_sources():
            outputs, slots = self._at_position(simplify([total(terms.priors), likelihood]))
        return self._compile([self.position, *([key] if self.simulated else [])], outputs, {}, slots)

    @once
    def slopes(self) -> Executable:
        """As `parts`, and the gradient of the one plus a second input times the other."""
        terms, power = self.terms, tensor_input("float64", (), "power")
        prior, likelihood = total(terms.priors), total([*terms.likelihoods, *terms.potentials])
        slopes = gradient(prior + power * likelihood, terms.values)
        with without_sources():
            (prior, likelihood, *slopes), slots = self._at_position(simplify([prior, likelihood, *slopes]))
        return self._compile([self.position, power], [prior, likelihood, flat(slopes)], {}, slots)

    @once
    def chosen(self, numbers: tuple[int, ...]) -> Executable:
        """The sum of some of all terms, and its gradient; they are numbered as in `terms.all`."""
        value = total([self.terms.all[number] for number in numbers])
        slopes = gradient(value, self.terms.values)
        with without_sources():
            (value, *slopes), slots = self._at_position(simplify([value, *slopes]))
        return self._compile([self.position], [value, flat(slopes)], {}, slots)

    @once
    def inverse(self) -> Executable:
        """Each variable's unconstrained value as a function of all values on their own scales."""
        given = {v.node: tensor_input(v.node.dtype, v.node.static_shape, v.name) for v in self.free}
        forward = [cast(v.node if v.sampled is None else v.sampled.forward(v.node), "float64") for v in self.free]
        observed = {v.node: v.data for v in self.observed}
        with without_sources():
            outputs = simplify(substitute(forward, {**given, **observed}))
            static, memo = specialise([*outputs, *given.values(), *self.slots], self.lengths)
        inputs = [memo[node] for node in given.values()]
        return self._compile(inputs, static[: len(outputs)], {}, [memo[s] for s in self.slots])

    @once
    def settled(self) -> tuple[list[str], Executable]:
        """Names of variables without end, and of a position and a key whether enough of their values are summed."""
        draws = {leaf: value for leaf, (value, _) in drawn_again(self.terms.sums, self.stream).items()}
        found = {one.variable.name: one.settled for one in self.terms.sums if one.settled is not None}
        outputs = [reduce("all", node) if node.ndim else node for node in substitute(list(found.values()), draws)]
        with without_sources():
            outputs, slots = self._at_position(simplify(outputs))
        return list(found), self._compile([self.position, self.stream], outputs, {}, slots, level=1)

    @once
    def expander(self, deterministics: bool | tuple[str, ...]) -> tuple[list[str], Executable]:
        """Names of values on their own scales, and these as functions of a position; see `ModelDensity.expand`."""
        names, outputs, slots = self.values(deterministics)
        return names, self._compile(
            [self.position, *([self.stream] if self.summed else [])], outputs, {}, slots, level=1
        )

    def values(self, deterministics: bool | tuple[str, ...]) -> tuple[list[str], list[Node], list[Node]]:
        """Names, and values on their own scales as expressions of a position and of the data, which come last.

        What was summed out also depends on the key `stream`.
        """
        named = self.deterministics
        among = deterministics if isinstance(deterministics, tuple) else tuple(self.summed) if deterministics else ()
        summed = {name: node for name, node in self.summed.items() if name in among}
        if summed:
            drawn = recovered(self.terms.sums, self.terms.known, list(summed.values()), self.stream)
            named = named | dict(zip(summed, drawn, strict=True))
        if self.batches:
            named = {name: node for name, node in named.items() if not has_batches([node])}
        free = dict(zip([v.name for v in self.free], self.terms.constrained, strict=True))
        if isinstance(deterministics, tuple):
            chosen = {name: named[name] if name in named else free[name] for name in deterministics}
        else:
            chosen = {**free, **named} if deterministics else free
        outputs = list(chosen.values())
        with without_sources():
            return list(chosen), *self._at_position(require(simplify(outputs), _owed(outputs)))


def values_of_draws(
    code: Bound, inputs: Sequence[tuple[Array, bool]], count: int, names: Sequence[str], model: ModelVariables
) -> tuple[list[Array], bool]:
    """One array (count, …) per output, and whether every draw has values.

    `inputs`: per input an array, and whether its first axis counts draws.
    `names`: of the outputs, for messages.
    `model`: that they are of, likewise.
    Raises OutOfBoundsError.
    Raises LinearAlgebraError where no draw has its matrix factorisations. Where some have not, their values are NaN,
        with a warning.
    """
    results, status = code.map(inputs, count)
    if status == Status.OK:
        return results, True
    failed = np.zeros(count, bool)
    for draw in range(count):
        own = [(array[draw : draw + 1] if per_draw else array, per_draw) for array, per_draw in inputs]
        values, status = code.map(own, 1)
        if status & Status.OUT_OF_BOUNDS:
            from consilience.model.diagnosis import position_outside  # few runs come here

            why = position_outside(model)
            raise OutOfBoundsError(
                f"an index lies outside its axis in the computation of {', '.join(names)} (draw {draw})"
                f"{': ' if why else ''}{why}."
            )
        failed[draw] = status != Status.OK
        for result, value in zip(results, values, strict=True):
            result[draw] = value[0]
    if failed.all() or any(result.dtype.kind != "f" for result in results):
        raise LinearAlgebraError(
            f"a matrix is singular or not positive definite in {int(failed.sum())} of {count} draws of "
            f"{', '.join(names)}; check the priors of what it is made of."
        )
    for result in results:
        result[failed] = np.nan
    warn(
        f"a matrix is singular or not positive definite in {int(failed.sum())} of {count} draws of "
        f"{', '.join(names)}; their values are NaN."
    )
    return results, False
