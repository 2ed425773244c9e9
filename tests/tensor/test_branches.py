"""Laws of branches: one is chosen, no other is computed, and nothing that it would need is asked for."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, GraphError, OutOfBoundsError, ShapeError
from consilience.ir import Node


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_the_index_chooses_and_is_held_within_the_branches(count: int) -> None:
    i, x = pt.iscalar("i"), pt.dscalar("x")
    value = pt.switch_case(i, *[pt.sin(x + k) for k in range(count)])
    f = pm.function([i, x], [value, pt.grad(value, x)], on_unused_input="ignore")
    for index in range(-2, count + 2):
        at = 0.3 + np.clip(index, 0, count - 1)
        np.testing.assert_allclose(f(index, 0.3), [np.sin(at), np.cos(at)], rtol=1e-14)


def test_branches_not_chosen_are_not_computed() -> None:
    called: list[float] = []

    @pt.wrap_py(pt.dscalar, pt.dscalar)
    def costly(v: np.ndarray) -> np.ndarray:
        called.append(float(v))
        return v

    i, x = pt.iscalar("i"), pt.dscalar("x")
    f = pm.function([i, x], pt.switch_case(i, x, costly(x), 2 * x))
    assert (f(0, 3.0), f(2, 3.0), called) == (3.0, 6.0, [])
    assert (f(1, 3.0), called) == (3.0, [3.0])


def test_wrong_use_is_told() -> None:
    x = pt.dscalar("x")
    with pytest.raises(GraphError, match="at least one branch"):
        pt.switch_case(0)
    with pytest.raises(GraphError, match="scalar"):
        pt.switch_case(pt.ivector("i"), x, x + 1)
    with pytest.raises(DtypeError, match="integer"):
        pt.switch_case(x, x, x + 1)


BACKENDS = pytest.mark.parametrize("backend", ["llvm", "reference", "c"])
X, Y = np.array([0.5, -1.0]), np.array([2.0, 3.0, 5.0])


@BACKENDS
def test_what_only_the_other_branch_needs_is_not_asked_for(backend: str) -> None:
    """Lengths, equalities of lengths, positions: required where they are used, with the errors of elsewhere."""
    i, x, y = pt.lscalar("i"), pt.vector("x"), pt.vector("y")
    cases: list[tuple[Node, type[Exception], str]] = [
        (pt.alloc(x[0], i).max(), ShapeError, "a length must be >= 0"),
        ((x + y).sum() + 0.0 * i, ShapeError, "equal lengths"),
        (pt.reshape(x, (3, 1)).sum() + 0.0 * i, ShapeError, "reshape keeps the size"),
        (x[i + 7], OutOfBoundsError, "out of bounds"),
    ]
    for needy, error, message in cases:
        for chosen in (pt.ifelse(i <= 0, -x[0], needy), pt.ifelse(i > 0, needy, -x[0])):
            f = pm.function([i, x, y], [chosen, pt.grad(chosen, x)], mode=backend, on_unused_input="ignore")
            value, slope = f(-1, X, Y)
            assert value == -0.5
            np.testing.assert_array_equal(slope, [-1.0, 0.0])
        taken = pm.function([i, x, y], pt.ifelse(i < 0, needy, -x[0]), mode=backend, on_unused_input="ignore")
        with pytest.raises(error, match=message):
            taken(-1, X, Y)


@BACKENDS
def test_branches_of_unlike_lengths(backend: str) -> None:
    """The result has the lengths of the chosen one, known before or at the call; derivatives pass to it alone."""
    i, x, y = pt.lscalar("i"), pt.vector("x"), pt.vector("y")
    result = pt.ifelse(i > 0, x * 2.0, y**2)
    f = pm.function([i, x, y], [result, result.shape[0], *pt.grad((result * result).sum(), [x, y])], mode=backend)
    for at, chosen, slopes in [(1, 2 * X, (8 * X, 0 * Y)), (0, Y**2, (0 * X, 4 * Y**3))]:
        value, length, *found = f(at, X, Y)
        np.testing.assert_allclose(value, chosen)
        assert length == len(chosen)
        for own, wanted in zip(found, slopes, strict=True):
            np.testing.assert_allclose(own, wanted)
    value, *_ = f(1, Y, Y)
    np.testing.assert_allclose(value, 2 * Y)
    static = pm.function([i], pt.ifelse(i > 0, pt.zeros((2, 3)), pt.ones((4, 3))).sum(0), mode=backend)
    np.testing.assert_array_equal(static(0), [4.0] * 3)
    several = pt.cond(i > 0, [x, y[0]], [y, x[0]])
    first, second = pm.function([i, x, y], several, mode=backend)(0, X, Y)
    np.testing.assert_array_equal(first, Y)
    assert second == X[0]


@BACKENDS
def test_branches_within_branches_and_what_follows(backend: str) -> None:
    """Lengths of a choice enter further shapes, choices and indices."""
    i, x, y = pt.lscalar("i"), pt.vector("x"), pt.vector("y")
    inner = pt.ifelse(i > 1, pt.concatenate([x, y]), pt.alloc(x.sum(), i))
    outer = pt.ifelse(i > 0, inner, y[1:])
    doubled = pt.concatenate([outer, outer[::-1]]) + pt.arange(2 * outer.shape[0])
    f = pm.function([i, x, y], [outer, doubled, pt.grad(doubled.sum(), x)], mode=backend)
    for at, meant, slope in [(2, [*X, *Y], 2.0), (1, [X.sum()], 2.0), (0, Y[1:], 0.0), (-3, Y[1:], 0.0)]:
        value, more, slopes = f(at, X, Y)
        np.testing.assert_allclose(value, meant)
        np.testing.assert_allclose(more, np.concatenate([meant, meant[::-1]]) + np.arange(2.0 * len(meant)))
        np.testing.assert_allclose(slopes, np.full(2, slope))


@BACKENDS
def test_loops_and_batches_decide_between_equal_lengths(backend: str) -> None:
    """A step or a batch position that decides needs them; where they differ the call says so."""
    x, y, v = pt.vector("x"), pt.vector("y"), pt.vector("v")
    steps = pt.scan(lambda a: pt.ifelse(a > 0, x * a, y), sequences=v, return_updates=False)
    batch = pt.vectorize(lambda a: pt.ifelse(a > 0, x * a, y), "()->(n)")(v)
    at = np.array([2.0, -1.0, 3.0])
    for result in (steps, batch):
        f = pm.function([x, y, v], [result, pt.grad(result.sum(), x)], mode=backend)
        found, slope = f(Y, Y + 1, at)
        np.testing.assert_allclose(found, [2 * Y, Y + 1, 3 * Y])
        np.testing.assert_allclose(slope, [5.0, 5.0, 5.0])
        with pytest.raises(ShapeError, match="equal"):
            f(X, Y, at)
    outside = pt.scan(lambda a: a * pt.ifelse(v[0] > 0, x, y).sum(), sequences=v, return_updates=False)
    np.testing.assert_allclose(pm.function([x, y, v], outside, mode=backend)(X, Y, at), at * X.sum())


def test_different_ranks_are_refused() -> None:
    with pytest.raises(ShapeError, match="branches have different ranks"):
        pt.ifelse(pt.scalar("a"), pt.vector("x"), 1.0)
