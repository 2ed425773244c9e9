"""Functions of state, time and parameters as regions: right-hand sides of equations, and events.

A Python function of tensors in; the region out, with the values of all it reads, those it takes from around included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import FLOATS, INTEGERS, Node, Region, close, substitute, tensor_input
from consilience.ir.arithmetic import known_meaning
from consilience.ir.side_tables import describe
from consilience.ops.loop import outside
from consilience.record import Record
from consilience.tensor.differentiation import pushforward


class StateFunction(Record, eq=False):
    """A function of a time, a state that is a vector, and parameters.

    `body`: region of time, state and parameters; gives dy/dt, a vector like the state, or the number of an event.
    `parameters`: values of what the function reads besides time and state.
    """

    body: Region
    parameters: tuple[Node, ...]

    @classmethod
    def of(cls, value: Node, t: Node, y: Node, leaves: tuple[Node, ...], parameters: tuple[Node, ...]) -> StateFunction:
        """The function that an expression of t, y and leaves means, with values for the leaves."""
        return cls(close([value], [t, y, *leaves])[0], parameters)

    def __call__(self, t: Node, y: Node, parameters: tuple[Node, ...]) -> Node:
        """Its value, for parameters that may differ from the own ones."""
        result: Node = self.body.apply(t, y, *parameters)[0]
        return result

    def linearised(self, t: Node, y: Node, parameters: tuple[Node, ...]) -> tuple[Node, Node]:
        """Derivatives of the value: with respect to the state, along a last axis, and with respect to time."""
        jacobian, by_time = self._slopes.apply(t, y, *parameters)
        return jacobian, by_time

    @cached_property
    def _slopes(self) -> Region:
        """Region of the same parameters that gives both derivatives."""
        leaves = [tensor_input(of.dtype, of.shape) for of in self.body.parameters]
        (value,) = self.body.apply(*leaves)
        jacobian = pt.jacobian(value, leaves[1], disconnected_inputs="ignore")
        by_time = pushforward(value, leaves[0], 1.0, disconnected_outputs="ignore")
        return close([jacobian, by_time], leaves)[0]

    @property
    def differentiable(self) -> tuple[int, ...]:
        """Positions of the parameters that derivatives reach."""
        return tuple(i for i, value in enumerate(self.parameters) if value.dtype in FLOATS)


def right_hand_side(function: Callable[..., Any], like: Node, theta: Any, name: str = "f") -> StateFunction:
    """What `function(y, t, theta)` computes; `name` is what messages call it."""
    return _traced(function, like, theta, name, lambda given: pt.reshape(_derivative(given, like, name), (-1,)))


def event_function(function: Callable[..., Any], like: Node, theta: Any) -> StateFunction:
    """The number that `function(y, t, theta)` gives; raises ShapeError and DtypeError for what is no real number."""

    def number(given: Any) -> Node:
        value = pt.as_tensor(given)
        if value.ndim:
            raise ShapeError(f"event(y, t, theta) must give a number, got {describe(value)}.")
        return _real(value, "event")

    return _traced(function, like, theta, "event", number)


def _traced(
    function: Callable[..., Any], like: Node, theta: Any, name: str, fitted: Callable[[Any], Node]
) -> StateFunction:
    """What a function computes, once its result was made fit."""
    t, flat = tensor_input("float64", (), "t"), tensor_input("float64", pt.reshape(like, (-1,)).static_shape, "y")
    state = flat if like.ndim == 1 else pt.reshape(flat, like.shape)
    given = list(members(theta))
    leaves = [tensor_input(value.dtype, value.static_shape) for value in given]
    try:
        value = fitted(function(state, t, with_members(theta, iter(leaves))))
    except Exception as error:
        error.add_note(f"`{name}` is called as {name}(y, t, theta): state, time and parameters, all of them tensors.")
        raise
    _refuse_draws(value, t, name)
    own = [t, flat, *leaves]
    around = outside([value], own)
    inside = [tensor_input(node.dtype, node.static_shape) for node in around]
    (value,) = substitute([value], dict(zip(around, inside, strict=True)))
    return StateFunction.of(value, t, flat, (*leaves, *inside), (*given, *around))


def _refuse_draws(value: Node, t: Node, name: str) -> None:
    """Refuse random variables that the function made: they would be the same in all steps."""
    keys = known_meaning("fresh_keys")  # not known as long as there is no random variable
    drawn = [] if keys is None else [key for key in keys([value]) if key.op.serial > t.op.serial]  # type: ignore[attr-defined]  # Input
    if drawn:
        raise GraphError(
            f"{name}(y, t, theta) draws random numbers, and an equation is solved for a function that does not change; "
            "draw them before, or solve a stochastic equation by `pm.ode.sde`."
        )


def _real(value: Node, name: str) -> Node:
    """As float64."""
    if value.dtype not in FLOATS and value.dtype not in INTEGERS:
        raise DtypeError(f"{name}(y, t, theta) must be real, got {describe(value)}.")
    return value if value.dtype == "float64" else value.astype("float64")


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
    derivative = _real(pt.as_tensor(given), name)
    shapes = derivative.static_shape, like.static_shape
    if len(shapes[0]) != len(shapes[1]) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(*shapes, strict=True)
    ):
        raise ShapeError(
            f"{name}(y, t, theta) must give one number for every element of y, a tensor of shape {shapes[1]}, got "
            f"{describe(derivative)}."
        )
    return derivative
