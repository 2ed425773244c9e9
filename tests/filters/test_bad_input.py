"""What cannot be filtered is refused with what was needed and what came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConsilienceWarning, DtypeError, MissingRuleError, ModelError, SamplingError, ShapeError

Y = np.array([0.5, 1.0, -0.2])


def made(**more: Any) -> pm.StateSpaceModel:
    parts: dict[str, Any] = {
        "initial": lambda: pm.Normal.dist(0, 1),
        "transition": lambda x: pm.Normal.dist(x, 1),
        "observation": lambda x: pm.Normal.dist(x, 1),
    }
    return pm.StateSpaceModel(**{**parts, **more})


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"transition": lambda x: pm.Normal.dist(x, 1, shape=2)}, ShapeError, "shape of a state is the same"),
        ({"transition": lambda x: pm.Poisson.dist(pt.exp(x))}, DtypeError, "`transition` gives `x` the type int64"),
        ({"transition": lambda x: {"z": pm.Normal.dist(x, 1)}}, ModelError, "gives the states z, and `initial` x"),
        ({"transition": lambda a, b, c: pm.Normal.dist(a, 1)}, TypeError, "takes 3"),
        ({"observation": lambda x: None}, TypeError, "must return a distribution"),
        ({"observation": lambda x: {"time": pm.Normal.dist(x, 1)}}, ModelError, "choose another name"),
        ({"observation": lambda x: {"x": pm.Normal.dist(x, 1)}}, ModelError, "both a state and"),
        ({"observation": lambda x: {}}, ModelError, "no variables"),
        ({"initial": pm.Normal.dist(0, 1)}, TypeError, "`initial` must be a function"),
        ({"initial": lambda x: pm.Normal.dist(x, 1)}, TypeError, "must be a function of 0 arguments"),
        ({"observation": lambda x: x + 1}, MissingRuleError, "what `observation` gives needs a density"),
        ({"lookahead": lambda x, y: [x, y]}, ShapeError, "one number"),
    ],
)
def test_functions_that_do_not_fit_each_other(more: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made(**more)


@pytest.mark.parametrize(
    ("data", "more", "error", "words"),
    [
        (Y[:, None], {}, ShapeError, "shape"),
        (Y[:0], {}, ShapeError, "at least one time"),
        ("abc", {}, DtypeError, "must be an array of numbers"),
        ({"z": Y}, {}, ModelError, "the data are of z"),
        (Y, {"particles": 0}, ValueError, "particles"),
        (Y, {"particles": 2.5}, TypeError, "particles"),
        (Y, {"chains": 0}, ValueError, "chains"),
        (Y, {"cores": 0}, ValueError, "cores"),
        (Y, {"resampling": "best"}, ValueError, "'systematic'"),
        (Y, {"threshold": "half"}, ValueError, "threshold"),
        (Y, {"threshold": 1.5}, ValueError, "threshold"),
        (Y, {"quantiles": [2]}, ValueError, "quantiles"),
        (Y, {"point": {"rho": 1}}, ModelError, "parameters are none"),
        (Y, {"coords": {"time": [1, 2]}}, ShapeError, "2 labels"),
    ],
)
def test_data_and_settings_that_do_not_fit(data: Any, more: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made().filter(data, **more)


def test_data_that_no_particle_explains_name_their_time() -> None:
    model = made(observation=lambda x: pm.Uniform.dist(x - 1, x + 1))
    with pytest.raises(SamplingError, match="no particle explains the data at time 1"):
        model.filter([0.0, 500.0, 0.0], random_seed=1)


def test_densities_without_value_are_told() -> None:
    model = made(observation=lambda x: pm.Normal.dist(0, x))
    with pytest.warns(ConsilienceWarning, match="weights have no value"):
        model.filter(Y, random_seed=1)


def test_a_part_of_a_vector_that_is_missing() -> None:
    model = made(observation=lambda x: pm.MvNormal.dist(x + np.zeros(2), np.eye(2)))
    with pytest.raises(ModelError, match="a part of the vector `y` is missing"):
        model.filter([[1.0, np.nan], [1.0, 2.0]])
    independent = made(observation=lambda x: pm.Normal.dist(x, 1, shape=2))
    independent.filter([[1.0, np.nan], [1.0, 2.0]], random_seed=1)


def test_counts_that_are_no_whole_numbers() -> None:
    model = made(observation=lambda x: pm.Poisson.dist(pt.exp(x)))
    with pytest.raises(DtypeError, match="whole numbers"):
        model.filter([1.5, 2.0])
    assert model.filter(np.array([1.0, np.nan, 3.0]), random_seed=1)["filtered_mean"]["x"].shape[1] == 3


def test_parameters_need_values() -> None:
    with pm.Model():
        rho = pm.Uniform("rho", 0, 1)
        model = made(transition=lambda x: pm.Normal.dist(rho * x, 1))
        with pytest.raises(ModelError, match="without a name"):
            made(transition=lambda x: pm.Normal("next", x, 1))
    with pytest.raises(ModelError, match="`rho` is a random variable of a model"):
        model.filter(Y)
    with pytest.raises(ShapeError, match="rho"):
        model.filter(Y, point={"rho": [1.0, 2.0]})


def test_smoothing_needs_particles_and_densities() -> None:
    with pytest.raises(ModelError, match="keep_particles=True"):
        made().smooth(made().filter(Y, keep_particles=False))
    with pytest.raises(TypeError, match="a tree from `filter`"):
        made().predict(Y, 1)
    with pytest.raises(ValueError, match="'genealogy'"):
        made().smooth(made().filter(Y), method="best")
    certain = made(transition=lambda x: 0.9 * x)
    found = certain.filter(Y, random_seed=1)
    with pytest.raises(MissingRuleError, match="`transition` gives needs a density"):
        certain.smooth(found)
    assert certain.smooth(found, method="genealogy")["posterior"]["x"].shape[2] == 3


def test_a_likelihood_is_of_one_variable() -> None:
    two = made(observation=lambda x: {"a": pm.Normal.dist(x, 1), "b": pm.Normal.dist(x, 1)})
    with pm.Model(), pytest.raises(ModelError, match="one observed variable"):
        two.likelihood("y", {"a": Y, "b": Y})
