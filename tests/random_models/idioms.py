"""The table of idioms: how users of PyMC write predictors. Importing this fills `grammar.IDIOMS`."""

from __future__ import annotations

from tests.random_models.grammar import LARGEST, Grammar, idiom
from tests.random_models.program import Axes

UNARY = (
    "tanh({})", "sin({})", "cos({})", "sigmoid({})", "arctan({})", "softplus({})", "log1p(square({}))",
    "sqrt(1.0 + square({}))", "exp(0.3 * tanh({}))", "-{}", "abs({})", "erf({})", "log(1.5 + square({}))",
    "0.5 * {} ** 2", "0.1 * {} ** 3", "expm1(0.2 * tanh({}))", "gammaln(1.2 + square({}))", "square({})",
    "(1.0 + {} ** 2) ** 0.5", "(1.0 + {} ** 2) ** -1", "2.0 ** tanh({})",
)  # fmt: skip


# ---- elementwise


@idiom(6)
def one_operand(g: Grammar, axes: Axes, depth: int) -> str:
    """A function of each element."""
    return g.one(*UNARY).format(g.named(axes, depth - 1))


@idiom(10)
def two_operands(g: Grammar, axes: Axes, depth: int) -> str:
    """Arithmetic with broadcasting."""
    left, right = g.named(axes, depth - 1), g.mix(axes, depth)
    if g.often(0.5):
        left, right = right, left
    form = g.one("({} + {})", "({} - {})", "({}) * ({})", "({} + {})", "({}) / (1.0 + square({}))", "logaddexp({}, {})")
    return form.format(left, right)


@idiom(3)
def column_times_number(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A slope times data of any type."""
    if len(axes) != 1:
        return None
    return f"{g.real((), depth - 1)} * {g.column(axes[0])}"


@idiom(4)
def choice(g: Grammar, axes: Axes, depth: int) -> str:
    """`where` with a condition on data or on parameters."""
    word = g.one("where", "where", "switch")
    return f"{word}({g.condition(axes, depth)}, {g.real(axes, depth - 1)}, {g.mix(axes, depth)})"


@idiom(2)
def branch(g: Grammar, axes: Axes, depth: int) -> str:
    """`ifelse`, whose branches read variables that nothing else may read."""
    return f"ifelse({g.condition((), depth)}, {g.real(axes, depth - 1)}, {g.real(axes, depth - 1)})"


@idiom(2)
def loop(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`scan` along a vector, with a variable from around it; `while_loop` for numbers; `vmap` for matrices."""
    if not axes:
        return f"halved({g.real((), depth - 1)})"
    if len(axes) == 1:
        return f"smoothed({g.real(axes, depth - 1)}, {g.unit((), 1)})"
    return f"by_rows({g.real(axes, depth - 1)})" if len(axes) == 2 else None


@idiom()
def black_box(g: Grammar, axes: Axes, depth: int) -> str:
    """An `Op` whose values and slopes are Python's."""
    return f"boxed({g.real(axes, depth - 1)})"


@idiom()
def parts_of_steps(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A loop whose steps read parts of different lengths."""
    return f"reached(tanh({g.real(axes, depth - 1)}))" if len(axes) == 1 else None


@idiom()
def choice_between_elements(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`where(mask, l[0], l[1])`."""
    vectors = [k for k in g.known if len(k.axes) == 1 and g.elements(k.axes)]
    if not axes or not vectors:
        return None
    v = vectors[g.number(0, len(vectors) - 1)]
    mask = g.datum("mask", axes, "bool")
    return f"where({mask}, {g.element_of(v.name, v.axes[0])}, {g.element_of(v.name, v.axes[0])})"


@idiom(2)
def limits(g: Grammar, axes: Axes, depth: int) -> str:
    """clip, maximum, minimum."""
    x = g.real(axes, depth - 1)
    return g.one(f"clip({x}, -1.3, 1.1)", f"maximum({x}, {g.mix(axes, depth)})", f"minimum({x}, {g.mix(axes, depth)})")


@idiom(2)
def bool_times_number(g: Grammar, axes: Axes, depth: int) -> str:
    """A comparison used as a number."""
    return f"({g.condition(axes, depth)}) * {g.named(axes, depth - 1)}"


# ---- regression


def _vector(g: Grammar) -> tuple[str, str] | None:
    found = [k for k in g.known if len(k.axes) == 1 and 1 <= g.elements(k.axes) <= 9]
    if not found:
        return None
    chosen = found[g.number(0, len(found) - 1)]
    return chosen.name, chosen.axes[0]


@idiom(5)
def elements_times_columns(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`b[0] * x + b[1] * z`."""
    found = _vector(g)
    if len(axes) != 1 or found is None:
        return None
    return " + ".join(f"{g.element_of(*found)} * {g.column(axes[0])}" for _ in range(g.number(2, 3)))


@idiom(2)
def intercept_and_slope(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`b[0] + b[1] * x`."""
    found = _vector(g)
    if len(axes) != 1 or found is None:
        return None
    return f"({g.element_of(*found)} + {g.element_of(*found)} * {g.column(axes[0])})"


@idiom(4)
def design_times_coefficients(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`X @ b`, alone or beside `b[h] * x`."""
    found = _vector(g)
    if len(axes) != 1 or found is None:
        return None
    b, axis = found
    kinds = "float64" if g.often(0.6) else "float32"
    x = g.datum("real", (axes[0], axis), kinds)
    text = g.one(f"{x} @ {b}", f"dot({x}, {b})", f"({x} * {b}).sum(axis=1)", f"sum({b}[None, :] * {x}, axis=-1)")
    if g.often(0.5):
        text += f" + {g.element_of(b, axis)} * {g.column(axes[0])}"
    return f"({text})"


@idiom(2)
def columns_of_a_design(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`b[0] * X[:, 0] + b[1] * X[:, 1]`."""
    found = _vector(g)
    if len(axes) != 1 or found is None:
        return None
    b, axis = found
    x = g.datum("real", (axes[0], axis))
    parts = [f"{b}[{i}] * {x}[:, {i}]" for i in range(g.length(axis))]
    return f"({' + '.join(parts)})"


@idiom(2)
def horner(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A polynomial whose coefficients are elements."""
    found = _vector(g)
    if not axes or found is None:
        return None
    x = g.datum("real", axes) if g.often(0.7) else g.leaf(axes)
    a, b, c = (g.element_of(*found) for _ in range(3))
    return f"({a} + {x} * ({b} + {x} * {c}))"


# ---- hierarchies


@idiom(5)
def by_group(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`a[g]`, of parameters or of an expression."""
    if not axes:
        return None
    groups = g.short_axis()
    index = g.index(axes[0], groups)
    if index is None:
        return None
    return f"{g.indexable((groups, *axes[1:]), depth - 1)}[{index}]"


@idiom(4)
def varying_intercept_and_slope(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`a[g] + b[g] * x`, also with two groupings."""
    if len(axes) != 1:
        return None
    groups = g.short_axis()
    index, second = g.index(axes[0], groups), g.index(axes[0], groups)
    if index is None or second is None:
        return None
    a, b = g.indexable((groups,), depth - 1), g.indexable((groups,), depth - 1)
    return f"({a}[{index}] + {b}[{g.one(index, second)}] * {g.column(axes[0])})"


@idiom(2)
def two_indices(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`A[g, h]`, `A[g, 0]`, `A[:, 0][g]`, rows of a matrix times columns."""
    if len(axes) != 1:
        return None
    first, second = g.short_axis(), g.short_axis()
    i, j = g.index(axes[0], first), g.index(axes[0], second)
    if i is None or j is None:
        return None
    a = g.indexable((first, second), depth - 1)
    k = g.position(second)
    x = g.datum("real", (axes[0], second))
    return g.one(f"{a}[{i}, {j}]", f"{a}[{i}, {k}]", f"{a}[:, {k}][{i}]", f"sum({a}[{i}] * {x}, axis=1)")


@idiom()
def selected_axis(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`A[0]`, `A[:, 1]`, `A[..., -1]`."""
    if len(axes) > 2:
        return None
    other = g.short_axis()
    place = g.number(0, len(axes))
    wider = (*axes[:place], other, *axes[place:])
    if g.elements(wider) > LARGEST or g.length(other) < 1:
        return None
    items = [":"] * place + [g.position(other)]
    if place == len(axes) and g.often(0.5):
        items = ["...", items[-1]]
    return f"{g.named(wider, depth - 1)}[{', '.join(items)}]"


@idiom(2)
def group_sums(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Sums by group, scattered into zeros or onto a value."""
    if len(axes) != 1:
        return None
    many = g.one("N", "K", "M")
    index = g.index(many, axes[0])
    if index is None:
        return None
    onto = g.one(f"zeros({axes[0]})", g.named(axes, depth - 1) + " + 0.0")
    return f"inc_at({onto}, {index}, {g.real((many,), depth - 1)})"


@idiom(2)
def set_or_increased(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A part set to, or increased by, something."""
    if not axes or g.elements(axes) == 0:
        return None
    word = g.one("set_at", "inc_at")
    x = f"{g.named(axes, depth - 1)} + 0.0"
    rest = axes[1:]
    kind = g.number(0, 4)
    if kind == 0:
        return f"{word}({x}, {g.position(axes[0])}, {g.mix(rest, depth)})"
    if kind == 1:
        return f"{word}({x}, s_[{g.one('1:', '::2', ':-1', '::-1')}], {g.mix(rest, depth)})"
    if kind == 2:
        mask = g.mask(axes)
        return None if mask is None else f"{word}({x}, {mask}, {g.real((), depth - 1)})"
    if kind == 3 and len(axes) == 2:
        return f"{word}({x}, s_[:, {g.position(axes[1])}], {g.real(axes[:1], depth - 1)})"
    index = g.index(axes[0], axes[0])
    if index is None or word == "set_at":
        return None
    return f"inc_at({x}, {index}, {g.real(axes, depth - 1)})"


# ---- shapes


@idiom(2)
def outer_product(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Two vectors make a matrix."""
    if len(axes) != 2:
        return None
    u, v = g.named(axes[:1], depth - 1), g.named(axes[1:], depth - 1)
    return g.one(
        f"outer({u}, {v})", f"{u}[:, None] * {v}[None, :]", f"({u}[:, None] + {v})", f"({u}[:, None] - {v}[None, :])"
    )


@idiom(2)
def exchanged_axes(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Transposed, axes moved."""
    if len(axes) != 2:
        return None
    x = g.named(axes[::-1], depth - 1)
    return g.one(f"{x}.T", f"swapaxes({x}, 0, 1)", f"moveaxis({x}, 0, -1)", f"{x}.transpose(1, 0)")


@idiom(2)
def reversed_order(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Negative steps."""
    if not axes:
        return None
    x = g.named(axes, depth - 1)
    return g.one(f"{x}[::-1]", f"{x}[..., ::-1]")


@idiom(2)
def parts_joined(g: Grammar, axes: Axes, depth: int) -> str | None:
    """concatenate of parts, rolled or of two values."""
    if not axes or g.length(axes[0]) < 2:
        return None
    x, y = g.named(axes, depth - 1), g.named(axes, depth - 1)
    last = f", axis={g.one('-1', str(len(axes) - 1))}" if g.length(axes[-1]) > 1 else ", axis=0"
    if last == ", axis=0":
        return g.one(f"concatenate([{x}[1:], {x}[:1]])", f"concatenate([{x}[:1], {y}[1:]])")
    return g.one(
        f"concatenate([{x}[1:], {x}[:1]])",
        f"concatenate([{x}[:1], {y}[1:]])",
        f"concatenate([{x}[..., -1:], {y}[..., :-1]]{last})",
    )


@idiom(2)
def slice_of_longer(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`e[1:]`, `e[:-1]`, differences of neighbours, from a value that is one longer."""
    if not axes:
        return None
    longer = (f"{axes[0]} + 1" if not axes[0].endswith("- 1") else axes[0][:-4], *axes[1:])
    x = g.named(longer, depth - 1)
    scalar = g.real((), depth - 1)
    return g.one(f"{x}[1:]", f"{x}[:-1]", f"({x}[1:] - {x}[:-1])", f"({x}[1:] - ({scalar}) * {x}[:-1])")


@idiom()
def every_second(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A slice with a step, of a value twice as long."""
    if not axes or g.elements(axes) > LARGEST // 4:
        return None
    x = g.named((f"2 * ({axes[0]})", *axes[1:]), depth - 1)
    return g.one(f"{x}[::2]", f"{x}[1::2]", f"{x}[::-2]")


@idiom(2)
def stacked(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`stack` of a few values along a short axis."""
    if not axes:
        return None
    place = g.number(0, len(axes) - 1)
    n = g.length(axes[place])
    if not 1 <= n <= 3:
        return None
    rest = axes[:place] + axes[place + 1 :]
    return f"stack([{', '.join(g.real(rest, depth - 1) for _ in range(n))}], axis={place})"


@idiom()
def reshaped(g: Grammar, axes: Axes, depth: int) -> str | None:
    """reshape, ravel, repeat, tile."""
    if len(axes) == 2:
        x = g.named((f"{axes[0]} * {axes[1]}",), depth - 1)
        return (
            g.one(f"{x}.reshape(({axes[0]}, {axes[1]}))", f"reshape({x}, ({axes[0]}, -1))")
            if g.elements(axes)
            else None
        )
    if len(axes) == 1 and axes[0].count("*") == 1 and "(" not in axes[0]:
        a, b = axes[0].split(" * ")
        if not (a + b).isalnum():
            return None
        x = g.named((a, b), depth - 1)
        return g.one(
            f"{x}.ravel()",
            f"{x}.flatten()",
            f"{x}.reshape(-1)",
            f"repeat({g.real((a,), 0)}, {b})",
            f"tile({g.real((b,), 0)}, {a})",
        )
    return None


@idiom()
def broadcast_copies(g: Grammar, axes: Axes, depth: int) -> str | None:
    """broadcast_to, expand_dims, squeeze, ones times."""
    if not axes:
        return None
    lengths = "".join(f"{a}, " for a in axes)
    return g.one(
        f"broadcast_to({g.real(axes[1:], depth - 1)}, ({lengths}))",
        f"squeeze(expand_dims({g.real(axes, depth - 1)}, 0), axis=0)",
        f"ones(({lengths})) * {g.named(axes[1:], depth - 1)}",
        f"zeros(({lengths})) + {g.named(axes[1:], depth - 1)}",
    )


# ---- reductions and running sums


@idiom(5)
def reduced(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A reduction over one more axis."""
    if len(axes) > 2:
        return None
    other = g.one("N", g.short_axis()) if not axes else g.short_axis()
    place = g.number(0, len(axes))
    wider = (*axes[:place], other, *axes[place:])
    if g.elements(wider) > LARGEST:
        return None
    x = g.named(wider, depth - 1)
    axis = place if g.often(0.7) else place - len(wider)
    large = g.length(other) > 20
    if g.length(other) < 1:
        return g.one(f"sum({x}, axis={axis})", f"{x}.sum(axis={axis})", f"prod({x}, axis={axis})")
    if not axes and g.often(0.3):
        return g.one(f"mean({x})", f"{x}.mean()", f"max({x})", f"logsumexp({x})", "0.1 * " + f"sum({x})")
    if large:
        return g.one(
            f"mean({x}, axis={axis})",
            f"max({x}, axis={axis})",
            f"0.1 * sum({x}, axis={axis})",
            f"var({x}, axis={axis})",
        )
    return g.one(
        f"sum({x}, axis={axis})", f"{x}.sum(axis={axis})", f"mean({x}, axis={axis})", f"{x}.mean(axis={axis})",
        f"max({x}, axis={axis})", f"min({x}, axis={axis})", f"logsumexp({x}, axis={axis})", f"var({x}, axis={axis})",
        f"prod(1.0 + 0.2 * tanh({x}), axis={axis})", f"{x}.max(axis={axis})",
        f"squeeze(sum({x}, axis={axis}, keepdims=True), axis={axis})",
    )  # fmt: skip


@idiom()
def reduced_over_two_axes(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A reduction of a matrix to a number."""
    if axes:
        return None
    first, second = g.one("N", g.short_axis()), g.short_axis()
    if not 1 <= g.elements((first, second)) <= LARGEST:
        return None
    x = g.indexable((first, second), depth - 1)
    return g.one(
        f"mean({x}, axis=(0, 1))", f"mean({x})", f"sum(mean({x}, axis=0))", f"max({x})", f"{x}.mean()", f"var({x})"
    )


@idiom(2)
def centred(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A value less its mean, or normalised along an axis."""
    if not axes or not g.elements(axes):
        return None
    axis = g.number(0, len(axes) - 1) - (len(axes) if g.often(0.4) else 0)
    x = g.named(axes, depth - 1)
    return g.one(
        f"({x} - mean({x}, axis={axis}, keepdims=True))",
        f"({x} - {x}.mean())",
        f"softmax({x}, axis={axis})",
        f"log_softmax({x}, axis={axis})",
        f"{x} / sqrt(0.5 + var({x}, axis={axis}, keepdims=True))",
        f"exp(clip({x}, -2.0, 2.0) - logsumexp({x}, axis={axis}, keepdims=True))",
    )


@idiom(2)
def selected_reduction(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Sums of what a mask or an index selects."""
    if axes:
        return None
    axis = g.one("N", g.short_axis())
    if not g.length(axis):
        return None
    x = g.indexable((axis,), depth - 1)
    mask = g.mask((axis,))
    if mask is None or g.often(0.3):
        index = g.index(g.short_axis(), axis)
        return None if index is None else g.one(f"sum({x}[{index}])", f"0.1 * prod({x}[{index}])")
    return g.one(
        f"sum({x}[{mask}])",
        f"sum({x}[~{mask}] * 0.5)",
        f"sum({g.as_tensors(g.datum('real', (axis,)))}[{mask}] * {x}[{mask}])",
    )


@idiom(2)
def running(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Random walks and running products."""
    if not axes:
        return None
    axis = g.number(0, len(axes) - 1)
    x = g.named(axes, depth - 1)
    if g.length(axes[axis]) > 20:
        return g.one(f"0.1 * cumsum({x}, axis={axis})", f"cumprod(1.0 + 0.01 * tanh({x}), axis={axis})")
    return g.one(
        f"cumsum({x}, axis={axis})",
        f"cumsum({x}, axis={axis - len(axes)})",
        f"cumprod(1.0 + 0.2 * tanh({x}), axis={axis})",
    )


@idiom(2)
def autoregression(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A first value beside residuals from the one before."""
    if len(axes) != 1 or g.length(axes[0]) < 2:
        return None
    x, rho = g.named(axes, depth - 1), g.named((), depth - 1)
    return g.one(
        f"concatenate([stack([{g.real((), depth - 1)}]), {x}[1:] - {rho} * {x}[:-1]])",
        f"concatenate([zeros(1), {rho} * {x}[:-1]])",
    )


# ---- products and linear algebra


@idiom(3)
def dot_product(g: Grammar, axes: Axes, depth: int) -> str | None:
    """A number from two vectors."""
    if axes:
        return None
    axis = g.short_axis() if g.often(0.7) else "N"
    u, v = g.named((axis,), depth - 1), g.named((axis,), depth - 1)
    text = g.one("dot({}, {})", "{} @ {}", "sum({} * {})", "{}.dot({})", "tensordot({}, {}, axes=1)")
    text = text.format(g.as_tensors(u) if ".dot" in text else u, v)
    return f"(0.1 * ({text}))" if g.length(axis) > 20 else f"({text})"


@idiom(3)
def matrix_product(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Matrices times matrices and vectors."""
    if not 1 <= len(axes) <= 2:
        return None
    inner = g.short_axis()
    if g.elements((axes[0], inner)) > LARGEST or g.elements((inner, *axes[1:])) > LARGEST:
        return None
    left, right = g.named((axes[0], inner), depth - 1), g.named((inner, *axes[1:]), depth - 1)
    if g.often(0.2) and g.elements((inner, axes[0])) <= 81:
        left = f"{g.named((inner, axes[0]), depth - 1)}.T"
    text = g.one("({} @ {})", "dot({}, {})", "{}.dot({})", "tensordot({}, {}, axes=1)")
    return text.format(g.as_tensors(left) if ".dot" in text else left, right)


@idiom()
def transposed_design(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`X.T @ e`."""
    if len(axes) != 1 or g.elements(("N", *axes)) > LARGEST:
        return None
    x = g.datum("real", ("N", *axes))
    scale = "0.1 * " if g.length("N") > 20 else ""
    return f"{scale}({x}.T @ {g.named(('N',), depth - 1)})"


@idiom(2)
def linear_algebra(g: Grammar, axes: Axes, depth: int) -> str | None:
    """solve, cholesky, inverse, determinants."""
    if len(axes) > 2 or (axes and not g.solvable(axes[0])) or (len(axes) == 2 and g.elements(axes) == 0):
        return None
    axis = axes[0] if axes else g.one("K", "P", "N", "M")
    if not g.solvable(axis):
        return None
    k = g.covariance(axis, depth - 1)
    if not axes:
        v = g.named((axis,), depth - 1)
        return g.one(
            f"dot({v}, solve({k}, {v}))", f"sum(log(diag(cholesky({k}))))", f"log(det({k}))",
            f"sum(square(solve_triangular(cholesky({k}), {v}, lower=True)))",
        )  # fmt: skip
    x = g.named(axes, depth - 1)
    return g.one(
        f"(cholesky({k}) @ {x})", f"(cholesky({k}) @ {x})", f"solve({k}, {x})", f"(inv({k}) @ {x})",
        f"solve_triangular(cholesky({k}), {x}, lower=True)",
        f"solve(2.0 * eye({axis}) + 0.2 * tanh({g.real((axis, axis), depth - 1)}), {x})",
    )  # fmt: skip


@idiom()
def diagonals(g: Grammar, axes: Axes, depth: int) -> str | None:
    """Diagonal matrices and diagonals."""
    if len(axes) == 2 and axes[0] == axes[1] and g.elements(axes):
        return f"diag({g.real(axes[:1], depth - 1)})"
    if len(axes) == 1 and 1 <= g.length(axes[0]) <= 9:
        return f"diag({g.real((axes[0], axes[0]), depth - 1)})"
    return None


@idiom()
def at_the_largest(g: Grammar, axes: Axes, depth: int) -> str | None:
    """`a[argmax(u)]`."""
    other = g.short_axis()
    if len(axes) > 1 or g.length(other) < 1:
        return None
    index = g.one(f"argmax({g.real((other,), depth - 1)})", f"argmin({g.real((other,), depth - 1)})")
    return f"{g.indexable((other, *axes), depth - 1)}[{index}]"


# ---- mixtures


@idiom(2)
def mixture(g: Grammar, axes: Axes, depth: int) -> str | None:
    """The log density of a mixture by logsumexp over a stacked axis, one number per observation."""
    if len(axes) != 1:
        return None
    weights = [k for k in g.known if k.kind == "simplex" and len(k.axes) == 1 and g.length(k.axes[0]) <= 4]
    if not weights:
        return None
    w = weights[g.number(0, len(weights) - 1)]
    n = g.length(w.axes[0])
    y = g.datum("real", axes)
    found = _vector(g)
    if found is not None and g.length(found[1]) == n and g.often(0.5):
        sigma = g.positive((), 1)
        return (
            f"0.3 * logsumexp(log({w.name})[None, :] + normal_logp({y}[:, None], {found[0]}[None, :], {sigma}), axis=1)"
        )
    parts = [
        f"log({w.name}[{i}]) + normal_logp({y}, {g.real((), depth - 1)}, {g.positive((), depth - 1)})" for i in range(n)
    ]
    return f"0.3 * logsumexp(stack([{', '.join(parts)}], axis=0), axis=0)"
