"""An entry with its data as a plain C function of arrays: what other languages call in this process.

In: the addresses of an entry and of its table of constants, and how many arrays it reads and writes. Out: a library
with one function that brings its own scratch memory. Outside: who calls it.
"""

from __future__ import annotations

from consilience.native import jit
from consilience.native.loops import Module, i8, i64, ptr

NAME = "flat_call"
ALIGNMENT = 64
# Scratch memory up to this many bytes lies on the stack of the caller.
ON_STACK = 1 << 16


def flat_call(entry: int, constants: int, workspace: int, inputs: int, outputs: int) -> jit.Library:
    """`int64_t flat_call(input, ..., output, ...)`, for any number of threads at once.

    entry, constants, workspace   as of `registry.Bound`
    inputs, outputs               numbers of arrays, at least 1 each
    returns                       its library; what the addresses point to has to stay where it is
    """
    module = Module()
    names = [*(f"input{i}" for i in range(inputs)), *(f"output{i}" for i in range(outputs))]
    b = module.function(NAME, [(name, ptr) for name in names], i64)
    tables = []
    for arrays in (b.parameters[:inputs], b.parameters[inputs:]):
        tables.append(b.stack(ptr, len(arrays)))
        for i, array in enumerate(arrays):
            b.store(array, b.offset(tables[-1], b.const(i64, i), ptr))
    on_stack = workspace <= ON_STACK
    if on_stack:
        memory = aligned = b.stack(i8, max(1, workspace))
    else:
        memory = b.call("malloc", ptr, b.const(i64, workspace + ALIGNMENT))
        last = b.add(b.bitcast(memory, i64), b.const(i64, ALIGNMENT - 1))
        aligned = b.bitcast(b.and_(last, b.const(i64, -ALIGNMENT)), ptr)
    types = (ptr, ptr, ptr, ptr)
    code, table = b.symbol("bound_entry", i64, *types), b.symbol("bound_constants", i64, *types)
    status = b.call_pointer(code, i64, *tables, aligned, table)
    if not on_stack:
        b.call("free", None, memory)
    b.ret(status)
    return jit.load(module, [NAME], {"bound_entry": entry, "bound_constants": constants})
