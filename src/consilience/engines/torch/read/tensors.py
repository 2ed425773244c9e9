"""PyTorch's tensors: the package, what has the form of one, and copies of their values."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from consilience.engines.reader.forms import Form, fitted
from consilience.errors import GraphError, MissingPackageError, MissingRuleError
from consilience.ir import Node


def torch_module() -> Any:
    """PyTorch with what reading its graphs needs; MissingPackageError where it is not installed, or too old."""
    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("torch.export")
    except Exception as error:
        raise MissingPackageError.of("PyTorch", "pip install 'consilience[torch]'", error) from error
    if not hasattr(torch.export.ExportedProgram, "run_decompositions"):
        raise MissingPackageError(f"PyTorch {torch.__version__} is too old; 2.5 is the first that can be read.")
    return torch


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch's, with or without numbers."""
    return hasattr(value, "detach") and hasattr(value, "dtype")


def form_of(value: Any) -> Form | None:
    """That of a tensor; None for what is none."""
    return Form(tuple(value.shape), str(value.dtype).removeprefix("torch.")) if is_tensor(value) else None


def example(torch: Any, value: Any) -> Any:
    """Arrays of NumPy, also nested, as tensors."""
    return torch.utils._pytree.tree_map(
        lambda x: torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray | np.generic) else x, value
    )


def array_of(value: Any) -> Any:
    """A copy on the host."""
    if not is_tensor(value):
        raise MissingRuleError(f"a constant of the type {type(value).__name__} has no translation.")
    return np.array(value.detach().cpu().numpy())


def argument(given: Any, form: Form | None, example: Any, what: str) -> Any:
    """A value as a tensor of a form; without one it is a constant, which must be that of the example."""
    if form is None:
        if given is not example and given != example:
            raise GraphError(f"{what} was translated as {example!r}, which is a constant, got {given!r}.")
        return given
    return fitted(array_of(given) if is_tensor(given) and not isinstance(given, Node) else given, form, what)
