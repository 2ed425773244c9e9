"""Models as other programs read and change them: names, value variables, starting values, functions, copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.distributions import transforms
from consilience.model import (
    change_value_transforms,
    clone_model,
    extract_deterministics,
    insert_deterministics,
    remove_value_transforms,
)

POINT = {"b": np.array([0.1, -0.2, 0.3]), "s_log__": 0.2, "u_interval__": -0.4, "k": 2}


def regression() -> pm.Model:
    with pm.Model(coords={"g": ["x", "y", "z"]}) as model:
        b = pm.Normal("b", dims="g")
        s = pm.HalfNormal("s")
        u = pm.Uniform("u")
        k = pm.Poisson("k", 3.0)
        pm.Deterministic("twice", 2.0 * s)
        pm.Deterministic("again", 2.0 * s)
        pm.Deterministic("alias", b, dims="g")
        mu = pm.Deterministic("mu", b.sum() + k * u)
        pm.Normal("y", mu, s, observed=np.ones(10))
        pm.Potential("p", -s)
    return model


def test_unobserved_value_variables_have_names() -> None:
    """Equal deterministics, and one that is a variable, each have their own; values are those of the variables."""
    model = regression()
    found = model.unobserved_value_vars
    assert [v.name for v in found] == [*POINT, "s", "u", "twice", "again", "alias", "mu"]
    assert [v.name for v in model.value_vars] == list(POINT)
    values = dict(zip([v.name for v in found], model.compile_fn(found, inputs=model.value_vars)(POINT), strict=True))
    assert_allclose(values["again"], 2.0 * np.exp(0.2))
    assert_allclose(values["alias"], POINT["b"])
    assert_allclose(values["mu"], 0.2 + 2 / (1 + np.exp(0.4)))


def test_starting_values_can_be_set_as_a_table_or_one_by_one() -> None:
    """What a new table does not name has the default again."""
    model = regression()
    model.rvs_to_initial_values = {model["s"]: 2.0, "b": [1.0, 2.0, 3.0]}
    model.rvs_to_initial_values["u"] = 0.25
    point = model.initial_point()
    assert_allclose([point["s_log__"], point["u_interval__"]], np.log([2.0, 1 / 3]))
    assert_allclose(point["b"], [1, 2, 3])
    assert model.rvs_to_initial_values[model["u"]] == 0.25
    model.rvs_to_initial_values = {}
    assert_allclose(model.initial_point()["s_log__"], 0.0)
    with pytest.raises(KeyError, match="no variable `other`"):
        model.rvs_to_initial_values["other"] = 1.0
    with pytest.raises(pm.ModelError, match="not a free variable"):
        model.rvs_to_initial_values[model["mu"]] = 1.0


def test_log_density_and_gradient_at_once() -> None:
    """For flat vectors, for values, tempered, with values that are kept; errors say what came."""
    model = regression()
    logp, slope = model.compile_logp()(POINT), model.compile_dlogp()(POINT)
    both = model.logp_dlogp_function(initial_point=POINT, ravel_inputs=True)
    value, gradient = both(np.array([0.1, -0.2, 0.3, 0.2, -0.4]))
    assert_allclose(value, logp)
    assert_allclose(gradient, slope)
    part = model.logp_dlogp_function([model["b"]], tempered=True, initial_point=POINT, ravel_inputs=False)
    assert_allclose(part([POINT["b"]])[0], logp)
    part.set_weights(np.zeros(1))
    assert_allclose(part([POINT["b"]])[0], model.compile_fn(model.varlogp)(POINT))
    assert set(part.get_extra_values()) == {"s_log__", "u_interval__", "k"}
    moved = {**POINT, "s_log__": 1.0}
    assert_allclose(part([POINT["b"]], extra_vars=moved)[0], model.compile_fn(model.varlogp)(moved))
    with pytest.raises(pm.ShapeError, match=r"needs shape \(5,\), got \(4,\)"):
        both(np.zeros(4))
    with pytest.raises(pm.ModelError, match="`k` is discrete"):
        model.logp_dlogp_function([model["k"]])


def test_profile_and_parts_of_the_density(capsys) -> None:
    """The profile prints the kernels; without Jacobians the density of free variables is that on their own scales."""
    model = regression()
    model.profile(model.logp(), n=3, point=POINT).summary()
    assert "a call from Python" in capsys.readouterr().out
    jacobians = 0.2 + transforms.log_odds.log_jac_det(-0.4).eval()
    difference = model.compile_fn([model.varlogp, model.varlogp_nojac])(POINT)
    assert_allclose(difference[0] - difference[1], jacobians)


def test_value_transforms_change_and_go() -> None:
    """The distribution stays: densities differ by the Jacobians; the old model has its value variables still."""
    model = regression()
    own = {"b": POINT["b"], "s": np.exp(0.2), "u": 1 / (1 + np.exp(0.4)), "k": 2}
    with remove_value_transforms(model) as plain:
        assert [v.name for v in plain.value_vars] == ["b", "s", "u", "k"]
    assert_allclose(plain.compile_logp()(own), model.compile_logp(jacobian=False)(POINT))
    assert plain.compile_logp()({**own, "s": -1.0}) == -np.inf
    some = change_value_transforms(model, {"s": transforms.log_exp_m1, model["u"]: transforms.logodds})
    assert [v.name for v in some.value_vars] == ["b", "s_log_exp_m1__", "u_logodds__", "k"]
    there = {"b": own["b"], "s_log_exp_m1__": np.log(np.expm1(own["s"])), "u_logodds__": -0.4, "k": 2}
    assert_allclose(some.compile_logp(jacobian=False)(there), model.compile_logp(jacobian=False)(POINT))
    assert [v.name for v in model.value_vars] == list(POINT)
    with pytest.raises(pm.ModelError, match="`mu` is not a free variable"):
        change_value_transforms(model, {"mu": None})
    with pytest.raises(TypeError, match="a transform must have the methods"):
        change_value_transforms(model, {"s": "log"})


def test_hessian_on_the_own_scale_at_the_mode() -> None:
    """The use of the two functions: mode with a transform, curvature without. Binomial(9, p), 6 seen."""
    with pm.Model() as model:
        p = pm.Uniform("p", 0.0, 1.0)
        pm.Binomial("w", n=9, p=p, observed=6)
        mode = pm.find_MAP(progressbar=False)["p"]
    with remove_value_transforms(model) as plain:
        (deviation,) = 1.0 / np.sqrt(pm.find_hessian({"p": mode}, vars=[plain["p"]])[0])
    assert_allclose(deviation, np.sqrt((2 / 3) * (1 / 3) / 9), rtol=1e-6)


def test_deterministics_come_out_and_go_in_again() -> None:
    """Without them the density is the same; with them again names, dims and values are, also in another model."""
    model = regression()
    rest, parts = extract_deterministics(model)
    assert rest.deterministics == []
    assert [one.name for one in parts] == ["twice", "again", "alias", "mu"]
    assert_allclose(rest.compile_logp()(POINT), model.compile_logp()(POINT))
    whole = insert_deterministics(rest, parts)
    assert list(whole.named_deterministics) == list(model.named_deterministics)
    assert whole.named_vars_to_dims == model.named_vars_to_dims
    for one in (model, whole):
        graphs = one.replace_rvs_by_values(one.deterministics)
        assert_allclose(one.compile_fn(graphs[3], inputs=one.value_vars)(POINT), 0.2 + 2 / (1 + np.exp(0.4)))
    without, (mu,) = extract_deterministics(model, "mu")
    assert list(without.named_deterministics) == ["twice", "again", "alias"]
    with pytest.raises(pm.ModelError, match=r"`mu` needs \['b', 'k', 'u'\]"):
        insert_deterministics(pm.Model(), [mu])
    with pytest.raises(pm.ModelError, match="`b` is not a deterministic"):
        extract_deterministics(model, ["b"])


def test_a_clone_grows_alone() -> None:
    """As with `copy.copy`, which is the same."""
    model = regression()
    for clone in (clone_model(model), copy.copy(model)):
        with clone:
            pm.Normal("more", clone["mu"])
        assert "more" in clone
        assert "more" not in model


def test_names_of_nodes_can_be_set() -> None:
    """A name is a label beside the node: identity, results and the model's own names do not know it."""
    x = pt.vector("x")
    y = 2.0 * x
    y.name = "double"
    assert y.name == "double"
    assert 2.0 * x is y
    assert "double" in repr(y)
    x.name = "z"
    assert pm.function([x], y)(z=[1.0])[0] == 2.0
    assert pickle.loads(pickle.dumps(y)).name == "double"
    y.name = None
    assert y.name is None
    with pytest.raises(TypeError, match="a name is a text or None, got 3"):
        y.name = 3
    with pytest.raises(AttributeError, match="frozen"):
        y.other = 3
    x.tag.unit = "m"
    assert x.tag.unit == "m"
    model = regression()
    model["s"].name = "spread"
    assert [v.name for v in model.free] == ["b", "s", "u", "k"]
    assert_allclose(model.compile_logp()(POINT), regression().compile_logp()(POINT))


def test_prefixes_of_names() -> None:
    """As PyMC spells them."""
    with pm.Model("outer") as model:
        pm.Normal("x")
    assert (model.prefix, model.name_of("outer::x"), model.name_of("x")) == ("outer", "x", "x")


@pytest.mark.parametrize(
    ("transform", "inputs"),
    [(transforms.log, ()), (transforms.Interval(bounds_fn=lambda rng, size, mu: (mu, None)), (None, None, -1.0))],
)
def test_transforms_are_methods_of_numbers(transform, inputs) -> None:
    """`forward`, `backward` and `log_jac_det` take numbers or tensors, and the inputs of a variable behind them."""
    y = transform.forward(2.5, *inputs)
    assert_allclose(transform.backward(y, *inputs).eval(), 2.5)
    assert_allclose(transform.log_jac_det(y.eval(), *inputs).eval(), y.eval())
    assert transform.ndim_supp == 0
    assert transforms.CholeskyCovPacked(2).ndim_supp == 1


def test_transforms_of_users_have_attributes_of_their_own() -> None:
    """Set in `__init__`, as in PyMC; two with other attributes are not equal."""

    class Scaled(transforms.Transform):
        name = "scaled"

        def __init__(self, scale):
            self.scale = scale

        def forward(self, value, *inputs):
            return value / self.scale

        def backward(self, value, *inputs):
            return value * self.scale

    assert Scaled(2.0) != Scaled(3.0)
    assert_allclose(Scaled(2.0).log_jac_det(1.0).eval(), np.log(2.0))
    with pm.Model() as model:
        pm.Normal("x", transform=Scaled(2.0))
    assert_allclose(model.compile_logp()({"x_scaled__": 0.5}), -0.5 - 0.5 * np.log(2 * np.pi) + np.log(2.0))


def test_modes_as_trees_and_from_one_start() -> None:
    """`return_inferencedata`: one draw; `jitter=False`: one ascent. What would be another result is refused."""
    with pm.Model(coords={"g": ["x", "y", "z"]}) as model:
        pm.Normal("y", pm.Normal("b", dims="g"), 1.0 + pm.HalfNormal("s"), observed=[0.3, -1.0, 2.0])
        tree = pm.find_MAP(return_inferencedata=True, jitter=True, vars=["b"], progressbar=False)
        point, optimum = pm.find_MAP(
            vars=["b"], jitter=False, use_grad=True, backend="numba", return_raw=True, progressbar=False
        )
    assert dict(tree.posterior.sizes) == {"chain": 1, "draw": 1, "g": 3}
    assert_allclose(tree.posterior["b"][0, 0], point["b"], rtol=1e-5)
    assert "s_log__" not in tree.posterior
    assert len(optimum.ends) == 1
    with pytest.raises(TypeError, match=r"give also `return_inferencedata=True`, or give the point to `pm\.find_hess"):
        pm.find_MAP(compute_hessian=True, model=model)


def test_the_covariance_at_a_mode_is_labelled_and_that_of_the_second_derivatives() -> None:
    """On PyMC's coordinates, whatever those of samplers are; NaN with a warning where the mode is no peak."""
    with pm.Model(coords={"g": ["x", "y"]}) as model:
        b, u = pm.Normal("b", dims="g"), pm.TruncatedNormal("u", 0.3, 1.0, lower=-1.0)
        pm.Normal("y", b[0] + u * b[1], pm.InverseGamma("s", 3.0, 2.0), observed=[0.3, -1.0, 2.0])
        given = {"return_inferencedata": True, "compute_hessian": True, "progressbar": False}
        tree = pm.find_MAP(**given, idata_kwargs={"include_transformed": True})
        part = pm.find_MAP(**given, vars=["b"])
    fit = tree["fit"].dataset
    assert list(fit["rows"].values) == list(fit["columns"].values) == ["b[x]", "b[y]", "u_interval__", "s_log__"]
    point = {n: tree.posterior[n].values[0, 0] for n in ("b", "u_interval__", "s_log__")}
    assert_allclose(fit["mean_vector"], np.concatenate([a.ravel() for a in point.values()]))
    precision = model.compile_d2logp(jacobian=False)(point)
    assert_allclose(fit["covariance_matrix"].values @ precision, np.eye(4), atol=1e-9)
    assert list(part["fit"]["rows"].values) == ["b[x]", "b[y]"]
    assert "s_log__" not in part.posterior
    with pm.Model():
        pm.Laplace("z", 0.0, 1.0)
        with pytest.warns(pm.ConsilienceWarning, match="not those of a peak"):
            flat = pm.find_MAP(**given)
    assert np.isnan(flat["fit"]["covariance_matrix"]).all()


def test_fits_give_values_on_the_unconstrained_line_on_request() -> None:
    """`include_transformed` of `pm.fit` is of the draws; `approx.sample` may say otherwise."""
    with pm.Model():
        pm.HalfNormal("s")
        pm.TruncatedNormal("u", 0.0, 1.0, lower=0.0, upper=2.0)
        fit = pm.fit(300, include_transformed=True, check=False, converge=False, random_seed=1, progressbar=False)
    draws = fit.sample(7).posterior
    assert_allclose(np.exp(draws["s_log__"]), draws["s"])
    assert_allclose(2.0 / (1.0 + np.exp(-draws["u_interval__"])), draws["u"])
    assert set(fit.sample(3, include_transformed=False).posterior) == {"s", "u"}
    assert set(pm.sample_approx(fit, 3, include_transformed=True).posterior) == set(draws)


def test_fits_and_summaries_take_pymcs_keywords() -> None:
    """Those without effect pass, `round_to` rounds."""
    with pm.Model() as model:
        pm.Normal("x")
        fit = pm.fit(
            200, progressbar=False, progressbar_theme=None, include_transformed=False, backend="c", check=False
        )
    draws = fit.sample(200, random_seed=1)
    exact, rounded = pm.summary(draws), pm.summary(draws, round_to=1)
    assert_allclose(rounded["sd"], np.round(exact["sd"], 1), rtol=0)
    assert_allclose(pm.summary(draws, round_to="none")["sd"], exact["sd"], rtol=0)
    with pytest.raises(ValueError, match="a number of decimals, 'auto' or 'none'"):
        pm.summary(draws, round_to=1.5)
    assert model.free_RVs


def test_nodes_of_networks_have_the_attributes_of_formatters() -> None:
    """By kind of variable; the others have what they always had."""
    pytest.importorskip("networkx")
    graph = pm.model_to_networkx(regression(), node_formatters={"Free Random Variable": lambda x: {"rank": x.ndim}})
    assert graph.nodes["b"]["rank"] == 1
    assert "rank" not in graph.nodes["mu"]
    assert graph.nodes["y"]["kind"] == "observed"
    with pytest.raises(ValueError, match=r"kinds \['Free'\]; there are 'Potential'"):
        pm.model_to_networkx(regression(), node_formatters={"Free": dict})


def test_nested_models_of_one_name_are_told_apart_or_refused() -> None:
    """Their prefixes are joined, as in PyMC; two parts of one name may not have variables of one name."""
    with pm.Model("part") as whole:
        pm.Normal("x")
        with pm.Model("part"):
            pm.Normal("x")
    assert list(whole.named_vars) == ["part::x", "part::part::x"]
    with pm.Model() as whole:
        with pm.Model("a"):
            pm.Normal("x")
        with pm.Model("a"):
            pm.Normal("y")
            with pytest.raises(pm.ModelError, match="`a::x` already exists"):
                pm.Normal("x")
    assert list(whole.named_vars) == ["a::x", "a::y"]


def test_pictures_have_the_attributes_of_formatters() -> None:
    """In place of our own; the rest stays."""
    pytest.importorskip("graphviz")
    free = {"label": "free", "style": "dotted"}
    source = pm.model_to_graphviz(regression(), node_formatters={"Free Random Variable": lambda _: free}).source
    assert source.count('label="free"') == sum(not v.name.startswith("y") for v in regression().free_RVs)
    assert 'style="dotted"' in source
    with pytest.raises(ValueError, match="has the kinds"):
        pm.model_to_graphviz(regression(), node_formatters={"Free": dict})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: pm.gp.cov.ExpQuad(1, lengthscales=1.0), "`ls`"),
        (lambda: pm.gp.cov.Periodic(1, perid=1.0, ls=1.0), "did you mean `period`"),
        (lambda: pm.gp.HSGP(m=[3], c=2.0, cov_fun=pm.gp.cov.ExpQuad(1, ls=1.0)), "did you mean `cov_func`"),
        (lambda: pm.Model(coord={"a": [1]}), "did you mean `coords`"),
        (lambda: pm.Data("d", [1.0], export_index_as_coords=True, model=pm.Model()), "`infer_dims_and_coords`"),
        (lambda: pm.Data("d", [1.0], dim="a", model=pm.Model()), "did you mean `dims`"),
    ],
    ids=["lengthscales", "perid", "cov_fun", "coord", "export_index_as_coords", "dim"],
)
def test_keywords_that_do_not_exist_are_met_with_the_nearest(call: Callable[[], object], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        call()
