"""An index computed from NaN is refused, on every backend."""

from __future__ import annotations

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.function import function
from consilience.errors import OutOfBoundsError


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_an_index_made_of_nan_is_out_of_range(backend: str) -> None:
    """And never the element 0."""
    x, table = pt.dvector("x"), pt.as_tensor(np.arange(5.0))
    f = function([x], table[x.astype("int64")], backend=backend)
    np.testing.assert_array_equal(f([1.0, 4.0]), [1.0, 4.0])
    with pytest.raises((OutOfBoundsError, IndexError)):
        f([1.0, np.nan])
