"""Every row of the scalar table means on every backend what it means in NumPy."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from consilience.ir import Node
from consilience.ops import TABLE, Elementwise, Key
from consilience.ops.log_incomplete import BETA_FUNCTIONS, GAMMA_FUNCTIONS
from consilience.ops.scalar import DRAWS, ScalarFunction
from tests.backends.agreement import Array, agree, inputs_like, run_llvm, run_reference, same
from tests.rows import over_rows

# Operand shapes in one program: rank 0, empty, single, shorter and longer than a vector, broadcast, two axes.
SHAPES: list[tuple[tuple[int, ...], ...]] = [
    ((), (), ()),
    ((0,), (0,), (0,)),
    ((1,), (1,), ()),
    ((3,), (), (3,)),
    ((37,), (37,), (1,)),
    ((5, 1), (1, 7), (7,)),
    ((2, 0, 3), (3,), ()),
]
DTYPES = {"float": ("float64", "float32"), "int": ("int64", "int32"), "bool": ("bool",), "key": ("key",), "complex": ()}
# Functions of complex numbers alone are compared in tests/dtypes.
REAL = sorted(name for name, row in TABLE.items() if row.accepts != ("complex",))
# From numbers to numbers, in double precision.
FLOATS = sorted(name for name in REAL if "float" in TABLE[name].accepts and TABLE[name].result != "choice")
# Operand dtypes of draws, and of rows whose first operand chooses.
DRAW_DTYPES = {
    "random_binomial": ("int64", "int64", "int64", "float64"),
    "random_conway_maxwell_poisson": ("int64", "int64", "float64", "float64"),
}
INTEGER_EXTREMES = {
    "int64": np.array([0, 1, -1, 2, -7, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]),
    "int32": np.array([0, 1, -1, 2, -7, 1000, 2**30, 2**31 - 1, -(2**31)], "int32"),
}
LARGEST = float(np.finfo(float).max)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e300, -1e300, 1e-300]
SPECIAL += [LARGEST, -LARGEST, 710.0, -746.0]
FEW = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, np.nan, 1e300, -1e-300]
# Where both sides lose digits for the same reason: cancellation near a zero, or iterations that stop.
ACCURACY = {
    "tan": 1e-11,
    "gammainc": 1e-11,
    "gammaincc": 1e-11,
    "betainc": 1e-11,
    "gammaincinv": 1e-11,
    "gammainccinv": 1e-11,
    "betaincinv": 1e-11,
    "betainccinv": 1e-11,
    **dict.fromkeys(("beta_binomial_sum", "beta_binomial_sum_slope_a", "beta_binomial_sum_slope_b"), 1e-11),
    "trigamma": 1e-11,
    "log_ndtr": 1e-11,
    **dict.fromkeys(("iv", "ive", "ive_slope", "kv", "kve", "kve_slope"), 1e-11),
    **dict.fromkeys(("hyp2f1", "hyp2f1_slope_a", "hyp2f1_slope_c", "hyp1f1_slope_a", "hyp1f1_slope_b"), 1e-11),
    "erfcx": 1e-11,
    **dict.fromkeys((*GAMMA_FUNCTIONS, *BETA_FUNCTIONS), 1e-11),
}
# Sums that cancel: rounding is measured by the operands.
CANCELLING = {"logaddexp", "logaddexp2"}
TINY = 1e-307
# The sign of a zero is open for extrema of two zeros; SciPy's erfinv drops it, ours is odd.
EITHER_ZERO = {"minimum", "maximum", "fmin", "fmax", "erfinv", "i1", "i1e", "owens_t"}
GAMMA_FAMILY = {"gammaln", "betaln", "gammainc", "gammaincc", "betainc", "hyp1f1_slope_a", "hyp1f1_slope_b"}


def reliable(name: str, grid: Sequence[Array]) -> Array:
    """Where SciPy's value is the mathematical one."""
    good = np.ones(grid[0].shape, bool)
    if name in GAMMA_FAMILY:  # SciPy gives inf or 0 for subnormal arguments, which are ordinary small numbers
        for x in grid:
            good &= (x == 0) | (np.abs(x) > TINY) | np.isnan(x)
    if name in ("i1", "i1e"):  # SciPy rounds half of the least number up
        good &= np.abs(grid[0]) != 5e-324
    if name in ("iv", "ive"):
        good &= np.abs(grid[1]) != 5e-324
    if name == "kv":  # SciPy gives 0 for results that are subnormal numbers
        good &= grid[1] != 710.0
    if name in ("gammainc", "gammaincc"):  # SciPy gives NaN for the greatest shapes
        good &= (np.abs(grid[0]) < 1e305) | ~np.isfinite(grid[0])
    if name == "betainc":  # parameters of 1e300 are outside the range of either algorithm
        good &= (np.abs(grid[0]) < 1e10) & (np.abs(grid[1]) < 1e10)
    if name.endswith("cinv"):  # SciPy's quantiles jump for shapes next to 0 and infinity, and stop at 2e-308
        for shape in grid[:-1]:
            good &= ((np.abs(shape) > 1e-10) & (np.abs(shape) < 1e10)) | np.isnan(shape)
        good &= (grid[-1] == 0) | (np.abs(grid[-1]) > 1e-100) | np.isnan(grid[-1])
    if name.startswith("betainc_slope"):  # next to the shapes 0 and infinity both lose digits
        for shape in grid[:2]:
            good &= ((np.abs(shape) > 1e-100) & (np.abs(shape) < 1e10)) | ~np.isfinite(shape)
        good &= (np.abs(grid[2]) > 1e-100) | np.isnan(grid[2])
    if name in BETA_FUNCTIONS:
        for shape in grid[:2]:
            good &= (shape == 0) | ((np.abs(shape) > 1e-10) & (np.abs(shape) < 1e10)) | ~np.isfinite(shape)
        good &= (np.abs(grid[2]) < 1e305) | ~np.isfinite(grid[2])
    if name.startswith("beta_binomial"):  # the masses of subnormal shapes overflow in other orders
        for shape in grid[:2]:
            good &= (shape == 0) | (np.abs(shape) > TINY) | np.isnan(shape)
    if name.startswith("hyp1f1_slope"):  # the factors of the sum overflow
        good &= ~(np.abs(grid[2]) > 700)
    if name.endswith("_quantile"):  # sizes that whole numbers do not resolve
        for x in grid:
            good &= ~((np.abs(x) >= 1e10) & np.isfinite(x))
    return good


CASES = [(name, dtype) for name, row in sorted(TABLE.items()) for kind in row.accepts for dtype in DTYPES[kind]]


def operand(
    row: ScalarFunction, position: int, dtype: str, shape: tuple[int, ...], generator: np.random.Generator
) -> Array:
    """Random values inside the domain of one argument."""
    low, high = row.domain[min(position, len(row.domain) - 1)]
    low, high = max(low, -4.0), min(high, 4.0)
    if high <= low:
        low, high = row.domain[min(position, len(row.domain) - 1)][0], low + 4.0
    if dtype == "bool":
        return np.asarray(generator.integers(0, 2, shape).astype(bool))
    if dtype.startswith("int"):
        return np.asarray(generator.integers(int(low), int(high) + 1, shape).astype(dtype))
    inside = generator.uniform(low, high, shape)
    return np.asarray(inside.astype(dtype))


def dtypes_of(row: ScalarFunction, dtype: str) -> tuple[str, ...]:
    """Dtype per operand."""
    arity = row.arity or 3
    if row.result == "choice":
        return ("bool", *[dtype] * (arity - 1))
    if dtype == "key":
        return DRAW_DTYPES.get(row.name, ("int64", "int64", "float64", "float64")[:arity])
    return (dtype,) * arity


def keyed(nodes: list[Node], row: ScalarFunction) -> list[Node]:
    """Draws take a random key first: the seed input folded into a fixed key."""
    if row.accepts != ("key",):
        return nodes
    return [Node(Elementwise("fold_in"), Node(Key(7)), nodes[0]), *nodes[1:]]


@over_rows("name, dtype", CASES)
def test_scalar_function_on_all_shapes(name: str, dtype: str) -> None:
    """Random operands of seven shape combinations in one program."""
    row = TABLE[name]
    generator = np.random.default_rng(zlib.crc32(f"{name}{dtype}".encode()))
    dtypes = dtypes_of(row, dtype)
    groups = [[operand(row, i, d, shapes[min(i, 2)], generator) for i, d in enumerate(dtypes)] for shapes in SHAPES]
    arrays = [a for group in groups for a in group]
    nodes = inputs_like(arrays)
    outputs = [
        Node(Elementwise(name), *keyed(nodes[i : i + len(dtypes)], row)) for i in range(0, len(nodes), len(dtypes))
    ]
    wanted = run_reference(nodes, outputs, arrays)
    actual = run_llvm(nodes, outputs, arrays)
    for found, meant in zip(actual, wanted, strict=True):
        same(found, meant, ACCURACY.get(name))
    if row.accepts != ("key",):
        for meant, group in zip(wanted, groups, strict=True):
            with np.errstate(all="ignore"):
                known = np.asarray(row.numpy(*group))
            same(meant, known.astype(meant.dtype), ACCURACY.get(name))


@over_rows("name", sorted(n for n, r in TABLE.items() if "float" in r.accepts))
def test_special_values_are_those_of_numpy(name: str) -> None:
    """NaN, infinities, signed zeros, subnormal and huge numbers, in every combination with each other."""
    row = TABLE[name]
    arity = row.arity or 2
    choice = row.result == "choice"
    axes = [np.array(FEW if name.startswith("hyp2f1") else SPECIAL)] * (arity - choice)
    grid = [g.ravel() for g in np.meshgrid(*axes, indexing="ij")]
    if choice:
        grid = [np.arange(grid[0].size) % 3 == 0, *grid]
    nodes = inputs_like(grid)
    outputs = [Node(Elementwise(name), *nodes)]
    good = reliable(name, grid)
    wanted, actual = (run(nodes, outputs, grid)[0][good] for run in (run_reference, run_llvm))
    same(actual, wanted, ACCURACY.get(name), scale=1.0 if name in CANCELLING else 0.0)
    if wanted.dtype.kind == "f" and name not in EITHER_ZERO:
        zeros = (wanted == 0) & (actual == 0)
        np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(wanted[zeros]))


@over_rows(
    "name, dtype",
    [(n, d) for n, r in sorted(TABLE.items()) if "int" in r.accepts and n not in DRAWS for d in ("int64", "int32")],
)
def test_integer_extremes_are_those_of_numpy(name: str, dtype: str) -> None:
    """Zero divisors, the least integer, and shifts by any number, in every combination."""
    row = TABLE[name]
    arity = row.arity or 2
    choice = row.result == "choice"
    values = INTEGER_EXTREMES[dtype]
    grid = [g.ravel() for g in np.meshgrid(*[values] * (arity - choice), indexing="ij")]
    if choice:
        grid = [np.arange(grid[0].size) % 3 == 0, *grid]
    nodes = inputs_like(grid)
    outputs = [Node(Elementwise(name), *nodes)]
    (wanted,), (actual,) = run_reference(nodes, outputs, grid), run_llvm(nodes, outputs, grid)
    same(actual, wanted)


@over_rows("name", sorted(set(REAL) - set(DRAWS) - {"fold_in"}))
def test_scalar_function_of_strided_arrays_and_symbolic_lengths(name: str) -> None:
    """Transposed, reversed and sliced arrays, with lengths known at the call only."""
    row = TABLE[name]
    kind = "float" if "float" in row.accepts else row.accepts[0]
    generator = np.random.default_rng(3)
    arrays = []
    for i, dtype in enumerate(dtypes_of(row, DTYPES[kind][0])):
        whole = operand(row, i, dtype, (9, 10), generator)
        arrays.append(whole.T[::-2, 1:8] if i == 0 else whole[1:8, ::2].T)
    agree(lambda *x: Node(Elementwise(name), *x), arrays, symbolic=True, rtol=ACCURACY.get(name))


def test_every_row_has_a_case() -> None:
    """No scalar function is left out."""
    assert set(REAL) - {name for name, _ in CASES} == set()
