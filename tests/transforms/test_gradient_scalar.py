"""Every row of the scalar table has the slope that differences measure."""

from __future__ import annotations

import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.backends.reference import evaluate
from consilience.errors import DtypeError, MissingRuleError
from consilience.ir import Node, constant, tensor_input
from consilience.ops import TABLE, apply, cast
from consilience.ops.random import Key
from consilience.ops.scalar import DRAWS
from consilience.transforms.gradient import (
    NO_DERIVATIVE,
    SCALAR_PULLBACKS,
    gradient,
    hessian,
    missing,
    pullback,
)
from tests.rows import over_rows
from tests.transforms.laws import Array, check_derivatives, check_each_entry

NO_SHAPE_SLOPE = {  # arguments with a known slope
    "gammainc_slope": (1,),
    "zeta": (1,),
    **dict.fromkeys(("log_gammainc_slope_a", "log_gammaincc_slope_a"), (1,)),
    **dict.fromkeys(("log_betainc_odds_slope_a", "log_betainc_odds_slope_b"), (2,)),
    **dict.fromkeys(("betainc_slope_a", "betainc_slope_b"), (2,)),
    **dict.fromkeys(("beta_binomial_sum_slope_a", "beta_binomial_sum_slope_b"), (2, 3)),
    **dict.fromkeys(("iv", "ive", "ive_slope", "kv", "kve", "kve_slope", "jv", "yv", "expn"), (1,)),
    **dict.fromkeys(("hyp1f1_slope_a", "hyp1f1_slope_b"), (2,)),
    **dict.fromkeys(("hyp2f1_slope_a", "hyp2f1_slope_c"), (3,)),
}
SMOOTH = sorted(TABLE.keys() - NO_DERIVATIVE.keys())
SHAPES = [
    [(), (), (), ()],
    [(3,), (3,), (3,), ()],
    [(2, 1), (3,), (), (3,)],
    [(1, 1), (2, 3), (1,), ()],
    [(0,), (1,), (), ()],
    [(1,), (1,), (1,), (1,)],
]


def draw(generator: np.random.Generator, name: str, position: int, shape: tuple[int, ...]) -> Array:
    """Points well inside the domain of one argument."""
    domain = TABLE[name].domain
    low, high = domain[min(position, len(domain) - 1)]
    if name == "expn" and position == 0:  # whole orders
        return generator.integers(0, 4, shape).astype(float)
    if np.isfinite(low) and np.isfinite(high):
        margin = 0.1 * (high - low)
        return generator.uniform(low + margin, high - margin, shape)
    if np.isfinite(low):
        return generator.uniform(low + 0.3, low + 4.0, shape)
    if np.isfinite(high):
        return generator.uniform(high - 4.0, high - 0.3, shape)
    return generator.uniform(0.2, 3.0, shape) * generator.choice([-1.0, 1.0], shape)


def arity(name: str) -> int:
    return 2 if name == "where" else TABLE[name].arity or 3


def function_of(name: str, arguments: list[Array]) -> tuple[object, list[Array]]:
    """The function of those arguments that have a slope, the others held fixed."""
    if name == "where":
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        condition = constant(np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0)
        return lambda a, b: apply("where", condition, a, b), arguments
    free = NO_SHAPE_SLOPE.get(name, tuple(range(len(arguments))))

    def call(*nodes: Node) -> Node:
        given = iter(nodes)
        return apply(name, *(next(given) if i in free else arguments[i] for i in range(len(arguments))))

    return call, [arguments[i] for i in free]


def test_every_scalar_function_and_op_has_a_row_or_a_reason() -> None:
    assert missing() == []
    assert all(NO_DERIVATIVE.values())
    assert not set(SCALAR_PULLBACKS) & set(NO_DERIVATIVE)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("name", SMOOTH)
def test_pullback_and_pushforward_equal_differences(name: str, symbolic: bool) -> None:
    for number, shapes in enumerate(SHAPES):
        generator = np.random.default_rng([zlib.crc32(name.encode()), number])
        arguments = [draw(generator, name, i, shapes[i]) for i in range(arity(name))]
        function, point = function_of(name, arguments)
        check_derivatives(function, point, symbolic=symbolic, rtol=1e-7 if name != "gammainc" else 1e-6)


@over_rows("name", SMOOTH)
def test_every_entry_of_a_broadcast_operand_has_its_slope(name: str) -> None:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    arguments = [draw(generator, name, i, shape) for i, shape in enumerate([(2, 1), (3,), (), ()][: arity(name)])]
    function, point = function_of(name, arguments)
    check_each_entry(function, point)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    name=st.sampled_from(SMOOTH),
    shape=st.lists(st.integers(0, 3), max_size=3),
    stretched=st.lists(st.booleans(), min_size=12, max_size=12),
    dropped=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    seed=st.integers(0, 2**31),
)
def test_broadcasting_of_any_shape_is_undone(
    name: str, shape: list[int], stretched: list[bool], dropped: list[int], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    arguments = []
    for i in range(arity(name)):
        own = [1 if stretched[3 * i + axis] else n for axis, n in enumerate(shape)][dropped[i] :]
        arguments.append(draw(generator, name, i, tuple(own)))
    function, point = function_of(name, arguments)
    # Kinks of mod and of extremes may lie within the step of a random point.
    if name in ("mod", "fmod", "maximum", "minimum", "fmax", "fmin"):
        arguments[1] = arguments[1] + 10.0
        point = arguments
    check_derivatives(function, point)


@over_rows("name", [n for n in SMOOTH if TABLE[n].accepts[0] == "float"])
def test_float32_stays_float32(name: str) -> None:
    nodes = [tensor_input("float32", (3,)) for _ in range(arity(name))]
    arguments = [constant(np.array([True, False, True])), *nodes] if name == "where" else nodes
    free = NO_SHAPE_SLOPE.get(name, tuple(range(len(nodes))))
    cost = apply(name, *arguments).sum()
    assert cost.dtype == "float32"
    assert [g.dtype for g in gradient(cost, [nodes[i] for i in free])] == ["float32"] * len(free)


@pytest.mark.parametrize(
    "name",
    [
        "digamma", "trigamma", "gamma", "betaln", "owens_t", "ndtri_exp", "erfcx", "log_ndtr", "logaddexp", "pow",
        "hypot", "softplus", "xlogy",
    ],
)  # fmt: skip
def test_second_derivatives_equal_differences_of_the_first(name: str) -> None:
    generator = np.random.default_rng(7)
    arguments = [draw(generator, name, i, (2,)) for i in range(arity(name))]

    def slopes(*nodes: Node) -> list[Node]:
        return gradient(apply(name, *nodes).sum(), nodes)

    check_derivatives(slopes, arguments)


@pytest.mark.parametrize(
    ("name", "position"),
    [(n, i) for n, known in NO_SHAPE_SLOPE.items() for i in range(known[0])],
)
def test_slopes_without_closed_form_are_refused(name: str, position: int) -> None:
    nodes = [tensor_input("float64", ()) for _ in range(TABLE[name].arity)]
    public = name.partition("_slope")[0]
    of = rf"{public}(_slope(_[ab])?, which is that of {public},?)?"
    with pytest.raises(MissingRuleError, match=f"the derivative of (a derivative of )?{of} "):
        gradient(apply(name, *nodes), [nodes[position]])


def at(function: object, *point: float) -> list[float]:
    """First derivatives at a point, all scalars."""
    nodes = [tensor_input("float64", ()) for _ in point]
    result = evaluate(gradient(function(*nodes), nodes), dict(zip(nodes, point, strict=True)))
    return [float(r) for r in result]


def test_kinks_follow_the_stated_conventions() -> None:
    assert at(lambda x: apply("abs", x), 0.0) == [0.0]
    assert at(lambda x: apply("sign", x) * x, 0.0) == [0.0]
    assert at(lambda a, b: apply("maximum", a, b), 2.0, 2.0) == [0.5, 0.5]
    assert at(lambda a, b: apply("minimum", a, b), 2.0, 2.0) == [0.5, 0.5]
    assert at(lambda a, b: apply("fmax", a, b), 2.0, np.nan) == [1.0, 0.0]
    assert at(lambda a, b: apply("fmin", a, b), np.nan, 2.0) == [0.0, 1.0]
    assert at(lambda a, b: apply("hypot", a, b), 0.0, 0.0) == [0.0, 0.0]
    assert at(lambda x: x.clip(0.0, 1.0), 3.0) == [0.0]
    assert at(lambda x: apply("heaviside", x, 0.5), 0.3) == [0.0]
    assert at(lambda x: apply("floor", x) + apply("round", x) + apply("trunc", x), 0.3) == [0.0]


def test_powers_at_zero() -> None:
    assert at(lambda x: x**2, 0.0) == [0.0]
    assert at(lambda x: x**1, 0.0) == [1.0]
    assert at(lambda x: x**0, 0.0) == [0.0]
    assert at(lambda x: x**3.0, 0.0) == [0.0]
    assert at(lambda x: x**3.0, -2.0) == [12.0]
    assert at(lambda a, b: a**b, 0.0, 2.0) == [0.0, 0.0]
    assert at(lambda a, b: a**b, 0.0, 1.0) == [1.0, 0.0]
    assert at(lambda a, b: a**b, 0.0, 0.0) == [0.0, 0.0]
    x = tensor_input("float64", ())
    assert evaluate(hessian(x**3.0, [x]), {x: 2.0})[0] == 12.0


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-9, 0.5, 1.0, 3.0, 9.9e14, 1.1e15, 1e155, 1e300])
def test_slopes_of_log1p_square_hold_at_any_size(size: float) -> None:
    """First and second derivatives, where the square is no number as well, and at 1, where their form changes."""
    for z in (size, -size):
        exact = Fraction(z)
        slope, curvature = 2 * exact / (1 + exact**2), 2 * (1 - exact**2) / (1 + exact**2) ** 2
        assert at(lambda x: apply("log1p_square", x), z) == pytest.approx([float(slope)], rel=1e-15, abs=0)
        x = tensor_input("float64", ())
        second = evaluate(hessian(apply("log1p_square", x), [x]), {x: z})[0]
        assert second == pytest.approx(float(curvature), rel=1e-14, abs=1e-16)


def test_x_log_y_at_zero() -> None:
    assert at(lambda x: apply("xlogy", 0.0, x), 0.0) == [0.0]
    assert at(lambda x: apply("xlogy", 0.0, x), 3.0) == [0.0]
    assert at(lambda x: apply("xlog1py", 0.0, x), -1.0) == [0.0]
    assert at(lambda x, y: apply("xlogy", x, y), 0.0, 2.0) == [np.log(2.0), 0.0]
    x, y = tensor_input("float64", ()), tensor_input("float64", ())
    (mixed,) = gradient(gradient(apply("xlogy", x, y), [y])[0], [x])
    assert evaluate([mixed], {x: 0.0, y: 2.0})[0] == 0.5


def test_sums_of_exponentials_are_safe_at_minus_infinity() -> None:
    inf = np.inf
    assert at(lambda a, b: apply("logaddexp", a, b), -inf, 1.0) == [0.0, 1.0]
    assert at(lambda a, b: apply("logaddexp", a, b), -inf, -inf) == [0.0, 0.0]
    assert at(lambda a, b: apply("logaddexp2", a, b), -inf, 1.0) == [0.0, 1.0]
    assert at(lambda x: apply("softplus", x), -800.0) == [0.0]
    assert at(lambda x: apply("softplus", x), 800.0) == [1.0]
    assert at(lambda x: apply("log1mexp", x), -800.0) == [0.0]


def test_tails_of_the_normal_distribution_keep_their_slope() -> None:
    # The slope at -x is x + 1 / x - 2 / x ** 3 + ... (Mills ratio).
    (far,) = at(lambda x: apply("log_ndtr", x), -1e6)
    assert far == pytest.approx(1e6 + 1e-6, rel=1e-14)
    assert at(lambda x: apply("log_ndtr", x), 40.0) == [0.0]


def test_the_branch_not_taken_adds_nothing() -> None:
    def safe_log(x: Node) -> Node:
        return apply("where", x > 0.0, apply("log", x), 0.0)

    assert at(safe_log, 0.0) == [0.0]
    assert at(safe_log, 4.0) == [0.25]
    assert at(lambda x: safe_log(x) * 3.0, -1.0) == [0.0]
    assert at(lambda x: apply("where", x <= 0.0, 0.0, apply("sqrt", x)), 0.0) == [0.0]
    assert at(lambda x: apply("where", x > 0.0, apply("exp", -1.0 / x) / x, 0.0), 0.0) == [0.0]
    # The same value used twice inside of the branch.
    assert at(lambda x: apply("where", x > 0.0, apply("log", x) * (1.0 + apply("log", x)), 0.0), 0.0) == [0.0]
    # A mask inside of a mask, and one behind a reduction.
    assert at(lambda x: apply("where", x < 1.0, 2.0 * safe_log(x), 0.0), 0.0) == [0.0]
    assert at(lambda x: apply("where", x > 0.0, 3.0 * safe_log(x), 0.0), 0.0) == [0.0]
    x = tensor_input("float64", (3,))
    choice = apply("where", x > 0.0, x, 2.0 * x)
    (g,) = pullback([apply("exp", x)], [x], [choice])
    np.testing.assert_allclose(evaluate([g], {x: [-1.0, 0.0, 1.0]})[0], np.exp([-1, 0, 1]) * [-2.0, 0.0, 1.0])
    cost = apply("where", x.sum() > 1.0, apply("log", x).sum(), 0.0)
    assert evaluate(gradient(cost, [x]), {x: np.zeros(3)})[0].tolist() == [0.0, 0.0, 0.0]
    z = tensor_input("float64", (2,))
    second = hessian(apply("where", z > 0.0, apply("log", z), 0.0).sum(), [z])
    assert evaluate(second, {z: [0.0, 2.0]})[0].tolist() == [[0.0, 0.0], [0.0, -0.25]]


@pytest.mark.parametrize("name", sorted(set(TABLE) & {n for n in NO_DERIVATIVE if isinstance(n, str)}))
def test_flat_functions_have_zero_slope(name: str) -> None:
    if TABLE[name].accepts == ("key",) or "float" not in TABLE[name].accepts or TABLE[name].result == "complex":
        return
    nodes = [tensor_input("float64", (2,)) for _ in range(TABLE[name].arity)]
    cost = cast(apply(name, *nodes), "float64").sum()
    point = {node: np.array([0.3, 1.7]) for node in nodes}
    assert all((g == 0.0).all() for g in evaluate(gradient(cost, nodes), point))


@pytest.mark.parametrize("name", [n for n in DRAWS if TABLE[n].arity > 2])
def test_parameters_of_draws_have_no_derivative(name: str) -> None:
    parameter = tensor_input("float64", ())
    key = Node(Key(1))
    others = [5] * (TABLE[name].arity - 3)
    draw_ = apply(name, key, 0, *others, parameter)
    with pytest.raises(MissingRuleError, match="parameters of a draw"):
        gradient(cast(draw_, "float64") * parameter, [parameter])
    free = draw_ if draw_.dtype == "float64" else cast(draw_, "float64")
    assert gradient(free * 2.0, [free])[0].dtype == "float64"


def test_standard_draws_move_with_location_and_scale() -> None:
    scale = tensor_input("float64", ())
    draw_ = apply("random_normal", Node(Key(1)), 0)
    assert gradient(scale * draw_, [scale])[0] in (apply("mul", 1.0, draw_), draw_)


def test_casts_change_the_dtype_back() -> None:
    x = tensor_input("float32", (2,))
    (g,) = gradient(cast(x, "float64").sum(), [x])
    assert g.dtype == "float32"
    n = tensor_input("int64", ())
    with pytest.raises(DtypeError, match="int64"):
        gradient(cast(n, "float64") * 2.0, [n])
    (through,) = gradient(cast(cast(x, "int64"), "float32").sum(), [x])
    assert evaluate([through], {x: [1.5, 2.5]})[0].tolist() == [0.0, 0.0]
