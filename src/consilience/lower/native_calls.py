"""Calls of C functions that users give.

The operands of a call lie in memory in row-major order, and so do its results; what the function computes stays
outside.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError, Status
from consilience.ir import Node
from consilience.lower.fortran import Argument
from consilience.lower.routines import routine
from consilience.native import given
from consilience.native.loops import Builder, Value, i32, i64, ptr
from consilience.ops.python_call import PythonCall


@routine(PythonCall)
def _native_call(b: Builder, node: Node, sources: Sequence[Argument], targets: Sequence[Argument]) -> None:
    op = node.op
    assert isinstance(op, PythonCall)
    native = op.function.native
    if native is None:
        raise MissingRuleError(f"the Python function `{op.function.name}` has no machine code.")
    places = {f"operand {k}": source.pointer for k, source in enumerate(sources)}
    places |= {f"result {k}": target.pointer for k, target in enumerate(targets)}

    def argument(of: str | int | tuple[int]) -> Value:
        if isinstance(of, str):
            return places[of]
        if isinstance(of, int):
            return b.const(i32, of)
        return b.symbol(given.symbol(of[0]), None) if of[0] else b.bitcast(b.const(i64, 0), ptr)

    status = b.call(given.symbol(native.address), i32, *map(argument, native.arguments))
    with b.if_(b.cmp("ne", status, b.const(i32, 0))):
        b.ret(b.const(i64, int(Status.PYTHON_FAILED)))
