"""Functions with derivatives and batched forms of the user's, and functions of NumPy arrays."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, MissingRuleError, ShapeError
from consilience.ir import Node, topological
from consilience.ops.call import FunctionCall
from consilience.rewrite.rules import simplify
from consilience.transforms.vectorize import vectorize

BACKENDS = ("FAST_RUN", "reference")
X = np.array([0.3, -1.2, 2.0])


@pt.custom_vjp
def log1pexp(x: Node) -> Node:
    return pt.log(1 + pt.exp(x))


log1pexp.defvjp(lambda x: (log1pexp(x), x), lambda x, g: (g * pt.sigmoid(x),))


@pytest.mark.parametrize("backend", BACKENDS)
class TestCustomDerivatives:
    """The user's derivative in place of the function's."""

    def test_value_and_derivative(self, backend: str) -> None:
        x = pt.vector("x")
        y = log1pexp(x)
        f = pt.function([x], [y, pt.grad(y.sum(), x)], mode=backend)
        value, slope = f(X)
        np.testing.assert_allclose(value, np.log1p(np.exp(X)))
        np.testing.assert_allclose(slope, 1 / (1 + np.exp(-X)))
        # The formula itself would give inf / inf.
        assert f(np.array([800.0]))[1].tolist() == [1.0]

    def test_second_derivatives_are_those_of_the_first(self, backend: str) -> None:
        x = pt.scalar("x")
        slope = pt.grad(pt.grad(log1pexp(x), x), x)
        share = 1 / (1 + np.exp(-0.4))
        assert pt.function([x], slope, mode=backend)(0.4) == pytest.approx(share * (1 - share))

    def test_batches_keep_the_derivative(self, backend: str) -> None:
        """That by what is shared is summed over the batch; second derivatives and batches of batches follow."""

        @pt.custom_vjp
        def f(x: Node, y: Node) -> Node:
            return x * y

        f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda kept, g: (g * kept[1] * 10, g * kept[0] * kept[0]))
        x, y = pt.matrix("x"), pt.scalar("y")
        z = pt.vmap(pt.vmap(f, in_axes=(0, None)), in_axes=(0, None))(x, y)
        at = np.array([[1.0, 2.0], [3.0, 4.0]])
        by_x, by_y = pt.grad(z.sum(), [x, y])
        twice = pt.grad(by_y, x)
        found = pt.function([x, y], [z, by_x, by_y, twice], mode=backend)(at, 3.0)
        for ours, wanted in zip(found, [at * 3, np.full((2, 2), 30.0), 30.0, 2 * at], strict=True):
            np.testing.assert_allclose(ours, wanted)

    def test_wrong_derivatives_are_used_as_given(self, backend: str) -> None:
        """Nothing looks behind them."""

        @pt.custom_vjp
        def f(x: Node, y: Node) -> tuple[Node, Node]:
            return x * y, x + y

        f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda kept, g: (g[0] * 10 + g[1], None))
        x, y = pt.scalar("x"), pt.scalar("y")
        a, b = f(x, y)
        found = pt.function([x, y], [a, b, *pt.grad(a + 2 * b, [x, y])], mode=backend)(3.0, 4.0)
        assert [float(v) for v in found] == [12.0, 7.0, 12.0, 0.0]

    def test_implicit_derivative_of_a_fixed_point(self, backend: str) -> None:
        """z = cos(a z) by iteration; dz/da = -z sin(a z) / (1 + a sin(a z))."""

        def solved(a: Node) -> Node:
            return pt.while_loop(
                lambda z, d: d > 1e-15, lambda z, d: (pt.cos(a * z), abs(pt.cos(a * z) - z)), (0.5, 1.0)
            )[0]

        @pt.custom_vjp
        def fixed_point(a: Node) -> Node:
            return solved(a)

        fixed_point.defvjp(
            lambda a: ((z := fixed_point(a)), (a, z)),
            lambda kept, g: (-g * kept[1] * pt.sin(kept[0] * kept[1]) / (1 + kept[0] * pt.sin(kept[0] * kept[1])),),
        )
        a = pt.scalar("a")
        z = fixed_point(a)
        value, slope = pt.function([a], [z, pt.grad(z, a)], mode=backend)(0.8)
        up, down = (pt.function([a], solved(a))(0.8 + h) for h in (1e-6, -1e-6))
        assert value == pytest.approx(np.cos(0.8 * value))
        assert slope == pytest.approx((up - down) / 2e-6, rel=1e-6)

    def test_inside_loops_and_batches(self, backend: str) -> None:
        x = pt.vector("x")
        last = pt.scan(lambda v, p: log1pexp(p * 0.5 + v), sequences=x, outputs_info=0.0, return_updates=False)[-1]
        X2 = pt.matrix("X")
        (many,) = vectorize([pt.grad(last, x)], {x: X2})
        found = pt.function([X2], many, mode=backend)(np.stack([X, 2 * X]))

        def plain(v: Any) -> float:
            p = 0.0
            for now in v:
                p = np.log1p(np.exp(p * 0.5 + now))
            return float(p)

        for row, own in zip((X, 2 * X), found, strict=True):
            wanted = [(plain(row + 1e-6 * e) - plain(row - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
            np.testing.assert_allclose(own, wanted, rtol=1e-6)


def test_calls_vanish_once_derivatives_are_taken() -> None:
    """Nothing stands between the function and its surroundings in the code that runs."""
    x = pt.vector("x")
    kept = simplify([log1pexp(x) * 2])
    written = simplify([log1pexp(x) * 2], differentiated=True)
    assert any(isinstance(node.op, FunctionCall) for node in topological(kept))
    assert not any(isinstance(node.op, FunctionCall) for node in topological(written))


def test_custom_batched_forms() -> None:
    """The user's rule for a batch, told which inputs are batched."""
    seen: list[list[bool]] = []

    @pt.custom_vmap
    def scaled(x: Node, a: Node) -> Node:
        return x * a

    @scaled.def_vmap
    def _rule(size: Any, batched: list[bool], x: Node, a: Node) -> tuple[Node, bool]:
        seen.append(batched)
        return x * a + 100, True

    x, a, X2 = pt.vector("x"), pt.scalar("a"), pt.matrix("X")
    (made,) = vectorize([scaled(x, a)], {x: X2})
    assert pt.function([X2, a], made)(np.ones((2, 3)), 2.0).tolist() == [[102.0] * 3] * 2
    assert seen == [[True, False]]
    assert pt.function([x, a], scaled(x, a))(np.ones(3), 2.0).tolist() == [2.0] * 3


class TestOpFromGraph:
    """PyTensor's functions of graphs."""

    def test_is_its_graph(self) -> None:
        x, y, z, w = pt.vectors("x", "y", "z", "w")
        f = pt.OpFromGraph([x, y], [x * pt.exp(y), x + y])
        one, two = f(z, w + 1)
        found = pt.function([z, w], [one, two, *pt.grad(pt.sum(one * two), [z, w])])(X, X[::-1])
        want = pt.function(
            [z, w], [z * pt.exp(w + 1), z + w + 1, *pt.grad(pt.sum(z * pt.exp(w + 1) * (z + w + 1)), [z, w])]
        )
        for own, other in zip(found, want(X, X[::-1]), strict=True):
            np.testing.assert_allclose(own, other)

    def test_pullback_of_the_user(self) -> None:
        x, z = pt.vector("x"), pt.vector("z")
        f = pt.OpFromGraph([x], [x**2], pullback=lambda inputs, outputs, g: [g[0] * 7 * outputs[0]], name="seven")
        found = pt.function([z], pt.grad(pt.sum(f(z)), z))(X)
        np.testing.assert_allclose(found, 7 * X**2)

    def test_reads_what_is_around_it(self) -> None:
        x, z, a = pt.vector("x"), pt.vector("z"), pt.scalar("a")
        f = pt.OpFromGraph([x], [x * a])
        np.testing.assert_allclose(pt.function([z, a], f(z))(X, 3.0), 3 * X)
        np.testing.assert_allclose(pt.function([z, a], pt.grad(pt.sum(f(z)), a))(X, 3.0), X.sum())


def moved(x: Any, a: Any) -> Any:
    return np.tanh(x) * a


def slope(x: Any, a: Any, g: Any) -> Any:
    return g * a / np.cosh(x) ** 2, np.sum(g * np.tanh(x))


WRAPPED = pt.wrap_py([pt.dvector, pt.dscalar], pt.dvector, gradient=slope)(moved)


@pytest.mark.parametrize("backend", BACKENDS)
class TestPythonFunctions:
    """Functions of NumPy arrays as expressions."""

    def test_value_and_gradient(self, backend: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        y = WRAPPED(x * 2, a)
        f = pt.function([x, a], [y + 1, *pt.grad(pt.sum(y**2), [x, a])], mode=backend)
        same = pt.tanh(x * 2) * a
        g = pt.function([x, a], [same + 1, *pt.grad(pt.sum(same**2), [x, a])])
        for own, other in zip(f(X, 0.7), g(X, 0.7), strict=True):
            np.testing.assert_allclose(own, other)

    def test_one_after_the_other(self, backend: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        y = WRAPPED(pt.exp(WRAPPED(x, a)), a + 1)
        np.testing.assert_allclose(pt.function([x, a], y, mode=backend)(X, 0.7), moved(np.exp(moved(X, 0.7)), 1.7))

    def test_in_loops_and_branches(self, backend: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        y = pt.scan(lambda p: WRAPPED(p, a), outputs_info=x, n_steps=2, return_updates=False)[-1]
        z = pt.ifelse(a > 0, WRAPPED(x, a), x)
        found = pt.function([x, a], [y, z], mode=backend)(X, 0.7)
        np.testing.assert_allclose(found[0], moved(moved(X, 0.7), 0.7))
        np.testing.assert_allclose(found[1], moved(X, 0.7))

    def test_batched(self, backend: str) -> None:
        x, a, X2 = pt.vector("x", shape=(3,)), pt.scalar("a"), pt.matrix("X", shape=(None, 3))
        y = WRAPPED(x, a)
        made = vectorize([y, *pt.grad(pt.sum(y), [x, a])], {x: X2})
        found = pt.function([X2, a], made, mode=backend)(np.stack([X, -X]), 0.7)
        np.testing.assert_allclose(found[0], [moved(X, 0.7), moved(-X, 0.7)])
        np.testing.assert_allclose(found[1], [slope(v, 0.7, np.ones(3))[0] for v in (X, -X)])
        np.testing.assert_allclose(found[2], [slope(v, 0.7, np.ones(3))[1] for v in (X, -X)])

    def test_several_results_and_kinds(self, backend: str) -> None:
        @pt.as_op([pt.dmatrix], [pt.dvector, pt.lscalar], infer_shape=lambda node, shapes: [shapes[0][:1], ()])
        def rows(m: Any) -> Any:
            return m.sum(1), m.size

        m = pt.matrix("m")
        total, size = rows(m)
        found = pt.function([m], [total, size], mode=backend)(np.ones((2, 4)))
        assert found[0].tolist() == [4.0, 4.0]
        assert int(found[1]) == 8
        with pytest.raises(MissingRuleError, match="`rows` has no derivative; give `gradient=`"):
            pt.grad(total.sum(), m)

    def test_what_it_raises_reaches_the_caller(self, backend: str) -> None:
        @pt.wrap_py(pt.dscalar, pt.dscalar)
        def broken(x: Any) -> Any:
            raise RuntimeError(f"no value at {float(x)}")

        x = pt.scalar("x")
        with pytest.raises(RuntimeError, match=r"no value at 2\.0"):
            pt.function([x], broken(x) + 1, mode=backend)(2.0)

    def test_other_types_than_declared(self, backend: str) -> None:
        x = pt.scalar("x")
        wide = pt.wrap_py(pt.dscalar, pt.dscalar)(lambda x: np.ones(3))
        with pytest.raises(ShapeError, match=r"shape \(3,\) \(result 0\), but declared 0 axes"):
            pt.function([x], wide(x), mode=backend)(1.0)
        whole = pt.wrap_py(pt.dscalar, pt.lscalar)(lambda x: 0.5)
        with pytest.raises(DtypeError, match=r"gave float64 .*, but declared int64"):
            pt.function([x], whole(x), mode=backend)(1.0)
        several = pt.wrap_py(pt.dscalar, [pt.dscalar, pt.dscalar])(lambda x: x)
        with pytest.raises(ShapeError, match="declared 2 results and gave 1"):
            pt.function([x], several(x)[0], mode=backend)(1.0)


def test_a_black_box_likelihood_is_sampled() -> None:
    """With its gradient by NUTS, without by slices."""
    y = np.array([1.1, 0.4, 0.9, 1.6])

    def density(mu: Any) -> Any:
        return -0.5 * np.sum((y - mu) ** 2)

    both = []
    for gradient in (lambda mu, g: g * np.sum(y - mu), None):
        op = pt.wrap_py(pt.dscalar, pt.dscalar, gradient=gradient)(density)
        with pm.Model():
            mu = pm.Normal("mu", 0, 2)
            pm.Potential("y", op(mu))
            said = nullcontext() if gradient else pytest.warns(pm.ConsilienceWarning, match="`mu` moved by Slice")
            with said:
                result = pm.sample(draws=1000, tune=300, chains=2, random_seed=1, progressbar=False)
            if gradient is None:
                with pytest.raises(pm.SamplingError, match=r"NUTS needs the gradient .*`density` has no derivative"):
                    pm.sample(step=pm.NUTS(), progressbar=False)
        both.append(result.posterior["mu"].to_numpy())
    precision = 4 + 0.25
    for draws in both:
        assert abs(draws.mean() - y.sum() / precision) < 6 * precision**-0.5 / np.sqrt(300)


class TestBadInput:
    """Says what is wrong with a user's rule."""

    def test_derivatives_of_the_wrong_number_shape_or_kind(self) -> None:
        x = pt.vector("x")

        def with_rule(rule: Any) -> Any:
            f = pt.custom_vjp(lambda x: x * 2)
            f.defvjp(lambda x: (x * 2, None), rule)
            return f

        with pytest.raises(GraphError, match="must give 1 cotangents, one per input, got 2"):
            with_rule(lambda kept, g: (g, g))(x)
        with pytest.raises(ShapeError, match="a cotangent of its shape"):
            with_rule(lambda kept, g: (g.sum(),))(x)
        with pytest.raises(DtypeError, match="a float64 cotangent"):
            with_rule(lambda kept, g: (pt.zeros_like(x, dtype="int64"),))(x)

    def test_wrong_numbers_of_inputs(self) -> None:
        x = pt.vector("x")
        with pytest.raises(GraphError, match="has 1 inputs, got 2"):
            pt.OpFromGraph([x], [x])(x, x)
        with pytest.raises(GraphError, match="was declared with 2 inputs, got 1"):
            WRAPPED(x)
        with pytest.raises(GraphError, match="variables such as"):
            pt.OpFromGraph([x * 2], [x])


class TestDerivativesOfOneInput:
    """`OpFromGraph` with a rule for some of its inputs, and with shared variables among them."""

    def test_a_rule_replaces_the_derivative_of_its_input_alone(self) -> None:
        """The others have that of the graph, for lengths known at the call too."""
        x, y, z = pt.vector("x"), pt.scalar("y"), pt.scalar("z")
        op = pm.OpFromGraph(
            [x, y, z], [(x * y).sum() + z**2], pullback=[None, lambda inputs, outputs, g: g[0] * 7.0, None]
        )
        values = {x: [1.0, 2.0, 3.0], y: 2.0, z: 3.0}
        found = [slope.eval(values) for slope in pm.grad(op(x, y, z), [x, y, z])]
        for own, expected in zip(found, ([2.0, 2.0, 2.0], 7.0, 6.0), strict=True):
            np.testing.assert_allclose(own, expected)
        with pytest.raises(GraphError, match="3 inputs and 1 derivatives; give one for each"):
            pm.OpFromGraph([x, y, z], [x * y * z], lop_overrides=[None])

    def test_shared_variables_are_inputs_that_a_call_replaces(self) -> None:
        x, slot = pt.scalar("x"), pm.shared(np.ones((2, 2)), name="slot")
        op = pm.OpFromGraph([x, slot], [x * slot])
        np.testing.assert_array_equal(op(x, slot).eval({x: 3.0}), np.full((2, 2), 3.0))
        np.testing.assert_array_equal(op(x, 2.0 * slot).eval({x: 3.0}), np.full((2, 2), 6.0))


def test_combinations_of_arrays_are_an_array() -> None:
    """As PyMC's users plot and index them; a tensor among them makes a tensor."""
    found = pm.math.cartesian([1.0, 2.0], np.array([[3.0, 4.0], [5.0, 6.0]]))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, [[1, 3, 4], [1, 5, 6], [2, 3, 4], [2, 5, 6]])
    symbolic = pm.math.cartesian(pt.as_tensor([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    np.testing.assert_array_equal(symbolic.eval(), found)
