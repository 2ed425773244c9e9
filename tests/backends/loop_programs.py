"""Random programs with loops, each line one string that Python and this library evaluate alike.

In Python a loop is `for`; values are typed by what their axes are, so that programs hold for all lengths of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize

import consilience  # noqa: F401  # random variables have keys that a step makes anew
import consilience.tensor as pt
from consilience.ir import Node
from consilience.ops.random import draw, fold_in
from consilience.ops.scalar import TABLE
from tests.backends.shape_programs import NUMPY as SHAPES
from tests.backends.shape_programs import OURS as OUR_SHAPES
from tests.backends.shape_programs import Line

# Axes: d has at least one element, n may have none.
INPUTS = {
    "a": ("float64", ""), "b": ("float64", ""), "u": ("float64", "d"), "v": ("float64", "d"), "M": ("float64", "dd"),
    "x": ("float64", "n"), "y": ("float64", "n"), "X": ("float64", "nd"), "T": ("float64", "ndd"),
    "k": ("int64", ""), "i": ("int64", "n"), "j": ("int64", "d"), "m": ("bool", "n"), "q": ("bool", ""),
}  # fmt: skip
STATES = ("", "d", "dd")


# ---- loops as Python has them


class _Until:
    """What ends a loop after its step."""

    def __init__(self, condition: Any) -> None:
        self.condition = condition


def _sequence(item: Any) -> list[Any]:
    """What every tap of a sequence reads."""
    given = item if isinstance(item, dict) else {"input": item}
    values, taps = given["input"], given.get("taps", [0])
    before, behind = max(0, *(-t for t in taps)), max(0, *taps)
    if len(values) < before + behind:
        raise ValueError("taps reach beyond a sequence")
    steps = len(values) - before - behind
    return [values[before + t : before + t + steps] for t in taps]


def _scan(
    fn: Callable[..., Any],
    sequences: Any = (),
    outputs_info: Any = (),
    n_steps: Any = None,
    go_backwards: bool = False,
    checkpoint: Any = None,
) -> list[Any]:
    read = [tapped for item in sequences for tapped in _sequence(item)]
    if n_steps is not None and (n_steps < 0 or any(len(r) < n_steps for r in read)):
        raise ValueError("too few elements")
    if n_steps is None and len({len(r) for r in read}) != 1:
        raise ValueError("sequences differ in length")
    steps = len(read[0]) if n_steps is None else int(n_steps)
    read = [(r[::-1] if go_backwards else r)[:steps] for r in read]
    infos = [{"initial": [i]} if i is not None and not isinstance(i, dict) else i for i in outputs_info]
    past = [None if i is None else [np.asarray(e) for e in i["initial"]] for i in infos]

    def step(rows: Sequence[Any]) -> tuple[list[Any], bool]:
        states = [p[t] for i, p in zip(infos, past, strict=True) if i and p for t in i.get("taps", [-1])]
        *results, last = fn(*rows, *states)
        ends = isinstance(last, _Until) and bool(last.condition)
        return results if isinstance(last, _Until) else [*results, last], ends

    found: list[list[Any]] = []
    for t in range(steps):
        results, ends = step([r[t] for r in read])
        kept = [
            np.asarray(r) if p is None else np.asarray(r).astype(p[0].dtype)
            for r, p in zip(results, past or [None] * len(results), strict=True)
        ]
        found.append(kept)
        for p, value in zip(past, kept, strict=False):
            if p is not None:
                p.append(value)
        if ends:
            break
    if found:
        return [np.stack(column) for column in zip(*found, strict=True)]
    like, _ = step([np.zeros(r.shape[1:], r.dtype) for r in read])
    kinds = [r if p is None else p[0] for r, p in zip(like, past or [None] * len(like), strict=True)]
    return [np.zeros((0, *np.shape(kind)), np.asarray(kind).dtype) for kind in kinds]


def _reduce(fn: Callable[..., Any], sequences: Any, initial: Any, go_backwards: bool = False) -> Any:
    return _scan(lambda *values: [fn(*values)], sequences, [initial], None, go_backwards)[0][-1]


def _while(condition: Callable[..., Any], body: Callable[..., Any], initial: Any, max_steps: int) -> Any:
    values, count = [np.asarray(i) for i in initial], 0
    while count < max_steps and condition(*values):
        values = [np.asarray(f).astype(v.dtype) for f, v in zip(body(*values), values, strict=True)]
        count += 1
    return values


@pt.custom_vjp
def _softened(x: Node) -> Node:
    return pt.tanh(x)


_softened.defvjp(lambda x: (pt.tanh(x), x), lambda x, g: (g / pt.cosh(x) ** 2,))
_blended = pt.OpFromGraph(
    [_one := pt.dscalar("one"), _other := pt.dscalar("other")],
    [pt.sin(_one) * _other],
    pullback=lambda inputs, outputs, seeds: (pt.cos(inputs[0]) * inputs[1] * seeds[0], pt.sin(inputs[0]) * seeds[0]),
)


def _rooted(a: Node, b: Node, method: str) -> Node:
    """z with z + sin(b) tanh(z) / 2 = 2 tanh(a)."""
    z = pt.dscalar("z")
    keywords = {"bracket": (-4.0, 4.0), "xtol": 1e-14} if method == "brentq" else None
    equation = z + 0.5 * pt.sin(b) * pt.tanh(z) - 2 * pt.tanh(a)
    found, _ = pt.optimize.root_scalar(equation, z, method=method, optimizer_kwargs=keywords, x0=a * 0.0)
    return found


def _rooted_plain(a: Any, b: Any, method: str) -> Any:
    return np.asarray(optimize.brentq(lambda z: z + 0.5 * np.sin(b) * np.tanh(z) - 2 * np.tanh(a), -4, 4, xtol=1e-14))


def _settled(v: Node) -> Node:
    """x with x + tanh(reversed x) / 2 = v."""
    x = pt.dvector("x")
    found: Node = pt.optimize.root(x + 0.5 * pt.tanh(x[::-1]) - v, x, x0=v)[0]
    return found


def _settled_plain(v: Any) -> Any:
    x = np.asarray(v)
    for _ in range(200):
        x = v - 0.5 * np.tanh(x[::-1])
    return x


def _switch(index: int, *branches: Any) -> Any:
    return branches[min(max(int(index), 0), len(branches) - 1)]


NUMPY: dict[str, Any] = {
    **SHAPES, "softened": np.tanh, "blended": lambda a, b: np.sin(a) * b,
    "rooted": _rooted_plain, "settled": _settled_plain, "switch_case": _switch,
    "vmap": lambda fn: lambda *given: np.stack([np.asarray(fn(*row)) for row in zip(*given, strict=True)]),
    "tanh": np.tanh, "exp": np.exp, "maximum": np.maximum, "minimum": np.minimum, "lt": np.less,
    "eq": np.equal, "outer": np.outer, "ifelse": lambda c, a, b: a if c else b, "choose": np.where, "scan": _scan,
    "map": lambda fn, s: _scan(lambda *v: [fn(*v)], s)[0], "reduce": _reduce,
    "foldr": lambda fn, s, initial: _reduce(fn, s, initial, True), "while_loop": _while, "until": _Until,
    "logsumexp": lambda x, axis: np.log(np.exp(x).sum(axis)), "mod": np.mod, "both": np.logical_and,
    "key": np.int64, "fold_in": lambda k, i: TABLE["fold_in"].numpy(k, i),
    "normal": lambda k: TABLE["random_normal"].numpy(k, np.int64(0)),
    "as_float": lambda x: np.asarray(x).astype("float64"), "solve": lambda A, b: np.linalg.solve(A, b),
}  # fmt: skip
OURS: dict[str, Any] = {
    **OUR_SHAPES, **{name: getattr(pt, name) for name in NUMPY if hasattr(pt, name)}, "choose": pt.where,
    "scan": lambda *given, **named: pt.scan(*given, **named, return_list=True, return_updates=False),
    "map": lambda fn, s: pt.map(fn, s, return_updates=False),
    "reduce": lambda *given: pt.reduce(*given, return_updates=False),
    "foldr": lambda *given: pt.foldr(*given, return_updates=False), "both": pt.and_, "fold_in": fold_in,
    "normal": lambda k: draw("random_normal", k, ()), "as_float": lambda x: pt.as_tensor(x).astype("float64"),
    "solve": pt.linalg.solve, "softened": _softened, "blended": _blended,
    "rooted": _rooted, "settled": _settled,
}  # fmt: skip


# ---- programs


class Writer:
    """A program that grows by random choices."""

    def __init__(self, generator: np.random.Generator, *, fixed: bool = False) -> None:
        self.generator = generator
        self.fixed = fixed
        self.kinds = dict(INPUTS)
        self.lines: list[Line] = []
        self.names = 0

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.generator.integers(low, high + 1))

    def one_of(self, *choices: str) -> str:
        """One of several texts."""
        return choices[self.number(0, len(choices) - 1)]

    def likely(self, percent: int) -> bool:
        """True so often."""
        return self.number(1, 100) <= percent

    def new(self, letter: str) -> str:
        """A name that nothing has yet."""
        self.names += 1
        return f"{letter}{self.names}"

    def name(self, dtype: str, *axes: str) -> str | None:
        """A value of a dtype and one kind of axes, the latest ones preferred."""
        found = [n for n, kind in self.kinds.items() if kind[0] == dtype and kind[1] in axes]
        if not found:
            return None
        return found[-1 - min(self.number(0, len(found) - 1), self.number(0, len(found) - 1))]

    def condition(self, depth: int) -> str:
        """A truth value."""
        which = self.number(0, 5)
        if which == 0:
            return self.name("bool", "") or "q"
        if which == 1:
            return f"eq(mod({self.integer(depth - 1)}, 3), {self.number(0, 2)})"
        if which == 2 and depth > 0:
            return f"both({self.condition(depth - 1)}, {self.condition(depth - 1)})"
        sign = self.one_of("lt({}, {})", "lt({1}, {0})")
        return sign.format(self.value("", depth - 1), self.one_of("0.137", "-0.41", "0.533"))

    def integer(self, depth: int) -> str:
        """An int64 scalar."""
        own = self.name("int64", "") or "k"
        which = self.number(0, 3)
        if which == 0 and depth > 0:
            return f"choose({self.condition(depth - 1)}, {own}, {own} + 1)"
        if which == 1:
            return f"({own} * 2 + 1)"
        return own

    def value(self, axes: str, depth: int) -> str:
        """A float64 expression of a kind of axes."""
        if depth <= 0:
            found = self.name("float64", axes)
            if found is None or (not axes and self.likely(20)):
                return self.one_of("0.5", "-0.3", "1.7") if not axes else f"zeros({self.like(axes)}.shape)"
            return found
        if self.likely(8 if depth > 1 else 0) and axes in STATES:
            return self.loop(axes, depth - 1)
        one = self.value(axes, depth - 1)
        which = self.number(0, 15)
        if which == 14:
            return f"softened({one})"
        if which == 15:
            index = f"{self.integer(depth - 1)} - 1"
            return f"switch_case({index}, {one}, {self.value(axes, depth - 1)}, {self.value(axes, depth - 1)})"
        if which <= 1:
            return f"({one} {self.one_of('+', '-', '*')} {self.value(axes, depth - 1)})"
        if which == 2:
            return f"({one} {self.one_of('+', '*')} {self.value('', depth - 1)})"
        if which == 3:
            return self.one_of("sin({})", "tanh({})", "exp(-tanh({}))").format(one)
        if which == 4:
            return f"{self.one_of('maximum', 'minimum')}({one}, {self.value(axes, depth - 1)})"
        if which == 5:
            chosen = self.one_of("choose", "ifelse")
            return f"{chosen}({self.condition(depth - 1)}, {one}, {self.value(axes, depth - 1)})"
        if not axes:
            return self.scalar(one, which, depth)
        if axes == "d":
            return self.vector(one, which, depth)
        if axes == "dd":
            return self.matrix(one, which, depth)
        return f"{one}[::-1]" if which == 6 else one

    def scalar(self, one: str, which: int, depth: int) -> str:
        """A number made of other values."""
        v = self.value("d", depth - 1)
        if which == 6:
            return f"sum({v}, 0)"
        if which == 7:
            return f"({v})[{self.one_of('0', '-1')}]"
        if which == 8:
            w = self.name("float64", "d")
            return f"{w}[mod({self.integer(depth - 1)}, {w}.shape[0])]"
        if which == 9:
            return f"logsumexp({v}, 0)" if self.likely(50) else f"max({v}, 0)"
        if which == 10:
            return f"as_float({self.integer(depth - 1)}) * 0.1"
        if which == 11:
            return f"matmul({v}, {self.value('d', depth - 1)})"
        if which == 13:
            other = self.value("", depth - 1)
            if self.likely(50):
                return f"blended({one}, {other})"
            return f"rooted({one}, {other}, {self.one_of(repr('brentq'), repr('newton'), repr('halley'))})"
        if which == 12:
            return f"normal({self.name('key', '') or f'key({self.number(0, 99)})'})"
        return one

    def vector(self, one: str, which: int, depth: int) -> str:
        """A vector made of other values."""
        if which == 6:
            return f"({one})[::-1]"
        if which == 7:
            return f"cumsum({one}, 0)"
        if which == 8:
            return f"set_at({one}, {self.one_of('0', '-1')}, {self.value('', depth - 1)})"
        if which == 9:
            return f"matmul({self.value('dd', depth - 1)}, {one})"
        if which == 10:
            return f"sum({self.value('dd', depth - 1)}, {self.number(0, 1)})"
        if which == 11:
            return f"({self.value('dd', depth - 1)})[{self.one_of('0', '-1', ':, 0', ':, -1')}]"
        if which == 13 and self.likely(50):
            e = self.new("e")
            body = self.inside({e: ("float64", "")}, lambda: self.value("", depth - 1))
            return f"vmap(lambda {e}: {body} + {e})({one})"
        if which == 12 and self.likely(50):
            return f"settled({one})"
        if which == 12:
            M, own = self.value("dd", 0), self.name("float64", "d")
            return f"solve(eye({own}.shape[0], {own}.shape[0]) * 3.0 + tanh({M}) * 0.5, {one})"
        return f"diag({self.value('dd', depth - 1)})"

    def matrix(self, one: str, which: int, depth: int) -> str:
        """A matrix made of other values."""
        if which <= 7:
            return f"matmul({one}, {self.value('dd', depth - 1)})"
        if which == 8:
            return f"transpose({one})"
        if which == 9:
            return f"outer({self.value('d', depth - 1)}, {self.value('d', depth - 1)})"
        if which == 10:
            return f"({one} + ({self.value('d', depth - 1)})[:, None])"
        if which == 11:
            return f"cumsum({one}, {self.number(0, 1)})"
        if which == 12:
            return f"diag({self.value('d', depth - 1)})"
        return f"inc_at({one}, 0, {self.value('d', depth - 1)})"

    def like(self, axes: str) -> str:
        """An input of a kind of axes."""
        return next(n for n, kind in INPUTS.items() if kind == ("float64", axes))

    def inside(self, known: dict[str, tuple[str, str]], write: Callable[[], str]) -> str:
        """What is written where more names are known."""
        before = self.kinds
        self.kinds = {**before, **known}
        try:
            return write()
        finally:
            self.kinds = before

    def sequences(self, count: int) -> tuple[list[str], dict[str, tuple[str, str]], str]:
        """Sequences of one length, the names of their elements with their kinds, and their axis ("" for none)."""
        axis = self.one_of("d", "n", "n")
        texts: list[str] = []
        names: dict[str, tuple[str, str]] = {}
        tapped = axis == "n" and self.likely(30)
        for _ in range(count):
            found = [(n, k) for n, k in self.kinds.items() if k[1][:1] == axis]
            name, (dtype, axes) = found[self.number(0, len(found) - 1)]
            if tapped:
                taps = [[-1, 0, 1], [1, -1], [0, 1, -1]][self.number(0, 2)]
                texts.append(f"{{'input': {name}, 'taps': {taps}}}")
            else:
                taps = [0]
                texts.append(name)
            names.update((self.new("e"), (dtype, axes[1:])) for _ in taps)
        return texts, names, axis

    def loop(self, axes: str, depth: int) -> str:
        """A loop whose result has a kind of axes."""
        which = self.number(0, 6)
        if which == 0:
            texts, names, _ = self.sequences(self.number(1, 2))
            body = self.inside(names, lambda: self.value(axes, depth))
            return f"sum(map(lambda {', '.join(names)}: {body}, [{', '.join(texts)}]), 0)"
        if which == 1:
            texts, names, axis = self.sequences(1)
            p = self.new("p")
            initial = self.value(axes, depth - 1)
            body = self.inside({**names, p: ("float64", axes)}, lambda: self.settled(p, axes, depth))
            read = f"lambda {', '.join(names)}, {p}: {body}, [{', '.join(texts)}], {self.typed(initial)}"
            return f"{self.one_of('reduce', 'foldr')}({read})" if axis == "d" else self.scan(axes, depth)
        if which == 2:
            c, p = self.new("c"), self.new("p")
            initial = self.value(axes, depth - 1)
            known = {c: ("int64", ""), p: ("float64", axes)}
            body = self.inside(known, lambda: self.settled(p, axes, depth))
            goes = self.inside(known, lambda: self.condition(1)) if self.likely(50) else f"lt({c}, mod(k, 5))"
            start = f"(k * 0, {self.typed(initial)})"
            return f"while_loop(lambda {c}, {p}: {goes}, lambda {c}, {p}: ({c} + 1, {body}), {start}, 4)[1]"
        return self.scan(axes, depth)

    def typed(self, initial: str) -> str:
        """A float64 value also where the text is a number."""
        return f"as_float({initial})"

    def settled(self, p: str, axes: str, depth: int) -> str:
        """The next value of a state, which stays moderate."""
        form = self.one_of("tanh({1})", "{0} * 0.5 + tanh({1})", "tanh({1} + {0})", "{0} * b * 0.3 + tanh({1})")
        return form.format(p, self.value(axes, depth))

    def scan(self, axes: str, depth: int) -> str:
        """`scan` with several states, of which one result is taken."""
        text, kinds, empty = self.scan_of(depth, axes)
        position = max(i for i, kind in enumerate(kinds) if kind == ("float64", axes))
        if empty or self.likely(40):
            return f"sum({text}[{position}], 0)"
        return f"{text}[{position}][{self.one_of('-1', '-1', '0')}]"

    def scan_of(self, depth: int, axes: str) -> tuple[str, list[tuple[str, str]], bool]:
        """`scan`, the kinds of its results, and whether it may do no step."""
        texts, known, axis = self.sequences(self.number(0, 2))
        steps = self.one_of("0", "1", "2", "3", "4", "5", "mod(k, 4)") if not texts else ""
        if texts and self.likely(20):
            steps = self.one_of("1", "mod(k, 2)") if axis == "d" else f"{texts[0]}.shape[0] // 2"
            steps = "" if "{" in steps else steps
        names, infos, states = list(known), [], []
        results: list[tuple[str, str]] = []
        for number in range(self.number(1, 3)):
            dtype = "float64" if number == 0 else self.one_of("float64", "float64", "float64", "int64", "bool", "key")
            own = axes if number == 0 else (self.one_of(*STATES) if dtype == "float64" else "")
            taps, p = [-1], self.new("p")
            if dtype == "key":
                initial = f"key({self.number(0, 99)})"
            elif dtype == "float64" and self.likely(25):
                taps = [[-2, -1], [-1, -3], [-2], [-3, -2, -1]][self.number(0, 3)]
                initial = f"stack([{', '.join(self.typed(self.value(own, depth - 1)) for _ in range(-min(taps)))}])"
            else:
                initial = {"float64": lambda own=own: self.typed(self.value(own, depth - 1)),
                           "int64": lambda: self.integer(1), "bool": lambda: self.condition(1)}[dtype]()  # fmt: skip
            mine = [p if len(taps) == 1 else f"{p}_{-t}" for t in taps]
            infos.append(initial if taps == [-1] else f"{{'initial': {initial}, 'taps': {taps}}}")
            known.update((n, (dtype, own)) for n in mine)
            names += mine
            states.append((mine[-1], dtype, own))
            results.append((dtype, own))
        bodies = [self.inside(known, lambda s=s: self.following(*s, depth)) for s in states]
        if self.likely(30):
            own = self.one_of(*STATES)
            bodies.append(self.inside(known, lambda: self.value(own, depth)))
            infos.append("None")
            results.append(("float64", own))
        stops = self.likely(20)
        if stops:
            bodies.append(f"until({self.inside(known, lambda: self.condition(1))})")
        options = f", n_steps={steps}" if steps else ""
        options += ", go_backwards=True" if texts and self.likely(25) else ""
        counted = steps.isdigit() or (self.fixed and not steps)
        if counted and not stops and self.likely(25):
            options += f", checkpoint={self.one_of('2', '3', repr('sqrt'))}"
        empty = not (steps.isdigit() and int(steps) > 0) if steps else axis == "n"
        text = (
            f"scan(lambda {', '.join(names)}: [{', '.join(bodies)}], sequences=[{', '.join(texts)}], "
            f"outputs_info=[{', '.join(infos)}]{options})"
        )
        return text, results, empty

    def following(self, p: str, dtype: str, axes: str, depth: int) -> str:
        """The next value of a state of some type."""
        if dtype == "int64":
            return f"mod({self.integer(1)} + {p}, 7)"
        if dtype == "bool":
            return self.condition(1)
        if dtype == "key":
            return f"fold_in({p}, {self.integer(0)})"
        return self.settled(p, axes, depth)

    def write(self, lines: int) -> None:
        """Lines, most of them loops whose results later lines read."""
        for _ in range(lines):
            axes = self.one_of(*STATES)
            name = self.new("r")
            if self.likely(60):
                whole = self.new("L")
                text, kinds, _ = self.scan_of(2, axes)
                self.lines.append((whole, text))
                for i, (dtype, own) in enumerate(kinds):
                    if dtype != "key":
                        self.lines.append((f"{name}_{i}", f"{whole}[{i}]"))
                        reduced = f"{name}_{i}s" if dtype == "float64" else f"{name}_{i}t"
                        if dtype == "float64":
                            self.lines.append((reduced, f"sum({name}_{i}, 0)"))
                            self.kinds[reduced] = (dtype, own)
            else:
                self.lines.append((name, self.loop(axes, 2)))
                self.kinds[name] = ("float64", axes)


def sample(generator: np.random.Generator) -> dict[str, Any]:
    """Values of the inputs: n from 0 to 5, d from 1 to 3."""
    n, d = int(generator.choice([0, 1, 2, 3, 4, 5, 4, 3])), int(generator.integers(1, 4))
    lengths = {"n": n, "d": d}
    found: dict[str, Any] = {}
    for name, (dtype, axes) in INPUTS.items():
        shape = tuple(lengths[axis] for axis in axes)
        if dtype == "float64":
            found[name] = generator.uniform(-1, 1, shape)
        elif dtype == "int64":
            found[name] = generator.integers(0, 6, shape)
        else:
            found[name] = generator.integers(0, 2, shape) > 0
        if not axes:
            found[name] = np.asarray(found[name], dtype)
    return found


def symbols(like: dict[str, Any] | None = None) -> dict[str, Node]:
    """The inputs, with symbolic lengths or with those of a sample."""
    return {
        name: pt.tensor(name, dtype=dtype, shape=(None,) * len(axes) if like is None else np.shape(like[name]))
        for name, (dtype, axes) in INPUTS.items()
    }


def program(seed: int, lines: int, count: int, *, fixed: bool = False) -> tuple[list[Line], list[dict[str, Any]]]:
    """Lines, and values of the inputs."""
    generator = np.random.default_rng(seed)
    samples = [sample(generator) for _ in range(count)]
    writer = Writer(generator, fixed=fixed)
    writer.write(lines)
    return writer.lines, samples
