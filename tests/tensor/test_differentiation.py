"""Derivatives under PyTensor's names: what each keyword means, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import gradient as pg
from consilience.errors import (
    ConsilienceWarning,
    DisconnectedInputError,
    DtypeError,
    GradientError,
    GraphError,
    NullTypeGradError,
    ShapeError,
)
from consilience.ir import Node

AT = np.array([0.3, -1.2, 2.0])


class TestDisconnected:
    @pytest.mark.parametrize(
        "take",
        [
            pg.grad,
            lambda cost, wrt, **settings: pg.jacobian(cost * pt.ones(2), wrt, **settings),
            pg.hessian,
            lambda cost, wrt, **settings: pg.Lop(cost, wrt, 1.0, **settings),
            lambda cost, wrt, **settings: pg.hessian_vector_product(cost, wrt, np.ones(3), **settings),
        ],
    )
    def test_every_derivative_refuses_what_the_cost_does_not_depend_on(self, take: Callable[..., Node]) -> None:
        """Unless a warning or nothing is asked for; the derivative is zero then."""
        x, y = pt.tensor("x", shape=(3,)), pt.tensor("y", shape=(3,))
        cost = (x**2).sum()
        with pytest.raises(DisconnectedInputError, match=r"does not depend on `y`"):
            take(cost, y)
        with pytest.warns(ConsilienceWarning, match="`y`"):
            take(cost, y, disconnected_inputs="warn")
        found = take(cost, y, disconnected_inputs="ignore")
        assert not found.eval({x: AT, y: AT}, on_unused_input="ignore").any()
        with pytest.raises(ValueError, match="'raise', 'warn' or 'ignore'"):
            take(cost, y, disconnected_inputs="zero")

    def test_flat_functions_connect_and_stops_do_not(self) -> None:
        """A comparison has the derivative zero; a shape or a stopped value has none."""
        x = pt.vector("x")
        assert not pg.grad(pt.where(x > 0, 1.0, 2.0).sum(), x).eval({x: AT}).any()
        assert not pg.grad(pg.zero_grad(x).sum(), x).eval({x: AT}).any()
        assert pg.consider_constant is pg.zero_grad
        for cost in (pg.disconnected_grad(x).sum(), pt.stop_gradient(x).sum(), x.shape[0] * 1.0):
            with pytest.raises(DisconnectedInputError):
                pg.grad(cost, x)

    def test_what_stands_for_a_derivative_that_is_not_there(self) -> None:
        """Zeros or None; results come in the form of `wrt`."""
        x, y = pt.vector("x"), pt.vector("y")
        cost = x.sum()
        one, none = pg.grad(cost, (x, y), disconnected_inputs="ignore", return_disconnected="None")
        assert none is None
        np.testing.assert_array_equal(one.eval({x: AT}), np.ones(3))
        assert isinstance(pg.grad(cost, [x]), list)
        with pytest.raises(ValueError, match="'zero' or 'none'"):
            pg.grad(cost, x, return_disconnected="disconnected")
        with pytest.raises(ValueError, match="`null_gradients`"):
            pg.grad(cost, x, null_gradients="return")


class TestConstantsAndKnownDerivatives:
    def test_derivatives_do_not_pass_constants(self) -> None:
        """Nor in second derivatives."""
        x = pt.vector("x")
        inner = x**2
        cost = (inner * x).sum()
        np.testing.assert_allclose(pg.grad(cost, x, consider_constant=inner).eval({x: AT}), AT**2)
        np.testing.assert_allclose(pg.grad(cost, x, consider_constant=[inner]).eval({x: AT}), AT**2)
        np.testing.assert_allclose(pg.jacobian(cost, x, consider_constant=inner).eval({x: AT}), AT**2)
        assert not pg.hessian(cost, x, consider_constant=inner).eval({x: AT}).any()
        np.testing.assert_allclose(pg.grad(cost, inner, consider_constant=inner).eval({x: AT}), AT)

    def test_known_derivatives_count_in_place_of_the_costs(self) -> None:
        """With or without a cost; other paths keep theirs."""
        x = pt.vector("x")
        inner = pt.exp(x)
        slope = np.array([1.0, 10.0, 100.0])
        expected = slope * np.exp(AT)
        np.testing.assert_allclose(pg.grad(None, x, known_grads={inner: slope}).eval({x: AT}), expected)
        np.testing.assert_allclose(pg.grad(inner.sum(), x, known_grads={inner: slope}).eval({x: AT}), expected)
        both = pg.grad((inner**2).sum() + (x**2).sum(), [x, inner], known_grads={inner: slope})
        np.testing.assert_allclose(both[0].eval({x: AT}), expected + 2 * AT)
        np.testing.assert_array_equal(both[1].eval(), slope)
        two = {inner: slope, x**2: pt.ones_like(x)}
        np.testing.assert_allclose(pg.grad(None, x, known_grads=two).eval({x: AT}), expected + 2 * AT)
        with pytest.raises(GraphError, match="needs a cost"):
            pg.grad(None, x)
        with pytest.raises(DtypeError, match="`known_grads`"):
            pg.grad(None, x, known_grads={inner: pt.scalar("s")})


class TestAlteredDerivatives:
    @pytest.mark.parametrize(
        ("alter", "slope"),
        [
            (lambda v: v, [6.0, 6.0, 6.0]),
            (pg.zero_grad, [0.0, 0.0, 0.0]),
            (lambda v: pg.grad_scale(v, -0.5), [-3.0, -3.0, -3.0]),
            (lambda v: pg.grad_clip(v, -1.0, 1.0), [3.0, 3.0, 3.0]),
            (lambda v: pg.grad_clip(v, 5.0, 5.0), [15.0, 15.0, 15.0]),
        ],
    )
    def test_values_stay_and_derivatives_change(self, alter: Callable[[Node], Node], slope: list[float]) -> None:
        """At the place where it stands: what arrives there is altered, what follows is not."""
        x = pt.vector("x")
        inner = alter(x * 3.0)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            np.testing.assert_allclose(inner.eval({x: AT}, mode=mode), AT * 3.0)
            found = pg.grad((inner * 2.0).sum(), x)
            np.testing.assert_allclose(found.eval({x: AT}, mode=mode, on_unused_input="ignore"), slope)

    def test_an_undefined_derivative_is_an_error_when_it_is_taken(self) -> None:
        """Unless it is considered constant."""
        x = pt.vector("x")
        inner = pg.undefined_grad(x)
        cost = (inner * x).sum()
        with pytest.raises(NullTypeGradError, match="declared undefined"):
            pg.grad(cost, x)
        np.testing.assert_allclose(pg.grad(cost, x, consider_constant=inner).eval({x: AT}), AT)
        with pytest.raises(ValueError, match="must not exceed"):
            pg.grad_clip(x, 1.0, -1.0)


class TestProducts:
    def test_pullback_and_pushforward_are_the_jacobian(self) -> None:
        """From the left and from the right, under both names, for one tensor and for lists."""
        x, y = pt.vector("x"), pt.vector("y")
        f = pt.exp(x) * y.sum()
        values = {x: AT, y: AT[:2]}
        matrix = [j.eval(values) for j in pg.jacobian(f, [x, y], vectorize=True)]
        left, right = np.array([1.0, 2.0, 3.0]), [np.array([1.0, -1.0, 2.0]), np.array([0.5, 4.0])]
        for take in (pg.pullback, pg.Lop):
            found = take(f, [x, y], left)
            for own, j in zip(found, matrix, strict=True):
                np.testing.assert_allclose(own.eval(values), left @ j)
        for take in (pg.pushforward, pg.Rop):
            (own,) = take([f], [x, y], right)
            np.testing.assert_allclose(own.eval(values), matrix[0] @ right[0] + matrix[1] @ right[1])
            np.testing.assert_allclose(take(f, y, right[1]).eval(values), matrix[1] @ right[1])
        flat = pt.ones(2) * 1.0
        with pytest.raises(DisconnectedInputError):
            pg.Rop([f, flat], [x], [right[0]])
        settings = {"disconnected_outputs": "ignore", "return_disconnected": "none"}
        assert pg.Rop([f, flat], [x], [right[0]], **settings)[1] is None
        zeros = pg.Rop([f, flat], [x], [right[0]], disconnected_outputs="ignore")[1]
        np.testing.assert_array_equal(zeros.eval(), np.zeros(2))
        with pytest.raises(GraphError, match="one tensor for each of 2"):
            pg.Rop(f, [x, y], [right[0]])

    def test_hessian_times_vector_needs_no_matrix(self) -> None:
        """For one tensor and for several."""
        x, y = pt.vector("x"), pt.vector("y")
        cost = ((x**3).sum() * pt.exp(y).sum()) * 0.5
        values = {x: AT, y: AT[:2]}
        p = np.array([1.0, -2.0, 0.5])
        single = pg.hessian_vector_product(cost, x, p)
        np.testing.assert_allclose(single.eval(values), pg.hessian(cost, x).eval(values) @ p)
        first, second = pg.hessian_vector_product(cost, [x, y], [p, np.zeros(2)])
        np.testing.assert_allclose(first.eval(values), single.eval(values))
        mixed = pg.jacobian(pg.grad(cost, y), x).eval(values)
        np.testing.assert_allclose(second.eval(values), mixed @ p)

    def test_derivatives_are_named_after_what_they_are_of(self) -> None:
        """If both have names."""
        x = pt.vector("x")
        cost = pt.as_tensor_variable((x**2).sum(), name="cost")
        assert pg.grad(cost, x).name == "(dcost/dx)"
        assert pg.grad((x**4).sum(), x, add_names=True).name is None

    def test_wrong_arguments_are_named(self) -> None:
        """Costs that are no scalars, no expressions, or of integers."""
        x, n = pt.vector("x"), pt.lvector("n")
        with pytest.raises(ShapeError, match="gradient of a scalar"):
            pg.grad(x, x)
        with pytest.raises(TypeError, match=r"needs an expression, got 3.0"):
            pg.grad(3.0, x)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(TypeError, match="`wrt` must be a tensor"):
            pg.grad(x.sum(), ["x"])
        with pytest.raises(DtypeError, match="cast it to float64"):
            pg.grad((n * x).sum(), n)


class TestNumericalCheck:
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize(
        "fun", [lambda a, b: pt.sin(a) @ b, lambda a, b: (a * b.T).sum(), lambda a, b: pt.logsumexp(a, axis=1)]
    )
    def test_right_derivatives_pass(self, fun: Callable[..., Node], dtype: str) -> None:
        """Functions of matrices, scalars and of one argument alone."""
        generator = np.random.default_rng(3)
        point = [generator.normal(size=s).astype(dtype) for s in ((2, 3), (3, 2))]
        pg.verify_grad(fun, point, rng=np.random.default_rng(1))

    def test_wrong_derivatives_are_found_and_placed(self) -> None:
        """With both values."""

        def fun(a: Node, b: Node) -> Node:
            return a * pg.grad_scale(b, 1.5)

        with pytest.raises(GradientError, match=r"argument 1 at \(0,\) is .* differences of values give"):
            pg.verify_grad(fun, [np.ones(2), np.ones(2)], rng=np.random.RandomState(1))
        with pytest.raises(DtypeError, match="array of int64"):
            pg.verify_grad(fun, [np.ones(2, int), np.ones(2)])


class TestOverAllInputs:
    def test_one_vector_for_all_inputs(self) -> None:
        """PyMC's `gradient` and `hessian_diag`: variables flattened and joined, by default all of floats."""
        x, y, n = pt.matrix("x"), pt.scalar("y"), pt.lscalar("n")
        f = (x**3).sum() * y * n
        values: dict[Any, Any] = {x: AT[:2].reshape(1, 2), y: 2.0, n: 3}
        assert pm.inputvars([f]) == [x, y, n]
        assert pm.cont_inputs(f) == [x, y]
        expected = [*(3 * AT[:2] ** 2 * 6.0), (AT[:2] ** 3).sum() * 3.0]
        np.testing.assert_allclose(pm.gradient(f).eval(values), expected)
        np.testing.assert_allclose(pm.gradient(f, [x, y]).eval(values), expected)
        np.testing.assert_allclose(pm.hessian_diag(f).eval(values), [*(6 * AT[:2] * 6.0), 0.0])
        with pytest.raises(GraphError, match="no inputs that are floats"):
            pm.gradient(n * 1.0)

    def test_conversions(self) -> None:
        """Arrays stay arrays, expressions expressions."""
        assert pm.floatX([1, 2]).dtype == "float64"
        assert pm.intX(np.array([1.0])).dtype == "int64"
        assert pm.floatX(pt.lvector("n")).dtype == "float64"
        assert pm.intX(pt.vector("x")).dtype == "int64"


def test_every_name_of_the_module_is_there() -> None:
    """`consilience.gradient` is a module that PyMC's users may call."""
    for name in pg.__all__:
        assert getattr(pg, name).__doc__, name


def test_inputs_are_joined_to_one_vector() -> None:
    """Values, derivatives and the density of a model as functions of it; shared variables in other places."""
    x, y = pt.scalar("x"), pt.matrix("y")
    point = {"x": np.array(1.0), "y": np.arange(6.0).reshape(2, 3)}
    (out,), joined = pm.join_nonshared_inputs(point, [pt.sum(x * y**2)], [y, x])
    at = np.append(np.arange(6.0), 3.0)
    found, slope = pm.function([joined], [out, pm.grad(out, joined)])(at)
    assert found == 3.0 * 55.0
    np.testing.assert_allclose(slope, np.append(6.0 * np.arange(6.0), 55.0))
    (out,), held = pm.join_nonshared_inputs(point, [x + y], [y], {x: pt.shared(2.0)}, make_inputs_shared=True)
    np.testing.assert_array_equal(pm.function([], out)(), 2.0 + point["y"])
    held.set_value(np.zeros(6))
    np.testing.assert_array_equal(pm.function([], out)(), np.full((2, 3), 2.0))
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", shape=2), pm.HalfNormal("sigma")
        pm.Normal("z", mu, sigma, observed=[0.0, 1.0])
    start = model.initial_point()
    (density,), vector = pm.join_nonshared_inputs(start, [model.logp()], model.value_vars)
    values = np.concatenate([np.ravel(start[v.name]) for v in model.value_vars])
    assert density.eval({vector: values}) == pytest.approx(model.compile_logp()(start))
    with pytest.raises(GraphError, match="`point` has no value for `y`"):
        pm.join_nonshared_inputs({"x": 1.0}, [x + y], [x, y])
    with pytest.raises(ValueError, match="at least one input"):
        pm.join_nonshared_inputs(point, [x + y], [])
