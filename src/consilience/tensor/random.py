"""`pt.random`: random variables by the names of NumPy's generator, and keys.

Every function makes the same node as `Normal.dist(...)`: it has a density, and a function that returns it draws it
anew at every call, or with the key that `rng` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from consilience.distributions.generator import METHODS, GraphGenerator, made_with
from consilience.errors import DtypeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.random import fold_in, split

__all__ = ["fold_in", "split", *METHODS]  # names from the table of methods
__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path


def _key(rng: TensorLike | GraphGenerator) -> Node:
    if isinstance(rng, GraphGenerator):
        return rng.next_key()
    node = as_tensor(rng)
    if node.dtype != "key":
        raise DtypeError(f"`rng` must be a random key, got {describe(node)}; make one with `pt.key(seed)`.")
    return node


def _public(name: str) -> Callable[..., Node]:
    def function(*parameters: Any, rng: TensorLike | GraphGenerator | None = None, **named: Any) -> Node:
        return made_with(None if rng is None else _key(rng), name, parameters, named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"A random variable with the parameters of NumPy's `Generator.{name}`, `size`, and `rng`: a random key, for "
        "the same draw at every call; without it every call draws anew."
    )
    return function


def __getattr__(name: str) -> Any:
    if name not in METHODS:
        raise AttributeError(f"`pt.random` has no `{name}`; it has {', '.join(__all__)}.", name=name)
    found = globals()[name] = _public(name)
    return found
