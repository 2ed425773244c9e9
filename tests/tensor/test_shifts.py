"""`<<` and `>>` of tensors of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.errors import DtypeError


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_shifts_are_those_of_numpy(backend: str) -> None:
    """With tensors, arrays and numbers on either side; negative numbers keep their sign to the right."""
    x, n = pt.lvector(), pt.lvector()
    values, by = np.array([5, -9, 1, 0]), np.array([0, 1, 3, 62])
    written = [x << n, x >> n, x << 2, x >> 1, 3 << n, 1000 >> n, values << n, values >> n]
    wanted = [
        values << by, values >> by, values << 2, values >> 1, 3 << by, 1000 >> by, values << by, values >> by,
    ]  # fmt: skip
    found = pt.function([x, n], written, backend=backend)(values, by)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_shifts_of_real_numbers_are_refused_by_name() -> None:
    """As in NumPy."""
    with pytest.raises(DtypeError, match="left_shift"):
        pt.vector() << 2
