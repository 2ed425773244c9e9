"""Laws of `pt.switch_case`: one branch by an index, and no other is computed."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_the_index_chooses_and_is_held_within_the_branches(count: int) -> None:
    i, x = pt.iscalar("i"), pt.dscalar("x")
    value = pt.switch_case(i, *[pt.sin(x + k) for k in range(count)])
    f = pm.function([i, x], [value, pt.grad(value, x)], on_unused_input="ignore")
    for index in range(-2, count + 2):
        at = 0.3 + np.clip(index, 0, count - 1)
        np.testing.assert_allclose(f(index, 0.3), [np.sin(at), np.cos(at)], rtol=1e-14)


def test_branches_not_chosen_are_not_computed() -> None:
    called: list[float] = []

    @pt.wrap_py(pt.dscalar, pt.dscalar)
    def costly(v: np.ndarray) -> np.ndarray:
        called.append(float(v))
        return v

    i, x = pt.iscalar("i"), pt.dscalar("x")
    f = pm.function([i, x], pt.switch_case(i, x, costly(x), 2 * x))
    assert (f(0, 3.0), f(2, 3.0), called) == (3.0, 6.0, [])
    assert (f(1, 3.0), called) == (3.0, [3.0])


def test_wrong_use_is_told() -> None:
    x = pt.dscalar("x")
    with pytest.raises(GraphError, match="at least one branch"):
        pt.switch_case(0)
    with pytest.raises(GraphError, match="scalar"):
        pt.switch_case(pt.ivector("i"), x, x + 1)
    with pytest.raises(DtypeError, match="integer"):
        pt.switch_case(x, x, x + 1)
