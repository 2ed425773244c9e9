"""Draws of prior and posterior predictive distributions and log likelihoods, one native loop over all draws.

A model and (for the posterior) named draws in, named arrays with a leading axis of draws out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.registry import Executable, backend
from consilience.backends.shapes import Lengths, check_shape_constraints
from consilience.distributions.densities import (
    density_of_data,
    parameter_violation,
    realise,
    supported_density,
    undefined,
)
from consilience.distributions.parameters import is_known, known_value
from consilience.distributions.random_variable import (
    RandomVariable,
    distribution_of,
    fresh_keys,
    random_variables,
)
from consilience.elimination.marginal import drawn_again, placeholders, summed_out
from consilience.errors import ModelError, ShapeError, warn
from consilience.ir import Node, constant, numpy_dtype, substitute, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import without_sources
from consilience.model import observation
from consilience.model.extension import Partly, check_fit, extended
from consilience.model.observation import slot_values
from consilience.model.programs import kept, values_of_draws
from consilience.model.variables import ModelVariables
from consilience.ops.parameter_check import released
from consilience.ops.random import fold_in
from consilience.rewrite.rules import simplify

Array = npt.NDArray[Any]


def predict(
    model: ModelVariables,
    names: Sequence[str],
    given: Mapping[str, Array],
    count: int,
    seed: int,
    with_data: bool = False,
    partly: Mapping[str, Partly] | None = None,
    first: int = 0,
) -> dict[str, Array]:
    """Values of named variables in `count` draws; draw number i depends on the seed and i alone.

    `names`: random variables and deterministics wanted.
    `given`: values of variables that are not drawn anew: arrays (count, …).
    `with_data`: whether observed variables are their data, and not drawn anew.
    `partly`: given variables of which only some elements have values; the others are drawn.
    `first`: number of the first draw.
    Returns: per name an array (count, …).
    Raises ModelError for unknown names.
    Raises ShapeError where given values do not fit the present data.
    """
    slots, values, _, lengths = slot_values(model, drawn=not with_data)
    _check_known(model, [*names, *given])
    if slots:
        observation.check_parameters([v.node for v in model.variables], dict(zip(slots, values, strict=True)))
    fixed, some = list(given), dict(partly or {})
    moved = tuple((dim, model.coordinates.current_length(dim), model.coords[dim]) for dim in model.coordinates.moved())
    key = (
        tuple(names), tuple((n, given[n].shape[1:]) for n in fixed), tuple(v.shape for v in values), with_data,
        moved, tuple((n, known.axes) for n, known in some.items()),
    )  # fmt: skip
    arrays = [_fitting(model, n, given[n], lengths, count) for n in fixed]

    def compile_draws() -> Executable:
        with without_sources():
            return _compile_draws(model, names, fixed, slots, lengths, with_data, some)

    compiled = kept(model.cache, "predictive", key, compile_draws)
    inputs = with_seeds(seed, count, arrays, first)
    inputs += [(np.ascontiguousarray(known.there), False) for known in some.values()]
    results, complete = values_of_draws(compiled.bind(values), inputs, count, names, model)
    drawn = dict(zip(names, results, strict=True))
    if complete:
        _warn_of_nan(model, drawn, dict(zip(slots, values, strict=True)), given)
    return drawn


def _warn_of_nan(
    model: ModelVariables, drawn: Mapping[str, Array], slots: Mapping[Node, Array], given: Mapping[str, Array]
) -> None:
    """Tell of draws that are NaN, or -1 where that stands for it, and of the parameter that left its range."""
    found = []
    for name, array in drawn.items():
        node = model.named[name]
        wrong = np.any(undefined(node, array), axis=tuple(range(1, array.ndim)))
        if wrong.any():
            first = int(wrong.argmax())
            known = {model.named[n]: constant(values[first]) for n, values in {**given, **drawn}.items() if n != name}
            why = _violated(node, known | {slot: constant(value) for slot, value in slots.items()})
            found.append(f"`{name}` ({int(wrong.sum())} of {len(array)}{why})")
    if found:
        warn(
            f"draws are NaN, or -1 for whole numbers: {', '.join(found)}. A parameter left its range, or a value it "
            "depends on is no number; check priors and data."
        )


def _violated(node: Node, known: Mapping[Node, Node]) -> str:
    """Which parameter of a variable is out of its range, given values of all that it depends on."""
    for parameter, constraint, valid in parameter_violation(node):
        (graph,) = substitute([valid], known)
        if is_known(graph) and not np.all(known_value(graph)):
            return f", `{parameter}` is not {constraint.rule}"
    return ""


def log_likelihood(
    model: ModelVariables, names: Sequence[str], given: Mapping[str, Array], count: int
) -> dict[str, Array]:
    """Log density of each event of random variables on their own scales, given draws of all free ones.

    `names`: observed variables, or free ones. `given`: values of the free variables: arrays (count, …). Returns: per
    name an array (count, …) with the batch shape of the variable.
    """
    slots, values, _, lengths = slot_values(model)
    check_fit(model, lengths)
    fixed = list(given)
    key = (tuple(names), tuple(fixed), tuple(v.shape for v in values))
    arrays = [_fitting(model, n, given[n], lengths, count) for n in fixed]

    def compile_terms() -> Executable:
        with without_sources():
            leaves = [tensor_input(model.named[n].dtype, model.named[n].static_shape, n) for n in fixed]
            at = {v.name: v.data for v in model.observed} | dict(zip(fixed, leaves, strict=True))
            # A variable that was summed out ties those together that depend on it.
            listed = list(at) if model.marginalized else list(names)
            replacements = {model.named[n]: value for n, value in at.items()} | placeholders(model.marginalized)
            terms = substitute([density_of_data(model.named[n], at[n]) for n in listed], replacements)
            if model.marginalized:
                terms = _alone(model, names, dict(zip(listed, terms, strict=True)), replacements)
            missing = [n for n in topological(terms) if isinstance(n.op, RandomVariable)]
            if missing:
                raise ModelError(f"the draws hold no `{missing[0].name}`, on which the log density depends.")
            noisy = [n for n, term in zip(names, terms, strict=True) if fresh_keys([term])]
            if noisy:
                raise ModelError(
                    f"`{noisy[0]}` is a Simulator or a particle filter, whose log density is random; it has no log "
                    "likelihood."
                )
            return compiled_draws(leaves, terms, slots, lengths)

    compiled = kept(model.cache, "log likelihood", key, compile_terms)
    results, _ = values_of_draws(compiled.bind(values), [(array, True) for array in arrays], count, names, model)
    return dict(zip(names, results, strict=True))


def _alone(
    model: ModelVariables, names: Sequence[str], terms: Mapping[str, Node], given: Mapping[Node, Node]
) -> list[Node]:
    """Log densities of the named variables with marginalized ones summed out; ModelError where these tie several."""
    for variable in model.marginalized:
        if variable.continuous and given[variable.node] in set(topological([terms[n] for n in names])):
            raise ModelError(
                f"observations have no log likelihoods of their own where `{variable.name}` is integrated out: they "
                f"depend on each other. `pm.recover_marginals` draws `{variable.name}`; with these draws the model "
                "before `pm.collapse` has them."
            )
        tied = [n for n, term in terms.items() if given[variable.node] in set(topological([term]))]
        if len(tied) > 1 and not set(tied).isdisjoint(names):
            raise ModelError(
                f"{', '.join(f'`{n}`' for n in tied)} depend on `{variable.name}`, which is marginalized: they have a "
                "log density together, and none of their own."
            )
    factors, _ = summed_out(list(terms.values()), model.marginalized, given, model.summed_values)
    made = dict(zip(terms, factors, strict=True))
    return [made[name] for name in names]


def recover(
    model: ModelVariables, given: Mapping[str, Array], count: int, seed: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Draws of the marginalized variables for draws of all free ones, data included in what is known."""
    (drawn, weights, _), results = _recovered(model, given, count, seed, "llvm")
    rest = iter(results)
    return {name: next(rest) for name in drawn}, {name: next(rest) for name in weights}


def unsettled(
    model: ModelVariables, given: Mapping[str, Array], count: int, seed: int, backend: str = "llvm"
) -> dict[str, npt.NDArray[np.bool_]]:
    """At which draws two thirds of the values of a variable without end would be too few, bool (count,) by name.

    As `recover` otherwise. Where the values themselves are too few, so are two thirds of them.
    """
    (_, _, settled), results = _recovered(model, given, count, seed, backend, draws=False)
    return {name: ~np.all(flags.reshape(count, -1), axis=1) for name, flags in zip(settled, results, strict=True)}


def _recovered(
    model: ModelVariables, given: Mapping[str, Array], count: int, seed: int, backend: str, draws: bool = True
) -> tuple[tuple[list[str], list[str], list[str]], list[Array]]:
    """Draws of marginalized variables and log probabilities of their values, or which sums fewer of these settle.

    Returns: names of those that are drawn, of those that have probabilities, and of those without end; arrays of the
    first two one after the other, or of the third.
    """
    slots, values, _, lengths = slot_values(model)
    fixed = list(given)
    arrays = [_fitting(model, n, given[n], lengths, count) for n in fixed]
    key = (tuple(fixed), tuple(v.shape for v in values), backend, draws, tuple(model.summed_values.items()))

    def compile_recovery() -> tuple[tuple[list[str], list[str], list[str]], Executable]:
        with without_sources():
            (seed_input, number), stream = stream_of_draws()
            leaves = [tensor_input(model.named[n].dtype, model.named[n].static_shape, n) for n in fixed]
            at = {model.named[n]: leaf for n, leaf in zip(fixed, leaves, strict=True)}
            at |= {v.node: v.data for v in model.observed}
            given_nodes = at | placeholders(model.marginalized)
            terms = [*(supported_density(node, value) for node, value in at.items()), *model.named_potentials.values()]
            terms = released(substitute(terms, given_nodes))
            _, sums = summed_out(terms, model.marginalized, given_nodes, model.summed_values)
            found = drawn_again(sums, stream)
            weights = {v.name: found.get(given_nodes[v.node], (None, None))[1] for v in model.marginalized}
            weighed = {name: each for name, each in weights.items() if each is not None}
            endless = [(one.variable.name, one.settled) for one in sums if one.settled is not None]
            names = ([v.name for v in model.marginalized], list(weighed), [name for name, _ in endless])
            if draws:
                known = {node: found[leaf][0] for node, leaf in given_nodes.items() if leaf in found}
                outputs = substitute([v.node for v in model.marginalized], at | known)
                # What is still random has nothing that depends on it.
                random = {n: fold_in(stream, -1 - i) for i, n in enumerate(random_variables(outputs))}
                outputs = [*realise(outputs, random), *weighed.values()]
            else:
                drawn = {leaf: value for leaf, (value, _) in found.items()}
                outputs = substitute([settled for _, settled in endless], drawn)
            return names, compiled_draws([seed_input, number, *leaves], outputs, slots, lengths, backend)

    names, compiled = kept(model.cache, "recovery", key, compile_recovery)
    return names, values_of_draws(compiled.bind(values), with_seeds(seed, count, arrays), count, names[0], model)[0]


def _check_known(model: ModelVariables, names: Sequence[str]) -> None:
    for name in names:
        if name not in model.named:
            raise ModelError(f"the model has no variable `{name}`; it has {', '.join(model.named) or 'none'}.")


def _fitting(model: ModelVariables, name: str, array: Array, lengths: Lengths, count: int) -> Array:
    moved = {dim: model.coordinates.current_length(dim) for dim in model.coordinates.moved()}
    node = model.named[name]
    shape = tuple(
        dims.substitute(n, lengths) if dim not in moved or not isinstance(n, int) else moved[dim]
        for n, dim in zip(node.static_shape, model.dims_of.get(name, (None,) * node.ndim), strict=True)
    )
    if array.shape != (count, *shape):
        of_series = isinstance(node.op, RandomVariable) and distribution_of(node).has("continued")
        raise ShapeError(
            f"the draws of `{name}` have shape {array.shape[1:]}, but with the present data the variable has "
            f"shape {shape}; draw it anew (`sample_vars`), leave it out of the draws, or restore the data"
            f"{'; later times of a series are drawn by `pm.forecast`' if of_series else ''}."
        )
    return np.ascontiguousarray(array, dtype=numpy_dtype(node.dtype))


def with_seeds(seed: int, count: int, arrays: Sequence[Array], first: int = 0) -> list[tuple[Array, bool]]:
    """A seed, numbers of draws and given values, and whether they count draws."""
    numbers = np.arange(first, first + count, dtype="int64")
    return [(np.asarray(seed & (2**63 - 1), "int64"), False), *((array, True) for array in (numbers, *arrays))]


def _compile_draws(
    model: ModelVariables,
    names: Sequence[str],
    fixed: Sequence[str],
    slots: list[Node],
    lengths: Lengths,
    with_data: bool,
    partly: Mapping[str, Partly],
) -> Executable:
    """One program: (seed, number of the draw, given values) -> wanted values."""
    (seed, number), stream = stream_of_draws()
    data = {v.node: v.data for v in model.observed} if with_data else {}
    found = extended(model, substitute([model.named[name] for name in names], data), lengths, fixed, partly)
    outputs, lengths = found.outputs, found.lengths
    leaves = [*found.leaves, *(found.there[name] for name in partly)]
    variables = [n for n in topological(outputs) if isinstance(n.op, RandomVariable)]
    # A variable's stream depends on its place in the model, not on what else is asked for. Its key tells it
    # from others, also where the parameters of the node have been replaced.
    places = {v.node.inputs[0]: i for i, v in enumerate(model.variables)}
    unnamed = [v.inputs[0] for v in variables if v.inputs[0] not in places]
    places |= {key: len(places) + i for i, key in enumerate(dict.fromkeys(unnamed))}
    drawn = realise(outputs, {v: fold_in(stream, places[v.inputs[0]]) for v in variables})
    return compiled_draws([seed, number, *leaves], drawn, slots, lengths)


def stream_of_draws() -> tuple[tuple[Node, Node], Node]:
    """Inputs for a seed and for the number of a draw, and the random key of the draw."""
    seed, number = tensor_input("key", (), "seed"), tensor_input("int64", (), "draw")
    return (seed, number), fold_in(seed, number)


def compiled_draws(
    inputs: Sequence[Node], outputs: Sequence[Node], slots: Sequence[Node], lengths: Lengths, name: str = "llvm"
) -> Executable:
    """A program of inputs and data slots, for present lengths."""
    check_shape_constraints(collect(outputs), lengths)
    return backend(name)(inputs, simplify(released(outputs)), lengths, slots, level=1)


def redrawn(model: ModelVariables, names: Sequence[str], given: Sequence[str]) -> list[str]:
    """The free variables that predictions of `names` draw from their prior, `given` being known.

    Raises ModelError where one has no random generator.
    """
    _check_known(model, names)
    stop = {model.named[n] for n in given}
    reached = set(topological([model.named[n] for n in names], stop=stop.__contains__)) - stop
    for node in reached:
        if isinstance(node.op, RandomVariable) and not distribution_of(node).can_draw():
            raise ModelError(
                f"`{node.name or 'a variable without a name'}` cannot be drawn: {node.op!r} is improper "
                "or has no random generator. Leave out with `var_names` what depends on it, or give it a "
                "proper prior."
            )
    return [v.name for v in model.free if v.node in reached]
