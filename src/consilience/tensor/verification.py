"""A numerical check of derivatives.

A function of tensors and a point in, nothing out, or a GradientError that shows where the derivative and the
differences of values disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.errors import DtypeError, GradientError
from consilience.ir import Node, tensor_input
from consilience.ops.elementwise import apply, as_tensor
from consilience.ops.reduce import reduce
from consilience.tensor.differentiation import grad

# Per dtype the step of the differences and how far derivative and difference may be apart.
STEPS = {"float64": 1e-5, "float32": 3e-3}
TOLERANCES = {"float64": 1e-4, "float32": 1e-2}


def verify_grad(
    fun: Callable[..., Node],
    pt: Sequence[npt.ArrayLike],
    n_tests: int = 2,
    rng: np.random.Generator | np.random.RandomState | None = None,
    eps: float | None = None,
    out_type: str | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: str | None = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Compare the derivative of a function with central differences of its values, in random projections.

    fun: Takes as many tensors as `pt` has arrays, gives one float tensor.
    pt: Float arrays, the point.
    n_tests: Number of random projections of the result.
    rng (Generator or np.random.RandomState): For the projections; None takes a fixed one.
    eps: Step of the differences; by dtype, if not given.
    out_type: Dtype to which the result is converted first.
    abs_tol, rel_tol: The check fails only where both differences are larger; by dtype, if not given.
    mode: As for `function`.
    cast_to_output_type: Accepted, without meaning here.
    no_debug_ref: Accepted, without meaning here.
    Returns: Nothing; an error tells where they differ.
    Raises GradientError: Where both differences are larger than their tolerance.
    Raises DtypeError: For a point that is not of floats.
    See grad: The derivative that is compared.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import verify_grad
    >>> verify_grad(lambda x: pt.exp(x).sum(), [[1.0, 2.0]])
    """
    arrays = [np.array(value, copy=True) for value in pt]
    for array in arrays:
        if array.dtype.name not in TOLERANCES:
            raise DtypeError(f"a point of float64 or float32 arrays was needed, got an array of {array.dtype}.")
    generator = np.random.default_rng(0) if rng is None else rng
    names = {array.dtype.name for array in arrays}
    coarsest = "float32" if "float32" in names or out_type == "float32" else "float64"
    step = STEPS[coarsest] if eps is None else eps
    absolute = TOLERANCES[coarsest] if abs_tol is None else abs_tol
    relative = TOLERANCES[coarsest] if rel_tol is None else rel_tol
    inputs = [tensor_input(array.dtype.name, array.shape, f"input {i}") for i, array in enumerate(arrays)]
    output = as_tensor(fun(*inputs), out_type)
    value = function(inputs, output, mode=mode, on_unused_input="ignore")
    direction = tensor_input(output.dtype, output.static_shape, "projection")
    cost = reduce("sum", apply("mul", output, direction))
    slopes = grad(cost, inputs, disconnected_inputs="ignore")
    slope = function([*inputs, direction], slopes, mode=mode, on_unused_input="ignore")
    shape = np.shape(value(*arrays))
    for test in range(n_tests):
        weights = generator.normal(size=shape).astype(output.dtype)
        found = slope(*arrays, weights)
        expected = _differences(value, arrays, weights, step)
        for i, (own, numerical) in enumerate(zip(found, expected, strict=True)):
            _compare(i, test, own, numerical, absolute, relative)


def _differences(
    value: Callable[..., Any], arrays: Sequence[npt.NDArray[Any]], weights: npt.NDArray[Any], step: float
) -> list[npt.NDArray[Any]]:
    """Central differences of the projected value in every element of every array."""
    result = []
    for i, array in enumerate(arrays):
        slopes = np.empty(array.shape)
        for place in np.ndindex(array.shape):
            sides, points = [], []
            for sign in (1.0, -1.0):
                moved = array.copy()
                moved[place] += sign * step
                points.append(float(moved[place]))
                sides.append(np.asarray(value(*arrays[:i], moved, *arrays[i + 1 :]), float))
            slopes[place] = np.sum((sides[0] - sides[1]) * weights) / (points[0] - points[1])
        result.append(slopes)
    return result


def _compare(
    argument: int,
    test: int,
    found: npt.NDArray[Any],
    expected: npt.NDArray[Any],
    absolute: float,
    relative: float,
) -> None:
    apart = np.abs(found - expected)
    scale = np.maximum(np.abs(found) + np.abs(expected), 1e-300)
    wrong = ~((apart <= absolute) | (apart / scale <= relative))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise GradientError(
            f"the derivative with respect to argument {argument} at {place} is {found[place]:.8g}, but differences of "
            f"values give {expected[place]:.8g} (projection {test}; {int(wrong.sum())} of {wrong.size} elements are "
            f"apart by more than {absolute:g} and {relative:g} of their size)."
        )
