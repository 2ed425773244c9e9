"""The text of StableHLO: values with names and types, one line or region per operation.

What operations are printed with in; lines out. Which operations a graph's node becomes stands in `ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.engines.stablehlo.dtypes import ELEMENTS
from consilience.errors import MissingRuleError
from consilience.record import Record

Array = npt.NDArray[Any]

LISTED: Final = 64
"""Constants of more elements are written as their bytes, in hexadecimal."""


class HloValue(Record):
    """A name in the text with its shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def type(self) -> str:
        """The type in MLIR's words."""
        return tensor_type(self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


def tensor_type(shape: Sequence[int], dtype: str) -> str:
    """`tensor<4x3xf64>`; raises MissingRuleError for a dtype that StableHLO lacks."""
    element = ELEMENTS.get(dtype)
    if element is None:
        what = "a random key, and draws are made" if dtype == "key" else f"a tensor of {dtype}, and these are"
        raise MissingRuleError(f"the graph holds {what} outside StableHLO; give the values as inputs.")
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def _number(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.complexfloating):
        return f"({_number(value.real)}, {_number(value.imag)})"
    if isinstance(value, np.floating):
        if not np.isfinite(value):
            width = value.dtype.itemsize
            return f"0x{int(value.view(f'uint{8 * width}')):0{2 * width}X}"
        text = repr(float(value)) if value.dtype == np.float64 else repr(float(str(value)))
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return str(int(value))


def dense(array: Array) -> str:
    """A constant: one number for all, nested lists, or bytes."""
    if not array.size:
        return "dense<>"
    first = array.reshape(-1)[0]
    if array.ndim == 0 or (array.tobytes() == np.broadcast_to(first, array.shape).tobytes()):
        return f"dense<{_number(first)}>"
    if array.size > LISTED and array.dtype.kind != "b":
        return f'dense<"0x{array.astype(array.dtype.newbyteorder("<")).tobytes().hex().upper()}">'

    def listed(part: Array) -> str:
        return f"[{', '.join(listed(p) for p in part)}]" if part.ndim else _number(part[()])

    return f"dense<{listed(array)}>"


class HloWriter:
    """Lines of one function, and names that are not taken yet."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 2
        self._count = 0

    def line(self, text: str) -> None:
        """One line at the present depth."""
        self.lines.append("  " * self._depth + text)

    def fresh(self, prefix: str = "%") -> str:
        """A new name."""
        self._count += 1
        return f"{prefix}{self._count - 1}"

    def op(
        self, name: str, operands: Sequence[HloValue], shape: Sequence[int], dtype: str, written: str = ""
    ) -> HloValue:
        """An operation with one result, in the pretty form; `written` stands between operands and types."""
        result = HloValue(self.fresh(), tuple(shape), dtype)
        types = f"({', '.join(v.type for v in operands)}) -> {result.type}"
        given = ", ".join(v.name for v in operands)
        self.line(f"{result.name} = {name} {given}{written} : {types}")
        return result

    def same(self, name: str, *operands: HloValue) -> HloValue:
        """An operation on elements whose result has the type of its operands."""
        first = operands[0]
        result = HloValue(self.fresh(), first.shape, first.dtype)
        self.line(f"{result.name} = {name} {', '.join(v.name for v in operands)} : {first.type}")
        return result

    def chlo(self, name: str, *operands: HloValue) -> HloValue:
        """An operation of CHLO on elements, of the type of its operands."""
        first = operands[0]
        result = HloValue(self.fresh(), first.shape, first.dtype)
        types = f"{', '.join(v.type for v in operands)} -> {result.type}"
        self.line(f"{result.name} = chlo.{name} {', '.join(v.name for v in operands)} : {types}")
        return result

    def constant(self, value: npt.ArrayLike, dtype: str) -> HloValue:
        """A constant."""
        array = np.asarray(value, dtype)
        result = HloValue(self.fresh("%c"), array.shape, dtype)
        self.line(f"{result.name} = stablehlo.constant {dense(array)} : {result.type}")
        return result

    def full(self, value: Any, shape: Sequence[int], dtype: str) -> HloValue:
        """One number in all places."""
        return self.constant(np.broadcast_to(np.asarray(value, dtype), tuple(shape)), dtype)

    def generic(
        self,
        name: str,
        operands: Sequence[HloValue],
        results: Sequence[tuple[Sequence[int], str]],
        properties: str = "",
        regions: Sequence[Callable[[], None]] = (),
    ) -> list[HloValue]:
        """An operation in the generic form, with regions that functions write."""
        own = self.fresh()
        single = len(results) == 1
        values = [
            HloValue(own if single else f"{own}#{i}", tuple(shape), dtype) for i, (shape, dtype) in enumerate(results)
        ]
        head = (
            f'{own}{"" if single else f":{len(results)}"} = "stablehlo.{name}"({", ".join(v.name for v in operands)})'
        )
        head += f" <{{{properties}}}>" if properties else ""
        types = ", ".join(v.type for v in values)
        tail = f" : ({', '.join(v.type for v in operands)}) -> {types if single else f'({types})'}"
        if not regions:
            self.line(head + tail)
            return values
        self.line(f"{head} ({{")
        for i, region in enumerate(regions):
            if i:
                self.line("}, {")
            self._depth += 1
            region()
            self._depth -= 1
        self.line("})" + tail)
        return values

    def block(self, label: str, arguments: Sequence[HloValue]) -> None:
        """The head of a block."""
        self._depth -= 1
        self.line(f"^{label}({', '.join(f'{a.name}: {a.type}' for a in arguments)}):")
        self._depth += 1

    def returns(self, values: Sequence[HloValue]) -> None:
        """The end of a region."""
        self.line(f"stablehlo.return {', '.join(v.name for v in values)} : {', '.join(v.type for v in values)}")

    # ---- shapes

    def reshape(self, x: HloValue, shape: Sequence[int]) -> HloValue:
        """The same elements in another shape."""
        return x if tuple(shape) == x.shape else self.op("stablehlo.reshape", [x], shape, x.dtype)

    def broadcast(self, x: HloValue, shape: Sequence[int]) -> HloValue:
        """A longer shape, as NumPy broadcasts."""
        if tuple(shape) == x.shape:
            return x
        places = list(range(len(shape) - x.ndim, len(shape)))
        return self.op("stablehlo.broadcast_in_dim", [x], shape, x.dtype, f", dims = {places}")

    def transpose(self, x: HloValue, axes: Sequence[int]) -> HloValue:
        """The axes in another order."""
        if list(axes) == list(range(x.ndim)):
            return x
        return self.op("stablehlo.transpose", [x], [x.shape[a] for a in axes], x.dtype, f", dims = {list(axes)}")

    def slice(self, x: HloValue, parts: Sequence[tuple[int, int, int]]) -> HloValue:
        """Starts, ends and steps, which are positive."""
        if all((a, b, c) == (0, n, 1) for (a, b, c), n in zip(parts, x.shape, strict=True)):
            return x
        shape = [max(0, -((a - b) // c)) for a, b, c in parts]
        return self.op("stablehlo.slice", [x], shape, x.dtype, f" [{', '.join(f'{a}:{b}:{c}' for a, b, c in parts)}]")

    def iota(self, shape: Sequence[int], axis: int, dtype: str = "int64") -> HloValue:
        """Whole numbers along an axis."""
        result = HloValue(self.fresh(), tuple(shape), dtype)
        self.line(f"{result.name} = stablehlo.iota dim = {axis} : {result.type}")
        return result

    def convert(self, x: HloValue, dtype: str) -> HloValue:
        """Another dtype."""
        return x if x.dtype == dtype else self.op("stablehlo.convert", [x], x.shape, dtype)

    # ---- elements

    def compare(self, way: str, x: HloValue, y: HloValue, total: bool = False) -> HloValue:
        """`EQ`, `NE`, `LT`, `LE`, `GT`, `GE`; `total`: NaN of floats behind all numbers, -0 before 0."""
        kind = "UNSIGNED" if x.dtype == "bool" or x.dtype.startswith("uint") else "SIGNED"
        if x.dtype.startswith(("float", "complex")):
            kind = "TOTALORDER" if total else "FLOAT"
        result = HloValue(self.fresh(), x.shape, "bool")
        types = f"({x.type}, {y.type}) -> {result.type}"
        self.line(f"{result.name} = stablehlo.compare {way}, {x.name}, {y.name}, {kind} : {types}")
        return result

    def select(self, which: HloValue, x: HloValue, y: HloValue) -> HloValue:
        """One of two, element by element."""
        result = HloValue(self.fresh(), x.shape, x.dtype)
        self.line(f"{result.name} = stablehlo.select {which.name}, {x.name}, {y.name} : {which.type}, {result.type}")
        return result

    def reduce(self, name: str, x: HloValue, start: Any, axes: Sequence[int]) -> HloValue:
        """Elements along axes taken together by an operation."""
        if not axes:
            return x
        shape = [n for a, n in enumerate(x.shape) if a not in axes]
        first = self.constant(start, x.dtype)
        result = HloValue(self.fresh(), tuple(shape), x.dtype)
        self.line(
            f"{result.name} = stablehlo.reduce({x.name} init: {first.name}) applies stablehlo.{name} across "
            f"dimensions = {list(axes)} : ({x.type}, {first.type}) -> {result.type}"
        )
        return result
