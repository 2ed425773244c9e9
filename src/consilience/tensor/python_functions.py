"""Functions of NumPy arrays as ops: what `wrap_py` and `as_op` make, under PyTensor's names."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from consilience.errors import GraphError, MissingRuleError, ShapeError
from consilience.ir import Node
from consilience.ops.python_call import PythonFunction
from consilience.tensor.python_ops import Apply, Form, Op, Performed, Pulled, title_of, type_of


class FromFunctionOp(Op):
    """A function of NumPy arrays as an op; see `wrap_py`.

    fn: Function of arrays that gives arrays.
    itypes (sequence): Types of the inputs.
    otypes (sequence): Types of the outputs.
    infer_shape: Function that gives the shapes of the results.
    gradient: Function that gives derivatives.
    thread_safe: Whether several threads may call it at once.
    See as_op: A decorator that makes one.
    >>> import numpy as np
    >>> import consilience.tensor as pt
    >>> from consilience.compile import FromFunctionOp
    >>> largest = FromFunctionOp(np.max, [pt.dvector], [pt.dscalar])
    >>> largest(pt.as_tensor([1.0, 3.0])).eval().item()
    3.0
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        itypes: Sequence[Any],
        otypes: Sequence[Any],
        infer_shape: Callable[..., Any] | None = None,
        gradient: Callable[..., Any] | None = None,
        thread_safe: bool = False,
    ) -> None:
        self.fn, self.itypes, self.otypes, self.gradient = fn, list(itypes), list(otypes), gradient
        self.thread_safe = thread_safe
        if infer_shape is not None:
            self.infer_shape = infer_shape
        functools.update_wrapper(self, fn)

    def perform(self, node: Apply, inputs: list[npt.NDArray[Any]], output_storage: list[list[Any]]) -> None:
        """The values of the function."""
        found = self.fn(*inputs)
        listed = list(found) if isinstance(found, list | tuple) else [found]
        if len(listed) != len(output_storage):
            raise ShapeError(f"`{title_of(self)}` declared {len(output_storage)} results and gave {len(listed)}.")
        for cell, value in zip(output_storage, listed, strict=True):
            cell[0] = value

    def grad(self, inputs: list[Node], output_grads: list[Node]) -> Sequence[Any]:
        """There is none: `gradient` computes it from arrays."""
        raise MissingRuleError(
            f"the Python function `{title_of(self)}` has no derivative; give `gradient=`, a function of its inputs "
            "and of one cotangent per result, or sample its parameters by a step method without gradients (`pm.Slice`, "
            "`pm.DEMetropolisZ`)."
        )

    def _python_function(self, inputs: tuple[Form, ...], outputs: tuple[Form, ...]) -> PythonFunction:
        performed, alone = Performed(self, inputs, outputs), not self.thread_safe
        if self.gradient is not None:
            return PythonFunction(performed, title_of(self), self.gradient, alone=alone)
        return PythonFunction(performed, title_of(self), pullback=Pulled(self), alone=alone)

    def _computing(self) -> Callable[..., Any]:
        return self.fn

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.fn))

    def __reduce__(self) -> Any:
        """By its name where it is what the module has under the function's name, as decorated functions are."""
        place: Any = sys.modules.get(self.fn.__module__)
        for name in self.fn.__qualname__.split("."):
            place = getattr(place, name, None)
        if place is self:
            return self.fn.__qualname__
        infer_shape = vars(self).get("infer_shape")
        return FromFunctionOp, (self.fn, self.itypes, self.otypes, infer_shape, self.gradient, self.thread_safe)


def wrap_py(
    itypes: Any,
    otypes: Any,
    infer_shape: Callable[..., Any] | None = None,
    *,
    gradient: Callable[..., Any] | None = None,
    thread_safe: bool = False,
) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Decorator: a function of NumPy arrays as a function of tensors, computed by Python in every call.

    itypes: Types of the inputs: variables such as `pt.dvector`, called or not, or `TensorType`s; one or a list.
    otypes: Types of the results, of the same kinds.
    infer_shape: Of an `Apply` and of the shapes of the inputs (a list of tuples): gives a shape per result. Without it,
        lengths that the types leave open are those of the arrays which the function gives.
    gradient: Of the inputs and of one cotangent per result, all arrays; gives one array per input, None for zeros.
    thread_safe: Whether it may run in several threads at once, as chains do; otherwise calls wait for each other.
    Returns: Decorator of a function; what it gives is called with tensors.
    See OpFromGraph: A function made of a graph.

    Notes
    -----
    The function must be pure: equal calls may be made once, and calls that nobody needs not at all. It runs with the
    interpreter's lock. What it raises reaches the caller as it is.

    >>> import consilience as pm, consilience.tensor as pt
    >>> @pm.as_op(itypes=[pt.dvector], otypes=[pt.dscalar])
    ... def largest(x):
    ...     return x.max()
    >>> largest(pt.as_tensor([1.0, 3.0, 2.0])).eval().item()
    3.0
    """
    for title, function in (("infer_shape", infer_shape), ("gradient", gradient)):
        if function is not None and not callable(function):
            raise GraphError(f"`{title}` must be a function, got {function!r}.")
    inputs, outputs = ([type_of(t) for t in _listed(types)] for types in (itypes, otypes))

    def decorate(function: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(function, inputs, outputs, infer_shape, gradient, thread_safe)

    return decorate


as_op = wrap_py


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
