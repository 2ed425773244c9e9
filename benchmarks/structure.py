"""Determinants, systems and inverses of structured matrices, from their parts and by the whole.

    python -m benchmarks.structure

Both are compiled from one expression: once as it is rewritten, once without the rules about structure. Operations are
those of the factorisations that are left; results must be numerically equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.native import one_core
from benchmarks.report import Row, show
from consilience.backends.llvm import Compiled
from consilience.ir import Node, topological
from consilience.ops import Cholesky, Det, DetSign, Inverse, InverseQuadratic, LogAbsDet, MatMul, Solve, SolveTriangular
from consilience.rewrite.rules import diagonal_matrices, linear_algebra, low_rank, matrices_of_parts, simplify

la = pt.linalg
RNG = np.random.default_rng(0)
STRUCTURE = [
    rule.name
    for rule in (
        *diagonal_matrices.RULES, *matrices_of_parts.RULES, *low_rank.RULES,
        linear_algebra.factored_solve, linear_algebra.structured_determinant,
    )
]  # fmt: skip


def operations(outputs: Sequence[Node]) -> float:
    """Multiplications of all factorisations, systems and products, by the leading terms of their counts."""
    total = 0.0
    for node in topological(outputs):
        shapes = [[float(n) for n in i.static_shape if isinstance(n, int)] for i in node.inputs]
        if isinstance(node.op, Cholesky):
            total += shapes[0][-1] ** 3 / 6
        elif isinstance(node.op, Det | DetSign | LogAbsDet):
            total += shapes[0][-1] ** 3 / 3
        elif isinstance(node.op, Inverse):
            total += shapes[0][-1] ** 3
        elif isinstance(node.op, Solve | InverseQuadratic):
            total += shapes[0][-1] ** 3 / 3 + shapes[0][-1] ** 2 * shapes[1][-1]
        elif isinstance(node.op, SolveTriangular):
            total += shapes[0][-1] ** 2 * shapes[1][-1] / 2
        elif isinstance(node.op, MatMul):
            total += float(np.prod(shapes[0])) * (shapes[1][-1] if len(shapes[1]) > 1 else 1.0)
    return total


def seconds(outputs: Sequence[Node], given: Mapping[Node, np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """The shortest of several runs of machine code, and its results."""
    run = Compiled(list(given), list(outputs)).bind()
    best, results = np.inf, []
    for _ in range(5):
        started = time.perf_counter()
        results = run(list(given.values()))
        best = min(best, time.perf_counter() - started)
    return best, [np.asarray(r) for r in results]


def compare(what: str, expression: Node, given: Mapping[Node, np.ndarray]) -> list[Row]:
    """Times and operations of both ways, and the greatest relative difference."""
    parts, whole = (simplify([expression], exclude=excluded) for excluded in ((), STRUCTURE))
    fast, ours = seconds(parts, given)
    slow, dense = seconds(whole, given)
    difference = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(ours, dense, strict=True))
    return [
        Row(
            what, slow / fast, "x", 1.0, at_least=True,
            note=f"{1e3 * fast:.3g} ms for {1e3 * slow:.3g} ms, {operations(parts):.2g} operations for "
            f"{operations(whole):.2g}, relative difference {difference:.1g}",
        )
    ]  # fmt: skip


def given(**arrays: np.ndarray) -> tuple[dict[str, Node], dict[Node, np.ndarray]]:
    """Inputs by name, and their values."""
    nodes = {name: pt.tensor(name, dtype="float64", shape=array.shape) for name, array in arrays.items()}
    return nodes, {nodes[name]: array for name, array in arrays.items()}


def definite(n: int) -> np.ndarray:
    """A positive definite matrix."""
    x = RNG.normal(size=(n, n))
    return x @ x.T / n + np.eye(n)


def main() -> None:
    """All cases."""
    rows: list[Row] = []

    def case(what: str, build: Callable[[dict[str, Node]], Node], **arrays: np.ndarray) -> None:
        nodes, values = given(**arrays)
        used = set(topological([expression := build(nodes)]))
        rows.extend(compare(what, expression, {node: array for node, array in values.items() if node in used}))

    a, b, y = definite(40), definite(30), RNG.normal(size=(1200, 1))
    d, u, c = RNG.normal(size=1200), RNG.normal(size=(1200, 5)), definite(5)

    def kron(t: dict[str, Node]) -> Node:
        return la.kron(t["a"], t["b"])

    def low(t: dict[str, Node]) -> Node:
        return pt.diag(pt.exp(t["d"])) + t["u"] @ t["c"] @ t["u"].T

    def blocks(t: dict[str, Node]) -> Node:
        return la.block_diag(*[t["a"]] * 30)

    def normal(covariance: Callable[[dict[str, Node]], Node]) -> Callable[[dict[str, Node]], Node]:
        return lambda t: pm.logp(pm.MvNormal.dist(0.0, covariance(t)), t["y"][:, 0])

    case("log|det| of kron, 40 x 30", lambda t: la.slogdet(kron(t))[1], a=a, b=b)
    case("solve with kron", lambda t: la.solve(kron(t), t["y"]), a=a, b=b, y=y)
    case("inv of kron", lambda t: la.inv(kron(t)), a=a, b=b)
    case("kron times a vector", lambda t: kron(t) @ t["y"][:, 0], a=a, b=b, y=y)
    case("log|det| of D + U C U', 1200 and 5", lambda t: la.slogdet(low(t))[1], d=d, u=u, c=c)
    case("solve with D + U C U'", lambda t: la.solve(low(t), t["y"]), d=d, u=u, c=c, y=y)
    case("inv of D + U C U'", lambda t: la.inv(low(t)), d=d, u=u, c=c)
    case("normal density, D + U U'", normal(lambda t: pt.diag(pt.exp(t["d"])) + t["u"] @ t["u"].T), d=d, u=u, y=y)
    case("log|det| of 30 blocks of 40", lambda t: la.slogdet(blocks(t))[1], a=a)
    case("solve with 30 blocks", lambda t: la.solve(blocks(t), t["y"]), a=a, y=y)
    case("inv of 30 blocks", lambda t: la.inv(blocks(t)), a=a)
    case("solve with diag(d)", lambda t: la.solve(pt.diag(t["d"]), t["y"]), d=d, y=y)
    whole = definite(1200)
    case("solve with L L'", lambda t: la.solve(pt.tril(t["w"]) @ pt.tril(t["w"]).T, t["y"]), w=whole, y=y)
    case("log|det| of L L'", lambda t: la.slogdet(pt.tril(t["w"]) @ pt.tril(t["w"]).T)[1], w=whole)

    nodes, values = given(w=whole, y=y)
    fast, ours = seconds([la.solve(nodes["w"], nodes["y"], assume_a="tridiagonal")], values)
    banded = pt.triu(pt.tril(nodes["w"], 1), -1)
    slow, dense = seconds([la.solve(banded, nodes["y"])], values)
    difference = float(np.abs(ours[0] - dense[0]).max() / np.abs(dense[0]).max())
    note = f"{1e3 * fast:.3g} ms for {1e3 * slow:.3g} ms, relative difference {difference:.1g}"
    rows.append(Row("solve, assume_a='tridiagonal'", slow / fast, "x", 1.0, at_least=True, note=note))
    show("Structured matrices: how many times faster from their parts than by the whole", rows)


if __name__ == "__main__":
    one_core()
    main()
