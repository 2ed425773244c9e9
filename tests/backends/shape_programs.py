"""Random programs over shapes and indices, each line one string that NumPy and this library evaluate alike.

Lines are made by rank and dtype alone: lengths, and with them errors, are found when a program runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.ir import Node

Array = npt.NDArray[Any]
Line = tuple[str, str]  # a name and the expression it stands for
LARGEST = 300  # elements of one value
KINDS = {"x": ("float64", 1), "y": ("float64", 1), "A": ("float64", 2), "T": ("float64", 3), "k": ("int64", 0),
         "j": ("int64", 0), "i": ("int64", 1), "z": ("int64", 1), "m": ("bool", 1)}  # fmt: skip


class Undecided(Exception):
    """NumPy and this library are known to differ: the program says nothing."""


# ---- what NumPy does, less the stretching of lengths that turn out to be 1


def _equal(*values: Any) -> None:
    shapes = {np.shape(v) for v in values if np.ndim(v)}
    if len(shapes) > 1:
        raise ValueError(f"shapes differ: {shapes}")


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        _equal(*values)
        return function(*values)

    return apply


def _repeat(x: Array, repeats: Any, axis: int | None = None) -> Array:
    length = np.size(x) if axis is None else np.shape(x)[axis]
    if np.ndim(repeats) and len(repeats) == 1 != length:
        raise Undecided  # a static 1 is one number for all, a computed 1 is not
    if np.ndim(repeats) and len(repeats) != length:
        raise ValueError("one number per element is needed")
    if np.any(np.less(repeats, 0)):  # NumPy lets them pass where there is nothing to repeat
        raise ValueError("numbers must be at least 0")
    return np.repeat(x, repeats, axis)


def _reshape(x: Array, shape: Sequence[int]) -> Array:
    if -1 in shape and 0 in shape and x.size == 0:
        raise Undecided
    return np.reshape(x, shape)


def _set(x: Array, index: Any, values: Any) -> Array:
    result = np.array(x)
    _equal(values, result[index])
    result[index] = values
    return result


def _inc(x: Array, index: Any, values: Any) -> Array:
    result = np.array(x)
    _equal(values, result[index])
    np.add.at(result, index, values)
    return result


NUMPY: dict[str, Any] = {
    "add": _strict(np.add), "mul": _strict(np.multiply), "where": _strict(np.where), "both": _strict(np.logical_and),
    "repeat": _repeat, "reshape": _reshape, "set_at": _set, "inc_at": _inc, "cast": lambda x, dtype: x.astype(dtype),
    **{name: getattr(np, name) for name in (
        "sin", "concatenate", "stack", "tile", "split", "diag", "diagonal", "nonzero", "flatnonzero", "argwhere",
        "arange", "zeros", "ones", "full", "eye", "linspace", "cumsum", "cumprod", "sum", "max", "min", "prod",
        "mean", "argmax", "transpose", "squeeze", "broadcast_to", "matmul", "expand_dims", "any", "tril", "ravel")},
}  # fmt: skip
OURS: dict[str, Any] = {
    **{name: getattr(pt, name) for name in NUMPY if hasattr(pt, name)},
    "both": pt.and_, "set_at": lambda x, index, values: x[index].set(values),
    "inc_at": lambda x, index, values: x[index].inc(values),
}  # fmt: skip


# ---- programs


class Writer:
    """A program that grows by random choices."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self.kinds = dict(KINDS)
        self.lines: list[Line] = []

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.generator.integers(low, high + 1))

    def one_of(self, *choices: str) -> str:
        """One of several texts."""
        return choices[self.number(0, len(choices) - 1)]

    def name(self, dtype: str, *ranks: int) -> str:
        """A value of a dtype and one of the ranks, the latest ones preferred."""
        found = [n for n, (d, r) in self.kinds.items() if d == dtype and r in ranks]
        return found[-1 - min(self.number(0, len(found) - 1), self.number(0, len(found) - 1))]

    def bound(self, v: str, axis: int) -> str:
        """A bound of a slice, or a position."""
        n = f"{v}.shape[{axis}]"
        return self.one_of("", "", "", "0", "1", "2", "-1", "-2", "-5", "5", "k", "-k", "j", "k+j", f"{n}-1",
                           f"{n}//2", f"{n}-2", f"{n}-k")  # fmt: skip

    def slice(self, v: str, axis: int) -> str:
        """A slice of an axis."""
        step = self.one_of("", "", "", ":2", ":-1", ":-2", ":3", ":1")
        return f"{self.bound(v, axis)}:{self.bound(v, axis)}{step}"

    def length(self, v: str, rank: int) -> str:
        """A length of a new value."""
        n = f"{v}.shape[{self.number(0, rank - 1)}]"
        return self.one_of(n, n, f"{n}-1", f"{n}//2", f"{n}+1", f"2*{n}", "k", "k+1", "2", "0", "1", "3")

    def line(self) -> tuple[str, str, int]:
        """An expression, its dtype and its rank."""
        v = self.name("float64", 1, 2, 3)
        rank = self.kinds[v][1]
        axis = self.number(0, rank - 1)
        full = [":"] * rank
        w = self.name("float64", rank)
        which = self.number(0, 31)
        if which <= 4:
            for a in range(rank):
                if a == axis or self.number(0, 2) == 0:
                    full[a] = self.slice(v, a)
            return f"{v}[{', '.join(full)}]", "float64", rank
        if which == 5:
            full[axis] = self.bound(v, axis) or "0"
            return f"{v}[{', '.join(full)}]", "float64", rank - 1
        if which == 6:
            full[axis] = self.name("int64", 1)
            other = self.number(0, rank - 1)
            if other != axis:
                full[other] = self.slice(v, other)
            return f"{v}[{', '.join(full)}]", "float64", rank
        if which == 7 and rank > 1:
            full[0], full[rank - 1] = self.name("int64", 1), self.one_of(full[0], self.name("int64", 0))
            return (f"{v}[{', '.join(full)}]", "float64", rank if full[-1] == ":" else rank - 1)
        if which == 8:
            return f"{v}[{v} > 0.1]", "float64", 1
        if which == 9:
            mask = self.name("bool", 1)
            full[axis] = mask
            if rank > 1 and self.number(0, 1):
                other = (axis + 1) % rank
                full[other] = self.slice(v, other)
            return f"{v}[{', '.join(full)}]", "float64", rank
        if which == 10 and rank > 1:
            return f"{v}[{v}[:, {'0, ' * (rank - 2)}0] > -0.1]", "float64", rank
        if which == 11:
            return self.one_of(f"nonzero({v} > 0.2)[{axis}]", f"flatnonzero({v} < 0.1)"), "int64", 1
        if which == 12:
            u = self.name("float64", 1)
            return self.one_of(f"{u} > 0.1", f"both({u} < 0.3, {self.name('bool', 1)})"), "bool", 1
        if which <= 14:
            n = self.length(v, rank)
            own = f"{v}.shape[{axis}]"
            shape = self.one_of("-1,", "-1, 2", f"{n}, -1", f"{n}//2, 2, -1", f"{own}, {n}", f"2, {own}, -1")
            return f"reshape({v}, ({shape}))", "float64", max(shape.count(",") + (not shape.endswith(",")), 1)
        if which == 15:
            return self.one_of(f"transpose({v})", f"transpose({v})[::-1]"), "float64", rank
        if which == 16 and rank < 3:
            return f"expand_dims({v}, {self.number(0, rank)})", "float64", rank + 1
        if which == 17 and rank > 1:
            return f"squeeze({v}, {axis})", "float64", rank - 1
        if which <= 19:
            return f"concatenate([{v}, {w}, {v}], {axis})", "float64", rank
        if which == 20 and rank < 3:
            return f"stack([{v}, {w}], {self.number(0, rank)})", "float64", rank + 1
        if which == 21:
            count = self.one_of("2", "k", "0", self.name("int64", 1), "j+1")
            return self.one_of(f"repeat({v}, {count}, {axis})", f"tile({v}, 2)"), "float64", rank
        if which == 22:
            cut = self.one_of("[k]", "[1, 3]", "[k, k+j]", f"[{v}.shape[{axis}]//2]", "2")
            return f"split({v}, indices_or_sections={cut}, axis={axis})[{self.number(0, 1)}]", "float64", rank
        if which == 23 and rank < 3:
            return f"broadcast_to({v}, ({self.length(v, rank)}, *{v}.shape))", "float64", rank + 1
        if which == 24 and rank < 3:
            function = self.one_of("diag", "diagonal") if rank == 2 else "diag"
            return f"{function}({v}, {self.number(-3, 3)})", "float64", 3 - rank
        if which == 25:
            return self.one_of(f"cumsum({v}, {axis})", f"cumprod({v}, {axis})"), "float64", rank
        if which == 26:
            function = self.one_of("sum", "max", "min", "prod", "mean", "sum")
            return f"{function}({v}, {axis})", "float64", rank - 1
        if which == 27:
            n, other = self.length(v, rank), self.length(v, rank)
            made = [
                (f"arange({n})", "int64", 1),
                (f"arange(k, {n})", "int64", 1),
                (f"arange({n}, j, -2)", "int64", 1),
                (f"zeros({v}.shape)", "float64", rank),
                (f"ones(({n}, {other}))", "float64", 2),
                (f"eye({n}, {other}, {self.number(-2, 2)})", "float64", 2),
                (f"linspace(0.0, 1.0, {n})", "float64", 1),
                (f"full(({n},), {v}.sum())", "float64", 1),
            ]
            return made[self.number(0, len(made) - 1)]
        if which == 28:
            full[axis] = self.one_of(self.slice(v, axis), self.name("int64", 1), self.name("bool", 1), "k")
            index = f"({self.sliced(full)})" if rank > 1 else self.sliced(full)
            values = self.one_of("0.5", f"mul({v}[{', '.join(full)}], 2.0)")
            return f"{self.one_of('set_at', 'inc_at')}({v}, {index}, {values})", "float64", rank
        if which == 29:
            return f"{self.one_of('add', 'mul')}({v}, {w})", "float64", rank
        if which == 30:
            a, b = self.name("float64", 1), self.name("float64", 1)
            return f"{a}[:, None] * {b}[None]", "float64", 2
        if which == 31 and rank > 1:
            return f"matmul({v}, {self.name('float64', 1)})", "float64", rank - 1
        return f"sin({v})", "float64", rank

    def sliced(self, entries: Sequence[str]) -> str:
        """An index in the form of an argument."""
        return ", ".join(f"slice({', '.join(p or 'None' for p in e.split(':'))})" if ":" in e else e for e in entries)

    def write(self, steps: int, samples: Sequence[dict[str, Any]]) -> None:
        """Add lines; a line that fails for every sample is kept now and then, as the last one."""
        for _ in range(steps):
            code, dtype, rank = self.line()
            name = f"v{len(self.lines)}"
            self.lines.append((name, code))
            self.kinds[name] = (dtype, rank)
            found = [outcome(self.lines, sample, NUMPY) for sample in samples]
            sizes = [np.size(f[-1]) for f in found if isinstance(f, list)]
            if not sizes and self.number(0, 9) == 0:
                return
            if not sizes or max(sizes) > LARGEST:
                self.lines.pop()
                del self.kinds[name]


def sample(generator: np.random.Generator) -> dict[str, Any]:
    """Values of the inputs: lengths from 0 to 5, some of them equal."""
    n, p, q, r = (int(generator.choice([0, 1, 2, 3, 4, 5, 4, 3])) for _ in range(4))
    floats = {name: generator.uniform(-1, 1, shape) for name, shape in
              {"x": (n,), "y": (p if generator.integers(2) else n,), "A": (p, q), "T": (r, q, 2)}.items()}  # fmt: skip
    return {
        **floats,
        "k": np.int64(generator.integers(-2, 5)),
        "j": np.int64(generator.integers(-1, 3)),
        "i": generator.integers(-max(1, n // 2), max(1, n // 2 + 1), generator.integers(0, 4)),
        "z": generator.integers(0, 3, n),
        "m": generator.integers(0, 2, n) > 0,
    }


def outcome(lines: Sequence[Line], values: dict[str, Any], functions: dict[str, Any]) -> Any:
    """The value of every line, or the error that one of them raised."""
    known = dict(values)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            for name, code in lines:
                known[name] = eval(code, {**functions, **known})
    except Undecided:
        raise
    except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError) as error:
        return error
    return [known[name] for name, _ in lines]


def symbols() -> dict[str, Node]:
    """The inputs with symbolic lengths."""
    return {name: pt.tensor(name, dtype=dtype, shape=(None,) * rank) for name, (dtype, rank) in KINDS.items()}


def program(seed: int, steps: int, count: int) -> tuple[list[Line], list[dict[str, Any]]]:
    """Lines, and values of the inputs."""
    generator = np.random.default_rng(seed)
    samples = [sample(generator) for _ in range(count)]
    writer = Writer(generator)
    while True:
        try:
            writer.write(steps, samples)
            return writer.lines, samples
        except Undecided:
            writer = Writer(generator)
