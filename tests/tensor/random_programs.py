"""Random programs of public functions: each line calls a row of functions.txt with results of lines before it.

A seed in; lines, and the values of the leaves they read, out. Both NumPy and this library run the same lines.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.ir import Node
from tests.tensor.table import FUNCTIONS, Row

Array = npt.NDArray[Any]
LARGEST = 600  # elements of one value
ROUNDING = {"float64": 1e-13, "float32": 1e-6}


class Source(NamedTuple):
    """A value that is brought to a dtype and an interval, smoothly for floats, before a function gets it."""

    name: str
    dtype: str
    low: float
    high: float

    def __str__(self) -> str:
        return f"fitted({self.name}, {self.dtype!r}, {self.low:g}, {self.high:g})"


class Line(NamedTuple):
    """Names of results, the function, and what it is called with."""

    names: tuple[str, ...]
    row: Row
    sources: tuple[Source, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.names)} = (lambda x, y, z, w: {self.row.text})({', '.join(map(str, self.sources))})"


class Program(NamedTuple):
    """Lines, and arrays for the leaves."""

    lines: list[Line]
    leaves: dict[str, Array]

    def __str__(self) -> str:
        return "\n".join([*(f"{n} = {a!r}" for n, a in self.leaves.items()), *map(str, self.lines)])


def fitted(value: Any, source: Source) -> Any:
    """The value in the interval: of an array or of a node."""
    own = pt if isinstance(value, Node) else np
    dtype = str(value.dtype)
    if dtype.startswith("complex"):
        value = value.real
    if dtype == "bool":
        value = value.astype("float64") - 0.5
    middle, half = (source.low + source.high) / 2, (source.high - source.low) / 2
    if source.dtype == "bool":
        return value > 0.137
    scaled = middle + half * (value / (1.0 + own.abs(value)))
    if source.dtype.startswith("int"):
        low, high = int(np.ceil(source.low)), int(np.floor(source.high))
        scaled = own.minimum(own.maximum(own.round(scaled), low), high)
    return scaled.astype(source.dtype)


def shaken(value: Array, rng: np.random.Generator | None) -> Array:
    """With relative errors of the size of rounding, and zeros of either sign, which rewriting may change."""
    size = ROUNDING.get(str(value.dtype))
    if rng is None or size is None:
        return value
    errors = size * rng.normal(size=value.shape)
    return np.asarray(np.where(value == 0, np.copysign(0.0, errors), value * (1 + errors)), value.dtype)


def run(line: Line, known: dict[str, Any], rng: np.random.Generator | None = None) -> list[Array]:
    """NumPy's results of one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = [shaken(np.asarray(fitted(shaken(known[s.name], rng), s)), rng) for s in line.sources]
        return line.row.results(*given)


def values(program: Program, leaves: dict[str, Array], rng: np.random.Generator | None = None) -> dict[str, Array]:
    """NumPy's values of all lines; `rng` adds errors of the size of rounding everywhere."""
    known: dict[str, Array] = dict(leaves)
    for line in program.lines:
        known.update(zip(line.names, run(line, known, rng), strict=True))
    return known


def expressions(program: Program, leaves: dict[str, Node]) -> dict[str, Node]:
    """Our nodes of all lines."""
    known: dict[str, Node] = dict(leaves)
    for line in program.lines:
        found = line.row.ours(*(fitted(known[s.name], s) for s in line.sources))
        known.update(zip(line.names, found if isinstance(found, list | tuple) else [found], strict=True))
    return known


class Writer:
    """A program that grows by random choices."""

    def __init__(self, seed: int, names: list[str] | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.functions = names or list(FUNCTIONS)
        self.single = self.likely(0.4)  # whether float32 occurs
        self.lines: list[Line] = []
        self.leaves: dict[str, Array] = {}
        self.known: dict[str, Array] = {}

    def likely(self, share: float) -> bool:
        """True so often."""
        return bool(self.rng.random() < share)

    def write(self, count: int) -> Program:
        """So many lines."""
        tries = 0
        while len(self.lines) < count and tries < 20 * count:
            tries += 1
            self.line()
        used = {s.name for line in self.lines for s in line.sources}
        return Program(self.lines, {n: a for n, a in self.leaves.items() if n in used})

    def line(self) -> None:
        """One more line, where NumPy can compute it."""
        rows = FUNCTIONS[self.functions[self.rng.integers(len(self.functions))]]
        row = rows[self.rng.integers(len(rows))]
        dtypes = [d for d in row.dtypes if d != "float32" or self.single] or ["float64"]
        dtype = dtypes[0] if self.likely(0.4) else dtypes[self.rng.integers(len(dtypes))]
        lengths: dict[str, int] = {}
        sources = [self.source(row, i, dtype, lengths) for i in range(len(row.shapes))]
        trial = Line((), row, tuple(sources))
        try:
            found = run(trial, self.known)
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
            return
        if any(f.size > LARGEST or f.dtype.kind not in "fiubc" for f in found):
            return
        names = tuple(f"v{len(self.lines)}_{i}" for i in range(len(found)))
        self.lines.append(trial._replace(names=names))
        for name, value in zip(names, found, strict=True):
            if value.size == 0 or np.isfinite(value).all():
                self.known[name] = value

    def source(self, row: Row, place: int, dtype: str, lengths: dict[str, int]) -> Source:
        """An argument: a value that is there, or a new leaf."""
        prefix, _, letters = row.shapes[place].rpartition(":")
        letters = letters.replace(".", "")
        low, high = row.ranges[place]
        if prefix:
            dtype, low, high = {"b": ("bool", 0, 1), "i": ("int64", -2, 2), "k": ("int64", 0, 1)}[prefix]
        fits = [n for n, v in self.known.items() if self.unified(letters, v.shape, lengths, row) is not None]
        if fits and self.likely(0.8):
            name = fits[-1 - min(int(self.rng.integers(len(fits))), int(self.rng.integers(len(fits))))]
            lengths.update(self.unified(letters, self.known[name].shape, lengths, row) or {})
            return Source(name, dtype, low, high)
        for letter in letters:
            if not letter.isdigit() and letter not in lengths:
                smallest = 1 if "full" in row.remarks or self.likely(0.9) else 0
                lengths[letter] = int(self.rng.integers(smallest, 6))
        shape = tuple(int(c) if c.isdigit() else lengths[c] for c in letters)
        name = f"x{len(self.leaves)}"
        kind = "float32" if self.single and self.likely(0.3) else "float64"
        leaf = np.asarray(self.rng.normal(size=shape) * 2)
        self.leaves[name] = self.known[name] = leaf.astype(kind)
        return Source(name, dtype, low, high)

    def unified(self, letters: str, shape: tuple[int, ...], lengths: dict[str, int], row: Row) -> dict[str, int] | None:
        """Lengths of letters that make the shape; None where there are none."""
        if len(letters) != len(shape) or ("full" in row.remarks and 0 in shape):
            return None
        found = dict(lengths)
        for letter, n in zip(letters, shape, strict=True):
            if (int(letter) if letter.isdigit() else found.setdefault(letter, n)) != n:
                return None
        return found
