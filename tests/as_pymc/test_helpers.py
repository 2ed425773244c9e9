"""Names from inside PyMC and PyTensor that libraries import, each by what it means."""

from __future__ import annotations

import inspect
import pickle
from types import MethodType
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
import consilience.tensor as pt
from consilience.backends.arviz import (
    apply_function_over_dataset,
    coords_and_dims_for_inferencedata,
    dataset_to_point_list,
    find_constants,
    find_observations,
)
from consilience.backends.base import MultiTrace
from consilience.backends.ndarray import NDArray
from consilience.blocking import DictToArrayBijection, RaveledVars
from consilience.compile.sharedvalue import SharedVariable
from consilience.distributions.shape_utils import (
    change_dist_size,
    convert_dims,
    convert_dims_with_ellipsis,
    convert_shape,
    convert_size,
    find_size,
    get_support_shape,
    get_support_shape_1d,
    implicit_size_from_params,
    rv_size_is_none,
    shape_from_dims,
    to_tuple,
)
from consilience.errors import (
    DtypeError,
    GraphError,
    MissingPackageError,
    MissingRuleError,
    ModelError,
    ShapeError,
    StorageError,
)
from consilience.foreign.pymc_names import graph_classes
from consilience.initial_point import make_initial_point_fn
from consilience.logprob.basic import transformed_conditional_logp
from consilience.logprob.utils import ParameterValueError
from consilience.pytensorf import (
    NotConstantValueError,
    constant_fold,
    normalize_rng_param,
    resolve_shapes,
    rvs_in_graph,
)
from consilience.scalar import upcast
from consilience.tensor.basic import get_underlying_scalar_constant_value
from consilience.tensor.exceptions import NotScalarConstantError
from consilience.tensor.random.type import random_generator_type
from consilience.tensor.random.utils import normalize_size_param
from consilience.testing import mock_sample, mock_sample_setup_and_teardown
from consilience.util import (
    _get_seeds_per_chain,
    check_dist_not_registered,
    get_default_varnames,
    get_random_generator,
    get_transformed_name,
    get_untransformed_name,
    get_value_vars_from_user_vars,
    get_var_name,
    is_transformed_name,
    makeiter,
)


def _model() -> pm.Model:
    with pm.Model(coords={"group": ["a", "b"]}) as model:
        sigma = pm.HalfNormal("sigma")
        x = pm.Data("x", [1.0, 2.0], dims="group")
        mu = pm.Normal("mu", dims="group")
        pm.Normal("y", mu * x, sigma, observed=[0.5, 1.5], dims="group")
    return model


def test_names_of_values_are_told_from_names_of_variables() -> None:
    """What the model calls its value variables is what the helpers take apart."""
    model = _model()
    values = [str(v.name) for v in model.value_vars]
    assert values == ["sigma_log__", "mu"]
    assert [is_transformed_name(name) for name in values] == [True, False]
    assert get_untransformed_name("sigma_log__") == "sigma"
    assert get_untransformed_name("my_sigma_log__") == "my_sigma"
    assert get_transformed_name("sigma", model.rvs_to_transforms[model["sigma"]]) == "sigma_log__"
    with pytest.raises(ValueError, match="'mu' is no name of a transformed value"):
        get_untransformed_name("mu")
    assert get_default_varnames(["mu", "sigma_log__"], include_transformed=False) == ["mu"]
    assert get_default_varnames(model.value_vars, include_transformed=True) == model.value_vars
    assert get_var_name(model["mu"]) == get_var_name("mu") == "mu"


def test_values_of_variables_are_found_and_strangers_refused() -> None:
    """Variables and values both stand for values."""
    model = _model()
    sigma, mu = model.value_vars
    assert get_value_vars_from_user_vars([model["mu"], sigma], model) == [mu, sigma]
    assert get_value_vars_from_user_vars(model["mu"], model) == [mu]
    with pytest.raises(ModelError, match="not random variables of the model: y_hat"):
        get_value_vars_from_user_vars([pt.dscalar("y_hat")], model)


def test_components_are_made_without_a_name() -> None:
    """A named variable of the model around is refused, a `.dist()` passes, and so does anything outside a model."""
    model = _model()
    check_dist_not_registered(model["mu"])
    with model:
        check_dist_not_registered(pm.Normal.dist())
        with pytest.raises(ModelError, match=r"`mu` is a variable of the model; components are made by `\.dist\(\)`"):
            check_dist_not_registered(model["mu"])


def test_generators_from_seeds() -> None:
    """A generator that is given stays as it is, unless `copy=False` asks for itself."""
    given = np.random.default_rng(1)
    assert get_random_generator(given).normal() == np.random.default_rng(1).normal() == get_random_generator(1).normal()
    assert get_random_generator(given, copy=False) is given
    with pytest.raises(TypeError, match="RandomState"):
        get_random_generator(np.random.RandomState(1))
    assert makeiter("a") == ["a"]
    assert makeiter(("a",)) == ("a",)
    assert issubclass(ParameterValueError, ValueError)


def test_points_and_vectors_are_mapped_to_each_other() -> None:
    """Shapes, dtypes and the order come back; functions of points become functions of vectors and can be pickled."""
    point = {"a": np.arange(6).reshape(2, 3), "b": np.asarray(1.5)}
    vector = DictToArrayBijection.map(point)
    assert vector.data.tolist() == [0, 1, 2, 3, 4, 5, 1.5]
    back = DictToArrayBijection.rmap(vector, {"c": np.ones(1)})
    assert [*back] == ["c", "a", "b"]
    assert back["a"].dtype == point["a"].dtype
    np.testing.assert_array_equal(back["a"], point["a"])
    total = pickle.loads(pickle.dumps(DictToArrayBijection.mapf(len, {"c": np.ones(1)})))
    assert total(RaveledVars(vector.data, vector.point_map_info)) == 3
    assert DictToArrayBijection.map({}).data.shape == (0,)


def test_functions_are_applied_to_every_draw() -> None:
    """Draws whose dims come in another order are turned; labels are those of the model and of the draws."""
    model = _model()
    coords, dims = coords_and_dims_for_inferencedata(model)
    assert coords["group"].tolist() == ["a", "b"]
    assert dims == {"x": ["group"], "mu": ["group"], "y": ["group"]}
    draws = np.arange(12.0).reshape(2, 3, 2)
    data = xr.Dataset({"mu": (("group", "chain", "draw"), np.moveaxis(draws, 2, 0))}, {"draw": [5, 6, 7]})
    found = apply_function_over_dataset(
        lambda point: [point["mu"] * 2.0, point["mu"].sum()],
        data, output_var_names=["mu", "total"], coords=coords, dims=dims,
    )  # fmt: skip
    np.testing.assert_array_equal(found["mu"].transpose("chain", "draw", "group"), draws * 2.0)
    np.testing.assert_array_equal(found["total"], draws.sum(2))
    assert found["draw"].values.tolist() == [5, 6, 7]
    assert found["group"].values.tolist() == ["a", "b"]
    points, labels = dataset_to_point_list(data, ["chain", "draw"])
    assert len(points) == 6
    assert [*labels] == ["chain", "draw"]
    with pytest.raises(ShapeError, match="gives 1 arrays for the names a, b"):
        apply_function_over_dataset(lambda p: [p["mu"]], data, output_var_names=["a", "b"], coords={}, dims={})


def test_data_of_a_model_by_name() -> None:
    """Observed values and data."""
    model = _model()
    assert find_observations(model)["y"].tolist() == [0.5, 1.5]
    assert find_constants(model)["x"].tolist() == [1.0, 2.0]


def test_recorded_points_become_a_result() -> None:
    """Values on the unconstrained line are recorded with the variables they stand for."""
    model = _model()
    chains = []
    for chain in range(2):
        trace = NDArray(model=model)
        with pytest.raises(StorageError, match="there is room for 0 draws"):
            trace.record(model.initial_point())
        trace.setup(3, chain)
        for draw in range(3):
            trace.record({"sigma_log__": np.log(1.0 + draw), "mu": np.full(2, chain)}, in_warmup=False)
        chains.append(trace)
    result = pm.to_inference_data(MultiTrace(chains), model=model)
    np.testing.assert_allclose(result.posterior["sigma"], [[1.0, 2.0, 3.0]] * 2)
    assert result.posterior["mu"].dims == ("chain", "draw", "group")
    assert "sigma_log__" not in result.posterior
    with pytest.raises(StorageError, match="there is room for 3 draws"):
        chains[0].record(model.initial_point())
    chains[0].setup(1, 0)
    chains[0].record(model.initial_point())
    with pytest.raises(ShapeError, match=r"chains of one length are needed, got \[4, 3\]"):
        MultiTrace(chains)


def test_dims_and_shapes_become_tuples() -> None:
    """Each form that users give, and what is none of them."""
    assert convert_dims("a") == ("a",)
    assert convert_dims(["a", None]) == ("a", None)
    assert convert_dims(None) is convert_shape(None) is convert_size(None) is None
    assert convert_dims_with_ellipsis(...) == (...,)
    assert convert_shape(3) == convert_size((3,)) == (3,)
    assert len(convert_shape(pt.constant([2, 3])) or ()) == 2
    with pytest.raises(ShapeError, match=r"`dims` must be a name, a tuple or a list of names, got 3\."):
        convert_dims(3)  # type: ignore[arg-type]
    assert find_size((2, 3, 4), None, 1) == (2, 3)
    assert find_size((2, 3), (5,), 0) == (5,)
    assert rv_size_is_none(None)
    assert not rv_size_is_none(())
    assert to_tuple(None) == ()
    assert to_tuple(np.asarray([2, 3])) == to_tuple([2, 3]) == (2, 3)
    model = _model()
    assert [n.eval() for n in shape_from_dims(("group",), model)] == [2]
    with pytest.raises(ModelError, match=r"the model has no dims 'time'; it has \['group'\]"):
        shape_from_dims(("time",), model)


@pytest.mark.parametrize(
    ("rv", "batch", "event"),
    [(pm.Normal.dist([0.0, 1.0]), (4, 2), ()), (pm.MvNormal.dist(np.zeros(3), np.eye(3)), (2,), (3,))],
)
def test_sizes_of_distributions_are_changed(
    rv: pt.TensorVariable, batch: tuple[int, ...], event: tuple[int, ...]
) -> None:
    """Distribution and parameters stay; with `expand` the axes are added in front."""
    changed = change_dist_size(rv, batch)
    assert changed.static_shape == (*batch, *event) == pm.draw(changed, random_seed=1).shape
    assert change_dist_size(rv, (5,), expand=True).static_shape == (5, *rv.static_shape)
    assert isinstance(changed.owner.op, rv.owner.op.distribution.rv_type)
    with pytest.raises(ShapeError):
        change_dist_size(pm.Normal.dist([0.0, 1.0]), (3,))


def test_graphs_of_constants_are_numbers() -> None:
    """What depends on inputs or on chance is refused, or left as it is where that is asked for."""
    x = pt.dscalar("x")
    assert get_underlying_scalar_constant_value(pt.zeros(3) + 2) == 2.0
    for other in (x, pt.constant([1.0, 2.0]), pm.Normal.dist()):
        with pytest.raises(NotScalarConstantError):
            get_underlying_scalar_constant_value(other)
    assert constant_fold([pt.constant(2.0) * 3]) == (6.0,)
    with pytest.raises(NotConstantValueError, match="depends on more than constants"):
        constant_fold([x + 1])
    (kept,) = constant_fold([x + 1], raise_not_constant=False)
    assert kept.eval({x: 1.0}) == 2.0
    (length,) = resolve_shapes([pm.Normal.dist(shape=3).shape[0]])
    assert length.eval() == 3
    assert upcast("int8", "float32") == "float32"


def test_random_variables_of_a_graph() -> None:
    """All, and those of one distribution."""
    normal, gamma = pm.Normal.dist(), pm.Gamma.dist(1, 1)
    assert rvs_in_graph(normal + gamma) == {normal, gamma}
    assert rvs_in_graph([normal + gamma], pm.Gamma.rv_type) == {gamma}
    rng = random_generator_type("rng")
    draw = pt.random.normal(rng=rng)
    assert np.isfinite(pm.function([rng], draw)(np.random.default_rng(1)))


def test_priors_stand_for_posteriors_in_tests() -> None:
    """`mock_sample` has the form of a result, and the fixture puts everything back."""
    with _model():
        tree = mock_sample(4, chains=2, random_seed=1, sample_stats={"diverging": np.zeros}, tune=5)
        assert dict(tree.posterior.sizes) == {"chain": 2, "draw": 4, "group": 2}
        assert tree.sample_stats["diverging"].shape == (2, 4)
        assert {"prior", "prior_predictive"}.isdisjoint(tree.children)
        meanwhile = mock_sample_setup_and_teardown()
        before = pm.sample, pm.Flat, pm.HalfFlat
        next(meanwhile)
        assert pm.sample is mock_sample
        assert (pm.Flat, pm.HalfFlat) == (pm.Normal, pm.HalfNormal)
        with pytest.raises(StopIteration):
            next(meanwhile)
        assert before == (pm.sample, pm.Flat, pm.HalfFlat)


def test_kinds_of_tensors_answer_isinstance() -> None:
    """Constants, shared variables, draws of a distribution; kinds are neither called nor derived from."""
    constant, normal_rv, product = (graph_classes.find(n) for n in ("TensorConstant", "NormalRV", "StructuredDot"))
    assert constant is not None
    assert normal_rv is not None
    assert product is not None
    assert isinstance(pt.constant(1.0), constant)
    assert not isinstance(pt.dscalar(), constant)
    assert isinstance(pm.shared(1.0), SharedVariable)
    assert not isinstance(pt.constant(1.0), SharedVariable)
    assert isinstance(pm.Normal.dist().owner.op, normal_rv)
    assert not isinstance(pm.Gamma.dist(1, 1).owner.op, normal_rv)
    with pytest.raises(GraphError, match="tells kinds of tensors apart"):
        SharedVariable()
    with pytest.raises(GraphError, match="tells kinds of tensors apart"):
        type("Own", (SharedVariable,), {})


@pytest.mark.parametrize("name", sorted(graph_classes._NOT_IMITATED - graph_classes._REGISTERS))
def test_what_is_not_imitated_says_so_when_it_is_used(name: str) -> None:
    """To import a graph's class, or derive an own one from it, is no harm; to use one names the other way."""
    found = graph_classes.find(name)
    assert found is not None
    assert not isinstance(pt.dscalar(), found)
    derived: Any = type("Own", (found,), {"__init__": lambda self, n: None})
    assert found.register(derived)(len) is len
    uses = [
        (name, found),
        (name, lambda: found.make_node),
        (name, lambda: found.register(pm.Normal)),
        ("Own", derived.dist),
    ]
    uses.append(("Own", derived if name in graph_classes._DISTRIBUTIONS else derived(1)))
    for told, use in uses:
        with pytest.raises(MissingPackageError, match=rf"`{told}` .*does not imitate.*`import consilience\.for_pymc`"):
            use()
    assert graph_classes.find(f"No{name}") is None


@pytest.mark.parametrize("name", sorted(graph_classes._REGISTERS))
def test_rewrites_can_be_entered_and_do_nothing(name: str) -> None:
    """A library that enters its rewrites when it is imported is imported; asking for the rewrites is refused."""
    found: Any = graph_classes.find(name)

    def rewrite() -> None: ...

    assert found(rewrite) is rewrite
    assert found([None], final=True)(rewrite) is rewrite
    assert found["specialize"].register("name", rewrite, "basic")(rewrite) is rewrite
    with pytest.raises(MissingPackageError, match=rf"`{name}` .*does not imitate"):
        found.query("basic")


def test_ops_that_a_library_makes_can_be_asked_for_attributes() -> None:
    """`hasattr` is answered; the error of an attribute that is missing says why."""
    op = type("OwnRV", (graph_classes.find("SymbolicRandomVariable"),), {"name": "own"})()  # type: ignore[misc]
    assert op.name == "own"
    assert not hasattr(op, "make_node")
    with pytest.raises(AttributeError, match=r"`OwnRV` .*does not imitate"):
        _ = op.make_node


def test_a_distribution_of_pymcs_making_is_refused_by_name() -> None:
    """One that draws by an op without `rng_fn` and declares nothing would otherwise take no parameters."""
    own = type("Own", (pm.Discrete,), {"rv_op": object()})
    with pytest.raises(MissingRuleError, match=r"Own draws by an op of PyTensor's .*`pm\.CustomDist`"):
        own.dist([1, 2])


def test_shapes_of_events_and_batches_are_told_by_what_is_given() -> None:
    """A shape, dims of the model, data, or parameters; lengths that contradict each other are refused."""
    assert get_support_shape_1d(None) is None
    assert get_support_shape_1d(4).eval() == 4
    assert get_support_shape_1d(None, shape=(2, 7), support_shape_offset=1).eval() == 6
    with pm.Model(coords={"row": range(3), "time": range(5)}):
        assert get_support_shape_1d(None, dims=("row", "time")).eval() == 5
    assert [n.eval().item() for n in get_support_shape(None, observed=np.zeros((2, 3, 4)), ndim_supp=2)] == [3, 4]
    with pytest.raises(ShapeError, match="the length 3 was given, but shape, dims or data have 4"):
        get_support_shape_1d(3, shape=(4,))
    with pytest.raises(ShapeError, match="2 axes or more were needed"):
        get_support_shape(None, shape=4, ndim_supp=2)
    size = implicit_size_from_params(np.zeros((5, 1)), pt.zeros((3, 2)), ndims_params=[0, 1])
    assert size.eval().tolist() == [5, 3]


def test_keys_and_sizes_are_brought_to_one_form() -> None:
    """A key is made where none is given, a size is a vector; what is no key is refused."""
    key = normalize_rng_param(None)
    assert key.dtype == "key"
    assert normalize_rng_param(key) is key
    assert normalize_size_param(None) is None
    assert normalize_size_param((2, 3)).eval().tolist() == [2, 3]
    with pytest.raises(DtypeError, match="a random key was needed"):
        normalize_rng_param(pt.dscalar("x"))


def test_keywords_of_variational_fits_can_be_read() -> None:
    """Programs sort their own keywords by the signatures of PyMC's functions; all that are there are taken here."""
    own = graph_classes.find("ObjectiveFunction")
    assert own is not None
    named = set(inspect.signature(own.step_function).parameters) - {"self"}
    with pm.Model():
        pm.Normal("x")
        pm.fit(method="advi", random_seed=1, progressbar=False, **dict.fromkeys(named))
    with pytest.raises(MissingPackageError, match="ObjectiveFunction"):
        own().step_function()


def test_a_chain_is_recorded_point_by_point() -> None:
    """As programs do with a point they found themselves: what comes out is a result of one draw."""
    with pm.Model() as model:
        s = pm.HalfNormal("s")
        pm.Deterministic("twice", 2 * s)
    trace = NDArray(model=model)
    trace.setup(draws=1, chain=0)
    trace.record({"s_log__": np.log(3.0)})
    trace.close()
    found = pm.to_inference_data(MultiTrace([trace]), model=model)
    assert float(found.posterior["twice"].item()) == pytest.approx(6.0)


def test_starting_points_by_seed() -> None:
    """Support points, given values, draws from the prior and noise, on either line."""
    with pm.Model() as model:
        s = pm.HalfNormal("s", 2.0)
        pm.Normal("x", 5.0, s, shape=3)
    plain = make_initial_point_fn(model=model)(1)
    assert plain.keys() == {"s_log__", "x"}
    assert plain["x"].tolist() == [5.0] * 3
    natural = make_initial_point_fn(model=model, overrides={s: 3.0}, return_transformed=False)(1)
    assert natural["s"] == pytest.approx(3.0)
    moved = make_initial_point_fn(model=model, jitter_rvs={model["x"]})
    assert np.ptp(moved(1)["x"]) > 0
    assert np.abs(moved(1)["x"] - 5.0).max() < 1
    assert moved(1)["x"].tolist() == moved(1)["x"].tolist() != moved(2)["x"].tolist()
    assert moved(1)["s_log__"] == plain["s_log__"]
    prior = make_initial_point_fn(model=model, default_strategy="prior")
    assert prior(1)["x"].tolist() != prior(2)["x"].tolist()
    with pytest.raises(ValueError, match="'support_point' or 'prior', got 'moment'"):
        make_initial_point_fn(model=model, default_strategy="moment")


def test_a_seed_for_each_chain() -> None:
    """Given ones as they are, and one integer's are reproducible and differ."""
    assert _get_seeds_per_chain(3, 1) == (3,)
    assert _get_seeds_per_chain([4, 5], 2) == [4, 5]
    seeds = _get_seeds_per_chain(3, 50)
    assert len(set(seeds)) == 50
    assert seeds == _get_seeds_per_chain(3, 50) == _get_seeds_per_chain(np.random.default_rng(3), 50)
    assert len(_get_seeds_per_chain(np.random.RandomState(1), 2)) == len(_get_seeds_per_chain(None, 2)) == 2
    with pytest.raises(ValueError, match="each of 3 chains is needed, got 2"):
        _get_seeds_per_chain([4, 5], 3)


def test_dist_is_a_class_method_for_inspect() -> None:
    """Libraries list its parameters without the class, in whichever of two ways."""
    assert inspect.getfullargspec(pm.Normal.dist).args == ["cls", "mu", "sigma", "tau"]
    assert [*inspect.signature(pm.Normal.dist).parameters][:3] == ["mu", "sigma", "tau"]
    assert isinstance(pm.Normal.dist, MethodType)
    assert pm.Normal.dist.__self__ is pm.Normal
    assert pickle.loads(pickle.dumps(pm.Normal.dist))(0, 1).static_shape == ()


def test_variables_in_words() -> None:
    """As the model's own lines, for a variable alone."""
    with pm.Model():
        a = pm.Normal("a", 0, 5)
        y = pm.Normal("y", a + 1, pm.HalfNormal("sigma"), observed=1.0)
        d = pm.Deterministic("d", a * 2)
    assert [v.str_repr() for v in (a, y, d)] == [
        "a ~ Normal(0, 5)",
        "y ~ Normal(f(a), sigma)",
        "d ~ Deterministic(f(a))",
    ]
    assert pm.Normal.dist(0, 5).str_repr() == "Normal(0, 5)"
    assert y.str_repr(include_params=False) == "y ~ Normal"
    assert a.str_repr("latex") == r"$\text{a} \sim \operatorname{Normal}(0,~5)$"
    with pytest.raises(ValueError, match="'plain' or 'latex', got 'html'"):
        a.str_repr("html")


@pytest.mark.parametrize("bounds", [(40.0, None), (40.0, 80.0), (None, -1e5)])
def test_truncated_normals_reach_far_tails(bounds: tuple[float | None, float | None]) -> None:
    """Draws beyond the numbers whose tail probability is one: 1 / 40 above a bound 40 standard deviations out."""
    lower, upper = bounds
    rv = pm.Truncated.dist(pm.Normal.dist(0.0, 1.0), lower=lower, upper=upper)
    assert isinstance(rv.owner.op, pm.TruncatedNormal.rv_type)
    draws = pm.draw(rv, 2000, random_seed=1)
    bound = abs(lower if lower is not None else upper or 0.0)
    assert np.mean(np.abs(draws) - bound) == pytest.approx(1 / bound, rel=0.1)


def test_far_bounds_on_both_sides_give_no_false_number() -> None:
    """Where the quantiles of a distribution do not reach, a draw is NaN, not the other bound."""
    rv = pm.Truncated.dist(pm.Logistic.dist(0.0, 1.0), lower=800.0, upper=1600.0)
    with pytest.warns(pm.ConsilienceWarning, match="Truncated"):
        assert np.isnan(pm.draw(rv, 3, random_seed=1)).all()


@pytest.mark.parametrize("jacobian", [True, False])
def test_factors_of_unconstrained_values(jacobian: bool) -> None:
    """Those of the model, for the variables asked for, with and without the volume of their transforms."""
    with pm.Model() as model:
        s = pm.HalfNormal("s")
        p = pm.Dirichlet("p", np.ones(3), shape=(2, 3))
        y = pm.Normal("y", 0.0, s, shape=2)
    values, transforms = model.rvs_to_values, model.rvs_to_transforms
    factors = transformed_conditional_logp(
        [p, s], rvs_to_values=values, rvs_to_transforms=transforms, jacobian=jacobian, warn_rvs=False
    )
    point = {"s_log__": -0.3, "p_simplex__": [[0.1, -0.2], [1.0, 0.5]], "y": [0.4, -1.0]}
    got = model.compile_fn(factors)(point)
    wanted = model.compile_logp(vars=[p, s], sum=False, jacobian=jacobian)(point)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert [factor.ndim for factor in factors] == [1, 0]
    (of_y,) = transformed_conditional_logp([y], rvs_to_values={y: values[y], s: pt.constant(2.0)}, rvs_to_transforms={})
    np.testing.assert_allclose(of_y.eval({values[y]: [1.0, 2.0]}), pm.logp(pm.Normal.dist(0, 2), [1.0, 2.0]).eval())


def test_data_with_named_dims_are_shared_variables():
    """As a tensor's are, so that programs ask them for the array they hold; what is computed of them is none."""
    with pm.Model(coords={"obs": [1, 2]}) as model:
        x = pm.dims.Data("x", np.ones(2), dims="obs")
    assert isinstance(x, SharedVariable)
    assert not isinstance(2.0 * x, SharedVariable)
    before = x.get_value(borrow=True)
    assert model["x"].get_value(borrow=True) is before
    with model:
        pm.set_data({"x": np.ones(2)})
    assert x.get_value(borrow=True) is not before
