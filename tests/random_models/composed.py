"""Distributions made of distributions, series and vectors of counts: how the generator writes them, and what they mean.

A component is written as users write it, `Normal.dist(mu, sigma)`; NumPy's side makes an object with a density of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

import consilience as pm
from tests.random_models import vocabulary as vocabulary  # fills the table of families
from tests.random_models.densities import FAMILIES, LOG_PI, Family
from tests.random_models.dialect import NUMPY, TENSOR, cholesky, gammaln, logsumexp, normal_logp
from tests.random_models.program import Axes, with_draws

if TYPE_CHECKING:
    from tests.random_models.generate import Draft

COMPONENTS = ("Normal", "StudentT", "Laplace", "Logistic", "Exponential", "Poisson")
Writer = Callable[["Draft", str, Axes, int], None]
WRITERS: dict[str, Writer] = {}

# Probability below and above a value.
TAILS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "Normal": lambda v, m, s: (special.ndtr(np.asarray((v - m) / s)), special.ndtr(np.asarray((m - v) / s))),
    "Logistic": lambda v, m, s: (1 / (1 + np.exp(-(v - m) / s)), 1 / (1 + np.exp((v - m) / s))),
    "Exponential": lambda v, r: (-np.expm1(-r * v), np.exp(-r * v)),
}


@dataclass(frozen=True)
class Component:
    """A distribution with its parameters in NumPy."""

    family: str
    given: dict[str, Any]

    def logp(self, value: Any) -> Any:
        """Log density of each element."""
        return FAMILIES[self.family].formula(value, *FAMILIES[self.family].values(self.given))

    def tails(self, value: Any) -> tuple[Any, Any]:
        """Probability below and above."""
        return TAILS[self.family](value, *FAMILIES[self.family].values(self.given))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its parameters."""
        return np.broadcast_shapes(*(np.shape(p) for p in self.given.values()))


class _Maker:
    def __init__(self, family: str) -> None:
        self.family = family

    def dist(self, **given: Any) -> Component:
        """As `Normal.dist`."""
        return Component(self.family, given)


NUMPY.update({name: _Maker(name) for name in COMPONENTS})
TENSOR.update({name: getattr(pm, name) for name in COMPONENTS if hasattr(pm, name)})


def _family(
    name: str, parameters: str, formula: Callable[..., Any], shape: Callable[..., tuple[int, ...]], event: int = 0,
    support: str = "real",
) -> None:  # fmt: skip
    FAMILIES[name] = Family(support, tuple(parameters.split()), formula, formula, {}, event, shape=shape)


def _writer(name: str) -> Callable[[Writer], Writer]:
    def enter(writer: Writer) -> Writer:
        WRITERS[name] = writer
        return writer

    return enter


def _component(draft: Draft, family: str, axes: Axes, depth: int) -> str:
    g = draft.grammar
    if family in ("Exponential", "Poisson"):
        return f"{family}.dist({'lam' if family == 'Exponential' else 'mu'}={g.positive(axes, depth)})"
    words = {"Laplace": ("mu", "b"), "Logistic": ("mu", "s")}.get(family, ("mu", "sigma"))
    nu = "nu=3.0, " if family == "StudentT" else ""
    return f"{family}.dist({nu}{words[0]}={g.real(axes, depth)}, {words[1]}={g.positive((), 1)})"


# ---- mixtures


def _mixture(v: Any, w: Any, components: list[Component]) -> Any:
    logs = np.stack(np.broadcast_arrays(*(c.logp(v) for c in components)), -1)
    return logsumexp(np.log(w) + logs, -1)


_family("Mixture", "w comp_dists", _mixture, lambda w, parts: np.broadcast_shapes(*(p.shape for p in parts)))


@_writer("Mixture")
def _write_mixture(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    number = g.number(2, 3)
    counts = g.often(0.2)
    families = (
        ["Poisson"] * number if counts else [g.one("Normal", "StudentT", "Laplace", "Logistic") for _ in range(number)]
    )
    parts = [_component(draft, f, axes if i == 0 else (), depth if i == 0 else 1) for i, f in enumerate(families)]
    data = draft.counts(axes) if counts else g.datum("real", axes)
    draft.observe(name, "Mixture", {"w": g.simplex((str(number),), 1), "comp_dists": f"[{', '.join(parts)}]"}, data)


_family(
    "NormalMixture", "w mu sigma",
    lambda v, w, m, s: logsumexp(np.log(w) + normal_logp(np.asarray(v)[..., None], m, s), -1),
    lambda w, m, s: np.broadcast_shapes(np.shape(w), np.shape(m), np.shape(s))[:-1],
)  # fmt: skip


@_writer("NormalMixture")
def _write_normal_mixture(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    n = g.one("2", "3")
    arguments = {"w": g.simplex((n,), 1), "mu": g.real((n,), depth), "sigma": g.positive((n,), 1)}
    draft.observe(name, "NormalMixture", arguments, g.datum("real", axes))


# ---- truncation and censoring


def _truncated(v: Any, of: Component, low: Any, high: Any) -> Any:
    (below, above), (up_to, beyond) = of.tails(low), of.tails(high)
    mass = np.where(np.real(below) < np.real(beyond), up_to - below, above - beyond)  # from the smaller tail
    return of.logp(v) - np.log(mass)


_family(
    "Truncated", "dist lower upper", _truncated,
    lambda d, low, high: np.broadcast_shapes(d.shape, np.shape(low), np.shape(high)),
)  # fmt: skip


def _censored(v: Any, of: Component, low: Any, high: Any) -> Any:
    inside = np.where(np.asarray(v) >= high, np.log(of.tails(high)[1]), of.logp(v))
    return np.where(np.asarray(v) <= low, np.log(of.tails(low)[0]), inside)


_family("Censored", "dist lower upper", _censored, lambda d, low, high: d.shape)


@_writer("Truncated")
def _write_truncated(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    if g.often(0.3):
        arguments = {"dist": _component(draft, "Exponential", axes, depth), "lower": "0.0", "upper": _end(draft, "3.5")}
        draft.observe(name, "Truncated", arguments, g.datum("positive", axes))
        return
    arguments = {"dist": _component(draft, g.one("Normal", "Logistic"), axes, depth)}
    ends = {"lower": f"-({_end(draft, '2.25')})", "upper": _end(draft, "2.5")}
    draft.observe(name, "Truncated", {**arguments, **ends}, g.datum("real", axes))


def _end(draft: Draft, least: str) -> str:
    """An end of a support: a number, or what variables give."""
    return draft.grammar.one(least, f"{least} + {draft.grammar.positive((), 1)}")


@_writer("Censored")
def _write_censored(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    part = _component(draft, g.one("Normal", "Logistic"), axes, depth)
    ends = ("-2.0", "2.0") if g.often(0.6) else (f"-({_end(draft, '2.25')})", _end(draft, "2.25"))
    draft.observe(name, "Censored", {"dist": part, "lower": ends[0], "upper": ends[1]}, g.datum("real", axes))


# ---- series


def _walk(v: Any, mu: Any, sigma: Any, first: Component) -> Any:
    steps = v[..., 1:] - v[..., :-1]
    drift, scale = np.asarray(mu)[..., None], np.asarray(sigma)[..., None]
    return first.logp(v[..., 0]) + np.sum(normal_logp(steps, drift, scale), -1)


_family("GaussianRandomWalk", "mu sigma init_dist", _walk, lambda m, s, first: (), 1)


def _autoregressive(v: Any, rho: Any, sigma: Any, first: Component) -> Any:
    order = np.shape(rho)[-1]
    n = np.shape(v)[-1]
    mean = sum(np.asarray(rho)[..., i] * v[..., order - 1 - i : n - 1 - i] for i in range(order))
    start = np.sum(first.logp(v[..., :order]), -1)
    return start + np.sum(normal_logp(v[..., order:], mean, np.asarray(sigma)[..., None]), -1)


_family("AR", "rho sigma init_dist", _autoregressive, lambda rho, s, first: (), 1)


@_writer("GaussianRandomWalk")
def _write_walk(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    if draft.regime == "empty" or not axes:
        axes = ("3",)
    arguments = {"mu": g.real((), depth), "sigma": g.positive((), 1), "init_dist": "Normal.dist(mu=0.0, sigma=2.0)"}
    draft.observe(name, "GaussianRandomWalk", arguments, g.datum("real", axes))


@_writer("AR")
def _write_autoregressive(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    axes = axes if axes and g.length(axes[-1]) > 3 else ("4",)
    rho = g.one("stack([0.5, -0.25])", f"stack([{g.named((), 1)}, 0.1])", "stack([0.3])")
    arguments = {"rho": rho, "sigma": g.positive((), depth), "init_dist": "Normal.dist(mu=0.0, sigma=2.0)"}
    draft.observe(name, "AR", arguments, g.datum("real", axes))


# ---- vectors


def _ways(v: Any, n: Any) -> Any:
    return special.gammaln(np.asarray(n) + 1.0) - np.sum(special.gammaln(np.asarray(v) + 1.0), -1)


_family("Multinomial", "n p", lambda v, n, p: _ways(v, n) + np.sum(v * np.log(p), -1), lambda n, p: (), 1, "discrete")
_family(
    "DirichletMultinomial", "n a",
    lambda v, n, a: _ways(v, n) + gammaln(np.sum(a, -1)) - gammaln(n + np.sum(a, -1))
    + np.sum(gammaln(v + a) - gammaln(a), -1), lambda n, a: (), 1, "discrete",
)  # fmt: skip


@_writer("Multinomial")
def _write_multinomial(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    n = g.one("2", "3")
    y = g.datum("count", (*axes[:1], n), "int64 int32")
    # Draws need a number of categories that is known beforehand.
    p = f"stack([{', '.join(['0.25', '0.75'] if n == '2' else ['0.25', '0.5', '0.25'])}])"
    p = p if with_draws(g.program.number) else g.simplex((n,), depth)
    draft.observe(name, "Multinomial", {"n": f"{y}.sum(-1)", "p": p}, y)


@_writer("DirichletMultinomial")
def _write_dirichlet_multinomial(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    n = g.one("2", "3")
    y = g.datum("count", (*axes[:1], n), "int64 int32")
    fixed = "stack([1.5, 0.75])" if n == "2" else "stack([1.5, 0.75, 2.0])"
    a = fixed if with_draws(g.program.number) else f"0.5 + softplus({g.real((n,), depth)})"
    draft.observe(name, "DirichletMultinomial", {"n": f"{y}.sum(-1)", "a": a}, y)


def _multivariate_t(v: Any, nu: Any, mu: Any, scale: Any) -> Any:
    factor = cholesky(scale)
    n = len(factor)
    z = np.linalg.solve(factor, np.atleast_2d(v - mu).T).T
    quadratic = np.sum(z**2, -1).reshape(np.shape(v - mu)[:-1])
    constant = gammaln((nu + n) / 2) - gammaln(nu / 2) - 0.5 * n * (np.log(nu) + LOG_PI)
    return constant - np.sum(np.log(np.diag(factor))) - (nu + n) / 2 * np.log1p(quadratic / nu)


_family(
    "MvStudentT", "nu mu scale", _multivariate_t,
    lambda nu, mu, scale: np.broadcast_shapes(np.shape(mu), np.shape(scale)[-1:]), 1,
)  # fmt: skip


@_writer("MvStudentT")
def _write_multivariate_t(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    axis = g.one("K", "P", "N")
    axis = axis if g.solvable(axis) else "2"
    lead = ("P",) if g.often(0.2) else ()
    arguments = {"nu": g.one("4.0", f"2.0 + {g.positive((), 1)}"), "mu": g.real((axis,), depth)}
    draft.observe(name, "MvStudentT", {**arguments, "scale": g.covariance(axis, 1)}, g.datum("real", (*lead, axis)))


# ---- ordered categories


def _ordered_logistic(v: Any, eta: Any, cutpoints: Any, compute_p: Any) -> Any:
    z = np.asarray(cutpoints) - np.asarray(eta)[..., None]
    none, all_of_it = np.zeros_like(z[..., :1]), np.ones_like(z[..., :1])
    up_to = np.concatenate([none, 1 / (1 + np.exp(-z)), all_of_it], -1)
    beyond = np.concatenate([all_of_it, 1 / (1 + np.exp(z)), none], -1)
    # From the smaller tail: in the larger one, the digits of a small probability are lost beside 1.
    p = np.where(np.real(up_to[..., 1:]) < 0.5, np.diff(up_to, axis=-1), -np.diff(beyond, axis=-1))
    shape = np.broadcast_shapes(np.shape(v), p.shape[:-1])
    chosen = np.take_along_axis(np.broadcast_to(p, (*shape, p.shape[-1])), np.broadcast_to(v, shape)[..., None], -1)
    return np.log(chosen[..., 0])


_family("OrderedLogistic", "eta cutpoints compute_p", _ordered_logistic, lambda eta, c, p: np.shape(eta), 0, "discrete")


@_writer("OrderedLogistic")
def _write_ordered_logistic(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    cutpoints = g.one("stack([-0.5, 1.0])", f"stack([-1.0, 0.25, 0.5 + {g.positive((), 1)}])")
    arguments = {"eta": g.real(axes, depth), "cutpoints": cutpoints, "compute_p": "False"}
    draft.observe(name, "OrderedLogistic", arguments, g.datum("index", axes, "int64 int32 int8", "3"))
