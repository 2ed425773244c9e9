"""What cannot be integrated though it is asked for, and blocks at the edge of what can: a message, or right numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import cholesky_banded, solveh_banded

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ImputationWarning, ModelError, ParameterError
from consilience.model.integration import check, integrable
from consilience.model.summation import summable, without
from consilience.scan import scan

N = 120
Y = np.cumsum(0.3 * np.random.default_rng(5).normal(size=N)) + 0.4 * np.random.default_rng(6).normal(size=N)
FIXED: dict[str, Any] = {
    "draws": 60, "tune": 60, "chains": 2, "compute_convergence_checks": False, "progressbar": False, "random_seed": 2,
}  # fmt: skip
ordered = pm.distributions.transforms.ordered


def built(build: Callable[..., Any], *arguments: Any) -> pm.Model:
    with pm.Model() as model:
        build(*arguments)
    return model


def walk(init: Any = None, scale: float = 1.0) -> Any:
    start = pm.Normal.dist(0, 2) if init is None else init
    return pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s", scale), init_dist=start, shape=N)


def seen(x: Any, y: Any = Y) -> None:
    pm.Normal("y", x, pm.HalfNormal("noise"), observed=y)


def improper_and_observed_nowhere() -> None:
    pm.Flat("x", shape=N)
    seen(0.0)


def ordered_positions() -> None:
    seen(pm.Normal("x", 0, pm.HalfNormal("s"), shape=N, transform=ordered, initval=np.linspace(-1, 1, N)))


def ordered_rates() -> None:
    x = pm.Gamma("x", pm.HalfNormal("s") + 1, 1, shape=240, transform=ordered, initval=np.linspace(1, 2, 240))
    pm.Poisson("y", x, observed=np.ones(240, int))


def probabilities_of_a_part() -> None:
    x = pm.Beta("x", 1 + pm.HalfNormal("s"), 1, shape=240, transform=pm.distributions.transforms.Interval(0.2, 0.8))
    pm.Bernoulli("y", x, observed=np.ones(240, int))


def normal_for_one_value_of_a_discrete_variable() -> None:
    x = walk()
    pm.Potential("pull", pt.switch(pm.Bernoulli("z", 0.3), -pt.sum(x**4), 0.0))
    seen(x)


def noise_of_a_discrete_variable() -> None:
    pm.Normal("y", walk(), pt.switch(pm.Bernoulli("z", 0.3), 0.4, 1.4), observed=Y)


def student_data() -> None:
    pm.StudentT("y", 4, walk(), 1.0, observed=Y)


def ordinal_data() -> None:
    pm.OrderedLogistic("y", eta=walk(), cutpoints=np.array([-0.5, 0.5]), observed=np.arange(N) % 3)


def zero_inflated_data() -> None:
    pm.ZeroInflatedPoisson("y", 0.7, pt.exp(walk()), observed=np.arange(N) % 3)


def a_potential_that_is_not_quadratic() -> None:
    x = walk()
    pm.Potential("pull", -pt.sum(pt.abs(x)))
    seen(x)


def laplace_data() -> None:
    """Whose second derivative is 0 wherever it is known, as that of a linear function is."""
    pm.Laplace("y", walk(), pm.HalfNormal("b"), observed=Y)


def positive_parts() -> None:
    seen(pt.maximum(walk(), 0.0))


def what_a_comparison_chooses() -> None:
    x = walk()
    seen(pt.where(x > 0.3, x, 0.0))


def a_deterministic_that_data_need() -> None:
    x = walk()
    seen(x)
    pm.Poisson("k", pm.Deterministic("last", pt.exp(x[-1])), observed=3)


def no_elements() -> None:
    seen(pm.Normal("x", 0, pm.HalfNormal("s"), shape=0), np.zeros(0))


def sums_to_zero() -> None:
    seen(pm.ZeroSumNormal("x", pm.HalfNormal("s"), shape=N))


REFUSED = {
    improper_and_observed_nowhere: "`x` has an improper prior",
    ordered_positions: "`x`, but it has a transform of its own",
    ordered_rates: "`x`, but it has a transform of its own",
    probabilities_of_a_part: "`x`, but it has a transform of its own",
    normal_for_one_value_of_a_discrete_variable: "not quadratic in `x`|`x` and discrete variables",
    noise_of_a_discrete_variable: "`x` and discrete variables",
    student_data: "not quadratic in `x`",
    ordinal_data: "not quadratic in `x`",
    zero_inflated_data: "not quadratic in `x`",
    a_potential_that_is_not_quadratic: "not quadratic in `x`",
    laplace_data: "not quadratic in `x`",
    positive_parts: "not quadratic in `x`",
    what_a_comparison_chooses: "not quadratic in `x`",
    a_deterministic_that_data_need: "not quadratic in `x`",
    no_elements: "not quadratic in `x`, or constant",
    sums_to_zero: "`x`, but it has a support over which no integral is known",
}


@pytest.mark.parametrize("build", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_integrated_is_refused_by_name_and_stays_by_default(build: Callable[[], None]) -> None:
    model = built(build)
    summed = summable(model)
    with pytest.raises(ModelError, match=REFUSED[build]):
        check(model, ["x"], summed)
    assert integrable(model, (), summed) == ()


def two_sums(K: Any) -> Any:
    """A loop with two results."""
    sums, squares = scan(lambda row, a, b: (a + row.sum(), b + (row**2).sum()), sequences=[K],
                         outputs_info=[pt.constant(0.0), pt.constant(0.0)], return_updates=False)  # fmt: skip
    return sums[-1] + squares[-1]


SEVERAL_RESULTS: dict[str, Any] = {
    "eigh": lambda K: pt.linalg.eigh(K)[0].max(),
    "svd": lambda K: pt.linalg.svd(K)[1].max(),
    "qr": lambda K: pt.linalg.qr(K)[1][0, 0],
    "slogdet": lambda K: pt.linalg.slogdet(K)[1],
    "scan": two_sums,
}
OF_ELEMENTS: dict[str, Any] = {
    "normal": lambda: pt.diag(pm.Normal("x", 0, pm.HalfNormal("s"), shape=3)),
    "positive": lambda: pt.diag(pm.Gamma("x", 2, pm.HalfNormal("s"), shape=3)),
    "unit": lambda: pt.diag(pm.Beta("x", 2, 1 + pm.HalfNormal("s"), shape=3)),
    "simplex": lambda: pt.diag(pm.Dirichlet("x", 1 + pm.HalfNormal("s") * np.ones(3))),
    "matrix": lambda: pm.Wishart("x", 5, np.eye(3)),
}


@pytest.mark.parametrize("several", SEVERAL_RESULTS)
@pytest.mark.parametrize("elements", OF_ELEMENTS)
def test_ops_with_several_results_are_refused_by_the_name_of_the_variable(elements: str, several: str) -> None:
    with pm.Model() as model:
        K = OF_ELEMENTS[elements]() + np.eye(3)
        pm.Normal("y", SEVERAL_RESULTS[several](K), pm.HalfNormal("noise"), observed=np.ones(4))
    with pytest.raises(ModelError, match="`x`"):
        pm.collapse(model, ["x"])
    with pytest.raises(ModelError, match="`x`"):
        check(model, ["x"])
    assert integrable(model, ()) == ()


def improper_start() -> None:
    seen(walk(pm.Flat.dist()))


def neighbours_without_a_level() -> None:
    """The precision of the prior is singular; data mend it."""
    W = np.eye(40, k=1) + np.eye(40, k=-1)
    seen(pm.Normal("level") + pm.ICAR("x", W=W, sigma=pm.HalfNormal("s")), Y[:40])


def equal_columns() -> None:
    x = pm.Normal("x", 0, pm.HalfNormal("s"), shape=30)
    seen(np.repeat(Y[:, None], 30, 1) @ x)


def equal_rows() -> None:
    x = pm.Normal("x", 0, pm.HalfNormal("s"), shape=30)
    seen(np.repeat(Y[None, :30], N, 0) @ x)


def a_part_observed() -> None:
    seen(walk()[:3], Y[:3])


def one_element() -> None:
    seen(pm.Normal("x", 0, pm.HalfNormal("s"), shape=1), Y)


def a_quadratic_potential() -> None:
    x = walk()
    pm.Potential("pull", -0.5 * pt.sum(x[::2] ** 2))
    seen(x)


@pytest.mark.parametrize(
    "build",
    [
        improper_start, neighbours_without_a_level, equal_columns, equal_rows, a_part_observed, one_element,
        a_quadratic_potential,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_singular_priors_and_data_are_integrated_as_algebra_has_it(build: Callable[[], None]) -> None:
    from tests.elimination.law import Plain, Whole

    model = built(build)
    collapsed = without(model, check(model, ["x"]))
    rest = {name: np.asarray(-0.4) for name in collapsed.initial_point()}
    wanted = Whole(Plain(model), ["x"], {"x": "normal"}, rest).integral()
    np.testing.assert_allclose(collapsed.compile_logp()(rest), wanted, rtol=1e-7)


@pytest.mark.parametrize("steps", [1e3, 1.0, 1e-3, 1e-5, 1e-7, 1e-9, 1e-12])
def test_an_integral_is_right_or_has_no_value_where_steps_are_next_to_nothing(steps: float) -> None:
    """Beside a precision of 1e18 rounding takes what the data say: then there is none, in place of a wrong one."""

    def levels() -> None:
        x = pm.GaussianRandomWalk("x", sigma=pm.LogNormal("s"), init_dist=pm.Normal.dist(0, 2), shape=N)
        pm.Normal("y", x, 2.0, observed=Y)

    value = pm.collapse(built(levels), "x").compile_logp()({"s_log__": np.log(steps)})
    t = np.arange(N)
    covariance = 4.0 + steps**2 * np.minimum(t[:, None], t) + 4.0 * np.eye(N)
    wanted = stats.multivariate_normal(np.zeros(N), covariance).logpdf(Y) + stats.norm.logpdf(np.log(steps))
    assert value == pytest.approx(wanted, abs=0.05) or (steps < 1e-6 and not np.isfinite(value))


@pytest.mark.parametrize("noise", [1e-12, 1e-8, 1e-4, 1.0, 1e4, 1e8, 1e12])
def test_an_integral_is_right_where_data_have_no_noise_or_say_nothing(noise: float) -> None:
    def levels() -> None:
        x = pm.GaussianRandomWalk("x", sigma=0.3, init_dist=pm.Normal.dist(0, 2), shape=N)
        pm.Normal("y", x, pm.LogNormal("s"), observed=Y)

    value = pm.collapse(built(levels), "x").compile_logp()({"s_log__": np.log(noise)})
    t = np.arange(N)
    covariance = 4.0 + 0.09 * np.minimum(t[:, None], t) + noise**2 * np.eye(N)
    wanted = stats.multivariate_normal(np.zeros(N), covariance).logpdf(Y) + stats.norm.logpdf(np.log(noise))
    assert value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
def test_a_block_of_many_elements_has_the_density_of_banded_algebra() -> None:
    n, step, noise = 100_000, 0.3, 0.5
    y = np.sin(np.arange(n) / 500.0)

    def levels() -> None:
        x = pm.GaussianRandomWalk("x", sigma=pm.LogNormal("s"), init_dist=pm.Normal.dist(0, 2), shape=n)
        pm.Normal("y", x, noise, observed=y)

    model = built(levels)
    assert integrable(model) == ("x",)
    value = without(model, ["x"]).compile_logp()({"s_log__": np.log(step)})
    prior = np.zeros((2, n))  # the precision of the walk: its diagonal, and what is beside it
    prior[1] = np.r_[1 / 4 + 1 / step**2, np.full(n - 2, 2 / step**2), 1 / step**2]
    prior[0, 1:] = -1 / step**2
    after = prior + np.array([[0.0], [1 / noise**2]])
    volumes = [2 * np.log(cholesky_banded(own)[-1]).sum() for own in (prior, after)]
    middle = y / noise**2
    square = y @ middle - middle @ solveh_banded(after, middle)
    wanted = 0.5 * (volumes[0] - volumes[1] - square) - n * np.log(noise) - n / 2 * np.log(2 * np.pi)
    assert value == pytest.approx(wanted + stats.norm.logpdf(np.log(step)), rel=1e-9)


def matrices(nu: Any = 4.0, **more: Any) -> Any:
    return pm.Wishart("x", nu=nu, V=np.eye(2) * pm.HalfNormal("s"), **more)


def test_matrices_stay_where_a_user_transforms_them_and_degrees_of_freedom_may_be_next_to_too_few() -> None:
    with pytest.raises(ParameterError, match="nu must be > 1"):
        built(lambda: matrices(1.0))
    rows = np.zeros((0, 2))
    model = built(lambda: pm.MvNormal("y", np.zeros(2), tau=matrices(1.0 + 1e-9), observed=rows))
    prior = stats.halfnorm.logpdf(np.exp(0.1)) + 0.1
    assert pm.collapse(model, "x").compile_logp()({"s_log__": 0.1}) == pytest.approx(prior, abs=1e-6)
    own = pm.distributions.transforms.covariance_cholesky
    with pytest.raises(ModelError, match=r"`x`.* transform of its own"):
        pm.collapse(built(lambda: matrices(transform=own)), "x")


def test_a_run_moves_the_block_itself_where_its_integral_has_no_digits() -> None:
    model = built(lambda: seen(walk(scale=1e-10)))
    assert integrable(model) == ("x",)
    result = pm.sample(model=model, initvals={"x": np.zeros(N)}, **FIXED)
    assert json.loads(result.posterior.attrs["integrated"]) == {}
    assert abs(float(result.posterior["noise"].mean()) - Y.std()) < 1.0


def test_errors_of_a_run_name_what_is_integrated() -> None:
    def build() -> None:
        pm.Normal("y", pm.Flat("x", shape=N + 1)[:-1], pm.HalfNormal("noise"), observed=Y)

    model = built(build)
    with pytest.raises(pm.errors.InitialPointError, match=r"`x` integrated out: .* proper prior, or `integrate=False`"):
        pm.sample(model=model, integrate=["x"], **FIXED)
    with pytest.raises(ModelError, match="`integrate`: the model has no variable `z`; it has x, noise, y"):
        pm.sample(model=model, integrate=["z"], **FIXED)


@pytest.mark.parametrize("family", ["walk", "rates"])
def test_missing_data_of_a_block_are_drawn_with_it(family: str) -> None:
    """They follow from the block, and nothing depends on them: chains need not move them, nor know their values."""
    gone = np.arange(N) % 10 == 3

    def rates() -> None:
        a = pm.Exponential("a", 1.0)
        counts = np.ma.masked_array(np.arange(2 * N) % 4, np.tile(gone, 2))
        pm.Poisson("y", pm.Gamma("x", a, a, shape=2 * N), observed=counts)

    with pytest.warns(ImputationWarning):
        model = built(rates) if family == "rates" else built(lambda: seen(walk(), np.ma.masked_array(Y, gone)))
    result = pm.sample(model=model, **FIXED)
    posterior = result.posterior
    assert set(json.loads(posterior.attrs["marginalized"])) == {"x", "y_unobserved"}
    x = np.asarray(posterior["x"])[..., np.tile(gone, 2) if family == "rates" else gone]
    residuals = np.asarray(posterior["y_unobserved"]) - x
    scale = np.sqrt(x) if family == "rates" else np.asarray(posterior["noise"])[..., None]
    assert abs((residuals / scale).mean()) < 0.1
    assert (residuals / scale).std() == pytest.approx(1.0, abs=0.1)


def test_blocks_whose_length_data_decide_are_integrated_and_follow_new_data() -> None:
    with pm.Model() as model:
        data = pm.Data("data", Y[:80])
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(0, 2), shape=data.shape[0])
        pm.Normal("y", x, pm.HalfNormal("noise"), observed=data)
    for length, names in ((80, ("x",)), (100, ("x",)), (5, ())):
        with model:
            pm.set_data({"data": Y[:length]})
        assert integrable(model) == names
    with model:
        pm.set_data({"data": Y[:100]})
    result = pm.sample(model=model, **FIXED)
    assert result.posterior["x"].shape == (2, 60, 100)
    assert list(json.loads(result.posterior.attrs["integrated"])) == ["x"]


def test_a_deterministic_that_is_a_variable_itself_leaves_it_its_name() -> None:
    with pm.Model() as model:
        p = pm.Beta("p", pm.HalfNormal("a"), 1.0)
        pm.Deterministic("chance", p)
        pm.Poisson("y", pm.Gamma("x", 2.0, 1.0), observed=3)
    collapsed = pm.collapse(model, "x")
    assert [v.name for v in collapsed.free_RVs] == ["a", "p"]
    assert [v.name for v in collapsed.value_vars] == ["a_log__", "p_logodds__"]
