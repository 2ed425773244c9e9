"""One number for as many elements as there are data, as `broadcast_to(2.0, x.shape)`: a parameter like any other."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from tests.distributions.cases import CASES, Case

LENGTH = 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.distribution.__name__)
def test_densities_are_those_of_the_numbers(case: Case) -> None:
    rng = np.random.default_rng(1)
    numbers, frozen = case.sample(rng, ())
    data = frozen.rvs(size=LENGTH, random_state=rng)
    for name in numbers:
        with pm.Model() as model:
            length = pm.Data("data", np.zeros(LENGTH)).shape[0]
            parameters = {**numbers, name: pt.broadcast_to(pt.as_tensor(numbers[name]), (length,))}
            case.distribution("y", **parameters, observed=data)
            pm.Normal("x")
        with pm.Model() as free:
            length = pm.Data("data", np.zeros(LENGTH)).shape[0]
            parameters[name] = pt.broadcast_to(pt.as_tensor(numbers[name]), (length,))
            case.distribution("y", **parameters)
        (start,) = free.initial_point().values()
        assert np.shape(start) == (LENGTH,), name
        found = float(model.compile_logp(model["y"])({"x": 0.0}))
        with pm.Model() as plain:
            case.distribution("y", **numbers, observed=data)
            pm.Normal("x")
        assert found == pytest.approx(float(plain.compile_logp(plain["y"])({"x": 0.0})), rel=1e-12), name


def test_data_outside_such_bounds_are_told_when_lengths_are_known() -> None:
    with pm.Model() as model:
        length = pm.Data("data", np.zeros(LENGTH)).shape[0]
        pm.Uniform("y", 0.0, pt.broadcast_to(2.0, (length,)), observed=[1.0, 3.0, 1.0])
        pm.Normal("x")
    with pytest.raises(pm.SupportError, match="`y`"):
        model.compile_logp()({"x": 0.0})
