"""Functions of NumPy arrays as ops, under the names of `pytensor.compile.ops`."""

from __future__ import annotations

from consilience.tensor.python_ops import FromFunctionOp, as_op, wrap_py

__all__ = ["FromFunctionOp", "as_op", "wrap_py"]
