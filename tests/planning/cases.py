"""Programs in which no fixed order of rules gives the best form, as users write them: linear algebra, parts, models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node
from consilience.rewrite.facts import assume
from tests.transforms.laws import Array


class Case:
    """The inputs and outputs of a program, with values."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(8)
        self.values: dict[Node, Array] = {}
        self.outputs: list[Node] = []

    def given(self, *shape: int, low: float | None = None) -> Node:
        """A new input of normal numbers, or of numbers in [low, low + 1]."""
        node = pt.tensor(f"x{len(self.values)}", dtype="float64", shape=shape)
        draws = self.generator.normal(size=shape) if low is None else low + self.generator.random(shape)
        self.values[node] = np.asarray(draws)
        return node

    def definite(self, n: int) -> Node:
        """A new input: a definite matrix, declared to be one."""
        node = self.given(n, n)
        root = self.values[node]
        self.values[node] = root @ root.T / n + np.eye(n)
        return assume(node, positive_definite=True)

    def places(self, count: int, below: int) -> Node:
        """A new input of positions."""
        node = pt.tensor(f"i{len(self.values)}", dtype="int64", shape=(count,))
        self.values[node] = self.generator.integers(0, below, count)
        return node


CASES: dict[str, Callable[[Case], list[Node]]] = {}


def case(make: Callable[[Case], list[Node]]) -> Callable[[Case], list[Node]]:
    """Enter a program."""
    CASES[make.__name__.replace("_", " ")] = make
    return make


def made(name: str) -> Case:
    """A case with its outputs."""
    found = Case()
    found.outputs = CASES[name](found)
    return found


@case
def product_with_a_vector(c: Case) -> list[Node]:
    return [(c.given(600, 600) @ c.given(600, 600)) @ c.given(600)]


@case
def product_with_a_vector_where_the_product_is_needed(c: Case) -> list[Node]:
    product = c.given(300, 300) @ c.given(300, 300)
    return [product @ c.given(300), product]


@case
def chain_of_four(c: Case) -> list[Node]:
    return [((c.given(400, 20) @ c.given(20, 500)) @ c.given(500, 30)) @ c.given(30, 400)]


@case
def batch_of_chains(c: Case) -> list[Node]:
    return [(c.given(20, 100, 100) @ c.given(20, 100, 100)) @ c.given(20, 100, 3)]


@case
def trace_of_a_product(c: Case) -> list[Node]:
    return [pt.linalg.trace(c.given(300, 500) @ c.given(500, 300))]


@case
def diagonal_of_a_product(c: Case) -> list[Node]:
    x = c.given(1000, 50)
    return [pt.diagonal(x @ c.given(50, 50) @ x.T)]


@case
def sum_of_a_product(c: Case) -> list[Node]:
    return [(c.given(300, 400) @ c.given(400, 500)).sum()]


@case
def column_sums_of_a_product(c: Case) -> list[Node]:
    return [(c.given(300, 400) @ c.given(400, 500)).sum(0)]


@case
def product_of_an_outer_product(c: Case) -> list[Node]:
    return [pt.outer(c.given(800), c.given(800)) @ c.given(800, 20)]


@case
def low_rank_mean(c: Case) -> list[Node]:
    u, v, w = c.given(700, 5), c.given(5, 700), c.given(700)
    residual = c.given(700) - (u @ v) @ w
    cost = (residual**2).sum()
    return [cost, *pt.grad(cost, [u, v, w])]


@case
def quadratic_form_of_a_product(c: Case) -> list[Node]:
    x, b = c.given(2000, 40), c.given(40)
    return [b @ (x.T @ x) @ b]


@case
def diagonal_scaling(c: Case) -> list[Node]:
    return [(c.given(900, 1) * c.given(900, 900) * c.given(1, 900)) @ c.given(900)]


@case
def inverse_times_a_product(c: Case) -> list[Node]:
    return [pt.linalg.inv(c.given(300, 300)) @ c.given(300, 300) @ c.given(300)]


@case
def inverse_and_a_system(c: Case) -> list[Node]:
    a = c.given(300, 300)
    inverse = pt.linalg.inv(a)
    return [inverse, pt.linalg.solve(a, c.given(300, 100))]


@case
def system_of_many_columns_times_a_vector(c: Case) -> list[Node]:
    return [pt.linalg.solve(c.given(300, 300), c.given(300, 300)) @ c.given(300)]


@case
def row_times_a_system(c: Case) -> list[Node]:
    return [c.given(300) @ pt.linalg.solve(c.given(300, 300), c.given(300, 300))]


@case
def determinant_system_and_form(c: Case) -> list[Node]:
    k, r = c.definite(300), c.given(300)
    return [pt.linalg.slogdet(k)[1], pt.linalg.solve(k, r, assume_a="pos"), r @ pt.linalg.inv(k) @ r]


@case
def few_cells_of_a_product(c: Case) -> list[Node]:
    u, v = c.given(1000, 10), c.given(800, 10)
    return [(u @ v.T)[c.places(4000, 1000), c.places(4000, 800)]]


@case
def few_rows_of_a_product(c: Case) -> list[Node]:
    return [(c.given(2000, 300) @ c.given(300))[c.places(50, 2000)]]


@case
def repeated_rows_of_a_product(c: Case) -> list[Node]:
    return [(c.given(20, 300) @ c.given(300))[c.places(5000, 20)]]


@case
def function_of_repeated_elements(c: Case) -> list[Node]:
    return [pt.exp((c.given() * c.given(50))[c.places(200_000, 50)])]


@case
def few_elements_of_a_function(c: Case) -> list[Node]:
    return [pt.exp(c.given(200_000) * 0.1)[c.places(2000, 200_000)]]


@case
def few_elements_of_a_function_that_is_needed(c: Case) -> list[Node]:
    values = pt.exp(c.given(200_000) * 0.1)
    return [values[c.places(20_000, 200_000)], values.sum(), values]


def gaussian_process(c: Case, n: int, write: Callable[[Node, Node], Node]) -> list[Node]:
    """Log density and gradient of a process with a covariance as users write it."""
    x = np.sort(c.generator.uniform(0, 10, n))
    distances = (x[:, None] - x[None]) ** 2
    observed = np.sin(x) + 0.1 * c.generator.normal(size=n)
    length, noise, mean = (c.given(low=0.3) for _ in range(3))
    k = pt.exp(-distances / (2 * length**2)) + noise**2 * pt.eye(n)
    logp = write(k, observed - mean)
    return [logp, *pt.grad(logp, [length, noise, mean])]


@case
def gaussian_process_by_inverse(c: Case) -> list[Node]:
    return gaussian_process(c, 300, lambda k, r: -0.5 * (r @ pt.linalg.inv(k) @ r) - 0.5 * pt.linalg.slogdet(k)[1])


@case
def gaussian_process_by_system(c: Case) -> list[Node]:
    return gaussian_process(c, 300, lambda k, r: -0.5 * (r @ pt.linalg.solve(k, r)) - 0.5 * pt.linalg.slogdet(k)[1])


@case
def gaussian_process_by_factor(c: Case) -> list[Node]:
    def write(k: Node, r: Node) -> Node:
        factor = pt.linalg.cholesky(k)
        z = pt.linalg.solve_triangular(factor, r, lower=True)
        return -0.5 * (z**2).sum() - pt.log(pt.diagonal(factor)).sum()

    return gaussian_process(c, 300, write)


@case
def gaussian_process_by_distribution(c: Case) -> list[Node]:
    return gaussian_process(c, 300, lambda k, r: pm.logp(pm.MvNormal.dist(mu=np.zeros(300), cov=k), r))


@case
def regression_with_groups(c: Case) -> list[Node]:
    x, y, places = c.given(20_000, 8), c.given(20_000), c.places(20_000, 50)
    b, a, s = c.given(8), c.given(50), c.given(low=0.5)
    logp = pm.logp(pm.Normal.dist(pt.exp(0.1 * a)[places] + x @ b, s), y).sum()
    return [logp, *pt.grad(logp, [b, a, s])]
