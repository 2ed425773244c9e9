"""Kinds of tensors as classes for `isinstance`: there is one class of tensors, and its op tells the kind.

In: a name and a test. Out: a class of which things are instances that pass the test. Outside: making tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from consilience.errors import GraphError
from consilience.ir.leaves import Shared
from consilience.ir.node import Node


class Kind(type):
    """A class whose instances are the things that pass a test; none is made by calling it, and none derived from it."""

    test: Callable[[Any], bool]

    @classmethod
    def of(cls, name: str, test: Callable[[Any], bool], documentation: str = "") -> Kind:
        """The kind with this name."""
        return cls(name, (), {"test": staticmethod(test), "__doc__": documentation})

    def __init__(cls, name: str, bases: tuple[type, ...], contents: dict[str, Any]) -> None:
        if bases:
            cls.refuse(bases[0].__name__)
        super().__init__(name, bases, contents)

    def __instancecheck__(cls, thing: object) -> bool:
        return cls.test(thing)

    def __call__(cls, *arguments: object, **keywords: object) -> NoReturn:
        cls.refuse(cls.__name__)

    @staticmethod
    def refuse(name: str) -> NoReturn:
        """Say what a kind is good for."""
        raise GraphError(
            f"`{name}` tells kinds of tensors apart, in `isinstance(x, {name})`; tensors are made by functions such as "
            "`pt.dvector`, `pt.constant` and `pm.shared`."
        )


HOLDERS: list[type[Any]] = []  # classes of what names the axes of a tensor, its `values`, and is of the tensor's kind


def _is_shared(thing: Any) -> bool:
    named = isinstance(thing, tuple(HOLDERS))
    node = thing.values if named else thing
    return isinstance(node, Node) and isinstance(node.op, Shared)


SharedVariable = Kind.of(
    "SharedVariable",
    _is_shared,
    """Tensors whose value is kept between calls of functions, for `isinstance`; none is made by calling it.

Parameters
----------
*arguments, **keywords : object
    Refused, as is deriving a class from it.

See Also
--------
shared : Makes one.

Examples
--------
>>> import consilience as pm, consilience.tensor as pt
>>> from consilience.compile import SharedVariable
>>> isinstance(pm.shared(1.0), SharedVariable), isinstance(pt.dscalar("x"), SharedVariable)
(True, False)
""",
)
