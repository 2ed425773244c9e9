"""Terms of a density that are sums over rows of data: which they are, and that no row depends on another.

The terms of a density and the data that hold rows in; numbers of terms out, or an error that names what joins rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.analysis.separability import Link, Links, links_of_op
from consilience.errors import SamplingError
from consilience.ir import Node, topological
from consilience.ir import dimension as dims
from consilience.ir.lengths import symbols_in
from consilience.model.terms import Terms
from consilience.model.variables import ModelVariables
from consilience.ops import Elementwise
from consilience.ops.elementwise import AlteredGradient
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import Reduce
from consilience.ops.shape import BroadcastTo

SUM = "sum"
"""What is known of a node that is a sum over rows."""


def row_terms(model: ModelVariables, terms: Terms, slots: Sequence[Node]) -> list[int]:
    """Places in `terms.all` of those that depend on the slots: each is a sum over their rows.

    raises   SamplingError, with the names of term and operation, where a row depends on another one, and for variables
             that have an element per row
    """
    rows = {atom for slot in slots if (atom := dims.as_symbol(slot.static_shape[0])) is not None}
    names = [v.name for v in model.free] + [v.name for v in model.observed] + list(model.named_potentials)
    for variable, value in zip(model.free, terms.values, strict=True):
        if any(_counts(length, rows) for length in value.static_shape):
            raise SamplingError(
                f"`{variable.name}` has an element per row of the data, so that it can't be kept apart from the rows; "
                "sum it out, or sample without shards."
            )
    found = []
    for number, (name, term) in enumerate(zip(names, terms.all, strict=True)):
        known = _of_nodes(name, term, set(slots), rows)
        if term in known:
            found.append(number)
    if not found:
        raise SamplingError("no term of the density depends on the data of the shards.")
    return found


def _counts(length: dims.Dim, rows: set[dims.Atom]) -> bool:
    return not isinstance(length, int) and bool(rows.intersection(dims.atoms(length)))


def _of_nodes(name: str, term: Node, slots: set[Node], rows: set[dims.Atom]) -> dict[Node, Links | str]:
    """What depends on rows: which axis counts them, or that they are added up."""
    known: dict[Node, Links | str] = {}
    for node in topological([term]):
        if node in slots:
            known[node] = {0: Link(0, None)}
        elif any(i in known for i in node.inputs):
            known[node] = _joined(name, node, [known.get(i) for i in node.inputs])
        elif any(_counts(length, rows) for length in node.tensor_type.shape) and isinstance(node.op, BroadcastTo):
            known[node] = {
                axis: Link(0, None) for axis, length in enumerate(node.static_shape) if _counts(length, rows)
            }
        elif not node.inputs and rows.intersection(symbols_in([node])):
            raise _refused(name, "the number of rows")
    return known


def _joined(name: str, node: Node, inputs: list[Links | str | None]) -> Links | str:
    op = node.op
    if isinstance(op, Asserted | ParameterCheck):
        if inputs[0] is None:
            raise _refused(name, "a check that reads rows, of what has none")
        return _joined(name, Node(Elementwise("neg"), node.inputs[0]), inputs[:1])
    if SUM in inputs:
        added = isinstance(op, Elementwise) and op.function in ("add", "sub", "neg") and set(inputs) == {SUM}
        scaled = isinstance(op, Elementwise) and op.function == "mul" and all(i in (None, SUM) for i in inputs)
        if (added or (scaled and inputs.count(SUM) == 1)) or isinstance(op, AlteredGradient):
            return SUM
        raise _refused(name, f"`{op!r}` of a sum over rows")
    given = [None if own is None else _checked(own) for own in inputs]
    found = links_of_op(node, given)
    if any(link.places is not None for link in found.values()):
        raise _refused(name, f"`{op!r}`, which picks rows by their number")
    if found:
        return found
    (own,) = [links for links in given if links is not None][:1]
    if (
        own
        and isinstance(op, Reduce)
        and op.kind == "sum"
        and set(own) <= {axis % node.inputs[0].ndim for axis in op.axes}
    ):
        return SUM
    raise _refused(name, f"`{op!r}`")


def _checked(own: Links | str) -> Links:
    assert not isinstance(own, str)
    return own


def _refused(name: str, what: str) -> SamplingError:
    return SamplingError(
        f"rows depend on each other in the term of `{name}`, by {what}, so that they can't lie on several workers; "
        "sample without shards, on `threads_per_chain`."
    )
