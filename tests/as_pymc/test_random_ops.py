"""Distributions written as PyMC's, an op with `rng_fn` and a class with `rv_op`, mean the same with the stand-in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.transforms import registry
from consilience.errors import MissingRuleError
from consilience.foreign.pymc_names.random_ops import (
    BoundedContinuous,
    CircularContinuous,
    DefaultTransforms,
    DrawnByOp,
    PositiveContinuous,
    RandomVariable,
    UnitContinuous,
)


class LomaxRV(RandomVariable):
    """Draws by NumPy's own method of another name."""

    name = "lomax"
    signature = "(),()->()"
    dtype = "floatX"
    _print_name = ("Lomax", "\\operatorname{Lomax}")

    @classmethod
    def rng_fn(cls, rng, shape, scale, size):
        """Pareto's second kind."""
        return scale * rng.pareto(shape, size=size)


lomax = LomaxRV()


class Lomax(PositiveContinuous):
    """A density on the positive numbers."""

    rv_op = lomax

    @classmethod
    def dist(cls, shape_parameter, scale=1.0, **keywords):
        """Parameters in a list, as PyMC's bases take them."""
        return super().dist([shape_parameter, scale], **keywords)

    def support_point(rv, size, shape, scale):
        """The median."""
        median = scale * (2.0 ** (1.0 / shape) - 1.0)
        return median if size is None else pt.full(size, median)

    def logp(value, shape, scale):
        """Log density; the support is the function's own part."""
        inside = pt.log(shape) - pt.log(scale) - (shape + 1.0) * pt.log1p(value / scale)
        return pt.switch(value < 0.0, -np.inf, inside)

    def logcdf(value, shape, scale):
        """Log probability below."""
        return pt.log1p(-((1.0 + value / scale) ** -shape))

    def icdf(value, shape, scale):
        """Quantile."""
        return scale * ((1.0 - value) ** (-1.0 / shape) - 1.0)


class PairRV(RandomVariable):
    """Two counts of one rate."""

    name = "pair"
    signature = "()->(2)"
    dtype = "int64"

    def rng_fn(self, rng, rate, size):
        """Independent counts on a last axis."""
        size = np.shape(rate) if size is None else size
        return rng.poisson(np.expand_dims(np.broadcast_to(rate, size), -1), size=(*size, 2))


class Pair(pm.Discrete):
    """Their joint mass."""

    rv_op = PairRV()

    @classmethod
    def dist(cls, rate, **keywords):
        """One parameter."""
        return super().dist([rate], **keywords)

    def logp(value, rate):
        """One number per pair."""
        return pm.logp(pm.Poisson.dist(rate), value[..., 0]) + pm.logp(pm.Poisson.dist(rate), value[..., 1])


def test_formulas_of_the_class_are_those_of_its_variables():
    """Density, tail and quantile equal SciPy's, as plain functions of the class, too."""
    x, ours, reference = np.array([0.2, 1.0, 7.0]), Lomax.dist(3.0, 2.0), stats.lomax(3.0, scale=2.0)
    np.testing.assert_allclose(pm.logp(ours, x).eval(), reference.logpdf(x))
    np.testing.assert_allclose(Lomax.logp(x, 3.0, 2.0).eval(), reference.logpdf(x))
    np.testing.assert_allclose(pm.logcdf(ours, x).eval(), reference.logcdf(x))
    np.testing.assert_allclose(pm.icdf(ours, [0.1, 0.9]).eval(), reference.ppf([0.1, 0.9]))
    assert pm.logp(ours, -1.0).eval() == -np.inf


@pytest.mark.parametrize("shape", [(), (4,), (2, 4)])
def test_draws_have_the_batch_shape_and_the_law_of_the_op(shape):
    """Every element is drawn by `rng_fn`; seeds repeat draws, variables differ."""
    ours = Lomax.dist(np.array([2.0, 3.0, 4.0, 5.0]) if shape else 3.0, shape=shape)
    drawn = pm.draw(ours, draws=2000, random_seed=3)
    assert drawn.shape == (2000, *shape)
    np.testing.assert_array_equal(drawn, pm.draw(ours, draws=2000, random_seed=3))
    one = drawn.reshape(2000, -1)[:, -1]
    assert stats.kstest(one, stats.lomax(5.0 if shape else 3.0).cdf).pvalue > 1e-3
    first, second = pm.draw([Lomax.dist(3.0), Lomax.dist(3.0)], random_seed=1)
    assert first != second


def test_a_class_is_a_free_variable_of_a_model():
    """It moves along the logarithm, starts where the class says, and its posterior is that of the same density."""
    data = stats.lomax(3.0, scale=2.0).rvs(400, random_state=5)
    with pm.Model(coords={"site": ["a", "b"]}) as model:
        scale = Lomax("scale", 3.0, dims="site")
        Lomax("y", 3.0, scale, observed=np.stack([data, data], -1))
    assert list(model.initial_point()) == ["scale_log__"]
    np.testing.assert_allclose(np.exp(model.initial_point()["scale_log__"]), 2.0 ** (1 / 3) - 1.0)
    with pm.Model() as plain:
        own = pm.CustomDist(
            "scale", logp=lambda v: pt.switch(v < 0, -np.inf, np.log(3.0) - 4.0 * pt.log1p(v)), shape=2,
            transform=pm.distributions.transforms.log,
        )  # fmt: skip
        pm.Potential("y", (np.log(3.0) - pt.log(own) - 4.0 * pt.log1p(np.stack([data, data], -1) / own)).sum())
    point = {"scale_log__": np.array([0.3, -0.4])}
    np.testing.assert_allclose(model.compile_logp()(point), plain.compile_logp()(point))
    np.testing.assert_allclose(model.compile_dlogp()(point), plain.compile_dlogp()(point))
    with model:
        trace = pm.sample(800, tune=400, chains=2, random_seed=1, progressbar=False, stop=pm.Stop(max_time=60))
        ahead = pm.sample_posterior_predictive(trace, random_seed=1, progressbar=False)
    assert abs(trace.posterior["scale"].mean().item() - 2.0) < 0.4
    assert ahead.posterior_predictive["y"].shape[2:] == (400, 2)


def test_events_of_several_elements_are_one():
    """A signature with a core axis: batches in front of it, one density per event, prior and predictive draws."""
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2.0, 1.0)
        Pair("y", rate, observed=np.array([[1, 2], [0, 3], [4, 1]]))
    assert pm.draw(Pair.dist([1.0, 200.0]), random_seed=1).shape == (2, 2)
    expected = stats.poisson(1.5).logpmf([[1, 2], [0, 3], [4, 1]]).sum() + stats.gamma(2.0).logpdf(1.5) + np.log(1.5)
    np.testing.assert_allclose(model.compile_logp()({"rate_log__": np.log(1.5)}), expected)
    with model:
        prior = pm.sample_prior_predictive(20, random_seed=1)
    assert prior.prior_predictive["y"].shape == (1, 20, 3, 2)
    assert prior.prior_predictive["y"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("base", "name"), [(UnitContinuous, "logodds"), (CircularContinuous, "circular"), (pm.Continuous, "")]
)
def test_the_base_tells_the_default_transform(base, name):
    """As PyMC's bases do."""
    plain = type("Own", (base,), {"rv_op": RandomVariable("uniform", signature="(),()->()", dtype="floatX")})
    with pm.Model() as model:
        plain("x", [0.1, 0.9])
    assert list(model.initial_point()) == ["x" + f"_{name}__" * bool(name)]


def test_bounds_among_the_inputs_give_an_interval():
    """`bound_args_indices` counts generator and size in front of the parameters."""

    class Flat(BoundedContinuous):
        rv_op = RandomVariable("uniform", signature="(),()->()", dtype="floatX")
        bound_args_indices = (2, 3)

    with pm.Model() as model:
        Flat("x", [2.0, 6.0])
    np.testing.assert_allclose(model.initial_point()["x_interval__"], 0.0)
    assert 2.0 < pm.draw(model["x"], random_seed=1) < 6.0


def test_an_op_is_called_by_itself():
    """`op(*parameters, size=)` is a variable, which knows its op; formulas that nobody wrote are refused by name."""
    x = lomax(2.0, 1.0, size=(3,))
    assert x.static_shape == (3,)
    normal = pm.Normal.dist().owner.op
    assert [isinstance(x.owner.op, kind) for kind in (LomaxRV, PairRV, RandomVariable)] == [True, False, True]
    assert [isinstance(normal, kind) for kind in (LomaxRV, RandomVariable)] == [False, True]
    with pytest.raises(MissingRuleError, match="Lomax was made without `logp=`"):
        pm.logp(x, 1.0)
    with pytest.raises(MissingRuleError, match="Pair has no `icdf`"):
        pm.icdf(Pair.dist(1.0), 0.5).eval()
    with pytest.raises(TypeError, match="Lomax takes 2 parameters, got 1"):
        lomax(2.0)


def test_a_wrong_shape_from_rng_fn_is_refused():
    """Draws of another shape than declared are no draws of the variable."""

    class TooFew(RandomVariable):
        name, signature, dtype = "toofew", "()->()", "floatX"

        def rng_fn(self, rng, rate, size):
            return np.zeros(2)

    with pytest.raises(pm.errors.ShapeError, match=r"TooFew.*shape \(2,\).*\(3,\)"):
        pm.draw(TooFew()(1.0, size=(3,)))


def test_a_transform_is_registered_for_a_class_of_a_program():
    """By distribution or by op, as with PyMC's `_default_transform`; the density is that along the line."""

    class BeyondRV(RandomVariable):
        name, signature, dtype = "beyond", "()->()", "floatX"

        def rng_fn(self, rng, start, size):
            return start + rng.exponential(size=size)

    class Beyond(pm.Continuous):
        rv_op = BeyondRV()

        def logp(value, start):
            return pt.switch(value < start, -np.inf, start - value)

        def support_point(rv, size, start):
            return start + 1.0

    class FromStart(pm.distributions.transforms.Transform):
        name = "from_start"

        def forward(self, value, *inputs):
            return pt.log(value - inputs[-1])

        def backward(self, value, *inputs):
            return pt.exp(value) + inputs[-1]

        def log_jac_det(self, value, *inputs):
            return value

    for kind in (BeyondRV, Beyond):
        own = DefaultTransforms()
        before, registry.OF_DISTRIBUTIONS[DrawnByOp] = registry.OF_DISTRIBUTIONS[DrawnByOp], own.dispatch
        try:

            @own.register(kind)
            def from_start(op, rv):
                assert isinstance(op, BeyondRV)
                return FromStart()

            with pm.Model() as model:
                Beyond("x", [3.0])
                point = model.initial_point()
                np.testing.assert_allclose(point["x_from_start__"], 0.0, atol=1e-12)
                np.testing.assert_allclose(model.compile_logp()({"x_from_start__": 0.5}), -np.exp(0.5) + 0.5)
                result = pm.sample(
                    200, tune=200, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
                )
        finally:
            registry.OF_DISTRIBUTIONS[DrawnByOp] = before
        assert result.posterior["x"].min() > 3.0
    with pytest.raises(MissingRuleError, match="the default transform of Normal is this library's"):
        own.register(pm.Normal, from_start)
