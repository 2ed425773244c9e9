"""The model in whose `with` block a distribution is called, one stack per thread.

A distribution hands its variable to the innermost context. What a context does with it is the model's own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, cast

from consilience.errors import ModelError
from consilience.ir import Dim, Node, Shape
from consilience.names.absent import around

Declared = TypeVar("Declared")


class Default:
    """Marks an argument that was not given where `None` has a meaning of its own."""

    def __repr__(self) -> str:
        return "DEFAULT"

    def __reduce__(self) -> str:
        return "DEFAULT"


DEFAULT: Final = Default()


class ObservedData(Protocol):
    """Data as a model took them in."""

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        ...


class ModelContext(Protocol):
    """What a distribution needs of a model."""

    @property
    def named(self) -> Mapping[str, Node]:
        """The model's variables, data and expressions by name."""
        ...

    def given_data(
        self, name: str, observed: Any, total_size: Any = None, dims: Sequence[str | None] | None = None
    ) -> ObservedData | None:
        """Data of a variable, None where there are none."""
        ...

    def register(
        self,
        name: str,
        node: Node,
        *,
        observed: Any = None,
        dims: str | Sequence[str | None] | None = None,
        transform: Any = DEFAULT,
        initval: Any = None,
        total_size: Any = None,
    ) -> Node:
        """Take a random variable (an op `RandomVariable`) into the model and return what the user works with."""
        ...

    def add_deterministic(self, name: str, node: Node, dims: str | Sequence[str | None] | None = None) -> Node:
        """Keep the values of an expression under a name; for distributions that give more than one result."""
        ...

    def made_with_dims(self, name: str, made: Any) -> None:
        """Have the variable be a tensor with named dims where the model is asked for it."""
        ...

    def lengths_of(self, dims: str | Sequence[str | None]) -> Sequence[Dim | None]:
        """Length per dim; None for one whose length is not known yet."""
        ...


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[ModelContext] = []


_stack: Final = _Stack()


def push(context: ModelContext) -> None:
    """Make `context` the innermost one of this thread."""
    _stack.contexts.append(context)


def pop() -> ModelContext:
    """Leave the innermost context and return it."""
    return _stack.contexts.pop()


def current_or_none() -> ModelContext | None:
    """The innermost context of this thread, None outside all."""
    return _stack.contexts[-1] if _stack.contexts else None


class Closed:
    """A model as a function that makes an expression sees it: all is there, and nothing can be added."""

    def __init__(self, of: ModelContext, title: str) -> None:
        self._of, self._title = of, title

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def given_data(self, name: str, *_: Any, **__: Any) -> Any:
        """ModelError: a distribution asks for its data first of all."""
        raise self.refusal(f"makes `{name}`, a variable of the model")

    def refusal(self, what: str) -> ModelError:
        """The error for a function that does more than make an expression."""
        return ModelError(
            f"{self._title}: `dist` {what}; inside it write `pm.Normal.dist(mu, size=size)`, without a name, and make "
            "variables of the model outside."
        )


@contextlib.contextmanager
def closed(title: str) -> Iterator[None]:
    """Let the current model, if there is one, take no variables."""
    model = current_or_none()
    if model is None:
        yield
        return
    push(cast(ModelContext, Closed(model, title)))
    try:
        yield
    finally:
        pop()


def current(what: str | None = None) -> ModelContext:
    """The innermost context; ModelError outside all. `what` names the distribution that asks."""
    found = current_or_none()
    if found is None:
        hint = f" or `{what}.dist(...)` for a variable outside any model" if what else ""
        if told := around():
            raise ModelError(told)
        raise ModelError(f"No model on context stack: use `with pm.Model():`{hint}.")
    return found


class Declaring(type):
    """Makes a model the context while its `__init__` runs, so that those of derived classes may declare variables."""

    @property
    def __signature__(cls) -> Any:
        import inspect

        whole = inspect.signature(cls.__init__)  # type: ignore[misc]  # of the class that is made, not of this one
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def __call__(cls: type[Declared], *arguments: Any, **named: Any) -> Declared:
        made: Any = cls.__new__(cls)
        made.around = current_or_none()
        push(made)
        try:
            made.__init__(*arguments, **named)
        finally:
            pop()
            del made.around
        result: Declared = made
        return result
