"""A number set or added where a mask is true: no positions are looked up, so loops may do it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node, topological
from consilience.ops.index import MaskPositions


def updated(part: Node, mode: str) -> Any:
    """7 in the place of a part, or added to it."""
    return pt.set_subtensor(part, 7.0) if mode == "set" else pt.inc_subtensor(part, 7.0)


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2)])
@pytest.mark.parametrize("mode", ["set", "inc"])
def test_a_number_goes_where_a_mask_is_true(shape: tuple[int, ...], mode: str) -> None:
    """For masks of the first axes, and in the steps of a loop, where their number of elements differs."""
    x = np.random.default_rng(1).normal(size=shape)
    value = pt.tensor("x", shape=shape)
    for axes in range(1, len(shape) + 1):
        front = (slice(None),) * axes + (0,) * (len(shape) - axes)
        mask, wanted = x[front] > 0.2, x.copy()
        wanted[mask] = 7.0 if mode == "set" else wanted[mask] + 7.0
        made = updated(value[value[front] > 0.2], mode)
        assert not any(isinstance(node.op, MaskPositions) for node in topological([made]))
        np.testing.assert_array_equal(pm.function([value], made)(x), wanted)
    rows = pm.scan(lambda row: updated(row[row > 0.2], mode), value.reshape((2, -1)), None, return_updates=False)
    wanted = np.where(x > 0.2, 7.0 if mode == "set" else x + 7.0, x)
    np.testing.assert_array_equal(pm.function([value], rows)(x), wanted.reshape(2, -1))
