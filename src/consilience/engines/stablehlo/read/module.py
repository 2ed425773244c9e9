"""Modules of StableHLO: their text in, functions of tensors that compute the same out.

Functions and branches are translated here; operations stand in the tables of `elements`,
`axes` and `loops`. The text is read without any other package.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.jax.read.jaxpr import fitted
from consilience.engines.stablehlo.bytecode import from_bytecode
from consilience.engines.stablehlo.read import axes as axes  # fills the table
from consilience.engines.stablehlo.read import loops as loops  # fills the table
from consilience.engines.stablehlo.read.elements import HLO, HloCall, Tensors, hlo
from consilience.engines.stablehlo.read.mlir import (
    MlirBlock,
    MlirModule,
    MlirOperation,
    TensorForm,
    parse_module,
    tensor_form,
)
from consilience.errors import ConsilienceError, GraphError, MissingRuleError, ParseError
from consilience.ir import Node, constant_value
from consilience.ops.control import cond

_DIALECTS: Final = ("stablehlo", "chlo", "mhlo", "func")
_RETURNS: Final = ("return", "func.return", "stablehlo.return", "mhlo.return")
_RANDOM: Final = ("rng", "rng_bit_generator")


def from_stablehlo(text: str | bytes, function: str = "main") -> Callable[..., Any]:
    """A function of a module of StableHLO as a function of tensors.

    text       MLIR's textual form, pretty or generic: `jax.jit(f).lower(*examples).as_text()`,
               `jax.export.export(jax.jit(f))(*examples).mlir_module()`, what PyTorch/XLA and TensorFlow print. Or
               portable bytecode, which is read by `jaxlib`
    function   which one of the module's functions
    returns    a function of as many tensors or numbers, in order; of several results it gives a tuple. They are
               differentiated, simplified and compiled as all tensors are. Derivatives that an author gave to his
               function are not part of the text
    raises     ParseError for text that is not MLIR; MissingRuleError for an operation that has no translation, with its
               line; ShapeError for open lengths; MissingPackageError for bytecode without `jaxlib`; and the function
               itself GraphError, ShapeError and DtypeError for other arguments
    """
    if not isinstance(text, str | bytes):
        raise ParseError(
            f"the text of a module, or its bytecode, was needed; got {text!r}; what JAX lowers has `as_text()`."
        )
    module = parse_module(text if isinstance(text, str) else from_bytecode(text))
    block = module.functions.get(function)
    if block is None:
        raise GraphError(f"the module has no function `@{function}`; it has {', '.join(module.functions) or 'none'}.")
    forms = [tensor_form(kind, f"argument {name} of `@{function}`") for name, kind in block.arguments]

    def translated(*arguments: Any) -> Any:
        if len(arguments) != len(forms):
            wanted = ", ".join(f"{form.dtype}{list(form.shape)}" for form in forms)
            raise GraphError(f"`{function}` has {len(forms)} arguments ({wanted}), got {len(arguments)}.")
        tensors = [
            fitted(value, form, function, name)
            for value, form, (name, _) in zip(arguments, forms, block.arguments, strict=True)
        ]
        found = evaluated(module, block, tensors)
        return found[0] if len(found) == 1 else tuple(found)

    translated(*(pt.tensor(dtype=form.dtype, shape=form.shape) for form in forms))  # what is missing is told now
    translated.__name__ = translated.__qualname__ = function
    translated.__doc__ = f"`@{function}` of a module of StableHLO, of tensors."
    return translated


def evaluated(
    module: MlirModule,
    block: MlirBlock,
    arguments: Sequence[Any],
    outer: ChainMap[str, Any] | None = None,
    scalar: bool = False,
) -> Tensors:
    """Values that a block returns.

    outer    values of names around it
    scalar   a body on scalars is computed for arrays of any shape
    """
    own = dict(zip((name for name, _ in block.arguments), arguments, strict=True))
    known: ChainMap[str, Any] = ChainMap(own) if outer is None else outer.new_child(own)
    for operation in block.operations:
        operands = [_read(known, name, operation) for name in operation.operands]
        if operation.name in _RETURNS:
            return operands
        values = _operation(module, operation, operands, known, scalar)
        own.update(zip(operation.results, values, strict=True))
    return []


def _read(known: ChainMap[str, Any], name: str, operation: MlirOperation) -> Any:
    if name not in known:
        raise ParseError(f"the value `{name}` is used before it is known ({operation.where}).")
    return known[name]


def _operation(
    module: MlirModule, operation: MlirOperation, operands: Tensors, known: ChainMap[str, Any], scalar: bool
) -> Tensors:
    dialect, _, name = operation.name.rpartition(".")
    own = HLO.get(name) if dialect in ("", *_DIALECTS) else None
    if own is None:
        hint = " Draw beforehand, and give the draws as arguments." if name in _RANDOM else ""
        hint += " Text of the dialect VHLO is turned into StableHLO by `stablehlo-translate`." * (dialect == "vhlo")
        raise MissingRuleError(f"StableHLO's `{operation.name}` has no translation ({operation.where}).{hint}")

    def region(number: int, *arguments: Any, scalar: bool = scalar) -> Tensors:
        return evaluated(module, operation.regions[number], arguments, known, scalar)

    def function(callee: str, arguments: Sequence[Any]) -> Tensors:
        if callee not in module.functions:
            raise ParseError(f"the function `@{callee}` is called and is not in the text ({operation.where}).")
        return evaluated(module, module.functions[callee], arguments, None, scalar)

    forms = [
        tensor_form(kind, operation.where) if kind.startswith("tensor") else None for kind in operation.result_types
    ]
    call = HloCall(operation, forms, region, function, module.resources, scalar)
    try:
        found = own(call, *operands)
    except GraphError as error:
        if "of the text: " in str(error):
            raise
        raise type(error)(f"StableHLO's `{operation.name}`: {str(error).rstrip('.')} ({operation.where}).") from error
    except (AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ConsilienceError):
            raise
        raise ParseError(
            f"StableHLO's `{operation.name}` is not of a known form: {error} ({operation.where}); please report this "
            "if the text is right."
        ) from error
    values = found if isinstance(found, list) else [found]
    return [_as_declared(value, form, call) for value, form in zip(values, forms, strict=True)]


def _as_declared(value: Any, form: TensorForm | None, call: HloCall) -> Any:
    """A result in the dtype that the text gives it."""
    if form is None or not isinstance(value, Node):
        return value
    if not call.scalar and tuple(value.static_shape) != form.shape:
        raise GraphError(
            f"the translation of StableHLO's `{call.operation.name}` has the shape {value.static_shape} in place of "
            f"{form.shape} ({call.operation.where}); if the text is right, please report this."
        )
    return value if value.dtype == form.dtype else value.astype(form.dtype)


# ---- functions and tuples


@hlo("call", "composite")
def _call(c: HloCall, *operands: Any) -> Tensors:
    return c.function(c.get("decomposition", "callee"), operands)


@hlo("tuple")
def _tuple(_: HloCall, *operands: Any) -> Any:
    return tuple(operands)


@hlo("get_tuple_element")
def _get_tuple_element(c: HloCall, of: Any) -> Any:
    ranges = c.get("ranges")
    return of[c.get("index") if ranges is None else ranges[0][0]]


@hlo("create_token", "after_all")
def _token(_: HloCall, *_operands: Any) -> Any:
    """What orders effects; there are none."""
    return None


# ---- branches


@hlo("if")
def _if(c: HloCall, which: Any) -> Tensors:
    return _chosen(which, c.region(0), c.region(1))


@hlo("case")
def _case(c: HloCall, index: Any) -> Tensors:
    """The branch that the index counts; the last one where there is no such branch."""
    results = [c.region(i) for i in range(len(c.operation.regions))]
    found = results[-1]
    for number in range(len(results) - 2, -1, -1):
        found = _chosen(pt.eq(index, np.asarray(number, index.dtype)), results[number], found)
    return found


def _chosen(which: Any, then: Tensors, otherwise: Tensors) -> Tensors:
    if not then:
        return []
    known = constant_value(which)
    if known is not None:
        return then if known else otherwise
    return list(cond(which, then, otherwise))
