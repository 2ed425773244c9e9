"""Scalar functions in PyTorch, by the names of the table.

Tensors in, tensors out. Functions that PyTorch lacks, or computes less exactly than this package does, are written by
their formulas; those without one are NumPy's, on the processor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from torch import special

from consilience.engines.emitter.formulas import written
from consilience.engines.emitter.random import draws
from consilience.engines.torch.emit.meanings import TorchEvaluation, dtype_of, means, of_name, opaque
from consilience.engines.torch.emit.namespace import XP
from consilience.ir import numpy_dtype
from consilience.lower.views import static
from consilience.ops import AlteredGradient, Cast, Elementwise, StopGradient

FAR: Final = 40.0  # from here on the other exponential is below rounding


def _folded(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda *tensors: functools.reduce(function, tensors)


def _whole(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Division of integers, of which NumPy's by 0 is 0; PyTorch raises."""

    def call(a: Any, b: Any) -> Any:
        if b.is_floating_point():
            return function(a, b)
        return torch.where(b == 0, 0, function(a, torch.where(b == 0, 1, b)))

    return call


def _far(x: Any) -> Any:
    """exp(|x|) / 2, also where exp(|x|) has no number."""
    half = torch.exp(torch.abs(x) / 2)
    return (half / 2) * half


DRAWS: Final = draws(XP)
# What has a formula as well stands here where PyTorch has it: one of its operations is quicker than several.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": _folded(torch.add),
    "mul": _folded(torch.mul),
    "floor_div": _whole(torch.floor_divide),
    "mod": _whole(torch.remainder),
    "fmod": _whole(torch.fmod),
    "true_div": torch.true_divide,
    "neq": torch.ne,
    "invert": torch.bitwise_not,
    "sinh": lambda x: torch.where(torch.abs(x) > FAR, torch.copysign(_far(x), x), torch.sinh(x)),
    "cosh": lambda x: torch.where(torch.abs(x) > FAR, _far(x), torch.cosh(x)),
    "cbrt": lambda x: torch.copysign(torch.abs(x) ** (1 / 3), x),
    "conj": torch.conj_physical,
    "modulus": torch.abs,
    **{
        own: getattr(torch, theirs)
        for own, theirs in {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}.items()
    },
    **{
        name: getattr(torch, name)
        for name in str.split(
            "sub pow neg abs square sqrt reciprocal minimum maximum fmin fmax floor ceil trunc round "
            "copysign hypot exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan tanh arcsinh arccosh "
            "arctanh deg2rad rad2deg isnan isinf isfinite signbit logical_and logical_or logical_xor logical_not "
            "bitwise_and bitwise_or bitwise_xor eq lt le gt ge real imag angle complex where sigmoid logit"
        )
    },
    **{name: getattr(special, name) for name in str.split("erf erfc erfcx erfinv i0e i1e gammaln digamma ndtri")},
    **{name: getattr(special, name) for name in str.split("log_ndtr xlogy xlog1py zeta")},
    **DRAWS,
}


@means(Elementwise)
def _elementwise(run: TorchEvaluation, node: Any, *tensors: Any) -> Any:
    name = node.op.function
    if name not in FUNCTIONS:
        formula = written(name, tuple(i.tensor_type for i in node.inputs))
        if formula is None:
            return opaque(run, node, *tensors)
        leaves, result = formula
        (found,) = TorchEvaluation(dict(zip(leaves, tensors, strict=True)), run.device).of([result])
        return found.broadcast_to(static(node.static_shape))
    if name == "where":
        condition, *branches = tensors
        return torch.where(condition, *(x.to(dtype_of(node)) for x in branches))
    if name in DRAWS:
        return DRAWS[name](*tensors)
    wanted = _common(node.dtype, *(i.dtype for i in node.inputs))
    return FUNCTIONS[name](*(x.to(wanted) for x in tensors))


@functools.cache
def _common(result: str, *operands: str) -> Any:
    """What operands are converted to: PyTorch takes float32 for what integers become, and weighs rank 0 less."""
    common = np.result_type(*map(numpy_dtype, operands))
    own = numpy_dtype(result)
    return of_name(str(own if own.kind in "fc" and common.kind in "iub" else common))


@means(Cast)
def _cast(run: TorchEvaluation, node: Any, x: Any) -> Any:
    target = dtype_of(node)
    if not x.is_floating_point() or target.is_floating_point or target.is_complex or target == torch.bool:
        return x.to(target)
    limits = torch.iinfo(target)
    wide = torch.trunc(torch.nan_to_num(x.to(torch.float64), nan=float(limits.min)))
    safe = torch.where((wide > float(limits.min)) & (wide < float(limits.max)), wide, 0.0).to(target)
    high = torch.where(wide >= float(limits.max), limits.max, safe)
    return torch.where(wide <= float(limits.min), limits.min, high)


@means(StopGradient, AlteredGradient)
def _itself(run: TorchEvaluation, node: Any, x: Any) -> Any:
    return x
