"""StableHLO's and CHLO's operations on elements and shapes: operands and attributes in, tensors out.

Where an operation of lax means the same, its rule is taken. Whole axes and matrices stand in `axes`, loops in `loops`,
functions and branches in `module`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.forms import Form
from consilience.engines.reader.lax import LAX, lax
from consilience.engines.reader.rules import Rule, Rules, Tensors
from consilience.engines.stablehlo.read.constants import DenseText, dense_array
from consilience.engines.stablehlo.read.mlir import MlirOperation
from consilience.errors import MissingRuleError
from consilience.record import Record


class HloCall(Record, eq=False):
    """One operation and what its rule may ask for.

    `operation`: as it is written.
    `forms`: of the results; None for what is no tensor.
    `region`: values of an inner block at given arguments; further ones: by number.
    `function`: values of a function of the module at given arguments.
    `scalar`: the operation belongs to a body on scalars that is computed for whole arrays at once.
    """

    operation: MlirOperation
    forms: list[Form | None]
    region: Callable[..., Tensors]
    function: Callable[[str, Sequence[Any]], Tensors]
    resources: dict[str, bytes]
    scalar: bool

    @property
    def form(self) -> Form:
        """Shape and dtype of the only result."""
        form = self.forms[0] if self.forms else None
        if form is None:
            raise MissingRuleError("a result that is no tensor has no translation.")
        return form

    def get(self, *names: str, otherwise: Any = None) -> Any:
        """The first attribute that is there; its names in the pretty and in the generic form."""
        for name in names:
            if name in self.operation.attributes:
                found = self.operation.attributes[name]
                return found.tolist() if isinstance(found, np.ndarray) else found
        return otherwise

    def ints(self, *names: str, otherwise: Sequence[int] = ()) -> list[int]:
        """A list of integers."""
        return [int(i) for i in self.get(*names, otherwise=otherwise)]


HLO: Final = Rules()


def as_lax(primitive: str, count: int | None = None, **settings: Callable[[HloCall], Any]) -> Rule:
    """The rule of an operation that is one of lax.

    `count`: of its operands; further ones tell lengths, which are known. `**settings`: parameters, from the call.
    """
    rule = LAX[primitive]

    def call(c: HloCall, *operands: Any) -> Any:
        return rule(*operands[:count], primitive=primitive, **{name: of(c) for name, of in settings.items()})

    return call


def ints(*names: str) -> Callable[[HloCall], list[int]]:
    """The setting that is an attribute of integers; its names in the pretty and in the generic form."""
    return lambda c: c.ints(*names)


def one(*names: str) -> Callable[[HloCall], int]:
    """The same of one integer."""
    return lambda c: int(c.get(*names))


def shape(c: HloCall) -> tuple[int, ...]:
    """That of the result."""
    return c.form.shape


def dtype(c: HloCall) -> str:
    """That of the result."""
    return c.form.dtype


# ---- elements

_SAME: Final = """
    add maximum:max minimum:min abs sign floor ceil log cosine:cos tan tanh sqrt rsqrt cbrt atan2 logistic is_finite and
    or xor not clamp real imag complex asin acos atan sinh cosh asinh acosh atanh erf erfc erf_inv lgamma digamma
    polygamma zeta bessel_i1e square conj shift_left shift_right_logical shift_right_arithmetic subtract:sub
    multiply:mul divide:div remainder:rem negate:neg exponential:exp exponential_minus_one:expm1 log_plus_one:log1p
    sine:sin optimization_barrier:copy popcnt:population_count count_leading_zeros:clz
"""
for _word in _SAME.split():
    _name, _, _primitive = _word.partition(":")
    HLO(_name)(as_lax(_primitive or _name))
for _name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
    HLO(f"broadcast_{_name}")(HLO[_name])
HLO("round_nearest_even")(as_lax("round", rounding_method=lambda _: 1))
HLO("round_nearest_afz")(as_lax("round", rounding_method=lambda _: 0))
HLO("bitcast_convert")(as_lax("bitcast_convert_type", new_dtype=dtype))


@HLO("power", "broadcast_power")
def _power(_: HloCall, x: Any, y: Any) -> Any:
    if "int" in x.dtype:
        raise MissingRuleError("powers of integers have no translation.")
    return lax("pow", x, y)


@HLO("compare", "broadcast_compare")
def _compare(c: HloCall, x: Any, y: Any) -> Any:
    way = c.get("comparison_direction") or c.operation.words[0]
    kind = c.get("compare_type") or [*c.operation.words[1:], ""][0]
    if kind == "TOTALORDER" and "float" in x.dtype:
        return _in_total_order(str(way), x, y)
    return lax(str(way).lower(), x, y)


def _in_total_order(way: str, x: Any, y: Any) -> Any:
    """Floats with -0 before 0, and all NaN behind all numbers."""
    if way in ("LE", "GE", "NE"):
        return pt.invert(_in_total_order({"LE": "GT", "GE": "LT", "NE": "EQ"}[way], x, y))
    if way == "GT":
        x, y = y, x
    of_x, of_y = pt.signbit(x), pt.signbit(y)
    if way == "EQ":
        return pt.or_(pt.and_(pt.isnan(x), pt.isnan(y)), pt.and_(pt.eq(x, y), pt.eq(of_x, of_y)))
    zeros = pt.and_(pt.eq(x, y), pt.and_(of_x, pt.invert(of_y)))
    return pt.or_(pt.or_(pt.lt(x, y), zeros), pt.and_(pt.isnan(y), pt.invert(pt.isnan(x))))


@HLO("is_inf", "is_pos_inf", "is_neg_inf")
def _is_inf(c: HloCall, x: Any) -> Any:
    end = {"is_pos_inf": np.inf, "is_neg_inf": -np.inf}.get(c.operation.short)
    return pt.isinf(x) if end is None else pt.eq(x, np.asarray(end, x.dtype))


@HLO("select", "broadcast_select")
def _select(_: HloCall, which: Any, x: Any, y: Any) -> Any:
    return pt.where(which, x, y)


@HLO("convert")
def _convert(c: HloCall, x: Any) -> Any:
    if "complex" in x.dtype and "complex" not in c.form.dtype:
        x = pt.real(x)
    return lax("convert_element_type", x, new_dtype=c.form.dtype)


@HLO("reduce_precision")
def _reduce_precision(c: HloCall, x: Any) -> Any:
    found = re.fullmatch(r"e(\d+)m(\d+)", str(c.get("format")))
    exponent, mantissa = map(int, found.groups()) if found else (c.get("exponent_bits"), c.get("mantissa_bits"))
    return lax("reduce_precision", x, exponent_bits=exponent, mantissa_bits=mantissa)


# ---- constants and shapes


@HLO("constant")
def _constant(c: HloCall) -> Any:
    value = c.get("value")
    if isinstance(value, DenseText):
        value = dense_array(value, c.form, c.resources)
    return pt.constant(np.array(value, c.form.dtype).reshape(c.form.shape))


HLO("iota", "dynamic_iota")(as_lax("iota", 0, dtype=dtype, shape=shape, dimension=one("dim", "iota_dimension")))
HLO("transpose")(as_lax("transpose", permutation=ints("dims", "permutation")))
HLO("reverse")(as_lax("rev", dimensions=ints("dims", "dimensions")))
HLO("concatenate")(as_lax("concatenate", dimension=one("dim", "dimension")))


@HLO("pad")
def _pad(c: HloCall, x: Any, value: Any) -> Any:
    low, high = c.ints("low", "edge_padding_low"), c.ints("high", "edge_padding_high")
    inner = c.ints("interior", "interior_padding")
    return lax("pad", x, value, padding_config=list(zip(low, high, inner, strict=True)))


@HLO("broadcast_in_dim", "dynamic_broadcast_in_dim")
def _broadcast_in_dim(c: HloCall, x: Any, *_shape: Any) -> Any:
    if c.scalar and not c.form.shape:
        return x
    return lax("broadcast_in_dim", x, shape=c.form.shape, broadcast_dimensions=c.ints("dims", "broadcast_dimensions"))


@HLO("broadcast")
def _broadcast(c: HloCall, x: Any) -> Any:
    return pt.broadcast_to(x, c.form.shape)


@HLO("reshape", "dynamic_reshape")
def _reshape(c: HloCall, x: Any, *_shape: Any) -> Any:
    return x if c.scalar and not c.form.shape else pt.reshape(x, c.form.shape)


@HLO("slice")
def _slice(c: HloCall, x: Any) -> Any:
    ranges = c.get("ranges")
    if ranges is not None:
        return x[tuple(slice(*part) for part in ranges)]
    return lax(
        "slice", x, start_indices=c.ints("start_indices"), limit_indices=c.ints("limit_indices"),
        strides=c.ints("strides"),
    )  # fmt: skip


@HLO("get_dimension_size")
def _get_dimension_size(c: HloCall, x: Any) -> Any:
    return pt.constant(np.asarray(x.static_shape[int(c.get("dim", "dimension"))], "int32"))
