"""Named inputs of many shapes, ranges and structures, from which examples of rules are built.

`Samples().vector` is an input node; `values` draws arrays for all inputs that were used. Every other
attribute is a row of the scalar table or a function of the ops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import Node, constant, tensor_input
from consilience.ops import TABLE, Iota, apply, linalg, reduce, shape
from consilience.ops.index import index_inc
from consilience.ops.reduce import softmax
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from consilience.record import Record
from consilience.rewrite.facts import assume

Array = npt.NDArray[Any]
Generator = np.random.Generator


class Kind(Record):
    """How an input looks and how its values are drawn; `real` inputs are also given extreme values."""

    dtype: str
    shape: tuple[int, ...]
    draw: Callable[[Generator, tuple[int, ...]], Array]
    facts: tuple[str, ...] = ()
    low: float = -np.inf
    high: float = np.inf
    real: bool = True


def _normal(rng: Generator, size: tuple[int, ...]) -> Array:
    return rng.normal(0, 2, size)


def _positive(rng: Generator, size: tuple[int, ...]) -> Array:
    return rng.gamma(2.0, 1.0, size) + 0.01


def _whole(rng: Generator, size: tuple[int, ...]) -> Array:
    return rng.integers(-5, 6, size)


def _flag(rng: Generator, size: tuple[int, ...]) -> Array:
    return rng.random(size) < 0.5


def _places(rng: Generator, size: tuple[int, ...]) -> Array:
    return rng.integers(0, 3, size)


def _lower(rng: Generator, size: tuple[int, ...]) -> Array:
    return np.tril(rng.normal(0, 1, size), -1) + np.eye(size[0]) * (1 + rng.random(size))


def _definite(rng: Generator, size: tuple[int, ...]) -> Array:
    factor = _lower(rng, size)
    return factor @ factor.T


def _diagonal(rng: Generator, size: tuple[int, ...]) -> Array:
    return np.eye(size[0]) * (0.5 + rng.random(size))


def _invertible(rng: Generator, size: tuple[int, ...]) -> Array:
    return rng.normal(0, 1, size) + 3 * np.eye(size[0])


INPUTS: dict[str, Kind] = {
    "scalar": Kind("float64", (), _normal),
    "vector": Kind("float64", (5,), _normal),
    "x": Kind("float64", (5,), _normal),
    "y": Kind("float64", (5,), _normal),
    "row": Kind("float64", (4,), _normal),
    "column": Kind("float64", (3, 1), _normal),
    "matrix": Kind("float64", (3, 4), _normal),
    "matrix_b": Kind("float64", (3, 2), _normal),
    "matrix_c": Kind("float64", (2, 3), _normal),
    "matrix_d": Kind("float64", (2, 4), _normal),
    "vector3": Kind("float64", (3,), _normal),
    "vector4": Kind("float64", (4,), _normal),
    "positive": Kind("float64", (), _positive, ("positive",), 0.0),
    "positive_vector": Kind("float64", (5,), _positive, ("positive",), 0.0),
    "assumed": Kind("float64", (5,), _normal, ("finite",), real=False),
    "assumed_matrix": Kind("float64", (3, 4), _normal, ("finite",), real=False),
    "i": Kind("int64", (5,), _whole),
    "j": Kind("int64", (5,), _whole),
    "flag": Kind("bool", (5,), _flag),
    "places": Kind("int64", (2,), _places),
    "square_matrix": Kind("float64", (3, 3), _invertible, real=False),
    "square_matrix_b": Kind("float64", (2, 2), _invertible, real=False),
    "definite": Kind("float64", (3, 3), _definite, real=False),
    "definite_b": Kind("float64", (2, 2), _definite, ("positive_definite",), real=False),
    "numbers3": Kind("float64", (3,), _normal, real=False),
    "number": Kind("float64", (), _normal, real=False),
    "weight": Kind("float64", (), _positive, ("positive",), real=False),
    "weights": Kind("float64", (5,), _positive, ("positive",), real=False),
    "tall": Kind("float64", (5, 2), _normal, real=False),
    "column5": Kind("float64", (5, 1), _normal, real=False),
    "row5": Kind("float64", (1, 5), _normal, real=False),
    "right3": Kind("float64", (3, 4), _normal, real=False),
    "right9": Kind("float64", (9, 2), _normal, real=False),
    "right6": Kind("float64", (6, 2), _normal, real=False),
    "right8": Kind("float64", (8, 3), _normal, real=False),
    "lower": Kind("float64", (3, 3), _lower, ("lower", "positive_diagonal"), real=False),
    "positive_definite": Kind("float64", (3, 3), _definite, ("positive_definite",), real=False),
    "diagonal_matrix": Kind("float64", (3, 3), _diagonal, ("diagonal", "positive_diagonal"), real=False),
}


def _increment(part: int | slice, values: Node) -> Node:
    """Values in a vector of five zeros."""
    return index_inc(shape.full((5,), 0.0)[part], values)


def _triangle(x: Node, lower: bool) -> Node:
    """One triangle of a square matrix, zeros elsewhere."""
    n = Node(Iota(x.static_shape[-1]))
    return apply(
        "where", apply("ge", shape.expand_dims(n, 1), n if lower else n + 1), *((x, 0.0) if lower else (0.0, x))
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "block_diagonal": lambda *blocks: Node(BlockDiagonal(), *blocks),
    "diag": lambda d: Node(DiagonalMatrix(), d),
    "eye": shape.eye,
    "kron": lambda a, b: Node(Kronecker(), a, b),
    "tril": partial(_triangle, lower=True),
    "triu": partial(_triangle, lower=False),
    "broadcast_to": shape.broadcast_to,
    "cholesky": linalg.cholesky,
    "concatenate": shape.concatenate,
    "constant": constant,
    "det": linalg.det,
    "expand_dims": shape.expand_dims,
    "inc": _increment,
    "inv": linalg.inv,
    "logsumexp": partial(reduce, "logsumexp"),
    "log_softmax": partial(softmax, logarithm=True),
    "node": Node,
    "reshape": shape.reshape,
    "slogdet": linalg.slogdet,
    "softmax": softmax,
    "solve": linalg.solve,
    "solve_triangular": linalg.solve_triangular,
    "squeeze": shape.squeeze,
    "stack": shape.stack,
    "transpose": shape.transpose,
}


class Samples:
    """Inputs by name, made when first asked for."""

    def __init__(self) -> None:
        self.inputs: dict[str, Node] = {}

    def __getattr__(self, name: str) -> Any:
        kind = INPUTS.get(name)
        if kind is not None:
            if name not in self.inputs:
                made = tensor_input(kind.dtype, kind.shape, name)
                self.inputs[name] = assume(made, **dict.fromkeys(kind.facts, True)) if kind.facts else made
            return self.inputs[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        if name in TABLE:
            return partial(apply, name)
        raise AttributeError(f"there is no sample input and no function {name!r}.")

    def values(self, rng: Generator, extreme: float | None = None) -> dict[Node, Array]:
        """Arrays for the inputs in use; `extreme` stands in a random half of the elements that allow it."""
        found: dict[Node, Array] = {}
        for name, node in self.inputs.items():
            kind = INPUTS[name]
            leaf = node.inputs[0] if node.inputs else node
            array = np.asarray(kind.draw(rng, kind.shape))
            if extreme is not None and kind.dtype == "float64" and kind.real:
                allowed = np.isnan(extreme) or kind.low <= extreme <= kind.high
                if allowed:
                    array = np.where(rng.random(kind.shape) < 0.5, extreme, array)
            found[leaf] = array
        return found
