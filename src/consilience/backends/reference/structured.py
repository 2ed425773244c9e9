"""Structured matrices in NumPy: rows of the table of meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import means
from consilience.backends.shapes import Lengths
from consilience.ir import Node
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker

Array = npt.NDArray[Any]


@means(DiagonalMatrix)
def _diagonal(node: Node, lengths: Lengths, d: Array) -> Array:
    return np.asarray(np.where(np.eye(d.shape[-1], dtype=bool), d[..., None], np.zeros((), d.dtype)))


@means(Kronecker)
def _kronecker(node: Node, lengths: Lengths, a: Array, b: Array) -> Array:
    whole = a[..., :, None, :, None] * b[..., None, :, None, :]
    return whole.reshape(*a.shape[:-2], a.shape[-2] * b.shape[-2], a.shape[-1] * b.shape[-1])


@means(BlockDiagonal)
def _block_diagonal(node: Node, lengths: Lengths, *blocks: Array) -> Array:
    shape = [sum(b.shape[axis] for b in blocks) for axis in (-2, -1)]
    result = np.zeros((*blocks[0].shape[:-2], *shape), blocks[0].dtype)
    i = j = 0
    for block in blocks:
        height, width = block.shape[-2:]
        result[..., i : i + height, j : j + width] = block
        i, j = i + height, j + width
    return result
