"""PyMC's random variables: the parameters of PyMC's ops in, distributions of ours of the same density out.

One row per op, by the name of its class. What no row covers gets the density that PyMC itself writes as a graph, and no
draws; it is refused by name where that graph has no translation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience import distributions as d
from consilience.distributions.random_variable import distribution_of, random_variables
from consilience.engines.reader.rules import Rule
from consilience.errors import MissingRuleError
from consilience.foreign.pytensor_graph import RULES, Translation, is_generator, known, known_integer
from consilience.foreign.pytensor_scalars import SCALARS
from consilience.ir import Node

# PyMC's op and our distribution, whose parameters have the order of the op's.
SAME: Final = {
    "AsymmetricLaplaceRV": "AsymmetricLaplace b kappa mu",
    "BernoulliRV": "Bernoulli p",
    "BetaBinomialRV": "BetaBinomial n alpha beta",
    "BetaRV": "Beta alpha beta",
    "BinomialRV": "Binomial n p",
    "CategoricalRV": "Categorical p",
    "CauchyRV": "Cauchy alpha beta",
    "DiracDeltaRV": "DiracDelta c",
    "DirichletMultinomialRV": "DirichletMultinomial n a",
    "DirichletRV": "Dirichlet a",
    "DiscreteUniformRV": "DiscreteUniform lower upper",
    "DiscreteWeibullRV": "DiscreteWeibull q beta",
    "ExGaussianRV": "ExGaussian mu sigma nu",
    "FlatRV": "Flat",
    "GeometricRV": "Geometric p",
    "GumbelRV": "Gumbel mu beta",
    "HalfCauchyRV": "HalfCauchy beta",
    "HalfFlatRV": "HalfFlat",
    "HalfStudentTRV": "HalfStudentT nu sigma",
    "InvGammaRV": "InverseGamma alpha beta",
    "KumaraswamyRV": "Kumaraswamy a b",
    "LaplaceRV": "Laplace mu b",
    "LogNormalRV": "LogNormal mu sigma",
    "LogisticRV": "Logistic mu s",
    "LogitNormal": "LogitNormal mu sigma",
    "MoyalRV": "Moyal mu sigma",
    "MultinomialRV": "Multinomial n p",
    "MvNormalRV": "MvNormal mu cov",
    "MvStudentTRV": "MvStudentT nu mu scale",
    "NegBinomialRV": "NegativeBinomial n p",
    "NormalRV": "Normal mu sigma",
    "ParetoRV": "Pareto alpha m",
    "PoissonRV": "Poisson mu",
    "RiceRV": "Rice b sigma",
    "SkewNormalRV": "SkewNormal mu sigma alpha",
    "SkewStudentTRV": "SkewStudentT a b mu sigma",
    "StudentTRV": "StudentT nu mu sigma",
    "TriangularRV": "Triangular lower c upper",
    "UniformRV": "Uniform lower upper",
    "VonMisesRV": "VonMises mu kappa",
    "WaldRV": "Wald mu lam alpha",
    "WeibullBetaRV": "Weibull alpha beta",
}

Parameters = Callable[..., dict[str, Any]]


def bound(node: Node) -> Node | None:
    """A bound; None for one at infinity."""
    value = known(node)
    return None if value is not None and np.isinf(value).all() else node


def _halfnormal(loc: Node, sigma: Node) -> dict[str, Any]:
    value = known(loc)
    if value is None or value.any():
        raise MissingRuleError("PyMC's `HalfNormal` with a location other than 0 has no translation.")
    return {"sigma": sigma}


def _intrinsic(w: Node, sigma: Node, stdev: Node) -> dict[str, Any]:
    if known(sigma) is None:
        raise MissingRuleError(
            "PyMC's `ICAR` with a `sigma` that is no number is another density than ours: it leaves out a power of it."
        )
    return {"W": w, "sigma": sigma, "zero_sum_stdev": stdev}


def _triangle(factor: Node) -> Node:
    return pt.matmul(factor, pt.matrix_transpose(factor))


# The same where the parameters differ: what makes ours of theirs.
OTHER: Final[dict[str, tuple[str, Parameters]]] = {
    "CARRV": ("CAR", lambda mu, w, alpha, tau, *_: {"mu": mu, "W": w, "alpha": alpha, "tau": tau}),
    "ExponentialRV": ("Exponential", lambda scale: {"scale": scale}),
    "GammaRV": ("Gamma", lambda alpha, scale: {"alpha": alpha, "beta": pt.reciprocal(_float(scale))}),
    "HalfNormalRV": ("HalfNormal", _halfnormal),
    "HyperGeometricRV": ("HyperGeometric", lambda good, bad, n: {"N": good + bad, "k": good, "n": n}),
    "ICARRV": ("ICAR", _intrinsic),
    "InterpolatedRV": ("Interpolated", lambda x, pdf, _: {"x_points": x, "pdf_points": pdf}),
    "KroneckerNormalRV": ("KroneckerNormal", lambda mu, sigma, *covs: {"mu": mu, "covs": covs, "sigma": sigma}),
    "MatrixNormalRV": ("MatrixNormal", lambda mu, rows, columns: {"mu": mu, "rowchol": rows, "colchol": columns}),
    "StickBreakingWeightsRV": ("StickBreakingWeights", lambda alpha, k: {"alpha": alpha, "K": known_integer(k)}),
    "TruncatedNormalRV": (
        "TruncatedNormal",
        lambda mu, sigma, lower, upper: {"mu": mu, "sigma": sigma, "lower": bound(lower), "upper": bound(upper)},
    ),
    "WishartRV": ("Wishart", lambda nu, factor: {"nu": nu, "V": _triangle(factor)}),
}


def _float(node: Node) -> Node:
    return SCALARS["identity"](node) if node.dtype == "float64" else pt.cast(node, "float64")


def variable(t: Translation, op: Any, inputs: Sequence[Any], *, one_step: bool = False) -> Node:
    """Our random variable for an op of PyMC and the variables of its inputs.

    `one_step`: of one that has an axis of time behind those of its batch: without that axis.
    """
    name = type(op).__name__
    row = _row(name)
    if row is None:
        raise MissingRuleError(
            f"PyMC's random variable `{name.removesuffix('RV')}` has no translation; write that variable here."
        )
    ours, parameters = row
    size, own = _operands(op, inputs)
    given = list(map(t.tensor, own))
    lengths = None if size is None or t(size) is None else t.lengths(size)
    if one_step:
        given = [_at_one_time(name, p, rank) for p, rank in zip(given, op.ndims_params, strict=True)]
        lengths = lengths[:-1] if lengths else lengths
    distribution: Any = getattr(d, ours)
    made = parameters(*given)
    if ours in _CONTINUOUS:
        made = {key: _float(p) if isinstance(p, Node) else p for key, p in made.items()}
    found: Node = distribution.dist(**made, size=lengths)
    return found


def _at_one_time(name: str, parameter: Node, rank: int) -> Node:
    """A parameter that is the same at all times, without the axis of time."""
    if parameter.ndim == rank:
        return parameter
    axis = parameter.ndim - rank - 1
    if parameter.static_shape[axis] != 1:
        raise MissingRuleError(
            f"PyMC's random walk with a parameter of `{name.removesuffix('RV')}` that changes over time has no "
            "translation; write that variable here."
        )
    return pt.squeeze(parameter, axis)


def _row(name: str) -> tuple[str, Parameters] | None:
    if name in OTHER:
        return OTHER[name]
    if name not in SAME:
        return None
    ours, *names = SAME[name].split()
    return ours, lambda *parameters: dict(zip(names, parameters, strict=True))


# Parameters that may be whole numbers, and of which none is a count.
_CONTINUOUS: Final = frozenset(
    ours
    for ours in [row.split()[0] for row in SAME.values()] + [ours for ours, _ in OTHER.values()]
    if ours
    not in {
        "BetaBinomial", "Binomial", "Categorical", "DiracDelta", "DirichletMultinomial", "DiscreteUniform",
        "HyperGeometric", "ICAR", "CAR", "Multinomial", "StickBreakingWeights", "KroneckerNormal",
    }
)  # fmt: skip


def _operands(op: Any, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The variable of the size, None where there is none, and those of the parameters."""
    signature = getattr(op, "extended_signature", None)
    if signature is None:  # an op of one draw: generator, size, parameters
        return inputs[1], list(inputs[2:])
    parts = [part.strip() for part in _split(signature.split("->")[0])]
    size = next((i for part, i in zip(parts, inputs, strict=True) if part == "[size]"), None)
    return size, [i for part, i in zip(parts, inputs, strict=True) if not part.startswith("[")]


def _split(signature: str) -> list[str]:
    """Operands of a signature such as `[rng],[size],(),(n,n)`."""
    parts, depth = [""], 0
    for character in signature:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def random(*classes: str) -> Callable[[Rule], Rule]:
    """Register the rule for random variables of these classes; those it refuses get PyMC's density."""

    def register(rule: Rule) -> Rule:
        @RULES(*classes)
        def or_by_density(t: Translation, apply: Any) -> Any:
            try:
                return rule(t, apply)
            except MissingRuleError as refusal:
                return by_density(t, next(o for o in apply.outputs if not is_generator(o)), refusal)

        return rule

    return register


@random("RandomVariable", "SymbolicRandomVariable", "DiracDeltaRV")
def _random_variable(t: Translation, apply: Any) -> Any:
    return variable(t, apply.op, apply.inputs)


# ---- variables made of other variables


@random("MixtureRV")
def _mixture(t: Translation, apply: Any) -> Any:
    _, weights, *components = apply.inputs
    parts = [t(c) for c in components]
    return d.Mixture.dist(t(weights), parts[0] if len(parts) == 1 else parts)


@random("CensoredRV")
def _censored(t: Translation, apply: Any) -> Any:
    base, lower, upper = t.arguments(apply)
    if isinstance(distribution_of(base), d.CustomDist):
        raise MissingRuleError("PyMC's `Censored` of a distribution of one's own has no translation.")
    return d.Censored.dist(base, lower=bound(lower), upper=bound(upper))


@random("TruncatedRV")
def _truncated(t: Translation, apply: Any) -> Any:
    op = apply.op
    *inputs, lower, upper = apply.inputs[: len(apply.inputs)]
    own = [i for i in inputs if i is not None]
    base = variable(t, op.base_rv_op, own)
    return d.Truncated.dist(base, lower=bound(t.tensor(lower)), upper=bound(t.tensor(upper)))


@random("ZeroSumNormal", "ZeroSumNormalRV")
def _zero_sum_normal(t: Translation, apply: Any) -> Any:
    size, (sigma, support) = _operands(apply.op, apply.inputs)
    lengths = [] if size is None or t(size) is None else t.lengths(size)
    own = t.lengths(support)
    return d.ZeroSumNormal.dist(sigma=t.tensor(sigma), n_zerosum_axes=len(own), shape=(*lengths, *own))


@random("_LKJCholeskyCovRV")
def _lkj_cholesky_cov(t: Translation, apply: Any) -> Any:
    _, n, eta, scales = apply.inputs
    return d.LKJCholeskyCov.dist(n=t.length(n), eta=t.tensor(eta), sd_dist=t.tensor(scales), compute_corr=False)


@random("RandomWalkRV")
def _random_walk(t: Translation, apply: Any) -> Any:
    initial, innovation = (variable(t, i.owner.op, i.owner.inputs, one_step=True) for i in apply.inputs[:2])
    steps = t.length(apply.inputs[2])
    event = apply.inputs[0].owner.op.ndim_supp
    batch = initial.static_shape[: initial.ndim - event]
    shape = (*batch, steps + 1, *initial.static_shape[initial.ndim - event :]) if batch else None
    return d.RandomWalk.dist(init_dist=initial, innovation_dist=innovation, steps=steps, shape=shape)


@random("AutoRegressiveRV")
def _autoregression(t: Translation, apply: Any) -> Any:
    op = apply.op
    rho, sigma, initial, steps = apply.inputs[:4]
    return d.AR.dist(
        t.tensor(rho),
        sigma=t.tensor(sigma),
        constant=bool(op.constant_term),
        init_dist=t.tensor(initial),
        steps=t.length(steps),
        ar_order=int(op.ar_order),
    )


@random("GARCH11RV")
def _garch(t: Translation, apply: Any) -> Any:
    omega, alpha, beta, initial = (t.tensor(i) for i in apply.inputs[:4])
    return d.GARCH11.dist(omega=omega, alpha_1=alpha, beta_1=beta, initial_vol=initial, steps=t.length(apply.inputs[5]))


@RULES("MinibatchIndexRV")
def _minibatch(t: Translation, apply: Any) -> Any:
    raise MissingRuleError(
        "PyMC's `Minibatch` draws other rows in every evaluation and has no translation; give the model all data, or "
        "write it here with `pm.Minibatch`."
    )


@RULES("BARTRV")
def _trees(t: Translation, apply: Any) -> Any:
    raise MissingRuleError(
        "PyMC-BART's trees have no density, PyMC samples them by a step of its own; write them here with `pm.BART`."
    )


@RULES("MarginalRV")
def _marginal(t: Translation, apply: Any) -> Any:
    raise MissingRuleError(
        "pymc-extras' marginalised variables have no translation; convert the model as it was before `marginalize`."
    )


# ---- by PyMC's own density


def by_density(t: Translation, theirs: Any, refusal: MissingRuleError, shape: Any = None) -> Node:
    """A variable with the density that PyMC writes for it; nothing can be drawn from it.

    `theirs`: the output of PyMC's op. `shape`: its shape, where that is known. Raises Exception: `refusal`, with the
    reason added, where PyMC has no density as a graph, or one without translation.
    """
    pymc, pytensor = sys.modules.get("pymc"), sys.modules["pytensor"]
    if pymc is None:
        raise refusal
    title = type(theirs.owner.op).__name__.removesuffix("RV").strip("_")
    own = _known_ancestors(t, theirs)
    values = [t.tensor(v) for v in own]
    # PyMC rewrites the variables that a density depends on; other variables in their places stay as they are.
    places = [v.type() for v in own]
    place = theirs.type()
    lengths = _lengths(theirs) if shape is None else []
    (theirs, *lengths) = pytensor.graph.replace.clone_replace([theirs, *lengths], dict(zip(own, places, strict=True)))
    try:
        graph = pymc.logp(theirs, place)
    except Exception as reason:
        raise MissingRuleError(f"{refusal} PyMC has no density for it as a graph either: {reason}") from reason
    try:
        start = pymc.distributions.distribution.support_point(theirs)
    except NotImplementedError:  # observed variables need none
        start = None

    def at(parameters: Sequence[Node]) -> Translation:
        return Translation(dict(zip(places, parameters, strict=True)))

    def logp(value: Node, *parameters: Node) -> Node:
        inside = at(parameters)
        inside.values[place] = value
        return inside.tensor(graph)

    def support_point(*parameters: Node) -> Node:
        return at(parameters).tensor(start)

    found: Node = d.CustomDist.dist(
        *values,
        logp=logp,
        support_point=None if start is None else support_point,
        ndim_supp=place.type.ndim - graph.type.ndim,
        ndims_params=[v.ndim for v in values],
        shape=tuple(map(at(values).length, lengths)) if shape is None else shape,
        dtype="int64" if place.type.dtype.startswith(("int", "uint", "bool")) else "float64",
        class_name=title,
    )
    density = logp(found, *values)  # what has no translation shows here
    if not set(random_variables([density])) <= set(random_variables([found, *values])):
        raise MissingRuleError(f"{refusal} The density that PyMC writes for it contains random variables.")
    return found


def _lengths(theirs: Any) -> list[Any]:
    """Lengths of the axes of a random variable of PyMC, as its variables."""
    pytensor: Any = sys.modules["pytensor"]
    as_tensor = pytensor.tensor.as_tensor
    if None not in theirs.type.shape:
        return [as_tensor(n) for n in theirs.type.shape]
    (found,) = pytensor.compile.builders.infer_shape([theirs], (), ())
    if not any(map(is_generator, pytensor.graph.traversal.ancestors(found))):
        return list(found)
    return [as_tensor(n) for n in theirs.shape.eval()]  # nothing but values tells


def _known_ancestors(t: Translation, graph: Any) -> list[Any]:
    """Variables of the model that a graph depends on."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in t.named:
            found[one] = None
        elif one.owner is not None:
            waiting += one.owner.inputs
    return list(found)


@RULES("CheckParameterValue")
def _checked(t: Translation, apply: Any) -> Any:
    value, *conditions = t.arguments(apply)
    for condition in conditions:
        value = pt.switch(pt.all(condition), value, -np.inf)
    return value
