"""Names that older PyMC had: each is answered with today's spelling, which exists."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.names import older_names
from consilience.sample import arguments
from consilience.sample.tree import Posterior
from tests.rows import over_rows

TABLE = [(place, name) for place, rows in older_names._SENTENCES.items() for name in rows]


@pytest.fixture(scope="module")
def places() -> dict[str, Any]:
    """Where each part of the table applies: a random variable, its model, the result of a run."""
    with pm.Model() as model:
        x = pm.Normal("x")
        result = pm.sample(
            20, tune=20, chains=1, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    return {
        "module": pm, "tensor": x, "model": model, "result": result,
        "gp": pm.gp, "variational": pm.variational, "backends": pm.backends,
    }  # fmt: skip


@over_rows("place, name", TABLE)
def test_older_names_are_answered_with_todays(places: dict[str, Any], place: str, name: str) -> None:
    """The name is not there, and the error says how it is written now."""
    with pytest.raises(AttributeError) as caught:
        getattr(places[place], name)
    assert older_names.today(place, name) in str(caught.value)


def test_todays_names_are_there(places: dict[str, Any]) -> None:
    """What the sentences write in code exists: functions with their keywords, attributes of models and results."""
    sentences = {sentence for rows in older_names._SENTENCES.values() for sentence in rows.values()}
    roots = {"pm": pm, "model": places["model"], "result": places["result"], "pt": pt}
    checked = 0
    for code in re.findall("`([^`]*)`", " ".join(sentences)):
        for root, path in re.findall(r"\b(pm|model|result)\.([A-Za-z0-9_.]+)", code):
            thing = roots[root]
            for part in path.strip(".").split("."):
                thing = getattr(thing, part)
            words = re.findall(r"(\w+)=", code.partition("(")[2].partition("(")[0]) if root == "pm" else []
            if words and inspect.isfunction(thing):
                accepted = inspect.signature(thing).parameters
                assert set(words) <= set(accepted) or any(p.kind is p.VAR_KEYWORD for p in accepted.values()), code
            checked += 1
    assert checked > 50


@pytest.mark.parametrize(("older", "today"), older_names.PARAMETERS.items())
def test_older_parameters_of_distributions_are_answered(older: str, today: str) -> None:
    """By every distribution that has the parameter of today, when called and by `dist`."""
    answered = 0
    for name in ("Normal", "HalfNormal", "Gamma", "MvNormal", "AR", "Truncated", "Mixture", "GaussianRandomWalk"):
        cls = getattr(pm, name)
        accepted = inspect.signature(cls.dist).parameters
        if older in accepted or (today not in accepted and today not in older_names._OF_ALL):
            continue
        with pm.Model(), pytest.raises(TypeError, match=f"no parameter `{older}`: in today's PyMC it is `{today}`"):
            cls("x", **{older: 1.0})
        answered += 1
    assert answered


@pytest.mark.parametrize("name", [*arguments.ABSENT, *arguments.SAME])
def test_older_keywords_of_sample_are_answered(name: str) -> None:
    """The keyword is not taken, and the error names what is."""
    with pm.Model():
        pm.Normal("x")
        with pytest.raises(TypeError, match=f"PyMC's `{name}` does not exist here") as caught:
            pm.sample(10, **{name: 1})
    if name in arguments.SAME:
        assert f"`{arguments.SAME[name]}=`" in str(caught.value)
        assert arguments.SAME[name] in inspect.signature(pm.sample).parameters


def test_draws_are_asked_for_by_group(places: dict[str, Any]) -> None:
    """`trace["x"]` and `trace[100:]` of PyMC 3."""
    result: Posterior = places["result"]
    with pytest.raises(KeyError, match=r"it is `result.posterior\['x'\]`"):
        result["x"]
    with pytest.raises(KeyError, match="no group `y`; it has posterior"):
        result["y"]
    with pytest.raises(TypeError, match=r"`result.isel\(draw=slice\(100, None\)\)` has draws"):
        result[10:]
    assert result["posterior"]["x"].shape == result["posterior/x"].shape == (1, 20)
    assert result.isel(draw=slice(5, None)).posterior["x"].shape == (1, 15)


def test_a_density_by_position_is_told_its_keyword() -> None:
    """`DensityDist("y", f, observed=y)` of PyMC 3."""

    def density(value: Any) -> Any:
        return -0.5 * value**2

    with pm.Model(), pytest.raises(TypeError, match=r"a function is no parameter: name it, `logp=density`"):
        pm.DensityDist("y", density, observed=np.ones(3))


def test_broken_bounds_are_both_named() -> None:
    """The values of both ends, of numbers and of one element of arrays."""
    with pm.Model(), pytest.raises(pm.ParameterError, match=r"upper must be > lower, got 1.0 with lower = 2"):
        pm.Uniform("u", 2, 1)
    with pytest.raises(pm.ParameterError, match=r"upper must be > lower, got 1.0 \(element 1\) with lower = 3.0"):
        pm.Uniform.dist([0.0, 3.0], 1.0)


def test_nuts_for_a_discrete_variable_says_what_fits() -> None:
    """The variable, its kind, and what to use."""
    with pm.Model():
        pm.Poisson("k", 3.0)
        with pytest.raises(pm.SamplingError, match=r"NUTS moves continuous .* are discrete: `k` \(Poisson\); leave"):
            pm.sample(10, step=pm.NUTS(), progressbar=False)
    with pm.Model():
        pm.Normal("x")
        both = [pm.Slice(), pm.NUTS()]
        with pytest.raises(pm.SamplingError, match="NUTS is given no variables, and the other step methods have all"):
            pm.sample(10, step=both, progressbar=False)


@pytest.mark.parametrize(
    ("make", "start"),
    [
        (lambda **more: pm.Normal("x", 0.0, 1.0, shape=3, **more), [-1.0, 0.0, 1.0]),
        (lambda **more: pm.Normal("x", [0.0, 5.0, 1.0], 1.0, **more), [-1.0, 1.0, 6.0]),
        (lambda **more: pm.Normal("x", [0.0, 1.0, 5.0], 1.0, **more), [0.0, 1.0, 5.0]),
        (lambda **more: pm.Normal("x", 0.0, 1.0, shape=(2, 3), **more), [[-1.0, 0.0, 1.0]] * 2),
        (lambda **more: pm.Exponential("x", 1.0, shape=2, **more), np.exp([-1.0, 1.0])),
    ],
)
def test_ordered_variables_start_spread(make: Any, start: Any) -> None:
    """Without `initval`, also behind another transform; what is in order already stays."""
    with pm.Model() as model:
        x = make(transform=pm.distributions.transforms.ordered)
    point = model.initial_point()
    free = next(iter(point.values()))
    assert np.isfinite(model.compile_logp()(point))
    own = model.rvs_to_transforms[x].backward(pt.as_tensor(free)).eval()
    np.testing.assert_allclose(own, start, rtol=1e-12)
    with pm.Model() as model:
        make(transform=pm.distributions.transforms.ordered, initval=np.ones(np.shape(start)))
    with pytest.raises(pm.SupportError, match="the initial value of `x` is outside its support"):
        model.initial_point()
