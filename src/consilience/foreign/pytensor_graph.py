"""PyTensor's graphs: variables of PyTensor in, tensors of ours that compute the same out.

Ops are known by the names of their classes, so PyTensor itself is never loaded. Whole numbers and floats that
PyTensor keeps in fewer bits where a constant allows it are int64 and float64 here. Rules stand in `pytensor_ops`,
`pytensor_indexing` and `pytensor_matrices`; random variables are rows of `pymc_distributions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.backends import reference
from consilience.engines.reader.rules import Rule, Rules
from consilience.errors import GraphError, MissingRuleError
from consilience.ir import Constant, Input, Node, constant, topological
from consilience.ops.shape import LengthOf
from consilience.ops.sparse.variable import as_sparse_variable

RULES: Final = Rules()
"""Rules by the classes of ops: a translation and an op with its operands in; values of all outputs, or of one, out."""


def from_pytensor(graph: Any, inputs: Mapping[Any, Any] | None = None) -> Any:
    """Tensors that compute what PyTensor's variables do.

    graph: A variable of PyTensor, or a list of them.
    inputs (mapping): Tensors (or arrays) in place of some of its variables; every other one without a value, such as
        `pytensor.tensor.vector("x")`, becomes a variable of ours with its name.
    Returns: A tensor, or a list of them; shared variables become constants with the values they have now.
    Raises MissingRuleError: With the op's name, for what has no translation.
    See from_pymc: A whole model.
    >>> import pytensor.tensor
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pytensor.tensor.dvector("x")
    >>> pm.from_pytensor((x**2).sum(), {x: pt.as_tensor([1.0, 2.0])}).eval().item()
    5.0
    """
    single = not isinstance(graph, list | tuple)
    known = {variable: pt.as_tensor(value) for variable, value in (inputs or {}).items()}
    translation = Translation(known, free_inputs=True)
    found = [translation.tensor(variable) for variable in ([graph] if single else graph)]
    return found[0] if single else found


class Translation:
    """What has been translated so far: values by variables of PyTensor.

    `known`: tensors of the variables to begin with. `free_inputs`: whether variables without a value become inputs; an
    error otherwise.
    """

    def __init__(self, known: Mapping[Any, Any], *, free_inputs: bool = False) -> None:
        self.values: dict[Any, Any] = dict(known)
        self.named: set[Any] = set()  # variables of the model, whose random variables are drawn once
        self.free_inputs = free_inputs

    def __call__(self, variable: Any) -> Any:
        """The value of a variable: a tensor, or what is no tensor (None, a slice, a generator's state)."""
        waiting = [variable]
        while waiting:
            one = waiting[-1]
            if one in self.values:
                waiting.pop()
                continue
            apply = one.owner
            if apply is None:
                self.values[one] = self.leaf(one)
                continue
            missing = [i for i in apply.inputs if i not in self.values]
            if missing:
                waiting += missing
                continue
            for output, value in zip(apply.outputs, self.applied(apply), strict=True):
                self.values.setdefault(output, value)
        return self.values[variable]

    def tensor(self, variable: Any) -> Node:
        """The tensor of a variable."""
        value = self(variable)
        if not isinstance(value, Node):
            raise GraphError(f"{variable} of PyTensor is no tensor but a {type(variable.type).__name__}.")
        return value

    def leaf(self, variable: Any) -> Any:
        """What has no owner: constants, shared variables, inputs."""
        kind = type(variable.type).__name__
        if "Random" in kind:
            return None
        if hasattr(variable, "data"):
            return variable.data if kind in ("NoneTypeT", "SliceType") else _number(variable.data, variable)
        if hasattr(variable, "get_value"):
            return _number(variable.get_value(), variable)
        if not self.free_inputs:
            raise GraphError(f"the graph depends on `{variable}`, an input that belongs to no variable of the model.")
        shape = tuple(getattr(variable.type, "shape", ()))
        return pt.tensor(variable.name, dtype=variable.type.dtype, shape=shape)

    def applied(self, apply: Any) -> Sequence[Any]:
        """Values of the outputs of an op whose inputs are known."""
        found = (rule_of(apply.op) or of_constants)(self, apply)
        if isinstance(found, list):
            return found
        return [None if is_generator(output) else found for output in apply.outputs]

    def arguments(self, apply: Any) -> list[Any]:
        """Values of the inputs of an op."""
        return [self.values[i] for i in apply.inputs]

    def inlined(self, inner_inputs: Sequence[Any], inner_outputs: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """Values of a graph inside an op, for these values of its inputs."""
        inside = Translation(dict(zip(inner_inputs, arguments, strict=True)))
        inside.named = {i for i, value in inside.values.items() if isinstance(value, Node)}
        return [inside(output) for output in inner_outputs]

    def length(self, variable: Any) -> Any:
        """A length: an int where it is known, otherwise a tensor."""
        apply = variable.owner
        kind = None if apply is None else type(apply.op).__name__
        if kind in ("TensorFromScalar", "ScalarFromTensor"):
            return self.length(apply.inputs[0])
        if kind == "Elemwise" and type(apply.op.scalar_op).__name__ == "Cast":
            return self.length(apply.inputs[0])
        if kind == "Subtensor" and variable.type.ndim == 0:
            place = known_integer(self.tensor(apply.inputs[1]))
            if isinstance(place, int):
                return self.lengths(apply.inputs[0])[place]
        return known_integer(self.tensor(variable))

    def lengths(self, variable: Any) -> list[Any]:
        """The elements of a vector of lengths."""
        apply = variable.owner
        kind = None if apply is None else type(apply.op).__name__
        if kind == "MakeVector":
            return [self.length(element) for element in apply.inputs]
        if kind == "Shape":
            return [n if isinstance(n, int) else known_integer(n) for n in self.tensor(apply.inputs[0]).shape]
        if kind == "Join" and hasattr(apply.op, "axis"):
            return [length for part in apply.inputs for length in self.lengths(part)]
        if kind == "DimShuffle" and apply.inputs[0].type.ndim == 0:
            return [self.length(apply.inputs[0])]
        if kind == "Subtensor":
            places = next(_indices(self, apply.op, apply.inputs[1:]))
            found: list[Any] = self.lengths(apply.inputs[0])[places]
            return found
        vector = self.tensor(variable)
        count = vector.static_shape[0]
        if not isinstance(count, int):
            raise GraphError(f"the shape `{variable}` of PyTensor has an unknown number of axes.")
        return [known_integer(vector[k]) for k in range(count)]


def known_integer(node: Node) -> Any:
    """The integer that a tensor without inputs is; the tensor itself where it has inputs."""
    value = known(node)
    return node if value is None else int(value)


def known(node: Node) -> npt.NDArray[Any] | None:
    """The value of a tensor without inputs; None for others."""
    graph = topological([node])
    if any(isinstance(n.op, Input) and not isinstance(n.op, Constant) for n in graph):
        return None
    if any(isinstance(n.op, LengthOf) or not all(isinstance(m, int) for m in n.static_shape) for n in graph):
        return None
    return np.asarray(reference.evaluate([node], {})[0])


def of_constants(t: Translation, apply: Any) -> Any:
    """Values that PyTensor computes itself: those of an op without rule whose inputs are constants."""
    arguments = [known(value) if isinstance(value, Node) else value for value in t.arguments(apply)]
    if not all(isinstance(value, np.ndarray) for value in arguments):
        raise MissingRuleError(
            f"PyTensor's op `{name_of(apply.op)}` has no translation (in the computation of "
            f"`{_named(apply)}`); write that part of the model here, or give its values as data."
        )
    given = [i.type.filter(value, allow_downcast=True) for i, value in zip(apply.inputs, arguments, strict=True)]
    made: list[list[Any]] = [[None] for _ in apply.outputs]
    apply.op.perform(apply, given, made)
    return [_number(value, output) for (value,), output in zip(made, apply.outputs, strict=True)]


def rule_of(op: Any) -> Rule | None:
    """The rule for an op, by its class or a class that it inherits from."""
    names = [c.__name__ for c in type(op).__mro__]
    if "XOp" in names:  # on named axes; `Dot` is a class of both kinds
        return RULES["XOp"]
    return next((RULES[name] for name in names if name in RULES), None)


def name_of(op: Any) -> str:
    """The name of an op for messages, that of what it applies elementwise or to matrices included."""
    inner = getattr(op, "scalar_op", None) or getattr(op, "core_op", None)
    own = type(op).__name__
    return own if inner is None else f"{own}({type(inner).__name__})"


def _named(apply: Any) -> str:
    output = next((o for o in apply.outputs if o.name), apply.outputs[0])
    return str(output)


def is_generator(variable: Any) -> bool:
    """Whether a variable is the state of a random generator."""
    return "Random" in type(variable.type).__name__


def _number(value: Any, variable: Any) -> Any:
    """A constant, in double precision."""
    if hasattr(value, "tocsr"):
        return as_sparse_variable(value.astype("float64"))
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        return constant(array.astype("int64"))
    if array.dtype.kind == "f":
        return constant(array.astype("float64"))
    if array.dtype.kind == "b":
        return constant(array)
    raise MissingRuleError(f"the constant `{variable}` of PyTensor has dtype {array.dtype}, which has no translation.")


def _indices(t: Translation, op: Any, variables: Sequence[Any]) -> Iterator[Any]:
    """The elements of an index; `op.idx_list`, where there is one, says which variables are ends of slices."""
    left = iter(variables)
    for entry in getattr(op, "idx_list", variables):
        if isinstance(entry, slice):
            ends = (None if end is None else t.length(next(left)) for end in (entry.start, entry.stop, entry.step))
            yield slice(*ends)
            continue
        value = t(next(left))
        if not isinstance(value, Node):  # None, for a new axis, or a slice
            yield value
        elif value.ndim == 0:
            yield known_integer(value)
        elif value.dtype == "bool" and isinstance(value.op, Constant):
            yield from np.nonzero(value.op.array)
        else:
            yield value


def index_of(t: Translation, op: Any, variables: Sequence[Any]) -> tuple[Any, ...]:
    """The index that an op of indexing applies."""
    return tuple(_indices(t, op, variables))
