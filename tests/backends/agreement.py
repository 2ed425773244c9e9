"""Run a graph on both backends and compare: shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import llvm, reference
from consilience.backends.shapes import Lengths, bind_lengths
from consilience.ir import Node, tensor_input

Array = npt.NDArray[Any]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def inputs_like(arrays: Sequence[Array], *, symbolic: bool = False) -> list[Node]:
    """An input per array; lengths other than 1 are symbols when `symbolic`."""
    return [
        tensor_input(str(a.dtype), [None if symbolic and n != 1 else n for n in a.shape], f"x{i}")
        for i, a in enumerate(arrays)
    ]


def lengths_of(inputs: Sequence[Node], arrays: Sequence[Array]) -> Lengths:
    """Values of the symbolic lengths."""
    lengths: Lengths = {}
    for node, array in zip(inputs, arrays, strict=True):
        bind_lengths(node, array.shape, lengths)
    return lengths


def run_llvm(inputs: Sequence[Node], outputs: Sequence[Node], arrays: Sequence[Array]) -> list[Array]:
    """The machine code's results, for the graph as it is written."""
    return llvm.compile(inputs, outputs, lengths_of(inputs, arrays)).bind()(arrays)


def run_reference(inputs: Sequence[Node], outputs: Sequence[Node], arrays: Sequence[Array]) -> list[Array]:
    """NumPy's results."""
    return reference.evaluate(outputs, dict(zip(inputs, arrays, strict=True)))


def same(actual: Array, wanted: Array, rtol: float | None = None, scale: float = 0.0) -> None:
    """Equal dtype, shape and values: exactly for integers and bools, relatively for floats.

    scale   magnitude of the numbers a result is made of; differences up to rtol * scale are rounding
    """
    assert actual.dtype == wanted.dtype
    assert actual.shape == wanted.shape
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(actual, wanted)
        return
    tolerance = TOLERANCE[wanted.dtype.name] if rtol is None else max(rtol, TOLERANCE[wanted.dtype.name])
    np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance * scale)


def agree(
    build: Callable[..., Node | Sequence[Node]],
    arrays: Sequence[Array],
    *,
    expected: Callable[..., Any] | None = None,
    rtol: float | None = None,
    scale: float = 0.0,
    symbolic: bool = False,
) -> list[Array]:
    """Both backends give the same values, those of `expected` (of the arrays) where it is known."""
    nodes = inputs_like(arrays, symbolic=symbolic)
    results = build(*nodes)
    outputs = [results] if isinstance(results, Node) else list(results)
    wanted = run_reference(nodes, outputs, arrays)
    actual = run_llvm(nodes, outputs, arrays)
    for found, meant, output in zip(actual, wanted, outputs, strict=True):
        assert str(meant.dtype) == ("int64" if output.dtype == "key" else output.dtype)
        same(found, meant, rtol, scale)
    if expected is not None:
        with np.errstate(all="ignore"):
            known = expected(*arrays)
        for meant, values in zip(wanted, known if isinstance(known, list) else [known], strict=True):
            same(meant, np.asarray(values).astype(meant.dtype), rtol, scale)
    return actual
