"""Modules of StableHLO: their text in, functions of tensors that compute the same out.

Functions and branches are translated here; operations stand in the tables of `elements`, `axes` and
`loops`. The text is read without any other package.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.forms import called, fitted
from consilience.engines.reader.loops import first_of, one_of
from consilience.engines.reader.program import Language, ProgramStep
from consilience.engines.reader.rules import Tensors
from consilience.engines.stablehlo.bytecode import from_bytecode
from consilience.engines.stablehlo.read import axes as axes  # these fill the table
from consilience.engines.stablehlo.read import loops as loops
from consilience.engines.stablehlo.read.constants import tensor_form
from consilience.engines.stablehlo.read.elements import HLO, HloCall
from consilience.engines.stablehlo.read.mlir import MlirBlock, MlirModule, MlirOperation, parse_module
from consilience.errors import GraphError, ParseError

_DIALECTS: Final = ("", "stablehlo.", "chlo.", "mhlo.", "func.")
_RETURNS: Final = ("return", "func.return", "stablehlo.return", "mhlo.return")


def _hint(name: str) -> str:
    if name.rpartition(".")[2] in ("rng", "rng_bit_generator"):
        return " Draw beforehand, and give the draws as arguments."
    vhlo = name.startswith("vhlo.")
    return " Text of the dialect VHLO is turned into StableHLO by `stablehlo-translate`." if vhlo else ""


STABLEHLO: Final = Language(
    "StableHLO", "operation", HLO, _hint, (AssertionError, IndexError, KeyError, TypeError, ValueError), ParseError
)


def from_stablehlo(text: str | bytes, function: str = "main") -> Callable[..., Any]:
    """A function of a module of StableHLO as a function of tensors.

    text: MLIR's textual form, pretty or generic: `jax.jit(f).lower(*examples).as_text()`,
        `jax.export.export(jax.jit(f))(*examples).mlir_module()`, what PyTorch/XLA and TensorFlow print. Or portable
        bytecode, which is read by `jaxlib`.
    function: Which one of the module's functions.
    Returns: A function of as many tensors or numbers, in order; of several results it gives a tuple. They are
        differentiated, simplified and compiled as all tensors are. Derivatives that an author gave to his function are
        not part of the text.
    Raises ParseError: For text that is not MLIR.
    Raises MissingRuleError: For an operation that has no translation, with its line.
    Raises ShapeError: For open lengths.
    Raises MissingPackageError: For bytecode without `jaxlib`.
    Raises GraphError: Of the function that is made: for arguments of another number, ShapeError for other shapes,
        DtypeError for other dtypes.
    See to_stablehlo: The other way.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.tensor("x", dtype="float64", shape=(3,))
    >>> f = pm.from_stablehlo(pm.to_stablehlo(pt.exp(x).sum(), [x]))
    >>> f(pt.zeros(3)).eval().item()
    3.0
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
        told = (f"argument {name} of `{function}`" for name, _ in block.arguments)
        found = evaluated(module, block, list(map(fitted, arguments, forms, told)))
        return found[0] if len(found) == 1 else tuple(found)

    translated(*(form.variable for form in forms))  # what is missing is told now
    return called(translated, function, f"`@{function}` of a module of StableHLO")


def evaluated(
    module: MlirModule,
    block: MlirBlock,
    arguments: Sequence[Any],
    outer: ChainMap[str, Any] | None = None,
    scalar: bool = False,
) -> Tensors:
    """Values that a block returns.

    `outer`: values of names around it. `scalar`: a body on scalars is computed for arrays of any shape.
    """
    own = dict(zip((name for name, _ in block.arguments), arguments, strict=True))
    known: ChainMap[str, Any] = ChainMap(own) if outer is None else outer.new_child(own)
    for operation in block.operations:
        operands = [_read(known, name, operation) for name in operation.operands]
        if operation.name in _RETURNS:
            return operands
        own.update(zip(operation.results, _results(module, operation, operands, known, scalar), strict=True))
    return []


def _read(known: ChainMap[str, Any], name: str, operation: MlirOperation) -> Any:
    if name not in known:
        raise ParseError(f"the value `{name}` is used before it is known ({operation.where}).")
    return known[name]


def _results(
    module: MlirModule, operation: MlirOperation, operands: Tensors, known: ChainMap[str, Any], scalar: bool
) -> Tensors:
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
    name = operation.short if operation.name.removesuffix(operation.short) in _DIALECTS else operation.name
    step = ProgramStep(name, operation.name, {}, forms, lambda: operation.where, scalar)
    return STABLEHLO.values(step, [call, *operands])


# ---- functions and tuples


@HLO("call", "composite")
def _call(c: HloCall, *operands: Any) -> Tensors:
    return c.function(c.get("decomposition", "callee"), operands)


@HLO("tuple")
def _tuple(_: HloCall, *operands: Any) -> Any:
    return tuple(operands)


@HLO("get_tuple_element")
def _get_tuple_element(c: HloCall, of: Any) -> Any:
    ranges = c.get("ranges")
    return of[c.get("index") if ranges is None else ranges[0][0]]


@HLO("create_token", "after_all")
def _token(_: HloCall, *_operands: Any) -> Any:
    """What orders effects; there are none."""
    return None


# ---- branches


@HLO("if")
def _if(c: HloCall, which: Any) -> Tensors:
    return one_of(which, c.region(0), c.region(1))


@HLO("case")
def _case(c: HloCall, index: Any) -> Tensors:
    """The branch that the index counts; the last one where there is no such branch."""
    branches = [c.region(i) for i in range(len(c.operation.regions))]
    return first_of([pt.eq(index, np.asarray(i, index.dtype)) for i in range(len(branches) - 1)], branches)
