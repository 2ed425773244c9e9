"""Custom distributions in random models, whose densities are derived from what `dist` makes of any parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from tests.random_models.composed import WRITERS
from tests.random_models.densities import FAMILIES, Family
from tests.random_models.dialect import logsumexp, normal_logp
from tests.random_models.program import Axes

if TYPE_CHECKING:
    from tests.random_models.generate import Draft

BASES = ("Normal", "Laplace", "Logistic")
FORMS = ("outside", "inside", "exponential", "mixture", "exponential tail")


def _made(form: str, base: str, a: Any, b: Any, size: Any) -> Any:
    """A real number a and a positive one b, outside or inside the inner variable."""
    words = {"Normal": ("mu", "sigma"), "Laplace": ("mu", "b"), "Logistic": ("mu", "s")}[base]
    of = getattr(pm, base).dist
    standard = of(**dict(zip(words, (0.0, 1.0), strict=True)), size=size)
    match form:
        case "outside":
            return a + b * standard - 0.5 * a
        case "inside":
            return 2.0 * of(**dict(zip(words, (a, b), strict=True)), size=size)
        case "exponential":
            return pt.exp(a + b * standard)
        case "mixture":
            return pt.switch(pm.Bernoulli.dist(0.25, size=size), a + standard, pm.Normal.dist(0.0, b, size=size))
    return pm.Exponential.dist(1.0, size=size) / b - pt.softplus(a)


def derived(name: str, *, form: str, base: str, given: str, a: Any, b: Any, observed: Any) -> Any:
    """Data with the distribution of an expression.

    form, base   of FORMS and BASES
    given        which of the parameters are handed over; the others are used as they stand
    """
    a, b = pt.as_tensor(a), pt.as_tensor(b)

    def dist(*values: Any) -> Any:
        *own, size = values
        named = {"a": a, "b": b, **dict(zip(given, own, strict=True))}
        return _made(form, base, named["a"], named["b"], size)

    return pm.CustomDist(name, *({"a": a, "b": b}[word] for word in given), dist=dist, observed=observed)


def _density(v: Any, form: str, base: str, given: str, a: Any, b: Any) -> Any:
    of = FAMILIES[base].formula
    match form:
        case "outside":
            return of((v - 0.5 * a) / b, 0.0, 1.0) - np.log(b)
        case "inside":
            return of(v / 2.0, a, b) - np.log(2.0)
        case "exponential":
            return of((np.log(v) - a) / b, 0.0, 1.0) - np.log(b) - np.log(v)
        case "mixture":
            parts = [np.log(0.25) + of(v - a, 0.0, 1.0), np.log(0.75) + normal_logp(v, 0.0, b)]
            return logsumexp(np.stack(np.broadcast_arrays(*parts), -1), -1)
    return np.log(b) - b * (v + np.log1p(np.exp(a)))


FAMILIES["derived"] = Family(
    "real", ("form", "base", "given", "a", "b"), _density, _density, {},
    shape=lambda form, base, given, a, b: np.broadcast_shapes(np.shape(a), np.shape(b)),
)  # fmt: skip


def _write(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    form = g.one(*FORMS)
    arguments = {
        "form": repr(form), "base": repr(g.one(*BASES)), "given": repr(g.one("ab", "ab", "a", "b", "")),
        "a": g.real(axes, depth), "b": g.positive(axes if g.often(0.2) else (), 1),
    }  # fmt: skip
    draft.observe(name, "derived", arguments, g.datum("positive" if form.startswith("exp") else "real", axes))


WRITERS["derived"] = _write
