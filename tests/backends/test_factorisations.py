"""Factorisations: factors multiply to their matrix, have their form, and are the same on every backend where unique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import function
from consilience.errors import DtypeError, LinearAlgebraError, MissingRuleError, ShapeError
from consilience.ir import Node, Op, TensorType
from consilience.ops import Item
from consilience.ops.factorisations import (
    LDL,
    LU,
    QR,
    SVD,
    ColumnOrder,
    ComplexSchur,
    Eig,
    Eigh,
    Eigvals,
    Eigvalsh,
    Householder,
    LeastSquares,
    PivotPermutation,
    PseudoInverse,
    Schur,
    SingularValues,
)
from consilience.transforms.vectorize import vectorize
from tests.backends.agreement import Array, inputs_like, run_llvm, run_reference

la = pt.linalg
Run = Callable[[Sequence[Node], Sequence[Node], Sequence[Array]], list[Array]]

# Ops with their results whose values are the same wherever they are computed.
UNIQUE: list[tuple[Op, tuple[int, ...]]] = [
    (Eigh(), (0,)), (Eigh(lower=False), (0,)), (Eigvalsh(), (0,)), (Eigvalsh(lower=False), (0,)),
    (SVD(), (0, 1, 2)), (SVD(full=True), (1,)), (SingularValues(), (0,)),
    (QR(), (0, 1)), (QR("full"), (0, 1)), (QR("r"), (0,)), (Householder(), (0, 1)),
    (ColumnOrder(), (0,)), (LU(), (0, 1)), (LDL(), (0, 1, 2)),
]  # fmt: skip
OPS = {
    *(type(op) for op, _ in UNIQUE),
    Eig,
    Eigvals,
    Schur,
    ComplexSchur,
    PivotPermutation,
    PseudoInverse,
    LeastSquares,
}
SQUARE = ((0, 0), (1, 1), (2, 2), (8, 8), (9, 9), (40, 40), (11, 4, 4), (2, 3, 12, 12), (0, 3, 3), (2, 0, 0))
ANY = (*SQUARE, (5, 3), (3, 5), (0, 3), (3, 0), (2, 0, 3), (2, 30, 4), (2, 4, 30))
BOTH = pytest.mark.parametrize("run", [run_reference, run_llvm], ids=["reference", "llvm"])


def matrix(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Random numbers."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def transposed(x: Array) -> Array:
    """The last two axes exchanged, conjugate."""
    return np.conj(np.swapaxes(x, -1, -2))


def close(found: Array, wanted: Array, scale: float = 1.0) -> None:
    """Equal up to the rounding of sums of products."""
    assert found.shape == np.shape(wanted)
    assert np.allclose(found, wanted, rtol=0, atol=1e-12 * scale * max(1, *found.shape[-2:], 1))


def orthonormal(q: Array) -> None:
    """Columns are orthogonal and of length 1."""
    close(transposed(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


def strided(x: Array) -> Array:
    """The same numbers, not contiguous in memory."""
    return np.asarray(np.asfortranarray(x)) if x.ndim == 2 else np.repeat(x, 2, axis=0)[::2]


@pytest.mark.parametrize(
    ("op", "places", "shape"),
    [
        pytest.param(op, places, shape, id=f"{op!r}{shape}")
        for op, places in UNIQUE
        for shape in (SQUARE if isinstance(op, Eigh | Eigvalsh | LDL) else ANY)
    ],
)
def test_machine_code_finds_the_factors_of_numpy(op: Op, places: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Lengths known before, or at the call with strided arrays."""
    for symbolic, array in ((False, matrix(shape)), (True, strided(matrix(shape)))):
        nodes = inputs_like([array], symbolic=symbolic)
        made = Node(op, *nodes)
        outputs = [made] if isinstance(made.type, TensorType) else [Node(Item(i), made) for i in places]
        for found, meant in zip(run_llvm(nodes, outputs, [array]), run_reference(nodes, outputs, [array]), strict=True):
            assert found.dtype == meant.dtype
            close(found, meant, 10.0)


@BOTH
@pytest.mark.parametrize("shape", ANY)
def test_singular_vectors_and_orthogonal_factors_rebuild_the_matrix(run: Run, shape: tuple[int, ...]) -> None:
    """Also vectors that belong to no singular value, which are not unique."""
    x = matrix(shape)
    k = min(shape[-2:])
    nodes = inputs_like([x])
    for full in (True, False):
        u, s, v, q, r = run(nodes, [*la.svd(*nodes, full), *la.qr(*nodes, "full" if full else "economic")], [x])
        for factor in (u, transposed(v), q):
            orthonormal(factor)
        close((u[..., :k] * s[..., None, :]) @ v[..., :k, :], x)
        assert (np.diff(s) <= 0).all()
        close(q @ r, x)
        assert (np.tril(r, -1) == 0).all()


@BOTH
@pytest.mark.parametrize("shape", SQUARE)
def test_forms_of_square_matrices_rebuild_them(run: Run, shape: tuple[int, ...]) -> None:
    """Eigenvectors, Schur forms, and triangular factors of symmetric and general matrices."""
    x = matrix(shape)
    nodes = inputs_like([x])
    wr, wi, vr, vi = run(nodes, [part for z in la.eig(*nodes) for part in (z.real, z.imag)], [x])
    w, v = wr + 1j * wi, vr + 1j * vi
    close(x @ v, v * w[..., None, :], 10.0)
    if x.size:
        close(np.linalg.norm(v, axis=-2), np.ones(shape[:-1]))
        first = np.argmax(np.abs(v) > 0.999999 * np.abs(v).max(-2, keepdims=True), -2)
        leading = np.take_along_axis(v, first[..., None, :], -2)
        assert (leading.imag == 0).all()
        assert (leading.real > 0).all()
    t, z = run(nodes, list(la.schur(*nodes)), [x])
    orthonormal(z)
    close(z @ t @ transposed(z), x, 10.0)
    assert (np.tril(t, -2) == 0).all()
    tr, ti, zr, zi = run(nodes, [part for m in la.schur(*nodes, "complex") for part in (m.real, m.imag)], [x])
    t, z = tr + 1j * ti, zr + 1j * zi
    orthonormal(z)
    close(z @ t @ transposed(z), x, 10.0)
    assert (np.tril(t, -1) == 0).all()
    p, lower, upper = run(nodes, list(la.lu(*nodes)), [x])
    close(p @ lower @ upper, x)
    s = x + np.swapaxes(x, -1, -2)
    for low in (True, False):
        factor, blocks, order = run(nodes, list(la.ldl(*nodes, lower=low)), [np.tril(s) if low else np.triu(s)])
        close(factor @ blocks @ transposed(factor), s, 10.0)
        triangle = np.take_along_axis(factor, order[..., None], -2)
        assert (triangle == (np.tril(triangle) if low else np.triu(triangle))).all()


HARD = {
    "zero": lambda n: np.zeros((n, n)),
    "unit": lambda n: np.eye(n),
    "rank one": lambda n: np.ones((n, n)),
    "large": lambda n: 1e300 * (matrix((n, n)) + matrix((n, n)).T) / 10,
    "small": lambda n: 1e-300 * (matrix((n, n)) + matrix((n, n)).T),
    "graded": lambda n: np.diag(10.0 ** -np.arange(0, 4 * n, 4.0)),
    "two values": lambda n: np.where(np.add.outer(np.arange(n), np.arange(n)) == n - 1, 1.0, 0.0),
    "nearly diagonal": lambda n: np.diag(np.arange(1.0, n + 1)) + 1e-14,
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("name", HARD)
def test_eigenvalues_of_hard_symmetric_matrices(run: Run, name: str, n: int) -> None:
    """Equal, vanishing, very large and very small ones; up to eight rows by rotations."""
    x = HARD[name](n)
    (node,) = nodes = inputs_like([x])
    w, v, alone = run(nodes, [*la.eigh(node), la.eigvalsh(node)], [x])
    scale = np.abs(x).max() or 1.0
    orthonormal(v)
    close((x / scale) @ v, v * (w / scale))
    close(w / scale, alone / scale)
    close(w / scale, np.linalg.eigvalsh(x / scale))


def test_a_batch_of_small_matrices_is_done_matrix_by_matrix() -> None:
    """Eight go side by side; every one gives what it gives alone, whatever the others are."""
    x = matrix((19, 4, 4))
    x = x + np.swapaxes(x, 1, 2)
    x[3], x[11] = 0.0, 1e200 * x[11]
    nodes = inputs_like([x])
    w, v = run_llvm(nodes, list(la.eigh(*nodes)), [x])
    one = inputs_like([x[0]])
    for k in range(19):
        values, vectors = run_llvm(one, list(la.eigh(*one)), [x[k]])
        np.testing.assert_array_equal(w[k], values)
        np.testing.assert_array_equal(v[k], vectors)


@BOTH
def test_solutions_for_matrices_without_full_rank_are_the_shortest(run: Run) -> None:
    """Pseudo-inverse and least squares leave out singular values that count as 0."""
    x = matrix((6, 3)) @ matrix((3, 5))
    b = matrix((6, 2), 1)
    nodes = inputs_like([x, b])
    inverse, solution, rest, rank = run(
        nodes, [la.pinv(nodes[0]), *la.lstsq(*nodes)[:2], la.matrix_rank(nodes[0])], [x, b]
    )
    close(inverse, np.linalg.pinv(x, 1e-10), 10.0)
    close(solution, np.linalg.lstsq(x, b, 1e-10)[0], 10.0)
    assert rest.shape == (0,)
    assert rank == 3


@BOTH
@pytest.mark.parametrize("length", [0, 1, 5])
def test_pivots_are_exchanges_one_after_the_other(run: Run, length: int) -> None:
    """Both directions undo each other; fewer pivots than rows leave the last rows."""
    pivots = np.array([[k + (7 * k + j) % (length - k) for k in range(length)] for j in range(3)], "int32")
    pivots = pivots.reshape(3, length)
    (node,) = nodes = inputs_like([pivots])
    there, back = run(nodes, [Node(PivotPermutation(length + 2, i), node) for i in (False, True)], [pivots])
    for j in range(3):
        rows = list(range(length + 2))
        for i, k in enumerate(pivots[j]):
            rows[i], rows[k] = rows[k], rows[i]
        assert there[j].tolist() == rows
        assert back[j][there[j]].tolist() == list(range(length + 2))


@BOTH
@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("lhp", lambda w: w.real < 0), ("rhp", lambda w: w.real >= 0), ("iuc", lambda w: abs(w) <= 1),
        ("ouc", lambda w: abs(w) > 1),
    ],
)  # fmt: skip
def test_sorted_forms_have_the_wanted_eigenvalues_first(
    run: Run, sort: str, first: Callable[[Array], Array], output: str
) -> None:
    """One after the other, those for which the condition holds before all others."""
    x, y = matrix((5, 5), 1), matrix((5, 5), 2)
    nodes = inputs_like([x, y])
    alpha, beta, q, z = la.ordqz(*nodes, sort, output)[2:]
    one = la.schur(nodes[0], "complex", sort)[0]
    parts = [part for c in (alpha, beta, pt.diagonal(one)) for part in (pt.real(c), pt.imag(c))]
    found = run(nodes, parts, [x, y])
    alphas, betas, values = (found[k] + 1j * found[k + 1] for k in (0, 2, 4))
    for held in (first(alphas / betas), first(values)):
        assert held.any()
        assert (np.diff(held.astype(int)) <= 0).all()
    assert q.dtype == z.dtype == ("complex128" if output == "complex" else "float64")


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 9, 9)])
def test_checking_every_value_finds_no_difference(shape: tuple[int, ...]) -> None:
    """In the mode that compares each op with NumPy, vectors are turned alike, also those without a singular value."""
    x = pt.tensor("x", shape=shape)
    outputs = [*la.qr(x), *la.svd(x), *la.lu(x), la.pinv(x), la.lstsq(x, x)[0], la.norm(x, "nuc", (-2, -1))]
    if shape[-1] == shape[-2]:
        outputs += [*la.eigh(x), *la.eig(x), *la.ldl(x), *la.schur(x), la.eigvals(x)]
    pm.function([x], outputs, mode="DebugMode")(matrix(shape))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_other_dtypes(dtype: str) -> None:
    """Computed in float64; float32 and float16 give float32, all others float64, complex numbers as precise."""
    x = pt.tensor("x", shape=(3, 3), dtype=dtype)
    real, complex_ = ("float32", "complex64") if dtype.startswith("float") else ("float64", "complex128")
    outputs = [*la.qr(x), *la.svd(x), *la.eigh(x), la.eigvalsh(x), la.pinv(x), la.lu_factor(x)[0], la.cond(x)]
    assert {output.dtype for output in outputs} == {real}
    assert {output.dtype for output in (*la.eig(x), la.eigvals(x), *la.schur(x, "complex"))} == {complex_}
    value = (9 * np.abs(matrix((3, 3)))).astype(dtype)
    for output, found in zip(outputs, pm.function([x], outputs)(value), strict=True):
        assert str(found.dtype) == output.dtype
    assert la.matrix_rank(x).dtype == "int64"


# ---- what has no factors


CAREFUL = {
    "eigh": lambda x: la.eigh(x)[1], "eigvalsh": la.eigvalsh, "svd": lambda x: la.svd(x)[0],
    "svdvals": la.svdvals, "eig": lambda x: la.eig(x)[0].real, "eigvals": lambda x: la.eigvals(x).real,
    "schur": lambda x: la.schur(x)[0], "complex schur": lambda x: la.schur(x, "complex")[0].real,
    "sorted schur": lambda x: la.schur(x, sort="lhp")[0], "qz": lambda x: la.qz(x, x)[0],
    "ldl": lambda x: la.ldl(x)[0], "pinv": la.pinv, "lstsq": lambda x: la.lstsq(x, x)[0], "rank": la.matrix_rank,
    "norm": lambda x: la.norm(x, 2), "cond": la.cond,
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", CAREFUL)
def test_numbers_that_are_not_finite_are_refused(run: Run, name: str, bad: float, n: int) -> None:
    """A search for eigenvalues might never end with them."""
    x = matrix((2, n, n))[1] if name in ("norm", "lstsq") else matrix((2, n, n))
    x[..., -1, 0] = bad
    nodes = inputs_like([x])
    with pytest.raises(LinearAlgebraError):
        run(nodes, [CAREFUL[name](*nodes)], [x])


@BOTH
@pytest.mark.parametrize("n", [3, 12])
def test_the_other_triangle_is_not_read(run: Run, n: int) -> None:
    """NaN there changes nothing."""
    x = matrix((n, n))
    nodes = inputs_like([x])
    for lower in (True, False):
        other = np.where(np.tri(n, k=-1) > 0, np.nan, x.T) if not lower else np.where(np.tri(n, k=-1).T > 0, np.nan, x)
        outputs = [la.eigvalsh(*nodes, lower=lower), la.eigh(*nodes, lower=lower)[0], la.ldl(*nodes, lower=lower)[1]]
        for found in run(nodes, outputs, [other]):
            assert np.isfinite(found).all()


@BOTH
def test_nan_spreads_in_factors_found_without_a_search(run: Run) -> None:
    """QR and LU need no numbers that are finite."""
    x = matrix((4, 4))
    x[0, 0] = np.nan
    nodes = inputs_like([x])
    for found in run(nodes, [la.qr(*nodes)[1], la.lu_factor(*nodes)[0]], [x]):
        assert np.isnan(found).any()


@BOTH
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (3, 9, 9), (20, 20)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_determinants_of_matrices_with_nan_are_nan(run: Run, dtype: str, shape: tuple[int, ...]) -> None:
    """Also where columns of zeros or infinite pivots end the elimination before it meets the NaN."""
    random, n = np.random.default_rng(shape), shape[-1]
    x = pt.tensor("x", dtype=dtype, shape=shape)
    compiled = pm.function([x], [la.det(x), *la.slogdet(x)], mode="llvm" if run is run_llvm else "reference")
    for _ in range(200):
        value = random.normal(size=shape)
        value[random.random(shape) < random.choice([0.0, 0.5])] = 0.0
        for bad in random.choice([np.nan, np.inf, -np.inf], size=random.integers(4)):
            value[..., random.integers(n), random.integers(n)] = bad
        missing = np.isnan(value).any((-2, -1))
        for found in compiled(value.astype(dtype)):
            assert np.isnan(found[missing]).all()
            assert found.dtype == dtype


@BOTH
def test_a_singular_matrix_has_triangular_factors_but_no_solution(run: Run) -> None:
    """The zero is on the diagonal of U."""
    x = np.ones((3, 3))
    nodes = inputs_like([x])
    assert run(nodes, [la.lu(*nodes)[2]], [x])[0].diagonal().tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(LinearAlgebraError):
        run(nodes, [la.lu_solve(la.lu_factor(*nodes), np.ones(3))], [x])


@pytest.mark.parametrize(
    "call",
    [
        la.qr, la.qr_full, la.svd, la.svdvals, la.eigh, la.eigvalsh, la.eig, la.eigvals, la.lu, la.lu_factor, la.ldl,
        la.schur, lambda x: la.qz(x, x), la.pinv, lambda x: la.lstsq(x, x), la.matrix_rank, la.cond, la.cho_factor,
        lambda x: la.norm(x, "nuc"),
    ],
)  # fmt: skip
def test_complex_matrices_are_refused(call: Callable[..., Any]) -> None:
    """By name, when the expression is written."""
    with pytest.raises(DtypeError, match="complex"):
        call(pt.zmatrix("x"))


@pytest.mark.parametrize(
    "call",
    [
        la.eigh, la.eigvalsh, la.eig, la.eigvals, la.schur, la.ldl, lambda x: la.qz(x, x),
        lambda x: la.schur(x, sort="lhp"),
    ],
)  # fmt: skip
def test_square_matrices_are_needed(call: Callable[..., Any]) -> None:
    """Told when the expression is written, or by the function for lengths that come with the matrix."""
    with pytest.raises(ShapeError, match="square"):
        call(pt.tensor("x", shape=(3, 4)))
    x = pt.dmatrix("x")
    results = call(x)
    output = results if isinstance(results, Node) else results[0]
    output = output.real if output.dtype.startswith("complex") else output
    with pytest.raises((ShapeError, LinearAlgebraError)):
        pm.function([x], output)(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: la.qr(x, "thin"), ValueError, "mode must be one of 'full'"),
        (lambda x: la.lu(x, True, p_indices=True), ValueError, "one of `permute_l` and `p_indices`"),
        (lambda x: la.eigh(x, UPLO="T"), ValueError, "UPLO must be 'L' or 'U'"),
        (lambda x: la.schur(x, "imaginary"), ValueError, "output must be 'real' or 'complex'"),
        (lambda x: la.schur(x, sort="left"), ValueError, "sort must be one of 'lhp'"),
        (lambda x: la.norm(x, 3), ValueError, "a matrix norm has ord None, 'fro', 'nuc'"),
        (lambda x: la.qr(x[0]), ShapeError, "`qr` needs a matrix"),
        (lambda x: la.lstsq(x, pt.dvector("b", shape=(4,))), ShapeError, "least squares need 3 rows"),
        (lambda x: pt.grad(la.schur(x)[0].sum(), x), MissingRuleError, "eigenvalues have one"),
        (lambda x: pt.grad(la.qz(x, x)[0].sum(), x), MissingRuleError, "has no derivative"),
        (lambda x: pt.grad(la.qr(x, "raw")[0].sum(), x), MissingRuleError, "in the other modes has one"),
        (lambda x: pt.grad(la.qr(x[:, :2])[0].sum(), x), MissingRuleError, "mode='economic'"),
        (lambda x: pt.grad(la.svd(x[:, :2])[0].sum(), x), MissingRuleError, "full_matrices=False"),
    ],
)  # fmt: skip
def test_refusals_name_what_is_there(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    """What was needed, and what serves instead."""
    with pytest.raises(error, match=message):
        call(pt.tensor("x", shape=(3, 3)))


# ---- derivatives where values meet


def test_derivatives_at_equal_eigenvalues() -> None:
    """Functions that treat equal values alike have theirs; vectors have none, which is said by NaN or infinity."""
    x = pt.tensor("x", shape=(3, 3))
    at = np.diag([1.0, 2.0, 2.0])
    for loss, slope in (
        ((la.eigvalsh(x) ** 3).sum(), 3.0 * at**2),
        ((la.eigh(x)[0] ** 3).sum(), 3.0 * at**2),
        (la.svdvals(x).sum(), np.eye(3)),
        (la.norm(x, "nuc"), np.eye(3)),
    ):
        np.testing.assert_allclose(pm.function([x], pt.grad(loss, x))(at), slope, atol=1e-12)
    w = np.arange(9.0).reshape(3, 3)
    for vectors in (la.eigh(x)[1], la.svd(x)[0], la.svd(x)[2], la.eig(x)[1].real):
        assert not np.isfinite(pm.function([x], pt.grad((vectors * w).sum(), x))(at)).all()


SMOOTH = {
    "qr": (lambda x: la.qr(x, "economic"), (4, 3)), "wide qr": (lambda x: la.qr(x), (3, 4)),
    "r": (lambda x: la.qr(x, "full")[1], (4, 3)), "pivoted": (lambda x: la.qr(x, "r", pivoting=True), (4, 3)),
    "svd": (lambda x: la.svd(x, False), (4, 3)), "lu": (la.lu_factor, (4, 3)), "wide lu": (la.lu_factor, (3, 4)),
    "pinv": (la.pinv, (4, 3)), "lstsq": (lambda x: la.lstsq(x, x[:, :1])[0] + la.lstsq(x[:, 1:], x)[0].sum(), (4, 3)),
    "eigh": (lambda x: la.eigh(x + x.mT), (3, 3)), "ldl": (lambda x: la.ldl(x + x.mT), (3, 3)),
    "eig": (lambda x: [part for z in la.eig(x) for part in (z.real, z.imag)], (3, 3)),
    "hermitian pinv": (lambda x: la.pinv(x + x.mT, hermitian=True), (3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("symbolic", [False, True])
def test_first_and_second_derivatives_are_limits_of_differences(name: str, symbolic: bool) -> None:
    """Along a direction, for weighted sums of sines of all factors; of known lengths, or of those that come."""
    call, shape = SMOOTH[name]
    if symbolic and name in ("wide qr", "lstsq"):
        pytest.skip("columns of Q that have derivatives are known by lengths only")
    at, direction, other = (matrix(shape, seed) for seed in (3, 1, 2))
    x = pt.tensor("x", shape=(None, None) if symbolic else shape)
    results = call(x)
    loss: Any = 0.0
    for k, output in enumerate([results] if isinstance(results, Node) else results):
        if output.dtype == "float64":
            loss = loss + (pt.sin(output + k) * pt.cos(2.0 * output)).sum()
    slope = pt.grad(loss, x)
    f = pm.function([x], [loss, (slope * direction).sum(), (slope * other).sum()])
    g = pm.function([x], [(pt.grad((slope * other).sum(), x) * direction).sum()])
    h = 1e-5
    above, below = f(at + h * direction), f(at - h * direction)
    assert f(at)[1] == pytest.approx((above[0] - below[0]) / (2 * h), rel=1e-6, abs=1e-6)
    assert g(at)[0] == pytest.approx((above[2] - below[2]) / (2 * h), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", SMOOTH)
def test_batches_are_factorised_at_once(name: str) -> None:
    """Value and derivative of a batch are those of its matrices."""
    call, shape = SMOOTH[name]
    one = pt.tensor("x", shape=shape)
    results = call(one)
    outputs = [results] if isinstance(results, Node) else list(results)
    outputs.append(
        pt.grad(sum((pt.sin(o).sum() for o in outputs if o.dtype == "float64"), start=pt.constant(0.0)), one)
    )
    batch = pt.tensor("y", shape=(5, *shape))
    x = matrix((5, *shape), 4)
    found = run_llvm([batch], vectorize(outputs, {one: batch}), [x])
    for k in range(5):
        for all_, own in zip(found, run_llvm([one], outputs, [x[k]]), strict=True):
            close(all_[k], own, 1e3)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("routine", ["solve", "cholesky"])
def test_parts_of_a_joined_operand_outlive_the_routine_that_overwrites_it(routine: str, nested: bool) -> None:
    """A part is made in the memory of the join; where it is read again, the routine works in memory of its own."""
    x = pt.tensor("x", dtype="float64", shape=(2,))
    part = pt.tanh(x)
    rows = [pt.as_tensor(np.array([3.0, 0.2])), part + np.array([0.0, 3.0]) if routine == "cholesky" else part]
    read = rows[1]
    joined = pt.concatenate([pt.stack(rows[:1]), pt.stack(rows[1:])]) if nested else pt.stack(rows)
    if routine == "cholesky":
        result = pt.linalg.cholesky(joined)
    else:
        result = pt.linalg.solve_triangular(np.array([[1.0, 0.0], [1.75, 2.0]]), joined, lower=True)
    outputs = [result[1] * read, result]
    values = np.array([0.3, 0.5])
    wanted = function([x], outputs, backend="reference")(values)
    for a, b in zip(function([x], outputs)(values), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    alone = function([x], [outputs[0]])(values)
    np.testing.assert_allclose(alone[0], wanted[0], rtol=1e-12)
