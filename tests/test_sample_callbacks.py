"""Callbacks of runs and keywords of step methods, as PyMC's programs write them."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import consilience as pm


def model_of_a_mean() -> pm.Model:
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Normal("y", x, pm.HalfNormal("s"), observed=np.linspace(-1, 2, 30))
    return model


def run(model: pm.Model, **settings: object) -> object:
    usual = {"draws": 20, "tune": 60, "chains": 2, "random_seed": 1, "progressbar": False}
    return pm.sample(model=model, compute_convergence_checks=False, **{**usual, **settings})


def test_callbacks_of_trace_and_draw_are_called_for_every_draw() -> None:
    """With the values of the result, chain by chain, and with their unconstrained ones; the trace holds them so far."""
    model = model_of_a_mean()
    seen = []

    def watch(trace, draw):
        assert np.array_equal(trace.get_values("x")[-1], draw.point["x"])
        assert trace.point(-1) is draw.point
        seen.append((draw.chain, draw.draw_idx, len(trace), float(draw.point["x"]), draw.stats[0]["step_size"]))
        assert np.isclose(np.log(draw.point["s"]), draw.point["s_log__"])

    result = run(model, callback=watch)
    assert len(seen) == 40
    for chain, number, length, value, _ in seen:
        assert length == number + 1
        assert value == float(result.posterior["x"][chain, number])
    keywords = []
    run(model, callback=lambda **given: keywords.append(sorted(given)))
    assert keywords == [["draw", "trace"]] * 40


def test_callbacks_of_one_argument_get_events_and_others_are_refused() -> None:
    """A default value makes no second argument; KeyboardInterrupt ends the run in either form."""
    model = model_of_a_mean()
    events = []
    run(model, callback=lambda event, more=None: events.append(event))
    assert {"RunStarted", "DrawsMade"} <= {type(event).__name__ for event in events}
    for wrong in (lambda first, second: None, lambda event, *, other: None):
        with pytest.raises(TypeError, match="one event of the run, or `trace` and `draw` by these names"):
            run(model, callback=wrong)

    def stop(trace, draw):
        raise KeyboardInterrupt

    stopped = run(model, draws=500_000, callback=stop).posterior
    assert stopped.attrs["status"] == "interrupted"
    assert stopped.sizes["draw"] < 500_000


def test_step_methods_take_the_keywords_that_runs_settle() -> None:
    """`model`, in which the variables must be, and what is without effect; equal settings are equal step methods."""
    model = model_of_a_mean()
    step = pm.NUTS([model["x"]], early_max_treedepth=6, model=model, rng=3, max_treedepth=7)
    assert step == pm.NUTS("x", max_treedepth=7)
    assert pickle.loads(pickle.dumps(step)) == step
    assert pm.Slice("x", model=model, blocked=True).blocked
    assert pm.Metropolis("x", blocked=False, mode="FAST_RUN", compile_kwargs={}) == pm.Metropolis("x")
    assert "target_accept" in inspect.signature(pm.NUTS).parameters
    with pytest.raises(pm.SamplingError, match=r"NUTS is given \['other'\], of which `model` has none"):
        pm.NUTS("other", model=model)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tarket'"):
        pm.NUTS(tarket=0.9)


@pytest.mark.parametrize("init", ["jitter+adapt_diag_grad", "adapt_full", "jitter+adapt_full"])
def test_initialisations_under_pymcs_names(init) -> None:
    """A full matrix where the name says so, unless another metric is asked for; unknown names are refused."""
    assert run(model_of_a_mean(), init=init).posterior.sizes["draw"] == 20
    with pytest.raises(pm.SamplingError, match="`init` must be one of"):
        run(model_of_a_mean(), init=init + "2")


def test_draws_take_a_seed_third_and_a_backend() -> None:
    """As in PyMC: `pm.draw(x, 3, seed)`."""
    x = pm.Normal.dist()
    assert np.array_equal(pm.draw(x, 3, 5), pm.draw(x, draws=3, random_seed=5, backend="numba"))
