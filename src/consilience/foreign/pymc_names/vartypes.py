"""Kinds of element types, as `pymc.vartypes` lists them."""

from typing import Final

__all__ = ["bool_types", "complex_types", "continuous_types", "discrete_types", "float_types", "int_types"]

bool_types: Final = {"bool"}
int_types: Final = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
float_types: Final = {"float32", "float64"}
complex_types: Final = {"complex64", "complex128"}
continuous_types: Final = float_types | complex_types
discrete_types: Final = bool_types | int_types
