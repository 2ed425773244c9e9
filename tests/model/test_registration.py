"""Variables taken into models other than by calling a distribution: derived classes, `register_rv`, batches of data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm


class Group(pm.Model):
    """As PyMC's documentation derives models: variables are declared in `__init__`."""

    def __init__(self, mean: float, name: str = "", **settings: Any) -> None:
        super().__init__(name, **settings)
        self.level = self.register_rv(pm.Normal.dist(mean, 1.0), "level")
        pm.HalfCauchy("spread", 10.0, initval=1.0)
        pm.Deterministic("upper", self.level + self["spread"])


def test_derived_models_declare_their_variables() -> None:
    with pm.Model() as whole:
        a, b = Group(0.0, "a"), Group(1.0, "b")
        pm.Normal("y", a.level + b.upper, 1.0, observed=2.0)
    assert list(whole.named_vars) == ["a::level", "a::spread", "a::upper", "b::level", "b::spread", "b::upper", "y"]
    assert a.root is whole
    assert b["level"] is whole["b::level"]
    alone = Group(2.0)
    assert (alone.isroot, list(alone.named_vars)) == (True, ["level", "spread", "upper"])
    assert alone.compile_logp("level")({"level": 2.5, "spread_log__": 0.0}) == pytest.approx(stats.norm(2).logpdf(2.5))
    assert pm.Model.get_context(error_if_none=False) is None


def test_a_model_that_cannot_be_made_leaves_the_context() -> None:
    with pytest.raises(pm.ParameterError):
        Group(np.nan)
    assert pm.Model.get_context(error_if_none=False) is None
    assert isinstance(copy.deepcopy(Group(0.0)), Group)
    assert [v.name for v in Group(0.0).copy().free] == ["level", "spread"]


def test_registered_variables_are_as_if_declared() -> None:
    with pm.Model(coords={"row": [1, 2]}) as model:
        x = model.register_rv(pm.Exponential.dist(2.0, shape=2), "x", dims="row", initval=[1.0, 2.0])
        assert x is model.register_rv(pm.Normal.dist(x, 1.0), "y", observed=[0.5, 1.5], dims="row").inputs[1]
        model.register_rv(pm.Uniform.dist(), "u", transform=None)
    with pm.Model(coords={"row": [1, 2]}) as declared:
        x = pm.Exponential("x", 2.0, dims="row", initval=[1.0, 2.0])
        pm.Normal("y", x, 1.0, observed=[0.5, 1.5], dims="row")
        pm.Uniform("u", transform=None)
    assert repr(model) == repr(declared)
    assert model.named_vars_to_dims == declared.named_vars_to_dims
    point = declared.initial_point()
    assert str(point) == str(model.initial_point())
    assert model.compile_logp()(point) == declared.compile_logp()(point)
    with pytest.raises(pm.ConsilienceError, match="`register_rv` is known for variables of a distribution"):
        model.register_rv(x + 1.0, "z")


def test_named_expressions_are_found_and_not_kept() -> None:
    with pm.Model(coords={"row": [1, 2]}) as model:
        x = pm.Normal("x", dims="row")
        model.add_named_variable((2.0 * x).copy(name="double"), dims="row")
        with pytest.raises(pm.ModelError, match="has no name"):
            model.add_named_variable(x + 1.0)
        with pytest.raises(pm.ModelError, match="`x` already"):
            model.add_named_variable((x * 3.0).copy(name="x"))
        with pytest.raises(pm.ModelError, match=r"take it into the model with `model\.register_rv`"):
            model.add_named_variable(x)
    assert model["double"].name == "double"
    assert model.named_vars_to_dims == {"x": ("row",), "double": ("row",)}
    assert not model.named_deterministics
    assert "double" in pm.model_to_mermaid(model)
    assert "double" in pm.do(model, {"x": [1.0, 2.0]})


@pytest.mark.parametrize("wanted", [True, False])
def test_densities_look_after_their_parameters_unless_told_not_to(wanted: bool) -> None:
    """The formula of the von Mises density is even in kappa, so that only a check refuses -2."""
    with pm.Model(check_bounds=wanted) as model:
        assert pm.Model().check_bounds is wanted  # a part does as the whole
        kappa = pm.Normal("kappa")
        pm.VonMises("angle", 0.0, kappa, observed=1.0)
        pm.Mixture("mixed", [0.5, 0.5], [pm.VonMises.dist(1.0, kappa), pm.VonMises.dist(2.0, kappa)], observed=1.0)
    for one in (model, pm.do(model, {})):
        assert one.check_bounds is wanted
        for name in ("angle", "mixed"):
            inside, outside = (one.compile_logp(name)({"kappa": k}) for k in (2.0, -2.0))
            assert np.isfinite(inside)
            assert np.isfinite(outside) is np.bool_(not wanted)
        assert np.isfinite(one.log_density()(np.array([-2.0]))[0]) is np.bool_(not wanted)


@pytest.mark.parametrize(
    ("total", "weight"),
    [(60, 20.0), ([60, None], 20.0), ([60, 8], 80.0), ([..., 8], 4.0), ([60, ...], 20.0), (None, 1.0)],
)
def test_a_batch_stands_for_all_data(total: Any, weight: float) -> None:
    y = np.arange(6.0).reshape(3, 2)
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1.0, observed=y, total_size=total)
    expected = stats.norm.logpdf(0.5) + weight * stats.norm(0.5).logpdf(y).sum()
    assert model.compile_logp()({"mu": 0.5}) == pytest.approx(expected, rel=1e-13)
    assert pm.do(model, {}).compile_logp()({"mu": 0.5}) == pytest.approx(expected, rel=1e-13)
    each = pm.compute_log_likelihood({"mu": [[0.5]]}, model=model, extend_inferencedata=False)["y"]
    np.testing.assert_allclose(each[0, 0], stats.norm(0.5).logpdf(y))


def test_batches_of_data_that_change_their_length() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        batch = pm.Data("batch", [1.0, 2.0])
        pm.Normal("y", mu, 1.0, observed=batch, shape=batch.shape, total_size=10)
    assert model.compile_logp("y")({"mu": 0.0}) == pytest.approx(5 * stats.norm.logpdf([1.0, 2.0]).sum())
    model.set_data("batch", [1.0, 2.0, 3.0, 4.0])
    assert model.compile_logp("y")({"mu": 0.0}) == pytest.approx(2.5 * stats.norm.logpdf([1.0, 2.0, 3.0, 4.0]).sum())


def test_sizes_without_meaning_are_refused() -> None:
    with pm.Model():
        with pytest.raises(pm.ModelError, match="`total_size` is the size of all data"):
            pm.Normal("x", total_size=10)
        with pytest.raises(pm.ModelError, match="data with missing values are no batch"):
            pm.Normal("y", observed=[1.0, None], total_size=10)
        for size in (0, -3, 2.5, True, "all"):
            with pytest.raises(pm.ModelError, match="must be made of whole numbers > 0"):
                pm.Normal("z", observed=[1.0, 2.0], total_size=size)
        with pytest.raises(pm.ShapeError, match="has 1 axes, but `total_size` has 2"):
            pm.Normal("w", observed=[1.0, 2.0], total_size=[3, 4])
