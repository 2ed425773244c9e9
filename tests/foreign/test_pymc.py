"""Live models of PyMC have the same density here: the gallery, at random points, to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import MissingRuleError, ModelError
from consilience.foreign import from_pymc
from consilience.model.log_density import model_density
from tests.foreign import gallery_of_clients as gallery_of_clients  # adds its models
from tests.foreign import gallery_of_loops as gallery_of_loops
from tests.foreign.gallery import MODELS

pymc = pytest.importorskip("pymc")
rewrite_graph = pytest.importorskip("pytensor.graph.rewriting.utils").rewrite_graph
pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's own, and those of its dependencies

# PyMC leaves constants out of the densities of autoregressions in space.
UP_TO_A_CONSTANT = {"conditional_autoregression", "intrinsic_autoregression"}
OLD = pymc.__version__.startswith("5.")
if not OLD:
    pytest.importorskip("pymc.dims")  # registers rewrites, which fails once others have run
if tuple(map(int, pymc.__version__.split(".")[:2])) < (6, 4):  # their constant of LKJ densities is another one
    UP_TO_A_CONSTANT |= {"multivariate_normal_with_lkj", "varying_slopes_with_lkj"}


@contextmanager
def double_precision() -> Iterator[None]:
    """PyTensor keeps constants in as few bits as they fit, and computes the logarithm of 2.0 in single precision."""
    from pytensor.scalar.basic import autocast_float, autocast_int

    before = autocast_float.dtypes, autocast_int.dtypes
    autocast_float.dtypes, autocast_int.dtypes = ("float64",), ("int64",)
    try:
        yield
    finally:
        autocast_float.dtypes, autocast_int.dtypes = before


def points(theirs: Any, count: int) -> list[dict[str, Any]]:
    """Random points of PyMC's value variables; whole numbers stay where they are."""
    rng = np.random.default_rng(5)
    start = theirs.initial_point()
    return [
        {
            name: v if v.dtype.kind in "iu" else np.asarray(np.asarray(v) + 0.5 * rng.normal(size=np.shape(v)))
            for name, v in start.items()
        }
        for _ in range(count)
    ]


def compared(
    theirs: Any, ours: pm.Model, count: int = 5, normalised: bool = False, tolerance: float | None = None
) -> None:
    """Log density and gradient are the same; up to a constant where PyMC's is not normalised.

    tolerance   of slopes in parts of the largest one, and of the density; 1e-9 of each by default
    """
    own_logp, own_slopes = ours.compile_logp(), ours.compile_dlogp()
    logp = theirs.compile_logp(mode="FAST_COMPILE")
    plain = ("lower_xtensor", "canonicalize", "stabilize")  # named axes have no derivatives
    cost = rewrite_graph(theirs.logp(), include=plain)
    slopes = theirs.compile_fn(
        pymc.pytensorf.gradient(cost, theirs.continuous_value_vars), inputs=theirs.value_vars, mode="FAST_COMPILE"
    )
    names = {rv.name: theirs.rvs_to_values[rv].name for rv in theirs.free_RVs}
    assert [v.name for v in ours.free] == list(names)
    constant: float | None = None if normalised else 0.0
    for point in points(theirs, count):
        at = {str(v.value.name): point[names[v.name]] for v in ours.free}
        value = own_logp(at)
        if constant is None:
            constant = value - float(logp(point))
        value -= constant
        close = tolerance or 1e-9
        assert value == pytest.approx(float(logp(point)), rel=close, abs=close)
        if not np.isfinite(value):
            continue  # PyMC has slopes outside of the support
        wanted = slopes(point)
        largest = max(1.0, float(np.abs(wanted).max(initial=0.0))) if tolerance else 1.0
        assert np.allclose(own_slopes(at), wanted, rtol=close, atol=close * largest)


@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_of_the_gallery_are_pymcs(name: str) -> None:
    if OLD and name in {"truncated_gamma", "hurdle_counts"}:
        pytest.skip("loops of PyMC 5 count in the precision that constants have by default")
    if OLD and "named_axes" in name:
        pytest.skip("PyMC 5 has no named axes")
    with double_precision():
        theirs = MODELS[name](pymc)
        compared(theirs, from_pymc(theirs), normalised=name in UP_TO_A_CONSTANT)


def test_hierarchies_can_be_written_in_other_coordinates() -> None:
    """The variables are like those of a model written here, whose transforms are the default ones."""
    ours = from_pymc(MODELS["eight_schools_centred"](pymc))
    other = pm.noncenter(ours, "theta")
    assert [v.name for v in other.free_RVs] == ["mu", "tau", "theta_raw"]
    at = {"mu": 2.0, "tau_log__": 1.5, "theta": np.linspace(-3, 9, 8)}
    raw = {"mu": 2.0, "tau_log__": 1.5, "theta_raw": (at["theta"] - 2.0) / np.exp(1.5)}
    assert other.compile_logp()(raw) == pytest.approx(ours.compile_logp()(at) + 8 * 1.5, rel=1e-12)


@pytest.mark.skipif(OLD, reason="`LKJCorr` is a matrix of correlations in PyMC 5")
def test_factors_of_correlations_have_pymcs_density_in_other_coordinates() -> None:
    """The unconstrained vector has another order here, so densities are compared on the variable's own scale."""
    from tests.foreign.gallery import X

    with double_precision(), pymc.Model() as theirs:
        factor = pymc.LKJCorr("factor", n=3, eta=2.0)
        pymc.MvNormal("y", np.zeros(3), chol=factor, observed=X)
    ours = from_pymc(theirs)
    density = model_density(ours, jacobian=False)
    logp = theirs.compile_logp(jacobian=False, mode="FAST_COMPILE")
    transform = theirs.rvs_to_transforms[theirs["factor"]]
    for point in points(theirs, 3):
        (name,) = point
        value = transform.backward(point[name], *theirs["factor"].owner.inputs).eval()
        position = density.unconstrained({"factor": value[None]})[0]
        assert density(position)[0] == pytest.approx(float(logp(point)), rel=1e-9)


@pytest.mark.parametrize("name", ["eight_schools_noncentred", "linear_regression_with_data", "missing_values"])
def test_names_dims_and_deterministics_are_pymcs(name: str) -> None:
    theirs = MODELS[name](pymc)
    ours = from_pymc(theirs)
    assert list(ours.named_vars) == list(theirs.named_vars)
    assert [v.name for v in ours.free_RVs] == [v.name for v in theirs.free_RVs]
    assert {k: v for k, v in ours.named_vars_to_dims.items() if v} == {
        k: tuple(v) for k, v in theirs.named_vars_to_dims.items()
    }
    point = theirs.initial_point()
    assert list(ours.initial_point()) == list(point)
    for deterministic in theirs.deterministics:
        (graph,) = ours.replace_rvs_by_values([ours[deterministic.name]])
        wanted = theirs.compile_fn(
            theirs.replace_rvs_by_values([deterministic]), inputs=theirs.value_vars, on_unused_input="ignore"
        )(point)[0]
        assert np.allclose(ours.compile_fn(graph)(ours.initial_point()), wanted, rtol=1e-7)


def test_initial_values_and_data_come_over_and_data_can_be_exchanged() -> None:
    with pymc.Model(coords={"k": [10, 20]}) as theirs:
        x = pymc.Data("x", np.ones(4))
        a = pymc.HalfNormal("a", 1.0, dims="k", initval=np.array([0.5, 2.0]))
        pymc.Normal("y", a[0] * x, a[1], observed=np.zeros(4))
    ours = from_pymc(theirs)
    assert np.allclose(ours.initial_point()["a_log__"], np.log([0.5, 2.0]))
    assert ours.coords["k"] == (10, 20)
    before = ours.log_density()(np.zeros(2))[0]
    pm.set_data({"x": np.full(4, 3.0)}, model=ours)
    assert ours.log_density()(np.zeros(2))[0] == pytest.approx(before - 0.5 * 4 * 8.0)


def test_posterior_is_that_of_the_same_model_in_our_words() -> None:
    from tests.foreign.gallery import ERRORS, SCHOOLS

    with double_precision():
        taken = from_pymc(MODELS["eight_schools_noncentred"](pymc))
    with pm.Model() as own:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", size=8)
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, ERRORS, observed=SCHOOLS)
    first, second = (pm.sample(model=m, random_seed=4, progressbar=False, target_accept=0.95) for m in (taken, own))
    assert first.status == "converged"
    assert np.allclose(first.posterior["theta"][:, 0], second.posterior["theta"][:, 0])
    assert abs(float(first.posterior["mu"].mean() - second.posterior["mu"].mean())) < 0.5


def test_what_is_unknown_is_refused_by_its_name() -> None:
    import pytensor.tensor as pt

    with pymc.Model() as theirs:
        x = pymc.Normal("x", shape=3)
        pymc.Potential("p", pt.unique(x).sum())
    with pytest.raises(MissingRuleError, match="op `Unique`") as told:
        from_pymc(theirs)
    assert "variable `p`" in told.value.__notes__[0]
    with pymc.Model() as theirs:
        pymc.Simulator("s", lambda rng, m, size: rng.normal(m, size=size), 0.0, observed=np.zeros(3))
    with pytest.raises(MissingRuleError, match="Simulator"):
        from_pymc(theirs)
    with pymc.Model() as theirs:
        pymc.Normal("y", pymc.Normal("m"), 1.0, observed=pymc.Minibatch(np.arange(100.0), batch_size=10))
    with pytest.raises(MissingRuleError, match="Minibatch"):
        from_pymc(theirs)

    class Own(pymc.logprob.transforms.Transform):  # type: ignore[misc]  # a class of PyMC
        name = "own"

        def forward(self, value: Any, *inputs: Any) -> Any:
            return 2 * value

        def backward(self, value: Any, *inputs: Any) -> Any:
            return value / 2

    with pymc.Model() as theirs:
        pymc.Normal("x", transform=Own())
    with pytest.raises(MissingRuleError, match="transform `Own` of `x`"):
        from_pymc(theirs)
    with pytest.raises(ModelError, match=r"`pymc\.Model`, got int"):
        from_pymc(3)


def test_a_graph_of_pytensor_becomes_a_tensor() -> None:
    import pytensor.tensor as pt

    x, a = pt.vector("x"), pt.matrix("a")
    graph = pt.linalg.cholesky(a @ a.T + pt.eye(3))[1:, 0].sum() + pt.logsumexp(x[::-1]) * pt.softplus(x).prod()
    given = {x: np.array([0.1, -2.0, 3.0]), a: np.arange(9.0).reshape(3, 3)}
    assert pm.from_pytensor(graph, given).eval() == pytest.approx(float(graph.eval(given)))
    (both,) = pm.from_pytensor([graph])
    ours = {leaf.name: leaf for leaf in pm.graph.explicit_graph_inputs(both)}
    f = pm.function([ours["x"], ours["a"]], both)
    assert f(*given.values()) == pytest.approx(float(graph.eval(given)))
