"""What is exported: a model's log density and values, or a function, as graphs with names for C.

In: a model or a compiled function. Out: `Exported` functions. Outside: code and files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy.typing as npt

from consilience.backends.c.names import identifier
from consilience.backends.contexts import DEFAULT
from consilience.backends.function import Function
from consilience.distributions.transforms import label
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.lower.specialise import specialise
from consilience.lower.views import static
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.trees import refuse_trees
from consilience.record import Record

Array = npt.NDArray[Any]

TAKEN: Final = frozenset({"workspace", "inputs", "outputs", "scratch"})
"""Names in the C of every function; capitals make no difference, for macros are written in them."""


class Exported(Record, eq=False):
    """A graph as a C function: the names of the function, of its inputs and of its outputs."""

    title: str
    name: str
    inputs: Sequence[Node]
    outputs: Sequence[Node]
    data: Mapping[Node, Array]
    input_names: list[str]
    output_names: list[str]
    remarks: list[str]


def exported(what: Model | Function, own: str, deterministics: bool) -> list[Exported]:
    """The functions of a library with a name: `own`, and for a model `own_values`."""
    if isinstance(what, Model):
        refuse_trees(what, "a library of the log density")
        density = model_density(what)
        return [_density(density, own), _values(density, f"{own}_values", deterministics)]
    if isinstance(what, Function):
        return [_function(what, own)]
    raise ModelError(f"a model or a compiled function can be exported, got {what!r}; compile it with `pm.function`.")


def _density(density: ModelDensity, own: str) -> Exported:
    inputs, outputs, data = density.program()
    if density.without_gradient:
        raise ModelError(f"a library of a model has gradients: {density.without_gradient}")
    remarks = ["The coordinates of a position, on the unconstrained scale:"]
    for s in density.layout.stretches:
        last = s.start + s.size - 1
        where = f"{s.start}" if s.size == 1 else f"{s.start} to {last}"
        shape = f"[{', '.join(map(str, s.shape))}]" if s.shape else ""
        transform = s.variable.sampled
        scale = "" if transform is None else f" ({label(transform)})"
        remarks.append(f"  {where}: {s.variable.name}{shape}{scale}")
    return Exported(
        "The log density of a model and its gradient", own, inputs, outputs, data, ["position"],
        ["log_density", "gradient"], remarks,
    )  # fmt: skip


def _values(density: ModelDensity, own: str, deterministics: bool) -> Exported:
    inputs, found, data = density.values_program(deterministics)
    taken = {*TAKEN, "position"}
    names = [_unique(identifier(name) if name[:1].isalpha() else f"value_{identifier(name)}", taken) for name in found]
    return Exported(
        "The values of a model's variables at a position, on their own scales", own, inputs, list(found.values()), data,
        ["position"], names, [],
    )  # fmt: skip


def _function(function: Function, own: str) -> Exported:
    if function.updates:
        raise ModelError(f"`{function.name}` updates shared variables, which an exported function cannot keep.")
    for node in function.inputs:
        if not all(isinstance(n, int) for n in node.static_shape):
            raise ShapeError(
                f"an exported function has inputs of fixed shapes, and that of {describe(node)} is open: "
                f"{node.static_shape}; declare it as in `pt.tensor('x', shape=(3, 2))`."
            )
    slots = function.get_shared()
    values = DEFAULT.snapshot(slots)
    lengths = function.check_shapes([*(static(n.static_shape) for n in function.inputs), *(v.shape for v in values)])
    nodes, _ = specialise([*function.optimised, *function.inputs, *slots], lengths)
    count, given = len(function.outputs), len(function.inputs)
    inputs, data = nodes[count : count + given], nodes[count + given :]
    names = [_argument(n.name, f"input{i}" if given > 1 else "input") for i, n in enumerate(function.inputs)]
    results = [_argument(n.name, f"output{i}" if count > 1 else "output") for i, n in enumerate(function.outputs)]
    taken = set(TAKEN)
    unique = [_unique(name, taken) for name in [*names, *results]]
    return Exported(
        f"The function {function.name}", own, inputs, nodes[:count], dict(zip(data, values, strict=True)),
        unique[:given], unique[given:], [],
    )  # fmt: skip


def _argument(name: str | None, otherwise: str) -> str:
    return identifier(name) if name and re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else otherwise


def _unique(name: str, taken: set[str]) -> str:
    found = name
    while found.lower() in taken:
        found += "_"
    taken.add(found.lower())
    return found


def size(node: Node) -> int:
    """The number of elements of a tensor of fixed shape."""
    return math.prod(static(node.static_shape))
