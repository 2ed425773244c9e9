"""Starting positions: support points or the user's values on the unconstrained line, with noise per chain.

A model and initial values in, vectors with finite log density and gradient out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.backends.callback import failed
from consilience.backends.shapes import Lengths
from consilience.distributions.densities import drawn, support_point
from consilience.distributions.random_variable import RandomVariable
from consilience.distributions.seeds import seed_from
from consilience.distributions.transforms.transform import Chain, label
from consilience.errors import ConsilienceError, InitialPointError, ModelError, ShapeError, SupportError
from consilience.ir import Input, Node, constant, substitute, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe, without_sources
from consilience.lower.specialise import specialise
from consilience.model.data import initial_numbers
from consilience.model.diagnosis import diagnosis
from consilience.model.layout import Layout, Stretch, layout_of
from consilience.model.log_density import ModelDensity
from consilience.model.observation import slot_values
from consilience.model.variables import FreeVariable, ModelVariables
from consilience.model.warm_start import drawn_points, is_result

Floats = npt.NDArray[np.float64]
InitialValues: TypeAlias = Mapping[str, Any]

# Attempts per chain at a random starting point before giving up, and the width of the jitter.
ATTEMPTS: Final = 100
JITTER: Final = 1.0
DRAWS_OF_PRIOR: Final = 5  # that are tried for discrete variables
# Where no point near the support points has a density, chains begin anywhere within this distance of zero, as in Stan.
SCATTER: Final = 2.0


def starting_position(
    model: ModelVariables,
    layout: Layout,
    lengths: Lengths,
    initvals: InitialValues | None = None,
    seed: int = 0,
    outside: list[str] | None = None,
) -> Floats:
    """The vector where every variable has its support point or its initial value.

    `initvals`: values by name on their own scales, or by unconstrained name (`tau_log__`) on the line; a value may be
        an array, an expression of earlier variables, "support_point" or "prior". Or a result: one of its draws.
    `seed`: of the draws for "prior".
    `outside`: takes what is wrong with values outside the support, in place of an error; they stand in the vector then.
    Raises ModelError for unknown names.
    Raises ShapeError.
    Raises SupportError for values outside the support.
    """
    if is_result(initvals):
        (initvals,) = drawn_points(initvals, model, 1, seed)
    given = model.placed_point(initvals or {})
    known = {s.variable.name for s in layout.stretches} | {s.key for s in layout.stretches}
    # What follows from the others may stand in a point that was found before.
    unknown = [name for name in given if name not in known and name not in model.named_deterministics]
    if unknown:
        raise ModelError(f"`initvals` names {unknown}; the free variables are {[v.name for v in model.free]}.")
    position = np.empty(layout.dimension)
    natural: dict[Node, Node] = {v.node: v.data for v in model.observed}
    begun = model.placed_point({s.variable.name: s.variable.initval for s in layout.stretches})
    slots = {slot: contexts.DEFAULT.get(slot) for slot in model.data_slots()}
    summed = {v.node for v in model.marginalized}
    marginalized = [node for node in topological([*summed]) if node in summed] if summed else []
    with without_sources():
        for number, stretch in enumerate(layout.stretches):
            if stretch.key != stretch.variable.name and stretch.key in given:
                free: Node = constant(_unconstrained(stretch, given[stretch.key]))
                transform = stretch.variable.transform
                point = free if transform is None else transform.backward(free)
            else:
                wish = given.get(stretch.variable.name, begun[stretch.variable.name])
                point = _natural(stretch.variable, wish, lengths)
                if (wish is None or isinstance(wish, str)) and stretch.variable.transform is not None:
                    point = stretch.variable.transform.admissible(point)
                transform = None
                free = point
            sampled = stretch.variable.sampled
            if sampled != transform:
                free = point if sampled is None else sampled.forward(point)
            known_values = dict(natural)
            for node in marginalized:
                (known_values[node],) = substitute([support_point(node)], known_values)
            outputs = substitute([free, point], known_values)
            values = _evaluate(stretch.variable, outputs, lengths, slots, [seed, number], outside)
            position[stretch.slice] = np.broadcast_to(values[0], stretch.shape).ravel()
            natural[stretch.variable.node] = constant(values[1])
    return position


def _natural(variable: FreeVariable, wish: Any, lengths: Lengths) -> Node:
    """The value that is asked for, on the variable's own scale, as an expression of earlier variables."""
    if wish is None or (isinstance(wish, str) and wish == "support_point"):
        return support_point(variable.node)
    if isinstance(wish, str) and wish == "prior":
        # The key is an input: `_evaluate` gives it a value that depends on the seed and the variable's place.
        return drawn(variable.node)
    if isinstance(wish, str):
        raise ModelError(
            f"the initial value of `{variable.name}` must be numbers, 'support_point' or 'prior', got {wish!r}."
        )
    if isinstance(wish, Node):
        return wish
    array = initial_numbers(variable.name, wish)
    shape = tuple(dims.substitute(n, lengths) for n in variable.node.static_shape)
    try:
        return constant(np.broadcast_to(array, tuple(int(n) for n in shape)))
    except ValueError:
        raise ShapeError(
            f"the initial value of `{variable.name}` has shape {array.shape}, the variable has shape {shape}."
        ) from None


def _unconstrained(stretch: Stretch, value: Any) -> Floats:
    array = np.asarray(value, float)
    if array.shape != stretch.shape:
        raise ShapeError(f"the initial value `{stretch.key}` needs shape {stretch.shape}, got {array.shape}.")
    return array


def _evaluate(
    variable: FreeVariable,
    outputs: Sequence[Node],
    lengths: Lengths,
    slots: Mapping[Node, npt.NDArray[Any]],
    seed: list[int],
    outside: list[str] | None,
) -> list[npt.NDArray[Any]]:
    """Values of a variable's unconstrained and own value; SupportError where they are not finite, or not whole.

    With a list `outside` the error's message is added to it instead.
    """
    static, memo = specialise(outputs, lengths)
    inputs = {memo[slot]: value for slot, value in slots.items() if slot in memo}
    keys: list[Node] = []
    for node in topological(static):
        if isinstance(node.op, RandomVariable) or (isinstance(node.op, Input) and node.dtype != "key"):
            raise ModelError(
                f"the initial value of `{variable.name}` depends on {describe(node)}, which has no value yet."
            )
        if isinstance(node.op, Input):
            keys.append(node)
    streams = np.random.SeedSequence(seed).generate_state(max(1, len(keys)), np.uint64)
    inputs |= {key: np.asarray(int(stream) >> 1, "int64") for key, stream in zip(keys, streams, strict=False)}
    free, own = reference.evaluate(static, inputs)
    whole = variable.continuous or np.equal(own, np.round(own)).all()
    if not np.isfinite(free).all() or not whole:
        message = _outside(variable, np.asarray(own))
        if outside is None:
            raise SupportError(message)
        outside.append(message)
    return [np.asarray(free, float), np.asarray(own)]


def _outside(variable: FreeVariable, value: npt.NDArray[Any]) -> str:
    """Why a value has no place on the line: it is not of the support, or a transform comes twice."""
    shown = value.tolist() if value.size <= 8 else np.array2string(value, threshold=8, edgeitems=3, separator=", ")
    steps = [label(step) for step in variable.transform.steps] if isinstance(variable.transform, Chain) else []
    if len(set(steps)) < len(steps):
        return (
            f"`{variable.name}` is transformed by {', then '.join(steps)}, which has no value at its initial value "
            f"{shown}: `transform=` comes after the default transform. Leave it out, or pass "
            "`default_transform=None` besides."
        )
    return (
        f"the initial value of `{variable.name}` is outside its support: {shown}; "
        "give one inside with `initval=` or `initvals=`."
    )


def starting_positions(
    density: ModelDensity,
    chains: int,
    seed: int,
    initvals: InitialValues | Sequence[InitialValues | None] | None = None,
    jitter: bool = True,
    attempts: int = ATTEMPTS,
    width: float = JITTER,
) -> Floats:
    """One starting vector per chain, shape (chains, dimension), each with finite log density and gradient.

    `initvals`: one mapping, one for each chain, or a result, of which chains take a draw each. `jitter`: add uniform
    noise in [-width, width] on the unconstrained line; where no such point has a density, variables without a value of
    the user's begin anywhere in [-2, 2] there. Raises InitialPointError: that names the variable at fault.
    """
    if is_result(initvals):
        initvals = drawn_points(initvals, density.model, chains, seed)
    per_chain = list(initvals) if isinstance(initvals, list | tuple) else [initvals] * chains
    if len(per_chain) != chains:
        raise ModelError(f"`initvals` is a list of {len(per_chain)} points, but there are {chains} chains.")
    result = np.empty((chains, density.dimension))
    stretches = density.layout.stretches
    for chain, own in enumerate(per_chain):
        if own is not None and not isinstance(own, Mapping):
            raise ModelError(f"`initvals` must be a mapping of names to values, or a list of such, got {own!r}.")
        generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), chain]))
        base = starting_position(density.model, density.layout, density.lengths, own, int(generator.integers(2**63)))
        given = own or {}
        unset = [s.variable.initval is None and not {s.variable.name, s.key} & set(given) for s in stretches]
        if jitter:
            base = _with_drawn_values(density, base, given, unset, generator)
        result[chain] = _finite_position(density, base, generator, attempts, width, unset) if jitter else base
        if not jitter and not _is_finite(density, base):
            raise no_start(density, base)
    return result


def _with_drawn_values(
    density: ModelDensity,
    base: Floats,
    given: InitialValues,
    unset: Sequence[bool],
    generator: np.random.Generator,
) -> Floats:
    """The base point with draws of the prior for discrete variables that have no value yet, if they have a density.

    What is discrete gets no noise, and chains that all begin at one value may all stay near it.
    """
    stretches = density.layout.stretches
    names = [s.variable.name for s, free in zip(stretches, unset, strict=True) if free and not s.variable.continuous]
    for _ in range(DRAWS_OF_PRIOR if names else 0):
        wished, seed = {**given, **dict.fromkeys(names, "prior")}, int(generator.integers(2**63))
        try:
            position = starting_position(density.model, density.layout, density.lengths, wished, seed)
            if _is_finite(density, position):
                return position
        except SupportError:  # of a draw that is not finite
            continue
    return base


def _finite_position(
    density: ModelDensity,
    base: Floats,
    generator: np.random.Generator,
    attempts: int,
    widest: float,
    unset: Sequence[bool],
) -> Floats:
    """The base point with noise, of the first attempt that has a finite log density and gradient.

    `unset`: for each variable whether the user gave it no value.
    """
    stretches = density.layout.stretches
    moved = np.concatenate([np.full(s.size, s.variable.continuous) for s in stretches])
    for attempt in range(attempts):
        # The first attempts keep the full noise; later ones shrink towards the base point.
        width = widest * (1.0 if attempt < max(1, attempts // 2) else 2.0 * (1 - attempt / attempts))
        position = base + width * moved * generator.uniform(-1.0, 1.0, density.dimension)
        try:
            if _is_finite(density, position):
                return position
        except ConsilienceError:
            raise
        except Exception as error:  # of a user's function, which has density 0 there, as inside chains
            failed(error)
    if _is_finite(density, base):
        return base
    # Support points of wide priors may lie where the data have no density to rounding.
    scattered = moved & np.repeat(unset, [s.size for s in stretches])
    for _ in range(attempts if scattered.any() else 0):
        position = np.where(scattered, generator.uniform(-SCATTER, SCATTER, density.dimension), base)
        if _is_finite(density, position):
            return position
    raise no_start(density, base)


def begins(density: ModelDensity, initvals: Any = None) -> bool:
    """Whether the density has a value at the support points, or at the user's values for all chains, without noise.

    Where a scale is next to nothing an integral has no digits left.
    """
    own = initvals if is_result(initvals) or isinstance(initvals, Mapping) else None
    return _is_finite(density, starting_position(density.model, density.layout, density.lengths, own))


def _is_finite(density: ModelDensity, position: Floats) -> bool:
    logp, gradient = density(position)
    return bool(np.isfinite(logp) and (density.without_gradient or np.isfinite(gradient).all()))


def no_start(density: ModelDensity, position: Floats) -> InitialPointError:
    """The error that names the term that is not finite, its value, and its parents with theirs."""
    found = diagnosis(density.model, position)
    if not found:
        _, gradient = density(position)
        bad = [density.layout.coordinate(int(i)) for i in np.flatnonzero(~np.isfinite(gradient))[:5]]
        found = [f"  every term is finite, but the gradient is not, along {', '.join(bad) or 'some coordinate'}"]
    if density.integrated:
        listed = ", ".join(f"`{name}`" for name in density.integrated)
        found.append(
            f"  {listed} integrated out: an integral is finite only where priors and data together leave no element "
            "open; give a proper prior, or `integrate=False`"
        )
    return InitialPointError(
        "no starting point with a finite log density was found. At the one without noise:\n"
        + "\n".join(found)
        + "\nCheck these priors and data, or give a starting value with `initvals=`."
    )


def initial_point(
    model: ModelVariables, random_seed: Any = None, initvals: Mapping[str, Any] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`).

    `random_seed`: an integer or Generator: of the draws for variables with `initval="prior"`. `initvals`: values, or
    "support_point" or "prior", in place of the model's own, by name.
    """
    layout, lengths = layout_with_data(model)
    seed = 0 if random_seed is None else seed_from(random_seed)
    point = layout.point(starting_position(model, layout, lengths, initvals, seed))
    return {name: array.astype(v.value.dtype) for (name, array), v in zip(point.items(), model.free, strict=True)}


def layout_with_data(model: ModelVariables) -> tuple[Layout, Lengths]:
    """How the free variables lie in a vector, for the data of the moment, and the lengths of these."""
    _, _, _, lengths = slot_values(model)
    return layout_of(model.free, lengths), lengths
