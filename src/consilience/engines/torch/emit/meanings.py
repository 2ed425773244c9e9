"""The table of meanings in PyTorch: one row per op class, and how a graph is computed by it.

A static graph and tensors in, tensors out. What has no row is computed by its NumPy meaning on the processor.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from consilience.backends import reference as reference  # enters the rows of NumPy
from consilience.backends.reference.meanings import MEANINGS as IN_NUMPY
from consilience.engines.emitter import linear_algebra as linear_algebra  # enters its rows
from consilience.engines.emitter import shapes as shapes  # enters its rows
from consilience.engines.emitter import sparse as sparse  # enters its rows
from consilience.engines.emitter.table import SHARED, Meaning, Meanings
from consilience.engines.torch.emit.namespace import XP
from consilience.errors import ExecutionError, MissingRuleError, Status
from consilience.ir import Node, Region, TensorType, is_leaf, numpy_dtype, topological

Array: TypeAlias = npt.NDArray[Any]

MEANINGS: Final = Meanings(SHARED)
means: Final = MEANINGS  # enters rows
SCARCE: Final = ("uint16", "uint32", "uint64", "float16")  # PyTorch has few operations on them


class NoValueError(ExecutionError):
    """There is no value; NumPy's meaning tells why."""


class TorchEvaluation:
    """One evaluation of a graph.

    `device`: where constants and lengths are made; the tensors given are there already.
    """

    xp = XP

    def __init__(self, values: Mapping[Node, Any], device: Any) -> None:
        self.values = dict(values)
        self.device = device

    def failed(self, where: Any, status: Status = Status.FACTORISATION_FAILED) -> None:
        """Raise NoValueError if any element of `where` is true."""
        if bool(torch.any(where)):
            raise NoValueError

    def of(self, outputs: Sequence[Node]) -> list[Any]:
        """Values of the outputs."""
        values = self.values
        for node, meaning, dtype in _steps(tuple(outputs)):
            if node in values:
                continue
            found = meaning(self, node, *[values[i] for i in node.inputs])
            values[node] = found if dtype is None else found.to(dtype)
        return [values[output] for output in outputs]

    def inside(self, region: Region, operands: Sequence[Any]) -> list[Any]:
        """Results of a region."""
        own = TorchEvaluation({region.parameter(i): x for i, x in enumerate(operands)}, self.device)
        return own.of(region.results)


@functools.lru_cache(maxsize=512)
def _steps(outputs: tuple[Node, ...]) -> list[tuple[Node, Meaning, Any]]:
    """Nodes in the order of their computation, each with its meaning and dtype; None for several results.

    Kept, for a loop asks at every step.
    """
    order = [node for node in topological(outputs) if not is_leaf(node)]
    return [(n, _meaning(n), dtype_of(n) if isinstance(n.type, TensorType) else None) for n in order]


def _meaning(node: Node) -> Meaning:
    types = [n.type for n in (node, *node.inputs)]
    scarce = any(isinstance(t, TensorType) and str(numpy_dtype(t.dtype)) in SCARCE for t in types)
    return opaque if scarce else MEANINGS.get(type(node.op), opaque)


def dtype_of(node: Node) -> Any:
    """PyTorch's dtype of a node."""
    return of_name(node.dtype)


@functools.cache
def of_name(dtype: str) -> Any:
    """PyTorch's dtype of a name."""
    return getattr(torch, str(numpy_dtype(dtype)))


def to_numpy(x: Any) -> Array:
    """A tensor as an array of the processor."""
    return np.asarray(x.detach().resolve_conj().resolve_neg().cpu().numpy())


def to_tensor(x: Array, device: Any) -> Any:
    """A tensor of its own on a device."""
    return torch.from_numpy(np.array(x, order="C")).to(device)


def opaque(run: TorchEvaluation, node: Node, *operands: Any) -> Any:
    """The NumPy meaning of a node, on the processor.

    Raises MissingRuleError where there is none.
    """
    meaning = IN_NUMPY.get(type(node.op))
    if meaning is None:
        raise MissingRuleError(f"`{type(node.op).__name__}` has no meaning in PyTorch; take `backend='llvm'`.")
    given = [[to_numpy(m) for m in x] if isinstance(x, list) else to_numpy(x) for x in operands]
    with np.errstate(all="ignore"):
        found = meaning(node, {}, *given)
    if not isinstance(node.type, TensorType):
        return [to_tensor(v, run.device) for v in found]
    return to_tensor(np.asarray(found, numpy_dtype(node.dtype)), run.device)
