"""Graphs taken apart, changed and made, under the names of `pytensor.graph`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from consilience.errors import GraphError
from consilience.first_use import load_on_use
from consilience.ir import Constant, Input, Node, Shared, is_leaf, topological, with_lengths
from consilience.ir import dimension as dims
from consilience.ir.arithmetic import like, plain
from consilience.ir.lengths import substitute
from consilience.ir.side_tables import describe
from consilience.ops import as_tensor
from consilience.rewrite.rules import simplify
from consilience.tensor.python_ops import Apply, Op
from consilience.transforms.vectorize import vectorize_graph

if TYPE_CHECKING:
    Variable = Node
else:

    class _OfGraphs(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, Node) or plain(value) is not value

    class AnyVariable(metaclass=_OfGraphs):
        """A value of a graph, with named dims or without, for `isinstance`.

        See Also
        --------
        ancestors : All those that a graph computes.

        Examples
        --------
        >>> import consilience.tensor as pt, consilience.xtensor as px
        >>> from consilience.graph import Variable
        >>> isinstance(pt.dscalar("x"), Variable), isinstance(px.as_xtensor(1.0), Variable), isinstance(1.0, Variable)
        (True, True, False)
        """

    Variable = AnyVariable


__all__ = [
    "Apply",
    "Op",
    "Variable",
    "ancestors",
    "clone_replace",
    "equal_computations",
    "explicit_graph_inputs",
    "graph_inputs",
    "graph_replace",
    "orphans_between",
    "rewrite_graph",
    "vectorize_graph",
]
__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path


def clone_replace(
    output: Node | Sequence[Node], replace: Mapping[Node, Any] | Iterable[tuple[Node, Any]] | None = None
) -> Any:
    """The outputs with some nodes in place of others, all at once; graphs are frozen, so nothing else is copied.

    output: The expression, or several.
    replace (mapping or iterable of tuple of (TensorVariable, object)): What stands in place of what.
    Returns: In the form of `output`.
    See graph_replace: Refuses nodes that are not there.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import clone_replace
    >>> x = pt.dscalar("x")
    >>> clone_replace(2 * x, {x: pt.as_tensor(5.0)}).eval().item()
    10.0
    """
    single = not isinstance(output, list | tuple)
    given: list[Any] = [output] if single else list(cast(Any, output))
    outputs = [plain(one) for one in given]
    pairs = {plain(old): plain(new) for old, new in dict(replace or {}).items()}
    for old, new in pairs.items():
        if isinstance(new, Node) and new.dtype != old.dtype:
            raise GraphError(f"{describe(old)} can be replaced by an expression of its dtype, got {describe(new)}.")
    new = {old: as_tensor(value) for old, value in pairs.items()}
    # Loops are closed: what their bodies know of the lengths of an input that goes has to be told them.
    told = with_lengths([*outputs, *new], _lengths(new), frozenset(new))
    found = substitute(told[: len(outputs)], dict(zip(told[len(outputs) :], new.values(), strict=True)))
    found = [like(one, node) for one, node in zip(given, found, strict=True)]
    return found[0] if single else found


def _lengths(new: Mapping[Node, Node]) -> dict[dims.Atom, dims.Dim]:
    """The lengths that stand for those of inputs which are replaced, unless two of these disagree about one."""
    found: dict[dims.Atom, set[dims.Dim]] = {}
    for old, given in new.items():
        if is_leaf(old) and old.ndim == given.ndim:
            for before, after in zip(old.static_shape, given.static_shape, strict=True):
                atom = dims.as_atom(before)
                if atom is not None and atom.kind == "symbol" and before != after:
                    found.setdefault(atom, set()).add(after)
    return {atom: lengths.pop() for atom, lengths in found.items() if len(lengths) == 1}


def graph_replace(
    outputs: Node | Sequence[Node],
    replace: Mapping[Node, Any] | Iterable[tuple[Node, Any]] | None = None,
    *,
    strict: bool = True,
) -> Any:
    """As `clone_replace`; with `strict`, nodes that the outputs do not depend on raise ValueError.

    outputs : ...
    replace (mapping or iterable of tuple of (TensorVariable, object)): What stands in place of what.
    strict: Whether each replaced expression must occur.
    Returns: In the form of `outputs`.
    See clone_replace: Takes any nodes.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import graph_replace
    >>> x = pt.dscalar("x")
    >>> graph_replace([2 * x], {x: pt.as_tensor(5.0)})[0].eval().item()
    10.0
    """
    listed = [plain(one) for one in (outputs if isinstance(outputs, list | tuple) else [outputs])]
    if strict:
        there = set(topological(listed))
        missing = next((old for old in dict(replace or {}) if old not in there), None)
        if missing is not None:
            raise ValueError(f"the outputs do not depend on {describe(missing)}; leave it out, or pass `strict=False`.")
    return clone_replace(outputs, replace)


def ancestors(graphs: Iterable[Node], blockers: Iterable[Node] | None = None) -> Iterator[Node]:
    """All nodes that the graphs depend on, themselves included; those behind `blockers` are left out.

    graphs: The expressions.
    blockers: Expressions behind which the walk does not go.
    Returns: Each once.
    See graph_inputs: Those without inputs.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import ancestors
    >>> x = pt.dscalar("x")
    >>> y = pt.exp(2 * x)
    >>> x in list(ancestors([y])), len(list(ancestors([y])))
    (True, 4)
    """
    return iter(topological([plain(one) for one in graphs], stop=_stops(blockers)))


def graph_inputs(graphs: Iterable[Node], blockers: Iterable[Node] | None = None) -> Iterator[Node]:
    """Nodes without inputs that the graphs depend on: variables, shared variables and constants.

    graphs: The expressions.
    blockers: Expressions behind which the walk does not go.
    Returns: Each once.
    See explicit_graph_inputs: Without constants and shared variables.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import graph_inputs
    >>> x = pt.dscalar("x")
    >>> x in list(graph_inputs([2 * x]))
    True
    """
    return (node for node in ancestors(graphs, blockers) if not node.inputs)


def explicit_graph_inputs(graph: Node | Iterable[Node]) -> Iterator[Node]:
    """The variables that a function of these graphs needs as inputs: neither constants nor shared variables.

    graph: The expression, a list of them or a compiled function.
    Returns: Each once.
    See graph_inputs: With constants and shared variables.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import explicit_graph_inputs
    >>> x = pt.dscalar("x")
    >>> [v.name for v in explicit_graph_inputs(2 * x + 1)]
    ['x']
    """
    graphs = [plain(one) for one in (graph if isinstance(graph, list | tuple) else [graph])]
    return (
        node
        for node in graph_inputs(graphs)
        if isinstance(node.op, Input) and not isinstance(node.op, Shared | Constant)
    )


def orphans_between(ins: Iterable[Node], outs: Iterable[Node]) -> Iterator[Node]:
    """Constants and variables that the outputs need besides the inputs `ins`, whose own parts are not looked at.

    ins: Inputs at which the walk stops.
    outs: Expressions at which it begins.
    Returns: Each once.
    See graph_inputs: All leaves.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import orphans_between
    >>> x, y = pt.dscalars("x", "y")
    >>> [v.name for v in orphans_between([x], [x + y])]
    ['y']
    """
    given = set(ins)
    return (node for node in graph_inputs(outs, given) if node not in given)


def equal_computations(
    xs: Sequence[Any],
    ys: Sequence[Any],
    in_xs: Sequence[Node] | None = None,
    in_ys: Sequence[Node] | None = None,
    strict_dtype: bool = True,
) -> bool:
    """Whether expressions are the same, computed from the same: each x as its y once `in_xs` are replaced by `in_ys`.

    xs (sequence): Expressions.
    ys (sequence): Expressions to compare with, as many.
    in_xs: Inputs of the first that stand for those of the second.
    in_ys: Inputs of the second.
    strict_dtype: Whether equal constants of two dtypes are different.
    Returns: Whether all pairs are equal.
    Raises ValueError: Where the lists have unequal lengths.
    See rewrite_graph: Simplifies graphs before they are compared.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import equal_computations
    >>> x, y = pt.dscalars("x", "y")
    >>> equal_computations([2 * x], [2 * y], [x], [y])
    True
    """
    in_xs, in_ys = in_xs or (), in_ys or ()
    if len(xs) != len(ys) or len(in_xs) != len(in_ys):
        raise ValueError(
            f"`equal_computations` needs lists of equal lengths, got {len(xs)} and {len(ys)}, {len(in_xs)} and "
            f"{len(in_ys)}."
        )
    left, right = [as_tensor(x) for x in xs], [as_tensor(y) for y in ys]
    if any(a.dtype != b.dtype or a.ndim != b.ndim for a, b in zip(in_xs, in_ys, strict=True)):
        return False
    if not strict_dtype:
        right = [b.astype(a.dtype) if isinstance(b.op, Constant) else b for a, b in zip(left, right, strict=True)]
    return substitute(left, dict(zip(in_xs, in_ys, strict=True))) == right


def rewrite_graph(
    graph: Node | Sequence[Node],
    include: Sequence[str] = ("canonicalize",),
    custom_rewrite: None = None,
    clone: bool = False,
    *,
    exclude: Sequence[str] = (),
) -> Any:
    """The graph, or a list of graphs, in the form that functions are compiled from: equal values, simplified.

    graph: The expression, a list of them or a compiled function.
    include: Accepted, as is `clone`: all rules are applied, and graphs are frozen.
    custom_rewrite: PyTensor's rewriters are not there: TypeError for one.
    clone: Taken for PyTensor's sake and without effect: expressions are never changed.
    exclude: Names of rules to leave out, as `explain()` of a function lists them.
    Returns: In the form of `graph`.
    See function: Compiles from this form.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import rewrite_graph
    >>> x = pt.dscalar("x")
    >>> rewrite_graph(pt.log(pt.exp(x))) is x
    True
    """
    if custom_rewrite is not None:
        raise TypeError("`custom_rewrite` is a rewriter of PyTensor's graphs; rules are written in the library here.")
    single = not isinstance(graph, list | tuple)
    given: list[Any] = [graph] if single else list(cast(Any, graph))
    simple = simplify([plain(one) for one in given], exclude=exclude)
    found = [like(one, node) for one, node in zip(given, simple, strict=True)]
    return found[0] if single else found


def _stops(blockers: Iterable[Node] | None) -> Callable[[Node], bool] | None:
    return None if blockers is None else set(blockers).__contains__


load_on_use(__name__, {}, public=True)
