"""R-hat and effective sizes of many parameters are the same whether NumPy or machine code finds them."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.diagnostics.figures import figures
from consilience.errors import ShapeError
from tests.diagnostics.test_watch import SHAPES, all_kinds


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_machine_code_finds_what_numpy_finds(shape: tuple[int, int]) -> None:
    """To 1e-9: for draws of every kind, whole numbers and booleans, and arrays of any rank and layout."""
    rng = np.random.default_rng(3)
    variables = [
        all_kinds(shape),
        rng.integers(0, 5, shape),
        rng.normal(size=(3, 2, shape[1], shape[0])).T,
        rng.normal(size=(*shape, 0)),
        rng.random(shape) < 0.3,
    ]
    by_numpy, by_machine_code = figures(variables, many=10**12), figures(variables, many=0)
    elements = sum(int(np.prod(variable.shape[2:])) for variable in variables)
    for name in ("rhat", "ess_bulk", "ess_tail"):
        expected, found = getattr(by_numpy, name), getattr(by_machine_code, name)
        assert len(found) == elements
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=name)


def test_many_blocks_make_one_result() -> None:
    """Blocks are shared among threads; parameters keep their places."""
    draws = np.random.default_rng(4).normal(size=(4, 500, 700))
    draws[1] += 0.001 * np.arange(700)
    by_numpy, by_machine_code = figures([draws], many=10**12), figures([draws])
    assert draws.size > 2**20
    np.testing.assert_allclose(by_machine_code.rhat, by_numpy.rhat, rtol=1e-9)
    np.testing.assert_allclose(by_machine_code.ess_tail, by_numpy.ess_tail, rtol=1e-9)


@pytest.mark.parametrize("many", [0, 10**12])
def test_variables_of_different_lengths_are_refused(many: int) -> None:
    with pytest.raises(ShapeError, match="same number of chains and draws"):
        figures([np.zeros((4, 10)), np.zeros((4, 11))], many=many)
    assert len(figures([], many=many).rhat) == 0
