"""Functions of cores as functions of batches, by gufunc signatures such as "(n),(m)->(n,m)"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, tensor_input
from consilience.ir.side_tables import describe, without_sources
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.shape import broadcast_to
from consilience.transforms.vectorize.engine import vectorize
from consilience.transforms.vectorize.mapped import Axes, vmap

Core: TypeAlias = tuple[str, ...]  # names or numbers of the core axes of one argument

_AXES = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*)?\)"
_SIGNATURE = re.compile(rf"\s*(?:{_AXES}\s*(?:,\s*{_AXES}\s*)*)?->\s*{_AXES}\s*(?:,\s*{_AXES}\s*)*")


def parse_signature(signature: str) -> tuple[list[Core], list[Core]]:
    """Core axes of the arguments and of the results; ValueError for text that is no signature."""
    if not _SIGNATURE.fullmatch(signature):
        raise ValueError(f"a signature such as '(n),(m)->(n,m)' was needed, got {signature!r}.")
    sides = signature.split("->")
    arguments, results = ([tuple(re.findall(r"\w+", axes)) for axes in re.findall(_AXES, side)] for side in sides)
    return arguments, results


def vectorize_function(
    function: Callable[..., Node | Sequence[Node]],
    signature: str | None = None,
    *,
    in_axes: Axes = None,
    out_axes: Axes = None,
) -> Callable[..., Any]:
    """A function that applies `function` to every position of the batch axes of its arguments.

    function: Takes tensors of the core ranks, gives one tensor or several.
    signature: Core axes as in NumPy's generalised ufuncs; None means that all are scalars. Axes of one name have one
        length; a number fixes the length. Leading axes broadcast as in NumPy.
    in_axes, out_axes (int or sequence of int): In place of a signature: one batch axis, which stands where these say;
        as for `vmap`, each being 0 if only the other is given.
    Returns: A function of tensors with leading axes.
    See vmap: One axis, with a name if wanted.
    >>> f = pt.vectorize(lambda x: pt.sum(x), signature="(n)->()")
    >>> f([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [3.0, 7.0]
    """
    if not callable(function):
        raise TypeError(f"`vectorize` needs a `function` of tensors, got {function!r:.200}.")
    if in_axes is not None or out_axes is not None:
        if signature is not None:
            raise TypeError("batch axes are told by `signature` or by `in_axes` and `out_axes`, got both.")
        return vmap(function, 0 if in_axes is None else in_axes, 0 if out_axes is None else out_axes)
    parsed = None if signature is None else parse_signature(signature)

    def batched(*arguments: TensorLike) -> Node | list[Node]:
        nodes = [as_tensor(argument) for argument in arguments]
        cores = [()] * len(nodes) if parsed is None else parsed[0]
        if len(cores) != len(nodes):
            raise TypeError(f"the signature {signature!r} has {len(cores)} arguments, got {len(nodes)}.")
        lengths = _core_lengths(nodes, cores)
        replacements: dict[Node, Node] = {}
        given = []
        with without_sources():
            for node, core in zip(nodes, cores, strict=True):
                rank = node.ndim - len(core)
                shape = tuple(lengths[axis] for axis in core)
                node = broadcast_to(node, (*node.static_shape[:rank], *shape))
                stand_in = tensor_input(node.dtype, shape) if rank else node
                if rank:
                    replacements[stand_in] = node
                given.append(stand_in)
        results = function(*given)
        single = isinstance(results, Node)
        outputs = [results] if isinstance(results, Node) else [as_tensor(result) for result in results]
        _check_results(outputs, [()] * len(outputs) if parsed is None else parsed[1], signature)
        done = vectorize(outputs, replacements)
        return done[0] if single else done

    batched.__doc__ = function.__doc__
    batched.__name__ = getattr(function, "__name__", "batched")
    return batched


def _core_lengths(nodes: Sequence[Node], cores: Sequence[Core]) -> dict[str, Dim]:
    """The length of every named axis; a static length wins over a symbolic one."""
    lengths: dict[str, Dim] = {}
    for node, core in zip(nodes, cores, strict=True):
        if node.ndim < len(core):
            raise ShapeError(f"an argument with core axes ({','.join(core)}) was needed, got {describe(node)}.")
        for axis, length in zip(core, node.static_shape[node.ndim - len(core) :], strict=True):
            known = int(axis) if axis.isdigit() else lengths.get(axis, length)
            if isinstance(known, int) and isinstance(length, int) and known != length:
                raise ShapeError(f"the core axis `{axis}` has length {known}, but {length} in {describe(node)}.")
            lengths[axis] = known if isinstance(known, int) else length if isinstance(length, int) else known
    return lengths


def _check_results(outputs: Sequence[Node], cores: Sequence[Core], signature: str | None) -> None:
    if len(outputs) != len(cores):
        raise ShapeError(f"the signature {signature!r} has {len(cores)} results, the function gave {len(outputs)}.")
    for output, core in zip(outputs, cores, strict=True):
        if output.ndim != len(core):
            raise ShapeError(f"a result with {len(core)} axes was needed by {signature!r}, got {describe(output)}.")
