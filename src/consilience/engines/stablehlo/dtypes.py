"""Element types of MLIR and dtypes here: one table, read both ways."""

from __future__ import annotations

from typing import Final

DTYPES: Final = {
    "f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "ui64": "uint64", "ui32": "uint32", "ui16": "uint16", "ui8": "uint8", "i1": "bool", "index": "int64",
    "complex<f64>": "complex128", "complex<f32>": "complex64",
}  # fmt: skip
"""Our names by MLIR's."""

ELEMENTS: Final = {dtype: element for element, dtype in DTYPES.items() if element != "index"}
"""MLIR's names by ours."""
