"""Draws of prior and posterior predictive distributions, one native loop over all draws.

A model and (for the posterior) named draws in, named arrays with leading axes (chain, draw) out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.llvm import Compiled
from consilience.dist.random_variable import RandomVariable, realise
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, substitute, tensor_input, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.log_density import slot_values
from consilience.model.variables import ModelVariables
from consilience.ops.random import fold_in
from consilience.rules import simplify

Array = npt.NDArray[Any]


def predict(
    model: ModelVariables,
    names: Sequence[str],
    given: Mapping[str, Array],
    count: int,
    seed: int,
) -> dict[str, Array]:
    """Values of named variables in `count` draws.

    names     random variables and deterministics wanted
    given     values of variables that are not drawn anew: arrays (count, …)
    returns   per name an array (count, …)
    """
    slots, values, _, lengths = slot_values(model)
    fixed = [name for name in given if name in model.named]
    key = ("predictive", tuple(names), tuple((n, given[n].shape[1:]) for n in fixed), tuple(v.shape for v in values))
    compiled = model.cache.get(key)
    if compiled is None:
        with without_sources():
            compiled = model.cache[key] = _compile(model, names, fixed, slots, lengths)
    arrays = [np.ascontiguousarray(given[n], dtype=_numpy(model.named[n])) for n in fixed]
    for name, array in zip(fixed, arrays, strict=True):
        _check(model, name, array, lengths, count)
    inputs = [(np.asarray([seed & (2**63 - 1)], "int64"), False), (np.arange(count, dtype="int64"), True)]
    inputs += [(array, True) for array in arrays]
    results, _ = compiled.bind(values).map(inputs, count)
    return dict(zip(names, results, strict=True))


def _numpy(node: Node) -> str:
    return node.dtype


def _check(model: ModelVariables, name: str, array: Array, lengths: dict[dims.Atom, dims.Dim], count: int) -> None:
    shape = tuple(dims.substitute(n, lengths) for n in model.named[name].static_shape)
    if array.shape != (count, *shape):
        raise ShapeError(
            f"the draws of `{name}` have shape {array.shape[1:]}, but the variable has shape {shape} with the present data."
        )


def _compile(
    model: ModelVariables, names: Sequence[str], fixed: Sequence[str], slots: list[Node], lengths: dict[dims.Atom, dims.Dim]
) -> Compiled:
    """One program: (seed, number of the draw, given values) -> wanted values."""
    for name in names:
        if name not in model.named:
            raise ModelError(f"the model has no variable `{name}`; it has {', '.join(model.named) or 'none'}.")
    seed = tensor_input("key", (), "seed")
    number = tensor_input("int64", (), "draw")
    leaves = [tensor_input(model.named[n].dtype, model.named[n].static_shape, n) for n in fixed]
    replacements: dict[Node, Node] = {model.named[n]: leaf for n, leaf in zip(fixed, leaves, strict=True)}
    outputs = substitute([model.named[name] for name in names], replacements)
    stream = fold_in(seed, number)
    variables = [n for n in topological(outputs) if isinstance(n.op, RandomVariable)]
    # A variable's stream depends on its place in the model, not on what else is asked for.
    order = {v.node: i for i, v in enumerate([*model.free, *model.observed])}
    keys = {v.inputs[0]: fold_in(stream, order.get(v, len(order) + i)) for i, v in enumerate(_origins(model, variables))}
    drawn = realise(substitute(outputs, keys))
    static, memo = specialise([*simplify(drawn), seed, number, *leaves, *slots], lengths)
    inputs = [memo[n] for n in (seed, number, *leaves)]
    return Compiled(inputs, static[: len(outputs)], [memo[s] for s in slots], level=1)


def _origins(model: ModelVariables, variables: Sequence[Node]) -> list[Node]:
    """For each random variable of a changed graph the variable of the model with its key, else itself."""
    by_key = {v.node.inputs[0]: v.node for v in [*model.free, *model.observed]}
    return [by_key.get(v.inputs[0], v) for v in variables]


def refuse_improper(model: ModelVariables, names: Sequence[str], given: Sequence[str]) -> None:
    """Variables without a random generator cannot be drawn: say which."""
    targets = [model.named[n] for n in names if n in model.named]
    stop = {model.named[n] for n in given if n in model.named}
    for node in topological(targets, stop=stop.__contains__):
        if isinstance(node.op, RandomVariable) and node not in stop and not node.op.distribution.can_draw():
            raise ModelError(
                f"`{node.name}` has an improper or undrawable distribution ({node.op!r}), so predictions from the prior "
                "are impossible; leave it out with `var_names`, or give it a proper prior."
            )
