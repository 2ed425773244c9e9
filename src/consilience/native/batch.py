"""Run an entry many times from native code: once per draw, without returning to Python.

The entry's address, base addresses and strides in; the status of all calls together out.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence

import numpy as np

from consilience.errors import Status
from consilience.native.loops import Module, i8, i64, ptr
from consilience.native.own_code import load_program

_Address = ctypes.c_void_p


@functools.cache
def _driver() -> Callable[..., int]:
    """The compiled loop over draws: entry, tables with bases and strides of both sides, scratch, constants, counts."""
    library = load_program(["run"], _program)
    return library.function("run", ctypes.c_int64, *[_Address] * 9, *[ctypes.c_int64] * 3)


def _program() -> Module:
    module = Module()
    names = ["entry", "input_bases", "input_strides", "inputs", "output_bases", "output_strides", "outputs"]
    parameters = [(name, ptr) for name in names]
    parameters += [("workspace", ptr), ("constants", ptr)]
    parameters += [("count", i64), ("n_inputs", i64), ("n_outputs", i64)]
    b = module.function("run", parameters, i64)
    at = dict(zip([name for name, _ in parameters], b.parameters, strict=True))
    status = b.variable(b.const(i64, int(Status.OK)))
    with b.for_(0, at["count"]) as draw:
        for side, number in (("input", "n_inputs"), ("output", "n_outputs")):
            with b.for_(0, at[number]) as i:
                base = b.load(ptr, b.offset(at[f"{side}_bases"], i, ptr))
                stride = b.load(i64, b.offset(at[f"{side}_strides"], i, i64))
                b.store(b.offset(base, b.mul(draw, stride), i8), b.offset(at[f"{side}s"], i, ptr))
        one = b.call_pointer(at["entry"], i64, at["inputs"], at["outputs"], at["workspace"], at["constants"])
        b.set(status, b.or_(b.get(status), one))
    b.ret(b.get(status))
    return module


def run_batch(
    entry: int,
    constants: int,
    workspace: int,
    count: int,
    inputs: Sequence[tuple[int, int]],
    outputs: Sequence[tuple[int, int]],
) -> int:
    """Call `entry` for draw 0, …, count - 1; releases the interpreter's lock.

    inputs, outputs   (address, bytes from one draw to the next) per table entry; stride 0 repeats a value
    workspace         address of 64-byte aligned scratch memory
    returns           all statuses, combined bit by bit
    """
    tables = [
        np.array([*values, 0], np.int64)  # one more, so that none is empty
        for side in (inputs, outputs)
        for values in ([address for address, _ in side], [stride for _, stride in side], [0] * len(side))
    ]
    places = [table.ctypes.data for table in tables]
    return _driver()(entry, *places, workspace, constants, count, len(inputs), len(outputs))
