"""The right-hand side of dy/dt = f(y, t, theta) as a region of time, state and parameters.

A Python function of tensors in; the region out, with the values of all it reads, those it takes from around included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import consilience.tensor as pt
from consilience.errors import DtypeError, ShapeError
from consilience.ir import FLOATS, INTEGERS, Node, Region, close, substitute, tensor_input
from consilience.ir.side_tables import describe
from consilience.ops.scan import outside
from consilience.record import Record
from consilience.tensor.differentiation import pushforward


class RightHandSide(Record, eq=False):
    """dy/dt for a state that is a vector.

    body        region of time, state and parameters; gives the derivative of the state
    parameters  values of what the function reads besides time and state
    """

    body: Region
    parameters: tuple[Node, ...]

    @classmethod
    def of(
        cls, derivative: Node, t: Node, y: Node, leaves: tuple[Node, ...], parameters: tuple[Node, ...]
    ) -> RightHandSide:
        """The equation that an expression of t, y and leaves means, with values for the leaves."""
        return cls(close([derivative], [t, y, *leaves])[0], parameters)

    def __call__(self, t: Node, y: Node, parameters: tuple[Node, ...]) -> Node:
        """The derivative of the state, for parameters that may differ from the own ones."""
        result: Node = self.body.apply(t, y, *parameters)[0]
        return result

    def linearised(self, t: Node, y: Node, parameters: tuple[Node, ...]) -> tuple[Node, Node]:
        """The Jacobian with respect to the state, row derivative and column state; the derivative by time."""
        jacobian, by_time = self._slopes.apply(t, y, *parameters)
        return jacobian, by_time

    @cached_property
    def _slopes(self) -> Region:
        """Region of the same parameters that gives both derivatives."""
        leaves = [tensor_input(of.dtype, of.shape) for of in self.body.parameters]
        (derivative,) = self.body.apply(*leaves)
        jacobian = pt.jacobian(derivative, leaves[1], disconnected_inputs="ignore")
        by_time = pushforward(derivative, leaves[0], 1.0, disconnected_outputs="ignore")
        return close([jacobian, by_time], leaves)[0]

    @property
    def differentiable(self) -> tuple[int, ...]:
        """Positions of the parameters that derivatives reach."""
        return tuple(i for i, value in enumerate(self.parameters) if value.dtype in FLOATS)


def right_hand_side(function: Callable[..., Any], like: Node, theta: Any, name: str = "f") -> RightHandSide:
    """What `function(y, t, theta)` computes; `name` is what messages call it.

    function   gives the derivative: a tensor of the shape of y, or a list of numbers for a vector
    like       a state of the user's shape, float64
    theta      a tensor, or tuples, lists and dicts of them, handed on in the same form
    raises     ShapeError and DtypeError for a derivative that does not fit the state
    """
    t, flat = tensor_input("float64", (), "t"), tensor_input("float64", pt.reshape(like, (-1,)).static_shape, "y")
    state = flat if like.ndim == 1 else pt.reshape(flat, like.shape)
    given = list(members(theta))
    leaves = [tensor_input(value.dtype, value.static_shape) for value in given]
    derivative = _derivative(function(state, t, with_members(theta, iter(leaves))), like, name)
    derivative = derivative if like.ndim == 1 else pt.reshape(derivative, flat.shape)
    own = [t, flat, *leaves]
    around = outside([derivative], own)
    inside = [tensor_input(value.dtype, value.static_shape) for value in around]
    (derivative,) = substitute([derivative], dict(zip(around, inside, strict=True)))
    return RightHandSide.of(derivative, t, flat, (*leaves, *inside), (*given, *around))


def members(theta: Any) -> Iterator[Node]:
    """The tensors in a tensor, or in tuples, lists and dicts of them."""
    if isinstance(theta, Mapping):
        theta = list(theta.values())
    if isinstance(theta, tuple | list):
        for member in theta:
            yield from members(member)
    else:
        yield pt.as_tensor(theta)


def with_members(theta: Any, values: Iterator[Node]) -> Any:
    """The same form with other tensors."""
    if isinstance(theta, Mapping):
        return {key: with_members(member, values) for key, member in theta.items()}
    if isinstance(theta, tuple | list):
        made = [with_members(member, values) for member in theta]
        return type(theta)(*made) if hasattr(theta, "_fields") else type(theta)(made)
    return next(values)


def _derivative(given: Any, like: Node, name: str) -> Node:
    """What the user's function returned, as float64 tensor of the shape of the state."""
    if isinstance(given, tuple | list):
        given = pt.stack([pt.as_tensor(part) for part in given]) if given else pt.as_tensor([])
    derivative = pt.as_tensor(given)
    if derivative.dtype not in FLOATS and derivative.dtype not in INTEGERS:
        raise DtypeError(f"{name}(y, t, theta) must be real, got {describe(derivative)}.")
    shapes = derivative.static_shape, like.static_shape
    if len(shapes[0]) != len(shapes[1]) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(*shapes, strict=True)
    ):
        raise ShapeError(
            f"{name}(y, t, theta) must give one number for every element of y, a tensor of shape {shapes[1]}, got "
            f"{describe(derivative)}."
        )
    return derivative if derivative.dtype == "float64" else derivative.astype("float64")
