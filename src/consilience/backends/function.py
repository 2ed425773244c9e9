"""From expressions to something that can be called.

Inputs and outputs in, a `Function` out: obligations are collected from the graph as written, the graph is
simplified, and a backend compiles it for the shapes that come. Which backend does the work is looked up
in the registry.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.backends.contexts import Context
from consilience.backends.registry import Executable
from consilience.backends.registry import backend as find_backend
from consilience.backends.shapes import Lengths, bind_lengths, check_sizes, sizes_of
from consilience.errors import DtypeError, ExecutionError, GraphError, MemoryShortage, RangeError, ShapeError
from consilience.ir import Debt, Input, Node, Shared, TensorType, is_leaf, numpy_dtype, topological
from consilience.ir import dimension as dims
from consilience.ir.arithmetic import means
from consilience.ir.leaves import is_masked
from consilience.ir.obligations import collect
from consilience.ir.side_tables import describe, name_of
from consilience.rules import simplify

Array: TypeAlias = npt.NDArray[Any]
Outputs: TypeAlias = Node | Sequence[Node] | Mapping[str, Node]

# Specialisations kept per function: one per combination of input shapes seen lately.
KEPT_SHAPES = 64


class Function:
    """A compiled expression; call it with one value per input, by position or by name.

    Re-entrant: any number of threads may call it at once. Values of shared variables come from `context`.
    """

    def __init__(
        self, inputs: Sequence[Node], outputs: Outputs, name: str | None, backend: str, context: Context | None
    ) -> None:
        self.name = name or "function"
        self.inputs = tuple(inputs)
        self._keys = list(outputs) if isinstance(outputs, Mapping) else None
        self._single = isinstance(outputs, Node)
        written = _listed(outputs)
        self.outputs = tuple(written)
        self._check_inputs()
        self._debts: tuple[Debt, ...] = collect(written)
        self._sizes = sizes_of(topological(written))
        self.optimised = tuple(simplify(written))
        self._slots = _slots(self.optimised, written)
        self._context = context
        self._compile = find_backend(backend)
        self._executables: OrderedDict[tuple[tuple[int, ...], ...], Executable] = OrderedDict()
        self._lock = threading.Lock()

    def _check_inputs(self) -> None:
        seen: set[Node] = set()
        for node in self.inputs:
            if not isinstance(node.op, Input):
                raise GraphError(
                    f"an input must be a symbolic variable such as `pt.vector('x')`, got {describe(node)}."
                )
            if node in seen:
                raise GraphError(f"{describe(node)} is listed twice among the inputs of `{self.name}`.")
            seen.add(node)
        missing = [n for n in topological(self.outputs) if isinstance(n.op, Input) and n not in seen]
        if missing:
            raise GraphError(
                f"`{self.name}` depends on {describe(missing[0])}, which is not among its inputs; add it to `inputs`."
            )

    def __call__(self, *values: npt.ArrayLike, context: Context | None = None, **named: npt.ArrayLike) -> Any:
        """Values of the outputs in the form they were given: an array, a list or a dict."""
        arrays = self._converted(values, named)
        place = context or self._context or contexts.DEFAULT
        arrays += [place.get(slot) for slot in self._slots]
        try:
            results = self._executable(arrays)(arrays)
        except ExecutionError as error:
            raise self._located(error, arrays) from None
        if self._single:
            return results[0]
        return dict(zip(self._keys, results, strict=True)) if self._keys is not None else results

    def _located(self, error: ExecutionError, arrays: Sequence[Array]) -> ExecutionError:
        """The same failure found again in the expressions as the user wrote them, which says where it is."""
        if isinstance(error, MemoryShortage):
            return error
        try:
            reference.evaluate(self.outputs, dict(zip((*self.inputs, *self._slots), arrays, strict=True)))
        except ExecutionError as precise:
            return precise
        return error

    def _converted(self, values: Sequence[npt.ArrayLike], named: Mapping[str, npt.ArrayLike]) -> list[Array]:
        given: list[npt.ArrayLike | None] = [*values, *[None] * (len(self.inputs) - len(values))]
        names = [name_of(node) for node in self.inputs]
        if len(values) > len(self.inputs):
            raise TypeError(f"`{self.name}` takes {len(self.inputs)} inputs, got {len(values)}.")
        for key, value in named.items():
            if key not in names:
                raise TypeError(f"`{self.name}` has no input `{key}`; its inputs are {names}.")
            if names.count(key) > 1:
                raise TypeError(f"`{self.name}` has {names.count(key)} inputs named `{key}`; give them by position.")
            position = names.index(key)
            if given[position] is not None:
                raise TypeError(f"the input `{key}` of `{self.name}` was given twice.")
            given[position] = value
        return [self._array(node, value) for node, value in zip(self.inputs, given, strict=True)]

    def _array(self, node: Node, value: npt.ArrayLike | None) -> Array:
        if value is None:
            raise TypeError(f"`{self.name}` needs a value for {describe(node)}.")
        if isinstance(value, Node):
            raise TypeError(f"`{self.name}` needs numbers for {describe(node)}, got the expression {value!r}.")
        if is_masked(value):
            raise DtypeError(f"{describe(node)} cannot take a masked array; fill or drop the masked entries first.")
        array = np.asarray(value)
        wanted = numpy_dtype(node.dtype)
        if array.dtype != wanted:
            if array.dtype.kind in "iu" and wanted.kind in "iu":
                return _whole(node, array, wanted)
            if not np.can_cast(array.dtype, wanted, "same_kind") or (array.dtype.kind == "b") != (wanted.kind == "b"):
                raise DtypeError(
                    f"{describe(node)} needs {node.dtype}, got an array of {array.dtype}; convert it with `.astype`."
                )
            array = array.astype(wanted)
        return array

    def _executable(self, arrays: Sequence[Array]) -> Executable:
        shapes = tuple(array.shape for array in arrays)
        with self._lock:
            known = self._executables.get(shapes)
            if known is not None:
                self._executables.move_to_end(shapes)
                return known
        lengths = self.check_shapes(shapes)
        made = self._compile((*self.inputs, *self._slots), self.optimised, lengths)
        with self._lock:
            self._executables[shapes] = made
            while len(self._executables) > KEPT_SHAPES:
                self._executables.popitem(last=False)
        return made

    def check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Lengths:
        """Values of the symbolic lengths; raises ShapeError where shapes or obligations do not fit."""
        lengths: Lengths = {}
        for node, shape in zip((*self.inputs, *self._slots), shapes, strict=True):
            bind_lengths(node, shape, lengths)
        check_sizes(self._sizes, lengths)
        for debt in self._debts:
            left = dims.substitute(debt.obligation.left, lengths)
            right = dims.substitute(debt.obligation.right, lengths)
            if isinstance(left, int) and isinstance(right, int) and left != right:
                raise ShapeError(
                    f"{debt.obligation.reason}, but `{debt.obligation.left!r}` is {left} and "
                    f"`{debt.obligation.right!r}` is {right}, in {debt.where}. "
                    "A length 1 is stretched only when it is static: index with `None` to add such an axis."
                )
        return lengths


def _whole(node: Node, array: Array, wanted: np.dtype[Any]) -> Array:
    """Integers as another integer dtype that holds all of them."""
    if array.size and not np.can_cast(array.dtype, wanted, "safe"):
        limits = np.iinfo(node.dtype)
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            worst = low if low < limits.min else high
            raise RangeError(f"{describe(node)} takes {node.dtype}, which does not hold {worst}.")
    return array.astype(wanted)


def _listed(outputs: Outputs) -> list[Node]:
    if isinstance(outputs, Node):
        return [outputs]
    listed = list(outputs.values()) if isinstance(outputs, Mapping) else list(outputs)
    for output in listed:
        if not isinstance(output, Node) or not isinstance(output.type, TensorType):
            raise GraphError(f"an output must be a tensor expression, got {output!r}.")
    return listed


def _slots(*graphs: Sequence[Node]) -> tuple[Node, ...]:
    found: dict[Node, None] = {}
    for graph in graphs:
        found.update(dict.fromkeys(n for n in topological(graph) if isinstance(n.op, Shared)))
    return tuple(found)


def function(
    inputs: Sequence[Node],
    outputs: Outputs,
    *,
    name: str | None = None,
    backend: str = "llvm",
    context: Context | None = None,
) -> Function:
    """Compile expressions.

    inputs    symbolic variables, in the order of the call
    outputs   an expression, a list or a dict of expressions; results come in the same form
    backend   "llvm" (machine code) or "reference" (NumPy)
    context   where shared variables take their values; the default context if not given
    """
    return Function(inputs, outputs, name, backend, context)


def eval(
    expression: Node,
    inputs: Mapping[Node | str, npt.ArrayLike] | None = None,
    *,
    backend: str = "llvm",
    context: Context | None = None,
) -> Array:
    """The value of one expression, given values of its inputs (by node or by name)."""
    given = dict(inputs or {})
    leaves = [n for n in topological([expression]) if is_leaf(n) and isinstance(n.op, Input)]
    by_name = {name_of(n): n for n in leaves}
    values = {by_name.get(k, k) if isinstance(k, str) else k: v for k, v in given.items()}
    if any(leaf not in values for leaf in leaves):
        raise _missing(leaves, values)
    compiled = function(leaves, expression, backend=backend, context=context)
    result: Array = compiled(*[values[leaf] for leaf in leaves])
    return result


def _missing(leaves: Sequence[Node], values: Mapping[Any, Any]) -> GraphError:
    absent = next(n for n in leaves if n not in values)
    return GraphError(f"`eval` needs a value for {describe(absent)}; pass it as `.eval({{x: value}})`.")


means("eval")(eval)
