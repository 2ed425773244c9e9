"""Lists of dtypes under PyTensor's names, as in `for dtype in integer_dtypes`."""

from __future__ import annotations

from typing import Final

from consilience.ir.types import COMPLEXES, FLOATS, SIGNED, UNSIGNED

int_dtypes: Final = list(reversed(SIGNED))
uint_dtypes: Final = list(reversed(UNSIGNED))
float_dtypes: Final = list(reversed(FLOATS))
complex_dtypes: Final = list(reversed(COMPLEXES))
integer_dtypes: Final = int_dtypes + uint_dtypes
discrete_dtypes: Final = ["bool", *integer_dtypes]
continuous_dtypes: Final = float_dtypes + complex_dtypes
all_dtypes: Final = discrete_dtypes + continuous_dtypes

__all__ = [
    "all_dtypes", "complex_dtypes", "continuous_dtypes", "discrete_dtypes", "float_dtypes", "int_dtypes",
    "integer_dtypes", "uint_dtypes",
]  # fmt: skip
