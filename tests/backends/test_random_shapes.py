"""Random programs over shapes and indices: values, errors and gradients are NumPy's, for lengths known when called.

Every program is compiled once per backend and called with several lengths, among them 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.function import Function, function
from consilience.backends.registry import installed
from consilience.errors import ConsilienceError
from consilience.ir import Node
from tests.backends.shape_programs import KINDS, NUMPY, OURS, Array, Line, Undecided, outcome, program, symbols
from tests.rows import slow_after

STEP = 1e-6
FLOATS = [name for name, (dtype, rank) in KINDS.items() if dtype == "float64" and rank]


def stricter(error: object, lines: Sequence[Line]) -> bool:
    """What this library refuses and NumPy takes: empty masks of any length, and a computed -1 in a reshape."""
    text = str(error)
    if "a mask has the shape" in text and " is 0 and" in text:
        return True
    negative = "a length must be >= 0" in text or "reshape keeps the size" in text
    return negative and any("reshape" in code for _, code in lines)


def run(compiled: Function | Exception, values: dict[str, Any]) -> Any:
    """Results, or the error."""
    if isinstance(compiled, Exception):
        return compiled
    try:
        return compiled(*values.values())
    except ConsilienceError as error:
        return error


def compile_all(inputs: dict[str, Node], outputs: list[Node], backend: str) -> Function:
    """A function of all inputs, used or not."""
    return function([*inputs.values()], outputs, backend=backend, on_unused_input="ignore")


def check_values(seed: int, steps: int = 8) -> None:
    """Every line has NumPy's value, shape and dtype; a program raises where NumPy raises."""
    lines, samples = program(seed, steps, 3)
    inputs = symbols()
    built = outcome(lines, inputs, OURS)
    for backend in installed():
        compiled = built if isinstance(built, Exception) else compile_all(inputs, built, backend)
        for values in samples:
            wanted, found = outcome(lines, values, NUMPY), run(compiled, values)
            if isinstance(found, Exception) and stricter(found, lines):
                continue
            shown = f"seed {seed}, {backend}: {lines}, {values}\nwanted {wanted!r}\nfound {found!r}"
            assert isinstance(wanted, Exception) == isinstance(found, Exception), shown
            if not isinstance(wanted, Exception):
                for (name, _), a, b in zip(lines, found, map(np.asarray, wanted), strict=True):
                    assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{name}, {shown}"
                    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"{name}, {shown}")


def smooth(results: Sequence[Any]) -> Any:
    """A scalar that every float depends on: of nodes, or of arrays."""
    floats = [r for r in results if (r.dtype if isinstance(r, Node) else str(np.asarray(r).dtype)) == "float64"]
    return sum(((r * r * 0.5 + r).sum() for r in floats), start=pt.constant(0.0) if _nodes(results) else 0.0)


def _nodes(results: Sequence[Any]) -> bool:
    return any(isinstance(r, Node) for r in results)


def check_gradient(seed: int, steps: int = 6) -> bool:
    """The gradient is the slope of NumPy's value; returns whether there was one to compare."""
    lines, samples = program(seed, steps, 3)
    inputs = symbols()
    built = outcome(lines, inputs, OURS)
    if isinstance(built, Exception):
        return False
    generator = np.random.default_rng(seed)
    slopes = pt.grad(smooth(built), [inputs[name] for name in FLOATS], disconnected_inputs="ignore")
    compared = False
    for backend in installed():
        compiled = compile_all(inputs, slopes, backend)
        for values in samples:
            if isinstance(outcome(lines, values, NUMPY), Exception):
                continue
            direction = {name: generator.normal(size=values[name].shape) for name in FLOATS}
            near, far = (slope(lines, values, direction, step) for step in (STEP, 10 * STEP))
            if near is None or far is None or not np.isclose(near, far, rtol=1e-4, atol=1e-6):
                continue  # a jump, or another length, lies too near
            found = run(compiled, values)
            if isinstance(found, Exception):
                assert stricter(found, lines), f"seed {seed}, {backend}: {lines}, {values}\n{found!r}"
                continue
            total = sum(float((f * direction[name]).sum()) for name, f in zip(FLOATS, found, strict=True))
            np.testing.assert_allclose(
                total, near, rtol=1e-4, atol=1e-5, err_msg=f"seed {seed}, {backend}: {lines}, {values}"
            )
            compared = True
    return compared


def slope(lines: Sequence[Line], values: dict[str, Any], direction: dict[str, Array], step: float) -> float | None:
    """The central difference of NumPy's value along a direction; None where a side has other lengths."""
    sides = []
    for sign in (1.0, -1.0):
        moved = {**values, **{name: values[name] + sign * step * d for name, d in direction.items()}}
        try:
            sides.append(outcome(lines, moved, NUMPY))
        except Undecided:
            return None
    if any(isinstance(side, Exception) for side in sides):
        return None
    if [np.shape(v) for v in sides[0]] != [np.shape(v) for v in sides[1]]:
        return None
    return float((smooth(sides[0]) - smooth(sides[1])) / (2 * step))


@pytest.mark.parametrize("block", slow_after(3, range(8)))
def test_programs_have_the_values_and_errors_of_numpy(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        check_values(seed)


@pytest.mark.parametrize("block", slow_after(2, range(4)))
def test_programs_have_the_slopes_of_numpy(block: int) -> None:
    assert sum(check_gradient(seed) for seed in range(20 * block, 20 * block + 20)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_many_programs_have_the_values_errors_and_slopes_of_numpy(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check_values(seed)
        check_gradient(seed)
