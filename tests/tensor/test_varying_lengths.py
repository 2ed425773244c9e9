"""Laws of lengths that differ from step to step, or from one batch position to another."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError
from consilience.ir import Node, Op, TensorType, topological

A, X = 0.7, np.array([0.5, 1.2, 0.9, 2.0, 0.3])
COUNTS = np.array([2, 0, 5, 1, 3])


def _scan(fn: Callable[..., Any], *sequences: Any, **settings: Any) -> Any:
    return pt.scan(fn, sequences=sequences or None, return_updates=False, **settings)


def _decayed(a: Any, n: int) -> float:
    w = 1.0
    for _ in range(n):
        w = w * a + 1
    return w


# name -> (of the step's integer, a and x in tensors; the same in NumPy)
PROGRAMS: dict[str, tuple[Callable[[Node, Node, Node], Node], Callable[[int, Any, Any], Any]]] = {
    "last value of an inner loop": (
        lambda i, a, x: _scan(lambda w: w * a + 1, n_steps=i + 1, outputs_info=pt.constant(1.0))[-1],
        lambda i, a, x: _decayed(a, i + 1),
    ),
    "sum over an inner loop": (
        lambda i, a, x: _scan(lambda j: pt.exp(-a * j), pt.arange(i)).sum(),
        lambda i, a, x: sum(np.exp(-a * j) for j in range(i)),
    ),
    "mean over an inner loop": (
        lambda i, a, x: _scan(lambda w: w * a + 1, n_steps=i + 1, outputs_info=pt.constant(1.0)).mean(),
        lambda i, a, x: np.mean([_decayed(a, k + 1) for k in range(i + 1)]),
    ),
    "inner loop over a part of a sequence": (
        lambda i, a, x: pt.concatenate(
            [pt.zeros(1), _scan(lambda v, w: w * a + v, x[:i], outputs_info=pt.constant(0.0))]
        )[-1],
        lambda i, a, x: sum(v * a ** (i - 1 - k) for k, v in enumerate(x[:i])),
    ),
    "backwards": (
        lambda i, a, x: pt.concatenate(
            [pt.zeros(1), _scan(lambda v, w: w * a + v, x[:i], outputs_info=pt.constant(0.0), go_backwards=True)]
        )[-1],
        lambda i, a, x: sum(v * a**k for k, v in enumerate(x[:i])),
    ),
    "parts from behind": (lambda i, a, x: (a * x[-i - 1 :]).sum(), lambda i, a, x: (a * x[-i - 1 :]).sum()),
    "every other element": (lambda i, a, x: (a * x[: i + 1 : 2]).prod(), lambda i, a, x: (a * x[: i + 1 : 2]).prod()),
    "reversed": (lambda i, a, x: pt.cumsum(a * x[i::-1])[-1], lambda i, a, x: (a * x[i::-1]).sum()),
    "a window": (
        lambda i, a, x: (x[i : i + 2] * pt.arange(1, x[i : i + 2].shape[0] + 1)).sum() * a,
        lambda i, a, x: a * (x[i : i + 2] * np.arange(1, len(x[i : i + 2]) + 1)).sum(),
    ),
    "weights of distances": (
        lambda i, a, x: pt.dot(x[:i], pt.exp(-a * (i - pt.arange(i)))),
        lambda i, a, x: x[:i] @ np.exp(-a * (i - np.arange(i))),
    ),
    "greatest and least": (
        lambda i, a, x: a * x[: i + 1].max() - x[: i + 1].min() + x[: i + 1].argmax(),
        lambda i, a, x: a * x[: i + 1].max() - x[: i + 1].min() + x[: i + 1].argmax(),
    ),
    "logarithms of what is not there": (
        lambda i, a, x: pt.log(pt.concatenate([x[:i], a * pt.ones(1)])).sum(),
        lambda i, a, x: np.log(x[:i]).sum() + np.log(a),
    ),
    "softmax": (
        lambda i, a, x: (pt.special.softmax(a * x[: i + 1]) * pt.arange(1, x[: i + 1].shape[0] + 1)).sum(),
        lambda i, a, x: (
            np.exp(a * x[: i + 1]) / np.exp(a * x[: i + 1]).sum() * np.arange(1, len(x[: i + 1]) + 1)
        ).sum(),
    ),
    "sorted": (lambda i, a, x: (a * pt.sort(x[: i + 1])[-1:]).sum(), lambda i, a, x: a * x[: i + 1].max()),
    "running products": (lambda i, a, x: pt.cumprod(a * x[: i + 1])[-1], lambda i, a, x: (a * x[: i + 1]).prod()),
    "as they are, in other places": (
        lambda i, a, x: (a * pt.cast(x[:i] > 0.6, "float64")[None, :].T).sum(),
        lambda i, a, x: a * (x[:i] > 0.6).sum(),
    ),
    "a mask": (lambda i, a, x: (a * x[x > 0.2 * i + 0.4]).sum(), lambda i, a, x: (a * x[x > 0.2 * i + 0.4]).sum()),
    "written into": (
        lambda i, a, x: (pt.set_subtensor(x[:i], a * x[:i] ** 2) * pt.arange(5)).sum(),
        lambda i, a, x: (np.where(np.arange(5) < i, a * x**2, x) * np.arange(5)).sum(),
    ),
    "rows of a matrix": (
        lambda i, a, x: (pt.outer(x[:i], x) * a).sum(0).max(),
        lambda i, a, x: a * x[:i].sum() * x.max(),
    ),
    "flat": (lambda i, a, x: (pt.outer(x[:i], x).ravel() * a).sum(), lambda i, a, x: a * x[:i].sum() * x.sum()),
    "branches of unlike lengths": (
        lambda i, a, x: (a * pt.ifelse(pt.gt(i, 2), x[:2], x[1:]) ** 2).sum(),
        lambda i, a, x: (a * (x[:2] if i > 2 else x[1:]) ** 2).sum(),
    ),
    "loops of loops of loops": (
        lambda i, a, x: _scan(lambda j: _scan(lambda k: a**k * j, pt.arange(j)).sum(), pt.arange(i)).sum(),
        lambda i, a, x: sum(a**k * j for j in range(i) for k in range(j)),
    ),
    "a loop that ends early": (
        lambda i, a, x: _scan(
            lambda v, w: (w + a * v, pt.until(w + a * v > 1.0)), x[: i + 1], outputs_info=pt.constant(0.0)
        )[-1],
        lambda i, a, x: next((s for s in a * np.cumsum(x[: i + 1]) if s > 1.0), a * x[: i + 1].sum()),
    ),
}


@pytest.mark.parametrize(
    ("name", "backend"),
    [(name, backend) for name in PROGRAMS for backend in ("llvm", "reference")] + [("a mask", "c"), ("backwards", "c")],
)
def test_every_step_has_lengths_of_its_own(name: str, backend: str) -> None:
    """In a loop and in a batch: what Python does step by step, and its slopes."""
    program, meant = PROGRAMS[name]
    a, x, counts = pt.dscalar("a"), pt.tensor("x", shape=(5,)), pt.lvector("counts")
    wanted = np.array([meant(i, A, X) for i in COUNTS])
    step = 1e-6
    slope_of_a = sum((meant(i, A + step, X) - meant(i, A - step, X)) / (2 * step) for i in COUNTS)
    looped = _scan(lambda i: program(i, a, x), counts)
    batched = pt.vectorize(lambda i: program(i, a, x), "()->()")(counts)
    for result in (looped, batched):
        f = pm.function(
            [counts, a, x],
            [result, *pt.grad(result.sum(), [a, x], disconnected_inputs="ignore")],
            mode=backend,
            on_unused_input="ignore",
        )
        value, by_a, by_x = f(COUNTS, A, X)
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        np.testing.assert_allclose(by_a, slope_of_a, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(f(0 * COUNTS, A, X)[0], meant(0, A, X), rtol=1e-12)
        for k, direction in enumerate(np.eye(5)):
            moved = [sum(meant(i, A, X + s * direction) for i in COUNTS) for s in (step, -step)]
            np.testing.assert_allclose(by_x[k], (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-8)


class FollowsAllAxes(Op):
    """An op on trial that says that every axis of its operand is a batch."""

    core = 0

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


class SaysNothing(FollowsAllAxes):
    """The same, but it does not say so."""

    core = None


def test_an_op_that_follows_all_axes_of_its_operand_needs_no_form_of_its_own() -> None:
    """What it says of its axes is enough; an op that says nothing is refused, with the way out."""
    x, counts = pt.tensor("x", shape=(5,)), pt.lvector("counts")
    made = pt.vectorize(lambda i: Node(FollowsAllAxes(), x[:i]).sum(), "()->()")(counts)
    assert any(isinstance(node.op, FollowsAllAxes) for node in topological([made]))
    with pytest.raises(MissingRuleError, match="has no form for that"):
        pt.vectorize(lambda i: Node(SaysNothing(), x[:i]).sum(), "()->()")(counts)


def test_a_likelihood_with_a_loop_inside_a_loop() -> None:
    """Its density and slopes are those of the sum written out; the length follows new data."""
    n, y = np.array([3, 0, 2]), np.array([1.0, 0.4, 0.7])
    with pm.Model() as model:
        counts = pm.Data("counts", n)
        a = pm.Normal("a")
        mu = _scan(lambda i: _scan(lambda j: pt.exp(-a * j), pt.arange(i)).sum(), counts)
        pm.Normal("y", mu, 1.0, observed=pm.Data("observed", y))
    with pm.Model() as plain:
        b = pm.Normal("a")
        pm.Normal("y", pt.stack([pt.exp(-b * pt.arange(i)).sum() for i in n]), 1.0, observed=y)
    point = {"a": np.array(0.4)}
    ours, theirs = (m.compile_fn([m.logp(), m.dlogp()])(point) for m in (model, plain))
    for own, meant in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, meant, rtol=1e-12)
    with model:
        pm.set_data({"counts": [6, 1], "observed": [0.0, 0.0]})
    wanted = [np.exp(-0.4 * np.arange(k)).sum() for k in (6, 1)]
    found = model.compile_fn(model.replace_rvs_by_values([mu])[0])({"a": np.array(0.4)})
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_threads_have_lengths_of_their_own() -> None:
    """One function, called at once with data of different lengths."""
    x, a = pt.vector("x"), pt.dscalar("a")
    inner = _scan(lambda i: _scan(lambda j: x[j] * pt.exp(-a * (i - j)), pt.arange(i + 1)).sum(), pt.arange(x.shape[0]))
    f = pm.function([x, a], [inner, pt.grad(inner.sum(), a)])
    data = [np.random.default_rng(n).normal(size=1 + n % 7) for n in range(60)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda v: f(v, A), data))
    for v, (value, slope) in zip(data, together, strict=True):
        lags = np.subtract.outer(np.arange(len(v)), np.arange(len(v)))
        weights = np.where(lags >= 0, np.exp(-A * lags), 0.0)
        np.testing.assert_allclose(value, weights @ v, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(slope, -(lags * weights @ v).sum(), rtol=1e-11, atol=1e-13)


def test_a_run_with_a_loop_inside_a_loop_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    """The draws of a run that ended by its time and was resumed are those of one that was not."""
    with pm.Model() as model:
        a = pm.HalfNormal("a")
        mu = _scan(lambda i: _scan(lambda j: pt.exp(-a * j), pt.arange(i)).sum(), pt.as_tensor([3, 0, 2]))
        pm.Normal("y", mu, 1.0, observed=[1.0, 0.4, 0.7])
        settings = {"draws": 60, "tune": 60, "chains": 2, "random_seed": 5, "progressbar": False}
        settings |= {"compute_convergence_checks": False}
        whole = pm.sample(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pm.sample(**settings, save=pm.Save(checkpoint=tmp_path / "run"), stop=pm.Stop(max_time=1e-3))
        resumed = pm.resume(tmp_path / "run", model=model, progressbar=False)
    np.testing.assert_array_equal(resumed.posterior["a"], whole.posterior["a"])


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_lengths_that_must_agree_in_a_step_are_compared_there(backend: str) -> None:
    x, y, counts = pt.vector("x"), pt.vector("y"), pt.lvector("counts")
    f = pm.function([x, y, counts], _scan(lambda i: (x[:i] * y[i:]).sum(), counts), mode=backend)
    np.testing.assert_allclose(f(X[:4], X[:4], [2, 2]), [X[:2] @ X[2:4]] * 2)
    with pytest.raises(AssertionError, match="operands have equal lengths"):
        f(X[:4], X[:4], [2, 1])
    g = pm.function([x, counts], _scan(lambda i: x[:i].max(), counts), mode=backend)
    with pytest.raises(AssertionError, match="`max` of an empty axis"):
        g(X, [1, 0])
    h = pm.function([x, counts], _scan(lambda i: x[:i][2], counts), mode=backend)
    assert h(X, [3, 4]).tolist() == [0.9, 0.9]
    with pytest.raises(AssertionError, match="outside an axis"):
        h(X, [3, 2])


def test_what_cannot_differ_is_refused_with_the_way_out() -> None:
    counts, x = pt.lvector("counts"), pt.vector("x")
    with pytest.raises(
        MissingRuleError, match=r"differs from one step of a loop .* results have one length.*`\.sum\(\)`"
    ):
        _scan(lambda i: x[:i], counts)
    with pytest.raises(MissingRuleError, match="one batch position to another"):
        pt.vectorize(lambda i: pt.arange(i), "()->(n)")(counts)
    with pytest.raises(MissingRuleError, match=r"depends on what the loop carries.*pt\.minimum"):
        _scan(lambda c: c + pt.arange(c).sum(), n_steps=3, outputs_info=pt.constant(2))
    bounded = _scan(lambda c: c + pt.arange(pt.minimum(c, 4)).sum(), n_steps=3, outputs_info=pt.constant(2))
    assert bounded.eval().tolist() == [3, 6, 12]
    with pytest.raises(MissingRuleError, match="has no form for that"):
        _scan(lambda i: pt.linalg.det(pt.eye(i)), counts)
    with pytest.raises(MissingRuleError, match="truncate_gradient"):
        _scan(lambda i: _scan(lambda w: w * 2, n_steps=i, outputs_info=x[0], truncate_gradient=2).sum(), counts)
