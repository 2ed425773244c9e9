"""The draws as machine code, under the names that generated code calls.

In: a symbol `consilience_random_<name>_f64x<lanes>`, lanes 1, 2, 4 or 8. Out: a library with it; a draw gives the
same number on every width. Outside: the draws themselves.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Final

import numpy as np

from consilience.native.jit import Library, Passes
from consilience.native.loops import Module
from consilience.native.mathematics import LIBRARY
from consilience.native.own_code import load_own, translated
from consilience.native.program import Type
from consilience.native.random import vectors
from consilience.native.random.continuous import (
    random_beta,
    random_exponential,
    random_gamma,
    random_normal,
    random_normals,
    random_uniform,
    random_uniforms,
    random_von_mises,
)
from consilience.native.random.discrete import random_binomial, random_conway_maxwell_poisson, random_poisson
from consilience.native.random.philox import fold_in, random_bits
from consilience.native.target import host
from consilience.native.typed_python import Array, NativeFunction, f64

DRAWS: Final[dict[str, NativeFunction[..., Any]]] = {
    "random_beta": random_beta,
    "random_binomial": random_binomial,
    "random_bits": random_bits,
    "random_conway_maxwell_poisson": random_conway_maxwell_poisson,
    "random_exponential": random_exponential,
    "random_fold_in": fold_in,
    "random_gamma": random_gamma,
    "random_normal": random_normal,
    "random_poisson": random_poisson,
    "random_uniform": random_uniform,
    "random_von_mises": random_von_mises,
}
LANES: Final = (1, 2, 4, 8)


def result_type(name: str, lanes: int = 1) -> Type:
    """What draw `name` returns: f64 or i64, with `lanes` lanes. To be given to `Builder.math`."""
    return DRAWS[name].signature[1].register.vector(lanes)


def symbol(name: str, lanes: int = 1) -> str:
    """The symbol of draw `name`, as `Builder.math` spells it."""
    return f"consilience_{name}_f64x{lanes}"


@functools.cache
def library(wanted: str) -> Library | None:
    """The draw of one symbol, compiled for this machine, or None if there is no such draw.

    One at a time: most models draw from few of them, and compiling all takes a quarter of a second.
    """
    found = _named(wanted)
    if found is None:
        return None
    name, lanes = found
    # Vectors are written as such: more passes would take three times as long and gain nothing.
    passes: Passes = "light" if name in vectors.VECTORS else "full"
    return load_own({wanted: DRAWS[name]}, lambda: _program(name, lanes), imports=LIBRARY, passes=passes)


def program(wanted: str) -> Module | None:
    """The loop program that defines one symbol, or None if there is no such draw."""
    found = _named(wanted)
    return None if found is None else _program(*found)


def _named(wanted: str) -> tuple[str, int] | None:
    return next(((name, lanes) for name in DRAWS for lanes in LANES if symbol(name, lanes) == wanted), None)


class Fill:
    """A draw that fills memory, on vectors: the same numbers to the last bits. `address` is what native code calls."""

    def __init__(self, draw: NativeFunction[..., None]) -> None:
        name = symbol(draw.name, host().lanes)
        self._library = load_own({name: draw}, lambda: fill(draw.name, host().lanes), imports=LIBRARY)
        self.address = self._library.address(name)
        word, place = ctypes.c_int64, ctypes.c_void_p
        self._call = self._library.function(name, None, word, word, place, word)

    def __call__(self, key: int, counter: int, out: Array[f64], n: int) -> None:
        """As the draw, for i < n; `out` is a contiguous array that holds n numbers."""
        self._call(key, counter, np.asarray(out).ctypes.data, n)


@functools.cache
def normals() -> Fill:
    """`random_normals`: out[i] = random_normal(key, counter + i)."""
    return Fill(random_normals)


@functools.cache
def filled_uniforms() -> Fill:
    """`random_uniforms`, two numbers of each block."""
    return Fill(random_uniforms)


def fill(name: str, lanes: int) -> Module:
    """The program of a `Fill`."""
    module = Module()
    vectors.write_fill(module, name, symbol(name, lanes), lanes)
    return module


def _program(name: str, lanes: int) -> Module:
    if name in vectors.VECTORS:
        module = Module()
        vectors.write(module, name, symbol(name, lanes), lanes)
        return module
    module = translated({symbol(name): DRAWS[name]})
    if lanes > 1:
        _lanewise(module, name, lanes)
    return module


def _lanewise(module: Module, name: str, lanes: int) -> None:
    """The draw on vectors, one lane after the other: rejection loops have no common pace."""
    parameters, result = DRAWS[name].signature
    b = module.function(
        symbol(name, lanes),
        [(parameter, type.register.vector(lanes)) for parameter, type in parameters.items()],
        result.register.vector(lanes),
        contract=False,
        pure=True,
    )
    drawn = b.variable(b.const(result.register.vector(lanes), 0))
    with b.for_(0, lanes) as lane:
        operands = [b.extract(p, lane) for p in b.parameters]
        b.set(drawn, b.insert(b.get(drawn), b.call(symbol(name), result.register, *operands), lane))
    b.ret(b.get(drawn))
