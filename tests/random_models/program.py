"""A model as data: sizes, arrays by specification, and lines whose expressions are strings.

In: what a generator or a shrinker decides. Out: arrays, and the model as Python text that runs. How strings are
evaluated stands in `dialect`, what they mean in NumPy in `oracle`.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Axes = tuple[str, ...]  # lengths as expressions of the sizes: "N", "K", "N - 1", "2"


@dataclass(frozen=True)
class Datum:
    """An array, given by what it is for; its values follow from the model's seed and its name.

    kind        real, positive, unit, count, bit, trials, index, mask, simplex, times
    layout      C, F, strided (every second element of a longer array), reversed (negative strides)
    container   array (NumPy's), constant (`pt.as_tensor`) or data (`pm.Data`)
    upto        the axis that an index reads, or the length of a simplex
    """

    name: str
    kind: str
    axes: Axes
    dtype: str = "float64"
    layout: str = "C"
    container: str = "array"
    upto: str = ""


@dataclass(frozen=True)
class Line:
    """One statement of a model.

    kind        variable, let, deterministic, observed or potential
    family      the distribution of a variable or of data
    arguments   its parameters by name; a let, deterministic or potential has one called `value`
    shape       of a variable; None where it follows from the parameters
    observed    an expression of data
    """

    kind: str
    name: str
    arguments: tuple[tuple[str, str], ...]
    family: str = ""
    shape: Axes | None = None
    observed: str = ""

    def expressions(self) -> list[str]:
        """All its strings that are evaluated."""
        return [text for _, text in self.arguments] + ([self.observed] if self.observed else [])


@dataclass(frozen=True)
class Program:
    """A model: the number-th of a seed, or one that shrank from it."""

    seed: int
    number: int
    sizes: tuple[tuple[str, int], ...]
    data: tuple[Datum, ...]
    lines: tuple[Line, ...]

    def length(self, axis: str) -> int:
        """The length that an expression of the sizes stands for."""
        return int(eval(axis, {"__builtins__": {}}, dict(self.sizes)))

    def shape(self, axes: Axes) -> tuple[int, ...]:
        """Several lengths."""
        return tuple(max(self.length(axis), 0) for axis in axes)

    def generator(self, name: str) -> np.random.Generator:
        """Random numbers that depend on the model's seed and on a name alone."""
        return np.random.default_rng([self.seed, self.number, zlib.crc32(name.encode())])

    def arrays(self) -> dict[str, Array]:
        """Values of all data."""
        return {datum.name: _values(self, datum) for datum in self.data}

    def variables(self) -> list[Line]:
        """Lines of free variables."""
        return [line for line in self.lines if line.kind == "variable"]

    def used(self) -> Program:
        """Without data and sizes that no line mentions."""
        words = {word for line in self.lines for text in _texts(line) for word in re.findall(r"\w+", text)}
        data = tuple(d for d in self.data if d.name in words)
        words |= {word for d in data for text in (*d.axes, d.upto) for word in re.findall(r"\w+", text)}
        return dataclasses.replace(self, data=data, sizes=tuple((n, v) for n, v in self.sizes if n in words))

    def size(self) -> tuple[int, int, int]:
        """What a shrinker makes smaller: lines, nodes of the expressions, elements."""
        nodes = sum(1 for line in self.lines for text in line.expressions() for _ in ast.walk(ast.parse(text)))
        elements = sum(n for _, n in self.sizes)
        plain = sum((d.dtype != "float64") + (d.layout != "C") + (d.container != "array") for d in self.data)
        return len(self.lines), nodes, elements + plain


def with_draws(number: int) -> bool:
    """Whether a model is also sampled: one of twenty."""
    return number % 20 == 0


def _texts(line: Line) -> list[str]:
    return [*line.expressions(), *(line.shape or ())]


def _values(program: Program, datum: Datum) -> Array:
    shape = program.shape(datum.axes)
    generator = program.generator(datum.name)
    kind = datum.kind
    if kind in ("real", "times"):
        values = generator.integers(-16, 17, shape) / 8.0
        if kind == "times":
            values = np.arange(values.size).reshape(shape) / 2.0 + 0.25 * (np.arange(values.size).reshape(shape) % 3)
    elif kind == "positive":
        values = generator.integers(1, 25, shape) / 8.0
    elif kind == "unit":
        values = generator.integers(1, 16, shape) / 16.0
    elif kind == "count":
        values = generator.poisson(2.0, shape)
    elif kind == "trials":
        values = generator.integers(7, 12, shape)
    elif kind == "bit":
        values = generator.integers(0, 2, shape)
    elif kind == "mask":
        values = generator.integers(0, 2, shape).astype(bool)
    elif kind in ("index", "sorted index", "negative index"):
        upto = program.length(datum.upto)
        values = generator.integers(0, max(upto, 1), shape)
        if kind == "sorted index":
            values = np.sort(values, axis=-1)
        if kind == "negative index":
            values = np.where(generator.integers(0, 2, shape) == 1, values - upto, values)
    elif kind == "simplex":
        values = generator.dirichlet(np.ones(program.length(datum.upto)), shape)
    else:
        raise ValueError(f"data of an unknown kind: {datum}")
    return _laid_out(np.asarray(values).astype(datum.dtype), datum.layout)


def _laid_out(values: Array, layout: str) -> Array:
    if not values.ndim:
        return values
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "strided":
        return np.repeat(values, 2, axis=-1)[..., ::2]
    if layout == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    return values


# ---- text


def text(program: Program, point: dict[str, Array] | None = None) -> str:
    """The model as code that runs, with its seed; a point on the unconstrained line is evaluated at the end."""
    program = program.used()
    words = {w for line in program.lines for t in line.expressions() for w in re.findall(r"[a-z_]\w*", t)}
    names = sorted(words & set(_IMPORTED))
    components = sorted(
        {w for line in program.lines for t in line.expressions() for w in re.findall(r"(\w+)\.dist\(", t)}
    )
    head = [f"# seed {program.seed}, number {program.number}", "import numpy as np", "", "import consilience as pm"]
    head.append("import consilience.tensor as pt")
    if names:
        head.append(f"from consilience.tensor import {', '.join(names)}")
    chains = any(line.family == "hidden_markov" for line in program.lines)
    if chains:
        head.append("from tests.random_models.chains import hidden_markov, summed_out")
    if any(line.family == "derived" for line in program.lines):
        head.append("from tests.random_models.derived import derived")
    if components:
        head.append(f"from consilience import {', '.join(components)}")
    head += ["", *[code for word, code in _OWN.items() if word in words]]
    if program.sizes:
        left, right = zip(*program.sizes, strict=True)
        head.append(f"{', '.join(left)} = {', '.join(map(str, right))}")
    arrays = program.arrays()
    head += [f"{d.name} = {_literal(arrays[d.name], d)}" for d in program.data]
    body = ["with pm.Model() as model:"]
    body += [
        f"    {d.name} = pm.Data({d.name!r}, {d.name})"
        if d.container == "data"
        else f"    {d.name} = pt.as_tensor({d.name})"
        for d in program.data
        if d.container != "array"
    ]
    body += [f"    {statement(line)}" for line in program.lines]
    tail = ["model = summed_out(model)"] if chains else []
    if point is not None:
        entries = ", ".join(f"{name!r}: np.array({np.asarray(v).tolist()!r})" for name, v in point.items())
        tail += [f"point = {{{entries}}}", "print(model.compile_logp()(point), model.compile_dlogp()(point))"]
    return "\n".join([*head, *body, *tail])


def statement(line: Line) -> str:
    """One line of a model as code."""
    if line.kind == "let":
        return f"{line.name} = {line.arguments[0][1]}"
    if line.kind in ("deterministic", "potential"):
        return f"{line.name} = pm.{line.kind.title()}({line.name!r}, {line.arguments[0][1]})"
    parts = [repr(line.name), *(f"{name}={value}" for name, value in line.arguments)]
    if line.shape is not None:
        parts.append(f"shape=({''.join(axis + ', ' for axis in line.shape).rstrip()})")
    if line.observed:
        parts.append(f"observed={line.observed}")
    home = "" if line.family in ("hidden_markov", "derived") else "pm."
    return f"{line.name} = {home}{line.family}({', '.join(parts)})"


def _literal(values: Array, datum: Datum) -> str:
    text = f"np.array({values.tolist()!r}, {str(values.dtype)!r})"
    if 0 in values.shape:
        text = f"np.zeros({values.shape}, {str(values.dtype)!r})"
    ways = {
        "F": "np.asfortranarray({})",
        "strided": "np.repeat({}, 2, axis=-1)[..., ::2]",
        "reversed": "np.ascontiguousarray({}[::-1])[::-1]",
    }
    return ways.get(datum.layout, "{}").format(text) if values.ndim else text


_IMPORTED = [
    "abs",
    "arange",
    "arctan",
    "argmax",
    "argmin",
    "broadcast_to",
    "cholesky",
    "clip",
    "concatenate",
    "cos",
    "cumprod",
    "cumsum",
    "det",
    "diag",
    "dot",
    "erf",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "gammaln",
    "ifelse",
    "inv",
    "log",
    "log1p",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "moveaxis",
    "ones",
    "outer",
    "prod",
    "repeat",
    "reshape",
    "sigmoid",
    "sin",
    "softmax",
    "softplus",
    "solve",
    "solve_triangular",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sum",
    "swapaxes",
    "switch",
    "tanh",
    "tensordot",
    "tile",
    "var",
    "where",
    "zeros",
]
_OWN = {
    "smoothed": """def smoothed(x, rate):
    step = lambda v, last: rate * v + (1 - rate) * last
    return pt.scan(step, pt.as_tensor(x) * 1.0, [pt.constant(0.0)], return_updates=False)""",
    "halved": """def halved(x):
    return pt.while_loop(lambda v: pt.abs(v) > 1.0, lambda v: v / 2, pt.as_tensor(x) * 1.0, max_steps=99)""",
    "boxed": "from tests.random_models.dialect import boxed  # x / (1 + x^2) as an Op in Python",
    "reached": """def reached(x):
    return pt.scan(lambda i: (x[: i + 1] ** 2).sum(), pt.arange(x.shape[0]), return_updates=False)""",
    "by_rows": "by_rows = lambda x: pt.vmap(lambda row: row / (1.0 + pt.sum(row**2)))(pt.as_tensor(x) * 1.0)",
    "s_": "s_ = np.s_",
    "set_at": "set_at = lambda x, i, v: pt.set_subtensor(x[i], v)",
    "inc_at": "inc_at = lambda x, i, v: pt.inc_subtensor(x[i], v)",
    "normal_logp": "normal_logp = lambda y, mu, sigma: pm.logp(pm.Normal.dist(mu, sigma), y)",
    "poisson_logp": "poisson_logp = lambda y, mu: pm.logp(pm.Poisson.dist(mu), y)",
}
NAMES = tuple(_IMPORTED) + tuple(_OWN)
