"""Warnings point to the line of the user's program that led to them, however deep in the library they are issued."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm

GAPS = np.ma.masked_array([0, 1, 2, 1], mask=[False, True, False, False])


def ordered() -> None:
    pm.OrderedLogistic("y", eta=0.0, cutpoints=[-1.0, 1.0], observed=GAPS)


def through_a_constructor_of_ones_own() -> None:
    class Kept(pm.Model):
        def __init__(self) -> None:
            super().__init__()
            with self:
                pm.Normal("y", observed=[1.0, np.nan])

    Kept()


def unused_keyword() -> None:
    x = pm.Normal("x")
    del x
    pm.sample(draws=5, tune=5, chains=1, progressbar=False, random_seed=1, compute_convergence_checks=True)


def in_a_comprehension() -> None:
    [pm.Poisson(f"y{k}", 2.0, observed=GAPS) for k in range(2)]


@pytest.mark.parametrize("program", [ordered, through_a_constructor_of_ones_own, unused_keyword, in_a_comprehension])
def test_warnings_point_to_the_users_line(program: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as told, pm.Model():
        warnings.simplefilter("always")
        program()
    assert told
    first = program.__code__.co_firstlineno
    assert {warning.filename for warning in told} == {__file__}
    assert all(first < warning.lineno <= first + 8 for warning in told)
