"""The density of linear Gaussian state spaces: against statsmodels, joint normal distributions, and differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.stats as st

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError

Array = npt.NDArray[Any]
SAID = json.loads((Path(__file__).parent / "statsmodels.json").read_text())
NAMES = [name for name in SAID if name != "statsmodels"]


def matrices(name: str) -> dict[str, Any]:
    """Arguments of the distribution for a model of the file."""
    own = SAID[name]
    found = {k: np.array(own[k]) for k in ("T", "Z", "H", "Q", "R", "c", "d", "a0", "P0")}
    return found | {"initial": own["initial"], "varying": own["varying"]}


def series(name: str, which: str) -> Array:
    """A series of the file; None is NaN."""
    return np.array(SAID[name][which]["y"], float)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["whole", "gaps"])
def test_log_densities_are_those_of_statsmodels(name: str, which: str) -> None:
    """To 1e-12, exact diffuse initial states and rows that are missing in part included."""
    y = series(name, which)
    rv = pm.LinearGaussianStateSpace.dist(**matrices(name), steps=len(y) - 1)
    assert pm.logp(rv, y).eval() == pytest.approx(SAID[name][which]["logp"], rel=1e-12)


@pytest.mark.parametrize("name", ["AR", "VARMA with errors", "factor"])
def test_stationary_states_are_those_of_statsmodels(name: str) -> None:
    given = matrices(name)
    y = series(name, "gaps")
    stationary = {k: v for k, v in given.items() if k not in ("a0", "P0")} | {"initial": "stationary"}
    rv = pm.LinearGaussianStateSpace.dist(**stationary, steps=len(y) - 1)
    assert pm.logp(rv, y).eval() == pytest.approx(SAID[name]["gaps"]["logp"], rel=1e-10)


def moments(given: dict[str, Any], times: int) -> tuple[Array, Array]:
    """Mean and covariance of the whole series, by definition; matrices constant."""
    T, Z, H, c, d = (np.asarray(given[k]) for k in "TZHcd")
    noise = given["R"] @ given["Q"] @ np.asarray(given["R"]).T
    means, own = [given["a0"]], [given["P0"]]
    for _ in range(times - 1):
        means.append(c + T @ means[-1])
        own.append(T @ own[-1] @ T.T + noise)
    joint = [
        [
            np.linalg.matrix_power(T, i - j) @ own[j] if i >= j else own[i] @ np.linalg.matrix_power(T, j - i).T
            for j in range(times)
        ]
        for i in range(times)
    ]
    seen = np.kron(np.eye(times), Z)
    covariance = seen @ np.block(joint) @ seen.T + np.kron(np.eye(times), H)
    return seen @ np.concatenate(means) + np.tile(d, times), covariance


def some(n: int, p: int, r: int, seed: int) -> dict[str, Any]:
    """A space with noise of less dimensions than states, and correlated errors of less than observations."""
    rng = np.random.default_rng(seed)
    T, half, first, error = (rng.normal(size=s) for s in ((n, n), (r, r), (n, max(1, n - 1)), (p, max(1, p - 1))))
    return {
        "T": 0.8 * T / max(abs(np.linalg.eigvals(T))), "Z": rng.normal(size=(p, n)), "R": rng.normal(size=(n, r)),
        "Q": half @ half.T, "P0": first @ first.T, "a0": rng.normal(size=n), "H": error @ error.T + 0.0,
        "c": rng.normal(size=n), "d": rng.normal(size=p),
    }  # fmt: skip


@pytest.mark.parametrize(("n", "p", "r"), [(1, 1, 1), (3, 2, 1), (2, 3, 2), (9, 1, 2)])
@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_missing_rows_and_parts_of_rows_are_summed_out(n: int, p: int, r: int, backend: str) -> None:
    """The joint normal distribution of what is there, with a singular covariance of states and errors."""
    given = some(n, p, r, seed=n)
    y = np.random.default_rng(4).normal(size=(7, p))
    y[0, 0] = y[3] = y[6, -1] = np.nan
    there = ~np.isnan(y.ravel())
    mean, covariance = moments(given, 7)
    wanted = st.multivariate_normal(mean[there], covariance[np.ix_(there, there)]).logpdf(y.ravel()[there])
    rv = pm.LinearGaussianStateSpace.dist(**given, steps=6)
    found = pm.function([], pm.logp(rv, y), mode=backend)()
    assert found == pytest.approx(wanted, rel=1e-9)


def gradient_error(given: dict[str, Any], y: Array, names: str, **more: Any) -> float:
    """How far slopes along random directions are from differences, relative to 1 + their size."""
    rng = np.random.default_rng(2)
    keys = [name for name in given if name in names.split()]
    inputs = {name: pt.tensor(name, shape=np.shape(given[name])) for name in keys}
    rv = pm.LinearGaussianStateSpace.dist(**{**given, **inputs}, **more, steps=y.shape[-2] - 1)
    density = pt.sum(pm.logp(rv, y))
    both = pm.function(list(inputs.values()), [density, *pt.grad(density, list(inputs.values()))])
    at = [np.asarray(given[name], float) for name in keys]
    worst = 0.0
    for k, name in enumerate(keys):
        way = rng.normal(size=at[k].shape)
        if name in ("Q", "H", "P0"):  # symmetric, and within what is there
            way = at[k] * 0.3
        ends = [both(*at[:k], at[k] + s * 1e-5 * way, *at[k + 1 :])[0] for s in (-2, -1, 1, 2)]
        wanted = (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / 12e-5
        found = (both(*at)[1 + k] * way).sum()
        worst = max(worst, abs(found - wanted) / (1 + abs(wanted)))
    return worst


ALL = "T Z H Q R c d a0 P0"


@pytest.mark.parametrize("times", [1, 2, 40, 90])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_slopes_are_those_of_differences(times: int, gaps: float) -> None:
    """By every argument; blocks of steps are made again."""
    given = some(4, 2, 2, seed=1)
    rng = np.random.default_rng(5)
    y = rng.normal(size=(times, 2))
    y[rng.random(y.shape) < gaps] = np.nan
    assert gradient_error(given, y, ALL) < 1e-6


def test_slopes_where_the_filter_has_settled_and_is_disturbed() -> None:
    given = some(3, 2, 3, seed=3) | {"H": np.diag([0.5, 0.7])}
    given["T"] = given["T"] * 0.5
    y = np.random.default_rng(5).normal(size=(300, 2))
    y[120, 0] = y[121] = np.nan
    assert gradient_error(given, y, ALL) < 1e-6


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_slopes_where_nothing_is_known_at_first(gaps: float) -> None:
    given = some(4, 2, 4, seed=1) | {"H": np.diag([0.5, 0.7])}
    rng = np.random.default_rng(5)
    y = rng.normal(size=(30, 2))
    y[rng.random(y.shape) < gaps] = np.nan
    assert gradient_error(given, y, "T Z H Q R c d", initial=["diffuse", "known", "diffuse", "diffuse"]) < 1e-6


def test_slopes_of_stationary_states() -> None:
    given = {k: v for k, v in some(4, 1, 2, seed=1).items() if k not in ("a0", "P0")} | {"H": np.eye(1)}
    assert (
        gradient_error(given, np.random.default_rng(5).normal(size=(20, 1)), "T Z Q R c d", initial="stationary") < 1e-6
    )


def test_slopes_of_matrices_that_vary_in_time() -> None:
    rng = np.random.default_rng(8)
    given = some(3, 2, 2, seed=6)
    moving = {
        name: np.stack([x * (1 + 0.2 * rng.normal()) ** 2 for _ in range(12)])
        for name, x in given.items() if name not in ("a0", "P0")
    }  # fmt: skip
    y = rng.normal(size=(12, 2))
    y[4, 1] = np.nan
    assert gradient_error(given | moving, y, ALL, varying="T Z H Q R c d") < 1e-6


def test_matrices_that_vary_in_time_are_those_of_the_joint_distribution() -> None:
    """Two steps by hand: each matrix leads from its time to the next, errors have the covariance of their time."""
    rng = np.random.default_rng(1)
    T, Z, Q = rng.normal(size=(2, 2, 2)), rng.normal(size=(2, 2, 2)), np.stack([np.eye(2), 3 * np.eye(2)])
    H = np.stack([[[1.0, 0.5], [0.5, 2.0]], [[3.0, -1.0], [-1.0, 1.0]]])
    c, d = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))
    later = T[0] @ T[0].T + Q[0]
    covariance = np.block([[Z[0] @ Z[0].T, Z[0] @ T[0].T @ Z[1].T], [Z[1] @ T[0] @ Z[0].T, Z[1] @ later @ Z[1].T]])
    mean = np.concatenate([d[0], d[1] + Z[1] @ c[0]])
    y = rng.normal(size=(2, 2))
    wanted = st.multivariate_normal(mean, covariance + scipy.linalg.block_diag(*H)).logpdf(y.ravel())
    rv = pm.LinearGaussianStateSpace.dist(
        P0=np.eye(2), T=T, Z=Z, H=H, Q=Q, c=c, d=d, varying=("T", "Z", "H", "Q", "c", "d"), steps=1
    )
    assert pm.logp(rv, y).eval() == pytest.approx(wanted, rel=1e-12)
    draws = np.asarray(pm.draw(rv, draws=20_000, random_seed=1)).reshape(20_000, 4)
    whole = covariance + scipy.linalg.block_diag(*H)
    assert np.all(np.abs(draws.mean(0) - mean) < 5 * np.sqrt(np.diag(whole) / 20_000))
    error = np.sqrt((np.outer(np.diag(whole), np.diag(whole)) + whole**2) / 20_000)
    assert np.all(np.abs(np.cov(draws.T) - whole) < 5 * error)


def test_a_panel_is_one_call() -> None:
    """Each series with gaps of its own, one matrix of its own and the others shared."""
    given = some(3, 1, 1, seed=2)
    rng = np.random.default_rng(3)
    y = rng.normal(size=(5, 30, 1))
    y[rng.random(y.shape) < 0.2] = np.nan
    Q = np.linspace(0.5, 2, 5)[:, None, None] * given["Q"]
    panel = pm.logp(pm.LinearGaussianStateSpace.dist(**given | {"Q": Q}, steps=29), y).eval()
    alone = [
        pm.logp(pm.LinearGaussianStateSpace.dist(**given | {"Q": own}, steps=29), z).eval()
        for own, z in zip(Q, y, strict=True)
    ]
    assert panel == pytest.approx(np.array(alone), rel=1e-12)
    assert gradient_error(given | {"Q": Q}, y, ALL) < 1e-6


LEVEL: dict[str, Any] = {"T": [[1.0]], "Z": [[1.0]], "H": [[1.0]], "Q": [[0.3]], "initial": "diffuse"}
SEASON = {
    "T": np.vstack([-np.ones((1, 11)), np.eye(11)[:-1]]), "Z": np.eye(11)[:1], "H": [[1.0]], "Q": [[0.5]],
    "R": np.eye(11)[:, :1], "initial": "diffuse",
}  # fmt: skip


def logp(y: Any, **given: Any) -> float:
    """Log density of a series."""
    y = np.asarray(y, float).reshape(len(y), -1)
    return float(pm.logp(pm.LinearGaussianStateSpace.dist(**given, steps=len(y) - 1), y).eval())


def arma(rho: float, moving: float, times: int) -> Array:
    """Autocovariances of an ARMA(1, 1) with innovations of variance 1."""
    first = (1 + 2 * rho * moving + moving**2) / (1 - rho**2)
    return np.concatenate([[first], (rho * first + moving) * rho ** np.arange(times - 1)])


class TestBadInput:
    """What series and covariances can be like, and what the density is then."""

    def test_gaps_at_the_ends_and_everywhere(self) -> None:
        y = np.array([1.0, 1.5, 0.7, 2.0])
        inside = logp(y, **LEVEL)
        assert logp([np.nan, np.nan, *y, np.nan], **LEVEL) == pytest.approx(inside, rel=1e-13)
        assert logp([np.nan] * 5, **LEVEL) == 0.0

    def test_short_series(self) -> None:
        assert logp([3.0], **LEVEL) == pytest.approx(-0.5 * np.log(2 * np.pi))
        assert logp([3.0, 4.0], **LEVEL) == pytest.approx(-0.5 * np.log(2 * np.pi) + st.norm.logpdf(1, 0, 2.3**0.5))
        with pytest.raises(ShapeError, match="at least 1 value"):
            pm.LinearGaussianStateSpace.dist(**LEVEL, shape=(0, 1))

    def test_season_longer_than_the_series(self) -> None:
        """Nothing but diffuse states is told of: the density has the volume of what is seen of them."""
        seen = np.vstack([SEASON["Z"] @ np.linalg.matrix_power(SEASON["T"], k) for k in range(5)])
        wanted = -2.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(seen @ seen.T)[1]
        assert logp(np.arange(5.0), **SEASON) == pytest.approx(wanted, rel=1e-12)

    def test_constant_series_and_no_noise_of_states(self) -> None:
        """Q = 0: the mean of independent values, which is not known before."""
        y = np.full(6, 4.0)
        wanted = 6 * -0.5 * np.log(2 * np.pi) - 0.5 * np.log(6)
        assert logp(y, **LEVEL | {"Q": [[0.0]]}) == pytest.approx(wanted, rel=1e-12)

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_units_do_not_matter(self, scale: float) -> None:
        y = np.array([1.0, 1.5, 0.7, 2.0, 1.0])
        scaled = LEVEL | {"H": [[scale**2]], "Q": [[0.3 * scale**2]]}
        assert logp(y * scale, **scaled) == pytest.approx(logp(y, **LEVEL) - 4 * np.log(scale), rel=1e-12)

    def test_more_exact_observations_than_states(self) -> None:
        """What follows from other observations adds nothing if it is right, and is impossible otherwise."""
        two = {"T": [[0.5]], "Z": [[1.0], [2.0]], "H": np.zeros((2, 2)), "Q": [[1.0]], "P0": [[1.0]]}
        y = np.array([[0.3, 0.6], [1.0, 2.0], [-0.4, -0.8]])
        wanted = st.norm.logpdf(0.3) + st.norm.logpdf(1.0 - 0.15) + st.norm.logpdf(-0.4 - 0.5)
        assert logp(y, **two) == pytest.approx(wanted, rel=1e-12)
        y[1, 1] += 0.1
        assert logp(y, **two) == -np.inf

    @pytest.mark.parametrize("moving", [0.0, 1e-8, -0.3])
    def test_stationary_states_without_a_moving_average(self, moving: float) -> None:
        """A first covariance that is singular but for rounding is one."""
        y = np.random.default_rng(1).normal(size=20)
        for rho in np.random.default_rng(2).uniform(-0.9, 0.9, 20):
            space = {"T": [[rho, 1.0], [0.0, 0.0]], "Z": [[1.0, 0.0]], "R": [[1.0], [moving]], "H": [[0.0]]}
            wanted = st.multivariate_normal(cov=scipy.linalg.toeplitz(arma(rho, moving, 20))).logpdf(y)
            assert logp(y, **space, Q=[[1.0]], initial="stationary") == pytest.approx(wanted, rel=1e-10)

    def test_nothing_is_random(self) -> None:
        still = {"T": [[1.0]], "Z": [[1.0]], "H": [[0.0]], "Q": [[0.0]], "P0": [[0.0]], "a0": [2.0]}
        assert logp([2.0, 2.0], **still) == 0.0
        assert logp([2.0, 2.1], **still) == -np.inf

    def test_roots_on_and_beyond_the_unit_circle(self) -> None:
        """A known first state may grow; a stationary one does not exist, and has density 0."""
        y = np.random.default_rng(1).normal(size=(20, 1))
        found = []
        for first in ({"P0": [[1.0]]}, {"initial": "stationary"}):
            with pm.Model() as model:
                rho = pm.Uniform("rho", -2, 2, transform=None, default_transform=None)
                T = rho.reshape((1, 1))
                pm.LinearGaussianStateSpace("y", T=T, Z=[[1.0]], H=[[0.5]], Q=[[1.0]], **first, observed=y)
            found.append(model.compile_logp())
        assert np.isfinite([found[0]({"rho": 1.0}), found[0]({"rho": 1.3}), found[1]({"rho": 0.9})]).all()
        assert found[1]({"rho": 1.3}) == -np.inf

    def test_covariances_that_are_none(self) -> None:
        with pytest.raises(ParameterError, match="Q must be symmetric and positive semidefinite"):
            pm.LinearGaussianStateSpace.dist(**LEVEL | {"Q": [[-1.0]]}, steps=3)
        with pm.Model() as model:
            q = pm.Normal("q")
            Q = q.reshape((1, 1))
            pm.LinearGaussianStateSpace("y", **LEVEL | {"Q": Q}, observed=np.arange(4.0)[:, None])
        assert model.compile_logp()({"q": -5.0}) == -np.inf

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"initial": "stationery"}, ParameterError, "'known', 'stationary' and 'diffuse', got 'stationery'"),
            ({"initial": ["diffuse", "known"]}, ParameterError, "one for each of the 1 states, got 2"),
            ({"initial": None}, TypeError, "needs `P0`, or `initial="),
            ({"varying": "W"}, ParameterError, "got 'W'"),
            ({"varying": "T"}, ShapeError, "T must have at least 3 axes"),
            ({"varying": "T", "T": np.ones((3, 1, 1))}, ShapeError, "T must have the shape"),
            ({"Z": None}, TypeError, "needs `Z`"),
            ({"initial": "stationary", "varying": "c", "c": np.ones((4, 1))}, ParameterError, "varies in time"),
        ],
    )
    def test_arguments_that_do_not_fit(self, change: dict[str, Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            pm.LinearGaussianStateSpace.dist(**LEVEL | change, steps=3)


def test_missing_observations_are_no_variables_of_a_model() -> None:
    """NaN and masked values are passed over; the gradient by parameters is that of what is there."""
    y = np.array([1.0, np.nan, 0.7, 2.0, np.nan, 1.1])[:, None]
    with pm.Model() as model:
        q = pm.HalfNormal("q", 1)
        pm.LinearGaussianStateSpace("y", **LEVEL | {"Q": (q**2).reshape((1, 1))}, observed=y)
    assert [v.name for v in model.free_RVs] == ["q"]
    at = {"q_log__": np.log(0.3**0.5)}
    prior = st.halfnorm.logpdf(0.3**0.5) + np.log(0.3**0.5)
    assert model.compile_logp()(at) == pytest.approx(prior + logp(y, **LEVEL), rel=1e-12)
    with pm.Model() as masked:
        q = pm.HalfNormal("q", 1)
        hidden = np.ma.masked_invalid(y)
        pm.LinearGaussianStateSpace("y", **LEVEL | {"Q": (q**2).reshape((1, 1))}, observed=hidden)
    assert masked.compile_logp()(at) == pytest.approx(prior + logp(y, **LEVEL), rel=1e-12)
