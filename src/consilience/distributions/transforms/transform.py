"""Bijections between a set and unconstrained space, as graphs.

`forward` leads from the set to all of R^n, `backward` returns. Which set needs which is `registry`'s part; a
transform declares `to_line`, `from_line` and `log_jacobian_determinant`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from consilience.errors import MissingRuleError
from consilience.ir import Node, Shape, tensor_input
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.reduce import reduce
from consilience.record import Record, field_names
from consilience.transforms.gradient import gradient


class EventRank:
    """The attribute `ndim_supp` of transforms: the rank of one event, unless one sets another."""

    def __get__(self, transform: Transform | None, owner: type) -> int:
        return 0 if transform is None else transform.rank()


class Transform(Record):
    """A bijection. `name` marks transformed variables (`sigma_log__`), `event_rank` is one event's rank.

    See Log: Positive numbers.
    See chain: Several, one after the other.
    >>> import consilience as pm
    >>> import consilience.distributions.transforms as tr
    >>> class Square(tr.Transform):
    ...     name = "square"
    ...
    ...     def forward(self, value, *inputs):
    ...         return pm.math.sqrt(value)
    ...
    ...     def backward(self, value, *inputs):
    ...         return value**2
    ...
    ...     def log_jac_det(self, value, *inputs):
    ...         return pm.math.log(2 * abs(value))
    >>> Square().backward(3.0)
    9.0
    """

    name: ClassVar[str] = ""
    event_rank: ClassVar[int] = 0

    def forward(self, value: TensorLike, *inputs: Any) -> Node:
        """The unconstrained image of a value in the set.

        Parameters
        ----------
        value : TensorLike
            A tensor or numbers, with any axes before those of one event.
        *inputs : object
            Key, shape and parameters of the variable, of use to an `Interval` with `bounds_fn`.
        """
        return self._of(inputs).to_line(as_tensor(value))

    def backward(self, value: TensorLike, *inputs: Any) -> Node:
        """The value in the set of an unconstrained one; arguments as for `forward`."""
        return self._of(inputs).from_line(as_tensor(value))

    def log_jac_det(self, value: TensorLike, *inputs: Any) -> Node:
        """Log |d backward / d value| at an unconstrained value, one number per event; arguments as for `forward`."""
        return self._of(inputs).log_jacobian_determinant(as_tensor(value))

    ndim_supp: ClassVar[Any] = EventRank()

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.from_line is Transform.from_line:  # a user's: with attributes of its own, which are no fields
            cls.__eq__ = object.__eq__  # type: ignore[method-assign]  # every class has its own
            cls.__hash__ = object.__hash__  # type: ignore[method-assign]  # as above

    def __setattr__(self, name: str, value: object) -> None:
        if type(self).from_line is Transform.from_line:
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def to_line(self, value: Node) -> Node:
        """What `forward` gives."""
        raise NotImplementedError

    def from_line(self, unconstrained: Node) -> Node:
        """What `backward` gives."""
        raise NotImplementedError

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        """What `log_jac_det` gives."""
        raise NotImplementedError

    def admissible(self, value: Node) -> Node:
        """The value itself, or one near it where `forward` of it is not finite: where a search may start."""
        return value

    def _of(self, inputs: tuple[Any, ...]) -> Transform:
        return of_variable(self, tuple(None if one is None else as_tensor(one) for one in inputs))

    def of_inputs(self, inputs: tuple[Node | None, ...]) -> Transform:
        """The transform for a variable of such a key, shape and parameters."""
        del inputs
        return self

    def unconstrained_shape(self, shape: Shape) -> Shape:
        """Shape of the unconstrained image of values of a shape."""
        return shape

    def rank(self) -> int:
        """Rank of one event of the bijection."""
        return self.event_rank

    def unconstrained_rank(self) -> int:
        """Rank of the unconstrained image of one event."""
        return self.rank()


class Chain(Transform):
    """Bijections one after the other; `steps[0]` is nearest to the constrained value.

    steps: The transforms, the first one nearest to the constrained value.
    See chain: Makes one.
    >>> import consilience.distributions.transforms as tr
    >>> both = tr.Chain([tr.Log(), tr.Ordered()])
    >>> both.backward([0.0, 0.0]).eval().round(4).tolist()
    [1.0, 2.7183]
    """

    name: ClassVar[str] = "chain"
    steps: tuple[Transform, ...]

    def __init__(self, steps: Sequence[Transform]) -> None:
        object.__setattr__(self, "steps", tuple(map(_checked, steps)))

    def rank(self) -> int:
        lost = 0  # axes that earlier steps take away
        ranks = []
        for step in self.steps:
            ranks.append(step.rank() + lost)
            lost += step.rank() - step.unconstrained_rank()
        return max(ranks)

    def unconstrained_rank(self) -> int:
        return self.rank() - sum(step.rank() - step.unconstrained_rank() for step in self.steps)

    def to_line(self, value: Node) -> Node:
        for step in self.steps:
            value = step.forward(value)
        return value

    def admissible(self, value: Node) -> Node:
        image, moved = value, False
        for step in self.steps:
            own = step.admissible(image)
            moved = moved or own is not image
            image = step.forward(own)
        return self.backward(image) if moved else value

    def from_line(self, unconstrained: Node) -> Node:
        for step in reversed(self.steps):
            unconstrained = step.backward(unconstrained)
        return unconstrained

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        total: Node | None = None
        rank = self.unconstrained_rank()
        for step in reversed(self.steps):
            own = step.log_jacobian_determinant(unconstrained)
            surplus = rank - step.unconstrained_rank()
            rank += step.rank() - step.unconstrained_rank()
            if surplus:
                own = reduce("sum", own, tuple(range(-surplus, 0)))
            total = own if total is None else total + own
            unconstrained = step.backward(unconstrained)
        assert total is not None
        return total

    def unconstrained_shape(self, shape: Shape) -> Shape:
        for step in self.steps:
            shape = step.unconstrained_shape(shape)
        return shape


class OfVariable(Transform):
    """A user's transform for one variable, in PyMC's spelling: every method takes the inputs of the variable, too.

    `transform`: has `forward(value, *inputs)` and `backward(value, *inputs)`; `log_jac_det(value, *inputs)`, which may
    be missing for a map of single numbers; and, as far as they differ from those of such a map, `ndim_supp`. `inputs`:
    the variable's key, its shape, or None where that is not known, and its parameters; methods that take nothing but
    the value do without.
    """

    transform: Any
    inputs: tuple[Node | None, ...]

    @property
    def label(self) -> str:
        """The name that the user gave it."""
        return str(getattr(self.transform, "name", "") or type(self.transform).__name__.lower())

    def rank(self) -> int:
        return int(getattr(self.transform, "ndim_supp", 0))

    def to_line(self, value: Node) -> Node:
        return self._result("forward", value)

    def from_line(self, unconstrained: Node) -> Node:
        return self._result("backward", unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        if getattr(type(self.transform), "log_jac_det", Transform.log_jac_det) is not Transform.log_jac_det:
            return self._result("log_jac_det", unconstrained)
        if self.rank():
            raise MissingRuleError(
                f"the transform `{self.label}` of vectors needs a method `log_jac_det(value, *inputs)`: the logarithm "
                "of the determinant of the derivatives of `backward`, one number per vector."
            )
        (slope,) = gradient(reduce("sum", self.backward(unconstrained)), [unconstrained])
        return apply("log", apply("abs", slope))

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return self.forward(tensor_input("float64", shape)).static_shape

    def _result(self, name: str, value: Node) -> Node:
        method = getattr(self.transform, name)
        takes = inspect.signature(method).parameters.values()
        alone = len(takes) == 1 and all(p.kind is not p.VAR_POSITIONAL for p in takes)
        return as_tensor(method(value) if alone else method(value, *self.inputs))


def of_variable(transform: Any, inputs: tuple[Node | None, ...]) -> Transform:
    """A transform as the model uses it; `inputs` as in `OfVariable`.

    Raises TypeError for what is no transform.
    """
    if isinstance(transform, Chain):
        return Chain([of_variable(step, inputs) for step in transform.steps])
    if isinstance(transform, Transform) and type(transform).from_line is not Transform.from_line:
        return transform.of_inputs(inputs)
    return OfVariable(_checked(transform), inputs)


def _checked(transform: Any) -> Any:
    if isinstance(transform, type) or not (hasattr(transform, "forward") and hasattr(transform, "backward")):
        raise TypeError(
            "a transform must have the methods `forward(value, *inputs)` and `backward(value, *inputs)`, such as one "
            f"of `pm.distributions.transforms`; got {transform!r}."
        )
    return transform


def rewritten(transform: Transform, change: Callable[[Node], Node]) -> Transform:
    """The transform with other nodes in place of those that it has as bounds or inputs."""

    def changed(field: Any) -> Any:
        if isinstance(field, Node):
            return change(field)
        if isinstance(field, Transform):
            return rewritten(field, change)
        return tuple(changed(part) for part in field) if isinstance(field, tuple) else field

    fields = {name: getattr(transform, name) for name in field_names(transform)}
    return type(transform)(**{name: changed(field) for name, field in fields.items()})


def chain(first: Transform, *further: Transform) -> Transform:
    """`first` maps the constrained value, the others what it gives, in order.

    first: The first one.
    *further: Transforms that follow.
    Returns: Of several transforms a `Chain`.
    See Chain: What it makes.
    >>> import consilience.distributions.transforms as tr
    >>> tr.chain(tr.Log(), tr.Ordered()).backward([0.0, 0.0]).eval().round(4).tolist()
    [1.0, 2.7183]
    """
    steps: list[Transform] = []
    for step in (first, *further):
        steps += step.steps if isinstance(step, Chain) else [step]
    return steps[0] if len(steps) == 1 else Chain(tuple(steps))


def label(transform: Transform) -> str:
    """The transform's name in names of value variables.

    transform: Map to unconstrained space behind the default one; None for no map at all.
    Returns: The ending of the name, such as "log".
    See default_transform: The map of a variable.
    >>> import consilience.distributions.transforms as tr
    >>> tr.label(tr.Log())
    'log'
    """
    return transform.label if isinstance(transform, OfVariable) else transform.name
