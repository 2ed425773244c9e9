"""Masked arrays are recognised without loading `numpy.ma`, and while another thread loads it."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from consilience.errors import DtypeError
from consilience.ir import constant
from consilience.ir.leaves import is_masked


def test_masked_arrays_are_no_constants() -> None:
    """What is hidden behind a mask must not be computed with."""
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    assert is_masked(masked)
    with pytest.raises(DtypeError, match="mask"):
        constant(masked)


@pytest.mark.parametrize("module", [None, types.ModuleType("numpy.ma")], ids=["not loaded", "being loaded"])
def test_nothing_is_masked_before_the_module_is_there(
    monkeypatch: pytest.MonkeyPatch, module: types.ModuleType | None
) -> None:
    """A module that another thread has only begun to load holds no classes yet."""
    if module is None:
        monkeypatch.delitem(sys.modules, "numpy.ma", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "numpy.ma", module)
    assert not is_masked(np.ones(2))
    assert not is_masked([1.0])
