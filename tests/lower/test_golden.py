"""Programs of well-known graphs: what lowering decides is written down, and lowers for every processor.

After a change that is meant: `python -m tests.lower.test_golden` writes the files anew; read the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.llvm import fold
from consilience.ir import Node, constant, tensor_input, topological
from consilience.ir.leaves import Input
from consilience.lower import entry
from consilience.lower.expand import expand
from consilience.lower.program import lower
from consilience.lower.steps import Program
from consilience.native import jit
from consilience.native.target import CROSS
from consilience.rewrite.rules import simplify

PLACE = Path(__file__).parent / "golden"


def normal(x: Node, mu: Node | float, sigma: Node | float) -> Node:
    """Log density of a normal distribution, up to a constant."""
    return -0.5 * pt.sqr((x - mu) / sigma) - pt.log(sigma)


def eight_schools() -> list[Node]:
    """Value and gradient of a small hierarchical model: one position vector, constant data."""
    position = tensor_input("float64", (10,), "position")
    mu, log_tau, z = position[0], position[1], position[2:]
    y = constant(np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]))
    sigma = constant(np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]))
    value = normal(mu, 0.0, 5.0) - pt.log1p(pt.sqr(pt.exp(log_tau) / 5.0)) + log_tau
    value = value + normal(z, 0.0, 1.0).sum() + normal(y, mu + pt.exp(log_tau) * z, sigma).sum()
    return [value, pt.grad(value, position)]


def varying_intercepts() -> list[Node]:
    """Gather by a group index, and the sums by group that its gradient needs."""
    intercepts, slope = tensor_input("float64", (5,), "intercepts"), tensor_input("float64", (), "slope")
    group = constant(np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 4, 4]))
    x, y = (constant(np.linspace(a, 1.0, 12)) for a in (0.0, -1.0))
    value = normal(y, intercepts[group] + slope * x, 0.7).sum()
    return [value, *pt.grad(value, [intercepts, slope])]


def factorisation() -> list[Node]:
    """Rows by index: read in each loop that needs them, and added to by the loop that computes their gradients."""
    people, films = tensor_input("float64", (4, 6), "people"), tensor_input("float64", (3, 6), "films")
    who, what = constant(np.arange(10) % 4), constant(np.arange(10) % 3)
    value = normal(constant(np.linspace(-1.0, 1.0, 10)), (people[who] * films[what]).sum(-1), 0.7).sum()
    return [value, *pt.grad(value, [people, films])]


def logistic_regression() -> list[Node]:
    """A matrix of few columns: products inside the loop over rows."""
    beta, data = tensor_input("float64", (3,), "beta"), tensor_input("float64", (40, 3), "X")
    y = tensor_input("float64", (40,), "y")
    eta = data @ beta
    value = (y * eta - pt.softplus(eta)).sum()
    return [value, pt.grad(value, beta)]


def gaussian_process() -> list[Node]:
    """Covariance, factorisation, triangular solution."""
    x, y = tensor_input("float64", (20,), "x"), tensor_input("float64", (20,), "y")
    scale = tensor_input("float64", (), "scale")
    covariance = pt.exp(-0.5 * pt.sqr((x[:, None] - x[None, :]) / scale)) + 0.1 * pt.eye(20)
    factor = pt.linalg.cholesky(covariance)
    return [
        -0.5 * pt.sqr(pt.linalg.solve_triangular(factor, y, lower=True)).sum()
        - pt.log(pt.linalg.diagonal(factor)).sum()
    ]


def branches() -> list[Node]:
    """A lazy choice whose operands are computed before."""
    x, n = tensor_input("float64", (6,), "x"), tensor_input("int64", (), "n")
    first, second = pt.cond(n > 0, [pt.exp(x).sum(), x * 2.0], [pt.as_tensor(0.0), x[::-1]])  # type: ignore[misc]  # a list for a list
    return [first + second.max()]


def views_and_joins() -> list[Node]:
    """Transposed, reshaped and reversed reads; parts of a join written in place; reductions over any axis."""
    x = tensor_input("float64", (4, 6), "x")
    joined = pt.concatenate([x.T * 2.0, x.reshape((6, 4))[::-1], pt.ones((6, 1))], axis=1)
    return [joined, joined.sum(0), (x.T.reshape((3, 8)) + 1.0).cumsum(0), pt.argmax(x, 1)]


def loops() -> list[Node]:
    """Value and gradient of a recursion on two numbers; states in two blocks; a loop that its condition ends."""
    x, a = tensor_input("float64", (50,), "x"), tensor_input("float64", (), "a")
    start = tensor_input("float64", (40,), "start")
    path = pt.scan(lambda v, far, near: pt.tanh(far * a + near) + v, x,
                   {"initial": x[:2], "taps": [-2, -1]}, return_updates=False)  # fmt: skip
    state = pt.scan(lambda p: pt.sin(p) * a + p[::-1], outputs_info=start, n_steps=5, return_updates=False)[-1]
    count = pt.while_loop(lambda i, p: p < 9.0, lambda i, p: (i + 1, p * 1.5 + a), (0, 1.0))[0]
    cost = (path**2).sum()
    return [cost, *pt.grad(cost, [x, a]), state, count]


GRAPHS: dict[str, Callable[[], list[Node]]] = {
    g.__name__: g
    for g in (
        eight_schools,
        varying_intercepts,
        factorisation,
        logistic_regression,
        gaussian_process,
        branches,
        views_and_joins,
        loops,
    )
}


def program(name: str) -> Program:
    """The program of a graph, as the machine-code backend makes it."""
    outputs = simplify(GRAPHS[name]())
    inputs = [n for n in topological(outputs) if isinstance(n.op, Input)]
    return lower(inputs, fold(expand(outputs)))


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_program_is_the_one_written_down(name: str) -> None:
    """Loops, places and calls are those of the golden file."""
    assert str(program(name)) + "\n" == (PLACE / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", sorted(CROSS))
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_program_lowers_for_every_processor(name: str, target: str) -> None:
    """SSE2, AVX2, AVX-512 and NEON, whatever machine runs the tests."""
    code = entry.write(program(name), CROSS[target])
    assert len(jit.compile_object(code.module, CROSS[target])) > 500


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    for chosen in GRAPHS:
        (PLACE / f"{chosen}.txt").write_text(str(program(chosen)) + "\n", encoding="utf-8")
