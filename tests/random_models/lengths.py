"""Random models beside data of another length: the law that they are then the models that are built with these data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import consilience as pm
from consilience.errors import ShapeError
from tests.random_models.program import Program

Array = npt.NDArray[np.generic]
Builder = Callable[[Program, dict[str, Array]], pm.Model]


def other(program: Program, built: Builder) -> tuple[str, float, float] | None:
    """A size that data alone have, and log densities with more of it: after `pm.set_data`, and built with these data.

    None where no size is of data alone, or the model ties it to a length that is a number.
    """
    program = program.used()
    sizes = [name for name, _ in program.sizes if _is_of_data_alone(program, name)]
    if not sizes or any(line.family == "hidden_markov" for line in program.lines):
        return None
    generator = program.generator("lengths")
    name = sizes[generator.integers(len(sizes))]
    changed = dataclasses.replace(
        program,
        data=tuple(dataclasses.replace(d, container="data") if _has(d.axes, name) else d for d in program.data),
    )
    longer = dataclasses.replace(changed, sizes=tuple((n, v + 2 * (n == name)) for n, v in changed.sizes))
    arrays = {d.name: longer.arrays()[d.name] for d in changed.data if _has(d.axes, name)}
    model = built(changed, changed.arrays())
    try:
        pm.set_data(arrays, model=model)
        point = model.initial_point()
        moved = {key: generator.normal(0.0, 0.5, np.shape(v)) for key, v in point.items()}
        value = float(model.compile_logp()(moved))
    except ShapeError:
        return None  # a length that is a number is said to be one
    anew = built(longer, longer.arrays())
    return name, value, float(anew.compile_logp()(moved))


def _is_of_data_alone(program: Program, size: str) -> bool:
    axes = [d for d in program.data if _has(d.axes, size)]
    shapes = [axis for line in program.lines for axis in line.shape or ()]
    others = [*shapes, *[d.upto for d in program.data], *[t for line in program.lines for t in line.expressions()]]
    return bool(axes) and not _has(others, size)


def _has(texts: tuple[str, ...] | list[str], word: str) -> bool:
    return any(word in re.findall(r"\w+", text) for text in texts)
