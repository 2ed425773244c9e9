"""Written by `python tools/names.py` from the tables of random.py; not to be edited."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from consilience.distributions.generator import GraphGenerator
from consilience.ir import Node
from consilience.ops.elementwise import TensorLike
from consilience.ops.random import fold_in as fold_in
from consilience.ops.random import split as split

Key = TensorLike | GraphGenerator
Size = int | Node | Sequence[int | Node] | None

_FUNCTIONS: dict[str, Callable[..., Node]]
__path__: Sequence[str]
__all__: list[str]

def shared_rng(
    value: np.random.Generator | None = None, *, seed: Any = None, name: str | None = None, borrow: bool = False
) -> Node: ...
def rng(name: str | None = None) -> Node: ...
def collect_default_updates(
    outputs: Node | Sequence[Node], *, inputs: Sequence[Node] | None = None, must_be_shared: bool = True
) -> dict[Node, Node]: ...
@overload
def bernoulli(
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def bernoulli(
    p: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def beta(
    alpha: TensorLike,
    beta: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def beta(
    alpha: TensorLike,
    beta: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def betabinom(
    n: TensorLike,
    a: TensorLike,
    b: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def betabinom(
    n: TensorLike,
    a: TensorLike,
    b: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def binomial(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def binomial(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def categorical(
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def categorical(
    p: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def cauchy(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def cauchy(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def chisquare(
    df: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def chisquare(
    df: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def choice(
    a: TensorLike,
    size: Size = None,
    replace: bool = True,
    p: TensorLike | None = None,
    axis: int = 0,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def choice(
    a: TensorLike,
    size: Size = None,
    replace: bool = True,
    p: TensorLike | None = None,
    axis: int = 0,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def dirichlet(
    alphas: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def dirichlet(
    alphas: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def exponential(
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def exponential(
    scale: TensorLike = 1.0, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def gamma(
    shape: TensorLike,
    rate: TensorLike | None = None,
    scale: TensorLike | None = None,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def gamma(
    shape: TensorLike,
    rate: TensorLike | None = None,
    scale: TensorLike | None = None,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def gengamma(
    alpha: TensorLike = 1.0,
    p: TensorLike = 1.0,
    lambd: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def gengamma(
    alpha: TensorLike = 1.0,
    p: TensorLike = 1.0,
    lambd: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def geometric(
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def geometric(
    p: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def gumbel(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def gumbel(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def halfcauchy(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def halfcauchy(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def halfnormal(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def halfnormal(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def hypergeometric(
    ngood: TensorLike,
    nbad: TensorLike,
    nsample: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def hypergeometric(
    ngood: TensorLike,
    nbad: TensorLike,
    nsample: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def integers(
    low: TensorLike,
    high: TensorLike | None = None,
    size: Size = None,
    endpoint: bool = False,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def integers(
    low: TensorLike,
    high: TensorLike | None = None,
    size: Size = None,
    endpoint: bool = False,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def invgamma(
    shape: TensorLike,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def invgamma(
    shape: TensorLike,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def laplace(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def laplace(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def logistic(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def logistic(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def lognormal(
    mean: TensorLike = 0.0,
    sigma: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def lognormal(
    mean: TensorLike = 0.0,
    sigma: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def multinomial(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def multinomial(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def multivariate_hypergeometric(
    colors: TensorLike,
    nsample: TensorLike,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def multivariate_hypergeometric(
    colors: TensorLike, nsample: TensorLike, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def multivariate_normal(
    mean: TensorLike,
    cov: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def multivariate_normal(
    mean: TensorLike,
    cov: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def nbinom(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def nbinom(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def negative_binomial(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def negative_binomial(
    n: TensorLike,
    p: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def normal(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def normal(
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def pareto(
    b: TensorLike,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def pareto(
    b: TensorLike,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def permutation(
    x: TensorLike,
    axis: int = 0,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def permutation(
    x: TensorLike, axis: int = 0, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def poisson(
    lam: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def poisson(
    lam: TensorLike = 1.0, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def power(
    a: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def power(
    a: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def random(
    size: Size = None, *, rng: Key | None = None, return_next_rng: Literal[False] = False, name: str | None = None
) -> Node: ...
@overload
def random(
    size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def rayleigh(
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def rayleigh(
    scale: TensorLike = 1.0, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def shuffle(
    x: TensorLike,
    axis: int = 0,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def shuffle(
    x: TensorLike, axis: int = 0, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def standard_cauchy(
    size: Size = None, *, rng: Key | None = None, return_next_rng: Literal[False] = False, name: str | None = None
) -> Node: ...
@overload
def standard_cauchy(
    size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def standard_exponential(
    size: Size = None, *, rng: Key | None = None, return_next_rng: Literal[False] = False, name: str | None = None
) -> Node: ...
@overload
def standard_exponential(
    size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def standard_gamma(
    shape: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def standard_gamma(
    shape: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def standard_normal(
    size: Size = None, *, rng: Key | None = None, return_next_rng: Literal[False] = False, name: str | None = None
) -> Node: ...
@overload
def standard_normal(
    size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def standard_t(
    df: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def standard_t(
    df: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
@overload
def t(
    df: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def t(
    df: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def triangular(
    left: TensorLike,
    mode: TensorLike,
    right: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def triangular(
    left: TensorLike,
    mode: TensorLike,
    right: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def truncexpon(
    b: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def truncexpon(
    b: TensorLike,
    loc: TensorLike = 0.0,
    scale: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def uniform(
    low: TensorLike = 0.0,
    high: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def uniform(
    low: TensorLike = 0.0,
    high: TensorLike = 1.0,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def vonmises(
    mu: TensorLike,
    kappa: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def vonmises(
    mu: TensorLike,
    kappa: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def wald(
    mean: TensorLike,
    scale: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def wald(
    mean: TensorLike,
    scale: TensorLike,
    size: Size = None,
    *,
    rng: Key,
    return_next_rng: Literal[True],
    name: str | None = None,
) -> tuple[Node, Node]: ...
@overload
def weibull(
    shape: TensorLike,
    size: Size = None,
    *,
    rng: Key | None = None,
    return_next_rng: Literal[False] = False,
    name: str | None = None,
) -> Node: ...
@overload
def weibull(
    shape: TensorLike, size: Size = None, *, rng: Key, return_next_rng: Literal[True], name: str | None = None
) -> tuple[Node, Node]: ...
