"""Draws in PyTorch: the same bits of Philox4x32-10 from key and counter, and the same numbers up to rounding.

Keys, counters (int64) and parameters in; draws out. Draws by rejection are those of NumPy's table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch

from consilience.engines.torch.emit.meanings import TorchEvaluation, means
from consilience.native.random.philox import DRAWS as OF_DRAWS
from consilience.native.random.philox import HALF_STEP, KEYS, MASK, philox
from consilience.ops.random import Key


def _halves(word: Any) -> tuple[Any, Any]:
    return word & MASK, (word >> 32) & MASK


def fold_in(key: Any, data: Any) -> Any:
    """A new key."""
    low, high, _, _ = philox(*_halves(data), 0, KEYS, *_halves(key))
    return (high << 32) | low


def _uniforms(key: Any, counter: Any) -> tuple[Any, Any]:
    """The two uniform numbers of block 0."""
    a, b, c, d = philox(*_halves(counter), 0, OF_DRAWS, *_halves(key))
    return _unit_interval(a, b), _unit_interval(c, d)


def _unit_interval(low: Any, high: Any) -> Any:
    return (2 * ((high << 20) | (low >> 12)) + 1).to(torch.float64) * HALF_STEP


def _uniform(key: Any, counter: Any) -> Any:
    return _uniforms(key, counter)[0]


def _exponential(key: Any, counter: Any) -> Any:
    return -torch.log(_uniforms(key, counter)[0])


def _normal(key: Any, counter: Any) -> Any:
    u, v = _uniforms(key, counter >> 1)
    turn = torch.where((counter & 1) == 0, v, v - 0.25)
    quarter = torch.floor(4.0 * turn + 0.5)
    angle = 2.0 * math.pi * (turn - 0.25 * quarter)
    size = torch.where(quarter % 2.0 == 0.0, torch.cos(angle), torch.sin(angle))
    return torch.sqrt(-2.0 * torch.log(u)) * torch.where((quarter == 1.0) | (quarter == 2.0), -size, size)


DRAWS: Final[dict[str, Callable[..., Any]]] = {
    "fold_in": fold_in,
    "random_normal": _normal,
    "random_uniform": _uniform,
    "random_exponential": _exponential,
}


@means(Key)
def _key(run: TorchEvaluation, node: Any) -> Any:
    return torch.tensor(node.op.seed, dtype=torch.int64, device=run.device)
