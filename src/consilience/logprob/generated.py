"""Random variables that have the distribution of a graph: of what `CustomDist(dist=)` makes, and of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from consilience.distributions.parameters import is_given
from consilience.distributions.shapes import broadcast, same_shape, text, wanted_shape
from consilience.errors import MissingRuleError, ShapeError
from consilience.ir import Node, Shape, substitute, topological
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import describe, pass_on
from consilience.logprob.derivation import derive, is_measurable
from consilience.logprob.derived import stand_in, variable_of
from consilience.logprob.loops import written_out
from consilience.logprob.numeric_inverse import numeric_inverses
from consilience.ops.elementwise import TensorLike, cast


def held(graph: Node, given: Callable[[Node], bool] = is_given) -> tuple[Node, dict[Node, Node]]:
    """The graph with an input in place of each node that is given, and what each input stands for."""
    inputs = {n: stand_in(n) for n in topological([graph], stop=given) if given(n)}
    if not inputs:
        return graph, {}
    (result,) = substitute([graph], inputs)
    pass_on(graph, result)
    return result, {own: n for n, own in inputs.items()}


def _variable(
    title: str,
    graph: Node,
    parameters: Sequence[Node] = (),
    given: Callable[[Node], bool] = is_given,
    support_point: Callable[..., TensorLike] | None = None,
    numeric_inverse: bool = False,
) -> Node:
    """As `variable_of`, of a graph as it was written; nodes that are given are held fixed, and become parameters."""
    graph, fixed = held(graph, given)
    with numeric_inverses(numeric_inverse):
        (graph,) = written_out([cast(graph, "int64") if graph.dtype == "bool" else graph])
    made = variable_of(title, graph, parameters, support_point, numeric_inverse)
    return Node(made.op, made.inputs[0], *(fixed.get(value, value) for value in made.inputs[1:])) if fixed else made


@means("derived_variable")
def derived_variable(graph: Node, given: Callable[[Node], bool] = is_given) -> Node:
    """A random variable that has the distribution of an expression of random variables outside any model.

    Parameters
    ----------
    given : callable, optional
        Which nodes are held fixed, and stay parameters of the result; by default variables of the model and rows of a
        batch.

    Raises
    ------
    MissingRuleError
        That names the node whose density cannot be derived.
    """
    return _variable("a derived distribution", graph, given=given)


@means("generated_variable")
def generated_variable(
    title: str,
    function: Callable[..., Any],
    parameters: Sequence[Node],
    shape: Any,
    size: Any,
    support_point: Callable[..., TensorLike] | None,
    numeric_inverse: bool,
) -> Node:
    """A random variable that has the distribution of what a function makes.

    Its parameters, variables of the model and rows of a batch are held fixed.

    Parameters
    ----------
    function : callable
        (*parameters, size) -> an expression of random variables; `size` is the shape without the axes of one event, or
        None.
    numeric_inverse : bool
        As for `logp`.
    """
    stand_ins = [stand_in(p) for p in parameters]
    if shape is not None and size is not None:
        raise TypeError(f"{title}: give `shape` (with the axes of one event) or `size` (without), not both.")
    trial, rank = None, 0
    try:
        trial = _made(title, function, stand_ins, None)
        with numeric_inverses(numeric_inverse):
            rank = -min(derive(written_out([held(trial)[0]])[0]).event_axes, default=0)
    except MissingRuleError:
        # A parameter may have axes that the variables get by `size` alone.
        if shape is None and size is None:
            size = broadcast([p.static_shape for p in parameters], title)
            if not size:
                raise
    wanted = None if size is None else wanted_shape(title, size, "size")
    full = wanted
    if shape is not None:
        full = wanted_shape(title, shape, "shape")
        wanted = full[: len(full) - rank]
    graph = trial if trial is not None and wanted is None else _made(title, function, stand_ins, wanted)
    made = _variable(title, graph, stand_ins, support_point=support_point, numeric_inverse=numeric_inverse)
    own = made.static_shape if size is None else made.static_shape[: made.ndim - rank]
    if full is not None and not same_shape(own, full):
        raise ShapeError(
            f"{title}: `dist` made {describe(graph)} where the {'size' if shape is None else 'shape'} {text(full)} was "
            "asked for; give `size=size` to the random variables that it makes."
        )
    replaced = dict(zip(stand_ins, parameters, strict=True))
    return Node(made.op, made.inputs[0], *(replaced.get(value, value) for value in made.inputs[1:]))


def _made(title: str, function: Callable[..., Any], parameters: Sequence[Node], size: Shape | None) -> Node:
    made = function(*parameters, size)
    if isinstance(made, Node) and is_measurable(written_out([held(made)[0]])[0]):
        return made
    raise TypeError(
        f"{title}: `dist` must return an expression of random variables such as `pm.Normal.dist(mu, size=size)`, "
        f"got {describe(made) if isinstance(made, Node) else repr(made)}."
        + (" Variables of the model are held fixed in it." if isinstance(made, Node) and is_measurable(made) else "")
    )
