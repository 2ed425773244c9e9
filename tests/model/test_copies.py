"""Models that are pickled, copied and sent to other processes."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt


def again(value: Any) -> Any:
    """What comes out of a pickle."""
    return pickle.loads(pickle.dumps(value))


COPIES = pytest.mark.parametrize("duplicate", [again, copy.deepcopy])


def rich() -> pm.Model:
    """Data, coords, transforms that depend on variables, initial values, deterministics, potentials, a part."""
    with pm.Model(coords={"group": ["a", "b", "c"]}) as model:
        x = pm.Data("x", np.linspace(-1.0, 1.0, 6), dims="row")
        index = pm.Data("index", np.array([0, 1, 2, 0, 1, 2]), dims="row")
        scale = pm.HalfNormal("scale", 1.0, initval=0.5)
        width = pm.Uniform("width", -scale, scale)
        mu = pm.Normal("mu", 0.0, scale, dims="group")
        share = pm.Dirichlet("share", np.ones(3))
        with pm.Model(name="part"):
            pm.Normal("slope", 0.0, 1.0)
        mean = pm.Deterministic("mean", mu[index] + x * model["part::slope"] + width * share[0], dims="row")
        pm.Potential("penalty", -(mu**2).sum())
        pm.Normal("y", mean, scale, observed=np.arange(6.0), dims="row")
    return model


@COPIES
def test_a_copy_has_the_same_density_names_and_dimensions(duplicate: Callable[[Any], Any]) -> None:
    """At the starting point and elsewhere."""
    model = rich()
    other = duplicate(model)
    point = model.initial_point()
    assert list(point) == list(other.initial_point())
    moved = {name: value + 0.1 for name, value in point.items()}
    for each in (point, moved):
        assert other.compile_logp()(each) == model.compile_logp()(each)
        np.testing.assert_array_equal(other.compile_dlogp()(each), model.compile_dlogp()(each))
    assert other.coords == model.coords
    assert other.named_vars_to_dims == model.named_vars_to_dims
    assert repr(other) == repr(model)
    assert [v.name for v in other.free] == [v.name for v in model.free]


@COPIES
def test_a_variable_is_one_throughout_its_copy(duplicate: Callable[[Any], Any]) -> None:
    """The node under its name is the one among the free variables, and another than the original's."""
    model = rich()
    other = duplicate(model)
    for name, node in other.named.items():
        assert (node is model.named[name]) is False
        assert node.name == model.named[name].name
    assert {v.node for v in other.free} <= set(other.named.values())
    assert other["mean"] is other.named_deterministics["mean"]


@COPIES
def test_data_of_a_copy_are_its_own(duplicate: Callable[[Any], Any]) -> None:
    """Setting data on one side leaves the other as it is, whichever comes first."""
    model = rich()
    point = {name: value + 0.1 for name, value in model.initial_point().items()}
    before = model.compile_logp()(point)
    other = duplicate(model)
    pm.set_data({"x": np.ones(6)}, model=other)
    assert other.compile_logp()(point) != before
    assert model.compile_logp()(point) == before
    third = duplicate(other)
    assert third.compile_logp()(point) == other.compile_logp()(point)
    pm.set_data({"x": np.zeros(6)}, model=model)
    assert third.compile_logp()(point) == other.compile_logp()(point)


@COPIES
def test_a_copy_can_be_added_to(duplicate: Callable[[Any], Any]) -> None:
    """It is a model like any other."""
    model = rich()
    other = duplicate(model)
    with other:
        pm.Normal("z", other["mu"], 1.0, dims="group")
    assert "z" in other
    assert "z" not in model


def test_a_pickle_is_the_same_twice_and_holds_no_compiled_code() -> None:
    """Before and after the model was compiled."""
    model = rich()
    before = pickle.dumps(model)
    model.compile_logp()
    assert pickle.dumps(model) == before
    assert len(before) < 20_000


def test_model_and_variables_in_one_pickle_belong_together() -> None:
    """A reference to a variable beside its model still is that variable."""
    model = rich()
    mean, other, scale = again((model["mean"], model, model["scale"]))
    assert mean is other["mean"]
    assert scale is other["scale"]


def test_distributions_of_the_users_own_functions_need_cloudpickle() -> None:
    """Functions without a module are what it is for; `deepcopy` takes them as they are."""
    cloudpickle = pytest.importorskip("cloudpickle")
    with pm.Model() as model:
        shift = pm.Data("shift", 1.0)
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.CustomDist(
            "y",
            mu,
            logp=lambda value, mu: -0.5 * (value - mu - shift) ** 2,
            random=lambda mu, rng, size: mu + pt.random.normal(rng, size),
            observed=np.arange(3.0),
        )
    value = model.compile_logp()({"mu": 0.2})
    for other in (cloudpickle.loads(cloudpickle.dumps(model)), copy.deepcopy(model)):
        assert other.compile_logp()({"mu": 0.2}) == value
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dump(model, io.BytesIO())


def sampled(model: pm.Model) -> Any:
    """Draws of a model, for a worker of a pool."""
    return pm.sample(draws=30, tune=30, chains=2, cores=1, random_seed=3, progressbar=False, model=model)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_a_model_can_go_to_a_process_pool() -> None:
    """A new process makes the very draws that this one makes, and sends its result back."""
    model = rich()
    here = sampled(model)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(sampled, model).result()
    for name in ("mu", "scale", "part::slope", "mean"):
        np.testing.assert_array_equal(there.posterior[name], here.posterior[name])
    assert there.status == here.status


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@COPIES
def test_results_are_copied_without_their_run(duplicate: Callable[[Any], Any]) -> None:
    """Draws and the end of the run are there; only the original can be extended."""
    model = rich()
    result = sampled(model)
    other = duplicate(result)
    assert type(other) is type(result)
    assert (other.status, other.worst) == (result.status, result.worst)
    other.posterior["mu"].data[:] = 0.0
    assert result.posterior["mu"].to_numpy().any()
    with pytest.raises(pm.SamplingError, match="can be extended"):
        other.extend(draws=40)
