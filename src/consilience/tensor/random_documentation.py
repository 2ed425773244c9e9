"""Docstrings and signatures of `pt.random` and `px.random`, made when a function is first used.

In: a row of the tables here and the parameters of a function. Out: text in numpydoc's form, `inspect.Signature`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from consilience.record import Record


class Drawn(Record):
    """What a function draws, the distribution of models for it, an example, and what is shown of it.

    Shown is the log density at a value, or an expression of the variable `x`.
    """

    summary: str
    distribution: str
    given: str
    shown: str
    result: str


ROWS: Final = {
    "bernoulli": Drawn("1 with probability p, else 0", "Bernoulli", "0.3", "1", "-1.204"),
    "beta": Drawn("Numbers in (0, 1) of a beta distribution", "Beta", "2.0, 3.0", "0.4", "0.547"),
    "betabinom": Drawn(
        "Numbers of successes in n trials of a beta-distributed probability",
        "BetaBinomial", "10, 2.0, 3.0", "4", "-1.9671",
    ),
    "binomial": Drawn("Numbers of successes in n trials", "Binomial", "10, 0.3", "4", "-1.6088"),
    "categorical": Drawn(
        "Numbers of categories, from 0 on, with given probabilities",
        "Categorical", "[0.2, 0.3, 0.5]", "2", "-0.6931",
    ),
    "cauchy": Drawn("Real numbers of a Cauchy distribution", "Cauchy", "0.0, 1.0", "0.5", "-1.3679"),
    "chisquare": Drawn("Positive numbers of a chi-squared distribution", "ChiSquared", "3.0", "2.0", "-1.5724"),
    "choice": Drawn(
        "Elements of an array, or whole numbers below `a`, drawn with or without replacement",
        "Categorical", "5, size=3", "x.eval().shape", "(3,)",
    ),
    "dirichlet": Drawn("Vectors of shares that sum to 1", "Dirichlet", "[1.0, 2.0, 3.0]", "[0.2, 0.3, 0.5]", "1.5041"),
    "exponential": Drawn(
        "Positive numbers of an exponential distribution, of given mean",
        "Exponential", "2.0", "1.0", "-1.1931",
    ),
    "gamma": Drawn("Positive numbers of a gamma distribution", "Gamma", "2.0, scale=0.5", "1.0", "-0.6137"),
    "gengamma": Drawn("Numbers of a generalised gamma distribution", "Gamma", "2.0, 1.5, 1.0", "1.0", "-0.4813"),
    "geometric": Drawn("Numbers of trials up to the first success, counted", "Geometric", "0.3", "2", "-1.5606"),
    "gumbel": Drawn("Real numbers of a Gumbel distribution of maxima", "Gumbel", "0.0, 1.0", "0.5", "-1.1065"),
    "halfcauchy": Drawn(
        "Numbers above `loc` of the upper half of a Cauchy distribution",
        "HalfCauchy", "0.0, 1.0", "0.5", "-0.6747",
    ),
    "halfnormal": Drawn(
        "Numbers above `loc` of the upper half of a normal distribution",
        "HalfNormal", "0.0, 1.0", "0.5", "-0.3508",
    ),
    "hypergeometric": Drawn(
        "Numbers of good elements in a sample without replacement",
        "HyperGeometric", "6, 4, 3", "2", "-0.6931",
    ),
    "integers": Drawn(
        "Whole numbers from `low` up to `high`, which is left out, all with one probability",
        "DiscreteUniform", "0, 6", "2", "-1.7918",
    ),
    "invgamma": Drawn(
        "Positive numbers whose reciprocals have a gamma distribution",
        "InverseGamma", "3.0, 1.0", "0.5", "0.0794",
    ),
    "laplace": Drawn("Real numbers of a Laplace distribution", "Laplace", "0.0, 1.0", "0.5", "-1.1931"),
    "logistic": Drawn("Real numbers of a logistic distribution", "Logistic", "0.0, 1.0", "0.5", "-1.4482"),
    "lognormal": Drawn(
        "Positive numbers whose logarithms have a normal distribution",
        "LogNormal", "0.0, 1.0", "1.5", "-1.4066",
    ),
    "multinomial": Drawn("Counts of n trials by category", "Multinomial", "5, [0.2, 0.3, 0.5]", "[1, 2, 2]", "-2.0025"),
    "multivariate_hypergeometric": Drawn(
        "Counts by colour in a sample without replacement",
        "HyperGeometric", "[3, 4, 5], 4", "x.eval().sum().item()", "4",
    ),
    "multivariate_normal": Drawn(
        "Vectors of a multivariate normal distribution",
        "MvNormal", "[0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]]", "[0.5, 0.5]", "-2.194",
    ),
    "nbinom": Drawn("Numbers of failures before the n-th success", "NegativeBinomial", "2.0, 0.4", "4", "-2.2664"),
    "negative_binomial": Drawn(
        "Numbers of failures before the n-th success",
        "NegativeBinomial", "2.0, 0.4", "4", "-2.2664",
    ),
    "normal": Drawn("Real numbers of a normal distribution", "Normal", "0.0, 1.0", "0.5", "-1.0439"),
    "pareto": Drawn("Numbers from `scale` up whose tail falls with a power", "Pareto", "3.0, 1.0", "1.5", "-0.5232"),
    "permutation": Drawn(
        "The elements of an axis in random order; of a whole number n, those of 0, ..., n - 1",
        "Categorical", "5", "sorted(x.eval().tolist())", "[0, 1, 2, 3, 4]",
    ),
    "poisson": Drawn("Counts of a Poisson distribution", "Poisson", "3.0", "4", "-1.7836"),
    "power": Drawn("Numbers in (0, 1) whose density grows with the power a - 1", "Beta", "2.0", "0.4", "-0.2231"),
    "random": Drawn("Numbers in [0, 1), all with one density", "Uniform", "size=3", "x.eval().shape", "(3,)"),
    "rayleigh": Drawn(
        "Lengths of vectors of two independent normal numbers of mean 0",
        "Weibull", "1.0", "0.5", "-0.8181",
    ),
    "shuffle": Drawn(
        "The elements of an axis in random order, as a new tensor",
        "Categorical", "5", "sorted(x.eval().tolist())", "[0, 1, 2, 3, 4]",
    ),
    "standard_cauchy": Drawn(
        "Real numbers of the Cauchy distribution of location 0 and scale 1",
        "Cauchy", "", "0.5", "-1.3679",
    ),
    "standard_exponential": Drawn(
        "Positive numbers of the exponential distribution of mean 1",
        "Exponential", "", "0.5", "-0.5",
    ),
    "standard_gamma": Drawn("Positive numbers of a gamma distribution of scale 1", "Gamma", "2.0", "1.0", "-1.0"),
    "standard_normal": Drawn("Real numbers of mean 0 and standard deviation 1", "Normal", "", "0.5", "-1.0439"),
    "standard_t": Drawn(
        "Real numbers of Student's t distribution of location 0 and scale 1",
        "StudentT", "3.0", "0.5", "-1.161",
    ),
    "t": Drawn("Real numbers of Student's t distribution", "StudentT", "3.0, 0.0, 1.0", "0.5", "-1.161"),
    "triangular": Drawn(
        "Numbers between two bounds whose density rises and falls in straight lines",
        "Triangular", "0.0, 0.3, 1.0", "0.5", "0.3567",
    ),
    "truncexpon": Drawn(
        "Numbers of an exponential distribution that ends at `loc + b scale`",
        "Exponential", "2.0, 0.0, 1.0", "0.5", "-0.3546",
    ),
    "uniform": Drawn("Numbers between two bounds, all with one density", "Uniform", "0.0, 2.0", "0.5", "-0.6931"),
    "vonmises": Drawn("Angles of a von Mises distribution, in radians", "VonMises", "0.0, 2.0", "0.5", "-0.9067"),
    "wald": Drawn("Positive numbers of an inverse Gaussian distribution", "Wald", "1.0, 2.0", "0.5", "-0.0326"),
    "weibull": Drawn("Positive numbers of a Weibull distribution of scale 1", "Weibull", "2.0", "0.5", "-0.25"),
}  # fmt: skip
"""Of each function: what it draws, the distribution, arguments, a value and the log density there to four digits."""

WORDS: Final = {
    "a": "First shape parameter, positive.",
    "alpha": "First shape parameter, positive.",
    "alphas": "Concentrations, positive; the last axis has one per share.",
    "b": "Second shape parameter, positive.",
    "beta": "Second shape parameter, positive.",
    "colors": "Number of elements of each colour, a vector of known length.",
    "cov": "Covariance matrix, positive definite, of shape (..., k, k).",
    "df": "Degrees of freedom, positive.",
    "high": "Upper bound.",
    "kappa": "Concentration, positive; 0 would be the uniform distribution on the circle.",
    "lam": "Mean, positive.",
    "lambd": "Scale, positive.",
    "left": "Least value.",
    "loc": "Location: what is added to draws of location 0.",
    "low": "Lower bound.",
    "mean": "Mean.",
    "mode": "Most probable value.",
    "mu": "Mean direction, in radians.",
    "n": "Number of trials.",
    "nbad": "Number of other elements.",
    "ngood": "Number of good elements.",
    "nsample": "Number of elements that are drawn.",
    "p": "Probability of success, in [0, 1].",
    "rate": "Reciprocal of the scale, positive; in place of `scale`.",
    "right": "Greatest value.",
    "scale": "Scale, positive: what draws of scale 1 are multiplied by.",
    "shape": "Shape parameter, positive.",
    "sigma": "Standard deviation of the logarithm, positive.",
    "categorical.p": "Probabilities along the last axis, which sum to 1.",
    "choice.a": "An array, or the number of elements.",
    "choice.replace": "Whether an element may be drawn more than once.",
    "choice.p": "Probability of each element; equal ones for None.",
    "choice.axis": "Axis along which elements lie.",
    "exponential.scale": "Mean, positive.",
    "gengamma.p": "Second shape parameter, positive: the power.",
    "integers.low": "Least value; the bound above it where `high` is None.",
    "integers.high": "Bound that is left out.",
    "integers.endpoint": "Whether `high` is one of the values.",
    "lognormal.mean": "Mean of the logarithm.",
    "multinomial.p": "Probabilities along the last axis, which sum to 1.",
    "multivariate_normal.mean": "Mean, of shape (..., k).",
    "nbinom.n": "Number of successes, positive; it need not be whole.",
    "negative_binomial.n": "Number of successes, positive; it need not be whole.",
    "normal.loc": "Mean.",
    "normal.scale": "Standard deviation, positive.",
    "pareto.b": "Power with which the tail falls, positive.",
    "pareto.scale": "Least value, positive.",
    "permutation.x": "An array, or a whole number.",
    "permutation.axis": "Axis that is put in another order.",
    "power.a": "Power plus 1, positive.",
    "rayleigh.scale": "Standard deviation of both numbers, positive.",
    "shuffle.x": "An array, or a whole number.",
    "shuffle.axis": "Axis that is put in another order.",
    "truncexpon.b": "Upper end in units of `scale`, positive.",
    "wald.mean": "Mean, positive.",
    "wald.scale": "Shape, positive; the variance is mean ** 3 / scale.",
}
"""Meanings of parameters, of one function where it is named."""

_DRAWS: Final = 'extra_dims={"draw": 3}'
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY
_COMMON: Final = {
    "size": ("int or sequence of int", None, "Lengths of the axes in front of those of one event."),
    "core_dims": ("str or sequence of str", None, "Dims of one event, for distributions of vectors."),
    "extra_dims": ("mapping of str to int", None, "Lengths of further dims by name; they come first."),
    "rng": ("TensorVariable", None, "Random key: one draw for one key. Without it every call draws anew."),
    "return_next_rng": ("bool", False, "Whether the key that comes next is returned in front of the variable."),
    "name": ("str", None, "Name shown when the expression is printed."),
}  # fmt: skip


def signature(function: Callable[..., Any], *, named: bool = False) -> inspect.Signature:
    """Parameters of a public function: those of the distribution, and keywords of all.

    `named`: whether it is the one of `px.random`, whose lengths have names.
    """
    own = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(function).parameters.values()]
    added = ("core_dims", "extra_dims", "rng", "return_next_rng") if named else ("rng", "return_next_rng", "name")
    further = [inspect.Parameter(word, _KEYWORD, default=_COMMON[word][1]) for word in added]
    left_out = {"size", "name", *added} if named else ()
    return inspect.Signature([*(p for p in own if p.name not in left_out), *further])


def documented(name: str, shown: inspect.Signature, *, named: bool = False) -> str:
    """The docstring of a function by its name, with the parameters that it shows."""
    row = ROWS[name]
    lines = [f"{row.summary}.", "", "Parameters", "----------"]
    for word, parameter in shown.parameters.items():
        if word in _COMMON:
            kind, standard, text = _COMMON[word]
            default: Any = standard
        else:
            kind, default, text = "TensorLike", parameter.default, WORDS.get(f"{name}.{word}") or WORDS[word]
        kind = {"replace": "bool", "endpoint": "bool", "axis": "int"}.get(word, kind)
        told = "" if default is inspect.Parameter.empty else ", optional" if default is None else f", default {default}"
        lines += [f"{word} : {kind}{told}", f"    {text}"]
    made = "XTensorVariable" if named else "TensorVariable"
    lines += [
        "",
        "Returns",
        "-------",
        made,
        "    The variable, drawn anew by every call of a function that computes it;",
    ]
    lines += ["    with `return_next_rng` the pair of the next key and the variable."]
    lines += ["", "See Also", "--------", f"{row.distribution} : The distribution in models."]
    lines += ["shared_rng : A key that a function updates.", "", "Examples", "--------"]
    return "\n".join([*lines, *(_with_dims(name, row) if named else _plain(name, row))])


def _plain(name: str, row: Drawn) -> list[str]:
    of_variable = "x." in row.shown
    shown = row.shown if of_variable else f"pm.logp(x, {row.shown}).eval().round(4).item()"
    imported = (
        "import consilience.tensor as pt" if of_variable else "import consilience as pm, consilience.tensor as pt"
    )
    return [f">>> {imported}", f">>> x = pt.random.{name}({row.given})", f">>> {shown}", row.result]


def _with_dims(name: str, row: Drawn) -> list[str]:
    """An example whose parameters have dims where they are vectors or matrices."""
    from consilience.distributions.examples import with_dims  # read for named dims alone

    given, core = with_dims(row.given.replace("size=3", ""), "px.as_xtensor")
    told = [given] if given else []
    told += [f"core_dims={core!r}".replace("'", '"')] if core else []
    dims = ("draw",) if name == "categorical" or not core else ("draw", "k")
    made = f"x = px.random.{name}({', '.join([*told, _DRAWS])})"
    return [">>> import consilience.xtensor as px", f">>> {made}", ">>> x.dims", repr(dims)]
