"""A compiled function without effects, as engines take it over.

A `Function` in; its graph at given shapes, its arguments in order, its pullback out. What engines make of them stands
in `engines`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.function import Function, function
from consilience.backends.registry import Bound
from consilience.backends.request import In, Request
from consilience.errors import ExecutionError, GraphError, ShapeError
from consilience.ir import FLOATS, Node, computed_atoms, constant, substitute, tensor_input
from consilience.ir.lengths import source_of
from consilience.ir.side_tables import describe, name_of
from consilience.lower.specialise import specialise
from consilience.transforms.gradient import pullback

Array: TypeAlias = npt.NDArray[Any]
Shapes: TypeAlias = Sequence[tuple[int, ...]]


class PureFunction:
    """A function, and the values that its shared variables have now.

    `slots`: those values, in the order of the function's shared variables. Raises GraphError where the function updates
    shared variables.
    """

    def __init__(self, of: Function) -> None:
        if of.updates:
            slot = describe(next(iter(of.updates)))
            raise GraphError(f"`{of.name}` updates {slot}, which a pure function cannot: `.copy(delete_updates=True)`.")
        self.of = of
        self.slots: list[Array] = of._place().snapshot(of._slots)

    @property
    def names(self) -> list[str]:
        """Names of the inputs, for messages."""
        return [item.name or f"input {i}" for i, item in enumerate(self.of._request.inputs)]

    @property
    def single(self) -> bool:
        """Whether the only output is returned itself."""
        return self.of._request.form == "one"

    def arrays(self, values: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        """The arguments of a call as arrays, one for each input."""
        return self.of._converted(values, named)

    def called(self, run: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
        """A function that is called as this one, by one of an engine's values, one for each input."""
        name, items = self.of.name, self.of._request.inputs

        def call(*values: Any, **named: Any) -> Any:
            given = zip(items, self.of._in_order(values, named), strict=True)
            found = run(*(self.of._array(item, None) if value is None else value for item, value in given))
            return self.of._formed(list(found))

        call.__name__ = call.__qualname__ = name if name.isidentifier() else "function"
        return call

    def at(self, shapes: Shapes) -> tuple[list[Node], list[Node]]:
        """Inputs with shared variables, and outputs, at shapes of the inputs; GraphError for computed lengths."""
        of, leaves = self.of, (*self.of.inputs, *self.of._slots)
        static, memo = specialise([*of.optimised, *leaves], of.check_shapes([*shapes, *map(np.shape, self.slots)]))
        atom = next(iter(computed_atoms(static)), None)
        if atom is not None:
            raise GraphError(
                f"lengths in `{of.name}` must follow from the shapes of its arguments here, but one is computed: "
                f"{describe(source_of(atom))}. For a loop that stops by a condition, take its last values by "
                "`pt.while_loop`, or give it a fixed number of steps; for elements chosen by a mask, use `pt.where`."
            )
        return [memo[leaf] for leaf in leaves], static[: len(of.optimised)]

    def bound(self, shapes: Shapes) -> tuple[Bound, list[Node]]:
        """The code at shapes of the inputs with the shared values in it, and the outputs; GraphError as `at`."""
        leaves, results = self.at(shapes)
        count = len(shapes)
        return self.of._compile(leaves[:count], results, {}, leaves[count:]).bind(self.slots), results

    def computed(self, *arrays: Array) -> list[Array]:
        """Values of the outputs, by the function's own backend."""
        items = zip(self.of._request.inputs, arrays, strict=True)
        given = [*(self.of._array(item, value) for item, value in items), *self.slots]
        try:
            return self.of._executable(given)(given)
        except (ExecutionError, ShapeError) as error:
            raise self.of._located(error, given) from None

    def pullback(self, shapes: Shapes) -> Function:
        """Cotangents of the float inputs, from inputs and cotangents of the float outputs, at shapes of the inputs."""
        leaves, static = self.at(shapes)
        own = leaves[: len(shapes)]
        known = {leaf: constant(value) for leaf, value in zip(leaves[len(own) :], self.slots, strict=True)}
        results = substitute(static, known)
        smooth = [result for result in results if result.dtype in FLOATS]
        moved = [leaf for leaf in own if leaf.dtype in FLOATS]
        seeds = [tensor_input(r.dtype, r.static_shape, f"cotangent {i}") for i, r in enumerate(smooth)]
        return function([*own, *seeds], pullback(smooth, moved, seeds), mode=self.of.mode, on_unused_input="ignore")


def opened(of: Function) -> tuple[Function, list[tuple[str | None, Array]]]:
    """The same function with its shared variables of floats as last inputs, and their names and present values.

    Raises GraphError where there are none.
    """
    slots = [slot for slot in of._slots if slot.dtype in FLOATS]
    if not slots:
        raise GraphError(f"`{of.name}` reads no `pm.shared` variable of floats to be trained: use `torch`.")
    request = of._request
    taken = [tensor_input(slot.dtype, slot.static_shape, name_of(slot)) for slot in slots]
    results = substitute(request.expressions, dict(zip(slots, taken, strict=True)))[: len(of.outputs)]
    inputs = (*request.inputs, *map(In, taken))
    whole = Request(of.name, inputs, tuple(results), request.updates, request.form, request.keys)
    made = Function(whole, mode=of.mode, context=of._context, allow_downcast=of._allow_downcast)
    return made, list(zip(map(name_of, slots), of._place().snapshot(slots), strict=True))
