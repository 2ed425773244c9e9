"""Models whose likelihood or forward function is computed by Python: what a user meets from the point to the draws."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.compile.ops import as_op
from consilience.errors import ConsilienceWarning, SamplingError, ShapeError
from consilience.graph import Apply, Op

TIMES = np.linspace(0.0, 9.0, 6)
DATA = 3.0 * np.exp(-0.4 * TIMES) + np.array([0.1, -0.2, 0.05, 0.0, 0.1, -0.1])
SETTINGS: dict[str, Any] = {"chains": 2, "random_seed": 1, "progressbar": False}


@as_op(itypes=[pt.dvector], otypes=[pt.dvector])
def decay(theta: Any) -> Any:
    """A forward function of which nobody declares the length."""
    return theta[0] * np.exp(-theta[1] * TIMES)


class DecaySlopes(Op):
    """Vector-Jacobian product of the decay."""

    itypes, otypes = [pt.dvector, pt.dvector], [pt.dvector]

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        theta, g = inputs
        shape = np.exp(-theta[1] * TIMES)
        outputs[0][0] = np.array([g @ shape, g @ (-theta[0] * TIMES * shape)])


class Decay(Op):
    """The same with a derivative."""

    itypes, otypes = [pt.dvector], [pt.dvector]

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = decay.fn(inputs[0])

    def grad(self, inputs: Any, g: Any) -> Any:
        return [DecaySlopes()(inputs[0], g[0])]


def model_of(forward: Any, **more: Any) -> pm.Model:
    """A curve with noise of known size."""
    with pm.Model() as model:
        a, b = pm.HalfNormal("a", 5.0), pm.HalfNormal("b", 1.0)
        curve = forward(pm.math.stack([a, b]))
        pm.Deterministic("curve", curve)
        pm.Normal("y", mu=curve, sigma=0.2, observed=DATA, **more)
    return model


def plain() -> pm.Model:
    """The same model as expressions."""
    return model_of(lambda theta: theta[0] * pt.exp(-theta[1] * TIMES))


def test_density_and_gradient_are_those_of_the_formula() -> None:
    """Without a declared length, through transforms, and with a derivative that another op computes."""
    ours, black, wanted = model_of(Decay()), model_of(decay), plain()
    point = {k: v + 0.3 for k, v in wanted.initial_point().items()}
    for model in (ours, black):
        assert model.compile_logp()(point) == pytest.approx(wanted.compile_logp()(point))
    np.testing.assert_allclose(ours.compile_dlogp()(point), wanted.compile_dlogp()(point))


def test_draws_with_gradients_are_those_of_the_formula() -> None:
    """The compiled code differs in rounding alone, so the chains stay together for a while."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = pm.sample(30, tune=30, model=model_of(Decay()), **SETTINGS)
        wanted = pm.sample(30, tune=30, model=plain(), **SETTINGS)
    np.testing.assert_allclose(ours.posterior["curve"], wanted.posterior["curve"], rtol=1e-4)
    assert ours.posterior.attrs["sampler"] == "NUTS"


@pytest.fixture(scope="module")
def run() -> Any:
    """A run without gradients, and what it said."""
    model = model_of(decay)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = pm.sample(60, tune=100, model=model, **SETTINGS)
    return model, result, [str(w.message) for w in told]


def test_without_gradients_slices_are_chosen_and_said(run: Any) -> None:
    """As PyMC does."""
    _, result, told = run
    assert result.posterior.attrs["sampler"] == "Slice"
    assert any("`a`, `b` moved by Slice, which needs no gradient: " in t and "`decay`" in t for t in told)
    a, b = (result.posterior[name].to_numpy()[..., None] for name in "ab")
    np.testing.assert_allclose(result.posterior["curve"], a * np.exp(-b * TIMES))


def test_predictive_draws(run: Any) -> None:
    """Forward functions are called once for every draw."""
    model, result, _ = run
    predictive = pm.sample_posterior_predictive(result, model=model, random_seed=1, progressbar=False)
    assert predictive.posterior_predictive["y"].shape == (2, 60, 6)
    prior = pm.sample_prior_predictive(7, model=model, random_seed=1)
    a, b = (prior.prior[name].to_numpy()[..., None] for name in "ab")
    np.testing.assert_allclose(prior.prior["curve"], a * np.exp(-b * TIMES))
    assert prior.prior_predictive["y"].shape == (1, 7, 6)


def test_the_mode_without_gradients() -> None:
    """By a search that compares values, and says so."""
    with pytest.warns(ConsilienceWarning, match=r"searched by the method 'Powell' of SciPy.*`decay` has no deriv"):
        found = pm.find_MAP(model=model_of(decay), progressbar=False)
    wanted = pm.find_MAP(model=plain(), progressbar=False)
    for name in ("a", "b", "curve"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-3)


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    """With the same draws as an unbroken one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = pm.sample(40, tune=40, model=model_of(Decay()), **SETTINGS)
        pm.sample(
            40,
            tune=40,
            model=model_of(Decay()),
            save=pm.Save(checkpoint=tmp_path / "run"),
            stop=pm.Stop(max_time=0.05),
            **SETTINGS,
        )
        longer = pm.resume(tmp_path / "run", model=model_of(Decay()), progressbar=False)
    np.testing.assert_array_equal(longer.posterior["a"], whole.posterior["a"])


def test_models_pickle() -> None:
    """With the ops of the module."""
    model = model_of(decay)
    copy = pickle.loads(pickle.dumps(model))
    point = model.initial_point()
    assert copy.compile_logp()(point) == model.compile_logp()(point)


def test_new_data_of_another_length() -> None:
    """The length is that of the array which the function gives now."""

    @as_op(itypes=[pt.dscalar, pt.dvector], otypes=[pt.dvector])
    def line(slope: Any, x: Any) -> Any:
        return slope * x

    with pm.Model() as model:
        x = pm.Data("x", TIMES)
        slope = pm.Normal("slope")
        pm.Normal("y", mu=line(slope, x), observed=pm.Data("data", DATA), shape=x.shape)
    first = model.compile_logp()({"slope": 0.5})
    pm.set_data({"x": TIMES[:3], "data": DATA[:3]}, model=model)
    wanted = -0.5 * np.sum((DATA[:3] - 0.5 * TIMES[:3]) ** 2) - 1.5 * np.log(2 * np.pi)
    prior = -0.5 * 0.25 - 0.5 * np.log(2 * np.pi)
    assert model.compile_logp()({"slope": 0.5}) == pytest.approx(wanted + prior) != first


class Failing(Op):
    """A likelihood with a fault where the first coordinate is greater than 2.5."""

    itypes, otypes = [pt.dvector], [pt.dscalar]

    def __init__(self, fault: Any) -> None:
        self.fault = fault

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        (x,) = inputs
        outputs[0][0] = self.fault(x) if x[0] > 2.5 else np.asarray(-0.5 * np.sum(x**2))

    def grad(self, inputs: Any, g: Any) -> Any:
        return [-g[0] * inputs[0]]


def _raise(x: Any) -> Any:
    raise RuntimeError(f"the solver failed at {x[0]}")


def _failing(fault: Any) -> pm.Model:
    with pm.Model() as model:
        pm.Potential("p", Failing(fault)(pm.Normal("x", sigma=3.0, shape=2, initval=[0.0, 0.0])))
    return model


def test_an_exception_inside_chains_is_told_with_its_line() -> None:
    """The points have density 0, the chains go on to their end."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = pm.sample(100, tune=100, model=_failing(_raise), **SETTINGS)
    messages = [str(w.message) for w in told]
    assert any("RuntimeError: the solver failed" in m and "in _raise" in m for m in messages)
    assert result.posterior["x"][..., 0].max() <= 2.5
    assert result.posterior.sizes["draw"] == 100


def test_an_exception_everywhere_reaches_the_user() -> None:
    """Before any chain begins."""
    with pm.Model() as model:
        pm.Potential("p", Failing(_raise)(3.0 + pt.exp(pm.Normal("x", shape=2))))
    with pytest.raises(RuntimeError, match="the solver failed"):
        pm.sample(model=model, **SETTINGS)


@pytest.mark.parametrize(("fault", "match"), [(lambda x: np.zeros(3), "declared 0 axes"), (lambda x: None, "empty")])
def test_a_broken_declaration_inside_chains_voids_the_run(fault: Any, match: str) -> None:
    """No draw of another density is returned."""
    with pytest.raises((SamplingError, pm.ConsilienceError), match=match):
        pm.sample(100, tune=100, model=_failing(fault), **SETTINGS)


def test_a_curve_of_another_length_than_the_data() -> None:
    """Is an error that names the function and both lengths."""
    with pytest.raises(ShapeError, match=r"`(short|y)"):
        _short().compile_logp()({"a_log__": 0.0})
    with pytest.raises(ShapeError, match="`short`"):
        pm.sample(model=_short(), **SETTINGS)


def _short() -> pm.Model:
    @as_op(itypes=[pt.dscalar], otypes=[pt.dvector])
    def short(a: Any) -> Any:
        return a * TIMES[:5]

    with pm.Model() as model:
        pm.Normal("y", mu=short(pm.HalfNormal("a")), observed=DATA)
    return model
