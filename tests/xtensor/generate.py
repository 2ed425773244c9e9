"""Random expressions of named dims, as texts that xarray and this library both understand.

In: a seed. Out: a text over `x`, `y`, `z`, `i`, `j` with dims in random orders. Lengths are followed while writing, so
that every text has a meaning; numbers stay of the size of one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tests.xtensor.worlds import LENGTHS

Written: TypeAlias = tuple[str, dict[str, int]]  # a text, and the lengths of its dims in order
BOUNDED = ("cos({})", "exp(-abs({}))", "log1p(abs({}))", "sin({})", "sqrt(abs({}))", "tanh({})", "-{}", "{} / 3")
OPERATORS = ("{} + {}", "{} - {}", "{} * {}", "maximum({}, {})", "minimum({}, {})", "{} / (2 + abs({}))")
REDUCTIONS = ("sum", "mean", "max", "min", "std", "var", "prod")


class Writer:
    """Writes one expression."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.fresh = 0
        self.orders = {name: self._order(dims) for name, dims in (("x", "abc"), ("y", "bc"), ("z", "ca"))}

    def _order(self, dims: str) -> str:
        return "".join(self.choose.sample(dims, len(dims)))

    def expression(self, depth: int) -> Written:
        """A text whose tree is at most so deep."""
        if depth <= 0:
            name = self.choose.choice("xyz")
            return name, {dim: LENGTHS[dim] for dim in self.orders[name]}
        forms: list[Callable[[int], Written | None]] = [
            self.function, self.operator, self.operator, self.choice, self.reduction, self.running, self.order,
            self.renamed, self.part, self.part, self.pointwise, self.contraction, self.joined, self.stacked, self.wider,
        ]  # fmt: skip
        while True:
            made = self.choose.choice(forms)(depth - 1)
            if made is not None:
                return made

    def name(self) -> str:
        """A dim that nothing has yet."""
        self.fresh += 1
        return f"n{self.fresh}"

    def dim(self, dims: Mapping[str, int]) -> str:
        """One of the dims."""
        return self.choose.choice(list(dims))

    def function(self, depth: int) -> Written:
        text, dims = self.expression(depth)
        return f"({self.choose.choice(BOUNDED).format(text)})", dims

    def fitting(self, depth: int, dims: Mapping[str, int]) -> Written:
        """Another expression whose lengths agree with those of `dims`."""
        while True:
            text, own = self.expression(self.choose.randint(0, depth))
            if all(dims.get(dim, length) == length for dim, length in own.items()):
                return text, own

    def operator(self, depth: int) -> Written:
        (left, dims), word = self.expression(depth), self.choose.choice(OPERATORS)
        right, own = self.fitting(depth, dims)
        return f"({word.format(left, right)})", dims | own

    def choice(self, depth: int) -> Written:
        left, dims = self.expression(depth)
        right, own = self.fitting(depth, dims)
        return f"where({left} > 0.1, {right}, {left})", dims | own

    def reduction(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        if not dims:
            return None
        gone = self.choose.sample(list(dims), self.choose.randint(1, len(dims)))
        return f"{text}.{self.choose.choice(REDUCTIONS)}({gone!r})", {d: n for d, n in dims.items() if d not in gone}

    def running(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        if not dims:
            return None
        dim, word = self.dim(dims), self.choose.choice(["cumsum", "cumprod", "diff"])
        if word == "diff" and dims[dim] < 2:
            return None
        return f"{text}.{word}({dim!r})", {d: n - (d == dim and word == "diff") for d, n in dims.items()}

    def order(self, depth: int) -> Written:
        text, dims = self.expression(depth)
        order = self.choose.sample(list(dims), len(dims))
        kept = self.choose.randint(0, len(order))
        rest = [dim for dim in dims if dim not in order[:kept]]
        words = ", ".join([*map(repr, order[:kept]), "..."])
        return f"{text}.transpose({words})", {dim: dims[dim] for dim in [*order[:kept], *rest]}

    def renamed(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        if not dims:
            return None
        old, new = self.dim(dims), self.name()
        return f"{text}.rename({{{old!r}: {new!r}}})", {new if d == old else d: n for d, n in dims.items()}

    def part(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        if not dims:
            return None
        dim = self.dim(dims)
        length = dims[dim]
        kind = self.choose.choice(["at", "slice", "list"])
        if kind == "at":
            place = self.choose.randrange(-length, length)
            return f"{text}.isel({{{dim!r}: {place}}})", {d: n for d, n in dims.items() if d != dim}
        if kind == "slice":
            start, step = self.choose.randrange(length), self.choose.choice([1, 2])
            left = len(range(start, length, step))
            return f"{text}.isel({{{dim!r}: slice({start}, None, {step})}})", dims | {dim: left}
        places = [self.choose.randrange(-length, length) for _ in range(self.choose.randint(1, 4))]
        return f"{text}.isel({{{dim!r}: {places}}})", dims | {dim: len(places)}

    def pointwise(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        pairs = [(dim, name) for dim, name, least in (("a", "i", 2), ("b", "j", 3)) if dims.get(dim, 0) >= least]
        if not pairs or "p" in dims:
            return None
        chosen = self.choose.sample(pairs, self.choose.randint(1, len(pairs)))
        words = dict(chosen)
        made: dict[str, int] = {}
        for dim, length in dims.items():
            made |= {"p": LENGTHS["p"]} if dim in words else {dim: length}
        return f"{text}.isel({', '.join(f'{dim}={name}' for dim, name in words.items())})", made

    def contraction(self, depth: int) -> Written:
        left, dims = self.expression(depth)
        right, own = self.fitting(depth, dims)
        both = [dim for dim in dims if dim in own]
        gone = self.choose.sample(both, self.choose.randint(0, len(both)))
        rest = {dim: n for dim, n in (dims | own).items() if dim not in gone}
        return f"(dot({left}, {right}, dim={gone!r}) / 4)", rest

    def joined(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        if not dims or self.choose.random() < 0.3:
            new = self.name()
            return f"concat([{text}, 2 - {text}], {new!r})", {new: 2, **dims}
        dim = self.dim(dims)
        return f"concat([{text}, {text}.isel({{{dim!r}: [0]}})], {dim!r})", dims | {dim: dims[dim] + 1}

    def stacked(self, depth: int) -> Written | None:
        text, dims = self.expression(depth)
        if len(dims) < 2:
            return None
        members, new = self.choose.sample(list(dims), 2), self.name()
        rest = {dim: n for dim, n in dims.items() if dim not in members}
        return f"stack({text}, {new!r}, {tuple(members)!r})", {**rest, new: dims[members[0]] * dims[members[1]]}

    def wider(self, depth: int) -> Written:
        text, dims = self.expression(depth)
        new, length = self.name(), self.choose.randint(1, 3)
        return f"{text}.expand_dims({{{new!r}: {length}}})", {new: length, **dims}


def expression(seed: int) -> tuple[str, dict[str, str]]:
    """A text, and the orders of dims of its inputs."""
    writer = Writer(seed)
    while True:
        text, dims = writer.expression(writer.choose.randint(2, 5))
        if len(dims) < 7:
            return text, writer.orders
