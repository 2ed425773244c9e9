"""Parts of sparse variables: rows, columns, elements.

Slices and lists of rows or columns give sparse variables, two lists of integers the vector of these elements, two
integers a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.errors import OutOfBoundsError, ShapeError
from consilience.ir import Dim, Node, constant, constant_value
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import apply, as_tensor, cast
from consilience.ops.index import getitem, index_inc
from consilience.ops.reduce import cumulative
from consilience.ops.shape import Iota, concatenate, expand_dims, full
from consilience.ops.sparse.coordinates import taken
from consilience.ops.sparse.multiplication import line_bounds, ranges
from consilience.ops.sparse.variable import SparseVariable


@means("sparse_index")
def part(x: SparseVariable, index: Any) -> Any:
    """`x[index]`: rows, or rows and columns, each a slice, an integer, or a vector of integers or bools.

    Raises OutOfBoundsError for positions that are not there. Raises ShapeError for more than two indices.
    """
    listed = index if isinstance(index, tuple) else (index,)
    if any(item is Ellipsis for item in listed):
        place = next(i for i, item in enumerate(listed) if item is Ellipsis)
        listed = (*listed[:place], *(slice(None),) * (3 - len(listed)), *listed[place + 1 :])
    if len(listed) > 2 or None in [i for i in listed if not isinstance(i, Node | np.ndarray)]:
        raise ShapeError(f"a sparse matrix is indexed by rows and columns, got {index!r}.")
    rows, columns = (*listed, slice(None)) if len(listed) == 1 else listed
    kinds = [0 if isinstance(i, slice) else as_tensor(i).ndim + 1 for i in (rows, columns)]
    if max(kinds) > 2:
        raise ShapeError(f"rows and columns are told by integers, slices and vectors, got {index!r}.")
    if kinds[0] and kinds[1]:
        places = [_positions(i, n) for i, n in zip((rows, columns), x.static_shape, strict=True)]
        found = _elements(x, *map(_as_vector, places))
        return getitem(found, 0) if kinds == [1, 1] else found
    result = _lines(x.tocsr(), rows) if not _everything(rows) else x
    if not _everything(columns):
        result = _lines(result.T.tocsr(), columns).T
    return result.tocsr() if x.format == "csr" else result.tocsc()


def _everything(index: Any) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _positions(index: Any, length: Dim) -> Node:
    """Positions on an axis as integers >= 0, checked."""
    if isinstance(length, int):
        known = index if isinstance(index, slice) else constant_value(as_tensor(index))
        if isinstance(known, slice):
            bounds = [known.start, known.stop, known.step]
            if not any(isinstance(b, Node) for b in bounds):
                return constant(np.arange(length)[known])
        elif known is not None:
            if not known.size:
                known = known.astype("int64")
            try:
                return constant(np.arange(length)[known])
            except IndexError:
                told = describe(as_tensor(index)) if known.ndim else f"position {known}"
                raise OutOfBoundsError(f"{told} is outside an axis of length {length} of a sparse matrix.") from None
    return getitem(Node(Iota(length)), index)


def _as_vector(places: Node) -> Node:
    known = constant_value(places)
    if known is not None:
        return constant(np.atleast_1d(known))
    return places if places.ndim else expand_dims(places, 0)


def _lines(x: SparseVariable, index: Any) -> SparseVariable:
    """Rows of a matrix of format "csr"; an integer gives a matrix of one row."""
    wanted = _as_vector(_positions(index, x.static_shape[0]))
    folded = constant_value(wanted)
    starts, counts = line_bounds(x, wanted)
    _, entries = ranges(starts, counts)
    many = constant_value(counts)
    if many is not None and folded is not None:
        begins = constant(np.concatenate([[0], np.cumsum(many)]).astype("int32"))
    else:
        begins = cast(concatenate([full((1,), 0, "int64"), cumulative("sum", counts)]), "int32")
    shape = (wanted.static_shape[0], x.static_shape[1])
    return SparseVariable(taken(x.data, entries), taken(x.indices, entries), begins, shape, "csr")


def _elements(x: SparseVariable, rows: Node, columns: Node) -> Node:
    """The elements at pairs of a row and a column, a vector; zero where nothing is stored."""
    lines, others = (rows, columns) if x.format == "csr" else (columns, rows)
    lines, others = (apply("add", p, apply("mul", q, 0)) for p, q in ((lines, others), (others, lines)))
    one, two = (constant_value(rows), constant_value(columns))
    if one is not None and two is not None:
        pair = np.broadcast_arrays(one, two)
        lines, others = (constant(p) for p in (pair if x.format == "csr" else pair[::-1]))
    starts, counts = line_bounds(x, lines)
    which, entries = ranges(starts, counts)
    hit = apply("eq", cast(taken(x.indices, entries), "int64"), getitem(others, which))
    values = apply("where", hit, getitem(x.data, entries), as_tensor(np.asarray(0, x.dtype)))
    zeros = full(lines.static_shape, 0, x.dtype)
    return index_inc(getitem(zeros, which), values)
