"""The op of a random variable: a distribution with its parameters and a random key."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

from consilience.distributions.shapes import batch_shape_constraints
from consilience.errors import DtypeError, MissingRuleError
from consilience.ir import Input, Node, Op, Shape, TensorType, tensor_input, topological
from consilience.ir.arithmetic import means
from consilience.ir.lengths import sources_of
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe, name_of
from consilience.ops.random import fold_in

if TYPE_CHECKING:
    from consilience.distributions.distribution import Distribution


# Name of the variable that draws the rows of a batch.
ROWS: Final = "minibatch rows"


class RandomVariable(Op):
    """A draw from a distribution; inputs are a random key, the canonical parameters, and those of its components.

    `distribution`: the declaration. `settings`: values of its parameters that are no tensors, in order. `components`:
    for each parameter that is a distribution, or several, the ops of these; the inputs of all, their keys left out,
    follow the parameters.

    A fresh key is an input without a name. It makes two variables of equal parameters two nodes, and is replaced by
    an independent key where the variable is drawn.
    """

    random = True
    distribution: type[Distribution]
    shape: Shape
    dtype: str
    settings: tuple[Hashable, ...] = ()
    components: tuple[tuple[RandomVariable, ...], ...] = ()

    @property
    def name(self) -> str:
        """The distribution's name in small letters, by which programs tell variables apart."""
        return self.distribution.title.lower()

    def result_type(self, *inputs: Node) -> TensorType:
        if not inputs or inputs[0].dtype != "key":
            raise DtypeError(f"a random variable needs a random key first, got {inputs[:1]!r}.")
        return TensorType(self.dtype, self.shape)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        bound = self.bind(inputs)
        batch = batch_part(self.shape, bound)
        return tuple(
            shape_constraint for own in bound.batch_shapes() for shape_constraint in batch_shape_constraints(batch, own)
        )

    def bind(self, inputs: Sequence[Node]) -> Distribution:
        """The distribution bound to the inputs of a node of this op."""
        key, *rest = inputs
        position = self.distribution.parameter_count(self.settings)
        parameters = rest[:position]
        components: list[tuple[Node, ...]] = []
        for ops in self.components:
            group = []
            for op in ops:
                operands = rest[position : position + op.operand_count()]
                position += len(operands)
                group.append(Node(op, fold_in(key, position), *operands))
            components.append(tuple(group))
        return self.distribution.bound(parameters, self.settings, components)

    def operand_count(self) -> int:
        """Number of inputs besides the key."""
        nested = sum(op.operand_count() for ops in self.components for op in ops)
        return self.distribution.parameter_count(self.settings) + nested

    def __repr__(self) -> str:
        return self.distribution.title


@means("is_random")
def is_random(node: Node) -> bool:
    """Whether a node is a random variable."""
    return isinstance(node.op, RandomVariable)


def is_rows(node: Node) -> bool:
    """Whether a random variable draws the rows of a batch."""
    return name_of(node) == ROWS


def batch_part(shape: Shape, distribution: Distribution) -> Shape:
    """The leading axes of a shape, before those of one event."""
    return shape[: len(shape) - distribution.event_rank]


def fresh_key() -> Node:
    """A key that is replaced wherever something is drawn."""
    return tensor_input("key", ())


@means("fresh_keys")
def fresh_keys(outputs: Sequence[Node]) -> list[Node]:
    """The fresh keys on which a graph depends: those of random variables, parents first, then others."""
    order = topological([*outputs, *sources_of(outputs)])
    own = [node.inputs[0] for node in order if isinstance(node.op, RandomVariable)]
    every = [node for node in (*own, *order) if isinstance(node.op, Input) and node.dtype == "key"]
    return [node for node in dict.fromkeys(every) if name_of(node) is None]


def random_variables(outputs: Sequence[Node]) -> list[Node]:
    """The random variables on which a graph depends, parents first."""
    return [node for node in topological(outputs) if isinstance(node.op, RandomVariable)]


def variable_of(node: Node, wanted: str) -> RandomVariable:
    """The op of a random variable; MissingRuleError for any other node."""
    if not isinstance(node, Node):
        raise TypeError(f"`{wanted}` needs a random variable such as `Normal.dist(0, 1)`, got {node!r}.")
    if not isinstance(node.op, RandomVariable):
        raise MissingRuleError(
            f"`{wanted}` is known for variables of a distribution, not for {describe(node)}; "
            "give the variable itself, or a `CustomDist` with its own `logp`."
        )
    return node.op


def distribution_of(rv: Node, wanted: str = "distribution_of") -> Distribution:
    """The distribution of a random variable, bound to its parameters."""
    return variable_of(rv, wanted).bind(rv.inputs)
