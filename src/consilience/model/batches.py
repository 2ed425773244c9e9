"""Values of compiled expressions for many draws, with an answer to draws that have none.

Bound code and its inputs in, arrays with a leading axis of draws out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.registry import Bound
from consilience.errors import ConsilienceWarning, LinearAlgebraError, OutOfBoundsError, Status

Array = npt.NDArray[Any]


def values_of_draws(
    code: Bound, inputs: Sequence[tuple[Array, bool]], count: int, names: Sequence[str]
) -> tuple[list[Array], bool]:
    """One array (count, …) per output, and whether every draw has values.

    inputs   per input an array, and whether its first axis counts draws
    names    of the outputs, for messages
    raises   OutOfBoundsError; LinearAlgebraError where no draw has its matrix factorisations. Where some have
             not, their values are NaN, with a warning
    """
    results, status = code.map(inputs, count)
    if status == Status.OK:
        return results, True
    failed = np.zeros(count, bool)
    for draw in range(count):
        own = [(array[draw : draw + 1] if per_draw else array, per_draw) for array, per_draw in inputs]
        values, status = code.map(own, 1)
        if status & Status.OUT_OF_BOUNDS:
            raise OutOfBoundsError(
                f"an index lies outside its axis in the computation of {', '.join(names)} (draw {draw})."
            )
        failed[draw] = status != Status.OK
        for result, value in zip(results, values, strict=True):
            result[draw] = value[0]
    if failed.all() or any(result.dtype.kind != "f" for result in results):
        raise LinearAlgebraError(
            f"a matrix is singular or not positive definite in {int(failed.sum())} of {count} draws of "
            f"{', '.join(names)}; check the priors of what it is made of."
        )
    for result in results:
        result[failed] = np.nan
    warnings.warn(
        f"a matrix is singular or not positive definite in {int(failed.sum())} of {count} draws of "
        f"{', '.join(names)}; their values are NaN.",
        ConsilienceWarning,
        stacklevel=4,
    )
    return results, False
