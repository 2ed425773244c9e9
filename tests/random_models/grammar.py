"""Random expressions of wanted shapes, in the idioms of regression, hierarchies, time series, mixtures and kernels.

In: sizes, random numbers and the variables so far. Out: strings, and the data they need. Each idiom is one method; a
method returns None where it makes no sense. Values are kept of order one, so that sums of all kinds stay finite.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.random_models.program import Axes, Datum, Program

LARGEST = 2500  # elements of one value
LINALG = 9  # rows of a matrix that is factorised


@dataclass(frozen=True)
class Known:
    """A name that expressions can use: real, positive, unit or simplex, of some shape."""

    name: str
    axes: Axes
    kind: str


Idiom = Callable[["Grammar", Axes, int], str | None]
IDIOMS: dict[str, tuple[int, Idiom]] = {}


def idiom(weight: int = 1) -> Callable[[Idiom], Idiom]:
    """Register a way to write a real value of given axes."""

    def register(method: Idiom) -> Idiom:
        IDIOMS[method.__name__] = (weight, method)
        return method

    return register


class Grammar:
    """Expressions over the sizes, data and variables of one model."""

    def __init__(self, seed: int, number: int, sizes: dict[str, int], generator: np.random.Generator) -> None:
        self.generator = generator
        self.program = Program(seed, number, tuple(sizes.items()), (), ())
        self.sizes = sizes
        self.known: list[Known] = []
        self.data: dict[str, Datum] = {}
        self.features: Counter[str] = Counter()
        self.plain = False  # whether all data are float64 arrays in C order

    # ---- choices

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.generator.integers(low, high + 1))

    def one(self, *options: str) -> str:
        """One of several strings."""
        return options[self.number(0, len(options) - 1)]

    def often(self, share: float) -> bool:
        """True with a probability."""
        return bool(self.generator.random() < share)

    def length(self, axis: str) -> int:
        """The length of an axis."""
        return self.program.length(axis)

    def elements(self, axes: Axes) -> int:
        """The number of elements of a value."""
        return int(np.prod([max(self.length(a), 0) for a in axes], dtype=int))

    def short_axis(self) -> str:
        """An axis of a few elements."""
        return self.one("K", "P", "K", "P", "2", "1") if self.often(0.8) else self.one("3", "M")

    # ---- data

    def datum(self, kind: str, axes: Axes, dtypes: str = "float64", upto: str = "") -> str:
        """Data of a kind; some that are there already, or new ones."""
        found = [
            d.name for d in self.data.values() if d.kind == kind and d.axes == axes and d.upto == upto
            and (d.dtype == "float64") == (dtypes == "float64")
        ]  # fmt: skip
        if found and self.often(0.7):
            return self.one(*found)
        letters = {"real": "x", "positive": "p", "unit": "u", "count": "c", "bit": "b", "trials": "t", "mask": "m"}
        name = f"{letters.get(kind, kind[0])}{len(self.data)}_"
        dtype, layout, container = self.one(*dtypes.split()), "C", "array"
        if not self.plain:
            layout = self.one("C", "C", "C", "F", "strided", "reversed")
            container = self.one("array", "array", "array", "constant", "data")
        self.data[name] = Datum(name, kind, axes, dtype, layout, container, upto)
        self.features[f"dtype {dtype}"] += 1
        self.features[f"layout {layout}"] += 1
        self.features[f"container {container}"] += 1
        return name

    def index(self, axis: str, upto: str, constant: bool = False) -> str | None:
        """An integer array along an axis that reads another."""
        if self.length(upto) < 1:
            return None
        kind = self.one("index", "index", "sorted index", "negative index")
        name = self.datum(kind, (axis,), "int64 int64 int32 int8 uint8 int16".replace("uint8", "int64"), upto)
        if constant and self.data[name].container == "data":
            return None
        self.features[kind] += 1
        return name

    def mask(self, axes: Axes) -> str | None:
        """A bool array that is a NumPy array or a constant, so that its count is known."""
        name = self.datum("mask", axes, "bool")
        return None if self.data[name].container == "data" else name

    def position(self, axis: str) -> str:
        """A valid static position, from either end."""
        n = self.length(axis)
        return str(self.number(-n, n - 1))

    # ---- leaves

    def literal(self) -> str:
        """A number."""
        return str(self.number(-8, 8) / 4.0)

    def leaf(self, axes: Axes) -> str:
        """A variable or data of exactly these axes; a number or an element for a scalar."""
        found = [k.name for k in self.known if k.axes == axes and k.kind != "simplex"]
        if found and self.often(0.8):
            return found[-1 - min(self.number(0, len(found) - 1), self.number(0, len(found) - 1))]
        if not axes:
            element = self.element()
            return element if element is not None and self.often(0.8) else self.literal()
        element = self.element() if self.often(0.6) else None
        return self.datum("real", axes) if element is None else f"({element} * {self.datum('real', axes)})"

    def element(self) -> str | None:
        """One element of a variable."""
        found = [k for k in self.known if k.axes and self.elements(k.axes)]
        if not found:
            return None
        chosen = found[self.number(0, len(found) - 1)]
        positions = ", ".join(self.position(axis) for axis in chosen.axes)
        self.features["element"] += 1
        return f"{chosen.name}[{positions}]"

    def element_of(self, name: str, axis: str) -> str:
        """One element of a vector."""
        self.features["element"] += 1
        return f"{name}[{self.position(axis)}]"

    def vector(self, axis: str) -> str | None:
        """A variable of one axis."""
        found = [k.name for k in self.known if k.axes == (axis,)]
        return self.one(*found) if found else None

    def column(self, axis: str) -> str:
        """Data along one axis, of any type."""
        if self.often(0.6):
            return self.datum("real", (axis,))
        if self.often(0.3):
            return self.datum("mask", (axis,), "bool")
        if self.often(0.4):
            return self.datum("real", (axis,), "float32")
        return self.datum("count", (axis,), "int64 int32 int8 uint8 int16")

    def mix(self, axes: Axes, depth: int) -> str:
        """A value that broadcasts to the axes."""
        choice = self.number(0, 5)
        if choice == 0 or not axes:
            return self.real((), depth - 1)
        if choice == 1 and len(axes) > 1:
            return self.real(axes[1:], depth - 1)
        if choice == 2 and len(axes) == 2:
            self.features["new axis"] += 1
            return f"{self.named(axes[:1], depth - 1)}[:, None]"
        return self.real(axes, depth - 1)

    def named(self, axes: Axes, depth: int) -> str:
        """An expression that can be followed by an index or a method."""
        text = self.real(axes, depth)
        return text if text.isidentifier() or (text.endswith((")", "]")) and _is_one(text)) else f"({text})"

    def indexable(self, axes: Axes, depth: int) -> str:
        """An expression that can be read through a tensor of indices, so not through a NumPy array."""
        return self.as_tensors(self.named(axes, depth))

    def as_tensors(self, text: str) -> str:
        """The text, whose NumPy arrays are made constants."""
        for name in re.findall(r"\w+", text):
            if name in self.data and self.data[name].container == "array":
                self.data[name] = dataclasses.replace(self.data[name], container="constant")
        return text

    # ---- values of one kind

    def real(self, axes: Axes, depth: int) -> str:
        """A real value of exactly these axes."""
        if depth <= 0 or self.elements(axes) > LARGEST:
            return self.leaf(axes)
        names = list(IDIOMS)
        weights = np.array([IDIOMS[n][0] for n in names], float)
        for _ in range(12):
            name = names[int(self.generator.choice(len(names), p=weights / weights.sum()))]
            text = IDIOMS[name][1](self, axes, depth)
            if text is not None:
                self.features[name] += 1
                return text
        return self.leaf(axes)

    def positive(self, axes: Axes, depth: int) -> str:
        """A positive value that broadcasts to these axes."""
        found = [k.name for k in self.known if k.axes == axes and k.kind == "positive"]
        scalars = [k.name for k in self.known if k.axes == () and k.kind == "positive"]
        if found and self.often(0.5):
            return self.one(*found)
        if scalars and self.often(0.4):
            return self.one(*scalars)
        if depth <= 0 or self.often(0.15):
            return str(self.number(1, 8) / 4.0)
        choice = self.number(0, 8)
        if choice == 0:
            return f"exp(0.3 * {self.atom(axes, depth)})"
        if choice == 1:
            return f"(softplus({self.real(axes, depth - 1)}) + 0.1)"
        if choice == 2:
            return f"sqrt(0.5 + square({self.real(axes, depth - 1)}))"
        if choice == 3:
            return f"(0.5 + abs({self.real(axes, depth - 1)}))"
        if choice == 4:
            return f"sqrt({self.positive(axes, 0)} ** 2 + {self.positive((), 0)} ** 2)"
        if choice == 5:
            return f"{self.positive(axes, depth - 1)} * {self.positive((), 0)}"
        if choice == 6 and len(axes) == 1:
            groups = [k for k in self.known if k.kind == "positive" and len(k.axes) == 1 and self.elements(k.axes)]
            if groups:
                chosen = groups[self.number(0, len(groups) - 1)]
                index = self.index(axes[0], chosen.axes[0])
                if index is not None:
                    self.features["group scale"] += 1
                    return f"{chosen.name}[{index}]"
        if choice == 7:
            return f"exp(clip({self.real(axes, depth - 1)}, -1.5, 1.5))"
        return f"(1.0 / ({self.positive(axes, depth - 1)} + 0.5))"

    def atom(self, axes: Axes, depth: int) -> str:
        """A bounded real value."""
        return f"tanh({self.real(axes, depth - 1)})"

    def unit(self, axes: Axes, depth: int) -> str:
        """A value in (0, 1) that broadcasts to these axes."""
        found = [k.name for k in self.known if k.axes in (axes, ()) and k.kind == "unit"]
        if found and self.often(0.4):
            return self.one(*found)
        choice = self.number(0, 3)
        if choice == 0:
            return f"(1.0 / (1.0 + exp(-{self.atom(axes, depth)})))"
        if choice == 1:
            return f"clip(0.5 + 0.2 * {self.atom(axes, depth)}, 0.05, 0.95)"
        return f"sigmoid({self.atom(axes, depth)})"

    def simplex(self, axes: Axes, depth: int) -> str:
        """Probabilities along the last axis."""
        found = [k.name for k in self.known if k.axes == axes and k.kind == "simplex"]
        if found and self.often(0.6):
            return self.one(*found)
        if axes[-1] == "2" and self.often(0.5):
            p = self.named(axes[:-1], depth - 1)
            return f"stack([sigmoid({p}), 1.0 - sigmoid({p})], axis=-1)"
        return f"softmax({self.real(axes, depth)}, axis=-1)"

    def condition(self, axes: Axes, depth: int) -> str:
        """A bool value that broadcasts to these axes."""
        choice = self.number(0, 6)
        if choice == 0:
            return self.datum("mask", axes, "bool")
        if choice == 1:
            return f"({self.datum('real', axes)} {self.one('>', '<', '>=', '<=')} 0.25)"
        if choice == 2:
            count = self.datum("count", axes, "int64 int32 int8 uint8 int16")
            return self.one(f"({count} < 2)", f"({count} >= 3)", f"({count} > 1)")
        if choice == 3:
            return f"~({self.datum('real', axes)} > 0.0)"
        if choice == 4:
            return f"({self.datum('real', axes)} < 1.0) {self.one('&', '|')} ({self.real(axes, depth - 1)} > 0.1)"
        return f"({self.real(axes, depth - 1)} {self.one('>', '<')} {self.mix(axes, depth - 1)})"

    def covariance(self, axis: str, depth: int) -> str:
        """A positive definite matrix that is far from singular."""
        amplitude, noise = self.positive((), depth - 1), self.one("0.5", "1.0", f"(0.2 + {self.positive((), 0)})")
        times = self.datum("times", (axis,))
        distance = f"{times}[:, None] - {times}[None, :]"
        scale = f"(0.5 + {self.positive((), 0)})"
        self.features["kernel"] += 1
        choice = self.number(0, 4)
        if choice == 0:
            kernel = f"exp(-abs({distance}) / {scale})"
        elif choice == 1:
            kernel = f"(1.0 + abs({distance}) / {scale}) * exp(-abs({distance}) / {scale})"
        elif choice == 2:
            other = self.datum("real", (axis, self.short_axis()))
            kernel = f"({other} @ {other}.T)"
        elif choice == 3:
            kernel = f"outer({self.leaf((axis,))}, {self.leaf((axis,))})"
            kernel = f"({kernel} @ {kernel}.T)"
        else:
            kernel = f"exp(-0.5 * square({distance}) / {scale} ** 2)"
        return f"({amplitude} ** 2 * {kernel} + {noise} * eye({axis}))"

    def solvable(self, axis: str) -> bool:
        """Whether matrices of this axis are small enough to be factorised, and not empty."""
        return 1 <= self.length(axis) <= LINALG


def _is_one(text: str) -> bool:
    """Whether the last bracket closes what the text begins with: a call or an index of a name."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter not in ")]" and not (letter.isalnum() or letter in "_."):
            return False
        if depth == 0 and letter in ")]" and place < len(text) - 1 and text[place + 1] not in "[.(":
            return False
    return True
