"""Models in named dims are their plain twins: equal log densities at equal points, results with dims and coords."""

from __future__ import annotations

import operator
import pickle
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
import consilience.tensor as pt
import consilience.xtensor as px
from consilience import distributions
from consilience.distributions.distribution import Distribution
from consilience.errors import ConvergenceWarning, ImputationWarning, ShapeError
from consilience.graph import ancestors
from consilience.ir import Node

PAGE = Path(__file__).resolve().parents[2] / "docs" / "do" / "named-dims.md"
COORDS = {"city": ["u", "v", "w"], "year": [2001, 2002, 2003, 2004], "k": [0, 1], "l": [0, 1]}
RNG = np.random.default_rng(11)
NUMBERS = RNG.normal(size=(3, 4))
COV = np.array([[2.0, 0.3], [0.3, 1.0]])


def same_density(named: Callable[[], None], plain: Callable[[], None]) -> tuple[pm.Model, pm.Model]:
    """Two models whose densities are equal at random points of the plain one's variables."""
    models = []
    for write in (named, plain):
        with pm.Model(coords=COORDS) as model:
            write()
        models.append(model)
    densities = [model.compile_logp() for model in models]
    names = [sorted(str(v.name) for v in model.value_vars) for model in models]
    assert names[0] == names[1]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        start = models[1].initial_point()
        point = {n: v + 0.3 * rng.normal(size=np.shape(v)) if v.dtype.kind == "f" else v for n, v in start.items()}
        np.testing.assert_allclose(densities[0](point), densities[1](point), rtol=1e-12)
    return models[0], models[1]


def hierarchy_named() -> None:
    d = pm.dims
    x = d.Data("x", xr.DataArray(NUMBERS, dims=("city", "year")))
    mu, tau = d.Normal("mu", 0.0, 2.0), d.HalfNormal("tau", 1.0)
    slope, trend = d.Normal("slope", mu, tau, dims="city"), d.Normal("trend", 0.0, 1.0, dims="year")
    mean = d.Deterministic("mean", trend + slope * x, dims=("city", ...))
    d.Normal("y", mean, d.HalfCauchy("s", 1.0), observed=xr.DataArray(NUMBERS.T, dims=("year", "city")))
    d.Potential("pull", -(slope**2) / 8)


def hierarchy_plain() -> None:
    x = pm.Data("x", NUMBERS, dims=("city", "year"))
    mu, tau = pm.Normal("mu", 0.0, 2.0), pm.HalfNormal("tau", 1.0)
    slope, trend = pm.Normal("slope", mu, tau, dims="city"), pm.Normal("trend", 0.0, 1.0, dims="year")
    mean = pm.Deterministic("mean", trend + slope[:, None] * x, dims=("city", "year"))
    pm.Normal("y", mean, pm.HalfCauchy("s", 1.0), observed=NUMBERS, dims=("city", "year"))
    pm.Potential("pull", -(slope**2) / 8)


def vectors_named() -> None:
    d = pm.dims
    share = d.Dirichlet("share", px.as_xtensor(np.ones(2), "k"), core_dims="k", dims=("k", "city"))
    d.Multinomial("count", n=10, p=share, core_dims="k", observed=xr.DataArray([[4, 6]] * 3, dims=("city", "k")))
    d.Categorical("kind", share, core_dims="k", observed=xr.DataArray([0, 1, 1], dims="city"))
    centre = d.Normal("centre", 0.0, 1.0, dims=("k", "year"))
    d.MvNormal("pair", centre, px.as_xtensor(COV, ("k", "l")), core_dims=("k", "l"), dims=("k", "year"))
    d.MvNormal("root", centre, chol=px.as_xtensor(np.linalg.cholesky(COV), ("k", "l")), core_dims=("k", "l"))
    d.ZeroSumNormal("zero", 1.5, core_dims="city", dims=("city", "year"))
    d.ZeroSumNormal("zeros", 1.5, core_dims=("city", "year"), dims=("city", "year"))


def vectors_plain() -> None:
    share = pm.Dirichlet("share", np.ones(2), dims=("city", "k"))
    pm.Multinomial("count", n=10, p=share, observed=[[4, 6]] * 3)
    pm.Categorical("kind", share, observed=[0, 1, 1])
    centre = pm.Normal("centre", 0.0, 1.0, dims=("k", "year"))
    pm.MvNormal("pair", centre.T, COV, dims=("year", "k"))
    pm.MvNormal("root", centre.T, chol=np.linalg.cholesky(COV))
    pm.ZeroSumNormal("zero", 1.5, dims=("year", "city"))
    pm.ZeroSumNormal("zeros", 1.5, n_zerosum_axes=2, dims=("city", "year"))


def matrices_named() -> None:
    d = pm.dims
    ones = px.as_xtensor(np.ones(2), "k")
    flat = px.as_xtensor(np.zeros((3, 2)), ("city", "k"))
    rows, square = px.as_xtensor(np.eye(3) + 0.1, ("city", "city_")), px.as_xtensor(COV, ("k", "l"))
    d.MatrixNormal("table", flat, rowcov=rows, colcov=square, core_dims=("city", "k", "city_", "l"), dims=("city", "k"))
    d.Wishart("wishart", 4, square, core_dims=("k", "l"), observed=xr.DataArray(COV, dims=("l", "k")))
    d.MvStudentT("heavy", 5, ones, square, core_dims=("k", "l"), dims=("k", "city"))
    d.DirichletMultinomial("counts", 5, ones, core_dims="k", observed=xr.DataArray([2, 3], dims="k"))
    d.StickBreakingWeights("sticks", 2.0, K=3, core_dims="year", dims="year")
    d.OrderedLogistic(
        "grade", 0.3, px.as_xtensor([-1.0, 1.0], "k"), core_dims="k", observed=np.zeros(3, int), dims="city"
    )
    d.AR(
        "series",
        px.as_xtensor([0.3, 0.1], "k"),
        1.0,
        init_dist=d.Normal.dist(0, 2),
        core_dims=("k", "year"),
        dims="year",
    )
    d.GaussianRandomWalk("walk", 0.1, 0.5, init_dist=d.Normal.dist(0, 1), core_dims="year", dims=("city", "year"))
    d.MvGaussianRandomWalk("walks", ones, square, init_dist=d.MvNormal.dist(ones, square, core_dims=("k", "l")),
                           core_dims=("year", "k", "l"), dims=("year", "k"))  # fmt: skip


def matrices_plain() -> None:
    pm.MatrixNormal("table", np.zeros((3, 2)), rowcov=np.eye(3) + 0.1, colcov=COV, dims=("city", "k"))
    pm.Wishart("wishart", 4, COV, observed=COV.T)
    pm.MvStudentT("heavy", 5, mu=np.ones(2), scale=COV, dims=("city", "k"))
    pm.DirichletMultinomial("counts", 5, np.ones(2), observed=[2, 3])
    pm.StickBreakingWeights("sticks", 2.0, K=3, shape=4)
    pm.OrderedLogistic("grade", 0.3, [-1.0, 1.0], observed=np.zeros(3, int), compute_p=False)
    pm.AR("series", [0.3, 0.1], 1.0, init_dist=pm.Normal.dist(0, 2), dims="year")
    pm.GaussianRandomWalk("walk", 0.1, 0.5, init_dist=pm.Normal.dist(0, 1), dims=("city", "year"))
    pm.MvGaussianRandomWalk("walks", np.ones(2), COV, init_dist=pm.MvNormal.dist(np.ones(2), COV), dims=("year", "k"))


def components_named() -> None:
    d = pm.dims
    low = d.Normal("low", 0.0, 1.0, dims="city")
    weight = px.as_xtensor([0.3, 0.7], "k")
    parts = [d.Normal.dist(low, 1.0), d.Normal.dist(3.0, 2.0)]
    d.Mixture("mixed", weight, parts, core_dims="k", dims=("year", "city"))
    d.Censored(
        "cut", d.Normal.dist(low, 1.0), lower=-1.0, upper=1.0, observed=xr.DataArray([0.2, 1.0, -1.0], dims="city")
    )
    d.Truncated("inside", d.Normal.dist(low, 1.0), lower=-1.0, upper=2.0)
    d.RandomWalk("path", d.Normal.dist(0, 1), d.Normal.dist(0, 0.5), core_dims="year", dims=("year", "city"))
    d.NormalMixture("two", weight, px.as_xtensor([-1.0, 1.0], "k"), 0.5, core_dims="k", dims="city")


def components_plain() -> None:
    low = pm.Normal("low", 0.0, 1.0, dims="city")
    parts = [pm.Normal.dist(low, 1.0), pm.Normal.dist(3.0, 2.0)]
    pm.Mixture("mixed", [0.3, 0.7], parts, dims=("year", "city"))
    pm.Censored("cut", pm.Normal.dist(low, 1.0), lower=-1.0, upper=1.0, observed=[0.2, 1.0, -1.0])
    pm.Truncated("inside", pm.Normal.dist(low, 1.0), lower=-1.0, upper=2.0)
    pm.RandomWalk("path", pm.Normal.dist(0, 1), pm.Normal.dist(0, 0.5), dims=("city", "year"))
    pm.NormalMixture("two", [0.3, 0.7], [-1.0, 1.0], 0.5, dims="city")


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        (hierarchy_named, hierarchy_plain),
        (vectors_named, vectors_plain),
        (matrices_named, matrices_plain),
        (components_named, components_plain),
    ],
)
def test_a_model_in_dims_has_the_density_of_its_plain_twin(
    named: Callable[[], None], plain: Callable[[], None]
) -> None:
    first, second = same_density(named, plain)
    assert {n: d for n, d in first.named_vars_to_dims.items() if n in second.named_vars_to_dims} == (
        second.named_vars_to_dims
    )


SCALAR = sorted(
    name
    for names in distributions.PUBLIC.values()
    for name in names.split()
    if isinstance(getattr(distributions, name), type)
    and issubclass(getattr(distributions, name), Distribution)
    and getattr(distributions, name).support.event_rank == 0
    and getattr(distributions, name).parameters
    and not getattr(distributions, name).static_parameters
    and not getattr(distributions, name).component_parameters
    and not any(p.event_rank for p in getattr(distributions, name).parameters)
    and getattr(distributions, name).event_rank is Distribution.event_rank
)


@pytest.mark.parametrize("name", SCALAR)
def test_every_distribution_of_numbers_takes_parameters_with_dims(name: str) -> None:
    """The first parameter varies by city, the second by year; densities are those of the plain twin."""
    plain = getattr(distributions, name)
    values = {p.name: _inside(p.name, name) for p in plain.parameters}
    first, *rest = values
    by_city = values[first] + np.zeros(3, type(values[first]))
    named: dict[str, Any] = {**values, first: px.as_xtensor(by_city, "city")}
    other: dict[str, Any] = {**values, first: by_city}
    if rest:
        by_year = values[rest[0]] + np.zeros(4, type(values[rest[0]]))
        named[rest[0]], other[rest[0]] = px.as_xtensor(by_year, "year"), by_year[:, None]
    made = getattr(pm.dims, name).dist(**named, dim_lengths={"year": 4})
    assert made.dims == (("city", "year") if rest else ("year", "city"))
    twin = plain.dist(**other, shape=(4, 3))
    value = pm.draw(twin, random_seed=1)
    found = px.as_xtensor(pm.logp(made.values, value.T if rest else value), made.dims).transpose("year", "city")
    np.testing.assert_allclose(found.eval(), pm.logp(twin, value).eval(), rtol=1e-12)


def _inside(parameter: str, name: str) -> float | int:
    """A value that lies inside the range of a parameter of any distribution."""
    special: dict[str, dict[str, float | int]] = {
        "HyperGeometric": {"N": 20, "k": 8, "n": 6}, "Triangular": {"lower": 0.0, "upper": 3.0, "c": 1.0},
        "TruncatedNormal": {"lower": -1.0, "upper": 2.0}, "DiscreteUniform": {"lower": 1, "upper": 6},
        "Uniform": {"lower": 0.0, "upper": 3.0}, "PolyaGamma": {"h": 1}, "DiracDelta": {"c": 2},
        "GeneralizedPareto": {"xi": 0.2}, "GeneralizedExtremeValue": {"xi": 0.2},
    }  # fmt: skip
    whole: dict[str, float | int] = {"n": 5, "p": 0.4, "q": 0.4, "psi": 0.6}
    return special.get(name, {}).get(parameter, whole.get(parameter, 1.5))


def test_results_have_the_dims_and_coords_of_the_model() -> None:
    with pm.Model(coords=COORDS) as model:
        hierarchy_named()
        pm.dims.Normal("by_label", model_slope(model).sel(city="v"), 1.0)
    with pytest.warns(ConvergenceWarning):
        result = pm.sample(20, tune=30, chains=2, model=model, random_seed=1, progressbar=False)
    posterior = result.posterior
    assert posterior["slope"].dims == ("chain", "draw", "city")
    assert posterior["mean"].dims == ("chain", "draw", "city", "year")
    assert list(posterior["city"].values) == COORDS["city"]
    assert result.observed_data["y"].dims == ("city", "year")
    np.testing.assert_array_equal(result.observed_data["y"], NUMBERS)
    mean = posterior["trend"] + posterior["slope"] * result.constant_data["x"]
    np.testing.assert_allclose(posterior["mean"].transpose(*mean.dims), mean)
    drawn = pm.sample_posterior_predictive(result, model=model, random_seed=2, progressbar=False)
    assert drawn.posterior_predictive["y"].dims == ("chain", "draw", "city", "year")


def model_slope(model: pm.Model) -> px.XTensorVariable:
    """A variable of a model with its dims."""
    dims = [dim for dim in model.named_vars_to_dims["slope"] if dim is not None]
    return px.as_xtensor(model["slope"], dims)


def test_data_are_exchanged_under_named_dims() -> None:
    with pm.Model() as model:
        x = pm.dims.Data("x", np.arange(3.0), dims="obs")
        slope = pm.dims.Normal("slope")
        pm.dims.Normal("y", slope * x, 1.0, observed=pm.dims.Data("seen", np.ones(3), dims="obs"))
    before = model.compile_logp()({"slope": 0.5})
    pm.set_data({"x": np.arange(5.0), "seen": np.ones(5)}, model=model)
    after = model.compile_logp()({"slope": 0.5})
    constant = -0.5 * np.log(2 * np.pi)
    for length, found in ((3, before), (5, after)):
        expected = constant - 0.125 + np.sum(constant - 0.5 * (1 - 0.5 * np.arange(length)) ** 2)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_missing_data_become_variables_under_named_dims() -> None:
    data = xr.DataArray([1.0, np.nan, 2.0], dims="city", coords={"city": COORDS["city"]})
    with pm.Model(coords=COORDS) as model, pytest.warns(ImputationWarning):
        y = pm.dims.Normal("y", 0.0, 1.0, observed=data)
    assert y.dims == ("city",)
    assert [v.name for v in model.free_RVs] == ["y_unobserved"]


def test_data_arrays_bring_their_dims_and_labels() -> None:
    data = xr.DataArray(NUMBERS, dims=("city", "year"), coords={"city": COORDS["city"], "year": COORDS["year"]})
    with pm.Model() as model:
        named = pm.dims.Data("x", data)
        assert named.dims == ("city", "year")
        assert pm.dims.Data("turned", data, dims=("year", "city")).dims == ("year", "city")
    assert model.coords["city"] == tuple(COORDS["city"])
    np.testing.assert_array_equal(model.get_data("turned"), NUMBERS.T)


def test_every_distribution_is_found_under_its_name() -> None:
    """One wrapper over the existing classes: each is there, with its documentation, and stays the same object."""
    for name in set(pm.dims.__all__) & {n for names in distributions.PUBLIC.values() for n in names.split()}:
        found = getattr(pm.dims, name)
        assert found is getattr(pm.dims, name)
        assert found.plain is getattr(distributions, name)
        assert found.__doc__.partition("\n")[0] == found.plain.__doc__.partition("\n")[0]


def test_the_page_of_named_dims_runs_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page prints is what it says."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(script), run_name="page")
    said = [line.strip() for line in re.findall(r"print\(.*\)  # (.*)$", text, re.MULTILINE)]
    assert capsys.readouterr().out.splitlines() == said


def test_a_hidden_markov_chain_takes_its_matrix_by_two_dims() -> None:
    """Rows of the matrix of transitions are constrained one by one, and the matrix is one parameter of one series."""
    rows, means = [[0.9, 0.1], [0.2, 0.8]], [0.0, 3.0]

    def named() -> None:
        pm.dims.HiddenMarkov(
            "x",
            px.as_xtensor([0.5, 0.5], "k"),
            px.as_xtensor(rows, ("k", "l")),
            pm.dims.Normal.dist(px.as_xtensor(means, "k"), 1.0),
            core_dims=("k", "l", "year"),
            dims="year",
        )

    def plain() -> None:
        pm.HiddenMarkov("x", [0.5, 0.5], rows, pm.Normal.dist(means, 1.0), dims="year")

    same_density(named, plain)


def test_a_model_gives_back_variables_with_the_dims_they_were_made_with() -> None:
    """Also after `do`, in copies by pickle, and where plain tensors are asked for by the same names."""
    with pm.Model(coords={"city": ["Bern", "Rome", "Oslo"]}) as model:
        data = pm.dims.Data("data", np.arange(3.0), dims="city")
        x = pm.dims.Normal("x", dims="city")
        scale = pm.dims.HalfNormal("scale")
        mean = pm.dims.Deterministic("mean", x * scale)
        pm.Normal("plain", 0.0, 1.0, dims="city")
        y = pm.dims.Normal("y", mean, scale, observed=data)
    for made in (model, pickle.loads(pickle.dumps(model)), pm.do(model, {"scale": 2.0})):
        for name in ("data", "x", "scale", "mean", "y"):
            if (name, made) != ("scale", made) or made.free_RVs == model.free_RVs:
                assert isinstance(made[name], pm.dims.XTensorVariable), name
        assert isinstance(made["plain"], Node)
        assert made.x.dims == made.named_vars["mean"].dims == ("city",)
    assert model["x"] is x
    assert model["y"] is y
    assert pm.draw(2.0 / model["scale"] - model["scale"] / 2.0, random_seed=1).shape == ()


def test_numbers_without_dims_stand_on_either_side_of_an_operator() -> None:
    """A plain scalar has no axis that a name could be missing for; a plain vector has, and is refused."""
    number, named = pt.dscalar("a"), px.as_xtensor([1.0, 2.0], dims="city")
    for function in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.pow):
        for left, right in ((number, named), (named, number)):
            value = function(left, right)
            assert value.dims == ("city",)
            wanted = function(*[3.0 if one is number else np.array([1.0, 2.0]) for one in (left, right)])
            np.testing.assert_allclose(value.values.eval({number: 3.0}), wanted)
    with pytest.raises(TypeError, match="dims of"):
        pt.dvector("v") * named


def test_densities_of_variables_with_dims_align_their_values_by_name() -> None:
    rv = pm.dims.Weibull.dist(px.as_xtensor([1.0, 2.0], dims="city"), 3.0)
    at = px.as_xtensor([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]], dims=("year", "city"))
    for name in ("logp", "logcdf", "logccdf"):
        found = getattr(pm, name)(rv, at)
        assert found.dims == ("year", "city")
        wanted = getattr(pm, name)(pm.Weibull.dist(np.array([1.0, 2.0]), 3.0), at.values).eval()
        np.testing.assert_allclose(found.eval(), wanted)


def test_an_intervention_with_dims_stands_in_the_order_of_the_variable() -> None:
    with pm.Model(coords={"city": ["Bern", "Rome"], "year": range(3)}) as model:
        x = pm.dims.Data("x", np.zeros((2, 3)), dims=("city", "year"))
        pm.dims.Deterministic("double", 2.0 * x)
    given = px.as_xtensor(np.arange(6.0).reshape(3, 2), dims=("year", "city"))
    found = pm.do(model, {"x": given})["double"]
    np.testing.assert_array_equal(found.transpose("year", "city").eval(), 2.0 * np.arange(6.0).reshape(3, 2))
    with pytest.raises(ShapeError, match="what is to replace it has"):
        pm.do(model, {"x": px.as_xtensor(np.zeros(2), dims="city")})


def test_functions_of_models_take_variables_with_dims() -> None:
    """Wherever a plain variable is taken, so is `model[name]` of one that was made with dims."""
    with pm.Model(coords={"city": ["Bern", "Rome", "Oslo"]}) as model:
        x = pm.dims.Normal("x", dims="city")
        scale = pm.dims.HalfNormal("scale")
        mean = pm.dims.Deterministic("mean", x * scale)
        pm.dims.Normal("y", mean, scale, observed=px.as_xtensor(np.zeros(3), dims="city"))
        pm.Deterministic("twice", 2.0 * x)
        pm.Potential("flat", -(x**2))
        pm.Normal("plain", scale, 1.0)
    assert model.named_vars_to_dims["twice"] == model.named_vars_to_dims["flat"] == ("city",)
    point = model.initial_point()
    (over,) = model.replace_rvs_by_values([model["mean"]])
    assert over.dims == ("city",)
    assert model.compile_fn(over)(point).shape == (3,)
    assert model.rvs_to_values[model["x"]].name == "x"
    assert model["scale"] in model.rvs_to_transforms
    model.set_initval(model["x"], np.ones(3))
    assert model.initial_point()["x"].tolist() == [1.0] * 3
    for compiled in (model.compile_logp(vars=[model["x"]]), model.compile_dlogp(vars=model["x"])):
        assert np.isfinite(compiled(point)).all()
    assert pm.draw(model["x"], 2, random_seed=1).shape == (2, 3)
    assert [v.name for v in pm.noncenter(pm.do(model, {model["scale"]: 1.0}), "x").free_RVs]
    assert set(pm.find_MAP(model=model, vars=[model["x"]], progressbar=False)) >= {"x"}
    gradient = pt.grad(model["x"].sum(), model["x"])
    np.testing.assert_array_equal(gradient.eval(), 1.0)
    assert "mul" in model["mean"].dprint(file="str")


def test_lists_of_variables_hold_what_was_made() -> None:
    with pm.Model(coords={"city": ["Bern", "Rome"]}) as model:
        data = pm.dims.Data("data", np.zeros(2), dims="city")
        x = pm.dims.Normal("x", dims="city")
        double = pm.dims.Deterministic("double", 2.0 * x)
        term = pm.dims.Potential("term", -(x**2))
        y = pm.dims.Normal("y", double, observed=data)
    assert (model.data_vars, model.free_RVs, model.observed_RVs) == ([data], [x], [y])
    assert (model.deterministics, model.potentials, model.unobserved_RVs) == ([double], [term], [x, double])
    assert all(model[v.name] is v for v in (data, x, double, term, y))
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    assert pm.freeze_dims_and_data(model).free_RVs[0].dims == ("city",)


def test_a_tensor_with_dims_is_found_where_its_node_is() -> None:
    """In sets of a graph's nodes, in what a model keeps by variable, behind blockers; two names for an axis differ."""
    x = pt.dvector("x")
    named = px.as_xtensor(x, dims="city")
    assert named in set(ancestors([(2.0 * named).sum()]))
    assert x in {named}
    assert {x: 1}[named] == 1
    assert named == px.as_xtensor(x, dims="city")
    assert named != named.rename(city="town")
    assert x not in list(ancestors([pt.exp(x) + 1.0], blockers=[px.as_xtensor(pt.exp(x), dims="city")]))
    np.testing.assert_array_equal(named.type.filter([1, 2]), [1.0, 2.0])
    with pytest.raises(ShapeError):
        named.type.filter(1.0)


def test_dims_of_events_follow_from_core_dims() -> None:
    """Where `dims` are not said in full, those that sum to zero are the core dims; scales have the others."""
    with pm.Model(coords={"time": range(5), "item": ["a", "b", "c"]}) as model:
        scale = pm.dims.HalfNormal("scale", dims="time")
        items = pm.dims.ZeroSumNormal("items", core_dims="item")
        both = pm.dims.ZeroSumNormal("both", core_dims=("item", "time"))
        scaled = pm.dims.ZeroSumNormal("scaled", scale, core_dims="item")
        said = pm.dims.ZeroSumNormal("said", scale, core_dims="item", dims=("time", "item"))
        rest = pm.dims.ZeroSumNormal("rest", scale, core_dims="item", dims=("item", ...))
    assert [x.dims for x in (items, both, scaled, said, rest)] == [
        ("item",), ("item", "time"), ("time", "item"), ("time", "item"), ("item", "time"),
    ]  # fmt: skip
    draws = pm.draw([items, both, scaled, rest], random_seed=1)
    for value, axes in zip(draws, [(0,), (0, 1), (1,), (0,)], strict=True):
        for axis in axes:
            np.testing.assert_allclose(value.sum(axis), 0.0, atol=1e-12)
    point = model.initial_point()
    with pm.Model(coords=model.coords) as plain:
        s = pm.HalfNormal("scale", dims="time")
        pm.ZeroSumNormal("scaled", s[:, None], dims=("time", "item"))
    wanted = plain.compile_logp()({name: point[name] for name in plain.initial_point()})
    got = model.compile_logp(vars=[scale, scaled])(point)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_a_deterministic_keeps_the_named_dims_of_its_value() -> None:
    """Also that of `pm.Deterministic`, which may be used on by the names of its dims."""
    with pm.Model(coords={"a": [0, 1], "b": [0, 1, 2]}) as model:
        x = pm.dims.Normal("x", dims=("a", "b"))
        kept = pm.Deterministic("kept", 2 * x)
        plain = pm.Deterministic("plain", 2 * x.values, dims=("a", "b"))
        pm.dims.Deterministic("part", kept.isel(b=0).sum("a"))
    assert kept.dims == ("a", "b")
    assert not hasattr(plain, "isel")
    assert model.named_vars_to_dims["kept"] == ("a", "b")
