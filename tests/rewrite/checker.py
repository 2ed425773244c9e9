"""Tries rules on values: both sides of every application are computed and compared.

A rule, the table it lives in and an evaluator in; complaints in words out. The truth is computed to
hundreds of digits where it can be: the right side must be as accurate as the left, may be finite where
the left overflows, and must not hide NaN or infinity. A zero keeps its sign, but for the rules of `EITHER_ZERO`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import ConsilienceError
from consilience.ir import Constant, Node, constant, tensor_input, topological
from consilience.ops import Elementwise
from consilience.record import Record
from consilience.rewrite.engine import Rewriting
from consilience.rewrite.facts import assume
from consilience.rewrite.pattern import Call, Condition, Wildcard, instantiate, wildcards_of
from consilience.rewrite.rule import Rule, RuleTable
from tests.rewrite.precise import GROWING, digits, evaluate_precisely
from tests.rewrite.samples import Samples

Array: TypeAlias = npt.NDArray[Any]
Evaluate: TypeAlias = Callable[[Sequence[Node], Mapping[Node, npt.ArrayLike]], list[Array]]
Values: TypeAlias = Mapping[Node, Array]

EXTREMES = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e308,
    -1e308,
    1e-308,
    -1e-308,
    800.0,
    -800.0,
    40.0,
    -40.0,
    1.0,
    -1.0,
    1e-10,
)
# Arguments of functions that grow exponentially are extreme enough with this size.
LARGEST_ARGUMENT = 1e5
EPSILON = np.finfo("float64").eps
# Sizes of axes are pairwise distinct, so that a mistaken axis shows.
SHAPES: tuple[tuple[int, ...], ...] = ((), (7,), (1,), (4, 7), (4, 1))

# Rules of whose results a zero may have the other sign: library functions near arguments at which the written form
# rounds to +0, as `exp(x) - 1` at -0; what is 0 by a fact that holds for both zeros; sums and products of matrices,
# which add to +0 or to nothing; a sign before a sum.
EITHER_ZERO = frozenset((
    "exp - 1", "1 - exp", "-1 - expm1", "exp of log1mexp", "log of exp", "log of 1 + x", "log of -expm1",
    "log of sigmoid", "log1mexp of log of 1 - exp", "sigmoid - 1", "logit of sigmoid", "xlogy of sigmoid",
    "xlog1py of -sigmoid", "xlogy of exp", "erf - 1", "1 - erfc", "erfc - 1", "xlogy of erfc / 2",
    "xlog1py of -erfc / 2", "xlogy of softmax", "log of 1 - an element of softmax", "log of reciprocal",
    "exp of a log times number",
    "|x| of x >= 0", "|x| of x <= 0", "extrema decided by facts",
    "reductions over no axes, or of one or no elements", "reductions of what is repeated",
    "constant factors leave sums",
    "diagonal systems", "inverse of a diagonal matrix", "products with diagonal matrices",
    "inverses and factors from parts", "products of parts", "inverse times a value", "systems with structure",
    "numbers and signs leave matrix products", "parts of a vector are joined",
))  # fmt: skip


class Application(Record):
    """A rule made `after` of `before`."""

    rule: Rule
    before: Node
    after: Node


def check(rule: Rule, table: RuleTable, evaluate: Evaluate, seed: int = 20) -> list[str]:
    """Complaints about a rule: that it never applies, or that its sides differ. Empty when it is right."""
    complaints: list[str] = []
    rng = np.random.default_rng(seed)
    applied = idle = 0
    cases = _pattern_cases(rule, rng) if rule.left is not None else _example_cases(rule, rng)
    for graph, draws in cases:
        found: list[Application] = []
        try:
            Rewriting(table, strict=True, observe=_recorder(found))([graph])
        except ConsilienceError as error:
            complaints.append(f"{rule.name}: {error}")
            continue
        mine = [a for a in found if a.rule is rule]
        applied += len(mine)
        idle += not mine
        for application, values in itertools.product(mine, draws):
            complaint = compare(application, values, evaluate, signs=rule.name not in EITHER_ZERO)
            if complaint:
                complaints.append(f"{rule.name}: {complaint}")
                break
    if not applied or (rule.left is None and idle):
        which = f"{idle} of {len(rule.examples)} examples" if rule.examples else "its left side"
        complaints.append(f"{rule.name}: does not apply to {which}; another rule comes before it.")
    return complaints


def _recorder(found: list[Application]) -> Callable[[Rule, Node, Node], None]:
    return lambda rule, before, after: found.append(Application(rule, before, after))


def _example_cases(rule: Rule, rng: np.random.Generator) -> Iterable[tuple[Node, list[Values]]]:
    for example in rule.examples:
        samples = Samples()
        graph = example(samples)
        pool = extremes([graph], rule.within)
        yield graph, [samples.values(rng), samples.values(rng), *(samples.values(rng, e) for e in pool)]


def _pattern_cases(rule: Rule, rng: np.random.Generator) -> Iterable[tuple[Node, list[Values]]]:
    assert rule.left is not None
    names = wildcards_of(rule.left)
    for shapes in itertools.islice(_shapes(len(names)), 6):
        bound = {w.name: _input(w, shape, rule) for w, shape in zip(names, shapes, strict=True)}
        graph = instantiate(rule.left, bound)
        assert isinstance(graph, Node)
        pool = extremes([graph], rule.within)
        yield graph, [_draw(bound, rule, pool, rng) for _ in range(6)]


def _shapes(count: int) -> Iterable[tuple[tuple[int, ...], ...]]:
    same: list[tuple[tuple[int, ...], ...]] = [(s,) * count for s in SHAPES[:2]]
    mixed = [c for c in itertools.product(SHAPES, repeat=count) if len(set(c)) > 1]
    mixed.sort(key=lambda c: -len({len(s) for s in c}))
    return same + mixed + [(s,) * count for s in SHAPES[2:]]


def _input(wildcard: Wildcard, shape: tuple[int, ...], rule: Rule) -> Node:
    if wildcard.number:
        return constant(0.75)
    truth = rule.left is not None and _is_truth(wildcard, rule.left)
    node = tensor_input("bool" if truth else "float64", shape, wildcard.name)
    low, high = _interval(wildcard, rule, claimed=False)
    facts: dict[str, bool | float] = {name: True for c in rule.conditions for name in _facts_of(c, wildcard)}
    if np.isfinite(low) and low != 0:
        facts["at_least"] = low
    if np.isfinite(high) and high != 0:
        facts["at_most"] = high
    return assume(node, **facts) if facts else node


_TRUTHS = ("logical_not", "logical_and", "logical_or", "where")


def _is_truth(wildcard: Wildcard, term: object) -> bool:
    if not isinstance(term, Call):
        return False
    operands = term.operands[:1] if term.function == "where" else term.operands
    if term.function in _TRUTHS and wildcard in operands:
        return True
    return any(_is_truth(wildcard, operand) for operand in term.operands)


def _facts_of(condition: Condition, wildcard: Wildcard) -> list[str]:
    name = condition.text.partition("(")[0]
    if wildcard not in condition.terms or " " in name:
        return []
    return [name]


def _interval(wildcard: Wildcard, rule: Rule, claimed: bool = True) -> tuple[float, float]:
    """Where values of a wildcard lie: by the conditions, and by what the rule claims."""
    low, high = -np.inf, np.inf
    if claimed:
        low, high = next(((a, b) for name, a, b in rule.domain if name == wildcard.name), (low, high))
    for condition in rule.conditions:
        if wildcard not in condition.terms:
            continue
        name = condition.text.partition("(")[0]
        if name in ("positive", "non_negative", "probability"):
            low = max(low, 0.0)
        if name in ("negative", "non_positive"):
            high = min(high, 0.0)
        if name == "probability":
            high = min(high, 1.0)
        if ">=" in condition.text:
            low = max(low, float(condition.text.rpartition(" ")[2]))
        elif "<=" in condition.text:
            high = min(high, float(condition.text.rpartition(" ")[2]))
    return low, high


def extremes(graphs: Sequence[Node], within: float) -> list[float]:
    """Extreme numbers for which a rule makes a claim about some graphs."""
    functions = {n.op.function for n in topological(graphs) if isinstance(n.op, Elementwise)}
    largest = LARGEST_ARGUMENT if functions & GROWING else np.inf
    return [
        e for e in EXTREMES
        if not np.isfinite(e) or (abs(e) <= min(largest, within) and (e == 0 or abs(e) >= 1 / within))
    ]  # fmt: skip


def _draw(bound: Mapping[str, Node], rule: Rule, pool: Sequence[float], rng: np.random.Generator) -> Values:
    found: dict[Node, Array] = {}
    for name, node in bound.items():
        if isinstance(node.op, Constant):
            continue
        shape = tuple(int(n) for n in node.static_shape if isinstance(n, int))
        if node.dtype == "bool":
            found[node] = rng.random(shape) < 0.5
            continue
        wildcard = Wildcard(name)
        low, high = _interval(wildcard, rule)
        facts = {f for c in rule.conditions for f in _facts_of(c, wildcard)}
        allowed = [e for e in pool if _admits(e, low, high, facts)]
        array = rng.normal(0, 3, shape)
        bounded_below, bounded_above = low > -1e300, high < 1e300
        if bounded_below and bounded_above:
            array = rng.uniform(low, high, shape)
        elif bounded_below:
            array = low + np.abs(array)
        elif bounded_above:
            array = high - np.abs(array)
        mask = rng.random(shape) < 0.6
        found[node.inputs[0] if node.inputs else node] = np.where(mask, rng.choice(allowed, shape), array)
    return found


def _admits(extreme: float, low: float, high: float, facts: set[str]) -> bool:
    """Whether an extreme value lies where a rule claims something."""
    if np.isnan(extreme):
        return not facts & {"finite", "not_nan", "probability"}
    if extreme == 0 and (facts & {"positive", "negative", "nonzero"} or (low == 0 and np.signbit(extreme))):
        return False  # the sign of a zero is not kept
    return low <= extreme <= high and bool(np.isfinite(extreme) or "finite" not in facts)


def compare(application: Application, values: Values, evaluate: Evaluate, *, signs: bool) -> str:
    """A complaint if the two sides of an application differ on some values, else an empty text.

    `signs`: whether they differ where one is 0 and the other -0.
    """
    before, after = application.before, application.after
    if before.type != after.type:
        return f"made {after.type!r} of {before.type!r}."
    leaves = {node for node in topological([before, after]) if not node.inputs}
    given = {node: array for node, array in values.items() if node in leaves}
    left, right = evaluate([before, after], given)
    if left.dtype != right.dtype or left.shape != right.shape:
        return f"made {right.dtype}{right.shape} of {left.dtype}{left.shape}."
    if left.dtype.kind != "f":
        return "" if (left == right).all() else _report(application, given, left, right, left != right)
    wrong = (left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))
    if signs and wrong.any():
        return _report(application, given, left, right, wrong)
    true = evaluate_precisely(before, given)
    if true is None:
        wrong = ~np.isclose(left, right, rtol=1e-9, atol=1e-11, equal_nan=True) & np.isfinite(left)
        return _report(application, given, left, right, wrong) if wrong.any() else ""
    mp = digits()
    with mp.workdps(60):
        places = [p for p in np.ndindex(left.shape) if _worse(float(left[p]), float(right[p]), true[p], 0)]
        if not places:
            return ""
        slack = _sensitivity(before, given, true)
        summands = EPSILON * np.maximum(_largest(before, given, evaluate), _largest(after, given, evaluate))
        wrong = np.zeros(left.shape, bool)
        for p in places:
            allowed = summands[p] + (mp.mpf(0) if slack is None else slack[p])
            wrong[p] = _worse(float(left[p]), float(right[p]), true[p], allowed)
    return _report(application, given, left, right, wrong) if wrong.any() else ""


def _largest(graph: Node, values: Values, evaluate: Evaluate) -> Array:
    """Size of the greatest summand of a sum: its rounding is that of the sum."""
    shape = tuple(int(n) for n in graph.static_shape if isinstance(n, int))
    if not isinstance(graph.op, Elementwise) or graph.op.function not in ("add", "sub"):
        return np.zeros(shape)
    sizes = [np.abs(np.where(np.isfinite(v), v, 0.0)) for v in evaluate(graph.inputs, values)]
    return np.broadcast_to(np.max(np.broadcast_arrays(*sizes), axis=0), shape)


def _sensitivity(graph: Node, values: Values, true: Array) -> Array | None:
    """How far the truth moves when the inputs move by a few units in the last place."""
    rng = np.random.default_rng(1)
    total: Array | None = None
    for _ in range(3):
        moved = {
            node: array * (1 + 8 * EPSILON * rng.uniform(-1, 1, array.shape)) if array.dtype.kind == "f" else array
            for node, array in values.items()
        }
        with np.errstate(all="ignore"):
            other = evaluate_precisely(graph, moved)
        if other is None:
            return None
        change = np.asarray(np.frompyfunc(_distance, 2, 1)(other, true), dtype=object)
        total = change if total is None else np.asarray(total + change, dtype=object)
    return total


def _distance(a: Any, b: Any) -> Any:
    return digits().mpf(0) if a is None or b is None else abs(a - b)


def _worse(left: float, right: float, true: Any, slack: Any) -> bool:
    """Whether the right side is wrong where the left one is not."""
    mp = digits()

    if true is None or left == right:
        return False
    if mp.isnan(true):
        return bool(np.isfinite(right))
    largest = np.finfo("float64").max
    if mp.isinf(true) or abs(true) > largest:
        expected = np.inf if true > 0 else -np.inf
        return bool(np.isfinite(right)) if left != expected else right != expected
    if not np.isfinite(right):
        return bool(np.isfinite(left))
    allowed = 16 * EPSILON * abs(true) + mp.mpf("1e-300")
    if mp.isfinite(slack):
        allowed += 16 * slack
    if np.isfinite(left):
        allowed += 8 * abs(mp.mpf(float(left)) - true)
    return bool(abs(mp.mpf(float(right)) - true) > allowed)


def _report(application: Application, values: Values, left: Array, right: Array, wrong: Array) -> str:
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    shown = ", ".join(f"{node.name}={np.array2string(array, threshold=12)}" for node, array in values.items())
    sides = f"{application.before!r} is {left[place]!r} but {application.after!r} is {right[place]!r}"
    return f"{sides} at {place} for {shown}."
