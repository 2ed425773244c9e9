"""Machine code as a function that Numba's compiled code calls: no second translation, and the same numbers.

Bound machine code with the forms of its inputs and outputs in; a Numba dispatcher out. Numba is imported here alone.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from consilience.backends.callback import Form
from consilience.backends.function import Function
from consilience.backends.pure import PureFunction
from consilience.backends.registry import Bound
from consilience.errors import MissingPackageError, Status
from consilience.ir import numpy_dtype
from consilience.lower.views import static

_ALIGNMENT = 64
_ON_STACK = 1 << 14  # bytes of scratch memory that a call takes from the stack


def of_function(function: Function, values: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`Function.numba`: its machine code at the shapes of a call."""
    pure = PureFunction(function)
    arrays = pure.arrays(values, named)
    bound, results = pure.bound([a.shape for a in arrays])
    outputs = [(static(r.static_shape), numpy_dtype(r.dtype)) for r in results]
    return numba_function(function.name, bound, [(a.shape, a.dtype) for a in arrays], outputs, pure.names, pure.single)


def numba_function(
    name: str, bound: Bound, inputs: Sequence[Form], outputs: Sequence[Form], names: Sequence[str], single: bool
) -> Any:
    """A function for `numba.njit` code, which releases the interpreter's lock.

    `inputs`, `outputs`: shapes and dtypes; numbers stand for arrays of rank 0 on both sides.
    `names`: of the inputs, for messages.
    `single`: whether the only output is returned itself, not in a tuple.
    Returns: a dispatcher, which keeps `bound` alive; each call allocates its outputs.
    Raises MissingPackageError without Numba; the function itself: numba.TypingError for other dtypes.
    Raises ValueError for other shapes.
    Raises ArithmeticError where an index is out of bounds or a matrix cannot be factorised.
    """
    try:
        import numba
    except Exception as error:
        raise MissingPackageError.of("Numba", "pip install 'consilience[numba]'", error) from error

    _register()
    scope: dict[str, Any] = {"np": np, "contiguous": _contiguous, "enter": _entered(bound)}
    parameters = [f"x{i}" for i in range(len(inputs))]
    body: list[str] = []
    for i, ((shape, dtype), own) in enumerate(zip(inputs, names, strict=True)):
        scope[f"like{i}"] = np.empty((0,) * len(shape), dtype) if shape else dtype.type
        if shape:
            body += [
                f"in{i} = contiguous(x{i}, like{i})",
                f"if in{i}.shape != {shape!r}:",
                f"    raise ValueError({f'`{own}` must have the shape {shape} that this function was made for.'!r})",
            ]
        else:
            body.append(f"in{i} = like{i}(x{i})")
    for i, (shape, dtype) in enumerate(outputs):
        scope[f"of{i}"] = dtype.type
        body.append(f"out{i} = np.empty({shape!r}, of{i})" if shape else f"out{i} = of{i}(0)")
    on_heap = bound.workspace > _ON_STACK
    body += [
        f"scratch = np.empty({bound.workspace + _ALIGNMENT}, np.uint8)" if on_heap else "scratch = None",
        f"found = enter({_tuple('in', len(inputs))}, {_tuple('out', len(outputs))}, scratch)",
        "status = found[0]",
        "if status != 0:",
        f"    if status & {int(Status.OUT_OF_BOUNDS)}:",
        f"        raise ArithmeticError({f'an index lies outside its axis in `{name}`.'!r})",
        f"    raise ArithmeticError({f'a matrix is singular or not positive definite in `{name}`.'!r})",
    ]
    numbers = [i for i, (shape, _) in enumerate(outputs) if not shape]
    results = [f"out{i}" if i not in numbers else f"found[{1 + numbers.index(i)}]" for i in range(len(outputs))]
    together = ", ".join(results) + ","
    body.append(f"return {results[0] if single else f'({together})' if results else None}")
    text = "\n".join([f"def run({', '.join(parameters)}):", *(f"    {line}" for line in body)])
    exec(compile(text, f"<{name} for Numba>", "exec"), scope)
    made = scope["run"]
    made.__name__ = made.__qualname__ = name if name.isidentifier() else "function"
    made.__doc__ = f"`{name}` at the shapes {', '.join(str(shape) for shape, _ in inputs)} of {', '.join(names)}."
    result = numba.njit(nogil=True)(made)
    result.machine_code = bound  # type: ignore[attr-defined]  # keeps it alive
    return result


def _tuple(name: str, count: int) -> str:
    return "(" + "".join(f"{name}{i}, " for i in range(count)) + ")"


def _entered(bound: Bound) -> Any:
    """A call of machine code from Numba's: (inputs, outputs, scratch memory or None) to (status, *numbers).

    Tables of addresses, numbers and small scratch memory lie on the stack, so that a call allocates nothing.
    """
    from llvmlite import ir
    from numba.extending import intrinsic

    types: Any = import_module("numba.types")  # Numba says of some functions alone what their types are
    cgutils: Any = import_module("numba.core.cgutils")
    word = ir.IntType(64)
    signature = ir.FunctionType(word, [word] * 4).as_pointer()
    entry, constants, room = (
        ir.Constant(word, n) for n in (bound.entry, bound.constants, bound.workspace + _ALIGNMENT)
    )

    @intrinsic
    def enter(typing: Any, ins: Any, outs: Any, scratch: Any) -> Any:
        def generate(context: Any, builder: Any, own: Any, arguments: Any) -> Any:
            def place(kind: Any, value: Any) -> Any:
                """Where an array's elements lie, or a number on the stack."""
                if isinstance(kind, types.Array):
                    return context.make_array(kind)(context, builder, value).data
                slot = cgutils.alloca_once(builder, context.get_data_type(kind))
                context.pack_value(builder, kind, value, slot)
                return slot

            def table(places: Sequence[Any]) -> Any:
                found = cgutils.alloca_once(builder, word, size=ir.Constant(word, max(1, len(places))))
                for i, at in enumerate(places):
                    builder.store(builder.ptrtoint(at, word), builder.gep(found, [ir.Constant(word, i)]))
                return builder.ptrtoint(found, word)

            def places(kinds: Any, value: Any) -> list[Any]:
                members = cgutils.unpack_tuple(builder, value, len(kinds))
                return [place(kind, member) for kind, member in zip(kinds, members, strict=True)]

            given, wanted = places(ins, arguments[0]), places(outs, arguments[1])
            if isinstance(scratch, types.Array):
                memory = place(scratch, arguments[2])
            else:
                memory = cgutils.alloca_once(builder, ir.IntType(8), size=room)
            aligned = builder.add(builder.ptrtoint(memory, word), ir.Constant(word, _ALIGNMENT - 1))
            aligned = builder.and_(aligned, ir.Constant(word, -_ALIGNMENT))
            code = builder.inttoptr(entry, signature)
            status = builder.call(code, [table(given), table(wanted), aligned, constants])
            numbers = [
                context.unpack_value(builder, kind, at)
                for kind, at in zip(outs, wanted, strict=True)
                if not isinstance(kind, types.Array)
            ]
            return context.make_tuple(builder, own.return_type, [status, *numbers])

        kinds = [types.int64, *(kind for kind in outs if not isinstance(kind, types.Array))]
        return types.Tuple(kinds)(ins, outs, scratch), generate

    return enter


def _contiguous(x: Any, like: Any) -> Any:
    """An array in C's order, of the dtype of another; what it means stands in `_contiguous_in_numba`."""
    raise NotImplementedError("this is called by code of Numba alone.")


def _same(x: Any, like: Any) -> Any:
    return x


def _copied(x: Any, like: Any) -> Any:
    return np.ascontiguousarray(x)


@functools.cache
def _register() -> None:
    """Tell Numba how `_contiguous` is compiled: nothing at all, where types say that there is nothing to do."""
    from numba import errors, extending, types

    @extending.overload(_contiguous)
    def _contiguous_in_numba(x: Any, like: Any) -> Any:
        if not isinstance(x, types.Array) or x.dtype != like.dtype or x.ndim != like.ndim:
            raise errors.TypingError(f"an array of {like.dtype} with {like.ndim} axes was needed, got {x}.")
        return _same if x.layout == "C" else _copied
