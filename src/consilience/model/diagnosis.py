"""Which variable is at fault where a log density is not finite: its value, its parents and theirs.

A model and a position in, the value of every term or lines of text out. Slow and exact: the reference
backend computes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.distributions.random_variable import distribution_of, random_variables
from consilience.errors import ExecutionError
from consilience.ir import Node, constant, constant_value, substitute, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe, name_of, without_sources
from consilience.lower.specialise import specialise
from consilience.model.layout import layout_of
from consilience.model.minibatch import batches_of, chosen_by
from consilience.model.observation import slot_values
from consilience.model.terms import Terms, terms_of, with_key
from consilience.model.variables import ModelVariables
from consilience.ops.index import Gather, Index, NewAxis, Specification
from consilience.ops.parameter_check import released

Floats = npt.NDArray[np.float64]
# Named quantities listed behind an expression without a name.
LISTED: Final = 8


class _Place:
    """A position of a model, and the values of expressions there.

    `sampled`: whether densities are those over positions, or those over points as users see them.
    """

    def __init__(self, model: ModelVariables, position: Floats, sampled: bool = True) -> None:
        self.terms: Terms = terms_of(model, sampled=sampled)
        slots, values, _, self.lengths = slot_values(model)
        layout = layout_of(model.free, self.lengths)
        points = layout.parts(position) if sampled else layout.point(position).values()
        self.inputs: dict[Node, npt.NDArray[Any]] = dict(zip(self.terms.values, points, strict=True))
        self.marginalized = model.marginalized
        self.slots = dict(zip(slots, values, strict=True))
        self.inputs |= self.slots
        self.natural = dict(zip([v.node for v in model.free], self.terms.constrained, strict=True))
        self.natural |= {v.node: v.data for v in model.observed}

    def values(self, outputs: Sequence[Node]) -> list[npt.NDArray[Any]]:
        """Values of expressions of unconstrained values; of batches of data, with their first rows."""
        outputs = list(outputs)
        if batches := batches_of(outputs, self.lengths):
            first = np.concatenate([np.arange(float(b.length)) for b in batches])
            outputs = chosen_by(outputs, batches, constant(first))
        static, memo = specialise(released([with_key(o) for o in outputs]), self.lengths)
        return reference.evaluate(static, {memo[n]: v for n, v in self.inputs.items() if n in memo})

    def value(self, node: Node) -> npt.NDArray[Any] | str:
        """The value of an expression of the model's variables, or why it has none."""
        graphs = substitute([node], self.natural)
        summed = random_variables(graphs)
        if summed:
            named = next((v.name for v in self.marginalized if v.node.inputs[0] is summed[0].inputs[0]), None)
            return f"depends on `{named or name_of(summed[0])}`, which is marginalized"
        try:
            return np.asarray(self.values(graphs)[0])
        except ExecutionError as error:
            return f"not computable ({error})"


def point_logps(model: ModelVariables, position: Floats) -> dict[str, float]:
    """Sum of the log density terms of each variable, Jacobians to value variables included, and of each potential."""
    names = [v.name for v in model.free] + [v.name for v in model.observed] + list(model.named_potentials)
    result = {}
    with without_sources():
        place = _Place(model, position, sampled=False)
        for name, term in zip(names, place.terms.all, strict=True):
            try:
                result[name] = float(np.sum(place.values([term])[0]))
            except ExecutionError:
                # As in the density: what cannot be computed has no probability.
                result[name] = -np.inf
    return result


def diagnosis(model: ModelVariables, position: Floats) -> list[str]:
    """Lines on each term that is not finite; none if all are."""
    lines = []
    with without_sources():
        place = _Place(model, position)
        nodes = [v.node for v in model.variables]
        names = [v.name for v in model.variables]
        for name, node, term in zip(names, nodes, [*place.terms.priors, *place.terms.likelihoods], strict=True):
            fault = _fault(place, term)
            if fault is not None:
                lines.append(f"  `{name}` has log density {fault}")
                lines.append(f"    its value is {_shown(place.value(node))}")
                lines += _parents(place, node)
        for name, term in zip(model.named_potentials, place.terms.potentials, strict=True):
            fault = _fault(place, term)
            if fault is not None:
                lines.append(f"  the potential `{name}` is {fault}")
                lines += _named_parts(place, model.named_potentials[name])
        if lines:
            lines += _bad_data(place)
            outside = position_outside(model)
            lines += [f"  {outside}"] if outside else []
    return lines


def terms_at_fault(model: ModelVariables, position: Floats) -> list[tuple[str, str, float]]:
    """Terms that are not finite: a name, "free", "observed" or "potential", and the first value, -inf where none is."""
    found = []
    with without_sources():
        place = _Place(model, position)
        named = [(v.name, "free") for v in model.free] + [(v.name, "observed") for v in model.observed]
        named += [(name, "potential") for name in model.named_potentials]
        for (name, kind), term in zip(named, place.terms.all, strict=False):
            try:
                values = np.atleast_1d(place.values([term])[0])
            except ExecutionError:
                values = np.array([-np.inf])
            if not np.isfinite(values).all():
                found.append((name, kind, float(values[~np.isfinite(values)].ravel()[0])))
    return found


def position_outside(model: ModelVariables) -> str:
    """In words, which data hold a position outside the axis that they index, and what to write; empty if none do."""
    slots, values, _, lengths = slot_values(model, drawn=True)
    known = dict(zip(slots, values, strict=True))
    named = {node: name for name, node in model.named.items()}
    for node in topological(list(model.named.values())):
        if not isinstance(node.op, Index):
            continue
        axes = [axis for axis, e in enumerate(_of_axes(node.op.specification)) if isinstance(e, Gather)]
        for axis, places in zip(axes, node.inputs[1:], strict=True):
            inside = set(topological([places]))
            used = {slot: array for slot, array in known.items() if slot in inside}
            leaves = {n for n in inside if not n.inputs and constant_value(n) is None}
            length = dims.substitute(node.inputs[0].static_shape[axis], lengths)
            if not used or not leaves.issubset(used) or not isinstance(length, int):
                continue
            static, memo = specialise([places], lengths)
            (array,) = reference.evaluate(static, {memo[n]: v for n, v in used.items() if n in memo})
            wrong = array[(array < -length) | (array >= length)]
            if wrong.size:
                data = ", ".join(f"`{name_of(slot) or 'data'}`" for slot in used)
                return _outside(model, data, int(wrong.flat[0]), node.inputs[0], axis, length, named)
    return ""


def _of_axes(specification: Specification) -> list[Any]:
    return [entry for entry in specification if not isinstance(entry, NewAxis)]


def _outside(
    model: ModelVariables, data: str, position: int, indexed: Node, axis: int, length: int, named: Mapping[Node, str]
) -> str:
    """What a position outside an axis means, and the call that adds a label for it."""
    known = [(named[n], model.dims_of.get(named[n], ())) for n in topological([indexed]) if n in named]
    own = [d for name, d in known if name == named.get(indexed)]
    among = [d[axis] for d in own if axis < len(d)] if own else [d for _, some in known for d in some]
    labelled = {d for d in among if d is not None and model.coordinates.current_length(d) == length}
    what = f"`{named[indexed]}`" if indexed in named else " and ".join(f"`{name}`" for name, _ in known[:2])
    said = f"{data} holds {position}, but {what or describe(indexed)} has "
    if len(labelled) != 1:
        return (
            f"{said}length {length} on axis {axis}, and positions are counted from 0. Where a new group was meant, "
            "give the variable that is indexed a dim with coords, so that a label can be added"
        )
    (dim,) = labelled
    new = '{"' + data.strip("`") + '": …}'
    return (
        f"{said}{length} labels of `{dim}`, at the positions 0 to {length - 1}. To predict for a new label, add it "
        f'with the data: `pm.set_data({new}, coords={{"{dim}": [*model.coords["{dim}"], "NEW"]}})`; it is then drawn '
        "from the population"
    )


def _parents(place: _Place, node: Node) -> list[str]:
    lines = []
    for label, parameter, needs in _parameters(node):
        called = name_of(parameter)
        title = f"{label} (`{called}`)" if called and called != label else label
        lines.append(f"    {title} = {_shown(place.value(parameter))}{_broken(place, needs)}")
        if called is None:
            lines += ["  " + line for line in _named_parts(place, parameter)]
    return lines


def _parameters(node: Node) -> Iterator[tuple[str, Node, tuple[str, Node] | None]]:
    """The parameters of a random variable and of its components, as `sigma` and `dist.sigma`.

    Each with what it must be, in words and as truth values.
    """
    distribution = distribution_of(node)
    named = distribution.by_name()
    needs = {
        p.name: (p.constraint.rule, p.constraint.bind(named).holds(named[p.name]))
        for p in distribution.parameters
        if p.name in named and named[p.name].ndim >= p.constraint.event_rank
    }
    yield from ((label, value, needs.get(label)) for label, value in named.items())
    for declared, group in zip(distribution.component_parameters, distribution.components, strict=True):
        for part in group:
            yield from ((f"{declared.name}.{label}", value, need) for label, value, need in _parameters(part))


def _broken(place: _Place, needs: tuple[str, Node] | None) -> str:
    """What a parameter must be, where it is something else."""
    held = "" if needs is None else place.value(needs[1])
    return "" if needs is None or isinstance(held, str) or held.all() else f": must be {needs[0]}"


def _named_parts(place: _Place, expression: Node) -> list[str]:
    """The nearest named quantities of which an expression is made, with their values."""
    order = topological([expression], stop=lambda n: n is not expression and name_of(n) is not None)
    parts = [n for n in order if n is not expression and name_of(n) is not None and n.dtype != "key"]
    lines = [f"    of `{name_of(part)}` = {_shown(place.value(part))}" for part in parts[:LISTED]]
    return [*lines, f"    and {len(parts) - LISTED} more"] if len(parts) > LISTED else lines


def _bad_data(place: _Place) -> list[str]:
    lines = []
    for slot, array in place.slots.items():
        bad = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
        if bad.any():
            first = tuple(int(i) for i in np.argwhere(bad)[0])
            lines.append(
                f"  the data `{name_of(slot)}` hold {int(bad.sum())} values that are not finite, the first at {first}"
            )
    return lines


def _fault(place: _Place, term: Node) -> str | None:
    try:
        (value,) = place.values([term])
    except ExecutionError as error:
        return f"no value ({error})"
    bad = ~np.isfinite(np.atleast_1d(value))
    if not bad.any():
        return None
    spot = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f" at {spot} ({int(bad.sum())} of {bad.size} elements are not finite)" if bad.size > 1 else ""
    return f"{float(np.atleast_1d(value)[spot])}{where}"


def _shown(value: npt.NDArray[Any] | str) -> str:
    if isinstance(value, str):
        return value
    return np.array2string(value, precision=4, threshold=6, edgeitems=3).replace("\n", " ")
