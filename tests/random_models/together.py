"""Random models with features of models that meet: the law that the density is the same, or differs as a formula says.

One likelihood of a location and a scale is written as a custom distribution, truncated, censored, mixed by a variable
that is summed out, and weighed as a batch is; some of its data are missing; axes have names; the model is pickled; the
backend is another one. Which of it is decided by the number of the program.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
import consilience.tensor as pt
from consilience.model.log_density import model_density
from consilience.model.starting_point import starting_position
from tests.random_models.densities import FAMILIES
from tests.random_models.dialect import NUMPY, evaluate
from tests.random_models.program import Line, Program

Array = npt.NDArray[Any]
Maker = Callable[..., Any]
Builder = Callable[[Program, dict[str, Array], Mapping[str, Maker]], pm.Model]
LOCATIONS = {
    "Normal": ("mu", "sigma"), "Laplace": ("mu", "b"), "Logistic": ("mu", "s"), "Gumbel": ("mu", "beta"),
}  # fmt: skip
FAR = 1e5  # beyond all that these distributions give
FEATURES = ("custom", "truncated", "censored", "marginalised", "batch", "missing", "dims", "pickled", "backend")
SHARE, MOVED, WEIGHT = 0.25, 1.25, 3


def found(program: Program, built: Builder, natural: Mapping[str, Any], point: Mapping[str, Array]) -> Any:
    """The features, the log density without Jacobians, and what it should be; None without such a likelihood."""
    lines = [line for line in program.lines if line.observed and _has_location(line)]
    if not lines:
        return None
    generator = program.generator("together")
    line = lines[generator.integers(len(lines))]
    chosen = {f for f in FEATURES if generator.random() < 0.5}
    arrays = program.arrays()
    alone = [d for d in program.data if d.name == line.observed and d.container == "array"]
    texts = [t for other in program.lines for t in other.expressions() if t is not line.observed]
    if (
        not alone
        or any(line.observed in t for t in texts)
        or sum(other.observed == line.observed for other in program.lines) > 1
        or not np.size(natural[line.observed])
        or not np.ndim(natural[line.observed])
    ):
        chosen -= {"missing"}
    if "censored" in chosen:
        chosen -= {"missing"}  # a mass beside a density
    value = np.asarray(natural[line.name])
    if not value.ndim or not value.size or "missing" in chosen:
        chosen -= {"batch"}
    if "marginalised" in chosen and 1 in value.shape:  # one element counts as shared by all rows
        chosen -= {"batch"}
    plain = built(program, program.arrays(), {})
    expected = float(plain.compile_logp(jacobian=False)(point))
    family = FAMILIES[line.family]
    given = {name: evaluate(text, NUMPY, dict(natural)) for name, text in line.arguments}
    term = family.formula(value, *family.values(given))
    expected -= float(np.sum(term))
    if "marginalised" in chosen:
        location = LOCATIONS[line.family][0]
        other = family.formula(value, *family.values({**given, location: given[location] + MOVED}))
        term = np.logaddexp(np.log1p(-SHARE) + term, np.log(SHARE) + other)
    expected += float(np.sum(term)) * (WEIGHT if "batch" in chosen else 1)
    point = dict(point)
    if "missing" in chosen:
        mask = generator.random(value.shape) < 0.4
        arrays[line.observed] = np.ma.masked_array(value, mask)
    model = built(program, arrays, {line.name: _maker(line, chosen, value)})
    if "pickled" in chosen:
        model = pickle.loads(pickle.dumps(model))
    density = model_density(model, "reference" if "backend" in chosen else "llvm", jacobian=False)
    shapes = model.eval_rv_shapes()
    if f"{line.name}_unobserved" in shapes:
        lacking = value[np.ma.getmaskarray(arrays[line.observed])]
        point[f"{line.name}_unobserved"] = lacking.reshape(shapes[f"{line.name}_unobserved"])
    position = starting_position(model, density.layout, density.lengths, point)
    return ", ".join(sorted(chosen)), float(density(position)[0]), expected


def _has_location(line: Line) -> bool:
    names = {name for name, _ in line.arguments}
    return line.family in LOCATIONS and names == set(LOCATIONS[line.family])


def _maker(line: Line, chosen: set[str], value: Array) -> Maker:
    """What makes the variable of a line with some features."""
    base = getattr(pm, line.family)

    def make(name: str, **given: Any) -> Any:
        location, scale = (given.pop(word) for word in LOCATIONS[line.family])
        settings = {"observed": given.pop("observed"), **given}
        if "dims" in chosen:
            model = pm.modelcontext(None)
            names = [f"{name}_axis{i}" for i in range(value.ndim)]
            for axis, length in zip(names, value.shape, strict=True):
                model.add_coord(axis, range(length))
            settings["dims"] = names
        if "batch" in chosen:
            settings["total_size"] = WEIGHT * value.shape[0]
        if "marginalised" in chosen:
            shape = {"dims": settings["dims"]} if "dims" in chosen else {"shape": value.shape}
            location = location + MOVED * pm.Bernoulli(f"{name}_z", SHARE, **shape)
        steps: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [(base, (location, scale), {})]
        if "custom" in chosen:

            def dist(m: Any, s: Any, size: Any) -> Any:
                return m + s * base.dist(0.0, 1.0, size=size)

            full = pt.zeros(value.shape)
            steps = [(pm.CustomDist, (location + full, scale + full), {"dist": dist})]
        for feature, ends in (
            ("truncated", {"lower": -FAR, "upper": FAR}),
            ("censored", {"lower": -FAR, "upper": FAR}),
        ):
            if feature in chosen:
                family, parameters, words = steps[-1]
                steps.append((getattr(pm, feature.title()), (family.dist(*parameters, **words),), ends))
        family, parameters, words = steps[-1]
        return family(name, *parameters, **words, **settings)

    return make
