"""Models with the same posterior in other coordinates: a model and names in, a new model out.

Not centred, a variable is a function of its parameters and a standard variable, `theta = mu + sigma * theta_raw`, and
the sampler moves the latter. Centred, it is itself what the sampler moves. Between the two, with a centredness c of
each element, theta_raw has the location c mu and the scale sigma^c (Papaspiliopoulos, Roberts and Skoeld 2003;
Gorinova, Moore and Hoffman 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from consilience import distributions
from consilience.analysis.separability import links
from consilience.distributions import context
from consilience.distributions.autoregression import AR
from consilience.distributions.densities import parameter_violation, with_shape
from consilience.distributions.distribution import Distribution
from consilience.distributions.mathematics import absolute, exp, less, log, square, where
from consilience.distributions.multivariate_normal import MvNormal, factor_solve, lower_triangle, matrix_times
from consilience.distributions.parameters import known_value
from consilience.distributions.random_variable import distribution_of, random_variables
from consilience.distributions.random_walk import RandomWalk
from consilience.distributions.zero_sum_normal import ZeroSumNormal
from consilience.errors import ModelError
from consilience.ir import Node, constant, constant_value, substitute, tensor_input, topological
from consilience.ir.side_tables import set_name, without_sources
from consilience.model.conditioning import Rebuilt, named_in, names_in
from consilience.model.model import Model
from consilience.model.variables import FreeVariable, ModelVariables
from consilience.ops import Elementwise
from consilience.ops.elementwise import cast
from consilience.ops.linalg import Cholesky, MatMul, diagonal, matmul, matrix_transpose, solve
from consilience.ops.reduce import reduce
from consilience.ops.reductions import mean
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import ExpandDims, Reshape, Squeeze, broadcast_to, expand_dims, eye
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

# Families closed under x -> location + scale * x, by title: their parameters of that meaning. Other distributions
# serve, too, if they draw by a function of standard normal numbers, as LogNormal and MvNormal do.
LOCATION_SCALE: Final[dict[str, tuple[str | None, str]]] = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma"),
    "Laplace": ("mu", "b"),
    "Cauchy": ("alpha", "beta"),
    "Logistic": ("mu", "s"),
    "Gumbel": ("mu", "beta"),
    "Moyal": ("mu", "sigma"),
    "HalfNormal": (None, "sigma"),
    "HalfCauchy": (None, "beta"),
    "HalfStudentT": (None, "sigma"),
}
# Those for which a scale of either sign will do.
SYMMETRIC: Final = ("Normal", "StudentT", "Laplace", "Cauchy", "Logistic")
# Those on the whole line with tails that fall as a power.
HEAVY: Final = ("Cauchy", "StudentT")

Names = str | Node | Sequence[str | Node]


def noncenter(model: Model, var_names: Names | Mapping[str, Any] | Mapping[str | Node, Any]) -> Model:
    """The model with variables written as functions of standard ones: `theta` becomes `mu + sigma * theta_raw`.

    The posterior is the same. Where few data speak for each element of `theta` and `sigma` is estimated, the sampler
    has an easier way in the new coordinates; `pm.recenter` is the way back. Where data speak for some elements more
    than for others, a centredness of each serves best: `pm.noncenter(model, {"theta": [0.1, 0.8, 0.3]})`.

    model (given) : ...
    var_names (Names or mapping): Free variables, or their names: of a location-scale family (Normal, StudentT, Laplace,
        Cauchy, Logistic, Gumbel, Moyal, HalfNormal, HalfCauchy, HalfStudentT); of a distribution that draws by a
        function of standard normal numbers, such as LogNormal (on its log scale) and MvNormal (by its Cholesky factor);
        RandomWalk and AR, written by their innovations; ZeroSumNormal. Or a mapping of variables to their centredness:
        numbers from 0 (a standard variable) to 1 (the variable itself), one for all elements or one for each; with c
        between them theta_raw has location c mu and scale sigma^c. For families of a location and a scale, LogNormal,
        and MvNormal; row i of theta_raw's Cholesky factor is L_ii^c ((1 - c) e_i + c L_i / L_ii).
    Returns: A new model with the free variable `theta_raw` of `theta`'s shape and dims, and `theta` as a deterministic.
        Series have `theta_raw` for the innovations, time first, and `theta_init_raw` for the first values. A starting
        value given with `theta` is not carried over.
    Raises KeyError: For unknown names.
    Raises ModelError: For what is no free variable, has a transform of its own, or is of another distribution, and for
        a centredness outside [0, 1].
    See recenter: The inverse.
    See centredness: How far to go.

    References
    ----------
    Papaspiliopoulos, Roberts, Sköld (2007), Statistical Science 22, 59.

    >>> with pm.Model() as model:
    ...     tau = pm.HalfNormal("tau", 5)
    ...     theta = pm.Normal("theta", 0.0, tau, shape=3)
    >>> [v.name for v in pm.noncenter(model, "theta").free_RVs]
    ['tau', 'theta_raw']
    """
    wanted = dict(var_names) if isinstance(var_names, Mapping) else dict.fromkeys(names_in(model, var_names), 0.0)
    degrees = {named_in(model, key): degree for key, degree in wanted.items()}
    free = {v.name: v for v in model.free}
    graphs: dict[str, Node] = {}
    raws: dict[str, dict[str, Node]] = {}
    with without_sources():
        for name, given in degrees.items():
            if name not in free:
                raise ModelError(f"`{name}` is not a free variable, so its parametrization cannot be changed.")
            if not free[name].inside:
                raise ModelError(f"`{name}` has a transform of its own; declare it without to change coordinates.")
            node = free[name].node
            degree = _degree(name, node, given)
            found = _standardized(node) if degree is None else _partly_standardized(node, degree)
            if found is None:
                raise ModelError(
                    f"`{name}` ({node.op!r}) is neither of a location-scale family nor drawn by a function of standard "
                    "normal numbers; write other coordinates by hand."
                    if degree is None
                    else f"`{name}` ({node.op!r}) is not of a location-scale family, LogNormal or MvNormal; only those "
                    "have a centredness between 0 and 1."
                )
            raws[name], result = found
            graphs[name] = cast(broadcast_to(_within_range(node, result), node.static_shape), node.dtype)
    return written_by(model, graphs, raws)


def _degree(name: str, node: Node, given: Any) -> Node | None:
    """The centredness of each element; None where all are 0."""
    array = np.asarray(given, dtype=float)
    if not ((array >= 0) & (array <= 1)).all():
        raise ModelError(f"the centredness of `{name}` must be numbers from 0 to 1, got {given!r}.")
    try:
        np.broadcast_shapes(array.shape, tuple(n if isinstance(n, int) else 1 for n in node.static_shape))
        fits = array.ndim <= node.ndim
    except ValueError:
        fits = False
    if not fits:
        raise ModelError(
            f"the centredness of `{name}` must be one number or fit its shape {node.static_shape}, got {array.shape}."
        )
    return constant(array, node.dtype) if array.any() else None


def written_by(model: Model, graphs: Mapping[str, Node], raws: Mapping[str, Mapping[str, Node]]) -> Model:
    """The model with free variables as functions of others, which take their places.

    `graphs`: the functions by the names of the variables. `raws`: the others by the ends of their names, for each
    variable.
    """
    rebuilt = Rebuilt(model, graphs, set()).model(dict.fromkeys(graphs, "named_deterministics"))
    made = {v.name: [v] for v in rebuilt.free}
    for name, parts in raws.items():
        made[name] = [_raw_variable(rebuilt, name, f"{name}{end}", raw) for end, raw in parts.items()]
    rebuilt.free = [one for v in model.free for one in made[v.name]]
    rebuilt.named = {v.name: v.node for v in rebuilt.free if v.name not in rebuilt.named} | rebuilt.named
    rebuilt.cache.clear()
    return rebuilt


def _raw_variable(made: Model, name: str, full: str, raw: Node) -> FreeVariable:
    """The standard variable of a model, as it stands in the model's expressions."""
    if full in made.named:
        raise ModelError(f"the model has a variable `{full}` already; rename it, for that is the name of the new one.")
    # Its parameters may have been replaced with those of other variables; its key tells it from all others.
    node = next(n for n in random_variables([made.named[name]]) if n.inputs[0] is raw.inputs[0])
    set_name(node, full)
    dims = made.dims_of.get(name)
    if dims is not None and node.static_shape == made.named[name].static_shape:
        made.dims_of[full] = dims
    holder = Model(model=None)
    holder.take_free(full, node, context.DEFAULT, None)
    return holder.free[0]


def _within_range(rv: Node, result: Node) -> Node:
    """The value of a variable where all its parameters are admitted, else NaN."""
    for _, _, valid in parameter_violation(rv):
        if constant_value(valid) is None:
            result = where(valid, result, np.nan)
    return result


def _standardized(rv: Node) -> tuple[dict[str, Node], Node] | None:
    """Standard variables by the end of their names, and the variable as a function of them and the parameters.

    None where there is no such way.
    """
    bound = distribution_of(rv)
    if isinstance(bound, RandomWalk):
        # Of any distribution of innovations: those themselves, where they have no standard form.
        length = rv.static_shape[rv.ndim - bound.event_rank]
        one = (*rv.static_shape[: rv.ndim - bound.event_rank], *rv.static_shape[rv.ndim - bound.event_rank + 1 :])
        start, steps = with_shape(bound.init_dist, one), with_shape(bound.innovation_dist, (length - 1, *one))
        parts = {"_raw": _alone(steps), "_init_raw": _alone(start)}
        made = {end: raw for end, (raw, _) in parts.items()}
        return made, bound.path(parts["_init_raw"][1], parts["_raw"][1])
    if isinstance(bound, ZeroSumNormal):
        raw = ZeroSumNormal.dist(constant(1.0, rv.dtype), support_shape=bound.support_shape, shape=rv.static_shape)
        return {"_raw": raw}, expand_dims(bound.sigma, tuple(range(-bound.event_rank, 0))) * raw
    if isinstance(bound, AR):
        *batch, length = rv.static_shape
        raw, start = _alone(with_shape(bound.init_dist, (*batch, bound.ar_order)))
        noise = distributions.Normal.dist(0.0, 1.0, shape=(*batch, length - bound.ar_order))
        return {"_raw": noise, "_init_raw": raw}, bound.series(start, noise)
    if bound.title in LOCATION_SCALE:
        return _partly_standardized(rv, None)
    return _by_normal_numbers(rv, bound)


def _alone(rv: Node) -> tuple[Node, Node]:
    """One standard variable, and the variable as a function of it; the variable itself twice where there is none."""
    found = _standardized(rv)
    if found is None or len(found[0]) > 1:
        return rv, rv
    (raw,) = found[0].values()
    return raw, broadcast_to(_within_range(rv, found[1]), rv.static_shape)


def _names(bound: Distribution) -> tuple[str | None, str]:
    """The names of location and scale; of LogNormal those of the logarithm."""
    return LOCATION_SCALE.get(bound.title, ("mu", "sigma"))


def location_and_scale(rv: Node) -> tuple[Node | None, Node] | None:
    """Location, None where it is always 0, and scale of a variable, or of the logarithm of a LogNormal one.

    Of an MvNormal the scale of each element given those before it. None for a variable of another distribution.
    """
    bound = distribution_of(rv)
    if isinstance(bound, MvNormal):
        return bound.by_name()["mu"], diagonal(_factor(bound))
    if bound.title not in (*LOCATION_SCALE, "LogNormal"):
        return None
    location, scale = _names(bound)
    named = bound.by_name()
    return (named[location] if location else None), named[scale]


def _factor(bound: MvNormal) -> Node:
    """The Cholesky factor of the covariance."""
    named = bound.by_name()
    return lower_triangle(named["chol"]) if "chol" in named else Node(Cholesky(), bound.cov)


def is_centred_as_a_whole(rv: Node) -> bool:
    """Whether a variable is a random walk or a zero-sum array, which are centred as a whole or not at all."""
    return isinstance(distribution_of(rv), RandomWalk | ZeroSumNormal)


def _partly_standardized(rv: Node, degree: Node | None) -> tuple[dict[str, Node], Node] | None:
    """As `_standardized`, with a centredness of each element; None for distributions that have no such form."""
    bound = distribution_of(rv)
    named = bound.by_name()
    if isinstance(bound, MvNormal) and degree is not None:
        mu = broadcast_to(named["mu"], rv.static_shape)
        factor = _factor(bound)
        scale = expand_dims(diagonal(factor), -1)
        rows = expand_dims(broadcast_to(degree, rv.static_shape), -1)
        between = scale**rows * ((1.0 - rows) * eye(rv.static_shape[-1], dtype=rv.dtype) + rows * factor / scale)
        raw = MvNormal.dist(degree * mu, chol=between, shape=rv.static_shape)
        return {"_raw": raw}, mu + matrix_times(factor, factor_solve(between, raw - degree * mu, transposed=False))
    found = location_and_scale(rv)
    if found is None:
        return None
    own, scale = found
    location, scale_name = _names(bound)
    kind = distributions.Normal if bound.title == "LogNormal" else type(bound)
    plain = {scale_name: constant(1.0, rv.dtype) if degree is None else scale**degree}
    if own is not None:
        plain[str(location)] = constant(0.0, rv.dtype) if degree is None else degree * own
    values = [plain.get(p.name, value) for p, value in zip(bound.parameters, bound.values, strict=True)]
    raw = kind.variable(values, rv.static_shape)
    result = scale * raw if degree is None else scale ** (1.0 - degree) * (raw if own is None else raw - degree * own)
    result = result if own is None else own + result
    return {"_raw": raw}, exp(result) if bound.title == "LogNormal" else result


def _by_normal_numbers(rv: Node, bound: Distribution) -> tuple[dict[str, Node], Node] | None:
    """As `_standardized`, from how the distribution draws, if that takes one array of standard normal numbers."""
    if bound.bound_support.discrete or not bound.can_draw():
        return None
    key = tensor_input("key", ())
    result = bound.draw(key, rv.static_shape)
    random = [n for n in topological([result]) if isinstance(n.op, Elementwise) and n.op.function in DRAWS]
    noise = [n for n in random if key in topological([n])]
    if len(noise) != 1 or not isinstance(noise[0].op, Elementwise) or noise[0].op.function != "random_normal":
        return None
    raw = distributions.Normal.dist(0.0, 1.0, shape=noise[0].static_shape)
    return {"_raw": raw}, substitute([result], {noise[0]: raw})[0]


def recenter(model: Model, var_names: Names) -> Model:
    """The model with deterministics of the form `mu + sigma * raw` as free variables: the inverse of `noncenter`.

    model (given) : ...
    var_names: Deterministics, or their names: affine in a free variable of their shape, element by element, which is
        Normal, StudentT, Laplace, Cauchy or Logistic; or the exponential of such an expression of a Normal; or vectors
        `mu + matrix @ raw` of a Normal vector with a square matrix, which become MvNormal.
    Returns: A new model in which `theta` is free, and `raw` the deterministic `(theta - mu) / sigma`.
    Raises KeyError: For unknown names.
    Raises ModelError: For what is no such deterministic.
    See noncenter: The inverse.
    >>> with pm.Model() as model:
    ...     tau = pm.HalfNormal("tau", 5)
    ...     raw = pm.Normal("theta_raw", shape=3)
    ...     theta = pm.Deterministic("theta", tau * raw)
    >>> [v.name for v in pm.recenter(model, "theta").free_RVs]
    ['tau', 'theta']
    """
    names = names_in(model, var_names)
    graphs: dict[str, Node] = {}
    raws = []
    with without_sources():
        for name in names:
            if name not in model.named_deterministics:
                raise ModelError(f"`{name}` is not a deterministic, so there is nothing to center.")
            free, theta, raw = _centred(model, name)
            graphs[name], graphs[free.name] = theta, raw
            raws.append(free.name)
    return Rebuilt(model, graphs, set()).model(
        dict.fromkeys(raws, "named_deterministics") | dict.fromkeys(names, "free")
    )


def _centred(model: Model, name: str) -> tuple[FreeVariable, Node, Node]:
    """The free variable below a deterministic, the deterministic as a random variable, and the former in its terms."""
    node = model.named[name]
    inner = _unguarded(node)
    exponential = isinstance(inner.op, Elementwise) and inner.op.function == "exp"
    if exponential:
        inner = _unguarded(inner.inputs[0])
    found = []
    for free in model.free:
        affine = _affine(model, inner, free)
        if affine is not None and (not exponential or distribution_of(free.node).title == "Normal"):
            found.append((free, *affine))
    if not found and not exponential:
        for free in model.free:
            linear = _linear(model, inner, free)
            if linear is not None:
                theta, location, matrix = linear
                return free, theta, solve(matrix, node - location)
    # A variable below another one that serves has it as a parameter.
    below = {free.name: set(topological(free.node.inputs)) for free, _, _ in found}
    found = [one for one in found if not any(one[0].node in parents for parents in below.values())]
    # Also a location may be normal; the scale that the model estimates tells which one was meant.
    estimated = [one for one in found if random_variables([one[2]])]
    chosen = estimated if len(found) > 1 else found
    if len(chosen) != 1:
        seen = f"several serve: {', '.join(f'`{one[0].name}`' for one in found)}" if found else "there is none"
        raise ModelError(
            f"`{name}` is no location plus scale times one free variable of its shape (Normal, StudentT, Laplace, "
            f"Cauchy or Logistic), and no location plus a matrix times a Normal vector; {seen}."
        )
    free, location, scale = chosen[0]
    bound = distribution_of(free.node)
    names = LOCATION_SCALE[bound.title]
    own = bound.by_name()
    assert names[0] is not None
    moved = {names[0]: location + scale * own[names[0]], names[1]: absolute(scale) * own[names[1]]}
    values = [moved.get(p.name, value) for p, value in zip(bound.parameters, bound.values, strict=True)]
    theta = (distributions.LogNormal if exponential else type(bound)).variable(values, node.static_shape)
    return free, theta, ((log(node) if exponential else node) - location) / scale


def _unguarded(node: Node) -> Node:
    """An expression without conditions outside of which it is NaN."""
    while isinstance(node.op, Elementwise) and node.op.function == "where":
        known = constant_value(node.inputs[2])
        if known is None or not np.isnan(known).all():
            break
        node = node.inputs[1]
    return node


def _affine(model: Model, expression: Node, free: FreeVariable) -> tuple[Node, Node] | None:
    """Location and scale where an expression is `location + scale * variable`, element by element; else None."""
    bound = distribution_of(free.node)
    shape = free.node.static_shape
    if bound.title not in SYMMETRIC or expression.static_shape != shape or not free.inside:
        return None
    leaf = tensor_input(free.node.dtype, shape)
    others = {v.node: tensor_input(v.node.dtype, v.node.static_shape) for v in model.variables if v is not free}
    (written,) = substitute([expression], {**others, free.node: leaf})
    linked = links(written, leaf)
    if linked is None or {link.axis for link in linked.values()} != {i for i, n in enumerate(shape) if n != 1}:
        return None
    (scale,) = simplify(gradient(reduce("sum", written), [leaf]))
    if leaf in topological([scale]):
        return None
    (location,) = simplify(substitute([written], {leaf: broadcast_to(constant(0.0, leaf.dtype), shape)}))
    back = {stand_in: node for node, stand_in in others.items()}
    location, scale = substitute([location, scale], back)
    return location, scale


def _linear(model: Model, expression: Node, free: FreeVariable) -> tuple[Node, Node, Node] | None:
    """A normal vector, location and matrix, where an expression is `location + matrix @ variable`; else None.

    The variable is a vector of independent normal numbers with constant parameters.
    """
    bound = distribution_of(free.node)
    shape = free.node.static_shape
    if bound.title != "Normal" or len(shape) != 1 or expression.static_shape != shape or not free.inside:
        return None
    others = {v.node: tensor_input(v.node.dtype, v.node.static_shape) for v in model.variables if v is not free}
    leaf = tensor_input(free.node.dtype, shape)
    (written,) = substitute([expression], {**others, free.node: leaf})
    products = [n for n in topological([written]) if isinstance(n.op, MatMul) and leaf in topological(n.inputs[1:])]
    if len(products) != 1 or leaf in topological(products[0].inputs[:1]):
        return None
    (product,) = products
    column = product.inputs[1]
    while isinstance(column.op, ExpandDims | Squeeze | Reshape):
        column = column.inputs[0]
    stand_in = tensor_input(product.dtype, product.static_shape)
    (rest,) = substitute([written], {product: stand_in})
    matrix = product.inputs[0]
    if column is not leaf or leaf in topological([rest]) or matrix.static_shape != shape * 2:
        return None
    (slope,) = simplify(gradient(reduce("sum", rest), [stand_in]))
    known = known_value(slope)
    if known is None or not (known == 1).all() or len(links(rest, stand_in) or ()) != 1:
        return None
    (location,) = simplify(substitute([rest], {stand_in: broadcast_to(constant(0.0), stand_in.static_shape)}))
    back = {stand: node for node, stand in others.items()}
    location, matrix = substitute([location, matrix], back)
    own = bound.by_name()
    mean = location + matrix_times(matrix, broadcast_to(own["mu"], shape))
    factor = matrix * own["sigma"]
    if isinstance(matrix.op, Cholesky) or (len(matrix.inputs) == 3 and matrix is lower_triangle(matrix.inputs[1])):
        # Columns may change their sign without a change of the distribution; those of a Cholesky factor are fixed.
        return MvNormal.dist(mean, chol=factor * where(less(diagonal(factor), 0.0), -1.0, 1.0)), location, matrix
    return MvNormal.dist(mean, cov=matmul(factor, matrix_transpose(factor))), location, matrix


def centred_hierarchies(model: ModelVariables) -> list[str]:
    """Names of free variables whose scale is estimated, too, and that `noncenter` can rewrite."""
    random = {v.node for v in model.free}
    found = []
    for variable in model.free:
        bound = distribution_of(variable.node)
        if variable.inside and is_centred_as_a_whole(variable.node):
            steps = [bound.innovation_dist] if isinstance(bound, RandomWalk) else [bound.by_name()["sigma"]]
            if not random.isdisjoint(topological(steps)):
                found.append(variable.name)
        elif variable.inside and bound.title in (*LOCATION_SCALE, "LogNormal", "MvNormal"):
            location = LOCATION_SCALE.get(bound.title, ("mu", ""))[0]
            others = [value for name, value in bound.by_name().items() if name not in (location, "nu")]
            if not random.isdisjoint(topological(others)):
                found.append(variable.name)
    return found


def standard_variables(model: ModelVariables) -> list[str]:
    """Names of free variables symmetric around 0 of constant scale, in models that have a positive free variable, too.

    They may be parts of products with estimated scales.
    """
    found, scaled = [], False
    for variable in model.free:
        bound = distribution_of(variable.node)
        lower = getattr(bound.bound_support, "lower", None)
        scaled = scaled or (isinstance(lower, int | float) and lower >= 0)
        if bound.title in SYMMETRIC and variable.inside:
            location, scale = (bound.by_name()[str(name)] for name in LOCATION_SCALE[bound.title])
            middle = known_value(location)
            if middle is not None and not np.any(middle) and known_value(scale) is not None:
                found.append(variable.name)
    return found if scaled else []


def heavy_priors(model: ModelVariables) -> list[str]:
    """Names of free variables on the whole line whose prior has tails that fall as a power."""
    return [v.name for v in model.free if v.sampled is None and distribution_of(v.node).title in HEAVY]


def field_scale(rv: Node) -> Node | None:
    """The scale of a field, with length 1 along the axes of an event that share it; None for other variables."""
    bound = distribution_of(rv)
    named = bound.by_name()
    if isinstance(bound, RandomWalk):
        step = distribution_of(bound.innovation_dist)
        if isinstance(step, MvNormal):
            return expand_dims(_deviations(step), -2)
        return expand_dims(step.by_name()[LOCATION_SCALE[step.title][1]], -1) if step.title in LOCATION_SCALE else None
    if bound.title in ("AR", "ICAR"):
        return expand_dims(named["sigma"], -1)
    if bound.title == "CAR":
        return expand_dims(named["tau"] ** -0.5, -1)
    if bound.title == "MvNormal" and "tau" in named:
        return mean(diagonal(named["tau"]), -1, keepdims=True) ** -0.5
    return None


def _deviations(step: MvNormal) -> Node:
    """Standard deviations of the elements of a vector, or of each given the others, whichever is at hand."""
    named = step.by_name()
    if "chol" in named:
        return reduce("sum", square(lower_triangle(named["chol"])), -1) ** 0.5
    return diagonal(named["tau"]) ** -0.5 if "tau" in named else diagonal(step.cov) ** 0.5


def fields(model: ModelVariables) -> dict[str, Node]:
    """The scales of those fields of a model whose scale is estimated, by name."""
    random = {v.node for v in model.free}
    summed = {v.node for v in model.marginalized}
    found = {v.name: field_scale(v.node) for v in model.free if v.inside and summed.isdisjoint(topological([v.node]))}
    return {n: scale for n, scale in found.items() if scale is not None and random & set(topological([scale]))}
