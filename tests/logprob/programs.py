"""Programs made at random of distributions, functions and parameters, behind each door by which a density is derived.

A plan (a seed and a number) in; a model whose variable `y` has the plan's distribution, and the same with numbers in
place of parameters, out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node

# A variable with two parameters: a real number and another, of which functions make what is asked for.
VARIABLES: dict[str, Callable[..., Node]] = {
    "Normal": lambda a, b, size: pm.Normal.dist(a, pt.exp(0.3 * b), size=size),
    "standard Normal": lambda a, b, size: pm.Normal.dist(0.0, 1.0, size=size),
    "Laplace": lambda a, b, size: pm.Laplace.dist(a, pt.exp(0.3 * b), size=size),
    "Logistic": lambda a, b, size: pm.Logistic.dist(a, 0.5 + pt.sigmoid(b), size=size),
    "Exponential": lambda a, b, size: pm.Exponential.dist(pt.exp(0.4 * a), size=size),
    "Gamma": lambda a, b, size: pm.Gamma.dist(2.0 + pt.exp(0.3 * a), pt.exp(0.3 * b), size=size),
    "Beta": lambda a, b, size: pm.Beta.dist(1.5 + pt.sigmoid(a), 2.0 + pt.sigmoid(b), size=size),
    "Uniform": lambda a, b, size: pm.Uniform.dist(a, a + pt.exp(0.3 * b), size=size),
    "StudentT": lambda a, b, size: pm.StudentT.dist(6.0, a, pt.exp(0.3 * b), size=size),
    "Gumbel": lambda a, b, size: pm.Gumbel.dist(a, pt.exp(0.2 * b), size=size),
    "Poisson": lambda a, b, size: pm.Poisson.dist(pt.exp(0.4 * a + 0.5), size=size) * 1.0,
    "HurdleGamma": lambda a, b, size: pm.HurdleGamma.dist(0.3 + 0.5 * pt.sigmoid(a), 2.5, pt.exp(0.3 * b), size=size),
    "Censored": lambda a, b, size: pm.Censored.dist(pm.Normal.dist(a, 1.0), b - 0.5, b + 1.0, size=size),
    "sum of two": lambda a, b, size: (
        pm.Normal.dist(a, 1.0, size=size) + pm.Normal.dist(0.0, pt.exp(0.3 * b), size=size)
    ),
}
STEPS: dict[str, Callable[..., Node]] = {
    "shifted": lambda x, a: x + a,
    "shifted twice": lambda x, a: a + x - 0.5 * a,
    "taken from": lambda x, a: a - x,
    "scaled": lambda x, a: pt.exp(0.3 * a) * x,
    "over": lambda x, a: x / (0.5 + pt.sigmoid(a)),
    "location and scale": lambda x, a: a + pt.exp(0.2 * a) * x,
    "exponential": lambda x, a: pt.exp(0.3 * x + 0.2 * a),
    "of the size": lambda x, a: pt.log1p(pt.abs(x)) + 0.3 * a,
    "sinh": lambda x, a: pt.sinh(0.2 * x) + a,
    "sigmoid": lambda x, a: pt.sigmoid(0.5 * x - 0.3 * a),
    "power": lambda x, a: pt.softplus(x) ** (0.6 + 0.4 * pt.sigmoid(a)),
    "clipped": lambda x, a: pt.clip(x, a - 1.0, a + 1.5),
    "not below": lambda x, a: pt.maximum(x, 0.5 * a),
    "floor": lambda x, a: pt.floor(2.0 * x + a),
}
PAIRS: dict[str, Callable[..., Node]] = {
    "mixture": lambda x, y, a, size: pt.switch(pm.Bernoulli.dist(0.2 + 0.6 * pt.sigmoid(a), size=size), x, y),
    "greater": lambda x, y, a, size: pt.maximum(x, y + 0.2 * a),
    "known choice": lambda x, y, a, size: pt.switch(a > 0.0, x, y),
}
KINDS = ("number", "variable", "data", "expression", "captured")
DOORS = ("CustomDist", "Mixture", "Mixture of one batch", "Truncated", "Censored", "marginalized")


@dataclass(frozen=True)
class Plan:
    """What to build.

    tree     a name of VARIABLES with two places of parameters, a step on something smaller with one, or a pair
    kinds    of each parameter
    """

    door: str
    tree: Any
    kinds: tuple[str, ...]
    start: tuple[float, ...]

    def moved(self, place: int, by: float) -> Plan:
        """The same with another value of one parameter."""
        start = (*self.start[:place], self.start[place] + by, *self.start[place + 1 :])
        return Plan(self.door, self.tree, self.kinds, start)


def planned(seed: int, number: int) -> Plan:
    """The plan `number` of `seed`."""
    rng = np.random.default_rng([seed, number])
    count = int(rng.integers(1, 5))

    def parameter() -> int:
        return int(rng.integers(count))

    def tree(depth: int) -> Any:
        chance = rng.random()
        if depth == 0 or chance < 0.15:
            return (str(rng.choice(list(VARIABLES))), parameter(), parameter())
        if chance < 0.85:
            return (str(rng.choice(list(STEPS))), tree(depth - 1), parameter())
        return (str(rng.choice(list(PAIRS))), tree(depth - 1), tree(depth - 1), parameter())

    door = DOORS[number // 2 % len(DOORS)] if number % 2 else "CustomDist"  # few of them have each
    made = tree(int(rng.integers(1, 4)))
    kinds = tuple(str(rng.choice(KINDS)) for _ in range(count))
    return Plan(door, made, kinds, tuple((rng.normal(0.0, 45.0, count).round() / 64).tolist()))


def expression(tree: Any, values: list[Any], size: Any) -> Node:
    """The random expression of a tree."""
    name = tree[0]
    if name in VARIABLES:
        return VARIABLES[name](values[tree[1]], values[tree[2]], size)
    if name in STEPS:
        return STEPS[name](expression(tree[1], values, size), values[tree[2]])
    parts = [expression(part, values, size) for part in tree[1:3]]
    return PAIRS[name](*parts, values[tree[3]], size)


def drawn(plan: Plan, count: int, seed: int) -> np.ndarray:
    """Draws of the plan's distribution with numbers for parameters, which no derived density has a part in."""
    values = [pt.as_tensor(float(v)) for v in plan.start]
    a, rng = plan.start[0], np.random.default_rng(seed)
    x = np.asarray(pm.draw(expression(plan.tree, values, (count,)), random_seed=seed), "float64")
    match plan.door:
        case "Mixture" | "marginalized":
            return np.where(rng.random(count) < 0.3, x, rng.normal(a, 1.0, count))
        case "Mixture of one batch":
            other = np.asarray(pm.draw(expression(plan.tree, values, (count,)), random_seed=seed + 1), "float64")
            return np.where(rng.random(count) < 0.3, x, other)
        case "Truncated":
            return x[(x >= a - 0.7) & (x <= a + 1.1)]
        case "Censored":
            return np.clip(x, a - 0.7, a + 1.1)
    return x


def model_of(plan: Plan, at: np.ndarray) -> tuple[pm.Model, dict[str, Any]]:
    """A model in which `y` is observed at values, and the point at which its free parameters have theirs."""
    point: dict[str, Any] = {}
    with pm.Model() as model:
        values: list[Any] = []
        for place, (kind, value) in enumerate(zip(plan.kinds, plan.start, strict=True)):
            name = f"p{place}"
            if kind == "number":
                values.append(pt.as_tensor(float(value)))
                continue
            if kind == "data":
                values.append(pm.Data(name, float(value)))
                continue
            free = pm.Normal(name, 0.0, 1.0)
            point[name] = np.asarray(value if kind != "expression" else 0.5 * (value - 0.25))
            values.append(2.0 * free + 0.25 if kind == "expression" else free)
        captured = [kind == "captured" for kind in plan.kinds]

        def dist(*given: Any) -> Node:
            *own, size = given
            rest = iter(own)
            return expression(plan.tree, [v if c else next(rest) for v, c in zip(values, captured, strict=True)], size)

        parameters = [v for v, c in zip(values, captured, strict=True) if not c]
        shape, a = (len(at),), values[0]
        match plan.door:
            case "CustomDist":
                pm.CustomDist("y", *parameters, dist=dist, observed=at)
            case "Mixture":
                part = expression(plan.tree, values, None)
                pm.Mixture("y", [0.3, 0.7], [part, pm.Normal.dist(a, 1.0)], observed=at)
            case "Mixture of one batch":
                pm.Mixture("y", [0.3, 0.7], pm.CustomDist.dist(*parameters, dist=dist, shape=2), observed=at)
            case "Truncated":
                pm.Truncated("y", expression(plan.tree, values, None), lower=a - 0.7, upper=a + 1.1, observed=at)
            case "Censored":
                pm.Censored("y", expression(plan.tree, values, None), lower=a - 0.7, upper=a + 1.1, observed=at)
            case "marginalized":
                z = pm.Bernoulli("z", 0.7, shape=shape)

                def chosen(z: Any, *given: Any) -> Node:
                    *own, size = given
                    return pt.where(z, pm.Normal.dist(own[-1], 1.0, size=size), dist(*own[:-1], size))

                pm.CustomDist("y", z, *parameters, a, dist=chosen, observed=at)
    return model, point


def log_density(plan: Plan, at: np.ndarray) -> np.ndarray:
    """Log density of `y` at values, each for itself, from the compiled model."""
    model, point = model_of(plan, at)
    if plan.door == "marginalized":
        model = pm.marginalize(model, "z")
        (found,) = model.compile_logp(vars=[model["y"]], sum=False)(point)
        return np.asarray(found)
    (found,) = model.compile_logp(vars=[model["y"]], sum=False)(point)
    return np.asarray(found)
