"""Names, parts of models, observed values and initial values, as they are declared."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import consilience as pm
from consilience.distributions import transforms


def test_parts_of_a_model_are_found_by_name() -> None:
    with pm.Model(coords={"row": [1, 2, 3]}) as model:
        x = pm.Normal("x")
        d = pm.Deterministic("d", 2 * x)
        p = pm.Potential("p", -(x**2))
        y = pm.Normal("y", d, 1, observed=[1.0, 2.0, 3.0], dims="row")
        data = pm.Data("data", [1.0])
    assert model.named_vars == {"x": x, "d": d, "p": p, "y": y, "data": data}
    assert model["y"] is y
    assert "y" in model
    assert "z" not in model
    assert (model.free_RVs, model.observed_RVs) == ([x], [y])
    assert (model.basic_RVs, model.unobserved_RVs) == ([x, y], [x, d])
    assert model.coords == {"row": (1, 2, 3)}
    assert model.named_vars_to_dims == {"y": ("row",)}
    with pytest.raises(KeyError, match="no variable `w`; it has x, d, p, y, data"):
        model["w"]


def test_model_may_be_entered_again_and_inside_itself() -> None:
    model = pm.Model(coords={"a": [1, 2]})
    with model:
        x = pm.Normal("x", dims="a")
        with model:
            pm.Normal("y", x, 1, dims="a")
        pm.Normal("z", dims="a")
    assert [v.name for v in model.free] == ["x", "y", "z"]
    assert model.log_density().dimension == 6


def test_part_of_a_model_adds_to_the_whole() -> None:
    with pm.Model(coords={"a": [1, 2]}) as whole:
        x = pm.Normal("x")
        with pm.Model("part", coords={"b": [1, 2, 3]}) as part:
            z = pm.Normal("z", x, 1, dims="b")
            with pm.Model("inner"):
                pm.Normal("w", dims="a")
            pm.Normal("y", z, 1, observed=[1.0, 2.0, 3.0])
            assert pm.modelcontext() is part
        assert pm.modelcontext() is whole
    assert [v.name for v in whole.free] == ["x", "part::z", "part::inner::w"]
    assert [v.name for v in part.free] == ["part::z", "part::inner::w"]
    assert [v.name for v in whole.observed] == ["part::y"]
    assert part["z"] is whole["part::z"]
    assert set(whole.coords) == {"a", "b"}
    assert whole.log_density().dimension == 6


def test_model_of_its_own_inside_another() -> None:
    with pm.Model() as outer:
        pm.Normal("x")
        with pm.Model(model=None) as inner:
            pm.Normal("x")
    assert (len(outer.free), len(inner.free)) == (1, 1)
    assert outer["x"] is not inner["x"]


def test_models_of_two_threads_do_not_meet() -> None:
    found = []

    def build(number: int) -> None:
        with pm.Model() as model:
            for i in range(20):
                pm.Normal(f"x{i}", number, 1)
            found.append(model.log_density()(np.zeros(20))[0])

    threads = [threading.Thread(target=build, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    constant = -10 * np.log(2 * np.pi)
    np.testing.assert_allclose(sorted(found), sorted(constant - 10.0 * n**2 for n in range(4)))


def test_deterministic_of_a_number_leaves_other_models_alone() -> None:
    with pm.Model():
        pm.Deterministic("half", 0.5)
    with pm.Model() as model:
        pm.Normal("x", 0.5, 1)
        tree = pm.sample_prior_predictive(2, random_seed=1)
    assert model["x"].inputs[1].name is None
    assert list(tree.prior) == ["x"]


OBSERVED = [1.0, 2.0, 3.0]


class Series:
    """What a column of a data frame can do."""

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self.values

    def to_numpy(self) -> np.ndarray:
        return self.values

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


@pytest.mark.parametrize(
    "observed",
    [
        OBSERVED,
        tuple(OBSERVED),
        np.array(OBSERVED),
        np.array(OBSERVED, "float32"),
        [1, 2, 3],
        Series(OBSERVED),
    ],
    ids=["list", "tuple", "array", "float32", "integers", "series"],
)
def test_observed_values_come_in_any_form(observed: object) -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1, observed=observed)
    expected = -0.5 * 14 - 2 * np.log(2 * np.pi)
    assert model.compile_logp()({"mu": 0.0}) == pytest.approx(expected)


def test_observed_values_may_be_data_or_expressions_of_data() -> None:
    with pm.Model() as model:
        counts = pm.Data("counts", [3, 4])
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1, observed=counts)
        pm.Normal("z", mu, 1, observed=pm.math.log(counts))
    values = np.array([3, 4, np.log(3), np.log(4)])
    expected = -0.5 * (values**2).sum() - 2.5 * np.log(2 * np.pi)
    assert model.compile_logp()({"mu": 0.0}) == pytest.approx(expected)
    assert model.log_density().dimension == 1


def test_no_observations_are_a_likelihood_of_one() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1, observed=np.zeros(0))
    assert model.compile_logp()({"mu": 0.0}) == pytest.approx(-0.5 * np.log(2 * np.pi))


def test_variable_without_elements_has_no_coordinates() -> None:
    with pm.Model() as model:
        pm.Normal("x", shape=0)
        pm.Normal("y")
    density = model.log_density()
    assert density.dimension == 1
    assert density.expand(np.ones((2, 1)))["x"].shape == (2, 0)


# ---- initial values


def test_initial_values_by_name_and_by_unconstrained_name() -> None:
    with pm.Model() as model:
        pm.HalfNormal("s", 1.0, initval=2.0)
        pm.Normal("x", 0, 1, shape=2, initval=3.0)
        pm.Uniform("u", 0, 4, initval=1.0)
    point = model.initial_point()
    assert point["s_log__"] == pytest.approx(np.log(2))
    np.testing.assert_allclose(point["x"], [3, 3])
    assert point["u_interval__"] == pytest.approx(np.log(1 / 3))


@pytest.mark.parametrize("given", [{"s": 3.0}, {"s_log__": np.log(3.0)}])
def test_run_starts_at_its_initial_values(given: dict[str, float]) -> None:
    with pm.Model():
        pm.HalfNormal("s", 1.0)
        tree = pm.sample(
            draws=1, tune=0, chains=2, initvals=given, init="adapt_diag", step=pm.Metropolis(scaling=1e-12),
            random_seed=1, progressbar=False, compute_convergence_checks=False,
        )  # fmt: skip
    np.testing.assert_allclose(tree.posterior["s"], 3.0, rtol=1e-9)


def test_each_chain_may_have_initial_values_of_its_own() -> None:
    with pm.Model():
        pm.Normal("x")
        tree = pm.sample(
            draws=1, tune=0, chains=3, initvals=[{"x": 1.0}, {"x": 2.0}, None], init="adapt_diag",
            step=pm.Metropolis(scaling=1e-12), random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    np.testing.assert_allclose(tree.posterior["x"][:, 0], [1.0, 2.0, 0.0], atol=1e-9)


def test_initial_value_may_depend_on_earlier_variables() -> None:
    with pm.Model() as model:
        a = pm.HalfNormal("a", 1.0, initval=2.0)
        pm.Uniform("b", 0, a, initval=a / 2)
    point = model.initial_point()
    assert point["b_interval__"] == pytest.approx(0.0)


def test_initial_value_from_the_prior_lies_in_the_support() -> None:
    with pm.Model() as model:
        pm.Uniform("a", 5, 6, initval="prior")
        pm.Uniform("b", 5, 6, initval="prior")
    values = {k: v[0] for k, v in model.log_density().expand(_position(model)[None]).items()}
    assert 5 < values["a"] < 6
    assert 5 < values["b"] < 6
    assert values["a"] != values["b"]


def _position(model: pm.Model) -> np.ndarray:
    return model.log_density().layout.position(model.initial_point())


def test_ordered_variable_starts_and_stays_in_order() -> None:
    with pm.Model() as model:
        pm.Normal("cut", 0, 3, shape=3, transform=transforms.ordered, initval=[-1.0, 0.0, 1.0])
        pm.Normal("y", 0, 1, observed=[0.1])
        tree = pm.sample(100, tune=100, chains=2, random_seed=1, progressbar=False,
                         compute_convergence_checks=False)  # fmt: skip
    assert list(model.initial_point()) == ["cut_ordered__"]
    assert (np.diff(tree.posterior["cut"].values, axis=-1) > 0).all()


# ---- what has no meaning


def test_values_outside_the_support_are_no_initial_values() -> None:
    with pm.Model() as model:
        pm.Uniform("u", 0, 1, initval=2.0)
    with pytest.raises(pm.SupportError, match=r"initial value of `u` is outside its support: 2\.0"):
        model.initial_point()
    with pm.Model() as model:
        pm.Uniform("u", 0, 1, initval=np.full(500, 2.0), shape=500)
    with pytest.raises(pm.SupportError, match=r"`u` is outside its support: \[2\., 2\., 2\., \.\.\., 2\., 2\., 2\.\];"):
        model.initial_point()


@pytest.mark.parametrize(
    ("initvals", "error", "message"),
    [
        ({"nu": 1.0}, pm.ModelError, r"`initvals` names \['nu'\]; the free variables are \['mu', 's'\]"),
        ({"mu": [1.0, 2.0, 3.0]}, pm.ShapeError, r"of `mu` has shape \(3,\), the variable has shape \(2,\)"),
        ({"s_log__": [1.0]}, pm.ShapeError, r"`s_log__` needs shape \(\), got \(1,\)"),
        ({"s": "somewhere"}, pm.ModelError, r"must be numbers, 'support_point' or 'prior', got 'somewhere'"),
        ({"s": np.nan}, pm.SupportError, r"initial value of `s` is outside its support: nan"),
        ({"mu": ["a", "b"]}, TypeError, r"initial value of `mu` must be numbers"),
        ([{"mu": 0.0}], pm.ModelError, r"a list of 1 points, but there are 2 chains"),
        ([1.0, 2.0], pm.ModelError, r"must be a mapping of names to values"),
    ],
)
def test_wrong_initial_values_are_refused(initvals: object, error: type[Exception], message: str) -> None:
    with pm.Model():
        pm.Normal("mu", shape=2)
        pm.HalfNormal("s", 1.0)
        with pytest.raises(error, match=message):
            pm.sample(chains=2, initvals=initvals, random_seed=1, progressbar=False)


def test_a_default_transform_given_again_is_told_as_that() -> None:
    """`transform=` comes after the default one: log of a log has no value at 1."""
    with pm.Model() as model:
        pm.HalfNormal("s", 1.0, transform=pm.distributions.transforms.log)
    with pytest.raises(pm.SupportError, match=r"`s` is transformed by log, then log, .* pass `default_transform=None`"):
        model.initial_point()
