"""StableHLO's and CHLO's operations on elements and shapes: operands and attributes in, tensors out.

Where an operation of JAX means the same, its rule is taken. Whole axes and matrices stand in `axes`, loops in
`loops`, functions and branches in `module`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.jax.read.primitives import RULES
from consilience.engines.stablehlo.read.mlir import DenseText, MlirOperation, TensorForm, dense_array
from consilience.errors import MissingRuleError
from consilience.record import Record

Tensors = list[Any]


class HloCall(Record, eq=False):
    """One operation and what its rule may ask for.

    operation   as it is written
    forms       of the results; None for what is no tensor
    region      values of an inner block at given arguments; further ones: by number
    function    values of a function of the module at given arguments
    scalar      the operation belongs to a body on scalars that is computed for whole arrays at once
    """

    operation: MlirOperation
    forms: list[TensorForm | None]
    region: Callable[..., Tensors]
    function: Callable[[str, Sequence[Any]], Tensors]
    resources: dict[str, bytes]
    scalar: bool

    @property
    def form(self) -> TensorForm:
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


Rule = Callable[..., Any]
HLO: Final[dict[str, Rule]] = {}


def hlo(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function of a call and its operands as the rule of operations."""

    def enter(function: Rule) -> Rule:
        HLO.update(dict.fromkeys(names, function))
        return function

    return enter


def of_jax(primitive: str, *operands: Any, **parameters: Any) -> Any:
    """What a primitive of JAX gives."""
    return RULES[primitive](*operands, primitive=primitive, **parameters)


# ---- elements

# StableHLO's and CHLO's name -> that of JAX's primitive.
_SAME: Final = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "remainder": "rem", "negate": "neg",
    "maximum": "max", "minimum": "min", "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil",
    "exponential": "exp", "exponential_minus_one": "expm1", "log": "log", "log_plus_one": "log1p", "sine": "sin",
    "cosine": "cos", "tan": "tan", "tanh": "tanh", "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "atan2": "atan2",
    "logistic": "logistic", "is_finite": "is_finite", "and": "and", "or": "or", "xor": "xor", "not": "not",
    "clamp": "clamp", "real": "real", "imag": "imag", "complex": "complex",
    "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "acosh": "acosh",
    "atanh": "atanh", "erf": "erf", "erfc": "erfc", "erf_inv": "erf_inv", "lgamma": "lgamma", "digamma": "digamma",
    "polygamma": "polygamma", "zeta": "zeta", "bessel_i1e": "bessel_i1e", "square": "square", "conj": "conj",
    "optimization_barrier": "copy", "shift_left": "shift_left", "shift_right_logical": "shift_right_logical",
    "shift_right_arithmetic": "shift_right_arithmetic", "popcnt": "population_count", "count_leading_zeros": "clz",
}  # fmt: skip


def _as_in_jax(primitive: str) -> Rule:
    def call(_: HloCall, *operands: Any) -> Any:
        return of_jax(primitive, *operands)

    return call


HLO.update({name: _as_in_jax(primitive) for name, primitive in _SAME.items()})
HLO.update({f"broadcast_{name}": HLO[name] for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")})


@hlo("power", "broadcast_power")
def _power(_: HloCall, x: Any, y: Any) -> Any:
    if "int" in x.dtype:
        raise MissingRuleError("powers of integers have no translation.")
    return of_jax("pow", x, y)


@hlo("round_nearest_even", "round_nearest_afz")
def _round(c: HloCall, x: Any) -> Any:
    return of_jax("round", x, rounding_method=1 if c.operation.name.endswith("even") else 0)


@hlo("compare", "broadcast_compare")
def _compare(c: HloCall, x: Any, y: Any) -> Any:
    way = c.get("comparison_direction") or c.operation.words[0]
    kind = c.get("compare_type") or [*c.operation.words[1:], ""][0]
    if kind == "TOTALORDER" and "float" in x.dtype:
        return _in_total_order(str(way), x, y)
    return of_jax(str(way).lower(), x, y)


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


@hlo("is_inf", "is_pos_inf", "is_neg_inf")
def _is_inf(c: HloCall, x: Any) -> Any:
    end = {"is_pos_inf": np.inf, "is_neg_inf": -np.inf}.get(_own_name(c))
    return pt.isinf(x) if end is None else pt.eq(x, np.asarray(end, x.dtype))


@hlo("select", "broadcast_select")
def _select(_: HloCall, which: Any, x: Any, y: Any) -> Any:
    return pt.where(which, x, y)


@hlo("convert")
def _convert(c: HloCall, x: Any) -> Any:
    if "complex" in x.dtype and "complex" not in c.form.dtype:
        x = pt.real(x)
    return of_jax("convert_element_type", x, new_dtype=c.form.dtype)


@hlo("bitcast_convert")
def _bitcast(c: HloCall, x: Any) -> Any:
    return of_jax("bitcast_convert_type", x, new_dtype=c.form.dtype)


@hlo("reduce_precision")
def _reduce_precision(c: HloCall, x: Any) -> Any:
    found = re.fullmatch(r"e(\d+)m(\d+)", str(c.get("format")))
    exponent, mantissa = map(int, found.groups()) if found else (c.get("exponent_bits"), c.get("mantissa_bits"))
    return of_jax("reduce_precision", x, exponent_bits=exponent, mantissa_bits=mantissa)


def _own_name(c: HloCall) -> str:
    return c.operation.name.rpartition(".")[2]


# ---- constants and shapes


@hlo("constant")
def _constant(c: HloCall) -> Any:
    value = c.get("value")
    if isinstance(value, DenseText):
        value = dense_array(value, c.form, c.resources)
    return pt.constant(np.array(value, c.form.dtype).reshape(c.form.shape))


@hlo("iota", "dynamic_iota")
def _iota(c: HloCall, *_shape: Any) -> Any:
    return of_jax("iota", dtype=c.form.dtype, shape=c.form.shape, dimension=int(c.get("dim", "iota_dimension")))


@hlo("broadcast_in_dim", "dynamic_broadcast_in_dim")
def _broadcast_in_dim(c: HloCall, x: Any, *_shape: Any) -> Any:
    if c.scalar and not c.form.shape:
        return x
    return of_jax(
        "broadcast_in_dim", x, shape=c.form.shape, broadcast_dimensions=c.ints("dims", "broadcast_dimensions")
    )


@hlo("broadcast")
def _broadcast(c: HloCall, x: Any) -> Any:
    return pt.broadcast_to(x, c.form.shape)


@hlo("reshape", "dynamic_reshape")
def _reshape(c: HloCall, x: Any, *_shape: Any) -> Any:
    return x if c.scalar and not c.form.shape else pt.reshape(x, c.form.shape)


@hlo("transpose")
def _transpose(c: HloCall, x: Any) -> Any:
    return of_jax("transpose", x, permutation=c.ints("dims", "permutation"))


@hlo("reverse")
def _reverse(c: HloCall, x: Any) -> Any:
    return of_jax("rev", x, dimensions=c.ints("dims", "dimensions"))


@hlo("concatenate")
def _concatenate(c: HloCall, *operands: Any) -> Any:
    return of_jax("concatenate", *operands, dimension=int(c.get("dim", "dimension")))


@hlo("slice")
def _slice(c: HloCall, x: Any) -> Any:
    ranges = c.get("ranges")
    if ranges is not None:
        return x[tuple(slice(*part) for part in ranges)]
    return of_jax(
        "slice", x, start_indices=c.ints("start_indices"), limit_indices=c.ints("limit_indices"),
        strides=c.ints("strides"),
    )  # fmt: skip


@hlo("pad")
def _pad(c: HloCall, x: Any, value: Any) -> Any:
    parts = [
        c.ints("low", "edge_padding_low"), c.ints("high", "edge_padding_high"), c.ints("interior", "interior_padding")
    ]  # fmt: skip
    return of_jax("pad", x, value, padding_config=list(zip(*parts, strict=True)))


@hlo("get_dimension_size")
def _get_dimension_size(c: HloCall, x: Any) -> Any:
    return pt.constant(np.asarray(x.static_shape[int(c.get("dim", "dimension"))], "int32"))
