"""Batched programs: a program and batched inputs in, batched outputs out.

Batch axes lead. Parts that do not depend on a batched input stay as they are; what an op becomes is a row
of `table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, Node, computed_atoms, rebuild, tensor_input, topological, with_lengths
from consilience.ir import dimension as dims
from consilience.ir.lengths import source_of
from consilience.ir.shape_constraints import ShapeConstraint, collect
from consilience.ir.side_tables import describe, without_sources
from consilience.ir.types import FLOATS, INTEGERS, Shape
from consilience.ops import Item
from consilience.ops.assertion import require
from consilience.ops.control import with_equal_lengths
from consilience.ops.elementwise import Cast, Elementwise, apply
from consilience.ops.python_call import common_length, given_by_python, settled
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims
from consilience.transforms.vectorize.table import Operand, batched_row


def vectorize(outputs: Sequence[Node], replacements: Mapping[Node, Node]) -> list[Node]:
    """The outputs for a whole batch of inputs.

    `replacements`: input -> its batched form: the same dtype and shape behind leading batch axes. Batch axes of several
    inputs broadcast against each other, as in NumPy. Keys may be inner nodes. Returns: outputs of shape (*batch,
    *output.shape), also where an output does not depend on the batch. Raises MissingRuleError for ops without batched
    form.
    """
    if not replacements:
        return list(outputs)
    made, batch, owed = propagated(with_equal_lengths(outputs, replacements), replacements)
    with without_sources():
        result = [batched.full(batch) for batched in made]
    return require(result, owed)


def propagated(
    written: Sequence[Node], replacements: Mapping[Node, Node]
) -> tuple[list[Operand], Shape, tuple[ShapeConstraint, ...]]:
    """Batched forms of outputs, lengths of the batch axes, and lengths that must agree; as for `vectorize`."""
    with without_sources():
        outputs, replacements = _matched_lengths(written, replacements)
        batch = _batch_shape(replacements)
        full = {old: Operand(old, _full(old, new, batch), True) for old, new in replacements.items()}
        outputs, full = with_common_lengths(outputs, full, batch)
        owed = [c for c in collect(written) if not dims.is_computed(c.left) and not dims.is_computed(c.right)]
        owed += [c for c in collect(outputs) if dims.is_computed(c.left) or dims.is_computed(c.right)]
        return propagate(outputs, full, batch), batch, tuple(owed)


def vectorize_graph(outputs: Node | Sequence[Node], replace: Mapping[Node, Node]) -> Node | list[Node]:
    """The outputs for batches of some of their inputs, under PyTensor's name.

    outputs : ...
    replace: Input or inner expression -> its batched form, with the batch axes in front.
    Returns: One output or a list, as given. An output has the batch axes of what it depends on, and no others.
    See vmap: The same for functions.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import vectorize_graph
    >>> x, rows = pt.dvector("x"), pt.dmatrix("rows")
    >>> vectorize_graph(x.sum(), {x: rows}).eval({rows: [[1.0, 2.0], [3.0, 4.0]]}).tolist()
    [3.0, 7.0]
    """
    results = []
    # As in PyTensor, a batch may be of another dtype than what it stands for: all that follows from it is of that, too.
    other = {old: tensor_input(new.dtype, old.static_shape) for old, new in replace.items() if new.dtype != old.dtype}
    replace = {other.get(old, old): new for old, new in replace.items()}
    for given in [outputs] if isinstance(outputs, Node) else outputs:
        output = _of_other_dtype(given, other) if other else given
        met = set(topological([output], stop=replace.__contains__))
        results += vectorize([output], {old: new for old, new in replace.items() if old in met})
    return results[0] if isinstance(outputs, Node) else results


def _of_other_dtype(output: Node, replacements: Mapping[Node, Node]) -> Node:
    """The graph with nodes exchanged for those of another dtype, where scalar functions promote anew.

    Raises DtypeError where a function of several tensors takes them only as they were, or what was whole would be cut
    off.
    """
    memo = dict(replacements)
    for node in topological([output], stop=memo.__contains__):
        if node in memo:
            continue
        inputs = tuple(memo[operand] for operand in node.inputs)
        other = next((new for old, new in zip(node.inputs, inputs, strict=True) if old.dtype != new.dtype), None)
        truncates = isinstance(node.op, Cast) and other is not None and node.dtype in INTEGERS and other.dtype in FLOATS
        if other is not None and isinstance(node.op, Elementwise):
            memo[node] = apply(node.op.function, *inputs)
        elif other is not None and (truncates or len(inputs) > 1):
            was = next(old for old, new in replacements.items() if old.dtype != new.dtype)
            raise DtypeError(
                f"the batched form of {describe(was)} must be {was.dtype}, got {replacements[was].dtype}, since "
                f"`{node.op!r}` needs it; write `batch.astype({was.dtype!r})`."
            )
        else:
            memo[node] = rebuild(node, inputs)
    return memo[output]


def with_common_lengths(
    outputs: Sequence[Node], full: Mapping[Node, Operand], batch: Shape
) -> tuple[list[Node], dict[Node, Operand]]:
    """The graph, where lengths that Python functions tell are the same at all batch positions.

    Raises MissingRuleError where an output's own length differs from one position to another.
    """
    values: dict[dims.Atom, Dim] = {}
    outputs = settled(outputs)
    for atom in computed_atoms(outputs):
        source = source_of(atom)
        if given_by_python(source) and not full.keys().isdisjoint(topological([source])):
            (own,) = with_lengths([source], values, frozenset())
            each = propagate([own], full, batch)[0].full(batch)
            values[atom] = dims.computed(common_length(each), atom.name, non_negative=True)
    if values:
        nodes = with_lengths([*outputs, *full], values, frozenset())
        outputs, full = nodes[: len(outputs)], dict(zip(nodes[len(outputs) :], full.values(), strict=True))
    if computed_atoms(outputs):
        from consilience.ops.varying import at_greatest_lengths  # few batches need it

        def greatest(count: Node) -> Dim:
            most = reduce("max", propagate([count], full, batch)[0].full(batch))
            return dims.computed(apply("maximum", most, 0), "greatest length", non_negative=True)

        outputs = at_greatest_lengths(outputs, full, greatest, "batch position")
    return list(outputs), dict(full)


def propagate(outputs: Sequence[Node], operands: Mapping[Node, Operand], batch: Shape) -> list[Operand]:
    """Batched forms of the outputs, given those of some nodes with exactly the batch axes."""
    known: dict[Node, Operand] = dict(operands)
    tuples: dict[Node, list[Node]] = {}
    for node in topological(outputs, stop=known.__contains__):
        if node in known:
            continue
        if isinstance(node.op, Item) and node.inputs[0] in tuples:
            known[node] = Operand(node, tuples[node.inputs[0]][node.op.position], True)
            continue
        inputs = [known[operand] for operand in node.inputs]
        if not any(operand.batched for operand in inputs):
            known[node] = Operand(node, rebuild(node, tuple(operand.value for operand in inputs)), False)
            continue
        result = batched_row(node)(node, inputs, batch)
        if isinstance(result, list):
            tuples[node] = result
        else:
            known[node] = result if isinstance(result, Operand) else Operand(node, result, True)
    return [known[output] for output in outputs]


def _batch_shape(replacements: Mapping[Node, Node]) -> Shape:
    """The common batch shape."""
    extras = [new.static_shape[: new.ndim - old.ndim] for old, new in replacements.items()]
    rank = max(len(extra) for extra in extras)
    batch: Shape = ()
    for axis in range(-rank, 0):
        length: Dim = 1
        for extra in extras:
            own: Dim = extra[axis] if len(extra) >= -axis else 1
            if own == 1 or own is length:
                continue
            if length == 1 or not isinstance(length, int):
                length = own
            elif isinstance(own, int) and own != length:
                listed = "\n".join(f"  {describe(new)} for {describe(old)}" for old, new in replacements.items())
                raise ShapeError(f"batch axes of lengths {length} and {own} do not broadcast:\n{listed}")
        batch = (*batch, length)
    return batch


def _full(old: Node, new: Node, batch: Shape) -> Node:
    """The replacement with exactly the batch axes and the core shape of what it replaces."""
    if new.ndim - old.ndim < len(batch):
        new = expand_dims(new, range(len(batch) - (new.ndim - old.ndim)))
    return broadcast_to(new, (*batch, *old.static_shape))


def _matched_lengths(outputs: Sequence[Node], replacements: Mapping[Node, Node]) -> tuple[list[Node], dict[Node, Node]]:
    """Let symbolic lengths of the replaced inputs take the lengths of their batched forms, everywhere."""
    values: dict[dims.Atom, Dim] = {}
    for old, new in replacements.items():
        if new.dtype != old.dtype:
            raise DtypeError(f"the batched form of {describe(old)} must be {old.dtype}, got {describe(new)}.")
        if new.ndim < old.ndim:
            raise ShapeError(f"the batched form of {describe(old)} has fewer axes: {describe(new)}.")
        for own, given in zip(old.static_shape, new.static_shape[new.ndim - old.ndim :], strict=True):
            symbol = dims.as_symbol(own)
            if own is given or own == given:
                continue
            if symbol is not None and symbol not in values:
                values[symbol] = given
            elif isinstance(own, int) and isinstance(given, int):
                raise ShapeError(f"{describe(new)} is no batch of {describe(old)}: lengths {given} and {own} differ.")
    if not values:
        return list(outputs), dict(replacements)
    nodes = with_lengths([*outputs, *replacements], values, frozenset(replacements))
    count = len(outputs)
    return nodes[:count], dict(zip(nodes[count:], replacements.values(), strict=True))
