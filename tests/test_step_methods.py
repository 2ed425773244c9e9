"""Step methods in `pm.sample`: which one moves what, several together against exact posteriors, and mistakes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import SamplingError
from consilience.inference import (
    NUTS,
    BinaryGibbsMetropolis,
    CategoricalGibbsMetropolis,
    HamiltonianMC,
    Kernel,
    Metropolis,
)
from consilience.model.log_density import model_density
from consilience.sample.step_methods import DivisibleDensity, assigned

PAGE = Path(__file__).resolve().parent.parent / "docs" / "do" / "step-methods.md"
pytestmark = pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")


def methods(model: pm.Model, step: Any = None) -> list[tuple[str, tuple[str, ...]]]:
    """Names of the step methods with the variables of each."""
    density = model_density(model)
    return [(type(m).__name__, m.vars) for m in assigned(model, density, step, NUTS()).parts]


def everything() -> pm.Model:
    """One variable of each kind."""
    with pm.Model() as model:
        pm.Normal("x")
        pm.Gamma("y", 2.0, 1.0)
        pm.Bernoulli("b", 0.3, shape=3)
        pm.Categorical("c", [0.2, 0.3, 0.5])
        pm.DiscreteUniform("u", 2, 5)
        pm.Poisson("n", 3.0)
    return model


def test_variables_without_a_step_method_get_those_of_pymc() -> None:
    assert methods(everything()) == [
        ("NUTS", ("x", "y")),
        ("BinaryGibbsMetropolis", ("b",)),
        ("CategoricalGibbsMetropolis", ("c",)),
        ("CategoricalGibbsMetropolis", ("u",)),
        ("Metropolis", ("n",)),
    ]


def test_a_step_method_without_variables_moves_what_is_left_and_what_it_can() -> None:
    model = everything()
    found = methods(model, [Metropolis(("x",)), HamiltonianMC()])
    assert found[:2] == [("Metropolis", ("x",)), ("HamiltonianMC", ("y",))]
    assert methods(model, pm.NUTS([model["y"]]))[0] == ("NUTS", ("y",))
    assert ("NUTS", ("x",)) in methods(model, [NUTS(("y",))])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (NUTS(("z",)), "`z`, which is no free variable"),
        ([NUTS(("x",)), Metropolis(("x",))], "`x` is given to NUTS and to Metropolis"),
        (NUTS(("b",)), "NUTS needs continuous variables, and `b`.*is discrete.*BinaryGibbsMetropolis"),
        (HamiltonianMC(("x", "n")), "`n`.*is discrete"),
        (BinaryGibbsMetropolis(("x",)), "`x`.*is continuous; use pm.NUTS"),
        ([NUTS(("x", "y")), NUTS()], "NUTS is given no variables, and the other step methods have all of them"),
        ("NUTS", "step method such as"),
    ],
)
def test_step_methods_for_the_wrong_variables_are_refused_by_name(step: Any, message: str) -> None:
    with everything(), pytest.raises(SamplingError, match=message):
        pm.sample(step=step, progressbar=False)


def test_a_step_method_to_which_nothing_is_left_is_told_what_there_is() -> None:
    model = everything()
    with pytest.raises(SamplingError, match=r"NUTS moves continuous .* those without a step method are discrete: `"):
        assigned(model, model_density(model), [NUTS(("x", "y")), NUTS()], NUTS())


def test_gibbs_sampling_of_what_has_no_finite_range_is_refused() -> None:
    with everything() as model, pytest.raises(SamplingError, match=r"at most 10000 values.*`n`"):
        pm.sample(10, tune=10, step=CategoricalGibbsMetropolis([model["n"]]), progressbar=False, random_seed=1)


def mixture(count: int = 60) -> pm.Model:
    """Two normals with known means, so that no labels switch."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(count) < 0.3, rng.normal(2.5, 1.0, count), rng.normal(-1.0, 1.0, count))
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 2.0)
        mu = pm.Normal("mu", [-1.0, 2.5], 0.5, shape=2)
        z = pm.Bernoulli("z", p, shape=count)
        pm.Normal("y", mu[z], 1.0, observed=y)
    return model


def test_elements_that_are_independent_given_all_others_are_drawn_from_one_table() -> None:
    """Proved from the graph: assignments of a mixture are, elements of a sum are not."""
    model = mixture()
    (_, gibbs) = assigned(model, model_density(model), None, NUTS()).parts
    assert gibbs.needs == "table"
    with pm.Model() as joined:
        b = pm.Bernoulli("b", 0.5, shape=5)
        pm.Normal("y", b.sum(), 1.0, observed=2.0)
    gibbs = assigned(joined, model_density(joined), None, NUTS())
    assert gibbs.parts[0].needs == "logp"


@pytest.mark.parametrize("groups", [False, True], ids=["own data", "data of groups"])
def test_the_table_holds_the_probability_of_every_value_of_every_element(groups: bool) -> None:
    """Their ratios are those of the density of the whole; they add up to 1."""
    rng = np.random.default_rng(1)
    with pm.Model() as model:
        z = pm.Categorical("z", [0.2, 0.3, 0.5], shape=4)
        place = pm.Normal("place", 0.0, 1.0, shape=3)
        where = place[z[np.array([0, 1, 1, 3, 3, 3, 2])]] if groups else place[z]
        pm.Normal("y", where, 0.7, observed=rng.normal(size=7 if groups else 4))
    density = model_density(model)
    whole = DivisibleDensity(density)
    position = np.concatenate([[0.0, 2.0, 1.0, 1.0], rng.normal(size=3)])
    from consilience.inference.density import evaluate_table, log_density, open_density

    stop = np.zeros(1, np.int64)
    table = np.zeros(12)
    assert evaluate_table.compiled(
        open_density(whole.block(("z",), "table").density, stop, position), position[:4].copy(), table
    )
    np.testing.assert_allclose(table.reshape(3, 4).sum(axis=0), 1.0)
    joint = whole.block((), "logp").density
    opened = open_density(joint, stop)
    for i in range(4):
        for k in range(3):
            other = position.copy()
            other[i] = k
            expected = log_density.compiled(opened, other) - log_density.compiled(opened, position)
            assert np.log(table[4 * k + i] / table[4 * int(position[i]) + i]) == pytest.approx(expected, abs=1e-9)


def test_a_mixture_has_the_posterior_of_its_marginalized_twin() -> None:
    """NUTS and Gibbs sampling in turn: means and deviations within five Monte-Carlo errors."""
    model = mixture()
    with model:
        compound = pm.sample(3000, tune=500, random_seed=1, progressbar=False)
    twin = pm.sample(3000, tune=500, random_seed=2, progressbar=False, model=pm.marginalize(model, ["z"]))
    one, other = (pm.summary(r, var_names=["p", "mu"]) for r in (compound, twin))
    assert (np.abs(one["mean"] - other["mean"]) < 5.0 * np.hypot(one["mcse_mean"], other["mcse_mean"])).all()
    assert (np.abs(one["sd"] - other["sd"]) < 5.0 * np.hypot(one["mcse_sd"], other["mcse_sd"])).all()


def test_discrete_posteriors_are_exact() -> None:
    """Gibbs sampling in turn over all 32 combinations of five switches, and Metropolis over counts."""
    with pm.Model() as model:
        b = pm.Bernoulli("b", 0.4, shape=5)
        n = pm.Poisson("n", 2.0)
        pm.Normal("y", b.sum() + n, 0.8, observed=3.0)
        result = pm.sample(8000, tune=500, random_seed=3, progressbar=False)
    ones = np.arange(6)
    counts = np.arange(30)
    from scipy import stats

    joint = stats.binom.logpmf(ones, 5, 0.4)[:, None] + stats.poisson.logpmf(counts, 2.0)
    joint += stats.norm.logpdf(3.0, ones[:, None] + counts, 0.8)
    joint = np.exp(joint - joint.max())
    joint /= joint.sum()
    drawn = result.posterior["b"].sum("b_dim_0").values.ravel()
    for values, truth in ((drawn, joint.sum(axis=1)), (result.posterior["n"].values.ravel(), joint.sum(axis=0)[:8])):
        found = np.array([(values == k).mean() for k in range(len(truth))])
        np.testing.assert_allclose(found, truth, atol=0.02)
    assert result.posterior["n"].dtype == np.int64
    assert model["b"].dtype == "int64"


def test_draws_of_a_compound_depend_on_the_seed_alone() -> None:
    """Not on threads, and a resumed run goes on as it would have."""
    model = mixture(20)
    runs = [pm.sample(200, tune=100, random_seed=4, cores=cores, model=model, progressbar=False) for cores in (1, 2, 4)]
    for run in runs[1:]:
        for name in ("p", "mu", "z"):
            np.testing.assert_array_equal(run.posterior[name], runs[0].posterior[name])
        for name in runs[0].sample_stats:
            np.testing.assert_array_equal(run.sample_stats[name], runs[0].sample_stats[name])


def test_a_compound_is_resumed_with_the_same_steps(tmp_path: Path) -> None:
    """The checkpoint of a finished run gives its draws back."""
    model = mixture(20)
    whole = pm.sample(
        100, tune=50, random_seed=4, model=model, progressbar=False, save=pm.Save(checkpoint=tmp_path / "run")
    )
    again = pm.resume(tmp_path / "run", model, progressbar=False)
    np.testing.assert_array_equal(again.posterior["z"], whole.posterior["z"])
    np.testing.assert_array_equal(again.sample_stats["lp"], whole.sample_stats["lp"])


def test_statistics_of_several_step_methods_have_names_of_their_own() -> None:
    with everything() as model:
        step: list[Kernel] = [Metropolis([model["x"]]), Metropolis([model["n"]])]
        step += [BinaryGibbsMetropolis([model["b"]]), CategoricalGibbsMetropolis([model["c"], model["u"]])]
        result = pm.sample(50, tune=50, step=step, random_seed=1, progressbar=False)
    names = set(result.sample_stats.data_vars)
    assert {"x_accepted", "n_accepted", "b_changed", "c_changed", "diverging", "lp", "x_lp"} <= names
    point = {name: result.posterior[name].values[0, 7] for name in result.posterior.data_vars}
    expected = model.compile_logp()(model.initial_point() | {
        "x": point["x"], "y_log__": np.log(point["y"]),
        "b": point["b"], "c": point["c"], "u": point["u"], "n": point["n"],
    })  # fmt: skip
    assert float(result.sample_stats["lp"][0, 7]) == pytest.approx(float(expected), rel=1e-10)


def test_the_page_of_step_methods_runs_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step method of one's own, beside NUTS."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(script), run_name="page")
    assert capsys.readouterr().out.splitlines() == [
        'converged ["step"] int64', "converged", "['acceptance_rate', 'scale']", "True",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", [pm.NUTS, pm.HamiltonianMC])
def test_all_step_methods_may_diverge_in_every_transition(kind: Any) -> None:
    """There is room for the divergences of each: one more would lie in memory of others."""
    with pm.Model():
        x, y = pm.Normal("x", 0.0, 1e-4, shape=3), pm.Normal("y", 0.0, 1e-3, shape=40)
        steps = [kind([x], initial_step=100.0), kind([y], initial_step=100.0)]
        found = pm.sample(40, tune=1, chains=2, step=steps, random_seed=1, progressbar=False)
    assert [int(found.sample_stats[f"{name}_diverging"].sum()) for name in "xy"] == [80, 80]
