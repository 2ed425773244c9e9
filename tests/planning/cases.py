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

    def known(self, count: int, below: int) -> Array:
        """Positions that are data."""
        return self.generator.integers(0, below, count)

    def array(self, *shape: int) -> Array:
        """Normal numbers that are data."""
        return self.generator.normal(size=shape)

    def mask(self, count: int, share: float) -> Array:
        """A mask that is data, of which some share holds."""
        return self.generator.random(count) < share


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


# ---- tensor idioms


@case
def function_of_elements_that_repeat(c: Case) -> list[Node]:
    places = c.places(5000, 50)
    return [pt.exp(c.given()[None] * c.given(50)[places])]


@case
def product_of_which_a_function_is_read(c: Case) -> list[Node]:
    product = c.given(50_000) * c.given(50_000)
    return [pt.exp(product)[c.places(2000, 50_000)], product]


@case
def cells_of_a_table_of_sums(c: Case) -> list[Node]:
    table = c.given(400)[:, None] + c.given(500)[None, :]
    return [pt.exp(table)[c.places(5000, 400), c.places(5000, 500)]]


@case
def sums_of_few_rows(c: Case) -> list[Node]:
    return [pt.exp(c.given(2000, 100)).sum(axis=1)[c.places(40, 2000)]]


@case
def logsumexp_of_rows_that_repeat(c: Case) -> list[Node]:
    return [pt.logsumexp(c.given(40, 6)[c.places(20_000, 40)], axis=1)]


@case
def beginning_of_a_function(c: Case) -> list[Node]:
    return [pt.exp(c.given(200_000) * 0.1)[:500].sum()]


@case
def few_elements_of_a_join(c: Case) -> list[Node]:
    return [pt.concatenate([pt.exp(c.given(100_000)), c.given(100_000)])[c.known(4000, 200_000)]]


@case
def component_by_position(c: Case) -> list[Node]:
    x = c.given(50_000, low=1.0)
    components = pt.stack([pt.exp(-x), pt.sin(x), pt.gammaln(x)])
    return [components[c.known(50_000, 3), np.arange(50_000)].sum()]


@case
def dear_function_of_the_few(c: Case) -> list[Node]:
    x = c.given(50_000, low=1.0)
    return [pt.switch(c.mask(50_000, 0.05), pt.gammaln(x), x)]


@case
def sum_over_the_few(c: Case) -> list[Node]:
    x = c.given(50_000, low=1.0)
    return [pt.switch(c.mask(50_000, 0.05), pt.gammaln(x), 2.0 * x).sum()]


@case
def cheap_functions_by_a_mask(c: Case) -> list[Node]:
    return [pt.switch(c.mask(50_000, 0.5), c.given(50_000), 2.0 * c.given(50_000))]


@case
def dear_function_that_is_needed_in_full(c: Case) -> list[Node]:
    x = c.given(50_000, low=1.0)
    dear = pt.gammaln(x)
    return [pt.switch(c.mask(50_000, 0.05), dear, x), dear]


@case
def product_of_exponentials(c: Case) -> list[Node]:
    return [pt.exp(c.given(50_000)) * pt.exp(c.given(50_000))]


@case
def exponentials_of_a_sum_and_of_its_terms(c: Case) -> list[Node]:
    a, b = c.given(50_000), c.given(50_000)
    return [pt.exp(a + b), pt.exp(a), pt.exp(b)]


@case
def sum_of_products_with_a_function(c: Case) -> list[Node]:
    return [(pt.exp(c.given(50_000)) * c.given(50_000)).sum()]


@case
def sum_of_products_with_a_function_that_is_needed(c: Case) -> list[Node]:
    values = pt.exp(c.given(50_000))
    return [(values * c.given(50_000)).sum(), values]


@case
def sum_of_a_function_of_groups(c: Case) -> list[Node]:
    return [pt.log(c.given(30, low=0.5))[c.known(60_000, 30)].sum()]


# ---- models


@case
def normal_vector_with_gradient_by_the_mean(c: Case) -> list[Node]:
    k, mean, x = c.definite(200), c.given(200), c.given(200)
    r = x - mean
    logp = -0.5 * (r @ pt.linalg.inv(k) @ r) - 0.5 * pt.linalg.slogdet(k)[1]
    return [logp, pt.grad(logp, mean)]


@case
def normal_vector_with_gradient_by_the_covariance(c: Case) -> list[Node]:
    k, mean, x = c.definite(200), c.given(200), c.given(200)
    r = x - mean
    logp = -0.5 * (r @ pt.linalg.inv(k) @ r) - 0.5 * pt.linalg.slogdet(k)[1]
    return [logp, *pt.grad(logp, [mean, k])]


@case
def censored_times(c: Case) -> list[Node]:
    """A tenth of the lognormal times is known to be longer than what was seen."""
    x, y = c.array(30_000, 4), c.array(30_000)
    beta, sigma = c.given(4), c.given(low=0.5)
    z = (y - pt.as_tensor(x) @ beta) / sigma
    survived = pt.log(0.5 * pt.erfc(z / np.sqrt(2.0)))
    logp = pt.switch(c.mask(30_000, 0.1), survived, -0.5 * z**2 - pt.log(sigma)).sum()
    return [logp, *pt.grad(logp, [beta, sigma])]


@case
def counts_with_many_zeros(c: Case) -> list[Node]:
    """A zero-inflated negative binomial regression: one outcome in five is not zero."""
    y = np.where(c.mask(30_000, 0.2), c.generator.poisson(4.0, 30_000) + 1.0, 0.0)
    x = c.array(30_000, 3)
    beta, alpha, psi = c.given(3), c.given(low=1.0), 0.5 * c.given(low=0.3)
    mu = pt.exp(pt.as_tensor(x) @ (0.1 * beta))
    some = (
        pt.gammaln(y + alpha) - pt.gammaln(alpha) + alpha * pt.log(alpha / (mu + alpha)) + y * pt.log(mu / (mu + alpha))
    )
    zero = pt.log(1.0 - psi + psi * (alpha / (mu + alpha)) ** alpha)
    logp = pt.switch(y > 0, pt.log(psi) + some, zero).sum()
    return [logp, *pt.grad(logp, [beta, alpha])]


@case
def two_ways(c: Case) -> list[Node]:
    """Poisson rates of a table of two factors, of which some cells were seen."""
    rows, columns, y = c.known(20_000, 300), c.known(20_000, 400), c.generator.poisson(2.0, 20_000)
    a, b = c.given(300), c.given(400)
    log_rate = (a[:, None] + b[None, :])[rows, columns]
    logp = (y * log_rate - pt.exp(log_rate)).sum()
    return [logp, *pt.grad(logp, [a, b])]


@case
def answers_by_group(c: Case) -> list[Node]:
    """Categorical outcomes with logits by group."""
    groups, answers = c.known(20_000, 30), c.known(20_000, 5)
    theta = c.given(30, 5)
    logits = theta[groups]
    logp = (logits[np.arange(20_000), answers] - pt.logsumexp(logits, axis=1)).sum()
    return [logp, pt.grad(logp, theta)]


@case
def rates_by_group(c: Case) -> list[Node]:
    """Gamma waiting times with shapes and rates by group."""
    groups, y = c.known(40_000, 60), c.generator.gamma(2.0, 1.0, 40_000)
    alpha, beta = c.given(60, low=0.5), c.given(60, low=0.5)
    a, b = alpha[groups], beta[groups]
    logp = (a * pt.log(b) - pt.gammaln(a)).sum() + (a * np.log(y)).sum() - (b * y).sum()
    return [logp, *pt.grad(logp, [alpha, beta])]


@case
def matrix_factors(c: Case) -> list[Node]:
    """Ratings of some pairs by the product of two low-rank factors."""
    users, items, y = c.known(10_000, 600), c.known(10_000, 500), c.array(10_000)
    u, v = c.given(600, 8), c.given(500, 8)
    cost = ((y - (u @ v.T)[users, items]) ** 2).sum()
    return [cost, *pt.grad(cost, [u, v])]


@case
def regression_with_products_of_data(c: Case) -> list[Node]:
    """Least squares by normal equations, as they stand in textbooks."""
    x, y, b, s = c.given(5000, 30), c.given(5000), c.given(30), c.given(low=0.5)
    cost = (b @ (x.T @ x) @ b - 2 * (y @ x) @ b + y @ y) / s
    return [cost, *pt.grad(cost, [b, s])]
