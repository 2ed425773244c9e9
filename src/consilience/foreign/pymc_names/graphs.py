"""Questions to graphs that PyMC's and PyTensor's helpers answer: constants, shapes, random variables.

In: expressions. Out: numbers, expressions. Outside: rewriting of graphs, which is `graph`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.distributions.dist_math import check_parameters
from consilience.distributions.random_variable import random_variables
from consilience.errors import GraphError
from consilience.ir import Node, constant_value, tensor_input, topological
from consilience.ir.arithmetic import plain
from consilience.ops.elementwise import as_tensor
from consilience.rewrite.rules import simplify

__all__ = [
    "CheckParameterValue", "NotConstantValueError", "constant_fold",
    "random_generator_type", "resolve_shapes", "rvs_in_graph", "shape_i",
]  # fmt: skip


class NotConstantValueError(GraphError, ValueError):
    """An expression depends on something that is not known before it is computed."""


class CheckParameterValue:
    """`check_parameters` with its message first: `CheckParameterValue(msg)(value, *conditions)`."""

    def __init__(self, msg: str = "", can_be_replaced_by_ninf: bool = False) -> None:
        self.msg = msg
        self.can_be_replaced_by_ninf = can_be_replaced_by_ninf

    def __call__(self, value: Any, *conditions: Any) -> Node:
        return check_parameters(value, *conditions, msg=self.msg, can_be_replaced_by_ninf=self.can_be_replaced_by_ninf)


def constant_fold(xs: Sequence[Node], raise_not_constant: bool = True) -> tuple[Any, ...]:
    """Expressions as arrays where they depend on constants alone, simplified where they do not.

    Raises
    ------
    NotConstantValueError
        For one that is not constant, unless `raise_not_constant` is False.
    """
    found = [as_tensor(x) for x in xs]
    values = [_known(node) for node in found]
    if raise_not_constant and any(value is None for value in values):
        unknown = next(x for x, value in zip(xs, values, strict=True) if value is None)
        raise NotConstantValueError(f"{unknown!r} depends on more than constants.")
    simplified = simplify(found)
    return tuple(node if value is None else value for node, value in zip(simplified, values, strict=True))


def _known(node: Node) -> npt.NDArray[Any] | None:
    """The value of an expression of constants alone."""
    if any(not n.inputs and constant_value(n) is None for n in topological([node])):
        return None
    return np.asarray(reference.evaluate([node], {})[0])


def resolve_shapes(shapes: Sequence[Any]) -> tuple[Node, ...]:
    """Lengths as expressions of the inputs' lengths: so they are from the start here, and are only simplified."""
    return tuple(simplify([as_tensor(length) for length in shapes]))


def rvs_in_graph(vars: Node | Sequence[Node], rv_ops: Any = None) -> set[Node]:
    """The random variables on which expressions depend, themselves included.

    Parameters
    ----------
    rv_ops : object, optional
        A distribution's `rv_type`, or several in a tuple: those of these alone.
    """
    found = random_variables([plain(one) for one in (vars if isinstance(vars, list | tuple | set) else [vars])])
    return {rv for rv in found if rv_ops is None or isinstance(rv.op, rv_ops)}


def random_generator_type(name: str | None = None) -> Node:
    """A symbolic random generator: a random key, for which a compiled function takes a generator of NumPy's."""
    return tensor_input("key", (), name)


def shape_i(var: Node, i: int) -> Node:
    """The length of axis i."""
    length: Node = as_tensor(var).shape[i]
    return length
