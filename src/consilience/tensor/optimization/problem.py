"""An optimisation problem as a function of one vector: variables of any shapes packed, everything else an operand.

Expressions and the variables in them in; expressions of leaves out, of which a loop can be written, and the solution as
one call with the derivative of an implicit function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from consilience.errors import DisconnectedInputError, DtypeError, GraphError, ShapeError
from consilience.ir import FLOATS, Constant, Dim, Node, tensor_input, topological, with_lengths
from consilience.ir.dimension import Atom, as_symbol, product
from consilience.ir.lengths import substitute
from consilience.ir.side_tables import describe, name_of
from consilience.ops.elementwise import TensorLike, as_tensor, cast
from consilience.ops.loop import fresh, outside
from consilience.ops.shape import concatenate, reshape
from consilience.record import Record
from consilience.tensor.functions import OpFromGraph
from consilience.tensor.optimization.implicit import cotangents
from consilience.tensor.optimization.iteration import either, where

Method = Callable[[Node, list[Node]], tuple[Node, Node]]


class Problem(Record, eq=False):
    """What is to be solved.

    `expressions`: of `leaf` and `inside`: the objective, or the equations.
    `leaf`: the vector that stands for all variables; a scalar where the problem is one in a scalar.
    `inside`: leaves that stand for the operands.
    `start`: what the leaves stand for.
    `operands`: what the leaves stand for.
    `shapes`: of the variables.
    """

    expressions: tuple[Node, ...]
    leaf: Node
    inside: tuple[Node, ...]
    start: Node
    operands: tuple[Node, ...]
    shapes: tuple[tuple[Dim, ...], ...]

    def at(self, *expressions: Node) -> Callable[[Node], Any]:
        """Expressions as a function of the variables: one value, or a list."""

        def evaluate(point: Node) -> Any:
            found = substitute(expressions, {self.leaf: point})
            return found[0] if len(found) == 1 else found

        return evaluate

    def parts(self, whole: Node) -> list[Node]:
        """The variables that a vector holds."""
        return _parts(whole, self.shapes)

    def solution(
        self,
        name: str,
        method: Method,
        equations: Node,
        more: Sequence[Node] = (),
        fixed: Callable[[Node, list[Node]], list[Node]] | None = None,
    ) -> tuple[list[Node], Node]:
        """The variables at the solution, and whether it is one; a call that is differentiated by its equations.

        `method`: of the start and of leaves for `more`: gives the solution and whether it is one. `equations`: of
        `leaf` and `inside`, zero at the solution. `more`: operands that the method alone reads; the solution does not
        depend on them, unless it is one of them. `fixed`: of the solution and the leaves for `more`: masks of the
        variables that lie on bounds, and move with them alone; if there are `more`, one mask for each.
        """
        added = [fresh(node) for node in more]
        begin = fresh(self.leaf)
        found, success = method(begin, added)

        def pullback(inputs: list[Node], made: list[Node], seeds: list[Node]) -> list[Node | None]:
            solution, done = made
            masks = [] if fixed is None else fixed(solution, added)
            still = either(*masks) if masks else None
            slopes = cotangents(equations, self.leaf, self.inside, solution, done, seeds[0], still)
            resting = [where(mask, seeds[0], 0.0) for mask in masks]
            factor = where(done, 1.0, float("nan")).astype(solution.dtype)
            moved: list[Node | None] = [slope * factor for slope in resting]
            moved = moved or [None] * len(added)
            return [None, *moved[: len(added)], *slopes]

        call = OpFromGraph([begin, *added, *self.inside], [found, success], pullback=pullback, name=name)
        whole, done = call(self.start, *more, *self.operands)
        return self.parts(whole), done


def problem(
    name: str,
    expressions: Sequence[TensorLike],
    variables: Sequence[Node],
    start: Sequence[TensorLike] | None,
    scalar: bool,
) -> Problem:
    """The problem that expressions of some variables pose.

    `start`: first values of the variables; by default their own.
    `scalar`: whether there is one variable of rank 0, which stays a scalar.
    Raises GraphError.
    Raises DtypeError.
    Raises ShapeError: and.
    Raises DisconnectedInputError for variables that cannot be searched for.
    """
    nodes = [as_tensor(e) for e in expressions]
    for node in nodes:
        if node.dtype not in FLOATS:
            raise DtypeError(f"`{name}` needs an expression of floats, got {describe(node)}; convert it by `.astype`.")
    reached = set(topological(nodes))
    for variable in variables:
        _check_variable(name, variable, reached, scalar)
    if len({v.dtype for v in variables}) != 1:
        raise DtypeError(f"the variables of `{name}` need one dtype, got {', '.join(describe(v) for v in variables)}.")
    dtype = variables[0].dtype
    begins = [as_tensor(v) for v in (variables if start is None else start)]
    if len(begins) != len(variables):
        raise GraphError(f"`x0` of `{name}` must give a value for each of {len(variables)} variables.")
    lengths: dict[Atom, Dim] = {}
    for variable, begin in zip(variables, begins, strict=True):
        if begin.ndim != variable.ndim:
            raise ShapeError(f"`x0` of `{name}` must have the shape of {describe(variable)}, got {describe(begin)}.")
        for own, given in zip(variable.static_shape, begin.static_shape, strict=True):
            symbol = as_symbol(own)
            if symbol is not None and own is not given:
                lengths[symbol] = given
            elif isinstance(own, int) and isinstance(given, int) and own != given:
                raise ShapeError(
                    f"`x0` of `{name}` must have the shape of {describe(variable)}, got {describe(begin)}."
                )
    stands = [fresh(v) for v in variables]
    nodes = substitute(nodes, dict(zip(variables, stands, strict=True)))
    if lengths:
        changed = with_lengths([*nodes, *stands], lengths, frozenset(stands))
        nodes, stands = changed[: len(nodes)], changed[len(nodes) :]
    shapes = tuple(s.static_shape for s in stands)
    packed = begins[0] if scalar else _packed(begins)
    start_node = packed if packed.dtype == dtype else cast(packed, dtype)
    leaf = tensor_input(dtype, () if scalar else _packed(stands).static_shape, name_of(variables[0]))
    nodes = substitute(nodes, dict(zip(stands, _parts(leaf, shapes), strict=True)))
    nodes = [node if node.dtype == dtype else cast(node, dtype) for node in nodes]
    operands = outside(nodes, [leaf])
    inside = [tensor_input(o.dtype, o.static_shape, name_of(o)) for o in operands]
    nodes = substitute(nodes, dict(zip(operands, inside, strict=True)))
    return Problem(tuple(nodes), leaf, tuple(inside), start_node, tuple(operands), shapes)


def _check_variable(name: str, variable: Any, reached: set[Node], scalar: bool) -> None:
    if not isinstance(variable, Node):
        raise TypeError(f"`{name}` searches for variables such as `pt.vector('x')`, got {variable!r}.")
    if isinstance(variable.op, Constant):
        raise GraphError(
            f"`{name}` cannot search for a constant, {describe(variable)}; write the expression with a variable such "
            "as `pt.vector('x')`, and give the constant as `x0`."
        )
    if variable.dtype not in FLOATS:
        raise DtypeError(f"`{name}` searches for floats, got {describe(variable)}.")
    if scalar and variable.ndim:
        raise ShapeError(f"`{name}` searches for a scalar, got {describe(variable)}; `{name[:-7]}` takes tensors.")
    if variable not in reached:
        raise DisconnectedInputError(f"the expression of `{name}` does not depend on {describe(variable)}.")


def _packed(parts: Sequence[Node]) -> Node:
    flat = [part if part.ndim == 1 else reshape(part, (-1,)) for part in parts]
    return flat[0] if len(flat) == 1 else concatenate(flat)


def _parts(whole: Node, shapes: Sequence[tuple[Dim, ...]]) -> list[Node]:
    """Tensors of given shapes, one behind the other in a vector; a scalar is one by itself."""
    if not whole.ndim:
        return [whole]
    found = []
    place: Dim = 0
    for shape in shapes:
        size = product(shape)
        part = whole if len(shapes) == 1 else whole[place : place + size]
        found.append(part if len(shape) == 1 else reshape(part, shape))
        place = place + size
    return found
