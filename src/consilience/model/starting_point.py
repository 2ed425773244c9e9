"""Starting positions, and the search for the variable at fault when there is none.

A model and the user's initial values in, unconstrained vectors with finite log density out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.backends.shapes import Lengths
from consilience.dist.random_variable import law_of, support_point
from consilience.errors import InitialPointError, ModelError, ShapeError, SupportError
from consilience.ir import Node, constant, substitute, topological
from consilience.ir import dimension as dims
from consilience.ir.side_tables import name_of, without_sources
from consilience.lower.specialise import specialise
from consilience.model.layout import Layout
from consilience.model.log_density import ModelDensity, Terms, terms_of
from consilience.model.variables import FreeVariable, ModelVariables

Floats = npt.NDArray[np.float64]
# Attempts per chain at a random starting point before giving up, and the width of the jitter.
ATTEMPTS = 100
JITTER = 1.0


def slots_of(model: ModelVariables) -> dict[Node, npt.NDArray[Any]]:
    """Present values of the model's data."""
    return {slot: contexts.DEFAULT.get(slot) for slot in model.data_slots()}


def starting_position(
    model: ModelVariables, layout: Layout, lengths: Lengths, initvals: Mapping[str, Any] | None = None
) -> Floats:
    """The vector where every variable has its support point or its initial value."""
    given = dict(initvals or {})
    unknown = set(given) - {s.variable.name for s in layout.stretches} - {s.key for s in layout.stretches}
    if unknown:
        raise ModelError(
            f"`initvals` names {sorted(unknown)}; the free variables are {[s.variable.name for s in layout.stretches]}."
        )
    position = np.empty(layout.dimension)
    natural: dict[Node, Node] = {}
    slots = slots_of(model)
    with without_sources():
        for stretch in layout.stretches:
            variable = stretch.variable
            value = given.get(variable.name, variable.initval)
            if stretch.key != variable.name and stretch.key in given:
                position[stretch.slice] = np.asarray(given[stretch.key], float).ravel()
                natural[variable.node] = _backward(variable, constant(position[stretch.slice].reshape(stretch.shape)), natural)
                continue
            if value is None or (isinstance(value, str) and value == "support_point"):
                point = support_point(variable.node)
            elif isinstance(value, str):
                raise ModelError(f"`initval` of `{variable.name}` must be numbers or 'support_point', got {value!r}.")
            else:
                point = constant(_fitting(variable, value, lengths))
            (point,) = substitute([point], natural)
            free = point
            if variable.transform is not None:
                (free,) = substitute([variable.transform.forward(point)], natural)
            static, memo = specialise([free, point], lengths)
            values = {memo.get(s, s): v for s, v in slots.items()}
            used = {n: v for n, v in values.items() if n in set(topological(static))}
            unconstrained, known = reference.evaluate(static, used)
            if not np.isfinite(unconstrained).all():
                raise SupportError(
                    f"the initial value of `{variable.name}` is outside its support: {np.asarray(known).tolist()}; "
                    "give one inside with `initval=` or `initvals=`."
                )
            position[stretch.slice] = np.asarray(unconstrained, float).ravel()
            natural[variable.node] = constant(np.asarray(known))
    return position


def _backward(variable: FreeVariable, value: Node, natural: Mapping[Node, Node]) -> Node:
    if variable.transform is None:
        return value
    return substitute([variable.transform.backward(value)], natural)[0]


def _fitting(variable: FreeVariable, value: Any, lengths: Lengths) -> npt.NDArray[Any]:
    shape = tuple(dims.substitute(n, lengths) for n in variable.node.static_shape)
    array = np.asarray(value, float)
    try:
        return np.broadcast_to(array, tuple(int(n) for n in shape)).copy()  # type: ignore[arg-type]  # known lengths
    except ValueError:
        raise ShapeError(
            f"the initial value of `{variable.name}` has shape {array.shape}, the variable has shape {shape}."
        ) from None


def starting_positions(
    density: ModelDensity,
    chains: int,
    seed: int,
    initvals: Mapping[str, Any] | list[Mapping[str, Any] | None] | None = None,
    jitter: bool = True,
    attempts: int = ATTEMPTS,
) -> Floats:
    """One starting vector per chain, shape (chains, dimension), each with finite log density and gradient.

    jitter     add uniform noise in [-1, 1] on the unconstrained line
    raises     InitialPointError that names the variable at fault
    """
    per_chain = list(initvals) if isinstance(initvals, list | tuple) else [initvals] * chains
    if len(per_chain) != chains:
        raise ModelError(f"`initvals` is a list of {len(per_chain)} points, but there are {chains} chains.")
    result = np.empty((chains, density.dimension))
    for chain, own in enumerate(per_chain):
        base = starting_position(density.model, density.layout, density.lengths, own)
        generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), chain]))
        for attempt in range(attempts):
            noise = generator.uniform(-JITTER, JITTER, density.dimension) if jitter else 0.0
            # The first attempts keep the full noise; later ones shrink towards the base point.
            position = base + noise * (1.0 if attempt < attempts // 2 else 2.0 * (1 - attempt / attempts))
            logp, gradient = density(position)
            if np.isfinite(logp) and np.isfinite(gradient).all():
                result[chain] = position
                break
            if not jitter:
                raise explain(density, position)
        else:
            raise explain(density, base)
    return result


def point_logps(density: ModelDensity, position: Floats) -> dict[str, float]:
    """Sum of the log density terms of each variable at a position; Jacobians are not included."""
    model = density.model
    terms = terms_of(model, jacobian=False)
    names = [v.name for v in model.free] + [v.name for v in model.observed] + list(model.potentials)
    values = evaluate_terms(density, terms, terms.all, position)
    return {name: float(np.sum(value)) for name, value in zip(names, values, strict=True)}


def evaluate_terms(density: ModelDensity, terms: Terms, outputs: list[Node], position: Floats) -> list[npt.NDArray[Any]]:
    """Values of expressions over the unconstrained values, by the reference backend."""
    point = density.layout.point(position)
    inputs = {node: value for node, value in zip(terms.values, point.values(), strict=True)}
    inputs |= slots_of(density.model)
    used = set(topological(outputs))
    return reference.evaluate(outputs, {n: v for n, v in inputs.items() if n in used})


def explain(density: ModelDensity, position: Floats) -> InitialPointError:
    """The error that names the term that is not finite, its value, and its parents with theirs."""
    model = density.model
    with without_sources():
        terms = terms_of(model, jacobian=False)
        lines = []
        nodes = [v.node for v in model.free] + [v.node for v in model.observed]
        names = [v.name for v in model.free] + [v.name for v in model.observed]
        natural = dict(zip([v.node for v in model.free], terms.constrained, strict=True))
        for name, node, term in zip(names, nodes, [*terms.priors, *terms.likelihoods], strict=True):
            trouble = _trouble(density, terms, term, position)
            if trouble is None:
                continue
            lines.append(f"  `{name}` has log density {trouble}")
            if node in natural:
                lines.append(f"    its value is {_shown(density, terms, natural[node], position)}")
            for label, parameter in law_of(node).by_name().items():
                (own,) = substitute([parameter], natural)
                called = name_of(parameter)
                title = f"{label} (`{called}`)" if called and called != label else label
                lines.append(f"    {title} = {_shown(density, terms, own, position)}")
        for name, term in zip(model.potentials, terms.potentials, strict=True):
            trouble = _trouble(density, terms, term, position)
            if trouble is not None:
                lines.append(f"  the potential `{name}` is {trouble}")
    if not lines:
        _, gradient = density(position)
        bad = [density.layout.coordinate(int(i)) for i in np.flatnonzero(~np.isfinite(gradient))[:5]]
        lines.append(f"  every term is finite, but the gradient is not, along {', '.join(bad) or 'some coordinate'}")
    return InitialPointError(
        "no starting point with a finite log density was found. At the last one tried:\n"
        + "\n".join(lines)
        + "\nCheck these priors and data, or give a starting value with `initvals=`."
    )


def _trouble(density: ModelDensity, terms: Terms, term: Node, position: Floats) -> str | None:
    try:
        (value,) = evaluate_terms(density, terms, [term], position)
    except Exception as error:
        return f"no value ({error})"
    if np.isfinite(value).all():
        return None
    flat = np.atleast_1d(value)
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(flat))[0])
    count = int((~np.isfinite(flat)).sum())
    where = f" at {place} ({count} of {flat.size} elements are not finite)" if flat.size > 1 else ""
    return f"{float(flat[place])}{where}"


def _shown(density: ModelDensity, terms: Terms, node: Node, position: Floats) -> str:
    try:
        (value,) = evaluate_terms(density, terms, [node], position)
    except Exception as error:
        return f"not computable ({error})"
    return np.array2string(np.asarray(value), precision=4, threshold=6, edgeitems=3).replace("\n", " ")
