"""Random programs of products, systems, sums, parts and functions, over lengths that are pairwise distinct."""

from __future__ import annotations

import numpy as np

import consilience.tensor as pt
from consilience.ir import Node, constant, tensor_input
from consilience.ops import apply
from consilience.ops.elementwise import broadcast_shape
from consilience.ops.linalg import inverse_quadratic
from consilience.ops.reduce import reduce
from consilience.rewrite.facts import assume
from tests.transforms.laws import Array

LENGTHS = (3, 4, 5)
FUNCTIONS = ("exp", "tanh", "square", "neg", "sigmoid")
LARGEST = 1e6


class RandomProgram:
    """A program that grows by random choices, with values of its inputs.

    Attributes
    ----------
    arrays
        Values by input.
    outputs
        One to three of the later values.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.arrays: dict[Node, Array] = {}
        self.values: list[Node] = []
        for rows in LENGTHS:
            self.given(rows)
            self.values += [self.given(rows, columns) for columns in LENGTHS if self.generator.random() < 0.6]
        self.values += self.arrays
        for _ in range(steps):
            made = self.step()
            if made is not None and made.ndim <= 3:
                self.values.append(made)
        count = int(self.generator.integers(1, 4))
        self.outputs = [self.pick() for _ in range(count)] + [self.values[-1]]

    def given(self, *shape: int) -> Node:
        """A new input."""
        node = tensor_input("float64", shape, f"x{len(self.arrays)}")
        self.arrays[node] = self.generator.normal(0.0, 0.7, shape)
        return node

    def number(self, below: int) -> int:
        """A number from 0 on."""
        return int(self.generator.integers(below))

    def pick(self) -> Node:
        """A value, later ones preferred."""
        return self.values[-1 - min(self.number(len(self.values)), self.number(len(self.values)))]

    def partner(self, x: Node, *, inner: bool) -> Node | None:
        """A value with which x has a product of matrices, or that broadcasts with it."""
        found = []
        for y in self.values:
            if inner and y.ndim and x.static_shape[-1] == y.static_shape[-2 if y.ndim > 1 else -1]:
                found.append(y)
            elif not inner and not (x.ndim > 2 or y.ndim > 2):
                try:
                    broadcast_shape([x, y])
                except ValueError:
                    continue
                found.append(y)
        return found[self.number(len(found))] if found else None

    def step(self) -> Node | None:
        """One more value."""
        kind, x = self.number(19), self.pick()
        if kind < 5 and x.ndim in (1, 2):
            y = self.partner(x, inner=True)
            return None if y is None or y.ndim > 2 else x @ y
        if kind < 7:
            y = self.partner(x, inner=False)
            return None if y is None else apply(("add", "mul")[self.number(2)], x, y)
        if kind == 7:
            return apply(FUNCTIONS[self.number(len(FUNCTIONS))], x) if x.ndim < 3 else None
        if kind == 8 and x.ndim:
            return reduce("sum", x, tuple(range(x.ndim)) if self.number(2) else self.number(x.ndim))
        if kind == 9 and x.ndim:
            return self.part(x)
        if kind == 10 and x.ndim == 2:
            return x.T if self.number(3) or x.static_shape[0] != x.static_shape[1] else pt.diagonal(x)
        if kind == 11 and x.ndim == 1:
            return x[:, None] if self.number(2) else x[None, :]
        if 12 <= kind < 14:
            return self.system()
        if 14 <= kind < 17 and x.ndim in (1, 2):
            return self.choice(x, kind)
        return self.part_of_lines(x) if kind >= 17 and x.ndim in (1, 2) else None

    def part_of_lines(self, x: Node) -> Node:
        """Some elements of what is sorted, summed or normalised line by line, or of an inverse."""
        axis, kind = self.number(x.ndim), self.number(6)
        if kind == 0:
            n = LENGTHS[self.number(len(LENGTHS))]
            made: Node = pt.linalg.inv(3.0 * pt.eye(n) + 0.2 * apply("tanh", self.given(n, n)))
        elif kind == 1:
            made = apply("mul", 1.0, pt.argmax(x, axis=axis))
        else:
            made = (pt.sort, pt.cumsum, pt.cumprod, pt.softmax)[kind - 2](x, axis=axis)
        gathers, index = False, list[object]()
        for length in made.static_shape:
            assert isinstance(length, int)
            which = self.number(6) if not gathers else self.number(5)
            gathers |= which == 5
            low = self.number(length)
            entries = (slice(None), low - length, slice(low, None), slice(0, low + 1), slice(None, None, -1))
            index.append(entries[which] if which < 5 else constant(self.generator.integers(-length, length, 4)))
        return made[tuple(index)] if index else made

    def part(self, x: Node) -> Node:
        """Some elements along an axis, or at pairs of places."""
        places = constant(self.generator.integers(0, 3, 6))
        if x.ndim == 2 and min(x.static_shape) >= 3 and not self.number(3):  # type: ignore[type-var, operator]  # static here
            return x[places, constant(self.generator.integers(0, 3, 6))]
        axis = self.number(x.ndim)
        if x.static_shape[axis] in (1, 2):
            return x
        index = (slice(None),) * axis
        return x[(*index, (places, 1, slice(1, None))[self.number(3)])]

    def choice(self, x: Node, kind: int) -> Node | None:
        """Elements of one or another value by a known mask or known positions, or a function of rows that are read."""
        alike = [y for y in self.values if y.static_shape == x.static_shape]
        y = alike[self.number(len(alike))]
        if kind == 14:
            chosen = pt.where(constant(self.generator.random(x.static_shape) < 0.4), apply("tanh", x), y)  # type: ignore[arg-type]  # static here
            return chosen.sum() if self.number(2) else chosen
        rows = x.static_shape[0]
        assert isinstance(rows, int)
        if kind == 15:
            places = constant(self.generator.integers(-rows, rows, 5))
            return pt.concatenate([x, apply("square", y)])[places] if self.number(2) else pt.stack([x, y])[:, places]
        read = x[constant(self.generator.integers(0, rows, 3 * rows))]
        if x.ndim == 1:
            return (apply("exp", apply("tanh", read)) * read).sum()
        return pt.logsumexp(read, axis=1) if self.number(2) else pt.softmax(read, axis=1)

    def system(self) -> Node | None:
        """A system, an inverse, a determinant or a quadratic form of a definite matrix, or of a general one."""
        n = LENGTHS[self.number(len(LENGTHS))]
        right = [y for y in self.values if y.ndim in (1, 2) and y.static_shape[0] == n]
        squares = [y for y in self.values if y.static_shape == (n, n)]
        a = squares[self.number(len(squares))] if squares and self.number(3) else self.given(n, n)
        definite = apply("tanh", a) @ apply("tanh", a).T + 2.0 * pt.eye(n)
        kind = self.number(6)
        if kind == 0:
            return pt.linalg.slogdet(definite)[1]
        if kind == 1:
            return pt.linalg.inv(definite)
        if not right:
            return None
        b = right[self.number(len(right))]
        if kind == 2:
            return pt.linalg.inv(definite) @ b
        if kind == 3:
            return pt.linalg.solve(0.2 * apply("tanh", a) + 3.0 * pt.eye(n), b)
        known = assume(definite, positive_definite=True)
        return pt.linalg.solve(known, b, assume_a="pos") if kind == 4 else inverse_quadratic(known, b)
